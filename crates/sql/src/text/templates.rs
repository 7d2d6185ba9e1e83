//! Templates of `to_char`, `to_number`, `to_date` and `to_timestamp`: a text of patterns, quoted texts and separators.
//! It is read as PostgreSQL reads it (`parse_format` of `formatting.c`), in the locale C.
//!
//! Invariant: the parts of a template, written one behind the other, are the template without its quotes.

mod fields;
pub(crate) mod moments;
pub(crate) mod numbers;
mod reader;
pub(crate) mod reading;
pub(crate) mod to_number;
mod written;

use crate::error::{SqlError, code};

/// A part of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A pattern, by its name, with its modifiers.
    Pattern(&'static str, Modifiers),
    /// A blank outside of quotes.
    Blank(char),
    /// Punctuation outside of quotes, in a template of moments.
    Separator(char),
    /// Any other character.
    Character(char),
}

/// The modifiers of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Modifiers {
    /// `FM`: without blanks and zeros that fill a width.
    pub is_bare: bool,
    /// `TM`: a name in the language of the locale, which is C, without padding.
    pub is_translated: bool,
    /// `TH` or `th`: with the suffix of an ordinal number.
    pub ordinal: Ordinal,
}

/// The suffix of an ordinal number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ordinal {
    #[default]
    None,
    Upper,
    Lower,
}

/// Patterns of moments. The longer of two with one beginning is first.
const OF_MOMENTS: &[&str] = &[
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D",
    "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW",
    "IYYY", "IYY", "IY", "I", "J", "MI", "MM", "MONTH", "MON", "MS", "Month", "Mon", "OF", "P.M.",
    "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ", "US", "WW", "W", "Y,YYY", "YYYY",
    "YYY", "YY", "Y", "a.d.", "a.m.", "ad", "am", "b.c.", "bc", "cc", "day", "ddd", "dd", "dy",
    "d", "ff1", "ff2", "ff3", "ff4", "ff5", "ff6", "fx", "hh24", "hh12", "hh", "iddd", "id", "iw",
    "iyyy", "iyy", "iy", "i", "j", "mi", "mm", "month", "mon", "ms", "of", "p.m.", "pm", "q", "rm",
    "sssss", "ssss", "ss", "tzh", "tzm", "tz", "us", "ww", "w", "y,yyy", "yyyy", "yyy", "yy", "y",
];

/// Patterns of numbers.
const OF_NUMBERS: &[&str] = &[
    ",", ".", "0", "9", "B", "C", "D", "EEEE", "FM", "G", "L", "MI", "PL", "PR", "RN", "SG", "SP",
    "S", "TH", "V", "b", "c", "d", "eeee", "fm", "g", "l", "mi", "pl", "pr", "rn", "sg", "sp", "s",
    "th", "v",
];

/// The most bytes of a template: the output for a byte of it has a bound.
const BYTES_MAX: usize = 1 << 20;

/// The parts of a template of moments.
///
/// # Errors
/// `54000` for one that is too long.
pub(super) fn of_moments(template: &str) -> Result<Vec<Part>, SqlError> {
    check_length(template)?;
    Ok(parts(template, true))
}

/// The parts of a template of numbers.
///
/// # Errors
/// As [`of_moments`].
pub(super) fn of_numbers(template: &str) -> Result<Vec<Part>, SqlError> {
    check_length(template)?;
    Ok(parts(template, false))
}

fn check_length(template: &str) -> Result<(), SqlError> {
    match template.len() <= BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!(
                "a template of {} bytes is too long: {BYTES_MAX} are allowed",
                template.len()
            ),
        )),
    }
}

pub(super) fn is_separator(character: char) -> bool {
    character.is_ascii_punctuation()
}

fn parts(template: &str, is_of_moments: bool) -> Vec<Part> {
    let patterns = if is_of_moments {
        OF_MOMENTS
    } else {
        OF_NUMBERS
    };
    let (mut parts, mut rest) = (Vec::new(), template);
    while !rest.is_empty() {
        let mut modifiers = Modifiers::default();
        // Only one prefix is read, as in PostgreSQL.
        if is_of_moments && let Some(behind) = without_prefix(rest, &mut modifiers) {
            rest = behind;
        }
        let found = patterns.iter().find(|pattern| rest.starts_with(**pattern));
        if let Some(pattern) = found {
            rest = rest.get(pattern.len()..).unwrap_or_default();
            if is_of_moments {
                rest = without_suffix(rest, &mut modifiers);
            }
            parts.push(Part::Pattern(pattern, modifiers));
            continue;
        }
        let mut letters = rest.chars();
        let Some(mut letter) = letters.next() else {
            break;
        };
        if letter == '"' {
            rest = quoted(letters.as_str(), &mut parts);
            continue;
        }
        // A backslash outside of quotes only protects a quote.
        if letter == '\\' && letters.as_str().starts_with('"') {
            letter = '"';
            letters.next();
        }
        parts.push(match letter {
            _ if is_of_moments && is_separator(letter) => Part::Separator(letter),
            _ if is_space(letter) => Part::Blank(letter),
            _ => Part::Character(letter),
        });
        rest = letters.as_str();
    }
    parts
}

pub(super) fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Takes the text up to the next quote, and returns the rest.
fn quoted<'t>(text: &'t str, parts: &mut Vec<Part>) -> &'t str {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '"' => break,
            '\\' => letters.next().unwrap_or('\\'),
            _ => letter,
        };
        parts.push(Part::Character(letter));
    }
    letters.as_str()
}

/// The text behind a prefix, if it has one.
fn without_prefix<'t>(text: &'t str, modifiers: &mut Modifiers) -> Option<&'t str> {
    let bare = text.strip_prefix("FM").or(text.strip_prefix("fm"));
    let translated = text.strip_prefix("TM").or(text.strip_prefix("tm"));
    modifiers.is_bare = bare.is_some();
    modifiers.is_translated = translated.is_some();
    bare.or(translated)
}

/// The text behind a suffix, or the text.
fn without_suffix<'t>(text: &'t str, modifiers: &mut Modifiers) -> &'t str {
    for (suffix, ordinal) in [
        ("TH", Ordinal::Upper),
        ("th", Ordinal::Lower),
        ("SP", Ordinal::None),
    ] {
        if let Some(rest) = text.strip_prefix(suffix) {
            modifiers.ordinal = ordinal;
            return rest;
        }
    }
    text
}

/// The suffix of a number as an ordinal: `st`, `nd`, `rd`, `th`.
pub(super) fn ordinal_end(number: &str, ordinal: Ordinal) -> Result<&'static str, SqlError> {
    let mut digits = number.bytes().rev();
    let (last, tens) = (digits.next(), digits.next());
    let Some(last @ b'0'..=b'9') = last else {
        return Err(SqlError::new(
            code::INVALID_TEXT,
            format!("\"{number}\" is not a number"),
        ));
    };
    // All numbers from 10 to 19 have the same suffix.
    let last = if tens == Some(b'1') { b'0' } else { last };
    Ok(match (ordinal, last) {
        (Ordinal::None, _) => "",
        (Ordinal::Upper, b'1') => "ST",
        (Ordinal::Upper, b'2') => "ND",
        (Ordinal::Upper, b'3') => "RD",
        (Ordinal::Upper, _) => "TH",
        (Ordinal::Lower, b'1') => "st",
        (Ordinal::Lower, b'2') => "nd",
        (Ordinal::Lower, b'3') => "rd",
        (Ordinal::Lower, _) => "th",
    })
}
