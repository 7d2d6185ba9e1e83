//! Decides if a document is an answer to a question. Words in a row are found by lists of places, of which one may be those
//! where something is not.
//!
//! The items of a question are taken one by one, with what is known of the parts before them on a stack. Places are bounded
//! ([`PLACE_MAX`]), and counted as steps, so that the statement can be ended between them.

use super::vector::{PLACE_MAX, Position};
use super::{Item, Lexeme, Operand, Query, Vector};
use crate::error::{SqlError, code};

/// An answer, as far as it is known: a lexeme without places may be anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    No,
    Yes,
    Maybe,
}

use Truth::{Maybe, No, Yes};

/// The ends of a part of a phrase.
#[derive(Clone, Default)]
struct Places {
    at: Vec<u32>,
    /// The places where it does not end.
    is_elsewhere: bool,
    /// The places from its beginning to its end.
    width: u32,
}

/// A part of a question, and where it ends if it is of a phrase.
type Part = (Truth, Places);

/// The most places, and lexemes, that are looked at for one answer.
const STEPS_MAX: usize = 1 << 24;
/// So many of them between two looks.
const STEPS_BETWEEN: usize = 1 << 14;

/// The steps of an answer.
struct Steps<'l> {
    taken: usize,
    look: &'l dyn Fn() -> Result<(), SqlError>,
}

impl Steps<'_> {
    fn take(&mut self, count: usize) -> Result<(), SqlError> {
        let before = self.taken / STEPS_BETWEEN;
        self.taken += count + 1;
        if self.taken > STEPS_MAX {
            let text = format!("a tsquery looks at more than {STEPS_MAX} places of a document");
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        match self.taken / STEPS_BETWEEN > before {
            true => (self.look)(),
            false => Ok(()),
        }
    }
}

/// True if a document is an answer to a question. `look` is called from time to time, and may end it.
///
/// # Errors
/// `54000` if it takes too many steps; those of `look`.
pub(crate) fn matches(
    vector: &Vector,
    query: &Query,
    look: &dyn Fn() -> Result<(), SqlError>,
) -> Result<bool, SqlError> {
    let mut steps = Steps { taken: 0, look };
    let in_phrases = query.in_phrases();
    let mut parts: Vec<Part> = Vec::new();
    for (item, in_phrase) in query.items().iter().zip(in_phrases) {
        steps.take(0)?;
        let mut right = parts
            .pop_if(|_| item.parts() > 0)
            .unwrap_or((No, Places::default()));
        let mut left = parts
            .pop_if(|_| item.parts() > 1)
            .unwrap_or((No, Places::default()));
        let count = right.1.at.len() + left.1.at.len();
        steps.take(count)?;
        parts.push(match item {
            Item::Word(operand) => word(vector, operand, in_phrase, &mut steps)?,
            Item::Not if in_phrase => not_in_phrase(right),
            Item::And if in_phrase => in_row(&mut left, &mut right, None),
            Item::Or if in_phrase => one_in_row(&mut left, &mut right),
            Item::Phrase(distance) => {
                let found = in_row(&mut left, &mut right, Some(u32::from(*distance)));
                match in_phrase {
                    true => found,
                    // Without places nothing is in a row.
                    false if found.0 == Yes => (Yes, Places::default()),
                    false => (No, Places::default()),
                }
            }
            of_truths => {
                let truth = match (of_truths, left.0, right.0) {
                    (Item::Not, _, No) => Yes,
                    (Item::Not, _, Yes) => No,
                    (Item::And, No, _) | (Item::And, _, No) => No,
                    (Item::And, Yes, Yes) => Yes,
                    (Item::Or, Yes, _) | (Item::Or, _, Yes) => Yes,
                    (Item::Or, No, No) => No,
                    _ => Maybe,
                };
                (truth, Places::default())
            }
        });
    }
    Ok(parts.pop().is_some_and(|(truth, _)| truth != No))
}

/// Looks for a word, and for its places if they are asked for.
///
/// Many lexemes may begin with a word. Their places are marked in a table, so that the cost is the number of places.
fn word(
    vector: &Vector,
    operand: &Operand,
    in_phrase: bool,
    steps: &mut Steps<'_>,
) -> Result<Part, SqlError> {
    let found = vector.found(&operand.word, operand.is_prefix);
    let has_weight =
        |one: &&Position| operand.weights == 0 || operand.weights & 1 << one.weight != 0;
    let mut places = Places::default();
    if !in_phrase {
        // Weights are not asked for where there are none.
        for lexeme in found {
            steps.take(lexeme.positions.len())?;
            let mut positions = lexeme.positions.iter();
            if lexeme.positions.is_empty() || positions.any(|one| has_weight(&one)) {
                return Ok((Yes, places));
            }
        }
        return Ok((No, places));
    }
    steps.take(found.iter().map(|one| one.positions.len() + 1).sum())?;
    // Places of some of them alone would not be all.
    let is_unknown = |lexeme: &Lexeme| lexeme.positions.is_empty();
    if found.iter().any(is_unknown) {
        return Ok((Maybe, places));
    }
    if let [lexeme] = found {
        let positions = lexeme.positions.iter().filter(has_weight);
        places.at = positions.map(|one| one.place.into()).collect();
    } else if !found.is_empty() {
        steps.take(PLACE_MAX.into())?;
        let mut marked = vec![false; usize::from(PLACE_MAX) + 1];
        let positions = found.iter().flat_map(|lexeme| &lexeme.positions);
        for position in positions.filter(has_weight) {
            marked[usize::from(position.place.min(PLACE_MAX))] = true;
        }
        let marked = (0_u32..).zip(marked);
        places.at = marked
            .filter(|(_, is_it)| *is_it)
            .map(|(at, _)| at)
            .collect();
    }
    Ok(match places.at.is_empty() {
        true => (No, places),
        false => (Yes, places),
    })
}

/// The places where a part of a phrase is not.
fn not_in_phrase((truth, mut places): Part) -> Part {
    let truth = match truth {
        // It is nowhere, so that what it is not is everywhere.
        No => {
            places.is_elsewhere = true;
            Yes
        }
        Yes if !places.at.is_empty() => {
            places.is_elsewhere = !places.is_elsewhere;
            Yes
        }
        Yes if places.is_elsewhere => {
            places.is_elsewhere = false;
            No
        }
        Yes | Maybe => Maybe,
    };
    (truth, places)
}

/// Two parts that are at the same place, or the second so many places behind the first.
fn in_row(left: &mut Part, right: &mut Part, distance: Option<u32>) -> Part {
    let mut places = Places::default();
    match (left.0, right.0) {
        (No, _) | (_, No) => return (No, places),
        (Maybe, _) | (_, Maybe) => return (Maybe, places),
        (Yes, Yes) => {}
    }
    let (left, right) = (&mut left.1, &mut right.1);
    match distance {
        Some(distance) => {
            places.width = distance
                .saturating_add(left.width)
                .saturating_add(right.width);
            left.shift(distance.saturating_add(right.width));
        }
        None => places.align(left, right),
    }
    let truth = match (left.is_elsewhere, right.is_elsewhere) {
        (true, true) => places.take(left, right, Kept::ALL, true),
        (true, false) => places.take(left, right, Kept::RIGHT, false),
        (false, true) => places.take(left, right, Kept::LEFT, false),
        (false, false) => places.take(left, right, Kept::BOTH, false),
    };
    (truth, places)
}

/// One of two parts of a phrase.
fn one_in_row(left: &mut Part, right: &mut Part) -> Part {
    let mut places = Places::default();
    match (left.0, right.0) {
        (No, No) => return (No, places),
        (Maybe, _) | (_, Maybe) => return (Maybe, places),
        (is_left, is_right) => {
            if is_left == No {
                left.1.width = 0;
            }
            if is_right == No {
                right.1.width = 0;
            }
        }
    }
    let (left, right) = (&mut left.1, &mut right.1);
    places.align(left, right);
    let truth = match (left.is_elsewhere, right.is_elsewhere) {
        (true, true) => places.take(left, right, Kept::BOTH, true),
        (true, false) => places.take(left, right, Kept::LEFT, true),
        (false, true) => places.take(left, right, Kept::RIGHT, true),
        (false, false) => places.take(left, right, Kept::ALL, false),
    };
    (truth, places)
}

/// The places of two lists that are kept: those of both, and those of one alone.
#[derive(Clone, Copy)]
struct Kept {
    both: bool,
    left: bool,
    right: bool,
}

impl Kept {
    const BOTH: Kept = Kept {
        both: true,
        left: false,
        right: false,
    };
    const LEFT: Kept = Kept {
        both: false,
        left: true,
        right: false,
    };
    const RIGHT: Kept = Kept {
        both: false,
        left: false,
        right: true,
    };
    const ALL: Kept = Kept {
        both: true,
        left: true,
        right: true,
    };
}

impl Places {
    fn shift(&mut self, by: u32) {
        let places = self.at.iter_mut();
        places.for_each(|place| *place = place.saturating_add(by));
    }

    /// Shifts the ends of the narrower of two parts to that of the wider one, which is the width of both.
    fn align(&mut self, left: &mut Places, right: &mut Places) {
        self.width = left.width.max(right.width);
        left.shift(self.width - left.width);
        right.shift(self.width - right.width);
    }

    /// Takes places of two sorted lists. If they are those where it is not, it is somewhere in any case.
    fn take(&mut self, left: &Places, right: &Places, kept: Kept, is_elsewhere: bool) -> Truth {
        let (mut lefts, mut rights) = (left.at.iter().peekable(), right.at.iter().peekable());
        loop {
            let next = match (lefts.peek(), rights.peek()) {
                (None, None) => break,
                (Some(left), None) => (**left, true, false),
                (None, Some(right)) => (**right, false, true),
                (Some(left), Some(right)) => (**left.min(right), left <= right, right <= left),
            };
            let (place, is_left, is_right) = next;
            if is_left {
                lefts.next();
            }
            if is_right {
                rights.next();
            }
            let is_kept = match (is_left, is_right) {
                (true, true) => kept.both,
                (true, false) => kept.left,
                _ => kept.right,
            };
            if is_kept {
                self.at.push(place);
            }
        }
        self.is_elsewhere = is_elsewhere;
        match is_elsewhere || !self.at.is_empty() {
            true => Yes,
            false => No,
        }
    }
}
