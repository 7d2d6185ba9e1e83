//! Labels of enum types in kept texts: conditions, expressions of indexes and of columns.
//!
//! Every program that writes a row tests the conditions of its table, and has no types of users. So a kept text has
//! numbers: a column of an enum type is a `bigint` in it, as it is stored, and a label is its number. That never changes,
//! so a label may get another name, and others may be added. For people, a comment behind the number has that of the
//! type: `state <> '1099511627776'/*134217728*/`.
//!
//! Invariant: the kept text, over numbers, compiles to the same expression as the written one over labels. Else the
//! caller refuses it.

use super::shown::changes_of;
use crate::changed_text::{Change, with_changes};
use crate::error::{SqlError, code};
use crate::lexer::{Placed, placed};
use crate::names::quoted_literal;
use crate::parse::parse_expression;
use crate::types::{EnumType, LABEL_BYTES_MAX, SqlType, TypeSpec, enum_named};
use sqlparser::ast::{Expr as Tree, Value as Literal};
use sqlparser::tokenizer::{Token, Whitespace};

/// The longest text, which is that of a condition in a schema.
const BYTES_MAX: usize = 4096;
/// The most labels of a text. Each takes more than 30 bytes of the kept one.
const LABELS_MAX: usize = 140;

/// The type of a column in kept texts.
pub(crate) fn kept_spec(spec: TypeSpec) -> TypeSpec {
    match spec.kind {
        SqlType::Enum(_) => TypeSpec::plain(SqlType::Int8),
        SqlType::EnumArray(_) => TypeSpec::plain(SqlType::TextArray),
        _ => spec,
    }
}

/// A text with the numbers of labels, and with `bigint` for the names of their types. `compile` reads it as it was written.
///
/// # Errors
/// `54000` for a longer text than a schema keeps.
pub(super) fn with_numbers(
    text: &str,
    types: &[EnumType],
    compile: &mut dyn FnMut(&Tree) -> Result<(), SqlError>,
) -> Result<String, SqlError> {
    let is_label = |text: &str| types.iter().any(|of| of.position(text).is_some());
    let labels = changes_of(text, &|tree| match tree {
        Tree::Value(literal) => match &literal.value {
            Literal::SingleQuotedString(label) if is_label(label) => {
                Some((literal.span, label.clone()))
            }
            _ => None,
        },
        _ => None,
    });
    let mut changes = type_names(text, types);
    if labels.len() > LABELS_MAX
        || text.len() > BYTES_MAX && !(labels.is_empty() && changes.is_empty())
    {
        return Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!(
                "an expression of a table has at most {LABELS_MAX} labels and {BYTES_MAX} bytes"
            ),
        ));
    }
    for (range, label) in labels {
        let found = type_of(text, &range, types, compile);
        if let Some(of) = found
            && let Some(number) = of.position(&label)
        {
            let oid = of.definition().oid;
            changes.push((range, format!("'{number}'/*{oid}*/")));
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    Ok(with_changes(text, &changes))
}

/// The type whose label a literal is. The same text may be a plain text in another place, so the compiler is asked: it
/// refuses a text that no label can be.
fn type_of(
    text: &str,
    range: &std::ops::Range<usize>,
    types: &[EnumType],
    compile: &mut dyn FnMut(&Tree) -> Result<(), SqlError>,
) -> Option<EnumType> {
    let no_label = quoted_literal(&"?".repeat(LABEL_BYTES_MAX + 1));
    let other = with_changes(text, &[(range.clone(), no_label)]);
    let error = compile(&parse_expression(&other).ok()?).err()?;
    let mut types = types.iter().filter(|_| error.code == code::INVALID_TEXT);
    let found = types.find(|of| {
        let name = &of.definition().name;
        let beginning = format!("invalid input value for enum {name}: ");
        error.message.starts_with(&beginning)
    });
    found.copied()
}

/// The changes of the names of types in casts.
fn type_names(text: &str, types: &[EnumType]) -> Vec<Change> {
    let tokens = placed(text).unwrap_or_default();
    let tokens: Vec<&Placed> = tokens.iter().filter(|token| !token.is_blank()).collect();
    let word = |at: usize| tokens.get(at).and_then(|token| token.word());
    let mut changes = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_cast = token.token == Token::DoubleColon || word(at).as_deref() == Some("as");
        let Some(first) = word(at + 1).filter(|_| is_cast) else {
            continue;
        };
        let has_point = tokens
            .get(at + 2)
            .is_some_and(|token| token.token == Token::Period);
        let (schema, name, last) = match (has_point, word(at + 3)) {
            (true, Some(name)) => (Some(first), name, at + 3),
            _ => (None, first, at + 1),
        };
        let Some(of) = enum_named(types, schema.as_deref(), &name) else {
            continue;
        };
        if let (Some(start), Some(end)) = (tokens.get(at + 1), tokens.get(last)) {
            let now = format!("bigint/*{}*/", of.definition().oid);
            changes.push((start.at.start..end.at.end, now));
        }
    }
    changes
}

/// A kept text for people: with the present labels, and the names of their types.
pub(crate) fn with_labels(text: String, types: &[EnumType]) -> String {
    if types.is_empty() || !text.contains("/*") {
        return text;
    }
    let Ok(tokens) = placed(&text) else {
        return text;
    };
    let mark = |token: &Placed| match &token.token {
        Token::Whitespace(Whitespace::MultiLineComment(oid)) => {
            let oid: u32 = oid.parse().ok()?;
            types.iter().find(|of| of.definition().oid == oid)
        }
        _ => None,
    };
    let mut changes = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [token, behind] = pair else {
            continue;
        };
        let Some(of) = mark(behind) else {
            continue;
        };
        let name = &of.definition().name;
        let now = match &token.token {
            Token::SingleQuotedString(number) => {
                let label = number.parse().ok().and_then(|number| of.label(number));
                let Some(label) = label.map(quoted_literal) else {
                    continue;
                };
                let next = tokens.get(at + 2).map(|token| &token.token);
                match next == Some(&Token::DoubleColon) {
                    true => label,
                    false => format!("{label}::{name}"),
                }
            }
            Token::Word(_) => name.to_string(),
            _ => continue,
        };
        changes.push((token.at.start..behind.at.end, now));
    }
    with_changes(&text, &changes)
}
