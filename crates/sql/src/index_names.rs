//! Columns that are generated for indexes, as SQL shows them: the expressions and conditions, and the names of keys in
//! errors.
//!
//! [`crate::indexed`] compiles them.

use crate::error::{KeyName, SqlError, code};
use crate::expression::shown::shown_check;
use crate::expression::shown_casts::{Parentheses, with_casts};
use crate::parse::parse_expression;
use crate::plan::figured::name_of_expression;
use crate::relation::{ListedIndex, ListedOf, Relation};
use crate::types::{SqlType, TypeSpec};
use crate::user_types::is_of_user;
use sardonyx::schema::{Declared, IndexDefinition, KeyPart, Schema};
use sardonyx_rows::condition::SqlCheck;
use sqlparser::ast::Expr as Tree;
use std::collections::BTreeSet;

/// Around the condition of a partial index, in the expression of its column.
const WHERE: (&str, &str) = ("CASE WHEN ", " THEN true END");

/// The expression of the column of a partial index.
pub(crate) fn wrapped(condition: SqlCheck) -> SqlCheck {
    SqlCheck {
        text: format!("{}{}{}", WHERE.0, condition.text, WHERE.1),
        ..condition
    }
}

/// The condition in that expression.
pub(crate) fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix(WHERE.0);
    inner
        .and_then(|inner| inner.strip_suffix(WHERE.1))
        .unwrap_or(text)
}

/// The declared type of a generated column.
///
/// # Errors
/// `XX001` if SQL has no such type.
pub(crate) fn spec_of(declared: &Declared) -> Result<TypeSpec, SqlError> {
    if is_of_user(declared.kind) {
        // Its labels are their numbers there.
        return Ok(TypeSpec::plain(SqlType::Int8));
    }
    let kind = SqlType::from_oid(declared.kind).ok_or_else(|| {
        let message = format!("type {} of a generated column is not known", declared.kind);
        SqlError::new(code::DATA_CORRUPTED, message)
    })?;
    let modifier = declared.modifier;
    Ok(TypeSpec::new(kind, modifier))
}

/// The expression of a generated column, as the schema has it.
pub(crate) fn generated(schema: &Schema, column: usize) -> Option<(&Declared, SqlCheck)> {
    let declared = schema.declared(column)?;
    let expression = SqlCheck::parse(declared.generated()?).ok()??;
    Some((declared, expression))
}

/// True if a column marks the rows of which a partial index has entries.
pub(crate) fn is_where(schema: &Schema, column: usize) -> bool {
    let name = schema.columns.get(column).map(|column| &column.name);
    schema.is_index_column(column)
        && name.is_some_and(|name| name.starts_with(sardonyx::schema::INDEX_WHERE))
}

/// The columns of an index's key as SQL has them: without the one that marks a partial index's rows.
pub(crate) fn seen_key<'i>(
    schema: &'i Schema,
    index: &'i IndexDefinition,
) -> impl Iterator<Item = &'i KeyPart> {
    index
        .key
        .iter()
        .filter(|part| !is_where(schema, part.column))
}

/// The expression of an index's column, as SQL writes it in the index; `None` for columns of the table.
pub(crate) fn shown_expression(relation: &Relation, column: usize) -> Option<String> {
    shown_with(relation, column, Parentheses::All)
}

/// The same, with parentheses around the operands of casts or without them.
fn shown_with(relation: &Relation, column: usize, parentheses: Parentheses) -> Option<String> {
    let schema = &relation.schema;
    let text = match listed_expression(relation, column) {
        Some((text, _)) => shown_check(text, schema, &relation.enums()),
        None => shown_generated(relation, column).filter(|_| schema.is_index_column(column))?,
    };
    let text = with_casts(&text, &|name| kind_of(relation, name), parentheses);
    let is_call = matches!(parse_expression(&text), Ok(Tree::Function(_)));
    Some(if is_call { text } else { format!("({text})") })
}

/// The first number of expressions of listed indexes: they are no columns of the engine.
const LISTED: usize = 1 << 32;

/// The expressions of a table's listed indexes, with the numbers of their types.
fn listed_expressions(relation: &Relation) -> impl Iterator<Item = (&str, u32)> {
    let parts = relation.notes.listed.values();
    let parts = parts.flat_map(|index| &index.parts);
    parts.filter_map(|part| match &part.of {
        ListedOf::Column(_) => None,
        ListedOf::Expression(text, kind) => Some((text.as_str(), *kind)),
    })
}

fn listed_expression(relation: &Relation, column: usize) -> Option<(&str, u32)> {
    listed_expressions(relation).nth(column.checked_sub(LISTED)?)
}

/// The numbers by which this module knows the columns and expressions of a listed index.
pub(crate) fn listed_columns(relation: &Relation, name: &str) -> Vec<usize> {
    let mut next = LISTED;
    for (there, index) in &relation.notes.listed {
        let parts = index.parts.iter().map(|part| match &part.of {
            ListedOf::Column(number) => *number,
            ListedOf::Expression(..) => {
                next += 1;
                next - 1
            }
        });
        let columns: Vec<usize> = parts.collect();
        if there == name {
            return columns;
        }
    }
    Vec::new()
}

/// The condition of a listed index for people.
pub(crate) fn listed_condition(relation: &Relation, index: &ListedIndex) -> Option<String> {
    let text = shown_check(
        index.condition.as_ref()?,
        &relation.schema,
        &relation.enums(),
    );
    let kind_of = |name: &str| kind_of(relation, name);
    Some(with_casts(&text, &kind_of, Parentheses::All))
}

fn kind_of(relation: &Relation, name: &str) -> Option<SqlType> {
    let mut columns = relation.columns.iter();
    let column = columns.find(|column| column.name == name)?;
    Some(column.spec.kind)
}

/// The expression of a generated column for people.
pub(crate) fn shown_generated(relation: &Relation, column: usize) -> Option<String> {
    let text = relation.schema.declared(column)?.generated()?;
    Some(shown_check(text, &relation.schema, &relation.enums()))
}

/// The name and the type of an expression of an index, as the catalogue has its columns.
pub(crate) fn expression_column(relation: &Relation, column: usize) -> Option<(String, TypeSpec)> {
    let schema = &relation.schema;
    let (text, spec) = match listed_expression(relation, column) {
        Some((text, kind)) => (
            shown_check(text, schema, &relation.enums()),
            TypeSpec::plain(SqlType::from_oid(kind)?),
        ),
        None => {
            let (declared, _) = generated(schema, column)?;
            (shown_generated(relation, column)?, spec_of(declared).ok()?)
        }
    };
    let tree = parse_expression(&text).ok()?;
    let name = name_of_expression(&tree).unwrap_or_else(|| "expr".into());
    Some((name, spec))
}

/// The condition of a partial index for people.
pub(crate) fn shown_condition(relation: &Relation, index: &IndexDefinition) -> Option<String> {
    let text = kept_condition(relation, index)?;
    let kind_of = |name: &str| kind_of(relation, name);
    Some(with_casts(&text, &kind_of, Parentheses::All))
}

/// The condition of a partial index as it was written, with the present names of columns.
pub(crate) fn kept_condition(relation: &Relation, index: &IndexDefinition) -> Option<String> {
    let first = index.key.first();
    let first = first.filter(|_| relation.schema.is_partial(index))?;
    let text = shown_generated(relation, first.column)?;
    Some(unwrapped(&text).to_string())
}

/// The name of an index's column in errors; `None` for the hidden one.
pub(crate) fn key_name(relation: &Relation, column: usize) -> Option<KeyName> {
    if let Some(column) = relation.numbered_column(column) {
        return Some(KeyName {
            name: column.name.clone(),
            kind: column.spec.kind,
        });
    }
    let schema = &relation.schema;
    if let Some((_, kind)) = listed_expression(relation, column) {
        let name = shown_with(relation, column, Parentheses::Few)?;
        let kind = SqlType::from_oid(kind)?;
        return Some(KeyName { name, kind });
    }
    if is_where(schema, column) {
        return None;
    }
    Some(KeyName {
        name: shown_with(relation, column, Parentheses::Few)?,
        kind: generated(schema, column)
            .and_then(|(declared, _)| SqlType::from_oid(declared.kind))?,
    })
}

/// The names of an index's columns in errors.
pub(crate) fn key_names(relation: &Relation, index: &IndexDefinition) -> Vec<Option<KeyName>> {
    let key = index.key.iter();
    key.map(|part| key_name(relation, part.column)).collect()
}

/// The columns whose values change with the given ones: themselves, and those generated of them.
pub(crate) fn changed_with(schema: &Schema, set: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    let mut changed: BTreeSet<usize> = set.collect();
    let mut rest: Vec<usize> = changed.iter().copied().collect();
    while let Some(column) = rest.pop() {
        let more = schema.generated_of(column);
        rest.extend(more.filter(|column| changed.insert(*column)));
    }
    changed
}
