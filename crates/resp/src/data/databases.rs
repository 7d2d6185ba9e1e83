//! Databases: the keys of each are in a pair of tables of its own, and all share the tables of elements.
//!
//! ```text
//! database 0   pg_redis.kv       pg_redis.kv_expiry
//! database 1   pg_redis.kv_db1   pg_redis.kv_db1_expiry    made by the transaction that first writes a key there
//! …
//! ```
//!
//! A command has the pair of its database from the beginning ([`Data::select`]), so that a key is found in the same
//! way in each. All databases share one sequence of ids. So moving a key moves none of its elements, and exchanging
//! two databases exchanges the names of their tables.
//!
//! Invariants: a pair stays a pair; a table's kept number is used only while the table has the name. So neither a
//! transaction that is undone nor an older snapshot meets the keys of another database.

use super::older::older_name;
use super::tables::{self, BY_ID, kv};
use super::{Data, Entry, Kind, Live, State, bytes, engine};
use crate::failure::Failure;
use sardonyx::Transaction;
use sardonyx::rows::{ReadRow, ReadRows};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of databases.
pub(crate) const DATABASES: u8 = 16;

/// While two databases are exchanged, a table has this name.
const EXCHANGED: &str = "pg_redis.kv_exchanged";

macro_rules! names {
    ($($number:literal)*) => {
        /// The names of each database's tables: of keys, and of their times.
        pub(crate) const PAIRS: [[&str; 2]; DATABASES as usize] = [
            ["pg_redis.kv", "pg_redis.kv_expiry"],
            $([concat!("pg_redis.kv_db", $number), concat!("pg_redis.kv_db", $number, "_expiry")],)*
        ];
        /// The names of all tables of keys and values, including the ones that are made when they are needed.
        pub const KEY_TABLES: [&str; 13 + 2 * (DATABASES as usize - 1)] = [
            "pg_redis.kv", "pg_redis.kv_hash", "pg_redis.kv_set", "pg_redis.kv_zset",
            "pg_redis.kv_list", "pg_redis.kv_expiry", "pg_redis.kv_removed",
            "pg_redis.kv_stream", "pg_redis.kv_group", "pg_redis.kv_consumer",
            "pg_redis.kv_pending", "pg_redis.kv_library", "pg_redis.kv_function",
            $(concat!("pg_redis.kv_db", $number), concat!("pg_redis.kv_db", $number, "_expiry"),)*
        ];
    };
}
names!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

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

impl<S: State> Data<'_, S> {
    /// Goes to a database, whose keys commands see from here on.
    #[inline]
    pub fn select(&mut self, database: u8) {
        self.database = database;
        self.pair = self.shared.databases.find(self.state, database);
    }

    /// Does something in another database.
    pub fn within<T>(
        &mut self,
        database: u8,
        act: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let own = self.database;
        self.select(database);
        let done = act(self);
        self.select(own);
        done
    }
}

/// Makes the tables of a database where they are absent.
fn make(tx: &mut Transaction<'_>, database: u8) -> Result<KeyTables, Failure> {
    let [kv, expiry] = PAIRS[usize::from(database)];
    Ok(KeyTables {
        kv: tx.create_table(kv, tables::keys())?,
        expiry: tx.create_table(expiry, tables::expiring())?,
    })
}

impl Live<'_, '_> {
    /// The tables of the database, which are made if it has none.
    #[inline]
    pub fn pair_to_change(&mut self) -> Result<KeyTables, Failure> {
        match self.pair {
            Some(pair) => Ok(pair),
            None => {
                let pair = make(self.state, self.database)?;
                self.pair = Some(pair);
                Ok(pair)
            }
        }
    }

    /// Deletes all keys of the database.
    pub fn clear(&mut self) -> Result<(), Failure> {
        let Some(own) = self.pair else {
            return Ok(());
        };
        self.note_all_filled(self.database);
        self.invalidate_all();
        let mut others = self.shared.databases.all(self.state);
        others.retain(|(database, _)| *database != self.database);
        let mut are_empty = true;
        for (_, pair) in others {
            are_empty &= self.state.count_rows(pair.kv)? == 0;
        }
        if are_empty {
            return self.clear_all();
        }
        self.leave_elements(own)?;
        self.truncate(own)
    }

    /// Leaves the elements of all keys to the sweep: those of other databases' keys are in the same tables.
    fn leave_elements(&mut self, own: KeyTables) -> Result<(), Failure> {
        let (mut left, mut unknown) = (Vec::new(), Vec::new());
        for row in self.state.row_index(own.kv, BY_ID)?.range(0_u64..)? {
            let row = row?;
            let entry = Entry::of(&row)?;
            match entry.kind {
                Kind::String => {}
                Kind::Unknown => unknown.push(bytes(engine(row.value_at(kv::KEY))?).to_vec()),
                kind => left.push((entry.id, kind)),
            }
        }
        for (id, kind) in left {
            self.leave_to_sweep(id, kind)?;
        }
        for key in unknown {
            if let Some(entry) = self.entry_to_change(&key)? {
                self.remove(&key, &entry)?;
            }
        }
        Ok(())
    }

    fn truncate(&mut self, pair: KeyTables) -> Result<(), Failure> {
        for table in [pair.kv, pair.expiry] {
            let definition = self.state.definitions().get(usize::from(table));
            let Some(name) = definition.map(|definition| definition.name.clone()) else {
                continue;
            };
            if self.state.count_rows(table)? > 0 {
                self.state.truncate(&name)?;
            }
        }
        Ok(())
    }

    /// Deletes all keys of all databases.
    pub fn clear_all(&mut self) -> Result<(), Failure> {
        self.invalidate_all();
        for (database, pair) in self.shared.databases.all(self.state) {
            self.note_all_filled(database);
            self.truncate(pair)?;
        }
        for name in tables::ELEMENTS {
            if self.state.rows(name)?.count()? > 0 {
                self.state.truncate(name)?;
            }
        }
        Ok(())
    }

    /// Exchanges the keys of two databases.
    pub fn exchange(&mut self, one: u8, other: u8) -> Result<(), Failure> {
        if one == other {
            return Ok(());
        }
        for database in [one, other] {
            make(self.state, database)?;
        }
        for (one, other) in PAIRS[usize::from(one)]
            .iter()
            .zip(PAIRS[usize::from(other)])
        {
            self.state.rename_table(one, EXCHANGED)?;
            self.state.rename_table(other, one)?;
            self.state.rename_table(EXCHANGED, other)?;
        }
        self.select(self.database);
        self.invalidate_all();
        self.note_all_filled(one);
        self.note_all_filled(other);
        Ok(())
    }

    /// Notes that all keys of a database may have been added or deleted for which clients wait.
    fn note_all_filled(&mut self, database: u8) {
        if !self.shared.blocked.is_empty() {
            self.effects.listed().filled.add_all(database);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_different_and_are_those_of_the_pairs() {
        let mut names = KEY_TABLES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEY_TABLES.len());
        let of_pairs = PAIRS.iter().flatten();
        assert!(
            of_pairs
                .chain(&tables::ELEMENTS)
                .chain(&tables::LIBRARIES)
                .all(|name| names.binary_search(name).is_ok())
        );
        assert_eq!(PAIRS[15], ["pg_redis.kv_db15", "pg_redis.kv_db15_expiry"]);
        let older: Vec<&str> = names.iter().copied().map(older_name).collect();
        assert!(older.iter().all(|name| name.starts_with("kv")), "{older:?}");
    }
}
