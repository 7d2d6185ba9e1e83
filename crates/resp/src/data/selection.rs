//! The keys of a whole database: it is selected, its tables are made, and its keys are deleted, or exchanged with another's.

use super::databases::KeyTables;
use super::table_names::{ELEMENTS, PAIRS};
use super::tables::{self, BY_ID, kv};
use super::{Data, Entry, Kind, Live, State, bytes, engine};
use crate::failure::Failure;
use sardonyx::Transaction;
use sardonyx::rows::{ReadRow, ReadRows};

/// While two databases are exchanged, a table has this name.
const EXCHANGED: &str = "pg_redis.kv_exchanged";

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
        for name in ELEMENTS {
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
