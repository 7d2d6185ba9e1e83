//! Tables of the catalogue, which are computed when they are read: `pg_catalog` and `information_schema`.

mod activity;
mod casts;
mod constraints;
pub(crate) mod dependencies;
mod described;
mod descriptions;
mod domain_checks;
mod empty;
mod functions;
mod indexes;
mod information_schema;
mod listed;
mod locks;
mod relations;
mod sequences;
mod settings;
mod standard;
mod statistics;
mod system;
#[cfg(test)]
mod tests;
mod time_zones;
mod triggers;
mod views;

pub(crate) use constraints::{
    constraint_definition, constraints_of, index_definition, own_indexes, own_indexes_on,
    sequence_names,
};

pub(crate) use descriptions::description;
pub(crate) use indexes::{index_names, index_referred};
pub(crate) use information_schema::{constant_text, relations};
pub(crate) use sequences::{last_number, serial_sequence};
pub(crate) use views::{view_numbers, view_text};

use crate::error::SqlError;
use crate::expression::{Environment, ScopeColumn, ScopeTable, SystemColumns};
use crate::path::schema_of;
use crate::schemas::schemas;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// Numbers of namespaces.
const PG_CATALOG: u32 = 11;
const PUBLIC: u32 = 2200;
const INFORMATION_SCHEMA: u32 = 13_000;
/// The first number of schemas that users made.
const OF_USERS: u32 = 5 << 24;
/// The first number of schemas that exist because of their tables.
const IMPLIED: u32 = 6 << 24;
/// The number of the owner of all objects.
const OWNER: u32 = 10;

/// The numbers of schemas by their names.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn schema_numbers(source: &dyn Source) -> Result<BTreeMap<String, u32>, SqlError> {
    let mut numbers = BTreeMap::from([
        ("pg_catalog".to_string(), PG_CATALOG),
        ("public".to_string(), PUBLIC),
        ("information_schema".to_string(), INFORMATION_SCHEMA),
    ]);
    for (at, (name, number)) in schemas(source)?.into_iter().enumerate() {
        numbers.insert(
            name,
            number.map_or(IMPLIED + at as u32, |number| OF_USERS + number),
        );
    }
    Ok(numbers)
}

/// The number of an object's schema, from the object's kept name.
fn number_of_schema(numbers: &BTreeMap<String, u32>, kept: &str) -> u32 {
    numbers.get(schema_of(kept)).copied().unwrap_or(PUBLIC)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

fn oid(oid: u32) -> Value {
    Value::Int(oid.into())
}

/// The rows of a virtual table: one vector of values each.
pub(crate) type VirtualRows = Vec<Vec<Value>>;

/// A table whose rows are computed from a state of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VirtualTable {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: u32,
    pub columns: &'static [(&'static str, SqlType)],
    pub contents: Contents,
}

/// The function that computes the rows of a virtual table.
pub(crate) type ComputeRows = fn(&dyn Source, &Environment<'_>) -> Result<VirtualRows, SqlError>;

/// The rows of a virtual table: computed, or those of a query over other virtual tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contents {
    Rows(ComputeRows),
    Query(&'static str),
}

impl VirtualTable {
    /// Its columns, for expressions, and its number as `tableoid`, which is no part of `*`.
    pub fn scope(&self, alias: &str) -> ScopeTable {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(place, (name, kind))| ScopeColumn {
            origin: Some((self.oid, place as i16 + 1)),
            ..ScopeColumn::new(name, TypeSpec::plain(*kind), place)
        });
        ScopeTable {
            alias: alias.to_string(),
            columns: columns.collect(),
            schema: Some(self.schema.to_string()),
            system: SystemColumns::of_catalogue(self.oid),
            ..ScopeTable::default()
        }
    }
}

/// The virtual table of a name, in a schema if it is given. Without one, `pg_catalog` counts as the first schema of the
/// search path.
pub(crate) fn virtual_table(schema: Option<&str>, name: &str) -> Option<VirtualTable> {
    static PLACES: LazyLock<HashMap<(&'static str, &'static str), usize>> = LazyLock::new(|| {
        let tables = ALL.iter().enumerate();
        let places = tables.map(|(place, table)| ((table.schema, table.name), place));
        places.collect()
    });
    let place = PLACES.get(&(schema.unwrap_or("pg_catalog"), name))?;
    ALL.get(*place).copied()
}

/// All of them. Statements look up each name in `FROM` here, so the list is made once.
static ALL: LazyLock<Vec<VirtualTable>> = LazyLock::new(|| {
    let tables = system::TABLES
        .iter()
        .chain(relations::TABLES)
        .chain(indexes::TABLES)
        .chain(constraints::TABLES)
        .chain(sequences::TABLES)
        .chain(settings::TABLES)
        .chain(dependencies::TABLES)
        .chain(descriptions::TABLES)
        .chain(functions::TABLES)
        .chain(triggers::TABLES)
        .chain(casts::TABLES)
        .chain(empty::TABLES)
        .chain(information_schema::TABLES)
        .chain(standard::TABLES)
        .chain(statistics::TABLES)
        .chain(views::TABLES)
        .chain(activity::TABLES)
        .chain(time_zones::TABLES)
        .chain(listed::TABLES)
        .chain(locks::TABLES);
    tables.copied().chain(described::tables()).collect()
});

pub(crate) fn all() -> impl Iterator<Item = VirtualTable> {
    ALL.iter().copied()
}
