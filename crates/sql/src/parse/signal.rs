//! `LISTEN`, `UNLISTEN` and `NOTIFY` as in PostgreSQL: the parser takes names as payloads.

use super::errors::{at_location, syntax};
use crate::error::SqlError;
use crate::names::is_of_column;
use sqlparser::ast::{Ident, Statement};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// True if the next statement is one of them.
pub(crate) fn is_signal(parser: &Parser<'_>) -> bool {
    let words = ["listen", "unlisten", "notify"];
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

/// Reads one, with which the parser is to begin, up to its end.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_signal(text: &str, parser: &mut Parser<'_>) -> Result<Statement, SqlError> {
    let first = parser.next_token().token.to_string().to_ascii_lowercase();
    if first == "unlisten" && parser.consume_token(&Token::Mul) {
        let channel = Ident::new("*");
        return Ok(Statement::UNLISTEN { channel });
    }
    let channel = channel(text, parser)?;
    Ok(match first.as_str() {
        "unlisten" => Statement::UNLISTEN { channel },
        "listen" => Statement::LISTEN { channel },
        _ => {
            let payload = parser.consume_token(&Token::Comma).then(|| payload(parser));
            let payload = payload.transpose().map_err(|error| syntax(text, error))?;
            Statement::NOTIFY { channel, payload }
        }
    })
}

fn channel(text: &str, parser: &mut Parser<'_>) -> Result<Ident, SqlError> {
    let next = parser.peek_token_ref();
    let at = next.span.start;
    let is_name = matches!(&next.token, Token::Word(word)
        if word.quote_style.is_some() || is_of_column(&word.value.to_ascii_lowercase()));
    let channel = match is_name {
        true => parser.parse_identifier(),
        false => parser.expected_ref("a channel", next),
    };
    let channel = channel.map_err(|error| syntax(text, error))?;
    match channel.value.is_empty() {
        false => Ok(channel),
        true => {
            let error = "zero-length delimited identifier at or near \"\"\"\"";
            Err(at_location(text, SqlError::syntax(error), at))
        }
    }
}

fn payload(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let next = parser.next_token();
    match next.token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text) => Ok(text),
        Token::DollarQuotedString(quoted) => Ok(quoted.value),
        _ => parser.expected("a payload in quotes", next),
    }
}
