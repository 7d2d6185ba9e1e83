//! LMDB, by `heed`: one database with integer keys; an insert is one write transaction, with LMDB's
//! default syncs.

use std::path::Path;

use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use heed::{Database, Env, IntegerComparator, PutFlags};

use crate::lmdb;
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::tree_inserts::{Session, Sharing, TreePeer, value};

type Entries = Database<'static, U64<NativeEndian>, Bytes, IntegerComparator>;

const NAME: &str = "tree";

/// The number of entries that share a transaction while the tree is filled.
const LOAD_BATCH: usize = 100_000;

pub(super) struct Lmdb {
    environment: Env,
    entries: Entries,
}

impl Product for Lmdb {
    fn name() -> &'static str {
        "LMDB"
    }

    fn settings() -> &'static str {
        "default sync (data and meta page at every commit), integer keys, map 64 GiB"
    }
}

impl TreePeer for Lmdb {
    fn processes() -> bool {
        true
    }

    fn open(directory: &Path, _: Sharing) -> Result<Self, Failure> {
        let environment = lmdb::environment(directory, 1)?;
        let transaction = environment.write_txn()?;
        let created =
            environment.create_databases_and_commit(transaction, |opener, transaction| {
                let mut options = opener.database_options().types().key_comparator();
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
        Ok(Box::new(LmdbSession { tree: self }))
    }
}

struct LmdbSession<'a> {
    tree: &'a Lmdb,
}

impl Session for LmdbSession<'_> {
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        let mut transaction = self.tree.environment.write_txn()?;
        let flags = PutFlags::NO_OVERWRITE;
        let entries = &self.tree.entries;
        entries.put_with_flags(&mut transaction, flags, &key, value)?;
        Ok(transaction.commit()?)
    }

    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let mut transaction = self.tree.environment.write_txn()?;
            for key in keys.by_ref().take(LOAD_BATCH) {
                let value = value(key, value_bytes);
                self.tree.entries.put(&mut transaction, &key, &value)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn get(&mut self, key: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
        let transaction = self.tree.environment.read_txn()?;
        Ok(self
            .tree
            .entries
            .get(&transaction, &key)?
            .map(<[u8]>::to_vec))
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let transaction = self.tree.environment.read_txn()?;
        let mut count = 0;
        for entry in self.tree.entries.iter(&transaction)? {
            entry?;
            count += 1;
        }
        Ok(count)
    }
}
