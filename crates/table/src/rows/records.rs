//! Records read: the verbs that a live state, a transaction and a snapshot have.

use super::find_row;
use super::snapshot::{SnapshotScan, Table as Frozen};
use super::view::ViewScan;
use crate::index_view::TreeEntries;
use crate::snapshot::{FrozenTable, SpaceSnapshot};
use crate::space::{TableSpace, View};
use crate::table::{TableState, fingerprint_of};
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::fields::KeyOf;
use sardonyx_rows::read::ScanPlace;
use sardonyx_rows::record::{Found, Record, Table};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{Index, PlainLayout, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageSnapshot;
use std::sync::Arc;

impl TableSpace {
    /// The state of a handle's table.
    ///
    /// # Errors
    /// [`TableError::UnknownHandle`].
    #[inline]
    pub(crate) fn state_of<R: Record>(&self, table: Table<R>) -> Result<&TableState, TableError> {
        match self.state(table) {
            Some(state) => Ok(state),
            None => Err(unknown(table.number())),
        }
    }

    /// The place of the record with this key.
    #[inline]
    pub(crate) fn place_of<R: Record>(
        &self,
        state: &TableState,
        key: &R::Key<'_>,
    ) -> Result<Option<Address>, TableError> {
        let (indexes, pages) = (&self.indexes, self.store.bytes());
        match R::PLAIN {
            Some(_) => {
                let key = R::plain_key(key);
                Ok(state.find(indexes, pages, state.hash.of(key), key))
            }
            None => find_row(indexes, pages, state, &state.name, &KeyOf::<R>(key)),
        }
    }

    /// The record at an address, at which there is one.
    #[inline]
    pub(crate) fn record_of<'a, R: Record>(
        &'a self,
        state: &'a TableState,
        at: Address,
    ) -> Result<R::Ref<'a>, TableError> {
        let columns = R::columns_in(&state.schema, &state.name)?;
        let found = Found {
            pages: self.store.bytes(),
            schema: &state.schema,
            table: &state.name,
            at,
        };
        R::borrow_row(found, &columns)
    }

    #[inline]
    fn get<R: Record>(
        &self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R::Ref<'_>>, Error> {
        let state = self.state_of(table)?;
        match self.place_of::<R>(state, &key)? {
            Some(at) => Ok(Some(self.record_of::<R>(state, at)?)),
            None => Ok(None),
        }
    }
}

impl<'a> View<'a> {
    /// The record with this key.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's, or its table has other columns by now;
    /// [`Error::Damaged`] if a value is not of its field's type.
    #[inline]
    pub fn get<R: Record>(
        &self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R::Ref<'a>>, Error> {
        self.space().get(table, key)
    }

    /// All records, in no particular order.
    ///
    /// # Errors
    /// [`Error::Refused`] as [`View::get`]; of each record, those of reading it.
    pub fn scan<R: Record>(&self, table: Table<R>) -> Result<ViewScan<'a, R>, Error> {
        Ok(ViewScan::new(*self, self.space().state_of(table)?)?)
    }

    /// The number of records.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's.
    pub fn count<R: Record>(&self, table: Table<R>) -> Result<u64, Error> {
        Ok(self.space().state_of(table)?.len())
    }
}

impl Transaction<'_> {
    /// The record with this key.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's, or its table has other columns by now;
    /// [`Error::Damaged`] if a value is not of its field's type.
    #[inline]
    pub fn get<R: Record>(
        &self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R::Ref<'_>>, Error> {
        self.space.get(table, key)
    }

    /// All records of a table, in no particular order.
    ///
    /// # Errors
    /// [`Error::Refused`] as [`Transaction::get`]; of each record, those of reading it.
    pub fn scan<R: Record>(&self, table: Table<R>) -> Result<ViewScan<'_, R>, Error> {
        self.view().scan(table)
    }

    /// The number of records in a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's.
    pub fn count<R: Record>(&self, table: Table<R>) -> Result<u64, Error> {
        self.view().count(table)
    }
}

impl SpaceSnapshot {
    /// The columns of a table.
    pub fn schema<R: Record>(&self, table: Table<R>) -> Option<&Arc<Schema>> {
        Some(&self.state_of(table).ok()?.state.schema)
    }

    /// The record with this key.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended; [`Error::Refused`] if the handle is another database's, or its table had
    /// other columns; [`Error::Damaged`] if a value is not of its field's type.
    pub fn get<R: Record>(&self, table: Table<R>, key: R::Key<'_>) -> Result<Option<R>, Error> {
        let table = self.state_of(table)?;
        if let Some(plain) = R::PLAIN {
            return Ok(table.plain_record::<R>(&plain, R::plain_key(&key))?);
        }
        let Some(at) = table.place_of(&KeyOf::<R>(&key))? else {
            return Ok(None);
        };
        let columns = R::columns_in(&table.state.schema, table.name)?;
        Ok(Some(R::copy_row(table.found(at), &columns)?))
    }

    /// All records, in no particular order.
    ///
    /// # Errors
    /// [`Error::Refused`] as [`SpaceSnapshot::get`]; of each record, those of reading it.
    pub fn scan<R: Record>(&self, table: Table<R>) -> Result<SnapshotScan<'_, R>, Error> {
        let table = self.state_of(table)?;
        Ok(SnapshotScan::new(table, ScanPlace::default())?)
    }

    /// The number of records.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's.
    pub fn count<R: Record>(&self, table: Table<R>) -> Result<u64, Error> {
        Ok(self.state_of(table)?.state.len)
    }

    /// An ordered index of a table, as it was.
    ///
    /// # Errors
    /// [`Error::Refused`] if there was no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<Index<TreeEntries<'_, PageSnapshot>, R>, Error> {
        Ok(self.state_of(table)?.index(name)?)
    }

    pub(crate) fn state_of<R: Record>(&self, table: Table<R>) -> Result<Frozen<'_>, TableError> {
        let found = self.frozen(table.number())?;
        let FrozenTable { fingerprint, .. } = *found.state;
        let fits = match R::PLAIN {
            Some(_) => fingerprint == fingerprint_of::<R>(),
            None => found.name == R::TABLE,
        };
        match fits {
            true => Ok(found),
            false => Err(unknown(table.number())),
        }
    }
}

impl Frozen<'_> {
    /// The plain record with this key: it is read with the key that it is known by.
    fn plain_record<R: Record>(
        &self,
        plain: &PlainLayout,
        key: &[u8],
    ) -> Result<Option<R>, TableError> {
        let columns = R::columns_in(&self.state.schema, self.name)?;
        let (nodes, mut found) = (&*self.snapshot.indexes, Ok(None));
        let hash = self.state.hash.of(key);
        self.state.shards.find(nodes, hash, |at| {
            found = R::copy_row(self.found(at), &columns).map(Some);
            let is_other = |record: &mut R| record.plain_bytes()[plain.key()] != *key;
            if let Ok(record) = &mut found
                && record.as_mut().is_some_and(is_other)
            {
                *record = None;
                return Ok(false);
            }
            Ok(true)
        })?;
        found
    }
}

#[cold]
fn unknown(number: u16) -> TableError {
    TableError::UnknownHandle { number }
}
