//! `ALTER SEQUENCE`, which the parser does not know.

use super::errors::syntax;
use super::parser_of_tokens;
use crate::error::SqlError;
use crate::names::name_of;
use sqlparser::ast::{Ident, ObjectName, Owner, SequenceOptions, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// `ALTER SEQUENCE`.
#[derive(Clone, Debug)]
pub(crate) struct SequenceCommand {
    pub name: ObjectName,
    pub if_exists: bool,
    pub change: SequenceChange,
}

#[derive(Clone, Debug)]
pub(crate) enum SequenceChange {
    OwnerTo(Owner),
    RenameTo(String),
    SetSchema(String),
    /// All sequences are logged.
    SetLogged,
    Options {
        options: Vec<SequenceOptions>,
        restart: Option<Restart>,
    },
}

/// `RESTART`.
#[derive(Clone, Debug)]
pub(crate) enum Restart {
    AtStart,
    /// At a number, as it is written.
    With(String),
}

/// True if the next statement is `ALTER SEQUENCE`.
pub(crate) fn is_sequence_command(parser: &Parser<'_>) -> bool {
    let is_word = |at: usize, known: &str| {
        matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    is_word(0, "alter") && is_word(1, "sequence")
}

/// Reads it.
///
/// # Errors
/// `42601`.
pub(crate) fn parse_sequence_command(
    text: &str,
    parser: &mut Parser<'_>,
) -> Result<SequenceCommand, SqlError> {
    command(parser).map_err(|error| syntax(text, error))
}

fn command(parser: &mut Parser<'_>) -> Result<SequenceCommand, ParserError> {
    parser.next_token();
    parser.next_token();
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let change = if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        SequenceChange::OwnerTo(parser.parse_owner()?)
    } else if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        SequenceChange::RenameTo(name_of(&parser.parse_identifier()?))
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        SequenceChange::SetSchema(name_of(&parser.parse_identifier()?))
    } else if parser.parse_keywords(&[Keyword::SET, Keyword::LOGGED]) {
        SequenceChange::SetLogged
    } else {
        options(parser)?
    };
    Ok(SequenceCommand {
        name,
        if_exists,
        change,
    })
}

/// Reads the options: `RESTART` here, the others as those of `CREATE SEQUENCE`, which the parser knows.
fn options(parser: &mut Parser<'_>) -> Result<SequenceChange, ParserError> {
    let mut restart = None;
    let word = |word: &str| Token::make_keyword(word);
    let first = parser.peek_token();
    let mut others: Vec<TokenWithSpan> = [word("CREATE"), word("SEQUENCE"), marked()]
        .map(|token| TokenWithSpan::new(token, first.span))
        .into();
    let before = others.len();
    while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        if !parser.parse_keyword(Keyword::RESTART) {
            others.push(parser.next_token());
            continue;
        }
        let with = parser.parse_keyword(Keyword::WITH);
        let is_number = matches!(
            parser.peek_token_ref().token,
            Token::Number(..) | Token::Minus | Token::Plus
        );
        let new = match with || is_number {
            true => Restart::With(parser.parse_number()?.to_string()),
            false => Restart::AtStart,
        };
        if restart.replace(new).is_some() {
            return Err(ParserError::ParserError(
                "conflicting or redundant options".into(),
            ));
        }
    }
    if others.len() == before && restart.is_none() {
        return parser.expected("a change of a sequence", first);
    }
    let mut rest = parser_of_tokens(others);
    match rest.parse_statement()? {
        Statement::CreateSequence {
            sequence_options, ..
        } if matches!(rest.peek_token_ref().token, Token::EOF) => Ok(SequenceChange::Options {
            options: sequence_options,
            restart,
        }),
        _ => {
            let found = rest.peek_token();
            rest.expected("end of statement", found)
        }
    }
}

/// A name in place of the sequence's.
fn marked() -> Token {
    let name = Ident::with_quote('"', "sql.sequence");
    Token::Word(Word {
        value: name.value,
        quote_style: name.quote_style,
        keyword: Keyword::NoKeyword,
    })
}
