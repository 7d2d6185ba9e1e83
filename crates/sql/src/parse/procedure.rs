//! `CREATE PROCEDURE`, as it is written. The parser knows neither bodies in quotes here nor `BEGIN ATOMIC`.

use super::errors::syntax;
use super::signal::is_signal;
use crate::error::SqlError;
use crate::names::{name_of, of_public};
use crate::types::{OwnTypes, TypeSpec};
use serde::{Deserialize, Serialize};
use sqlparser::ast::{AlterFunctionKind, ArgMode, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A procedure as it is stored.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ProcedureDefinition {
    pub name: String,
    /// Names, and the numbers and modifiers of their types.
    pub parameters: Vec<(String, u32, i32)>,
    pub body: String,
    #[serde(skip)]
    pub replaces: bool,
}

/// True if the next statement is `CREATE PROCEDURE`.
pub(crate) fn is_procedure(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: Keyword| matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.keyword == known);
    let replaces = is_word(1, Keyword::OR) && is_word(2, Keyword::REPLACE);
    let at = if replaces { 3 } else { 1 };
    is_word(0, Keyword::CREATE) && is_word(at, Keyword::PROCEDURE)
}

/// True if the next statement is `ALTER PROCEDURE` or `ALTER ROUTINE`, which the parser does not know.
pub(crate) fn is_alter_procedure(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: &str| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    is_word(0, "alter") && (is_word(1, "procedure") || is_word(1, "routine"))
}

/// Reads it.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_alter_procedure(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<Statement, SqlError> {
    parser.next_token();
    parser.next_token();
    let altered = parser.parse_alter_function(AlterFunctionKind::Function);
    altered.map_err(|error| syntax(text, error))
}

/// Reads `CREATE PROCEDURE`, with which the parser is to begin, up to its end.
///
/// # Errors
/// `42601`, `0A000`.
pub(crate) fn parse_procedure(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<ProcedureDefinition, SqlError> {
    let wrong = |error| syntax(text, error);
    parser.expect_keyword_is(Keyword::CREATE).map_err(wrong)?;
    let replaces = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    parser
        .expect_keyword_is(Keyword::PROCEDURE)
        .map_err(wrong)?;
    let name = of_public(&parser.parse_object_name(false).map_err(wrong)?)?;
    let parameters = parse_parameters(text, parser)?;
    match parse_body(text, parser)? {
        Some(body) => Ok(ProcedureDefinition {
            name,
            parameters,
            body,
            replaces,
        }),
        None => Err(SqlError::syntax("a procedure needs a body: AS $$ … $$")),
    }
}

/// Names, and the numbers and modifiers of their types.
fn parse_parameters(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<Vec<(String, u32, i32)>, SqlError> {
    let declared = parser.parse_optional_procedure_parameters();
    let declared = declared.map_err(|error| syntax(text, error))?;
    let mut parameters = Vec::new();
    for parameter in declared.unwrap_or_default() {
        if !matches!(parameter.mode, None | Some(ArgMode::In)) || parameter.default.is_some() {
            return Err(SqlError::unsupported(
                "parameters of procedures are IN, and have no defaults",
            ));
        }
        let spec = TypeSpec::of_data_type(&parameter.data_type, &OwnTypes)?;
        parameters.push((name_of(&parameter.name), spec.kind.oid(), spec.modifier));
    }
    Ok(parameters)
}

/// The body, among the options.
fn parse_body(text: &str, parser: &mut Parser<'_>) -> Result<Option<String>, SqlError> {
    let wrong = |error| syntax(text, error);
    let (mut body, mut has_language) = (None, false);
    loop {
        let redundant = || SqlError::syntax("conflicting or redundant options");
        if parser.parse_keyword(Keyword::LANGUAGE) {
            if std::mem::replace(&mut has_language, true) {
                return Err(redundant());
            }
            let language = parser.parse_identifier().map_err(wrong)?;
            if !language.value.eq_ignore_ascii_case("sql") {
                return Err(SqlError::unsupported(format!(
                    "the language {language} is not supported: procedures are in SQL"
                )));
            }
        } else if parser.parse_keyword(Keyword::AS) {
            if body.is_some() {
                return Err(redundant());
            }
            body = match parser.next_token().token {
                Token::DollarQuotedString(quoted) => Some(quoted.value),
                Token::SingleQuotedString(text) => Some(text),
                other => {
                    let message = format!("a body in quotes is expected, found: {other}");
                    return Err(wrong(ParserError::ParserError(message)));
                }
            };
        } else if parser.parse_keyword(Keyword::BEGIN) {
            if body.is_some() {
                return Err(redundant());
            }
            let atomic = parser.parse_identifier().map_err(wrong)?;
            if !atomic.value.eq_ignore_ascii_case("atomic") {
                return Err(SqlError::syntax("BEGIN ATOMIC is expected"));
            }
            let mut statements = Vec::new();
            while !parser.parse_keyword(Keyword::END) {
                if is_signal(parser) {
                    let what = parser.peek_token_ref().token.to_string();
                    let what = what.to_ascii_uppercase();
                    let text = format!("{what} is not yet supported in unquoted SQL function body");
                    return Err(SqlError::unsupported(text));
                }
                statements.push(parser.parse_statement().map_err(wrong)?.to_string());
                parser.expect_token(&Token::SemiColon).map_err(wrong)?;
            }
            body = Some(statements.join("; "));
        } else {
            return Ok(body);
        }
    }
}
