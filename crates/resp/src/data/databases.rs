//! Databases: the keys of each are in a pair of tables of its own, and all share the tables of elements.
//!
//! ```text
//! database 0   pg_redis.kv       pg_redis.kv_expiry
//! database 1   pg_redis.kv_db1   pg_redis.kv_db1_expiry    made by the transaction that first writes a key there
//! …
//! ```
//!
//! A command has the pair of its database from the beginning ([`super::Data::select`]), so that a key is found in the same
//! way in each. All databases share one sequence of ids. So moving a key moves none of its elements, and exchanging
//! two databases exchanges the names of their tables.
//!
//! Invariants: a pair stays a pair; a table's kept number is used only while the table has the name. So neither a
//! transaction that is undone nor an older snapshot meets the keys of another database.

use super::older::older_name;
use super::table_names::{DATABASES, PAIRS};
use crate::failure::Failure;
use sardonyx::rows::ReadRows;
use std::sync::atomic::{AtomicU32, Ordering};

/// The tables of a database, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyTables {
    pub kv: u16,
    pub expiry: u16,
}

impl KeyTables {
    fn packed(self) -> u32 {
        u32::from(self.kv) << 16 | u32::from(self.expiry)
    }

    fn of(packed: u32) -> KeyTables {
        KeyTables {
            kv: (packed >> 16) as u16,
            expiry: packed as u16,
        }
    }
}

/// The last known tables of each database.
pub(crate) struct Databases {
    known: [AtomicU32; DATABASES as usize],
    /// True if the tables have the names of an older version, which another program has open.
    are_older: bool,
}

impl Databases {
    /// None was found; `are_older` says that they have the names of an older version.
    pub fn new(are_older: bool) -> Databases {
        Databases {
            known: std::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            are_older,
        }
    }

    /// The names of a database's tables.
    fn names(&self, database: u8) -> [&'static str; 2] {
        let names = PAIRS[usize::from(database)];
        match self.are_older {
            true => names.map(older_name),
            false => names,
        }
    }

    /// The tables of a database in a state; `None` if it has never had a key.
    #[inline]
    pub fn find(&self, state: &impl ReadRows, database: u8) -> Option<KeyTables> {
        let [kv, _] = self.names(database);
        let found = KeyTables::of(self.known[usize::from(database)].load(Ordering::Relaxed));
        let there = state.definitions().get(usize::from(found.kv));
        match there.is_some_and(|definition| definition.name == kv) {
            true => Some(found),
            false => self.search(state, database),
        }
    }

    #[cold]
    fn search(&self, state: &impl ReadRows, database: u8) -> Option<KeyTables> {
        let number = |name: &str| {
            let named = state.definitions().iter().enumerate();
            // A view may have such a name, and has no rows.
            let mut named = named
                .filter(|(_, definition)| definition.name == name)
                .filter_map(|(number, _)| u16::try_from(number).ok());
            named.find(|number| state.row_schema(*number).is_some())
        };
        let [kv, expiry] = self.names(database);
        let pair = KeyTables {
            kv: number(kv)?,
            expiry: number(expiry)?,
        };
        self.known[usize::from(database)].store(pair.packed(), Ordering::Relaxed);
        Some(pair)
    }

    /// The databases that have had keys, with their tables.
    pub fn all(&self, state: &impl ReadRows) -> Vec<(u8, KeyTables)> {
        let found = (0..DATABASES).map(|database| Some((database, self.find(state, database)?)));
        found.flatten().collect()
    }
}

/// The number of keys of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub database: u8,
    pub keys: u64,
    /// The number of these keys that expire.
    pub expiring: u64,
}

/// The number of keys in a state, for each database that has any.
pub(crate) fn counts(databases: &Databases, state: &impl ReadRows) -> Result<Vec<Counts>, Failure> {
    let mut counts = Vec::new();
    for (database, pair) in databases.all(state) {
        let keys = state.count_rows(pair.kv)?;
        if keys > 0 {
            counts.push(Counts {
                database,
                keys,
                expiring: state.count_rows(pair.expiry)?,
            });
        }
    }
    Ok(counts)
}

/// The number of a database.
///
/// # Errors
/// There is none of this number.
pub(crate) fn database(number: i64) -> Result<u8, Failure> {
    let number = u8::try_from(number).ok();
    let number = number.filter(|number| *number < DATABASES);
    number.ok_or(Failure::Told("ERR DB index is out of range"))
}
