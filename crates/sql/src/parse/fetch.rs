//! `FETCH` and `MOVE`, as they are written: forward only.

use super::syntax;
use crate::error::{SqlError, code};
use crate::names::name_of;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `FETCH` or `MOVE`.
#[derive(Debug)]
pub(crate) struct Fetch {
    /// Of the cursor.
    pub name: String,
    /// How many rows at most; `None` for all.
    pub most: Option<u64>,
    /// True if they are passed over (`MOVE`).
    pub is_move: bool,
}

/// True if the statement that comes next is `FETCH` or `MOVE`.
pub(crate) fn is_fetch(parser: &Parser<'_>) -> bool {
    let words = ["fetch", "move"];
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

/// Reads `FETCH` or `MOVE`, with which the parser is to begin.
///
/// # Errors
/// `42601`; `55000` for rows that are not ahead.
pub(crate) fn parse_fetch(text: &str, parser: &mut Parser<'_>) -> Result<Fetch, SqlError> {
    let wrong = |error| syntax(text, error);
    let is_move = !parser.parse_keyword(Keyword::FETCH);
    if is_move {
        parser.next_token();
    }
    let most = parse_direction(parser).map_err(wrong)?;
    let most = most.map_err(|()| backward())?;
    let _ = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    let name = name_of(&parser.parse_identifier().map_err(wrong)?);
    Ok(Fetch {
        name,
        most,
        is_move,
    })
}

fn backward() -> SqlError {
    SqlError::new(
        code::NOT_IN_PREREQUISITE_STATE,
        "cursor can only scan forward",
    )
    .hint("FETCH and MOVE take NEXT, a number of rows that are ahead, or ALL.")
}

/// How many rows are ahead that are meant, or all; an inner error for others.
fn parse_direction(parser: &mut Parser<'_>) -> Result<Result<Option<u64>, ()>, ParserError> {
    let is_forward = parser.parse_keyword(Keyword::FORWARD);
    if parser.parse_keyword(Keyword::ALL) {
        return Ok(Ok(None));
    }
    if !is_forward {
        if parser.parse_keyword(Keyword::NEXT) {
            return Ok(Ok(Some(1)));
        }
        let others = [
            Keyword::PRIOR,
            Keyword::FIRST,
            Keyword::LAST,
            Keyword::ABSOLUTE,
            Keyword::RELATIVE,
            Keyword::BACKWARD,
        ];
        if parser.parse_one_of_keywords(&others).is_some() {
            return Ok(Err(()));
        }
    }
    Ok(match &parser.peek_token_ref().token {
        Token::Number(..) => match parser.parse_literal_uint()? {
            // The row at which the cursor stands, once more.
            0 => Err(()),
            rows => Ok(Some(rows)),
        },
        Token::Minus => Err(()),
        _ => Ok(Some(1)),
    })
}
