//! Changes of what tables are, from what Python says: for a transaction of their own, and for one that runs.

use crate::row::names;
use crate::value::from_python;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sardonyx::schema::{
    ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, SchemaBuilder, Type, Value,
};
use sardonyx::{Error, Transaction};
use std::sync::Arc;

/// A change of what tables are.
pub trait Change: FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static {}

impl<F: FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static> Change for F {}

/// A foreign key by names.
pub struct Reference {
    pub name: String,
    pub columns: Vec<String>,
    /// The other table, and its columns unless they are its key.
    pub to: (String, Option<Vec<String>>),
    pub on_delete: OnDelete,
}

/// A table's schema. `definitions`: its indexes, unique indexes and checks, by their names.
pub fn schema_of(
    columns: &Bound<'_, PyDict>,
    key: &Bound<'_, PyAny>,
    ordered: bool,
    [indexes, unique, checks]: [Option<&Bound<'_, PyDict>>; 3],
) -> PyResult<SchemaBuilder> {
    let mut schema = Schema::new();
    for (column, kind) in columns {
        let (kind, nullable) = column_type(&kind.extract::<String>()?)?;
        schema = schema.column(&column.extract::<String>()?, kind);
        if nullable {
            schema = schema.nullable();
        }
    }
    let key = names(key)?;
    schema = schema.primary_key(key.iter().map(String::as_str));
    if ordered {
        schema = schema.ordered();
    }
    for (definitions, unique) in [(indexes, false), (unique, true)] {
        for (index, columns) in definitions.into_iter().flatten() {
            let columns = names(&columns)?;
            let index: String = index.extract()?;
            schema = schema.index(&index, columns.iter().map(String::as_str));
            schema = schema.ordered();
            if unique {
                schema = schema.unique();
            }
        }
    }
    for (check, condition) in checks.into_iter().flatten() {
        schema = schema.check(&check.extract::<String>()?, &condition.extract::<String>()?);
    }
    Ok(schema)
}

/// Makes a table, or finds it as it is to be.
pub fn create_table(name: String, schema: SchemaBuilder) -> impl Change {
    move |tx: &mut Transaction<'_>| tx.create_table(&name, schema).map(drop)
}

/// Adds a column of a type, which Python may say with a question mark.
pub fn add_column(
    table: String,
    column: String,
    kind: &str,
    default: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl Change> {
    let (kind, nullable) = column_type(kind)?;
    let default = default.map_or(Ok(Value::Null), from_python)?;
    Ok(move |tx: &mut Transaction<'_>| tx.add_column(&table, &column, kind, nullable, default))
}

/// Gives a table an ordered index.
pub fn create_index(
    table: String,
    name: String,
    columns: Vec<String>,
    unique: bool,
) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, schema) = definition_of(tx, &table)?;
        let key = columns.iter().map(|column| {
            let (column, descending) = match column.strip_suffix(" desc") {
                Some(column) => (column, true),
                None => (&**column, false),
            };
            let column = column_number(&schema, &table, column)?;
            Ok(KeyPart { column, descending })
        });
        let definition = IndexDefinition {
            key: key.collect::<Result<_, Error>>()?,
            name,
            kind: IndexKind::Ordered,
            unique,
        };
        tx.create_index(number, definition)
    }
}

/// Takes an index from a table.
pub fn drop_index(table: String, name: String) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, _) = definition_of(tx, &table)?;
        tx.drop_index(number, &name)
    }
}

/// Gives a table a foreign key.
pub fn add_reference(table: String, reference: Reference) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, schema) = definition_of(tx, &table)?;
        let (to, columns) = &reference.to;
        let (other, parent) = definition_of(tx, to)?;
        let numbers = |schema: &Schema, table: &str, names: &[String]| {
            let names = names.iter();
            names
                .map(|name| column_number(schema, table, name))
                .collect::<Result<Vec<_>, _>>()
        };
        let reference = ForeignKey {
            columns: numbers(&schema, &table, &reference.columns)?,
            table: other,
            referenced: match columns {
                Some(columns) => numbers(&parent, to, columns)?,
                None => parent.primary.key.iter().map(|part| part.column).collect(),
            },
            on_delete: reference.on_delete,
            name: reference.name,
        };
        tx.add_reference(number, reference)
    }
}

/// Takes a foreign key from a table.
pub fn drop_reference(table: String, name: String) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, _) = definition_of(tx, &table)?;
        tx.drop_reference(number, &name)
    }
}

/// The rule for rows whose other row is deleted.
pub fn on_delete(said: &str) -> PyResult<OnDelete> {
    match said {
        "restrict" => Ok(OnDelete::Restrict),
        "cascade" => Ok(OnDelete::Cascade),
        "set null" => Ok(OnDelete::SetNull),
        "set default" => Ok(OnDelete::SetDefault),
        other => Err(PyValueError::new_err(format!(
            "on_delete is \"restrict\", \"cascade\", \"set null\" or \"set default\", and not {other:?}"
        ))),
    }
}

/// A column's type, and whether it may be ``None``: with a question mark.
fn column_type(text: &str) -> PyResult<(Type, bool)> {
    let name = text.strip_suffix('?').unwrap_or(text);
    let kind = name.parse::<Type>();
    let kind = kind.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((kind, name.len() < text.len()))
}

/// A table's number, and what it is.
fn definition_of(tx: &mut Transaction<'_>, table: &str) -> Result<(u16, Arc<Schema>), Error> {
    let schema = tx.rows(table)?.schema().clone();
    let definitions = tx.view().definitions();
    let number = definitions
        .iter()
        .position(|definition| definition.name == table);
    let number = number.and_then(|number| u16::try_from(number).ok());
    let number =
        number.ok_or_else(|| Error::Refused(format!("there is no table {table:?}").into()))?;
    Ok((number, schema.into()))
}

fn column_number(schema: &Schema, table: &str, name: &str) -> Result<usize, Error> {
    let mut columns = schema.live_columns();
    let found = columns.find(|(_, column)| column.name == name);
    found
        .map(|(number, _)| number)
        .ok_or_else(|| Error::Refused(format!("table {table:?} has no column {name:?}").into()))
}
