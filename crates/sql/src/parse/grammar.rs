//! Rules of PostgreSQL's grammar that the parser does not know. Texts that the database keeps may break them, as earlier versions
//! took them: [`parse_kept`](super::parse_kept) does not look.

use super::labels::check_labels;
use super::words::is_one_of;
use crate::error::SqlError;
use crate::keywords;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Refuses texts that break a rule.
///
/// # Errors
/// `42601`, and its place.
pub(super) fn check_grammar(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    check_numbers(tokens)?;
    check_names(tokens)?;
    check_calls(tokens)?;
    check_literals(tokens)?;
    check_fields(tokens)?;
    check_labels(tokens)
}

/// Refuses letters directly behind a number, which the parser takes for a name.
fn check_numbers(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    for pair in tokens.windows(2) {
        let [number, next] = pair else {
            continue;
        };
        let Token::Number(digits, is_long) = &number.token else {
            continue;
        };
        let is_name = matches!(&next.token, Token::Word(word) if word.quote_style.is_none());
        if *is_long || is_name && number.span.end == next.span.start {
            let text = format!("trailing junk after numeric literal at or near \"{digits}\"");
            return Err((SqlError::syntax(text), number.span.start));
        }
    }
    Ok(())
}

/// Refuses names without a character.
fn check_names(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    let is_empty =
        |token: &&TokenWithSpan| matches!(&token.token, Token::Word(word) if word.value.is_empty());
    match tokens.iter().find(is_empty) {
        Some(token) => {
            let text = "zero-length delimited identifier at or near \"\"\"\"";
            Err((SqlError::syntax(text), token.span.start))
        }
        None => Ok(()),
    }
}

/// Refuses a point behind a literal: fields are those of columns, parameters and parentheses.
fn check_literals(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    for pair in tokens.windows(2) {
        let [literal, point] = pair else {
            continue;
        };
        let is_literal = matches!(
            literal.token,
            Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)
        );
        if is_literal && point.token == Token::Period {
            let text = "syntax error at or near \".\"";
            return Err((SqlError::syntax(text), point.span.start));
        }
    }
    Ok(())
}

/// Refuses words of the grammar as fields of `extract`: only names, texts and units of time are such.
fn check_fields(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    if !tokens.iter().any(|token| is_one_of(token, &["extract"])) {
        return Ok(());
    }
    let units = ["year", "month", "day", "hour", "minute", "second"];
    let is_said = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let said: Vec<&TokenWithSpan> = tokens.iter().filter(is_said).collect();
    let wrong = said.windows(4).find_map(|part| match part {
        [extract, open, field, from]
            if is_one_of(extract, &["extract"])
                && open.token == Token::LParen
                && is_one_of(from, &["from"]) =>
        {
            let is_word = matches!(&field.token, Token::Word(word) if word.quote_style.is_none()
                && keywords::named(&word.value.to_lowercase()).is_some());
            (is_word && !is_one_of(field, &units)).then_some(*field)
        }
        _ => None,
    });
    match wrong {
        Some(token) => {
            let text = format!("syntax error at or near \"{}\"", token.token);
            Err((SqlError::syntax(text), token.span.start))
        }
        None => Ok(()),
    }
}

/// Refuses `*` behind `DISTINCT` or `ALL` in a call.
fn check_calls(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    let mut said = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let (mut is_open, mut is_quantified) = (false, false);
    let wrong = said.find(|token| {
        let is_wrong = is_quantified && token.token == Token::Mul;
        is_quantified = is_open && is_one_of(token, &["distinct", "all"]);
        is_open = token.token == Token::LParen;
        is_wrong
    });
    match wrong {
        Some(token) => {
            let text = "syntax error at or near \"*\"";
            Err((SqlError::syntax(text), token.span.start))
        }
        None => Ok(()),
    }
}
