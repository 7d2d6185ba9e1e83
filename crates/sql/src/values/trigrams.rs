//! Trigrams of texts, and how similar texts are by them: `pg_trgm`.
//!
//! A word is a run of letters and digits. It is taken in lower case, with two blanks before it and one behind it. Three
//! characters of more than three bytes are told apart by a checksum of 24 bits, as PostgreSQL does it, so that answers are
//! PostgreSQL's, also where two have the same one.
//!
//! Source: PostgreSQL 15, `contrib/pg_trgm/trgm_op.c`.

use crate::error::SqlError;
use std::sync::LazyLock;

/// Three characters of one byte, or the checksum of others.
type Trigram = [u8; 3];

/// Called for each step of a long search, which it may end.
pub(crate) type Look<'l> = &'l dyn Fn() -> Result<(), SqlError>;

/// The trigrams of a text in the order of its words, and for each whether a word begins or ends with it.
fn in_order(text: &str) -> Vec<(Trigram, Bound)> {
    let mut found = Vec::new();
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let word = word.chars().flat_map(lower);
        let padded: Vec<char> = [' ', ' '].into_iter().chain(word).chain([' ']).collect();
        let first = found.len();
        for three in padded.windows(3) {
            found.push((trigram(three), Bound::default()));
        }
        if let Some((_, bound)) = found.get_mut(first) {
            bound.begins = true;
        }
        if let Some((_, bound)) = found.last_mut() {
            bound.ends = true;
        }
    }
    found
}

/// The lower case of a character, which is one character, as PostgreSQL's is.
fn lower(of: char) -> Option<char> {
    let mut lower = of.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => Some(one),
        _ => Some(of),
    }
}

#[derive(Clone, Copy, Default)]
struct Bound {
    begins: bool,
    ends: bool,
}

fn trigram(three: &[char]) -> Trigram {
    let mut bytes = Vec::with_capacity(12);
    for character in three {
        let mut buffer = [0; 4];
        bytes.extend(character.encode_utf8(&mut buffer).as_bytes());
    }
    match bytes[..] {
        [a, b, c] => [a, b, c],
        _ => {
            let [a, b, c, _] = legacy_checksum(&bytes).to_le_bytes();
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
fn each_once(text: &str) -> Vec<Trigram> {
    let mut found: Vec<Trigram> = in_order(text).into_iter().map(|(one, _)| one).collect();
    found.sort_by_key(signed);
    found.dedup();
    found
}

/// The trigrams of a text as texts; checksums as numbers.
pub(crate) fn shown(text: &str) -> Vec<Option<String>> {
    let shown = |of: &Trigram| match std::str::from_utf8(of) {
        Ok(text) if of.is_ascii() && of.iter().all(|c| c.is_ascii_alphanumeric() || *c == b' ') => {
            text.to_string()
        }
        _ => {
            let [a, b, c] = *of;
            format!("0x{:06x}", u32::from_be_bytes([0, a, b, c]))
        }
    };
    each_once(text).iter().map(|one| Some(shown(one))).collect()
}

fn share(common: usize, one: usize, other: usize) -> f32 {
    common as f32 / (one + other - common) as f32
}

/// How similar two texts are, from 0 to 1: the share of their trigrams that both have.
pub(crate) fn similarity(one: &str, other: &str) -> f32 {
    let (one, other) = (each_once(one), each_once(other));
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let has = |trigram: &&Trigram| one.binary_search_by_key(&signed(trigram), signed).is_ok();
    share(other.iter().filter(has).count(), one.len(), other.len())
}

/// How similar a text is to the part of another one that is most similar to it. The part begins and ends anywhere, or
/// strictly with words.
///
/// # Errors
/// Those of the steps that are looked at.
pub(crate) fn word_similarity(
    text: &str,
    of: &str,
    is_strict: bool,
    look: Look<'_>,
) -> Result<f32, SqlError> {
    let wanted = each_once(text);
    let of = in_order(of);
    // Numbers of the trigrams: first those that are wanted.
    let mut more: Vec<Trigram> = of.iter().map(|(trigram, _)| *trigram).collect();
    more.sort_by_key(signed);
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
            look()?;
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
