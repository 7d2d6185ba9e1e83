//! The words of an interval's text: signs that are written apart, and numbers that are too large for their place.
//!
//! Source: PostgreSQL 15, `ParseDateTime` and `DecodeInterval`.

use super::{Number, Sum, bounded, split};
use std::borrow::Cow;

/// A text without blanks between a sign and its number.
pub(super) fn with_near_signs(text: &str) -> Cow<'_, str> {
    let mut words = text.split_whitespace();
    if !words.any(|word| matches!(word, "-" | "+")) {
        return Cow::Borrowed(text);
    }
    let mut near = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        near.push_str(word);
        if !matches!(word, "-" | "+") {
            near.push(' ');
        }
    }
    Cow::Owned(near)
}

/// True if a text is no interval since a number in it is too large: minutes, seconds, or months behind years, as the text
/// of a date may have. PostgreSQL reads the last word first.
pub(super) fn has_large_part(text: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    let exceeds = |digits: &str, most: i128| is_number(digits) && bounded(digits) > most;
    for word in text.split_whitespace().rev() {
        let word = word.trim_start_matches(['-', '+']);
        if let Some((hours, rest)) = word.split_once(':') {
            let (minutes, rest) = split(rest, |c| c.is_ascii_digit());
            let (seconds, rest) = split(rest.strip_prefix(':').unwrap_or(rest), |c| {
                c.is_ascii_digit()
            });
            if !is_number(hours)
                || !rest
                    .trim_start_matches('.')
                    .bytes()
                    .all(|c| c.is_ascii_digit())
            {
                return false;
            }
            if exceeds(minutes, 59) || exceeds(seconds, 60) {
                return true;
            }
        } else if let Some((years, rest)) = word.split_once('-') {
            let (months, _) = split(rest, |c| c.is_ascii_digit());
            return is_number(years) && exceeds(months, 11);
        } else if !is_number(word) {
            let one = Number {
                whole: 1,
                fraction: 0.0,
            };
            if !word.eq_ignore_ascii_case("ago") && Sum::default().add(one, word).is_none() {
                return false;
            }
        }
    }
    false
}
