//! `SET CONSTRAINTS`, as it is written.

use super::errors::syntax;
use crate::error::SqlError;
use crate::names::qualified;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `SET CONSTRAINTS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SetConstraints {
    /// The named constraints, each with its schema if that is named; `None` for all.
    pub names: Option<Vec<(Option<String>, String)>>,
    pub is_deferred: bool,
}

/// True if the next statement is `SET CONSTRAINTS`.
pub(crate) fn is_set_constraints(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: &str| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    is_word(0, "set") && is_word(1, "constraints")
}

/// Reads `SET CONSTRAINTS`, with which the parser is to begin.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_set_constraints(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<SetConstraints, SqlError> {
    parser.next_token();
    parser.next_token();
    let wrong = |error: ParserError| syntax(text, error);
    let names = match parser.parse_keyword(Keyword::ALL) {
        true => None,
        false => {
            let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false));
            let names = names.map_err(wrong)?;
            Some(names.iter().map(qualified).collect::<Result<_, _>>()?)
        }
    };
    let words = [Keyword::DEFERRED, Keyword::IMMEDIATE];
    let word = parser.expect_one_of_keywords(&words).map_err(wrong)?;
    Ok(SetConstraints {
        names,
        is_deferred: word == Keyword::DEFERRED,
    })
}
