//! Regular expressions: `~` and its kin, by the crate `regex`, which takes time in proportion to the text.
//!
//! Its language is that of PostgreSQL's "advanced" expressions without references back and conditions on what surrounds a
//! match; a pattern with those is refused.

use crate::error::SqlError;
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// The most bytes that a pattern takes when it is compiled.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// How many compiled patterns a statement keeps.
const KEPT_MAX: usize = 16;

/// Patterns that a statement compiled.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RefCell<Vec<(String, bool, Regex)>>);

impl Patterns {
    /// Whether a part of a text matches a pattern.
    ///
    /// # Errors
    /// `2201B` if it is no pattern.
    pub fn matches(&self, text: &str, pattern: &str, ignores_case: bool) -> Result<bool, SqlError> {
        let mut kept = self.0.borrow_mut();
        let found = kept
            .iter()
            .find(|(there, ignores, _)| there == pattern && *ignores == ignores_case);
        if let Some((_, _, regex)) = found {
            return Ok(regex.is_match(text));
        }
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(ignores_case)
            .size_limit(PATTERN_BYTES_MAX)
            .dot_matches_new_line(true)
            .build()
            .map_err(|error| {
                SqlError::new("2201B", format!("invalid regular expression: {error}"))
            })?;
        let is_match = regex.is_match(text);
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((pattern.to_string(), ignores_case, regex));
        Ok(is_match)
    }
}
