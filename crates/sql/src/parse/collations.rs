//! `ALTER COLUMN … TYPE t COLLATE c`, which the parser does not know. It is written as a type that it knows,
//! `"sql.collated"('t', 'c')`, and read where the column is changed.

use super::parse_kept;
use super::words::{behind, behind_alter_column, behind_name, is_word, text_of};
use crate::error::{SqlError, code};
use sqlparser::ast::{ColumnOption, DataType, ObjectName, Statement, TypeModifier};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a type.
const COLLATED: &str = "sql.collated";

/// The most tokens of a type, with the blanks between them: so a text of many is read in linear time.
const TYPE_TOKENS_MAX: usize = 256;

/// The places behind the type and behind the collation's name, if a type with a collation begins here.
fn ends(tokens: &[TokenWithSpan], from: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut rest = tokens.iter().enumerate().skip(from).take(TYPE_TOKENS_MAX);
    let collate = loop {
        let (at, token) = rest.next()?;
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::Comma | Token::SemiColon | Token::EOF if depth == 0 => return None,
            _ if depth == 0 && is_word(token, "using") => return None,
            _ if depth == 0 && is_word(token, "collate") => break at,
            _ => {}
        }
    };
    // Names with points between them.
    let mut end = None;
    let mut wants_name = true;
    for (at, token) in rest {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(_) if wants_name => end = Some(at + 1),
            Token::Period if !wants_name => {}
            _ => break,
        }
        wants_name = !wants_name;
    }
    end.map(|end| (collate, end))
}

/// The place behind `ALTER [COLUMN] name [SET DATA] TYPE`, if that begins here.
fn behind_type(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let named = behind_name(tokens, behind_alter_column(tokens, at)?)?;
    let set_data = behind(tokens, named, &["set", "data"]).unwrap_or(named);
    behind(tokens, set_data, &["type"])
}

/// Writes it so.
pub(super) fn with_collations(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |word| tokens.iter().any(|token| is_word(token, word));
    if !(has("alter") && has("type") && has("collate")) {
        return tokens;
    }
    let text = |tokens: Option<&[TokenWithSpan]>| {
        let tokens = tokens.unwrap_or_default().iter();
        let text: String = tokens.map(|token| text_of(&token.token)).collect();
        Token::SingleQuotedString(text.trim().to_string())
    };
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let kind = match is_word(token, "alter") {
            true => behind_type(&tokens, at),
            false => None,
        };
        let Some((kind, (collate, end))) = kind.and_then(|kind| Some((kind, ends(&tokens, kind)?)))
        else {
            written.push(token.clone());
            at += 1;
            continue;
        };
        written.extend_from_slice(&tokens[at..kind]);
        let name = Token::Word(Word {
            value: COLLATED.into(),
            quote_style: Some('"'),
            keyword: sqlparser::keywords::Keyword::NoKeyword,
        });
        let parts = [
            name,
            Token::LParen,
            text(tokens.get(kind..collate)),
            Token::Comma,
            text(tokens.get(collate + 1..end)),
            Token::RParen,
        ];
        written.extend(parts.map(|part| TokenWithSpan::new(part, token.span)));
        at = end;
    }
    written
}

/// A type, and the collation of its `COLLATE`.
///
/// # Errors
/// `42601` if the type cannot be read.
pub(crate) fn collated(data_type: &DataType) -> Result<(DataType, Option<ObjectName>), SqlError> {
    let plain = || (data_type.clone(), None);
    let DataType::Custom(name, parts) = data_type else {
        return Ok(plain());
    };
    let is_it = name.0.last().and_then(|part| part.as_ident());
    if is_it.is_none_or(|name| name.value != COLLATED) {
        return Ok(plain());
    }
    let [TypeModifier::String(kind), TypeModifier::String(collation)] = parts.as_slice() else {
        return Ok(plain());
    };
    let text = format!("create table made (made {kind} collate {collation})");
    let Some(Statement::CreateTable(mut made)) = parse_kept(&text)?.pop() else {
        return Err(SqlError::new(code::INTERNAL, "a CREATE TABLE was expected"));
    };
    let column = made.columns.pop().filter(|_| made.columns.is_empty());
    let column = column.ok_or_else(|| SqlError::syntax("a type is expected"))?;
    let mut options = column.options.into_iter();
    match (options.next().map(|option| option.option), options.next()) {
        (Some(ColumnOption::Collation(name)), None) => Ok((column.data_type, Some(name))),
        _ => Err(SqlError::syntax(
            "a type and the name of its collation are expected",
        )),
    }
}
