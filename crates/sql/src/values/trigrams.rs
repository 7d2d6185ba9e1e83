//! Trigrams of texts, and how similar texts are by them: `pg_trgm`.
//!
//! A word is a run of letters and digits. It is taken in lower case, with two blanks before it and one behind it. Three
//! characters of more than three bytes are told apart by a checksum of 24 bits, as PostgreSQL does it, so that answers are
//! PostgreSQL's, also where two have the same one.
//!
//! Source: PostgreSQL 15, `contrib/pg_trgm/trgm_op.c`.

use crate::error::{SqlError, code};
use std::sync::LazyLock;

/// Three characters of one byte, or the checksum of others.
type Trigram = [u8; 3];

/// Called from time to time in a long search, which it may end.
pub(crate) type Look<'l> = &'l dyn Fn() -> Result<(), SqlError>;

/// So many trigrams, or steps, between two looks.
const STEPS_BETWEEN: usize = 1 << 13;
/// The most bytes of a text whose words are compared in their order.
const ORDERED_BYTES_MAX: usize = 1 << 20;
/// The most steps of a comparison that looks at parts of a text, whose number grows with the square of its length.
const STEPS_MAX: usize = 1 << 24;
/// Longer texts have their trigrams in a set of bits.
const SORTED_BYTES_MAX: usize = 1 << 16;

/// Calls a function with each trigram of a text in the order of its words, and with its place in its word.
fn each(text: &str, look: Look<'_>, mut of: impl FnMut(Trigram, Bound)) -> Result<(), SqlError> {
    let mut three = [' '; 3];
    // The characters of the word before this one; its last trigram waits until it is known if the word ends.
    let (mut length, mut count) = (0, 0);
    let mut waiting: Option<(Trigram, Bound)> = None;
    for character in text.chars().chain([' ']) {
        count += 1;
        if count % STEPS_BETWEEN == 0 {
            look()?;
        }
        let is_letter = character.is_alphanumeric();
        if !is_letter && length == 0 {
            continue;
        }
        let next = if is_letter { lower(character) } else { ' ' };
        if length == 0 {
            three = [' ', ' ', ' '];
        }
        three = [three[1], three[2], next];
        let bound = Bound {
            begins: length == 0,
            ends: !is_letter,
        };
        if let Some((trigram, bound)) = waiting.replace((trigram(&three), bound)) {
            of(trigram, bound);
        }
        length += 1;
        if !is_letter {
            if let Some((trigram, bound)) = waiting.take() {
                of(trigram, bound);
            }
            length = 0;
        }
    }
    Ok(())
}

/// The trigrams of a text in the order of its words, and for each whether a word begins or ends with it.
fn in_order(text: &str, look: Look<'_>) -> Result<Vec<(Trigram, Bound)>, SqlError> {
    if text.len() > ORDERED_BYTES_MAX {
        let message = format!(
            "word similarity is of texts of at most {ORDERED_BYTES_MAX} bytes, not {}",
            text.len()
        );
        return Err(SqlError::new(code::PROGRAM_LIMIT, message));
    }
    let mut found = Vec::new();
    each(text, look, |trigram, bound| found.push((trigram, bound)))?;
    Ok(found)
}

/// The lower case of a character, which is one character, as PostgreSQL's is.
fn lower(of: char) -> char {
    let mut lower = of.to_lowercase();
    // The only one of two characters is that of U+0130: i, and a point above it.
    lower.next().unwrap_or(of)
}

#[derive(Clone, Copy, Default)]
struct Bound {
    begins: bool,
    ends: bool,
}

fn trigram(three: &[char; 3]) -> Trigram {
    let mut bytes = [0; 12];
    let mut length = 0;
    for character in three {
        length += character.encode_utf8(&mut bytes[length..]).len();
    }
    match bytes[..length] {
        [a, b, c] => [a, b, c],
        _ => {
            let [a, b, c, _] = legacy_checksum(&bytes[..length]).to_le_bytes();
            [a, b, c]
        }
    }
}

/// PostgreSQL's `COMP_LEGACY_CRC32`: the table of a reflected checksum, with the shifts of one that is not.
fn legacy_checksum(bytes: &[u8]) -> u32 {
    static TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
        std::array::from_fn(|byte| {
            (0..8).fold(byte as u32, |sum, _| match sum & 1 {
                0 => sum >> 1,
                _ => sum >> 1 ^ 0xEDB8_8320,
            })
        })
    });
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        TABLE[usize::from((sum >> 24) as u8 ^ byte)] ^ sum << 8
    });
    !sum
}

/// The order of trigrams: PostgreSQL compares their bytes with a sign.
fn signed(of: &Trigram) -> [i8; 3] {
    of.map(|byte| byte as i8)
}

/// The trigrams of a text, each once, in their order.
fn each_once(text: &str, look: Look<'_>) -> Result<Vec<Trigram>, SqlError> {
    let mut found: Vec<Trigram> = Vec::new();
    if text.len() <= SORTED_BYTES_MAX {
        each(text, look, |trigram, _| found.push(trigram))?;
        found.sort_unstable_by_key(signed);
        found.dedup();
        return Ok(found);
    }
    // A bit for each trigram, at its place in their order.
    let mut bits = vec![0_u64; 1 << 18];
    each(text, look, |[a, b, c], _| {
        let place = u32::from_be_bytes([0, a ^ 0x80, b ^ 0x80, c ^ 0x80]) as usize;
        bits[place / 64] |= 1 << (place % 64);
    })?;
    for (at, word) in bits.iter().enumerate() {
        if at % STEPS_BETWEEN == 0 {
            look()?;
        }
        let mut rest = *word;
        while rest != 0 {
            let place = at as u32 * 64 + rest.trailing_zeros();
            let [_, a, b, c] = place.to_be_bytes();
            found.push([a ^ 0x80, b ^ 0x80, c ^ 0x80]);
            rest &= rest - 1;
        }
    }
    Ok(found)
}

/// The trigrams of a text as texts; checksums as numbers.
///
/// # Errors
/// Those of `look`.
pub(crate) fn shown(text: &str, look: Look<'_>) -> Result<Vec<Option<String>>, SqlError> {
    let shown = |of: &Trigram| match std::str::from_utf8(of) {
        Ok(text) if of.is_ascii() && of.iter().all(|c| c.is_ascii_alphanumeric() || *c == b' ') => {
            text.to_string()
        }
        _ => {
            let [a, b, c] = *of;
            format!("0x{:06x}", u32::from_be_bytes([0, a, b, c]))
        }
    };
    let all = each_once(text, look)?;
    Ok(all.iter().map(|one| Some(shown(one))).collect())
}

fn share(common: usize, one: usize, other: usize) -> f32 {
    common as f32 / (one + other - common) as f32
}

/// How similar two texts are, from 0 to 1: the share of their trigrams that both have.
///
/// # Errors
/// Those of `look`.
pub(crate) fn similarity(one: &str, other: &str, look: Look<'_>) -> Result<f32, SqlError> {
    let (one, other) = (each_once(one, look)?, each_once(other, look)?);
    if one.is_empty() || other.is_empty() {
        return Ok(0.0);
    }
    let mut common = 0;
    for some in other.chunks(STEPS_BETWEEN) {
        look()?;
        let has = |trigram: &&Trigram| one.binary_search_by_key(&signed(trigram), signed).is_ok();
        common += some.iter().filter(has).count();
    }
    Ok(share(common, one.len(), other.len()))
}

/// How similar a text is to the part of another one that is most similar to it. The part begins and ends anywhere, or
/// strictly with words.
///
/// # Errors
/// `54000` if it takes too many steps; those of `look`.
pub(crate) fn word_similarity(
    text: &str,
    of: &str,
    is_strict: bool,
    look: Look<'_>,
) -> Result<f32, SqlError> {
    let of = in_order(of, look)?;
    let wanted = each_once(text, look)?;
    // Numbers of the trigrams: first those that are wanted.
    let mut more: Vec<Trigram> = of.iter().map(|(trigram, _)| *trigram).collect();
    more.sort_unstable_by_key(signed);
    more.dedup();
    let place = |all: &[Trigram], one: &Trigram| all.binary_search_by_key(&signed(one), signed);
    let number = |one: &Trigram| match (place(&wanted, one), place(&more, one)) {
        (Ok(at), _) => at,
        (Err(_), at) => wanted.len() + at.unwrap_or_default(),
    };
    let numbers: Vec<usize> = of.iter().map(|(one, _)| number(one)).collect();
    let is_wanted = |number: usize| number < wanted.len();

    let mut last: Vec<Option<usize>> = vec![None; wanted.len() + more.len()];
    let (mut lower, mut different, mut common) = (is_strict.then_some(0), 0, 0);
    let mut best = 0.0_f32;
    let mut steps = 0;
    for (at, (number, (_, bound))) in numbers.iter().zip(&of).enumerate() {
        if lower.is_some() || is_wanted(*number) {
            if last[*number].is_none() {
                different += 1;
                common += usize::from(is_wanted(*number));
            }
            last[*number] = Some(at);
        }
        let is_end = if is_strict {
            bound.ends
        } else {
            is_wanted(*number)
        };
        if !is_end {
            continue;
        }
        let first = *lower.get_or_insert_with(|| {
            different = 1;
            at
        });
        let mut now = share(common, wanted.len(), different);
        // A later beginning may be better.
        let (mut rest, mut rest_common, mut begin) = (different, common, first);
        for next in first..=at {
            steps += 1;
            if steps > STEPS_MAX {
                let text = format!("word similarity takes more than {STEPS_MAX} steps");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text)
                    .hint("Compare shorter texts, or use similarity."));
            }
            if steps % STEPS_BETWEEN == 0 {
                look()?;
            }
            if !is_strict || of[next].1.begins {
                let shorter = share(rest_common, wanted.len(), rest);
                if shorter > now {
                    (now, different, common, begin) = (shorter, rest, rest_common, next);
                }
            }
            if last[numbers[next]] == Some(next) {
                rest -= 1;
                rest_common -= usize::from(is_wanted(numbers[next]));
            }
        }
        best = best.max(now);
        for left in first..begin {
            if last[numbers[left]] == Some(left) {
                last[numbers[left]] = None;
            }
        }
        lower = Some(begin);
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn steps<T>(of: impl FnOnce(Look<'_>) -> T) -> (T, usize) {
        let looks = Cell::new(0);
        let done = of(&|| {
            looks.set(looks.get() + 1);
            Ok(())
        });
        (done, looks.get())
    }

    #[test]
    fn long_texts_have_the_trigrams_of_short_ones() {
        let text = "Größe abc ÿz 日本語 x1 ";
        let once = each_once(text, &|| Ok(())).expect("it is short");
        let again = text.repeat(SORTED_BYTES_MAX / text.len() + 1);
        let (found, looks) = steps(|look| each_once(&again, look));
        assert_eq!(found.expect("it is not ended"), once);
        assert!(looks > 1);
    }

    #[test]
    fn comparisons_of_long_texts_end_by_name() {
        let quadratic = "a".repeat(30_000);
        let (found, looks) = steps(|look| word_similarity("aaaa", &quadratic, false, look));
        let error = found.expect_err("it takes too many steps");
        assert_eq!(error.code, code::PROGRAM_LIMIT);
        assert!(looks > 1000);
        let long = "a ".repeat(ORDERED_BYTES_MAX);
        let error = word_similarity("a", &long, true, &|| Ok(()));
        assert_eq!(error.expect_err("it is too long").code, code::PROGRAM_LIMIT);
        let ended = similarity(&long, "a", &|| Err(SqlError::unsupported("it is to end")));
        assert!(ended.is_err());
    }
}
