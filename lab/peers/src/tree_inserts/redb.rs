//! redb: one table; an insert is one write transaction with `Durability::Immediate`, of one phase
//! as is its default. One process at a time.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::tree_inserts::{Session, Sharing, TreePeer, value};

const ENTRIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("tree");

/// The number of entries that share a transaction while the tree is filled.
const LOAD_BATCH: usize = 100_000;

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

impl TreePeer for Redb {
    fn processes() -> bool {
        false
    }

    fn open(directory: &Path, _: Sharing) -> Result<Self, Failure> {
        let database = crate::redb::database(&directory.join("tree.redb"))?;
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
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let replaced = transaction
            .open_table(ENTRIES)?
            .insert(key, value)?
            .is_some();
        if replaced {
            return Err("the key was there".into());
        }
        Ok(transaction.commit()?)
    }

    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let transaction = self.database.begin_write()?;
            {
                let mut entries = transaction.open_table(ENTRIES)?;
                for key in keys.by_ref().take(LOAD_BATCH) {
                    entries.insert(key, value(key, value_bytes).as_slice())?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn get(&mut self, key: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
        let entries = self.database.begin_read()?.open_table(ENTRIES)?;
        Ok(entries.get(key)?.map(|value| value.value().to_vec()))
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let entries = self.database.begin_read()?.open_table(ENTRIES)?;
        let mut count = 0;
        for entry in entries.iter()? {
            entry?;
            count += 1;
        }
        Ok(count)
    }
}
