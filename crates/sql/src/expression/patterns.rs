//! Regular expressions: `~` and its kin, by the crate `regex`, which takes time in proportion to the text.
//!
//! Their language is that of PostgreSQL's "advanced" expressions ([`super::regex_syntax`]) without references back and
//! conditions on what surrounds a match; a pattern with those is refused.

use super::regex_syntax::translated;
use crate::error::{SqlError, code};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// The most bytes of a compiled pattern.
const PATTERN_BYTES_MAX: usize = 8 << 20;
/// The most compiled patterns that a statement keeps.
const KEPT_MAX: usize = 16;

/// Options of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
    pub ignores_case: bool,
    /// `.` does not match the end of a line.
    pub stops_at_lines: bool,
    /// `^` and `$` match at the ends of lines.
    pub anchors_at_lines: bool,
    /// True if blanks and comments in the pattern are ignored.
    pub is_expanded: bool,
}

impl Options {
    /// Takes one of the letters on lines.
    pub fn set_lines(&mut self, letter: char) {
        self.stops_at_lines = matches!(letter, 'n' | 'm' | 'p');
        self.anchors_at_lines = matches!(letter, 'n' | 'm' | 'w');
    }

    /// The options by a function's letters, and true if all matches are meant.
    ///
    /// # Errors
    /// `22023` for a letter that is none; `0A000` for one that is not supported.
    pub fn read(letters: &str) -> Result<(Options, bool), SqlError> {
        let (mut options, mut is_global) = (Options::default(), false);
        for letter in letters.chars() {
            match letter {
                'g' => is_global = true,
                'i' => options.ignores_case = true,
                'c' => options.ignores_case = false,
                'n' | 'm' | 'p' | 's' | 'w' => options.set_lines(letter),
                'x' => options.is_expanded = true,
                't' => options.is_expanded = false,
                'b' | 'e' | 'q' => {
                    return Err(SqlError::unsupported(format!(
                        "the regular expression option \"{letter}\" is not supported"
                    )));
                }
                _ => {
                    return Err(SqlError::new(
                        code::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{letter}\""),
                    ));
                }
            }
        }
        Ok((options, is_global))
    }
}

/// The compiled patterns of a statement.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RefCell<Vec<(String, Options, Regex)>>);

impl Patterns {
    /// True if a part of a text matches a pattern.
    ///
    /// # Errors
    /// `2201B` if it is no pattern.
    pub fn matches(&self, text: &str, pattern: &str, ignores_case: bool) -> Result<bool, SqlError> {
        let options = Options {
            ignores_case,
            ..Options::default()
        };
        Ok(self.compiled(pattern, options)?.is_match(text))
    }

    /// A pattern, compiled once for the statement.
    ///
    /// # Errors
    /// `2201B` if it is none.
    pub fn compiled(&self, pattern: &str, options: Options) -> Result<Regex, SqlError> {
        let mut kept = self.0.borrow_mut();
        let found = kept
            .iter()
            .find(|(there, with, _)| there == pattern && *with == options);
        if let Some((_, _, regex)) = found {
            return Ok(regex.clone());
        }
        let (written, with) = translated(pattern, options)?;
        let regex = RegexBuilder::new(&written)
            .case_insensitive(with.ignores_case)
            .multi_line(with.anchors_at_lines)
            .size_limit(PATTERN_BYTES_MAX)
            .dot_matches_new_line(!with.stops_at_lines)
            .build()
            .map_err(|error| {
                SqlError::new("2201B", format!("invalid regular expression: {error}"))
            })?;
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((pattern.to_string(), options, regex.clone()));
        Ok(regex)
    }
}
