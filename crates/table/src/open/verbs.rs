//! Reading and changing rows of an open transaction, as those of any store.

use super::changed::{Key, Own};
use super::reads::Extent;
use super::{Known, OpenEntries, OpenRow, OpenRows, OpenScan};
use crate::index_view::named;
use sardonyx_base::error::Error;
use sardonyx_rows::constraints;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::read::{ReadRows, ScanPlace};
use sardonyx_rows::row::same;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{Index, Relations, RowWriter, TableError, WriteRows};
use sardonyx_storage::catalogue::Definitions;
use std::sync::Arc;

impl ReadRows for OpenRows {
    type Row<'r>
        = OpenRow<'r>
    where
        Self: 'r;
    type Scan<'r>
        = OpenScan<'r>
    where
        Self: 'r;
    type Entries<'r>
        = OpenEntries<'r>
    where
        Self: 'r;

    #[inline]
    fn definitions(&self) -> &Definitions {
        self.snapshot.definitions()
    }

    #[inline]
    fn relations(&self) -> &Relations {
        &self.snapshot.relations
    }

    #[inline]
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        self.snapshot.schema_of(table)
    }

    #[inline]
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        let before = self.snapshot.rows_in(table)?;
        self.reads.borrow_mut().note_count(table);
        let more = self.changed(table).map_or(0, |changed| changed.more);
        Ok(before.saturating_add_signed(more))
    }

    #[inline]
    fn rows_about(&self, table: u16) -> Option<u64> {
        self.snapshot.rows_in(table).ok()
    }

    #[inline]
    fn bytes_about(&self, table: u16) -> Option<u64> {
        ReadRows::bytes_about(&&*self.snapshot, table)
    }

    #[inline]
    fn notes_reads(&self) -> bool {
        true
    }

    #[inline]
    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<OpenRow<'_>>, Error> {
        let known = self.known(table)?;
        let values: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let bytes = known.format.key(&values[..])?;
        Ok(self.row_with_key(table, &bytes)?)
    }

    #[inline]
    fn scan_rows(&self, table: u16, _: ScanPlace) -> Result<OpenScan<'_>, Error> {
        Ok(OpenScan::of(self, table)?)
    }

    #[inline]
    fn row_index(&self, table: u16, name: &str) -> Result<Index<OpenEntries<'_>>, Error> {
        Ok(Index::new(self.entries_named(table, name)?)?)
    }

    /// The notes of the function's reads are dropped, and their bytes given back. Keys that it has read in order stay, and
    /// are noted when they are read again.
    #[inline]
    fn unnoted(&self, act: &mut dyn FnMut()) {
        let (noted, bytes) = (self.reads.take(), self.bytes.get());
        let kept = self.bytes_of_keys.get();
        act();
        self.reads.replace(noted);
        self.bytes.set(bytes + self.bytes_of_keys.get() - kept);
        self.give_to_others();
    }
}

impl OpenRows {
    #[inline]
    pub(super) fn entries_named(
        &self,
        table: u16,
        name: &str,
    ) -> Result<OpenEntries<'_>, TableError> {
        let known = self.known(table)?;
        let secondary = self.snapshot.secondary_of(table)?;
        let index = named(secondary, &known.name, name)?;
        Ok(OpenEntries::of(self, known, table, index))
    }

    /// True if there is a row with this key now.
    #[inline]
    pub(super) fn has_key(&self, table: u16, key: &[u8]) -> Result<bool, TableError> {
        Ok(match self.own(table, key) {
            Some(own) => matches!(own, Own::Row(_)),
            None => self.frozen_place(table, key)?.is_some(),
        })
    }

    /// Checks that indexes take this row's keys, and that no other row has its changed unique keys.
    #[inline]
    fn check_unique(
        &self,
        table: u16,
        known: &Known,
        key: &[u8],
        bytes: &[u8],
        before: Option<&[u8]>,
    ) -> Result<(), TableError> {
        known.format.check_index_keys(bytes)?;
        let mut indexes = known.schema.indexes.iter();
        if !indexes.any(|index| index.unique) {
            return Ok(());
        }
        let new = known.format.index_keys(bytes)?;
        let old = match before {
            Some(before) => known.format.index_keys(before)?,
            None => Vec::new(),
        };
        let row = known.format.row(bytes)?;
        for (number, index) in known.schema.indexes.iter().enumerate() {
            if !index.unique || old.get(number) == Some(&new[number]) {
                continue;
            }
            let mut values = Vec::with_capacity(index.key.len());
            for part in &index.key {
                values.push(row.get_at(part.column)?);
            }
            if values.contains(&ValueRef::Null) && !index.nulls_equal {
                continue;
            }
            let entries = self.entries_named(table, &index.name)?;
            let mut range = entries.rows_beginning(&values[..])?;
            while let Some((other, _)) = range.step(false)? {
                if *other != *key {
                    return Err(known.format.duplicate_value(number, bytes));
                }
            }
        }
        Ok(())
    }

    /// Inserts a row with the defaults that are computed.
    #[inline]
    fn insert_complete(
        &mut self,
        table: u16,
        known: &Known,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        self.insert_bytes(table, known, known.format.new_row(row)?)
    }

    /// Inserts a row that meets the table's conditions.
    #[inline]
    pub(super) fn insert_bytes(
        &mut self,
        table: u16,
        known: &Known,
        bytes: Vec<u8>,
    ) -> Result<(), TableError> {
        let key: Key = known.format.key_of(&bytes)?.into();
        if self.row_with_key(table, &key)?.is_some() {
            return Err(known.format.duplicate(&bytes));
        }
        self.check_unique(table, known, &key, &bytes, None)?;
        self.put_own(table, known, Arc::clone(&key), Own::Row(bytes.into()), 1)?;
        constraints::check_references(self, table, key)
    }

    /// Changes columns of the row with this key, which is looked up once. Returns false if there is none.
    ///
    /// # Errors
    /// The errors of [`WriteRows::update_row`]; if these are no values of the key's columns.
    #[doc(hidden)]
    #[inline]
    pub fn update_with_key(
        &mut self,
        table: u16,
        key: &[Value],
        change: &RowWriter<'_>,
    ) -> Result<bool, Error> {
        let known = Arc::clone(self.known(table)?);
        let values: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let key = Key::from(known.format.key(&values[..])?);
        let Some(before) = self.bytes_there(table, &known, &key)? else {
            return Ok(false);
        };
        let after = known.format.changed_row(&before, change)?;
        constraints::ConstrainedRows::whole(self, |this| {
            this.change_bytes(table, &known, &key, &before, after)
        })?;
        Ok(true)
    }

    #[inline]
    fn update_there(
        &mut self,
        table: u16,
        known: &Known,
        key: &Key,
        change: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        let before = self.bytes_of(table, known, key)?;
        let after = known.format.changed_row(&before, change)?;
        self.change_bytes(table, known, key, &before, after)
    }

    /// Changes a row into one that meets the table's conditions.
    #[inline]
    pub(super) fn change_bytes(
        &mut self,
        table: u16,
        known: &Known,
        key: &Key,
        before: &[u8],
        after: Vec<u8>,
    ) -> Result<(), TableError> {
        if *before == *after {
            return Ok(());
        }
        let is_referenced = self.is_referenced(table);
        let mut changed = Vec::new();
        if is_referenced || !known.schema.foreign_keys.is_empty() {
            let (old, new) = (known.format.row(before)?, known.format.row(&after)?);
            for (number, column) in known.schema.live_columns() {
                if !same(column.kind, old.get_at(number)?, new.get_at(number)?) {
                    changed.push(number);
                }
            }
        }
        let changes = |column| changed.contains(&column);
        if is_referenced {
            constraints::check_unreferenced(self, table, Arc::clone(key), &changes)?;
        }
        self.check_unique(table, known, key, &after, Some(before))?;
        self.put_own(table, known, Arc::clone(key), Own::Row(after.into()), 0)?;
        constraints::check_changed_references(self, table, Arc::clone(key), &changes)
    }

    /// The keys of all rows of the snapshot, in order, which are noted as read.
    #[inline]
    pub(super) fn frozen_keys(&self, table: u16) -> Result<&[Key], TableError> {
        let known = self.known(table)?;
        let unknown = TableError::UnknownHandle { number: table };
        let there = &self.tables.get(table).ok_or(unknown)?.keys;
        if let Some(keys) = there.get() {
            // The note of the read that found them may have been dropped ([`ReadRows::unnoted`]).
            self.reads
                .borrow_mut()
                .note_scan(table, Extent::of_all(keys.len()));
            return Ok(keys);
        }
        let mut keys = Vec::new();
        let mut scan = OpenScan::of_snapshot(self, table)?;
        while let Some(row) = scan.next_frozen()? {
            let mut key = KeyBytes::default();
            let pages = &*self.snapshot.rows;
            known.primary.of_row(pages, row.address(), &mut key)?;
            let bytes = key.len() + size_of::<Key>();
            self.take_bytes(bytes)?;
            self.bytes_of_keys.set(self.bytes_of_keys.get() + bytes);
            keys.push(Key::from(&key[..]));
        }
        drop(scan);
        keys.sort_unstable();
        Ok(there.get_or_init(|| keys))
    }
}

impl WriteRows for OpenRows {
    type Place = Key;

    #[inline]
    fn described(&self, table: u16) -> Result<(Arc<Schema>, Arc<str>), TableError> {
        let known = self.known(table)?;
        Ok((Arc::clone(&known.schema), Arc::clone(&known.name)))
    }

    #[inline]
    fn find_row(&self, table: u16, key: &[ValueRef<'_>]) -> Result<Option<Key>, TableError> {
        let bytes = self.known(table)?.format.key(key)?;
        Ok(self.has_key(table, &bytes)?.then(|| bytes.into()))
    }

    #[inline]
    fn has_row(&self, table: u16, at: Key) -> Result<bool, TableError> {
        self.has_key(table, &at)
    }

    #[inline]
    fn row_at(&self, table: u16, at: Key) -> Result<Option<OpenRow<'_>>, TableError> {
        self.row_with_key(table, &at)
    }

    #[inline]
    fn computed_defaults(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Vec<(usize, Value)>, TableError> {
        let known = Arc::clone(self.known(table)?);
        let is_unsaid = |column| row.get(column).is_none();
        constraints::computed_defaults(self, table, &known.schema, &known.name, is_unsaid)
    }

    #[inline]
    fn insert_row(&mut self, table: u16, row: RowWriter<'_>) -> Result<(), TableError> {
        let known = Arc::clone(self.known(table)?);
        constraints::ConstrainedRows::whole(self, |this| {
            if known.schema.declared.is_empty() {
                return this.insert_complete(table, &known, &row);
            }
            let computed = WriteRows::computed_defaults(this, table, &row)?;
            let mut row = row;
            for (column, value) in &computed {
                row.set(*column, value.as_ref());
            }
            this.insert_complete(table, &known, &row)
        })
    }

    #[inline]
    fn update_row(&mut self, table: u16, at: Key, row: &RowWriter<'_>) -> Result<(), TableError> {
        let known = Arc::clone(self.known(table)?);
        constraints::ConstrainedRows::whole(self, |this| this.update_there(table, &known, &at, row))
    }

    #[inline]
    fn delete_row(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        constraints::delete_row(self, table, at)
    }

    #[inline]
    fn take_row(&mut self, table: u16, at: Key) -> Result<(), TableError> {
        constraints::take_row(self, table, at)
    }

    #[inline]
    fn row_behind(&self, table: u16, place: Option<Key>) -> Result<Option<Key>, TableError> {
        let frozen = self.frozen_keys(table)?;
        let from = match &place {
            None => 0,
            Some(place) => frozen.partition_point(|key| key <= place),
        };
        let mut frozen = frozen[from..].iter().peekable();
        let changed = self.changed(table);
        let mut own = changed
            .into_iter()
            .flat_map(|own| own.behind(place.as_ref()))
            .peekable();
        loop {
            let key = match (frozen.peek(), own.peek()) {
                (None, None) => return Ok(None),
                (Some(frozen), Some((own, _))) => (*frozen).min(own),
                (Some(key), None) | (None, Some((key, _))) => key,
            };
            let is_there = frozen.next_if(|frozen| *frozen == key).is_some();
            match own.next_if(|(own, _)| *own == key) {
                Some((_, Own::Gone)) => {}
                Some((key, Own::Row(_))) => return Ok(Some(Arc::clone(key))),
                None if is_there => return Ok(Some(Arc::clone(key))),
                None => {}
            }
        }
    }
}
