//! The tables that hold the keys of Redis clients: SQL reads them, and changes neither their rows nor their schemas.
//!
//! Their rows depend on each other in ways that no constraint says: a hash's length is in `kv`, its fields are in
//! `kv_hash`. The keyspace opens only tables with its own schemas. So an index or column that was added to one earlier
//! can be dropped here. A database that does not serve Redis clients can drop whole tables.
//!
//! They are in a schema of their own, whose name begins with `pg_`: programs that compare `public` with their models, or
//! dump all schemas of users, leave it alone. An older version had them in `public`; the server moves them.

use crate::error::{SqlError, code};
use crate::names::name_of_primary;
use crate::path::{PUBLIC, kept, local, schema_of, split};
use crate::relation::Relation;
use crate::rights::{Access, Rights};
use crate::source::Source;
use sardonyx::schema::Type;
use sqlparser::ast::{AlterTableOperation, Ident};

/// The schema of the tables.
pub(crate) use crate::path::OF_KEYS as SCHEMA;

/// A table with the columns and indexes of its creation.
type Model = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// The tables.
const TABLES: [Model; 13] = [
    (
        "kv",
        &["key", "id", "kind", "value", "length", "first", "expires"],
        &["by_id"],
    ),
    ("kv_hash", &["id", "field", "value"], &[]),
    ("kv_set", &["id", "member"], &[]),
    ("kv_zset", &["id", "member", "score"], &["by_score"]),
    ("kv_list", &["id", "position", "value"], &[]),
    ("kv_expiry", &["expires", "key"], &[]),
    ("kv_removed", &["id", "kind"], &[]),
    ("kv_stream", &["id", "ms", "seq", "fields"], &[]),
    (
        "kv_group",
        &[
            "id",
            "name",
            "number",
            "last_ms",
            "last_seq",
            "entries_read",
        ],
        &["by_number"],
    ),
    ("kv_consumer", &["id", "name", "seen"], &[]),
    (
        "kv_pending",
        &["id", "ms", "seq", "consumer", "delivered", "deliveries"],
        &["by_consumer"],
    ),
    ("kv_library", &["name", "code", "digest"], &[]),
    (
        "kv_function",
        &["lower", "name", "library", "flags", "description"],
        &["by_library"],
    ),
];

/// The tables of another database than the first are named after its number: `kv_db1`, `kv_db1_expiry`.
const OF_DATABASE: &str = "kv_db";

/// The table of a name in its schema, or its model: those of other databases are like the first one's.
fn own(name: &str) -> Option<&'static Model> {
    let of_database = name.strip_prefix(OF_DATABASE).map(|rest| {
        let (number, what) = rest.split_at(rest.find('_').unwrap_or(rest.len()));
        let is_number = number
            .parse::<u8>()
            .is_ok_and(|number| (1..16).contains(&number));
        (is_number && !number.starts_with(['0', '+']), what)
    });
    let like = match of_database {
        Some((true, "")) => "kv",
        Some((true, "_expiry")) => "kv_expiry",
        _ => name,
    };
    TABLES.iter().find(|(table, ..)| *table == like)
}

/// True if a table of a name is one of the keyspace's, or would be. A program may have tables of these names in `public`,
/// but SQL makes none with ids of this type.
fn is_of_keyspace(source: &dyn Source, name: &str) -> bool {
    let (schema, local) = split(name);
    let Some((_, columns, _)) = own(local) else {
        return false;
    };
    match schema {
        SCHEMA => TABLES.iter().any(|table| is_like(source, schema, table)),
        // The keyspace of an older version, which a server did not move yet.
        PUBLIC => {
            let is_other =
                source.table_named(name).is_some() && !begins_with(source, name, columns);
            is_like(source, schema, &TABLES[0]) && !is_other
        }
        _ => false,
    }
}

/// True if a schema has a table of the keyspace with ids.
fn is_like(source: &dyn Source, schema: &str, (table, columns, _): &Model) -> bool {
    let name = kept(schema, table);
    let number = source.table_named(&name);
    let has_ids = number
        .and_then(|number| source.schema(number))
        .is_some_and(|schema| {
            let mut columns = schema.live_columns();
            columns.any(|(_, column)| column.name == "id" && column.kind == Type::U64)
        });
    has_ids && (schema == SCHEMA || begins_with(source, &name, columns))
}

/// True if the first columns of a table have these names.
fn begins_with(source: &dyn Source, name: &str, columns: &[&str]) -> bool {
    let number = source.table_named(name);
    let schema = number.and_then(|number| source.schema(number));
    schema.is_some_and(|schema| {
        let mut there = schema.columns.iter().map(|column| column.name.as_str());
        columns.iter().all(|column| there.next() == Some(*column))
    })
}

/// Checks a right to a table. For a table of keys of an older version, the right to that of today is needed, too: the
/// server's rights on keys name only these.
///
/// # Errors
/// `42501` if it is missing.
pub(crate) fn check_right(
    source: &dyn Source,
    rights: &Rights,
    name: &str,
    access: Access,
) -> Result<(), SqlError> {
    rights.check(name, access)?;
    match schema_of(name) == PUBLIC && is_of_keyspace(source, name) {
        true => rights.check(&kept(SCHEMA, local(name)), access),
        false => Ok(()),
    }
}

/// The name under which a table of keys is kept that a query names as an older version had it: without the schema, and
/// outside of the search path. Views and procedures of that version name tables so.
pub(crate) fn older_name(source: &dyn Source, name: &str) -> Option<String> {
    own(name)?;
    let found = kept(SCHEMA, name);
    source.table_named(&found).map(|_| found)
}

/// Checks that a statement may change a table, or create one of the name.
///
/// # Errors
/// `42501` if it is one of the keyspace's.
pub(crate) fn check(source: &dyn Source, name: &str) -> Result<(), SqlError> {
    match is_of_keyspace(source, name) {
        false => Ok(()),
        true => Err(read_only(name)),
    }
}

/// Checks that the operations of `ALTER TABLE` may be run on a table. On one of the keyspace, only additions may be
/// dropped.
///
/// # Errors
/// `42501` if they may not.
pub(crate) fn check_alter(
    source: &dyn Source,
    name: &str,
    operations: &[AlterTableOperation],
) -> Result<(), SqlError> {
    let own = own(local(name));
    let is_added = |column: &Ident| own.is_some_and(|(_, own, _)| !own.contains(&&*column.value));
    let is_repair = |operation: &AlterTableOperation| match operation {
        AlterTableOperation::DropColumn { column_names, .. } => column_names.iter().all(is_added),
        AlterTableOperation::DropConstraint {
            name: constraint, ..
        } => constraint.value != name_of_primary(local(name)),
        _ => false,
    };
    match operations.iter().all(is_repair) {
        true => Ok(()),
        false => check(source, name),
    }
}

/// Checks that an index of a table may be dropped.
///
/// # Errors
/// `42501` if the keyspace needs it.
pub(crate) fn check_index(
    source: &dyn Source,
    relation: &Relation,
    index: &str,
) -> Result<(), SqlError> {
    let own = own(relation.local());
    match own.is_some_and(|(_, _, indexes)| indexes.contains(&index)) {
        true => check(source, &relation.name),
        false => Ok(()),
    }
}

#[cold]
fn read_only(name: &str) -> SqlError {
    SqlError::new(
        code::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for table {}", local(name)),
    )
    .detail("The table has keys of Redis' clients, and is read-only to SQL.")
    .hint(
        "Change keys by Redis' commands. To drop all of the tables, serve the database without Redis: --redis off.",
    )
    .of_table(name)
}
