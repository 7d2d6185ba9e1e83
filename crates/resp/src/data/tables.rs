//! The tables of keys and their values. SQL shows them in the schema `pg_redis`: programs take tables of `public` for
//! their own, and leave schemas whose names begin with `pg_` alone.
//!
//! ```text
//! kv          key | id | kind | value | length | first | expires     by key, hashed; by id
//! kv_hash     id, field  | value
//! kv_set      id, member
//! kv_zset     id, member | score                                     by (id, member); by (id, score, member)
//! kv_list     id, position | value
//! kv_expiry   expires, key
//! kv_removed  id | kind
//! kv_stream   id, ms, seq | fields
//! kv_group    id, name | number | last_ms | last_seq | entries_read     by (id, name); by number
//! kv_consumer id, name | seen
//! kv_pending  id, ms, seq | consumer | delivered | deliveries           by (id, ms, seq); by (id, consumer, ms, seq)
//! kv_library  name | code | digest
//! kv_function lower | name | library | flags | description               by lower; by (library, lower)
//! ```
//!
//! These tables of keys and of their times are database 0's: [`super::databases`] has the others'.
//!
//! A string is one row of `kv`, so that the common commands touch one row of one table. The elements of all other
//! values are rows of a table of their kind, under the key's `id`. So renaming a key moves none of them. Removing a
//! key with many elements only notes its id in `kv_removed`; later they are deleted a bounded number at a time. An id
//! is not used again while a row has it: after a restart, new ids are greater than every row's. Ids grow with time,
//! which makes them the cursor of `SCAN`.
//!
//! A stream's groups are stored under its id. The consumers and pending entries of a group are stored under the
//! group's `number`, which is an id, too.
//!
//! Invariants: a key whose `length` is not 0 has so many elements, and a kind other than string. No value but a stream
//! is empty. The elements of a list have consecutive positions from `first` on. `kv_expiry` has a row for each key
//! that expires.
//!
//! An older version had the tables without the schema ([`super::older`]).

use super::Kind;
pub(crate) use super::columns::kv;
use super::older::{self, Names, give_names, older_name};
use super::table_names::{ELEMENTS, LIBRARIES, PAIRS};
use sardonyx::rows::ReadRows;
use sardonyx::schema::{IndexKind, Schema, SchemaBuilder, Type};
use sardonyx::{Error, Tables, Transaction};
use sardonyx_rows::DefineRows;

/// The name of the index of ids.
pub(crate) const BY_ID: &str = "by_id";
/// The name of the index of scores.
pub(crate) const BY_SCORE: &str = "by_score";
/// The name of the index of groups' numbers.
pub(crate) const BY_NUMBER: &str = "by_number";
/// The name of the index of consumers of pending entries.
pub(crate) const BY_CONSUMER: &str = "by_consumer";
/// The name of the index of functions' libraries.
pub(crate) const BY_LIBRARY: &str = "by_library";
/// The name of each table's index of its primary key.
pub(crate) const PRIMARY: &str = sardonyx::schema::PRIMARY;

/// The number of a table that a database does not have since no server of this version has opened it. No key needs it there.
pub(super) const ABSENT: u16 = u16::MAX;

/// The numbers of the tables of elements in the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbers {
    pub hash: u16,
    pub set: u16,
    pub zset: u16,
    pub list: u16,
    pub removed: u16,
    pub stream: u16,
    pub group: u16,
    pub consumer: u16,
    pub pending: u16,
    pub library: u16,
    pub function: u16,
    /// True if the tables have the names of an older version.
    pub are_older: bool,
}

impl Numbers {
    /// Creates the tables where they are absent: those of keys only for database 0, and where another has them.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is a table of such a name with other columns, or there are keys under the names of an
    /// older version, too.
    pub fn open(tables: &Tables) -> Result<Numbers, Error> {
        let [
            hash,
            set,
            zset,
            list,
            removed,
            stream,
            group,
            consumer,
            pending,
        ] = ELEMENTS;
        give_names(tables)?;
        let there: Vec<[&str; 2]> = tables.read(|view| {
            let named = |name: &str| view.definitions().named(name).is_some();
            Ok(PAIRS.into_iter().filter(|[kv, _]| named(kv)).collect())
        })?;
        for [kv, _] in &there {
            tables.run(|tx| hash_keys(tx, kv))?;
        }
        for [kv, expiry] in std::iter::once(PAIRS[0]).chain(there) {
            tables.create_table(kv, keys())?;
            tables.create_table(expiry, expiring())?;
        }
        let number = |name: &str| tables.create_table(name, schema_of(name));
        Ok(Numbers {
            hash: number(hash)?,
            set: number(set)?,
            zset: number(zset)?,
            list: number(list)?,
            removed: number(removed)?,
            stream: number(stream)?,
            group: number(group)?,
            consumer: number(consumer)?,
            pending: number(pending)?,
            library: number(LIBRARIES[0])?,
            function: number(LIBRARIES[1])?,
            are_older: false,
        })
    }
}

impl Numbers {
    /// The table of a kind's elements.
    #[inline]
    pub fn table_of(&self, kind: Kind) -> Option<u16> {
        match kind {
            Kind::String | Kind::Unknown => None,
            Kind::Hash => Some(self.hash),
            Kind::Set => Some(self.set),
            Kind::SortedSet => Some(self.zset),
            Kind::List => Some(self.list),
            Kind::Stream => Some(self.stream),
        }
    }

    /// The numbers in a state of a database; `None` if a table is missing, or one of such a name has other columns. The
    /// program that writes may be of an older version.
    ///
    /// # Errors
    /// [`Error::Refused`] if there are keys under the names of an older version, too; the engine's.
    pub fn of(state: &impl ReadRows) -> Result<Option<Numbers>, Error> {
        let are_older = older::names(state)? == Names::Older;
        Ok(Numbers::named(state, are_older))
    }

    fn named(state: &impl ReadRows, are_older: bool) -> Option<Numbers> {
        let number = |name: &'static str| {
            let wanted = schema_of(name).build().ok()?;
            let name = if are_older { older_name(name) } else { name };
            let named = state.definitions().iter().enumerate();
            let mut named = named.filter(|(_, definition)| definition.name == name);
            // A view may have the same name, and has no rows.
            let (number, there) = named.find_map(|(number, _)| {
                let number = u16::try_from(number).ok()?;
                Some((number, state.row_schema(number)?))
            })?;
            has_columns(there, &wanted).then_some(number)
        };
        let [
            hash,
            set,
            zset,
            list,
            removed,
            stream,
            group,
            consumer,
            pending,
        ] = ELEMENTS;
        let [kv, expiry] = PAIRS[0];
        number(kv)?;
        number(expiry)?;
        Some(Numbers {
            hash: number(hash)?,
            set: number(set)?,
            zset: number(zset)?,
            list: number(list)?,
            removed: number(removed)?,
            stream: number(stream).unwrap_or(ABSENT),
            group: number(group).unwrap_or(ABSENT),
            consumer: number(consumer).unwrap_or(ABSENT),
            pending: number(pending).unwrap_or(ABSENT),
            library: number(LIBRARIES[0]).unwrap_or(ABSENT),
            function: number(LIBRARIES[1]).unwrap_or(ABSENT),
            are_older,
        })
    }
}

/// Has keys found by a hash in a table that an earlier version made, in which they were ordered. Another table of such a
/// name, as SQL may have made it, stays as it is: it is refused afterwards.
fn hash_keys(tx: &mut Transaction<'_>, kv: &str) -> Result<(), Error> {
    let number = tx.rows(kv)?.number();
    let Ok(wanted) = keys().build() else {
        return Ok(());
    };
    let is_older = tx.row_schema(number).is_some_and(|there| {
        let mut earlier = wanted.primary.clone();
        earlier.kind = IndexKind::Ordered;
        there.primary == earlier
            && has_columns(there, &wanted)
            && there.indexes == wanted.indexes
            && there.foreign_keys.is_empty()
            && there.checks.is_empty()
    });
    match is_older {
        true => tx.hash_primary_key(number),
        false => Ok(()),
    }
}

/// True if a table has just these columns.
fn has_columns(there: &Schema, wanted: &Schema) -> bool {
    let mut both = there.columns.iter().zip(&wanted.columns);
    there.columns.len() == wanted.columns.len()
        && both.all(|(a, b)| (&a.name, a.kind, a.dropped) == (&b.name, b.kind, b.dropped))
}

/// The schema of a table of keys or values, by its name today.
pub(super) fn schema_of(name: &str) -> SchemaBuilder {
    match older_name(name) {
        "kv_hash" => elements("field").column("value", Type::Bytes),
        "kv_set" => elements("member"),
        "kv_zset" => scored(),
        "kv_list" => positioned(),
        "kv_removed" => removed_keys(),
        "kv_stream" => entries(),
        "kv_group" => groups(),
        "kv_consumer" => consumers(),
        "kv_pending" => pending_entries(),
        "kv_library" => libraries(),
        "kv_function" => functions(),
        name if name.ends_with("_expiry") => expiring(),
        _ => keys(),
    }
}

pub(super) fn keys() -> SchemaBuilder {
    Schema::new()
        .column("key", Type::Bytes)
        .column("id", Type::U64)
        .column("kind", Type::Text)
        .column("value", Type::Bytes)
        .column("length", Type::U64)
        .column("first", Type::I64)
        .column("expires", Type::Timestamp)
        .nullable()
        .primary_key(["key"])
        .index(BY_ID, ["id"])
        .ordered()
        .unique()
}

fn elements(name: &str) -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column(name, Type::Bytes)
        .primary_key(["id", name])
        .ordered()
}

fn scored() -> SchemaBuilder {
    elements("member")
        .column("score", Type::F64)
        .index(BY_SCORE, ["id", "score", "member"])
        .ordered()
}

fn positioned() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("position", Type::I64)
        .column("value", Type::Bytes)
        .primary_key(["id", "position"])
        .ordered()
}

pub(super) fn expiring() -> SchemaBuilder {
    Schema::new()
        .column("expires", Type::Timestamp)
        .column("key", Type::Bytes)
        .primary_key(["expires", "key"])
        .ordered()
}

fn removed_keys() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("kind", Type::Text)
        .primary_key(["id"])
        .ordered()
}

fn entries() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("ms", Type::U64)
        .column("seq", Type::U64)
        .column("fields", Type::Bytes)
        .primary_key(["id", "ms", "seq"])
        .ordered()
}

fn groups() -> SchemaBuilder {
    elements("name")
        .column("number", Type::U64)
        .column("last_ms", Type::U64)
        .column("last_seq", Type::U64)
        .column("entries_read", Type::I64)
        .nullable()
        .index(BY_NUMBER, ["number"])
        .ordered()
        .unique()
}

fn consumers() -> SchemaBuilder {
    elements("name").column("seen", Type::Timestamp)
}

fn libraries() -> SchemaBuilder {
    Schema::new()
        .column("name", Type::Bytes)
        .column("code", Type::Bytes)
        .column("digest", Type::Text)
        .primary_key(["name"])
        .ordered()
}

fn functions() -> SchemaBuilder {
    Schema::new()
        .column("lower", Type::Bytes)
        .column("name", Type::Bytes)
        .column("library", Type::Bytes)
        .column("flags", Type::U64)
        .column("description", Type::Bytes)
        .nullable()
        .primary_key(["lower"])
        .ordered()
        .index(BY_LIBRARY, ["library", "lower"])
        .ordered()
}

fn pending_entries() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("ms", Type::U64)
        .column("seq", Type::U64)
        .column("consumer", Type::Bytes)
        .column("delivered", Type::Timestamp)
        .column("deliveries", Type::U64)
        .primary_key(["id", "ms", "seq"])
        .ordered()
        .index(BY_CONSUMER, ["id", "consumer", "ms", "seq"])
        .ordered()
}
