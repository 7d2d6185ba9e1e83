//! Names of sequences in the texts of defaults.
//!
//! A default is computed in any session that inserts a row, and for programs without one. So its text has the schema of
//! each sequence that it names, except `public`. A name without a schema means `public`, whatever the session's search
//! path.

use crate::changed_text::with_changes;
use crate::error::{SqlError, code};
use crate::lexer::{self, Placed, placed};
use crate::names::{quoted, quoted_literal};
use crate::path::{PUBLIC, is_temporary, kept, name_in, schema_of, written};
use crate::relation::{kind, object};
use crate::search_path::SearchPath;
use crate::source::Source;
use sqlparser::tokenizer::Token;

/// The functions whose first argument is a sequence's name.
const FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// A text with the new names of sequences that have one.
///
/// # Errors
/// The error of `other`.
pub(crate) fn renamed(
    text: &str,
    mut other: impl FnMut(&str) -> Result<Option<String>, SqlError>,
) -> Result<String, SqlError> {
    // Most defaults name none.
    if !text.to_ascii_lowercase().contains("val") {
        return Ok(text.to_string());
    }
    let Ok(tokens) = placed(text) else {
        return Ok(text.to_string());
    };
    let tokens: Vec<Placed> = tokens.into_iter().filter(|one| !one.is_blank()).collect();
    let mut changes = Vec::new();
    for four in tokens.windows(4) {
        let [called, opens, name, behind] = four else {
            continue;
        };
        let is_call = called
            .word()
            .is_some_and(|word| FUNCTIONS.contains(&&*word));
        // A part of a longer expression is no name.
        let is_whole = matches!(
            behind.token,
            Token::RParen | Token::Comma | Token::DoubleColon
        );
        if let Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) = &name.token
            && is_call
            && is_whole
            && opens.token == Token::LParen
            && let Some(other) = other(text)?
        {
            changes.push((name.at.clone(), quoted_literal(&other)));
        }
    }
    Ok(with_changes(text, &changes))
}

/// The sequence, by its kept name, if a default's text only draws its next number.
///
/// # Errors
/// `42602` for an invalid name.
pub(crate) fn drawn_of(text: &str) -> Result<Option<String>, SqlError> {
    let tokens = lexer::tokens(text).unwrap_or_default().into_iter();
    let tokens: Vec<Token> = tokens
        .map(|token| token.token)
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .collect();
    let is_word = |token: &Token, known: &str| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(known));
    let name = match tokens.as_slice() {
        [
            next,
            Token::LParen,
            Token::SingleQuotedString(name),
            rest @ ..,
        ] if is_word(next, "nextval") => match rest {
            [Token::RParen] => name,
            [Token::DoubleColon, kind, Token::RParen] if is_word(kind, "regclass") => name,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let (schema, name) = name_in(name)?;
    Ok(Some(kept(schema.as_deref().unwrap_or(PUBLIC), &name)))
}

/// A new default's text, with the schemas of sequences where they are not `public`.
///
/// # Errors
/// `42602` for an invalid name; `42P16` if a default of a lasting table names a temporary sequence.
pub(crate) fn with_schemas(
    source: &dyn Source,
    path: &SearchPath,
    table: &str,
    text: &str,
) -> Result<String, SqlError> {
    let is_there = |name: &str| object(source, kind::SEQUENCE, name).is_ok_and(|it| it.is_some());
    renamed(text, |name| {
        let Some(found) = path.find_in(name, is_there)? else {
            return Ok(None);
        };
        if is_temporary(schema_of(&found)) && !is_temporary(schema_of(table)) {
            return Err(SqlError::new(
                code::INVALID_TABLE_DEFINITION,
                format!(
                    "a default of a permanent table cannot use the temporary sequence \"{name}\""
                ),
            ));
        }
        Ok(Some(written(&found)))
    })
}

/// A stored default's text, in which every sequence has a schema.
///
/// # Errors
/// None.
pub(crate) fn with_public(text: &str) -> Result<String, SqlError> {
    renamed(text, |name| {
        Ok(match name_in(name) {
            Ok((None, name)) => Some(format!("{PUBLIC}.{}", quoted(&name))),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::with_public;

    #[test]
    fn sequences_without_a_schema_are_of_public() {
        for (text, with_schema) in [
            ("nextval('s')", "nextval('public.s')"),
            (
                "1 + NEXTVAL ('s'::regclass) * 2",
                "1 + NEXTVAL ('public.s'::regclass) * 2",
            ),
            ("nextval('app.s') || 'it''s'", "nextval('app.s') || 'it''s'"),
            ("nextval('\"it''s\"')", "nextval('public.\"it''s\"')"),
            ("lower('nextval') || 'x'", "lower('nextval') || 'x'"),
            ("nextval(lower('S'))", "nextval(lower('S'))"),
        ] {
            assert_eq!(with_public(text).unwrap(), with_schema);
        }
    }
}
