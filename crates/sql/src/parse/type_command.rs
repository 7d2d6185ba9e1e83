//! Statements on types that the parser does not know, or knows only in part: `ALTER TYPE` with an owner or a schema,
//! and all of domains.

use super::errors::syntax;
use crate::error::SqlError;
use crate::names::name_of;
use sqlparser::ast::{ColumnOption, DataType, Expr, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A statement on a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TypeCommand {
    pub name: ObjectName,
    /// True if the statement has `DOMAIN`.
    pub is_domain: bool,
    pub change: TypeChange,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TypeChange {
    OwnerTo(String),
    SetSchema(String),
    /// `CREATE DOMAIN`.
    Create {
        base: DataType,
        options: Vec<(Option<String>, ColumnOption)>,
    },
    /// `DROP DOMAIN`, of this name and others.
    Drop {
        others: Vec<ObjectName>,
        if_exists: bool,
        cascade: bool,
    },
    SetDefault(Option<Expr>),
    SetNotNull(bool),
    AddCheck {
        name: Option<String>,
        condition: Expr,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
    },
    ValidateConstraint(String),
    RenameConstraint(String, String),
    RenameTo(String),
    /// A change of the fields of a composite type, by its first word.
    Attribute(&'static str),
}

impl TypeCommand {
    /// True if objects that depend on the type are dropped with it.
    pub fn cascades(&self) -> bool {
        matches!(self.change, TypeChange::Drop { cascade: true, .. })
    }
}

fn is_word(parser: &Parser<'_>, at: usize, known: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
}

/// True if the next statement is one of these.
pub(crate) fn is_type_command(parser: &Parser<'_>) -> bool {
    let is_word = |at, known| is_word(parser, at, known);
    if is_word(1, "domain") && (is_word(0, "create") || is_word(0, "alter") || is_word(0, "drop")) {
        return true;
    }
    if !(is_word(0, "alter") && is_word(1, "type")) {
        return false;
    }
    // A name, perhaps with its schema.
    let behind = match parser.peek_nth_token_ref(3).token {
        Token::Period => 5,
        _ => 3,
    };
    is_word(behind, "owner")
        || is_word(behind, "set") && is_word(behind + 1, "schema")
        || attribute_change(parser, behind).is_some()
}

/// The first word of `ADD ATTRIBUTE` and its brothers.
fn attribute_change(parser: &Parser<'_>, at: usize) -> Option<&'static str> {
    let mut words = ["ADD", "DROP", "ALTER", "RENAME"].into_iter();
    words.find(|word| is_word(parser, at, word) && is_word(parser, at + 1, "attribute"))
}

/// Reads it.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_type_command(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<TypeCommand, SqlError> {
    command(parser).map_err(|error| syntax(text, error))
}

fn command(parser: &mut Parser<'_>) -> Result<TypeCommand, ParserError> {
    let (creates, drops) = (is_word(parser, 0, "create"), is_word(parser, 0, "drop"));
    let is_domain = is_word(parser, 1, "domain");
    parser.next_token();
    parser.next_token();
    let if_exists = drops && parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let change = if creates {
        created(parser)?
    } else if drops {
        let mut others = Vec::new();
        while parser.consume_token(&Token::Comma) {
            others.push(parser.parse_object_name(false)?);
        }
        let cascade = parser.parse_keyword(Keyword::CASCADE);
        if !cascade {
            let _ = parser.parse_keyword(Keyword::RESTRICT);
        }
        TypeChange::Drop {
            others,
            if_exists,
            cascade,
        }
    } else {
        altered(parser)?
    };
    Ok(TypeCommand {
        name,
        is_domain,
        change,
    })
}

fn created(parser: &mut Parser<'_>) -> Result<TypeChange, ParserError> {
    let _ = parser.parse_keyword(Keyword::AS);
    let base = parser.parse_data_type()?;
    let mut options = Vec::new();
    loop {
        let name = match parser.parse_keyword(Keyword::CONSTRAINT) {
            true => Some(name_of(&parser.parse_identifier()?)),
            false => None,
        };
        if name.is_none() && parser.parse_keyword(Keyword::COLLATE) {
            let collation = parser.parse_object_name(false)?;
            options.push((None, ColumnOption::Collation(collation)));
            continue;
        }
        match parser.parse_optional_column_option()? {
            Some(option) => options.push((name, option)),
            None if name.is_some() => {
                let found = parser.peek_token();
                return parser.expected("a constraint", found);
            }
            None => break,
        }
    }
    Ok(TypeChange::Create { base, options })
}

fn altered(parser: &mut Parser<'_>) -> Result<TypeChange, ParserError> {
    if let Some(word) = attribute_change(parser, 0) {
        while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
            parser.next_token();
        }
        return Ok(TypeChange::Attribute(word));
    }
    if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        return Ok(TypeChange::OwnerTo(name_of(&parser.parse_identifier()?)));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        return Ok(TypeChange::SetSchema(name_of(&parser.parse_identifier()?)));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::DEFAULT]) {
        return Ok(TypeChange::SetDefault(Some(parser.parse_expr()?)));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::DEFAULT]) {
        return Ok(TypeChange::SetDefault(None));
    }
    if parser.parse_keywords(&[Keyword::SET, Keyword::NOT, Keyword::NULL]) {
        return Ok(TypeChange::SetNotNull(true));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::NOT, Keyword::NULL]) {
        return Ok(TypeChange::SetNotNull(false));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::CONSTRAINT]) {
        let from = name_of(&parser.parse_identifier()?);
        parser.expect_keyword(Keyword::TO)?;
        let to = name_of(&parser.parse_identifier()?);
        return Ok(TypeChange::RenameConstraint(from, to));
    }
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Ok(TypeChange::RenameTo(name_of(&parser.parse_identifier()?)));
    }
    if parser.parse_keywords(&[Keyword::VALIDATE, Keyword::CONSTRAINT]) {
        let name = name_of(&parser.parse_identifier()?);
        return Ok(TypeChange::ValidateConstraint(name));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::CONSTRAINT]) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = name_of(&parser.parse_identifier()?);
        // Nothing depends on a constraint of a domain.
        if !parser.parse_keyword(Keyword::CASCADE) {
            let _ = parser.parse_keyword(Keyword::RESTRICT);
        }
        return Ok(TypeChange::DropConstraint { name, if_exists });
    }
    if parser.parse_keyword(Keyword::ADD) {
        let name = match parser.parse_keyword(Keyword::CONSTRAINT) {
            true => Some(name_of(&parser.parse_identifier()?)),
            false => None,
        };
        parser.expect_keyword(Keyword::CHECK)?;
        parser.expect_token(&Token::LParen)?;
        let condition = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        // The values are checked in any case.
        let _ = parser.parse_keywords(&[Keyword::NOT, Keyword::VALID]);
        return Ok(TypeChange::AddCheck { name, condition });
    }
    let found = parser.peek_token();
    parser.expected("a change of a type", found)
}
