//! The objects of SQL that the engine's schemas do not have, in a table of SQL's own: a kind, a name and a body each. They
//! change with the transaction that changes their subject.

use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::source::Source;
use sardonyx::schema::{Value, ValueRef};
use serde::{Deserialize, Serialize};

/// The table of what the engine's schemas cannot say.
pub(crate) const OBJECTS: &str = "sql.objects";
/// The column of it that has the bodies.
pub(crate) const BODY: usize = 2;
/// Kinds of objects.
pub(crate) mod kind {
    pub const TABLE: &str = "table";
    pub const SEQUENCE: &str = "sequence";
    pub const PROCEDURE: &str = "procedure";
    pub const VIEW: &str = "view";
    pub const COMMENT: &str = "comment";
    pub const SCHEMA: &str = "schema";
    pub const TYPES: &str = "types";
    pub const EXTENSION: &str = "extension";
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

/// The objects of a kind of which this is true, by name.
pub(super) fn objects_with(
    source: &dyn Source,
    kind: &str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::new();
    let Some(number) = source.table_named(OBJECTS) else {
        return Ok(found);
    };
    source.scan(number, &mut |row| {
        if let (ValueRef::Text(of), ValueRef::Text(name), ValueRef::Text(body)) =
            (row.value(0)?, row.value(1)?, row.value(2)?)
            && of == kind
            && is_wanted(body)
        {
            found.push((name.to_string(), body.to_string()));
        }
        Ok(true)
    })?;
    found.sort();
    Ok(found)
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

/// Removes an object. Returns whether there was one.
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

/// Reads what stands in an object.
///
/// # Errors
/// `XX001` if it cannot be read.
pub(crate) fn parsed<T: for<'de> Deserialize<'de>>(body: &str) -> Result<T, SqlError> {
    serde_json::from_str(body).map_err(|error| {
        SqlError::new(
            code::DATA_CORRUPTED,
            format!("what stands in {OBJECTS} cannot be read: {error}"),
        )
    })
}

/// Writes what is to stand in an object.
///
/// # Errors
/// `XX000`, if it cannot be written.
pub(crate) fn printed<T: Serialize>(value: &T) -> Result<String, SqlError> {
    serde_json::to_string(value).map_err(|error| SqlError::new(code::INTERNAL, error.to_string()))
}
