//! `information_schema.columns`: columns in the standard's form.

use super::Contents::Rows;
use super::views::seen_views;
use super::{VirtualRows, VirtualTable};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::index_names::shown_generated;
use crate::path::{local, schema_of};
use crate::relation::{DefaultValue, Relation, RelationColumn, is_own, kind, object, parsed};
use crate::sequences::Sequence;
use crate::source::Source;
use crate::types::{NamedCollation, SqlType, TypeSpec};
use crate::user_types::UserTypes;
use sardonyx::schema::Value;
use sardonyx_storage::catalogue::Kind;

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
        ("character_octet_length", SqlType::Int4),
        ("numeric_precision", SqlType::Int4),
        ("numeric_precision_radix", SqlType::Int4),
        ("numeric_scale", SqlType::Int4),
        ("datetime_precision", SqlType::Int4),
        ("interval_type", SqlType::Text),
        ("interval_precision", SqlType::Int4),
        ("character_set_catalog", SqlType::Name),
        ("character_set_schema", SqlType::Name),
        ("character_set_name", SqlType::Name),
        ("collation_catalog", SqlType::Name),
        ("collation_schema", SqlType::Name),
        ("collation_name", SqlType::Name),
        ("domain_catalog", SqlType::Name),
        ("domain_schema", SqlType::Name),
        ("domain_name", SqlType::Name),
        ("udt_catalog", SqlType::Name),
        ("udt_schema", SqlType::Name),
        ("udt_name", SqlType::Name),
        ("scope_catalog", SqlType::Name),
        ("scope_schema", SqlType::Name),
        ("scope_name", SqlType::Name),
        ("maximum_cardinality", SqlType::Int4),
        ("dtd_identifier", SqlType::Name),
        ("is_self_referencing", SqlType::Text),
        ("is_identity", SqlType::Text),
        ("identity_generation", SqlType::Text),
        ("identity_start", SqlType::Text),
        ("identity_increment", SqlType::Text),
        ("identity_maximum", SqlType::Text),
        ("identity_minimum", SqlType::Text),
        ("identity_cycle", SqlType::Text),
        ("is_generated", SqlType::Text),
        ("generation_expression", SqlType::Text),
        ("is_updatable", SqlType::Text),
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
            Some(match (column.spec.kind.is_number(), value) {
                (true, _) => text,
                (_, Value::Bool(value)) => value.to_string(),
                _ => format!(
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
    let database = with.context.settings.borrow().database().to_string();
    let types = UserTypes::of(source)?;
    let mut tables = relations(source)?;
    // The standard has no materialized views.
    tables.retain(|relation| relation.notes.materialized.is_none());
    for relation in tables {
        for (at, column) in relation.columns.iter().enumerate() {
            let mut shown = Shown::of(&relation.name, at, &column.name, column.spec);
            shown.default = default_text(source, with, column)?;
            shown.is_nullable = !column.not_null;
            shown.is_updatable = true;
            if let Some(kind) = column.identity {
                let sequence = column.sequence.as_deref().unwrap_or_default();
                let sequence = object(source, kind::SEQUENCE, sequence)?;
                let sequence = sequence.map(|body| parsed(&body)).transpose()?;
                shown.identity = Some((kind == 'a', sequence));
                shown.default = None;
            }
            shown.domain = column
                .domain
                .and_then(|oid| types.with_oid(oid))
                .map(|(name, _)| name.as_ref());
            if column.is_generated {
                shown.is_generated = true;
                shown.expression = shown_generated(&relation, column.number);
                shown.default = None;
            }
            rows.push(shown.row(&database));
        }
    }
    for view in seen_views(source, with)? {
        for (at, column) in view.columns.iter().enumerate() {
            let mut shown = Shown::of(&view.name, at, &column.name, column.spec);
            shown.is_nullable = true;
            rows.push(shown.row(&database));
        }
    }
    Ok(rows)
}

/// A column in the standard's form.
#[derive(Default)]
struct Shown<'a> {
    relation: &'a str,
    at: usize,
    name: &'a str,
    spec: Option<TypeSpec>,
    default: Option<String>,
    is_nullable: bool,
    domain: Option<&'a str>,
    /// True if its value is always generated, and its sequence.
    identity: Option<(bool, Option<Sequence>)>,
    is_generated: bool,
    expression: Option<String>,
    is_updatable: bool,
}

impl<'a> Shown<'a> {
    fn of(relation: &'a str, at: usize, name: &'a str, spec: TypeSpec) -> Self {
        Shown {
            relation,
            at,
            name,
            spec: Some(spec),
            ..Shown::default()
        }
    }

    fn row(self, database: &str) -> Vec<Value> {
        let int = |value: Option<i128>| value.map_or(Value::Null, Value::Int);
        let or_null = |value: Option<&str>| value.map_or(Value::Null, text);
        let spec = self.spec.unwrap_or(TypeSpec::plain(SqlType::Text));
        let element = spec.kind.element();
        let number = Number::of(spec);
        let collation = spec.collation.name();
        let collation = (collation != NamedCollation::default()).then(|| collation.name());
        let domain = self.domain;
        let sequence = self.identity.as_ref();
        let sequence = sequence.and_then(|(_, sequence)| sequence.as_ref());
        let of_sequence = |value: &dyn Fn(&Sequence) -> i64| {
            sequence.map_or(Value::Null, |of| Value::Text(value(of).to_string()))
        };
        vec![
            text(database),
            text(schema_of(self.relation)),
            text(local(self.relation)),
            text(self.name),
            Value::Int(self.at as i128 + 1),
            self.default.map_or(Value::Null, Value::Text),
            yes(self.is_nullable),
            text(match element {
                Some(_) => "ARRAY",
                None if matches!(spec.kind, SqlType::Enum(_) | SqlType::Composite(_)) => {
                    "USER-DEFINED"
                }
                None => spec.kind.name(),
            }),
            int(spec.length().or(spec.bits()).map(|length| length as i128)),
            int(octets(spec)),
            int(number.precision),
            int(number.radix),
            int(number.scale),
            int(fraction(spec)),
            or_null(interval_fields(spec).as_deref()),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            or_null(collation.map(|_| database)),
            or_null(collation.map(|_| "pg_catalog")),
            or_null(collation),
            or_null(domain.map(|_| database)),
            or_null(domain.map(schema_of)),
            or_null(domain.map(local)),
            text(database),
            text(spec.kind.schema()),
            text(spec.kind.internal_name()),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Text((self.at + 1).to_string()),
            yes(false),
            yes(self.identity.is_some()),
            or_null(self.identity.as_ref().map(|(always, _)| match always {
                true => "ALWAYS",
                false => "BY DEFAULT",
            })),
            of_sequence(&|of| of.start),
            of_sequence(&|of| of.increment),
            of_sequence(&|of| of.maximum),
            of_sequence(&|of| of.minimum),
            yes(sequence.is_some_and(|of| of.cycles)),
            text(if self.is_generated { "ALWAYS" } else { "NEVER" }),
            self.expression.map_or(Value::Null, Value::Text),
            yes(self.is_updatable),
        ]
    }
}

/// The digits of a number, their base, and those behind the point.
#[derive(Default)]
struct Number {
    precision: Option<i128>,
    radix: Option<i128>,
    scale: Option<i128>,
}

impl Number {
    fn of(spec: TypeSpec) -> Number {
        let binary = |bits, scale| Number {
            precision: Some(bits),
            radix: Some(2),
            scale,
        };
        match spec.kind {
            SqlType::Int2 => binary(16, Some(0)),
            SqlType::Int4 => binary(32, Some(0)),
            SqlType::Int8 => binary(64, Some(0)),
            SqlType::Float4 => binary(24, None),
            SqlType::Float8 => binary(53, None),
            SqlType::Numeric => {
                let digits = spec.precision_and_scale();
                Number {
                    precision: digits.map(|(precision, _)| precision.into()),
                    radix: Some(10),
                    scale: digits.map(|(_, scale)| scale.into()),
                }
            }
            _ => Number::default(),
        }
    }
}

/// The most bytes of a text: four a character, or as many as PostgreSQL has.
fn octets(spec: TypeSpec) -> Option<i128> {
    match spec.kind {
        SqlType::Text | SqlType::Varchar | SqlType::Char => {
            let length = spec.length().map(|length| 4 * length as i128);
            Some(length.unwrap_or(1 << 30))
        }
        _ => None,
    }
}

/// The digits of a second's fraction.
fn fraction(spec: TypeSpec) -> Option<i128> {
    match spec.kind {
        SqlType::Date => Some(0),
        SqlType::Time | SqlType::Timetz | SqlType::Timestamp | SqlType::Timestamptz => {
            Some(spec.fraction_digits().unwrap_or(6).into())
        }
        SqlType::Interval => Some(match spec.modifier & 0xffff {
            0xffff => 6,
            digits => digits.into(),
        }),
        _ => None,
    }
}

/// The fields of an interval that its type names, with the digits of the second, in upper case.
fn interval_fields(spec: TypeSpec) -> Option<String> {
    if spec.kind != SqlType::Interval {
        return None;
    }
    let sql = spec.to_sql();
    let fields = sql.strip_prefix("interval ")?;
    Some(fields.to_ascii_uppercase())
}
