//! The places of tokens in their text, as bytes.

use sqlparser::tokenizer::Location;
use std::str::CharIndices;

/// A place in a text that only moves forward: tokens are in its order, so each character is read once.
pub(super) struct Reading<'t> {
    text: &'t str,
    rest: CharIndices<'t>,
    at: Location,
}

impl<'t> Reading<'t> {
    pub fn new(text: &'t str) -> Self {
        Reading {
            text,
            rest: text.char_indices(),
            at: Location::new(1, 1),
        }
    }

    /// The byte at which a place begins.
    pub fn byte(&mut self, to: Location) -> usize {
        while self.at < to {
            match self.rest.next() {
                Some((_, '\n')) => self.at = Location::new(self.at.line + 1, 1),
                Some(_) => self.at.column += 1,
                None => break,
            }
        }
        self.rest.offset()
    }

    /// The text from a place to another one.
    pub fn between(&mut self, begins: Location, ends: Location) -> &'t str {
        let (begins, ends) = (self.byte(begins), self.byte(ends));
        self.text.get(begins..ends).unwrap_or_default()
    }
}
