//! `COMMENT ON`, as it is written. The parser knows neither constraints here nor the arguments of functions.

use super::errors::syntax;
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::path::schema_name;
use sqlparser::ast::{ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Comment {
    pub on: Commented,
    /// None takes it away.
    pub text: Option<String>,
}

/// The object of a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Commented {
    Table(ObjectName),
    Column(ObjectName, String),
    Constraint { name: String, table: ObjectName },
    Index(ObjectName),
    View(ObjectName),
    Sequence(ObjectName),
    Schema(String),
    Type(ObjectName),
    Database,
}

/// The longest comment, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// True if the next statement is `COMMENT ON`.
pub(crate) fn is_comment(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: &str| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    is_word(0, "comment") && is_word(1, "on")
}

/// Reads `COMMENT ON`, with which the parser is to begin.
///
/// # Errors
/// `42601`; `0A000` with the kind of object that has no comments.
pub(crate) fn parse_comment(text: &str, parser: &mut Parser<'_>) -> Result<Comment, SqlError> {
    parser.next_token();
    parser.next_token();
    let wrong = |error: ParserError| syntax(text, error);
    let kind = parser.next_token();
    let name = |parser: &mut Parser<'_>| -> Result<ObjectName, SqlError> {
        parser.parse_object_name(false).map_err(wrong)
    };
    let word = match &kind.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let on = match word {
        Keyword::TABLE => Commented::Table(name(parser)?),
        Keyword::COLUMN => {
            let ObjectName(mut parts) = name(parser)?;
            match parts.pop() {
                Some(ObjectNamePart::Identifier(column)) if !parts.is_empty() => {
                    Commented::Column(ObjectName(parts), name_of(&column))
                }
                _ => return Err(SqlError::syntax("column name must be qualified")),
            }
        }
        Keyword::CONSTRAINT => {
            let constraint = name_of(&parser.parse_identifier().map_err(wrong)?);
            parser.expect_keyword(Keyword::ON).map_err(wrong)?;
            if parser.peek_keyword(Keyword::DOMAIN) {
                return Err(unsupported("CONSTRAINT … ON DOMAIN"));
            }
            Commented::Constraint {
                name: constraint,
                table: name(parser)?,
            }
        }
        Keyword::INDEX => Commented::Index(name(parser)?),
        Keyword::VIEW => Commented::View(name(parser)?),
        Keyword::SEQUENCE => Commented::Sequence(name(parser)?),
        Keyword::TYPE | Keyword::DOMAIN => Commented::Type(name(parser)?),
        Keyword::SCHEMA => Commented::Schema(schema_name(&name(parser)?)?),
        Keyword::DATABASE => {
            name(parser)?;
            Commented::Database
        }
        _ => return Err(refused(text, &kind, parser)),
    };
    parser.expect_keyword(Keyword::IS).map_err(wrong)?;
    let text = match parser.parse_keyword(Keyword::NULL) {
        true => None,
        false => Some(text_of(parser).map_err(wrong)?),
    };
    // An empty comment removes it, as in PostgreSQL.
    let text = text.filter(|text| !text.is_empty());
    if text
        .as_ref()
        .is_some_and(|text| text.len() > TEXT_BYTES_MAX)
    {
        return Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("a comment has at most {TEXT_BYTES_MAX} bytes"),
        ));
    }
    Ok(Comment { on, text })
}

/// The text of a comment: in quotes of any kind.
fn text_of(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    match &parser.peek_token_ref().token {
        Token::DollarQuotedString(quoted) => {
            let text = quoted.value.clone();
            parser.next_token();
            Ok(text)
        }
        _ => parser.parse_literal_string(),
    }
}

/// Kinds of objects with comments in PostgreSQL, by their names' first words.
const OTHERS: [(&str, &[&str]); 27] = [
    ("ACCESS", &["METHOD"]),
    ("AGGREGATE", &[]),
    ("CAST", &[]),
    ("COLLATION", &[]),
    ("CONVERSION", &[]),
    ("EVENT", &["TRIGGER"]),
    ("EXTENSION", &[]),
    ("FOREIGN", &["DATA WRAPPER", "TABLE"]),
    ("FUNCTION", &[]),
    ("LANGUAGE", &[]),
    ("LARGE", &["OBJECT"]),
    ("MATERIALIZED", &["VIEW"]),
    ("OPERATOR", &["CLASS", "FAMILY", ""]),
    ("POLICY", &[]),
    ("PROCEDURAL", &["LANGUAGE"]),
    ("PROCEDURE", &[]),
    ("PUBLICATION", &[]),
    ("ROLE", &[]),
    ("ROUTINE", &[]),
    ("RULE", &[]),
    ("SERVER", &[]),
    ("STATISTICS", &[]),
    ("SUBSCRIPTION", &[]),
    ("TABLESPACE", &[]),
    (
        "TEXT",
        &[
            "SEARCH CONFIGURATION",
            "SEARCH DICTIONARY",
            "SEARCH PARSER",
            "SEARCH TEMPLATE",
        ],
    ),
    ("TRANSFORM", &[]),
    ("TRIGGER", &[]),
];

/// The error of a kind of object without comments here, by its name; for an unknown word, a syntax error.
fn refused(text: &str, kind: &TokenWithSpan, parser: &mut Parser<'_>) -> SqlError {
    let first = kind.token.to_string().to_uppercase();
    let Some((_, others)) = OTHERS.iter().find(|(word, _)| *word == first) else {
        let found = format!("Expected: a kind of object, found: {kind}");
        return syntax(text, ParserError::ParserError(found));
    };
    let next = |at: usize| {
        parser
            .peek_nth_token_ref(at)
            .token
            .to_string()
            .to_uppercase()
    };
    let is_next = |words: &&&str| {
        words
            .split_whitespace()
            .enumerate()
            .all(|(at, word)| next(at) == word)
    };
    match others.iter().find(is_next) {
        Some(rest) => unsupported(format!("{first} {rest}").trim_end()),
        None => unsupported(&first),
    }
}

fn unsupported(kind: &str) -> SqlError {
    SqlError::unsupported(format!("COMMENT ON {kind} is not supported"))
}
