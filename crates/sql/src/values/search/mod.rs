//! Text search: documents as lists of lexemes with their places (`tsvector`), and questions about them (`tsquery`). Values are
//! texts in the form in which PostgreSQL writes them.
//!
//! Invariants: equal values have equal texts, so the text of a value is stored, compared for equality and sent as it is. Each
//! value is made by a function that checks its bounds, so its text reads back.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/tsvector*.c` and `tsquery*.c`.

mod matching;
mod query;
#[cfg(test)]
mod tests;
mod vector;
mod word;

pub(crate) use matching::matches;
pub(crate) use query::{DISTANCE_MAX, Item, Operand, Query, wrong_distance};
pub(crate) use vector::{Lexeme, Vector};

use crate::error::{SqlError, code};

/// A stored value whose text is not of its type: nothing is computed from it, so that nothing replaces it.
#[cold]
pub(crate) fn damaged(kind: &str, why: &str) -> SqlError {
    let text = format!("a stored value is no {kind}: {why}");
    SqlError::new(code::DATA_CORRUPTED, text)
        .hint("Another program wrote it. Read it as text, and write a value of the type.")
}

/// Weights as they are written: that of a place without a letter is the last.
pub(crate) const WEIGHTS: [char; 4] = ['D', 'C', 'B', 'A'];

/// The number of a weight's letter.
pub(crate) fn weight_of(letter: char) -> Option<u8> {
    let letter = letter.to_ascii_uppercase();
    let found = WEIGHTS.iter().position(|weight| *weight == letter);
    found.map(|at| at as u8)
}
