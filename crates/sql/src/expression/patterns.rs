//! Regular expressions: `~` and its kin, by the crate `regex`, which takes time in proportion to the text.
//!
//! Of several matches at one place PostgreSQL takes the longest one, or the shortest one. The crate takes the first one that
//! the pattern names, so the end is found by another machine then, and the groups by the part up to there.
//!
//! Their language is that of PostgreSQL's "advanced" expressions ([`super::regex_syntax`]) without references back and
//! conditions on what surrounds a match; a pattern with those is refused.

use super::regex_syntax::{Length, Translated, translated};
use crate::error::{SqlError, code};
use regex::{Captures, Regex, RegexBuilder};
use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
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

/// A pattern of a statement.
#[derive(Debug)]
struct Kept {
    pattern: String,
    options: Options,
    translated: Translated,
    regex: Regex,
    ends: Option<Ends>,
}

/// The ends of matches of a pattern that may have several at one place.
#[derive(Clone, Debug)]
struct Ends {
    length: Length,
    /// It finds all ends of matches at one place.
    machine: PikeVM,
    /// The pattern up to the end of a text.
    whole: Regex,
}

/// A compiled pattern, which finds matches and their groups.
#[derive(Debug)]
pub(crate) struct Searcher {
    regex: Regex,
    ends: Option<(Ends, RefCell<pikevm::Cache>)>,
}

impl Searcher {
    /// The first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.captures_at(text, 0)
    }

    /// The first match from a place on: of several that begin where it does, the longest or the shortest one.
    pub fn captures_at<'t>(&self, text: &'t str, from: usize) -> Option<Captures<'t>> {
        let found = self.regex.captures_at(text, from)?;
        let Some((ends, cache)) = &self.ends else {
            return Some(found);
        };
        let all = found.get(0)?.range();
        let input = Input::new(text)
            .range(all.start..)
            .anchored(Anchored::Yes)
            .earliest(ends.length == Length::Shortest);
        let end = ends.machine.find(&mut cache.borrow_mut(), input)?.end();
        if end == all.end {
            return Some(found);
        }
        let other = ends.whole.captures_at(text.get(..end)?, all.start);
        // A condition on what follows the match may fail at the end of the shorter text.
        let is_it =
            |other: &Captures<'_>| other.get(0).map(|it| it.range()) == Some(all.start..end);
        Some(other.filter(is_it).unwrap_or(found))
    }
}

/// The compiled patterns of a statement.
#[derive(Debug, Default)]
pub(crate) struct Patterns(RefCell<Vec<Kept>>);

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

    /// A pattern that tells whether a text has a match, compiled once for the statement.
    ///
    /// # Errors
    /// `2201B` if it is none.
    pub fn compiled(&self, pattern: &str, options: Options) -> Result<Regex, SqlError> {
        self.kept(pattern, options, |kept| Ok(kept.regex.clone()))
    }

    /// A pattern that finds matches, compiled once for the statement.
    ///
    /// # Errors
    /// `2201B` if it is none.
    pub fn searcher(&self, pattern: &str, options: Options) -> Result<Searcher, SqlError> {
        self.kept(pattern, options, |kept| {
            let ends = match (kept.translated.length, &kept.ends) {
                (None, _) => None,
                (_, Some(ends)) => Some(ends.clone()),
                (Some(length), None) => {
                    let ends = Ends::new(&kept.translated, length)?;
                    kept.ends = Some(ends.clone());
                    Some(ends)
                }
            };
            let cached = |ends: Ends| {
                let cache = RefCell::new(ends.machine.create_cache());
                (ends, cache)
            };
            Ok(Searcher {
                regex: kept.regex.clone(),
                ends: ends.map(cached),
            })
        })
    }

    fn kept<R>(
        &self,
        pattern: &str,
        options: Options,
        take: impl FnOnce(&mut Kept) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let mut all = self.0.borrow_mut();
        let is_it = |kept: &&mut Kept| kept.pattern == pattern && kept.options == options;
        if let Some(kept) = all.iter_mut().find(is_it) {
            return take(kept);
        }
        let translated = translated(pattern, options)?;
        let regex = built(&translated.text, translated.options)?;
        if all.len() >= KEPT_MAX {
            all.remove(0);
        }
        let mut kept = Kept {
            pattern: pattern.to_string(),
            options,
            translated,
            regex,
            ends: None,
        };
        let taken = take(&mut kept);
        all.push(kept);
        taken
    }
}

#[cold]
fn wrong(error: impl std::fmt::Display) -> SqlError {
    SqlError::new("2201B", format!("invalid regular expression: {error}"))
}

fn built(text: &str, with: Options) -> Result<Regex, SqlError> {
    RegexBuilder::new(text)
        .case_insensitive(with.ignores_case)
        .multi_line(with.anchors_at_lines)
        .size_limit(PATTERN_BYTES_MAX)
        .dot_matches_new_line(!with.stops_at_lines)
        .build()
        .map_err(wrong)
}

impl Ends {
    fn new(translated: &Translated, length: Length) -> Result<Ends, SqlError> {
        let with = translated.options;
        let syntax = syntax::Config::new()
            .case_insensitive(with.ignores_case)
            .multi_line(with.anchors_at_lines)
            .dot_matches_new_line(!with.stops_at_lines);
        let bounded = thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES_MAX));
        let machine = PikeVM::builder()
            .configure(PikeVM::config().match_kind(MatchKind::All))
            .syntax(syntax)
            .thompson(bounded)
            .build(&translated.text)
            .map_err(wrong)?;
        let whole = format!("(?:{})\\z", translated.text);
        Ok(Ends {
            length,
            machine,
            whole: built(&whole, with)?,
        })
    }
}
