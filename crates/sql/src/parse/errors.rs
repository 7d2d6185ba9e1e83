//! Errors of the parser and of the forms that are read before it, with their places in a statement's text.

use crate::error::{SqlError, code};
use crate::lexer::is_operator;
use crate::position::{of_location, resolve};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Location;

/// The most levels of nested parentheses and similar.
pub(super) const NESTING_MAX: usize = 100;

/// An error with its place.
pub(super) fn at_location(text: &str, error: SqlError, location: Location) -> SqlError {
    let position = of_location(location).map(|at| resolve(text, at));
    error.at(position)
}

/// An error of the parser, as PostgreSQL words it.
pub(crate) fn syntax(text: &str, error: ParserError) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => SqlError::new(
            code::TOO_COMPLEX,
            format!("a statement may be nested {NESTING_MAX} deep"),
        ),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            // The message ends with the place in the text.
            let (what, place) = match message.rsplit_once(" at Line: ") {
                Some((what, place)) => (what.to_string(), Some(place.to_string())),
                None => (message, None),
            };
            let location = place.and_then(|place| {
                let (line, column) = place.split_once(", Column: ")?;
                Some(Location {
                    line: line.trim().parse().ok()?,
                    column: column.trim().parse().ok()?,
                })
            });
            let error = match what.rsplit_once(", found: ") {
                Some(("Expected: an expression", found)) if is_prefix(text, found, location) => {
                    SqlError::new(
                        code::UNKNOWN_FUNCTION,
                        format!("operator does not exist: {found}"),
                    )
                    .detail("No operator of this name is written before its operand.")
                }
                Some((expected, "EOF")) => {
                    SqlError::syntax("syntax error at end of input").detail(format!("{expected}."))
                }
                Some((expected, found)) => {
                    SqlError::syntax(format!("syntax error at or near \"{found}\""))
                        .detail(format!("{expected}."))
                }
                None => SqlError::syntax(format!("syntax error: {what}")),
            };
            match location {
                Some(location) => at_location(text, error, location),
                None => error,
            }
        }
    }
}

/// True if what the parser found at a place is an operator before an operand, which the grammar of PostgreSQL takes
/// whatever its name is.
fn is_prefix(text: &str, found: &str, at: Option<Location>) -> bool {
    // These have their own places in the grammar.
    let other = [
        "+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>", "!=", "=>",
    ];
    let Some(at) = at.and_then(of_location) else {
        return false;
    };
    let behind = resolve(text, at) - 1 + found.chars().count();
    let mut rest = text.chars().skip(behind).skip_while(|c| c.is_whitespace());
    is_operator(found)
        && !other.contains(&found)
        && rest.next().is_some_and(|next| !"),;]".contains(next))
}
