//! Text search: documents as lists of lexemes with their places (`tsvector`), and questions about them (`tsquery`).
//! Values are texts in PostgreSQL's form.
//!
//! Invariants: equal values have equal texts, so the text of a value is stored, compared for equality and sent
//! unchanged. Each value is made by a function that checks its bounds, so its text reads back.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/tsvector*.c` and `tsquery*.c`.

mod config;
mod matching;
mod parser;
mod query;
mod questions;
mod rank;
#[cfg(test)]
mod tests;
mod vector;
mod word;

pub(crate) use config::Config;
pub(crate) use matching::matches;
pub(crate) use query::{DISTANCE_MAX, Item, Operand, Query, wrong_distance};
pub(crate) use questions::{Asked, question};
pub(crate) use rank::{WEIGHTS_OF_RANK, rank};
pub(crate) use vector::{Lexeme, Vector};

use crate::error::{SqlError, code};

/// The error of a stored value whose text is not of its type. Nothing is computed from it, so nothing replaces it.
#[cold]
pub(crate) fn damaged(kind: &str, why: &str) -> SqlError {
    let text = format!("a stored value is no {kind}: {why}");
    SqlError::new(code::DATA_CORRUPTED, text)
        .hint("Another program wrote it. Read it as text, and write a value of the type.")
}

/// Weights as they are written, by their numbers. `D` is that of a place without a letter.
pub(crate) const WEIGHTS: [char; 4] = ['D', 'C', 'B', 'A'];

/// The number of a weight's letter.
pub(crate) fn weight_of(letter: char) -> Option<u8> {
    let letter = letter.to_ascii_uppercase();
    let found = WEIGHTS.iter().position(|weight| *weight == letter);
    found.map(|at| at as u8)
}
