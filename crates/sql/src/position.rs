//! Places in a statement's text.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::Location;

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

/// The beginning of a text, for errors.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let mut short: String = text.chars().take(CHARACTERS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
