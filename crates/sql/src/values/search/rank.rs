//! `ts_rank`: how well a document answers a question.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/tsrank.c`.

use super::query::{Item, Operand, Query};
use super::vector::{PLACE_MAX, Position, Vector};
use crate::error::SqlError;

/// The usual weights of places, from `D`.
pub(crate) const WEIGHTS_OF_RANK: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// The place of a lexeme without places.
const UNKNOWN: Position = Position {
    place: PLACE_MAX,
    weight: 0,
};

/// The rank of a document. `method` are the bits of PostgreSQL's normalisation; `look` is called from time to time.
///
/// # Errors
/// The error of `look`.
pub(crate) fn rank(
    weights: [f32; 4],
    vector: &Vector,
    query: &Query,
    method: i64,
    look: &dyn Fn() -> Result<(), SqlError>,
) -> Result<f32, SqlError> {
    let lexemes = vector.lexemes();
    let Some(last) = query.items().last() else {
        return Ok(0.0);
    };
    if lexemes.is_empty() {
        return Ok(0.0);
    }
    let mut words: Vec<&Operand> = Vec::new();
    // Of equal words the last one counts, as PostgreSQL keeps the right side of an operator first.
    for item in query.items().iter().rev() {
        if let Item::Word(operand) = item {
            words.push(operand);
        }
    }
    words.sort_by(|one, other| one.word.cmp(&other.word));
    words.dedup_by(|one, other| one.word == other.word);
    let mut rank = match last {
        Item::And | Item::Phrase(_) if words.len() > 1 => of_all(weights, vector, &words, look)?,
        _ => of_any(weights, vector, &words),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let places: usize = lexemes.iter().map(|one| one.positions.len().max(1)).sum();
    let unique = lexemes.len();
    let by_logarithm = |rank: f32, count: usize| {
        (f64::from(rank) / (((count + 1) as f64).ln() / std::f64::consts::LN_2)) as f32
    };
    if method & 1 != 0 {
        rank = by_logarithm(rank, places);
    }
    if method & 2 != 0 {
        rank /= places as f32;
    }
    if method & 8 != 0 {
        rank /= unique as f32;
    }
    if method & 16 != 0 {
        rank = by_logarithm(rank, unique);
    }
    if method & 32 != 0 {
        rank /= rank + 1.0;
    }
    Ok(rank)
}

fn weight_of(weights: [f32; 4], position: &Position) -> f32 {
    weights[usize::from(position.weight.min(3))]
}

fn of_any(weights: [f32; 4], vector: &Vector, words: &[&Operand]) -> f32 {
    let mut sum = 0.0_f32;
    for word in words {
        for lexeme in vector.found(&word.word, word.is_prefix) {
            let unknown = [UNKNOWN];
            let positions = match lexeme.positions.is_empty() {
                true => &unknown[..],
                false => &lexeme.positions,
            };
            let (mut all, mut best, mut best_at) = (0.0_f32, -1.0_f32, 0_usize);
            for (at, position) in positions.iter().enumerate() {
                let weight = weight_of(weights, position);
                all += weight / ((at + 1) * (at + 1)) as f32;
                if weight > best {
                    (best, best_at) = (weight, at);
                }
            }
            let square = ((best_at + 1) * (best_at + 1)) as f32;
            // The sum of 1 / i² is π² / 6.
            sum =
                (f64::from(sum) + f64::from(best + all - best / square) / 1.644_934_066_85) as f32;
        }
    }
    match words.len() {
        0 => sum,
        count => sum / count as f32,
    }
}

fn distance_weight(distance: u32) -> f32 {
    match distance > 100 {
        true => 1e-30,
        false => (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32,
    }
}

fn of_all(
    weights: [f32; 4],
    vector: &Vector,
    words: &[&Operand],
    look: &dyn Fn() -> Result<(), SqlError>,
) -> Result<f32, SqlError> {
    let mut rank = -1.0_f32;
    let mut known: Vec<(Vec<Position>, bool)> = Vec::with_capacity(words.len());
    for word in words {
        let mut own = (Vec::new(), false);
        for lexeme in vector.found(&word.word, word.is_prefix) {
            own = match lexeme.positions.is_empty() {
                true => (vec![UNKNOWN], true),
                false => (lexeme.positions.clone(), false),
            };
            for (others, is_unknown) in &known {
                look()?;
                for one in &own.0 {
                    for other in others {
                        let mut distance = u32::from(one.place.abs_diff(other.place));
                        if distance == 0 && !own.1 && !is_unknown {
                            continue;
                        }
                        if distance == 0 {
                            distance = u32::from(PLACE_MAX) + 1;
                        }
                        let both = weight_of(weights, one) * weight_of(weights, other);
                        let now = f64::from(both * distance_weight(distance)).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => now,
                            false => {
                                (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(now))) as f32
                            }
                        };
                    }
                }
            }
        }
        known.push(own);
    }
    Ok(rank)
}
