//! Cursors, as statements have them: what `DECLARE`, `FETCH`, `MOVE` and `CLOSE` say.
//!
//! A cursor is what the protocol calls a portal. So who speaks the protocol keeps it, and runs its query as any other that
//! is read in portions ([`Prepared::cursor`]); a session does not know it.
//!
//! Source: PostgreSQL's documentation, *DECLARE*, *FETCH*, *MOVE*, *CLOSE*; forward only.

use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::parse::syntax;
use crate::prepared::Prepared;
use crate::rights::Rights;
use crate::types::SqlType;
use sqlparser::ast::{CloseCursor, Declare, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// What a statement does with a cursor.
#[derive(Clone, Debug)]
pub enum CursorCommand {
    /// Runs a query, whose rows are given later.
    Declare {
        /// Of the cursor.
        name: String,
        /// The query.
        query: Arc<Prepared>,
        /// Whether it is there after the transaction (`WITH HOLD`).
        is_held: bool,
    },
    /// Gives the next rows, or passes over them.
    Fetch {
        /// Of the cursor.
        name: String,
        /// How many at most; `None` for all.
        most: Option<u64>,
        /// Whether they are passed over (`MOVE`).
        is_move: bool,
    },
    /// Forgets a cursor; `None` for all.
    Close(Option<String>),
}

/// Whether the statement that comes next is `FETCH` or `MOVE`.
pub(crate) fn is_fetch(parser: &Parser<'_>) -> bool {
    let words = ["fetch", "move"];
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

/// Reads `FETCH` or `MOVE`, with which the parser is to begin.
///
/// # Errors
/// `42601`; `55000` for rows that are not ahead.
pub(crate) fn parse_fetch(text: &str, parser: &mut Parser<'_>) -> Result<CursorCommand, SqlError> {
    let wrong = |error| syntax(text, error);
    let is_move = !parser.parse_keyword(Keyword::FETCH);
    if is_move {
        parser.next_token();
    }
    let most = parse_direction(parser).map_err(wrong)?;
    let most = most.map_err(|()| backward())?;
    let _ = parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    let name = name_of(&parser.parse_identifier().map_err(wrong)?);
    Ok(CursorCommand::Fetch {
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

/// What a statement that was parsed says of a cursor, if it says anything.
///
/// # Errors
/// `0A000` for cursors that are not there.
pub(crate) fn command_of(
    text: &Arc<str>,
    statement: &Statement,
    types: &[Option<SqlType>],
    rights: &Arc<Rights>,
) -> Result<Option<CursorCommand>, SqlError> {
    match statement {
        Statement::Declare { stmts, .. } => match stmts.as_slice() {
            [
                Declare {
                    names,
                    for_query: Some(query),
                    binary,
                    scroll,
                    hold,
                    ..
                },
            ] if names.len() == 1 => {
                if binary == &Some(true) || scroll == &Some(true) {
                    return Err(SqlError::unsupported(
                        "cursors are neither BINARY nor SCROLL: their rows are fetched forward, as text or as the client asks",
                    ));
                }
                let query = Statement::Query(query.clone());
                let query = Prepared::new(text.clone(), Some(query), types);
                if !query.only_reads() {
                    return Err(SqlError::unsupported(
                        "the query of a cursor only reads, and draws no numbers",
                    ));
                }
                Ok(Some(CursorCommand::Declare {
                    name: names.first().map(name_of).unwrap_or_default(),
                    query: Arc::new(query.with_rights(rights.clone())),
                    is_held: hold == &Some(true),
                }))
            }
            _ => Err(SqlError::unsupported(
                "this form of DECLARE is not supported",
            )),
        },
        Statement::Close { cursor } => Ok(Some(CursorCommand::Close(match cursor {
            CloseCursor::All => None,
            CloseCursor::Specific { name } => Some(name_of(name)),
        }))),
        _ => Ok(None),
    }
}
