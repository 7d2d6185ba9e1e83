//! redb: one table with keys of fixed length; every transaction that writes has
//! `Durability::Immediate`, of one phase as is its default.

use super::engine::{Index, OnEntry, OnValue, Session};
use super::entry::{Entry, KEY_BYTES, Key};
use redb::{Database, Durability, ReadableDatabase, TableDefinition};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use std::path::Path;

const ENTRIES: TableDefinition<'_, &[u8; KEY_BYTES], &[u8]> = TableDefinition::new("index");

pub(super) struct Redb {
    database: Database,
}

impl Product for Redb {
    fn name() -> &'static str {
        "redb"
    }

    fn settings() -> &'static str {
        "Durability::Immediate, one-phase commit, cache 1 GiB"
    }
}

impl Index for Redb {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let database = crate::redb::database(&directory.join("index.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(ENTRIES)?;
        transaction.commit()?;
        Ok(Redb { database })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let database = &self.database;
        Ok(Box::new(RedbSession { database }))
    }
}

struct RedbSession<'a> {
    database: &'a Database,
}

impl Session for RedbSession<'_> {
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut table = transaction.open_table(ENTRIES)?;
            for (key, value) in entries {
                if table.insert(key, &value[..])?.is_some() {
                    return Err("the key was there".into());
                }
            }
        }
        Ok(transaction.commit()?)
    }

    fn get(&mut self, keys: &[Key], found: &mut OnValue<'_>) -> Result<(), Failure> {
        let table = self.database.begin_read()?.open_table(ENTRIES)?;
        for key in keys {
            let value = table.get(key)?;
            found(key, value.as_ref().map(|value| value.value()))?;
        }
        Ok(())
    }

    fn scan(&mut self, from: &Key, limit: usize, found: &mut OnEntry<'_>) -> Result<(), Failure> {
        let table = self.database.begin_read()?.open_table(ENTRIES)?;
        for entry in table.range::<&Key>(from..)?.take(limit) {
            let (key, value) = entry?;
            found(key.value(), value.value())?;
        }
        Ok(())
    }
}
