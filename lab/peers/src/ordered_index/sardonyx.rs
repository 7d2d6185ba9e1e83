//! The ordered index of multi-level transactions, with the default strategy: operations lock keys and
//! gaps until the transaction's end, so that all is serializable.

use super::engine::{Index, OnEntry, OnValue, Session};
use super::entry::{Entry, Key};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_multilevel::index::{IndexError, OrderedIndex};
use sardonyx_multilevel::{CallError, Database, Options, Transaction};
use std::path::Path;

pub(super) struct Sardonyx {
    database: Database,
    index: OrderedIndex,
}

impl Product for Sardonyx {
    fn name() -> &'static str {
        "Sardonyx, ordered index"
    }

    fn settings() -> &'static str {
        "defaults: one ordered log of byte ranges, group commit, locks on keys and gaps \
         (serializable)"
    }
}

impl Index for Sardonyx {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let database = Options::new().open(directory.join("index.sdx"))?;
        let index = OrderedIndex::of(database.area("index", 1)?);
        Ok(Sardonyx { database, index })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(SardonyxSession { of: self }))
    }
}

struct SardonyxSession<'a> {
    of: &'a Sardonyx,
}

impl SardonyxSession<'_> {
    fn run<T>(
        &self,
        body: impl FnMut(&Transaction<'_>) -> Result<T, CallError<IndexError>>,
    ) -> Result<T, Failure> {
        Ok(self.of.database.run(body)?)
    }
}

impl Session for SardonyxSession<'_> {
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let index = self.of.index;
        self.run(|transaction| {
            let mut entries = entries.iter();
            entries.try_for_each(|(key, value)| transaction.call(&index.insert(key, value)))
        })
    }

    fn get(&mut self, keys: &[Key], found: &mut OnValue<'_>) -> Result<(), Failure> {
        let index = self.of.index;
        let get = |transaction: &Transaction<'_>, key: &Key| transaction.call(&index.get(key));
        if let [key] = keys {
            let value = self.run(|transaction| get(transaction, key))?;
            return found(key, value.as_deref());
        }
        let values = self.run(|transaction| {
            let values = keys.iter().map(|key| get(transaction, key));
            values.collect::<Result<Vec<_>, _>>()
        })?;
        let mut both = keys.iter().zip(values);
        both.try_for_each(|(key, value)| found(key, value.as_deref()))
    }

    fn scan(&mut self, from: &Key, limit: usize, found: &mut OnEntry<'_>) -> Result<(), Failure> {
        let scan = self.of.index.scan(&from[..]..).limit(limit);
        let entries = self.run(|transaction| transaction.call(&scan))?;
        let mut entries = entries.iter();
        entries.try_for_each(|(key, value)| found(key, value))
    }
}
