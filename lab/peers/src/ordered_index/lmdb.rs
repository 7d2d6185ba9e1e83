//! LMDB, by `heed`: one database with keys compared as bytes, with LMDB's default syncs.

use super::engine::{Index, OnEntry, OnValue, Session};
use super::entry::{Entry, Key};
use crate::lmdb;
use heed::types::Bytes;
use heed::{Database, Env, PutFlags};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use std::ops::Bound;
use std::path::Path;

const NAME: &str = "index";

pub(super) struct Lmdb {
    environment: Env,
    entries: Database<'static, Bytes, Bytes>,
}

impl Product for Lmdb {
    fn name() -> &'static str {
        "LMDB"
    }

    fn settings() -> &'static str {
        "default sync (data and meta page at every commit), map 64 GiB"
    }
}

impl Index for Lmdb {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let environment = lmdb::environment(directory, 1)?;
        let transaction = environment.write_txn()?;
        let created =
            environment.create_databases_and_commit(transaction, |opener, transaction| {
                let mut options = opener.database_options().types::<Bytes, Bytes>();
                let entries = options.name(NAME).create(transaction)?;
                Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(entries))
            })?;
        let entries = created.unwrap_commit();
        Ok(Lmdb {
            environment,
            entries,
        })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(LmdbSession { of: self }))
    }
}

struct LmdbSession<'a> {
    of: &'a Lmdb,
}

impl Session for LmdbSession<'_> {
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let mut transaction = self.of.environment.write_txn()?;
        for (key, value) in entries {
            let flags = PutFlags::NO_OVERWRITE;
            let database = &self.of.entries;
            database.put_with_flags(&mut transaction, flags, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn get(&mut self, keys: &[Key], found: &mut OnValue<'_>) -> Result<(), Failure> {
        let transaction = self.of.environment.read_txn()?;
        for key in keys {
            found(key, self.of.entries.get(&transaction, key)?)?;
        }
        Ok(())
    }

    fn scan(&mut self, from: &Key, limit: usize, found: &mut OnEntry<'_>) -> Result<(), Failure> {
        let transaction = self.of.environment.read_txn()?;
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        for entry in self.of.entries.range(&transaction, &range)?.take(limit) {
            let (key, value) = entry?;
            found(key, value)?;
        }
        Ok(())
    }
}
