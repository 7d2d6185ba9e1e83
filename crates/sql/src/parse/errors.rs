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

/// The error of an escape in a literal that the tokenizer could not read; none for another reason.
pub(super) fn escape_error(text: &str, message: &str, at: Location) -> Option<SqlError> {
    if message != "Unterminated encoded string literal" {
        return None;
    }
    let before = resolve(text, of_location(at)?).saturating_sub(1);
    let letters = text.chars().skip(before).skip_while(|one| *one != '\'');
    wrong_escape(&letters.skip(1).collect::<Vec<char>>())
}

/// The error of the first wrong escape behind the first quote of a literal.
fn wrong_escape(letters: &[char]) -> Option<SqlError> {
    let mut at = 0;
    while let Some(letter) = letters.get(at) {
        let next = letters.get(at + 1);
        let (from, most, radix) = match (letter, next) {
            ('\'', Some('\'')) => (at + 2, 0, 16),
            ('\'', _) => return None,
            ('\\', Some('u')) => (at + 2, 4, 16),
            ('\\', Some('U')) => (at + 2, 8, 16),
            ('\\', Some('x')) => (at + 2, 2, 16),
            ('\\', Some('0'..='7')) => (at + 1, 3, 8),
            ('\\', _) => (at + 2, 0, 16),
            _ => (at + 1, 0, 16),
        };
        let rest = letters.get(from..).unwrap_or_default();
        let digits = rest.iter().take(most).take_while(|one| one.is_digit(radix));
        let digits: String = digits.collect();
        at = from + digits.len();
        let number = u32::from_str_radix(&digits, radix).ok();
        if let (true, Some('u' | 'U')) = (most > 2 && *letter == '\\', next) {
            let unreadable = match number.map(char::from_u32) {
                _ if digits.len() < most => SqlError::new("22025", "invalid Unicode escape")
                    .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."),
                Some(Some('\0')) => SqlError::syntax("invalid Unicode escape value"),
                Some(None) if (0xd800..0xe000).contains(&number.unwrap_or(0)) => {
                    SqlError::syntax("invalid Unicode surrogate pair")
                }
                Some(None) => SqlError::syntax("invalid Unicode escape value"),
                _ => continue,
            };
            return Some(unreadable);
        }
        match number.map(|number| number & 0xff) {
            Some(0) => {
                let text = "invalid byte sequence for encoding \"UTF8\": 0x00";
                return Some(SqlError::new("22021", text));
            }
            Some(128..) => {
                let text =
                    "bytes of letters beyond ASCII are not supported in a literal with escapes";
                return Some(SqlError::unsupported(text).hint("Write the letters."));
            }
            _ => {}
        }
    }
    None
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
