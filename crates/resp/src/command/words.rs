//! The words behind a command's fixed arguments, taken one after the other.

use super::line::Line;
use crate::failure::Failure;
use crate::number::{float, integer};

/// The unread parts of a command.
pub(crate) struct Words<'l> {
    line: &'l Line,
    at: usize,
}

impl<'l> Words<'l> {
    /// The parts from one on.
    pub fn from(line: &'l Line, at: usize) -> Self {
        Words { line, at }
    }

    pub fn next(&mut self) -> Option<&'l [u8]> {
        let there = self.at < self.line.len();
        there.then(|| {
            self.at += 1;
            self.line.part(self.at - 1)
        })
    }

    /// The next word; a syntax error if there is none.
    pub fn wanted(&mut self) -> Result<&'l [u8], Failure> {
        self.next().ok_or(Failure::Syntax)
    }

    /// The next word as a whole number.
    pub fn integer(&mut self) -> Result<i64, Failure> {
        integer(self.wanted()?)
    }

    /// The next word as a float.
    pub fn float(&mut self) -> Result<f64, Failure> {
        float(self.wanted()?)
    }

    /// Takes the next word if it is this one, ignoring case.
    pub fn take(&mut self, word: &str) -> bool {
        let is_it = self.at < self.line.len()
            && self
                .line
                .part(self.at)
                .eq_ignore_ascii_case(word.as_bytes());
        self.at += usize::from(is_it);
        is_it
    }

    /// The number of unread parts.
    pub fn left(&self) -> usize {
        self.line.len() - self.at.min(self.line.len())
    }

    /// The number of the next part.
    pub fn place(&self) -> usize {
        self.at
    }
}

/// A count, which is not negative.
pub(crate) fn count(text: &[u8]) -> Result<u64, Failure> {
    let count = integer(text)
        .ok()
        .and_then(|count| u64::try_from(count).ok());
    count.ok_or(Failure::Told("ERR value is out of range, must be positive"))
}

/// Parses the number of randomly chosen elements: if positive, distinct ones; if negative, elements may repeat.
pub(crate) fn random_count(text: &[u8]) -> Result<i64, Failure> {
    const MOST: i64 = i64::MAX;
    match integer(text)? {
        i64::MIN => Err(Failure::Said(format!(
            "ERR value is out of range, value must between -{MOST} and {MOST}"
        ))),
        count => Ok(count),
    }
}

/// The same for elements that are returned with their values, so that the answer has twice as many items.
pub(crate) fn check_random_pairs(count: i64) -> Result<(), Failure> {
    match (i64::MIN / 2 + 1..=i64::MAX / 2).contains(&count) {
        true => Ok(()),
        false => Err(Failure::Told("ERR value is out of range")),
    }
}

/// The most that is counted, which 0 does not bound.
pub(crate) fn limit(text: &[u8]) -> Result<usize, Failure> {
    let limit = integer(text)
        .ok()
        .and_then(|limit| usize::try_from(limit).ok());
    match limit.ok_or(Failure::Told("ERR LIMIT can't be negative"))? {
        0 => Ok(usize::MAX),
        limit => Ok(limit),
    }
}

/// True if a word is this one, ignoring case.
pub(crate) fn is(word: &[u8], wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted.as_bytes())
}

/// A time to live as a point in time.
pub(crate) fn point_in_time(
    amount: i64,
    seconds: bool,
    absolute: bool,
    now: i64,
    command: &str,
) -> Result<i64, Failure> {
    let invalid = || Failure::Said(format!("ERR invalid expire time in '{command}' command"));
    let millis = match seconds {
        true => amount.checked_mul(1000).ok_or_else(invalid)?,
        false => amount,
    };
    let at = match absolute {
        true => millis,
        false => millis.checked_add(now).ok_or_else(invalid)?,
    };
    // Times of tables count microseconds: a later time than these allow becomes the last of them.
    Ok(at.clamp(i64::MIN / 1000, i64::MAX / 1000))
}
