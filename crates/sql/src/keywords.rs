//! The words of PostgreSQL's grammar.

use std::sync::LazyLock;

/// A line for each word, in their order: the word, its kind, and `t` if it is a label without `AS`. From PostgreSQL 15.
const WORDS: &str = include_str!("keywords.txt");

/// A word of the grammar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyword {
    pub word: &'static str,
    /// `U`, `C`, `T` or `R`, as `pg_get_keywords` shows it.
    pub kind: &'static str,
    /// True if it is a label of a column without `AS`.
    pub is_label: bool,
}

impl Keyword {
    /// The kind in words.
    pub fn description(self) -> &'static str {
        match self.kind {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        }
    }
}

/// All words.
pub(crate) fn all() -> &'static [Keyword] {
    static ALL: LazyLock<Vec<Keyword>> = LazyLock::new(|| {
        let parts = |line: &'static str| {
            let mut parts = line.split(' ');
            Some(Keyword {
                word: parts.next()?,
                kind: parts.next()?,
                is_label: parts.next() == Some("t"),
            })
        };
        WORDS.lines().filter_map(parts).collect()
    });
    &ALL
}

/// A word in lower case, if it is one of the grammar.
pub(crate) fn named(word: &str) -> Option<Keyword> {
    let all = all();
    let place = all.binary_search_by(|known| known.word.cmp(word)).ok()?;
    all.get(place).copied()
}
