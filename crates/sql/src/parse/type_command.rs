//! `ALTER TYPE` with what the parser does not know of it: another owner, another schema.

use super::syntax;
use crate::error::SqlError;
use crate::names::name_of;
use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A change of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TypeCommand {
    pub name: ObjectName,
    pub change: TypeChange,
}

/// What becomes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TypeChange {
    OwnerTo(String),
    SetSchema(String),
}

/// True if the statement that comes next is one of these.
pub(crate) fn is_type_command(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: &str| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    if !(is_word(0, "alter") && is_word(1, "type")) {
        return false;
    }
    // A name, perhaps with its schema.
    let behind = match parser.peek_nth_token_ref(3).token {
        Token::Period => 5,
        _ => 3,
    };
    is_word(behind, "owner") || is_word(behind, "set") && is_word(behind + 1, "schema")
}

/// Reads it.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_type_command(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<TypeCommand, SqlError> {
    let wrong = |error: ParserError| syntax(text, error);
    parser.next_token();
    parser.next_token();
    let name = parser.parse_object_name(false).map_err(wrong)?;
    let owner = parser.parse_keyword(Keyword::OWNER);
    let word = if owner { Keyword::TO } else { Keyword::SCHEMA };
    if !owner {
        parser.expect_keyword(Keyword::SET).map_err(wrong)?;
    }
    parser.expect_keyword(word).map_err(wrong)?;
    let to = name_of(&parser.parse_identifier().map_err(wrong)?);
    let change = match owner {
        true => TypeChange::OwnerTo(to),
        false => TypeChange::SetSchema(to),
    };
    Ok(TypeCommand { name, change })
}
