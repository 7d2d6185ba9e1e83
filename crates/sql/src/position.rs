//! Places in a statement's text.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::{Location, Span};
use std::ops::Range;
use std::str::CharIndices;

/// Marks a place as line and column. [`resolve`] converts it to a character's number when the text is available.
const LINE: usize = 1 << 32;

/// The place of an expression's first character, as line and column in one number.
pub(crate) fn position_of(tree: &Expr) -> Option<usize> {
    of_location(match tree {
        // Their spans are found without walking through the tree.
        Expr::Identifier(name) => name.span.start,
        Expr::CompoundIdentifier(names) => names.first()?.span.start,
        Expr::Value(value) => value.span.start,
        Expr::Function(function) => function.name.span().start,
        _ => return None,
    })
}

/// A place as line and column in one number.
pub(crate) fn of_location(at: Location) -> Option<usize> {
    let (line, column) = (
        usize::try_from(at.line).ok()?,
        usize::try_from(at.column).ok()?,
    );
    (line > 0).then_some(line * LINE + column)
}

/// The line and column of a place that [`of_location`] gave.
pub(crate) fn location_of(position: usize) -> Option<Location> {
    let (line, column) = (position / LINE, position % LINE);
    (line > 0).then(|| Location::new(line as u64, column as u64))
}

/// The number of the character at a line and column, from 1.
pub(crate) fn resolve(text: &str, position: usize) -> usize {
    let (line, column) = (position / LINE, position % LINE);
    if line == 0 {
        return position;
    }
    let lines = text.split_inclusive('\n').take(line - 1);
    lines.map(|line| line.chars().count()).sum::<usize>() + column
}

/// The lines of a text, by which many places are found in linear time.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub fn of(text: &str) -> Lines {
        let ends = text.chars().enumerate().filter(|(_, one)| *one == '\n');
        Lines([0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The number of characters before a place.
    pub fn before(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        Some(self.0.get(line)? + column)
    }
}

/// The bytes of places in a text. Tokens are in its order, so each character is read once for all of them; for a place that is
/// not behind the last one, the text is read from its beginning.
pub(crate) struct Places<'t> {
    text: &'t str,
    rest: CharIndices<'t>,
    at: Location,
}

impl<'t> Places<'t> {
    pub fn of(text: &'t str) -> Self {
        Places {
            text,
            rest: text.char_indices(),
            at: Location::new(1, 1),
        }
    }

    /// The byte at which a place begins.
    pub fn byte(&mut self, to: Location) -> usize {
        if to < self.at {
            *self = Places::of(self.text);
        }
        while self.at < to {
            match self.rest.next() {
                Some((_, '\n')) => self.at = Location::new(self.at.line + 1, 1),
                Some(_) => self.at.column += 1,
                None => break,
            }
        }
        self.rest.offset()
    }

    /// The bytes of a span.
    pub fn range(&mut self, span: Span) -> Range<usize> {
        self.byte(span.start)..self.byte(span.end)
    }

    /// The text from a place to another one.
    pub fn between(&mut self, begins: Location, ends: Location) -> &'t str {
        let range = self.range(Span::new(begins, ends));
        self.text.get(range).unwrap_or_default()
    }
}

/// The beginning of a text, for errors.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let mut short: String = text.chars().take(CHARACTERS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
