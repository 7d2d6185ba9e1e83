//! Texts without accents: `unaccent`, by PostgreSQL's own rules (`unaccent.rules`, under PostgreSQL's licence).
//!
//! At each place the longest text that a rule names is replaced. Normal forms of Unicode give other answers (`Æ`, `ø`, `½`), so
//! the rules are kept here.
//!
//! Source: PostgreSQL 15, `contrib/unaccent`.

use crate::error::SqlError;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What is replaced, and by what; and the most bytes of what is replaced.
struct Rules {
    by: HashMap<&'static str, &'static str>,
    longest: usize,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let mut by = HashMap::new();
    let lines = include_str!("unaccent.rules").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        if let Some(from) = words.next() {
            by.insert(from, words.next().unwrap_or_default());
        }
    }
    let longest = by.keys().map(|from| from.len()).max().unwrap_or(0);
    Rules { by, longest }
});

/// So many bytes between two looks.
const BYTES_BETWEEN: usize = 1 << 13;

/// A text without accents. `look` is called from time to time, and may end it.
///
/// # Errors
/// Those of `look`.
pub(crate) fn unaccented(
    text: &str,
    look: &dyn Fn() -> Result<(), SqlError>,
) -> Result<String, SqlError> {
    let rules = &*RULES;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut looked_at = text.len();
    while let Some(first) = rest.chars().next() {
        if looked_at - rest.len() > BYTES_BETWEEN {
            looked_at = rest.len();
            look()?;
        }
        let most = rules.longest.min(rest.len());
        let found = (1..=most).rev().find_map(|end| {
            let (from, behind) = rest.split_at_checked(end)?;
            Some((*rules.by.get(from)?, behind))
        });
        match found {
            Some((to, behind)) => {
                out.push_str(to);
                rest = behind;
            }
            None => {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    Ok(out)
}
