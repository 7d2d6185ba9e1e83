//! Literals of moments in kept texts: conditions, expressions of indexes and of columns, defaults.
//!
//! A literal without a zone means a moment of the session that declares it. A date is read in that session's order of
//! day and month. But the kept text is read again in UTC, or in another session's zone, and with the month first. So
//! the text is kept with the moment itself, at its distance from UTC. A compiler notes the literals that it reads so
//! ([`Moments`]), without their places. The same text may be a day or a plain text in another place. So a literal is
//! replaced only if the whole expression stays the same when it is compiled again.
//!
//! Invariant: a kept text has the same literals in every zone, or it is refused.

use super::shown::changes_of;
use super::{Expr, Parameters, literal_value};
use crate::changed_text::{Change, with_changes};
use crate::error::SqlError;
use crate::parse::parse_expression;
use crate::text::{decode_text, text_of};
use crate::types::SqlType;
use crate::user_types::TypeNames;
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, ValueWithSpan};
use std::collections::BTreeMap;

/// The most compilations of an expression to find the moments among its equal literals.
const TRIES_MAX: usize = 64;

/// Literals that a session reads as another day or moment than UTC with the month first does. Each has a text that has
/// the same value everywhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments(BTreeMap<String, String>);

impl Moments {
    /// Notes the value of a literal's text.
    pub fn note(&mut self, kind: SqlType, text: &str, value: &Value) {
        if !kind.is_of_days() || decode_text(kind, text).is_ok_and(|in_utc| in_utc == *value) {
            return;
        }
        if let Some(known) = text_of(kind, value.as_ref()) {
            self.0.insert(text.to_string(), known.to_string());
        }
    }

    /// The text that replaces a literal, if it was noted.
    fn of(&self, literal: &ValueWithSpan) -> Option<&String> {
        match literal_value(&literal.value).ok()?.expr {
            Expr::Literal(Value::Text(text)) => self.0.get(&text),
            _ => None,
        }
    }
}

/// An expression with a session's meaning, compiled, and its text to keep.
///
/// # Errors
/// An error of `compile`; `0A000` if a literal of a moment cannot be kept.
pub(crate) fn kept_expression<T: PartialEq>(
    tree: &Tree,
    names: &TypeNames,
    compile: &mut dyn FnMut(&Tree, &mut Parameters) -> Result<T, SqlError>,
) -> Result<(T, String), SqlError> {
    let mut read = |tree: &Tree| -> Result<(T, Moments), SqlError> {
        let mut parameters = Parameters::default().naming(names.clone()).noting_moments();
        let read = compile(tree, &mut parameters)?;
        Ok((read, parameters.into_moments()))
    };
    let (meant, moments) = read(tree)?;
    let text = tree.to_string();
    if moments.0.is_empty() {
        return Ok((meant, text));
    }
    let all = changes_of(&text, &|tree| {
        let literal = match tree {
            Tree::Value(value) => value,
            Tree::TypedString(typed) => &typed.value,
            _ => return None,
        };
        let known = moments.of(literal)?;
        Some((literal.span, format!("'{known}'")))
    });
    let mut moments_left = |changes: &[Change]| {
        let tree = parse_expression(&with_changes(&text, changes)).ok()?;
        let (is, left) = read(&tree).ok()?;
        (is == meant).then_some(left)
    };
    let mut changes = Vec::new();
    let mut tries = 0;
    // The ends of ranges of literals, of which the last is the next.
    let mut rest = vec![(0, all.len())];
    while let Some((start, end)) = rest.pop().filter(|(start, end)| start < end) {
        tries += 1;
        if tries > TRIES_MAX {
            return Err(unclear());
        }
        let before = changes.len();
        changes.extend_from_slice(&all[start..end]);
        if moments_left(&changes).is_some() {
            continue;
        }
        changes.truncate(before);
        if end - start > 1 {
            let middle = start + (end - start) / 2;
            rest.push((middle, end));
            rest.push((start, middle));
        }
    }
    match moments_left(&changes) {
        Some(left) if left.0.is_empty() => Ok((meant, with_changes(&text, &changes))),
        _ => Err(unclear()),
    }
}

fn unclear() -> SqlError {
    SqlError::unsupported("an expression with this literal of a date or a timestamp cannot be kept")
        .hint("Write the literal as year, month and day, with its time zone.")
}
