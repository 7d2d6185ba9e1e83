//! Violated constraints in PostgreSQL's terms: the words, the detail, and the names that programs match.
//!
//! An error of the engine has tables, names and values. The tables' notes have the rest: the format of values and the
//! name of a primary key. So the text is made in two steps: [`SqlError::from`] has the engine's text, and [`explained`]
//! adds the rest once, where the statement ends.

use crate::error::{KeyName, SqlError, Violation};
use crate::index_names::{key_name, key_names};
use crate::names::DOMAIN_NOT_NULL;
use crate::path::written;
use crate::relation::{Relation, StoredColumn};
use crate::source::Source;
use crate::text::text_of;
use crate::user_types::UserTypes;
use sardonyx::schema::{ForeignKey, PRIMARY, Value, ValueRef};

/// The longest value in the detail of an error, in bytes.
const VALUE_BYTES_MAX: usize = 64;

/// Adds to an error the details from the tables' notes of the violated constraint.
#[cold]
pub(crate) fn explained(source: &dyn Source, mut error: SqlError) -> SqlError {
    if let Some(violation) = error.take_violation() {
        match violation {
            Violation::Key {
                table,
                index,
                values,
                built_of,
            } => explain_key(
                source,
                &mut error,
                (&table, index.as_deref()),
                &values,
                built_of,
            ),
            Violation::Reference {
                table,
                name,
                values,
                is_referenced,
            } => explain_reference(source, &mut error, (&table, &name), &values, is_referenced),
            Violation::Domain { domain, check } => {
                explain_domain(source, &mut error, domain, check)
            }
        }
    }
    error
}

fn explain_domain(source: &dyn Source, error: &mut SqlError, domain: u32, check: u32) {
    let Ok(types) = UserTypes::of(source) else {
        return;
    };
    let Some((name, there)) = types.with_oid(domain) else {
        return;
    };
    if check == DOMAIN_NOT_NULL {
        error.message = format!("domain {} does not allow null values", written(name));
        return;
    }
    let checks = there.domain.iter().flat_map(|domain| &domain.checks);
    let mut checks = checks.filter(|known| known.number == check);
    if let Some(known) = checks.next() {
        error.message = format!(
            "value for domain {} violates check constraint \"{}\"",
            written(name),
            known.name
        );
        error.constraint = Some(known.name.clone());
    }
}

fn relation_of(source: &dyn Source, table: &str) -> Option<Relation> {
    let number = source.table_named(table)?;
    Relation::numbered(source, number).ok()
}

fn explain_key(
    source: &dyn Source,
    error: &mut SqlError,
    (table, index): (&str, Option<&str>),
    values: &[Value],
    built_of: Option<Vec<Option<KeyName>>>,
) {
    let Some(relation) = relation_of(source, table) else {
        return;
    };
    let index = index.filter(|index| *index != PRIMARY);
    let name = match index {
        Some(index) => index.to_string(),
        None => relation.primary_constraint().unwrap_or_default(),
    };
    let schema = &relation.schema;
    let definition = match index {
        Some(index) => schema.indexes.iter().find(|there| there.name == index),
        None => Some(&schema.primary),
    };
    let columns = definition.map(|index| key_names(&relation, index));
    let is_build = built_of.is_some();
    error.constraint = Some(name.clone());
    error.message = match is_build {
        true => format!("could not create unique index \"{name}\""),
        false => format!("duplicate key value violates unique constraint \"{name}\""),
    };
    if let Some(columns) = built_of.or(columns)
        && columns.len() == values.len()
    {
        let key = named_key_text(columns.into_iter(), values);
        let end = if is_build {
            "is duplicated"
        } else {
            "already exists"
        };
        error.detail = Some(format!("Key {key} {end}."));
    }
}

fn explain_reference(
    source: &dyn Source,
    error: &mut SqlError,
    (table, name): (&str, &str),
    values: &[Value],
    is_referenced: bool,
) {
    let Some(relation) = relation_of(source, table) else {
        return;
    };
    let mut keys = relation.schema.foreign_keys.iter();
    let Some(key) = keys.find(|key| key.name == name) else {
        return;
    };
    let Ok(other) = Relation::numbered(source, key.table) else {
        return;
    };
    error.detail = Some(match is_referenced {
        true => format!(
            "Key {} is still referenced from table \"{}\".",
            key_text(&other, key.referenced.iter().copied(), values),
            relation.local()
        ),
        false => not_present((&relation, &other), key, values),
    });
}

fn not_present(
    (relation, other): (&Relation, &Relation),
    key: &ForeignKey,
    values: &[Value],
) -> String {
    format!(
        "Key {} is not present in table \"{}\".",
        key_text(relation, key.columns.iter().copied(), values),
        other.local()
    )
}

/// The error of a foreign key that is added to a table and does not hold: the table no longer has it.
#[cold]
pub(crate) fn of_new_reference(
    mut error: SqlError,
    tables: (&Relation, &Relation),
    key: &ForeignKey,
) -> SqlError {
    if let Some(Violation::Reference { values, .. }) = error.violation() {
        let detail = not_present(tables, key, values);
        error.take_violation();
        error.detail = Some(detail);
    }
    error
}

/// `(a, b)=(1, 2)`.
fn key_text(relation: &Relation, columns: impl Iterator<Item = usize>, values: &[Value]) -> String {
    named_key_text(columns.map(|column| key_name(relation, column)), values)
}

fn named_key_text(columns: impl Iterator<Item = Option<KeyName>>, values: &[Value]) -> String {
    let mut names = Vec::new();
    let mut texts = Vec::new();
    for (column, value) in columns.zip(values) {
        let Some(KeyName { name, kind }) = column else {
            continue;
        };
        names.push(name);
        let text = text_of(kind, value.as_ref());
        texts.push(text.unwrap_or_else(|| "null".into()));
    }
    format!("({})=({})", names.join(", "), texts.join(", "))
}

/// `Failing row contains (1, null).`
#[cold]
pub(crate) fn failing_row<'c>(
    columns: impl Iterator<Item = &'c StoredColumn>,
    row: &[Value],
) -> String {
    let texts = columns.map(|column| {
        let value = row.get(column.number).map_or(ValueRef::Null, Value::as_ref);
        let text = text_of(column.spec.kind, value);
        shortened(text.unwrap_or_else(|| "null".into()))
    });
    format!(
        "Failing row contains ({}).",
        texts.collect::<Vec<_>>().join(", ")
    )
}

fn shortened(mut text: String) -> String {
    if text.len() > VALUE_BYTES_MAX {
        let end = (0..=VALUE_BYTES_MAX)
            .rev()
            .find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
        text.push_str("...");
    }
    text
}
