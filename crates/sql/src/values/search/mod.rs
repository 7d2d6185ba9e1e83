//! Text search: documents as lists of lexemes with their places (`tsvector`), and questions about them (`tsquery`). Values are
//! texts in the form in which PostgreSQL writes them.
//!
//! Invariant: equal values have equal texts, so the text of a value is stored, compared for equality and sent as it is.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/tsvector*.c` and `tsquery*.c`.

mod matching;
mod query;
mod vector;
mod word;

pub(crate) use matching::matches;
pub(crate) use query::{DISTANCE_MAX, Node, Operand, Query, wrong_distance};
pub(crate) use vector::{Lexeme, Vector};

/// Weights as they are written: that of a place without a letter is the last.
pub(crate) const WEIGHTS: [char; 4] = ['D', 'C', 'B', 'A'];

/// The number of a weight's letter.
pub(crate) fn weight_of(letter: char) -> Option<u8> {
    let letter = letter.to_ascii_uppercase();
    let found = WEIGHTS.iter().position(|weight| *weight == letter);
    found.map(|at| at as u8)
}
