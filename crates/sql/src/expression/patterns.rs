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
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The most bytes of a compiled pattern.
const PATTERN_BYTES_MAX: usize = 8 << 20;
/// The most places of groups that a search remembers: some for each state of the pattern's machine.
const PLACES_MAX: usize = 4 << 20;
/// A pattern with this many groups has few enough places.
const FEW_GROUPS: usize = 4;
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
    regex: Arc<Regex>,
    searcher: Option<Searcher>,
}

/// A machine with its memory, which all searches share: those of one statement follow each other.
#[derive(Debug)]
struct Machine {
    machine: PikeVM,
    cache: Mutex<Option<Box<pikevm::Cache>>>,
}

impl Machine {
    fn new(translated: &Translated, which: WhichCaptures) -> Result<Machine, SqlError> {
        let with = translated.options;
        let syntax = syntax::Config::new()
            .case_insensitive(with.ignores_case)
            .multi_line(with.anchors_at_lines)
            .dot_matches_new_line(!with.stops_at_lines);
        let bounded = thompson::Config::new()
            .nfa_size_limit(Some(PATTERN_BYTES_MAX))
            .which_captures(which);
        let machine = PikeVM::builder()
            .configure(PikeVM::config().match_kind(MatchKind::All))
            .syntax(syntax)
            .thompson(bounded)
            .build(&translated.text)
            .map_err(wrong)?;
        let places = machine.get_nfa().group_info().slot_len();
        if machine.get_nfa().states().len().saturating_mul(places) > PLACES_MAX {
            return Err(wrong("regular expression is too complex"));
        }
        let cache = Mutex::default();
        Ok(Machine { machine, cache })
    }

    fn with_cache<R>(&self, search: impl FnOnce(&PikeVM, &mut pikevm::Cache) -> R) -> R {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = cache.get_or_insert_with(|| Box::new(self.machine.create_cache()));
        search(&self.machine, cache)
    }
}

/// The ends of matches of a pattern that may have several at one place.
#[derive(Debug)]
struct Ends {
    length: Length,
    /// It finds all ends of matches at one place. Without the places of groups, its memory is small.
    ends: Machine,
    /// It finds the groups of a match with a known end; none if the pattern has no groups.
    groups: Option<Machine>,
}

/// A compiled pattern, which finds matches and their groups.
#[derive(Clone, Debug)]
pub(crate) struct Searcher {
    regex: Arc<Regex>,
    ends: Option<Arc<Ends>>,
}

/// A match.
#[derive(Debug)]
pub(crate) enum Found<'t> {
    First(Captures<'t>),
    /// The places of the match and of its groups.
    Other(&'t str, Vec<Option<Range<usize>>>),
}

/// A match, or a group of it.
#[derive(Clone, Debug)]
pub(crate) struct Part<'t> {
    text: &'t str,
    range: Range<usize>,
}

impl<'t> Part<'t> {
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    pub fn as_str(&self) -> &'t str {
        self.text
    }
}

impl<'t> Found<'t> {
    /// The number of groups, with the match itself.
    pub fn len(&self) -> usize {
        match self {
            Found::First(found) => found.len(),
            Found::Other(_, groups) => groups.len(),
        }
    }

    /// A group, or with 0 all of the match.
    pub fn get(&self, group: usize) -> Option<Part<'t>> {
        match self {
            Found::First(found) => found.get(group).map(|found| Part {
                text: found.as_str(),
                range: found.range(),
            }),
            Found::Other(text, groups) => {
                let range = groups.get(group)?.clone()?;
                let text = text.get(range.clone())?;
                Some(Part { text, range })
            }
        }
    }
}

impl Searcher {
    fn new(translated: &Translated, regex: &Arc<Regex>) -> Result<Searcher, SqlError> {
        let groups = regex.captures_len() - 1;
        let all = (groups > 0 && translated.length.is_some())
            .then(|| Machine::new(translated, WhichCaptures::All))
            .transpose()?;
        let ends = match translated.length {
            None => None,
            Some(length) => Some(Arc::new(Ends {
                length,
                ends: Machine::new(translated, WhichCaptures::Implicit)?,
                groups: all,
            })),
        };
        let regex = regex.clone();
        Ok(Searcher { regex, ends })
    }

    /// The first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        self.captures_at(text, 0)
    }

    /// The first match from a place on: of several that begin where it does, the longest or the shortest one.
    pub fn captures_at<'t>(&self, text: &'t str, from: usize) -> Option<Found<'t>> {
        let found = self.regex.captures_at(text, from)?;
        let Some(ends) = &self.ends else {
            return Some(Found::First(found));
        };
        let all = found.get(0)?.range();
        let input = Input::new(text)
            .range(all.start..)
            .anchored(Anchored::Yes)
            .earliest(ends.length == Length::Shortest);
        let end = ends
            .ends
            .with_cache(|machine, cache| machine.find(cache, input))?
            .end();
        if end == all.end {
            return Some(Found::First(found));
        }
        let Some(groups) = &ends.groups else {
            return Some(Found::Other(text, vec![Some(all.start..end)]));
        };
        // Conditions on what surrounds the match see the whole text. The longest match up to the end is the one that ends
        // there.
        let input = Input::new(text)
            .range(all.start..end)
            .anchored(Anchored::Yes);
        let groups = groups.with_cache(|machine, cache| {
            let mut captures = machine.create_captures();
            machine.captures(cache, input, &mut captures);
            let all = (0..captures.group_len()).map(|group| captures.get_group(group));
            all.map(|span| span.map(|span| span.range())).collect()
        });
        Some(Found::Other(text, groups))
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
    pub fn compiled(&self, pattern: &str, options: Options) -> Result<Arc<Regex>, SqlError> {
        self.kept(pattern, options, |kept| Ok(kept.regex.clone()))
    }

    /// A pattern that finds matches, compiled once for the statement.
    ///
    /// # Errors
    /// `2201B` if it is none.
    pub fn searcher(&self, pattern: &str, options: Options) -> Result<Searcher, SqlError> {
        self.kept(pattern, options, |kept| match &kept.searcher {
            Some(searcher) => Ok(searcher.clone()),
            None => {
                let searcher = Searcher::new(&kept.translated, &kept.regex)?;
                kept.searcher = Some(searcher.clone());
                Ok(searcher)
            }
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
        // A search without groups keeps their places, too.
        if regex.captures_len() > FEW_GROUPS + 1 {
            Machine::new(&translated, WhichCaptures::All)?;
        }
        if all.len() >= KEPT_MAX {
            all.remove(0);
        }
        let mut kept = Kept {
            pattern: pattern.to_string(),
            options,
            translated,
            regex: Arc::new(regex),
            searcher: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_many_groups_are_refused_before_memory_is_taken() {
        let patterns = Patterns::default();
        for rest in ["|c", ""] {
            let pattern = "(a)".repeat(30_000) + rest;
            let refused = patterns.searcher(&pattern, Options::default());
            assert_eq!(refused.expect_err("too complex").code, "2201B");
            let refused = patterns.matches("b", &pattern, false);
            assert_eq!(refused.expect_err("too complex").code, "2201B");
        }
    }

    #[test]
    fn searches_of_a_statement_share_the_memory_of_a_pattern() {
        let patterns = Patterns::default();
        let searcher = || patterns.searcher("(a|ab)(c?)", Options::default());
        let (one, other) = (
            searcher().expect("it is one"),
            searcher().expect("it is one"),
        );
        let (Some(one), Some(other)) = (one.ends, other.ends) else {
            panic!("it has several matches at one place");
        };
        assert!(Arc::ptr_eq(&one, &other));
    }
}
