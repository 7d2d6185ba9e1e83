//! The fields of a text of a moment or an interval: runs of digits, words and delimiters. Its characters determine a
//! field's kind (`ParseDateTime`).

use super::words::{Word, special};
use std::str::FromStr;

/// The most fields of a text.
const FIELDS_MAX: usize = 25;
/// The most bytes of all fields, with one behind each: PostgreSQL's buffers for the text of a date or a time of the day, of a
/// timestamp, and of an interval.
pub(crate) const OF_DATE: usize = 129;
pub(crate) const OF_TIMESTAMP: usize = 153;
pub(crate) const OF_INTERVAL: usize = 256;

/// The kind of a field, as far as its characters determine it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Digits, perhaps with a point.
    Number,
    /// Letters.
    Word,
    /// Parts between hyphens, slashes or points; or the name of a zone.
    Date,
    /// Digits between colons.
    Time,
    /// A sign and digits.
    Zone,
    /// A sign and letters.
    Special,
}

/// A field of a text. A sign in front of it is kept apart, since blanks may follow it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'t> {
    pub kind: Kind,
    pub is_negative: bool,
    pub text: &'t str,
}

/// The fields of a text.
pub(crate) struct Fields<'t> {
    all: [Field<'t>; FIELDS_MAX],
    count: usize,
}

impl<'t> std::ops::Deref for Fields<'t> {
    type Target = [Field<'t>];

    fn deref(&self) -> &[Field<'t>] {
        self.all.get(..self.count).unwrap_or_default()
    }
}

fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&byte| belongs(byte)).count()
}

fn digits(text: &str) -> usize {
    run(text, |byte| byte.is_ascii_digit())
}

fn letters(text: &str) -> usize {
    run(text, |byte| byte.is_ascii_alphabetic())
}

fn rest_of(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// The whole number at the beginning of a text, 0 if there is none, and the rest. None if it is out of range.
pub(crate) fn whole<N: FromStr + Default>(text: &str) -> Option<(N, &str)> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let end = sign + digits(rest_of(text, sign));
    if end == sign {
        return Some((N::default(), text));
    }
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

/// Splits a text into its fields, which have so many bytes at most. None for characters that no field has, and for too many
/// fields.
pub(crate) fn fields(text: &str, bytes_max: usize) -> Option<Fields<'_>> {
    let none = Field {
        kind: Kind::Number,
        is_negative: false,
        text: "",
    };
    let mut fields = Fields {
        all: [none; FIELDS_MAX],
        count: 0,
    };
    let (mut rest, mut length) = (text, 0);
    while let Some(&first) = rest.as_bytes().first() {
        if is_space(first) {
            rest = rest_of(rest, 1);
            continue;
        }
        let slot = fields.all.get_mut(fields.count)?;
        let is_sign = matches!(first, b'+' | b'-');
        if first.is_ascii_punctuation() && !is_sign && first != b'.' {
            rest = rest_of(rest, 1);
            continue;
        }
        if is_sign {
            rest = rest_of(rest, 1);
            rest = rest_of(rest, run(rest, is_space));
        }
        let (kind, end) = field(first, rest)?;
        *slot = Field {
            kind,
            is_negative: first == b'-',
            text: rest.get(..end).unwrap_or_default(),
        };
        fields.count += 1;
        rest = rest_of(rest, end);
        length += end + 1 + usize::from(is_sign);
        if length > bytes_max {
            return None;
        }
    }
    Some(fields)
}

/// The kind of the field at the beginning of a text, and where it ends. The first character may be a sign before it.
fn field(first: u8, text: &str) -> Option<(Kind, usize)> {
    match first {
        b'0'..=b'9' => Some(numeric(text)),
        b'.' => Some((Kind::Number, 1 + digits(rest_of(text, 1)))),
        b'+' | b'-' => {
            let zone = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-');
            match text.bytes().next()? {
                b'0'..=b'9' => Some((Kind::Zone, run(text, zone))),
                byte if byte.is_ascii_alphabetic() => Some((Kind::Special, letters(text))),
                _ => None,
            }
        }
        byte if byte.is_ascii_alphabetic() => Some(word(text)),
        _ => None,
    }
}

/// A field that begins with a digit.
fn numeric(text: &str) -> (Kind, usize) {
    let end = digits(text);
    match text.as_bytes().get(end) {
        Some(b':') => {
            let time = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.');
            (Kind::Time, end + run(rest_of(text, end), time))
        }
        Some(&delimiter @ (b'-' | b'/' | b'.')) => {
            let second = rest_of(text, end + 1);
            let more = digits(second);
            if more == 0 {
                let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == delimiter;
                return (Kind::Date, end + 1 + run(second, part));
            }
            let kind = if delimiter == b'.' {
                Kind::Number
            } else {
                Kind::Date
            };
            let end = end + 1 + more;
            if text.as_bytes().get(end) != Some(&delimiter) {
                return (kind, end);
            }
            let part = |byte: u8| byte.is_ascii_digit() || byte == delimiter;
            (Kind::Date, end + run(rest_of(text, end), part))
        }
        _ => (Kind::Number, end),
    }
}

/// A field that begins with a letter.
fn word(text: &str) -> (Kind, usize) {
    let end = letters(text);
    let is_date = match text.as_bytes().get(end) {
        Some(b'-' | b'/' | b'.') => true,
        Some(b'+' | b'0'..=b'9') => special(text.get(..end).unwrap_or_default()) == Word::Unknown,
        _ => false,
    };
    if !is_date {
        return (Kind::Word, end);
    }
    let part = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
    };
    (Kind::Date, end + run(rest_of(text, end), part))
}
