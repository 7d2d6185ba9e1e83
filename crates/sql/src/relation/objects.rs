//! `sql.objects`: a kind, a name and a body each. An object changes in the transaction that changes its subject.

use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::rows::InputRow;
use crate::source::{KeyRange, Source};
use sardonyx::schema::{Value, ValueRef};
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// The table for properties that the engine's schemas do not have.
pub(crate) const OBJECTS: &str = "sql.objects";
/// Its ordered index, by which the objects of a kind are found. Nodes have none: they read all objects.
pub(crate) const BY_KIND: &str = "by_kind";
/// The column of it that has the bodies.
pub(crate) const BODY: usize = 2;

/// Kinds of objects.
pub(crate) mod kind {
    pub const TABLE: &str = "table";
    pub const SEQUENCE: &str = "sequence";
    pub const PROCEDURE: &str = "procedure";
    pub const FUNCTION: &str = "function";
    pub const VIEW: &str = "view";
    pub const COMMENT: &str = "comment";
    pub const SCHEMA: &str = "schema";
    pub const TYPES: &str = "types";
    pub const EXTENSION: &str = "extension";
    /// The name of a primary key that was given one; the body is its table's number.
    pub const PRIMARY: &str = "primary";
    /// The name of an index that is in the catalogue alone; the body is its table's number.
    pub const LISTED: &str = "listed";
    /// The number of a table that is a materialized view, whose notes have the query.
    pub const MATERIALIZED: &str = "materialized";
}

/// The body of an object.
///
/// # Errors
/// An error of the engine.
pub(crate) fn object(
    source: &dyn Source,
    kind: &str,
    name: &str,
) -> Result<Option<String>, SqlError> {
    let Some(number) = source.table_named(OBJECTS) else {
        return Ok(None);
    };
    let mut found = None;
    let key = [Value::from(kind), Value::from(name)];
    source.point(number, &key, &mut |row| {
        if let ValueRef::Text(body) = row.value(2)? {
            found = Some(body.to_string());
        }
        Ok(false)
    })?;
    Ok(found)
}

/// All objects of a kind, by name.
///
/// # Errors
/// An error of the engine.
pub(crate) fn objects(source: &dyn Source, kind: &str) -> Result<Vec<(String, String)>, SqlError> {
    objects_with(source, kind, &|_| true)
}

/// The objects of a kind that meet a condition, by name.
pub(super) fn objects_with(
    source: &dyn Source,
    kind: &str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::new();
    let Some(number) = source.table_named(OBJECTS) else {
        return Ok(found);
    };
    let mut each = |row: &dyn InputRow| {
        if let (ValueRef::Text(of), ValueRef::Text(name), ValueRef::Text(body)) =
            (row.value(0)?, row.value(1)?, row.value(2)?)
            && of == kind
            && is_wanted(body)
        {
            found.push((name.to_string(), body.to_string()));
        }
        Ok(true)
    };
    match finds_kinds(source, number) {
        true => {
            let of_kind = || Bound::Included(vec![Value::from(kind)]);
            let range = KeyRange {
                lower: of_kind(),
                upper: of_kind(),
                backward: false,
            };
            source.range(number, BY_KIND, &range, &mut each)?;
        }
        false => source.scan(number, &mut each)?,
    }
    found.sort();
    Ok(found)
}

/// True if the table of this number has an index by kind.
pub(super) fn finds_kinds(source: &dyn Source, number: u16) -> bool {
    let schema = source.schema(number);
    schema.is_some_and(|schema| schema.indexes.iter().any(|index| index.name == BY_KIND))
}

/// Stores an object.
///
/// # Errors
/// An error of the engine.
pub(crate) fn put_object(
    tx: &mut dyn DefineTarget,
    kind: &str,
    name: &str,
    body: &str,
) -> Result<(), SqlError> {
    let values = [
        ("kind", Value::from(kind)),
        ("name", Value::from(name)),
        ("body", Value::from(body)),
    ];
    Ok(tx.put_named(OBJECTS, &values)?)
}

/// Removes an object. Returns true if there was one.
///
/// # Errors
/// An error of the engine.
pub(crate) fn delete_object(
    tx: &mut dyn DefineTarget,
    kind: &str,
    name: &str,
) -> Result<bool, SqlError> {
    let key = [Value::from(kind), Value::from(name)];
    Ok(tx.delete_named(OBJECTS, &key)?)
}

/// Parses the body of an object.
///
/// # Errors
/// `XX001` if it cannot be read.
pub(crate) fn parsed<T: for<'de> Deserialize<'de>>(body: &str) -> Result<T, SqlError> {
    serde_json::from_str(body).map_err(|error| {
        SqlError::new(
            code::DATA_CORRUPTED,
            format!("an object in {OBJECTS} cannot be read: {error}"),
        )
    })
}

/// Writes the body of an object.
///
/// # Errors
/// `XX000`, if it cannot be written.
pub(crate) fn printed<T: Serialize>(value: &T) -> Result<String, SqlError> {
    serde_json::to_string(value).map_err(|error| SqlError::new(code::INTERNAL, error.to_string()))
}
