//! `FETCH` and `MOVE`, as they are written; `WHERE CURRENT OF` is refused by name.

use super::errors::syntax;
use super::words::{behind, is_word};
use crate::error::SqlError;
use crate::names::name_of;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The rows of a cursor to fetch, relative to its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The given number of next rows, at least one; `None` for all.
    Forward(Option<u64>),
    /// The given number of previous rows, the nearest first; `None` for all.
    Backward(Option<u64>),
    /// The row of a number, from 1, or from the end if it is negative; 0 is before the first.
    Absolute(i64),
    /// The row at a distance ahead, or before; 0 is the same row again.
    Relative(i64),
}

/// `FETCH` or `MOVE`.
#[derive(Debug)]
pub(crate) struct Fetch {
    /// The cursor's name.
    pub name: String,
    /// The rows.
    pub direction: Direction,
    /// True if they are skipped (`MOVE`).
    pub is_move: bool,
}

/// True if the next statement is `FETCH` or `MOVE`.
pub(crate) fn is_fetch(parser: &Parser<'_>) -> bool {
    let words = ["fetch", "move"];
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

/// Reads `FETCH` or `MOVE`, with which the parser is to begin.
///
/// # Errors
/// `42601` for invalid syntax.
pub(crate) fn parse_fetch(text: &str, parser: &mut Parser<'_>) -> Result<Fetch, SqlError> {
    let wrong = |error| syntax(text, error);
    let is_move = !parser.parse_keyword(Keyword::FETCH);
    if is_move {
        parser.next_token();
    }
    let direction = parse_direction(parser).map_err(wrong)?;
    let _ = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    let name = name_of(&parser.parse_identifier().map_err(wrong)?);
    Ok(Fetch {
        name,
        direction,
        is_move,
    })
}

/// The rows that are meant.
fn parse_direction(parser: &mut Parser<'_>) -> Result<Direction, ParserError> {
    use Direction::{Absolute, Backward, Forward, Relative};
    const WORDS: [Keyword; 8] = [
        Keyword::FORWARD,
        Keyword::BACKWARD,
        Keyword::NEXT,
        Keyword::PRIOR,
        Keyword::FIRST,
        Keyword::LAST,
        Keyword::ABSOLUTE,
        Keyword::RELATIVE,
    ];
    Ok(match parser.parse_one_of_keywords(&WORDS) {
        Some(Keyword::NEXT) => Forward(Some(1)),
        Some(Keyword::PRIOR) => Backward(Some(1)),
        Some(Keyword::FIRST) => Absolute(1),
        Some(Keyword::LAST) => Absolute(-1),
        Some(Keyword::ABSOLUTE) => Absolute(parse_number(parser)?),
        Some(Keyword::RELATIVE) => Relative(parse_number(parser)?),
        word => {
            let is_back = word == Some(Keyword::BACKWARD);
            if parser.parse_keyword(Keyword::ALL) {
                return Ok(if is_back {
                    Backward(None)
                } else {
                    Forward(None)
                });
            }
            let next = &parser.peek_token_ref().token;
            let count = match matches!(next, Token::Number(..) | Token::Minus | Token::Plus) {
                true => parse_number(parser)?,
                false => 1,
            };
            match (is_back, count) {
                (_, 0) => Relative(0),
                (true, 1..) | (false, ..0) => Backward(Some(count.unsigned_abs())),
                (false, _) | (true, _) => Forward(Some(count.unsigned_abs())),
            }
        }
    })
}

/// A whole number with a sign.
fn parse_number(parser: &mut Parser<'_>) -> Result<i64, ParserError> {
    let is_negative = parser.consume_token(&Token::Minus);
    if !is_negative {
        let _ = parser.consume_token(&Token::Plus);
    }
    let number = i64::try_from(parser.parse_literal_uint()?).unwrap_or(i64::MAX);
    Ok(if is_negative { -number } else { number })
}

/// Refuses `WHERE CURRENT OF` a cursor.
///
/// # Errors
/// `0A000`, and its place.
pub(super) fn check_no_position(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    let is_position = |at: &usize| {
        is_word(&tokens[*at], "where") && behind(tokens, *at, &["where", "current", "of"]).is_some()
    };
    match (0..tokens.len()).find(is_position) {
        Some(at) => {
            let error = SqlError::unsupported("WHERE CURRENT OF a cursor is not supported");
            let error = error.hint("Name the row by its primary key.");
            Err((error, tokens[at].span.start))
        }
        None => Ok(()),
    }
}
