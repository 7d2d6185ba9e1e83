//! `information_schema.columns`: columns as the standard has them.

use super::Contents::Rows;
use super::views::seen_views;
use super::{VirtualRows, VirtualTable};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::index_names::shown_generated;
use crate::path::{local, schema_of};
use crate::relation::{DefaultValue, Relation, RelationColumn, is_own};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::UserTypes;
use sardonyx::schema::Value;
use sardonyx_storage::catalogue::Kind;

const DATABASE: &str = "sardonyx";

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "information_schema",
    name: "columns",
    oid: 13_002,
    columns: &[
        ("table_catalog", SqlType::Name),
        ("table_schema", SqlType::Name),
        ("table_name", SqlType::Name),
        ("column_name", SqlType::Name),
        ("ordinal_position", SqlType::Int4),
        ("column_default", SqlType::Text),
        ("is_nullable", SqlType::Text),
        ("data_type", SqlType::Text),
        ("character_maximum_length", SqlType::Int4),
        ("numeric_precision", SqlType::Int4),
        ("numeric_scale", SqlType::Int4),
        ("udt_name", SqlType::Name),
        ("is_identity", SqlType::Text),
        ("is_generated", SqlType::Text),
        ("generation_expression", SqlType::Text),
        ("udt_catalog", SqlType::Name),
        ("udt_schema", SqlType::Name),
        ("domain_schema", SqlType::Name),
        ("domain_name", SqlType::Name),
    ],
    contents: Rows(columns),
}];

/// The tables that users see.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn relations(source: &dyn Source) -> Result<Vec<Relation>, SqlError> {
    let mut relations = Vec::new();
    for (number, definition) in source.definitions().iter().enumerate() {
        if matches!(definition.kind, Kind::Table { .. }) && !is_own(&definition.name) {
            relations.push(Relation::numbered(source, number as u16)?);
        }
    }
    Ok(relations)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

fn yes(is_so: bool) -> Value {
    text(if is_so { "YES" } else { "NO" })
}

/// The default of a column, as SQL writes it in a session.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn default_text(
    source: &dyn Source,
    with: &Environment<'_>,
    column: &RelationColumn,
) -> Result<Option<String>, SqlError> {
    if let Some(sequence) = &column.sequence {
        let settings = with.context.settings.borrow();
        let name = settings.path().written(source, sequence)?;
        let name = name.replace('\'', "''");
        return Ok(Some(format!("nextval('{name}'::regclass)")));
    }
    Ok(constant_text(column))
}

/// The default of a column that draws from no sequence.
pub(crate) fn constant_text(column: &RelationColumn) -> Option<String> {
    match &column.default {
        DefaultValue::Expression(text) => Some(text.clone()),
        DefaultValue::Value(value) => {
            let text = crate::text::text_of(column.spec.kind, value.as_ref())?;
            Some(match column.spec.kind.is_number() {
                true => text,
                false => format!(
                    "'{}'::{}",
                    text.replace('\'', "''"),
                    column.spec.kind.name()
                ),
            })
        }
    }
}

fn columns(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    let types = UserTypes::of(source)?;
    let mut tables = relations(source)?;
    // The standard knows no materialized views.
    tables.retain(|relation| relation.notes.materialized.is_none());
    for relation in tables {
        for (at, column) in relation.columns.iter().enumerate() {
            let default = default_text(source, with, column)?;
            let default = default.map_or(Value::Null, Value::Text);
            let mut row = column_row(&relation.name, at, &column.name, column.spec);
            row[5] = default;
            row[6] = yes(!column.not_null);
            row[12] = yes(column.identity.is_some());
            if let Some(oid) = column.domain
                && let Some((name, _)) = types.with_oid(oid)
            {
                row[17] = text(schema_of(name));
                row[18] = text(local(name));
            }
            if column.is_generated {
                let expression = shown_generated(&relation.schema, column.number);
                row[13] = text("ALWAYS");
                row[14] = expression.map_or(Value::Null, Value::Text);
            }
            rows.push(row);
        }
    }
    for view in seen_views(source, with)? {
        for (at, column) in view.columns.iter().enumerate() {
            rows.push(column_row(&view.name, at, &column.name, column.spec));
        }
    }
    Ok(rows)
}

/// A column without a default that can be null.
fn column_row(relation: &str, at: usize, name: &str, spec: TypeSpec) -> Vec<Value> {
    let int = |value: Option<i128>| value.map_or(Value::Null, Value::Int);
    let digits = spec.precision_and_scale();
    let bits = match spec.kind {
        SqlType::Int2 => Some(16),
        SqlType::Int4 => Some(32),
        SqlType::Int8 => Some(64),
        _ => digits.map(|(precision, _)| precision.into()),
    };
    vec![
        text(DATABASE),
        text(schema_of(relation)),
        text(local(relation)),
        text(name),
        Value::Int(at as i128 + 1),
        Value::Null,
        yes(true),
        text(match spec.kind.element() {
            Some(_) => "ARRAY",
            None if matches!(spec.kind, SqlType::Enum(_)) => "USER-DEFINED",
            None => spec.kind.name(),
        }),
        int(spec.length().map(|length| length as i128)),
        int(bits),
        int(digits.map(|(_, scale)| scale.into()).or(bits.map(|_| 0))),
        text(spec.kind.internal_name()),
        yes(false),
        text("NEVER"),
        Value::Null,
        text(DATABASE),
        text(spec.kind.schema()),
        Value::Null,
        Value::Null,
    ]
}
