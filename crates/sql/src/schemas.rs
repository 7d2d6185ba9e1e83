//! The schemas of a database, as they are stored, and their objects.

use crate::error::SqlError;
use crate::path::{PUBLIC, schema_of};
use crate::relation::{index_named, is_own, kind, object, objects, parsed};
use crate::source::Source;
use sardonyx_storage::catalogue::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A schema as it is stored.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SchemaObject {
    /// The number in the catalogue.
    pub number: u32,
}

/// The schemas that users made, and those that exist because of their tables, with their numbers. `public` is none of
/// them.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn schemas(source: &dyn Source) -> Result<Vec<(String, Option<u32>)>, SqlError> {
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    for (name, body) in objects(source, kind::SCHEMA)? {
        let schema: SchemaObject = parsed(&body)?;
        named.insert(name.clone());
        found.push((name, Some(schema.number)));
    }
    for definition in source.definitions() {
        let schema = schema_of(&definition.name);
        let is_table = matches!(definition.kind, Kind::Table { .. });
        let is_new =
            is_table && !is_own(&definition.name) && schema != PUBLIC && !named.contains(schema);
        if is_new {
            named.insert(schema.to_string());
            found.push((schema.to_string(), None));
        }
    }
    Ok(found)
}

/// The names of those schemas.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn schema_names(source: &dyn Source) -> Result<BTreeSet<String>, SqlError> {
    Ok(schemas(source)?.into_iter().map(|(name, _)| name).collect())
}

/// True if a schema of a name exists for tables of users.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn has_schema(source: &dyn Source, name: &str) -> Result<bool, SqlError> {
    let is_in = |kept: &str| {
        let rest = kept.strip_prefix(name);
        rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
    };
    if name == PUBLIC || object(source, kind::SCHEMA, name)?.is_some() {
        return Ok(true);
    }
    let mut definitions = source.definitions().iter();
    Ok(definitions.any(|definition| {
        let is_table = matches!(definition.kind, Kind::Table { .. });
        is_table && is_in(&definition.name) && !is_own(&definition.name)
    }))
}

/// True if a table, view, sequence or index is kept under a name.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn is_there(source: &dyn Source, kept: &str) -> Result<bool, SqlError> {
    Ok(source.table_named(kept).is_some()
        || object(source, kind::SEQUENCE, kept)?.is_some()
        || object(source, kind::VIEW, kept)?.is_some()
        || index_named(source, kept).is_some())
}
