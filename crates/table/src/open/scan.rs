//! All rows of a table in an open transaction: those of the snapshot that it has not changed, then its own.

use super::changed::{Key, Own};
use super::reads::Extent;
use super::{Known, OpenRow, OpenRows};
use crate::rows::SnapshotScan;
use sardonyx_base::error::Error;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::read::{EachRow, ScanPlace, ScanRows};
use sardonyx_rows::{AnyRow, RowForm, RowRef, TableError};
use sardonyx_storage::store::PageSnapshot;
use std::collections::btree_map;
use std::fmt;

/// All rows of a table, in no particular order. An error is returned once, and ends the iteration.
pub struct OpenScan<'r, T: RowForm<OpenRow<'r>> = AnyRow> {
    rows: &'r OpenRows,
    table: u16,
    frozen: Option<SnapshotScan<'r>>,
    own: Option<btree_map::Iter<'r, Key, Own>>,
    extent: Extent,
    /// The error that ends the iteration.
    refused: Option<TableError>,
    columns: T::Columns,
}

impl<'r> OpenScan<'r> {
    #[inline]
    pub(super) fn of(rows: &'r OpenRows, table: u16) -> Result<Self, TableError> {
        OpenScan::in_form(rows, table, ())
    }

    /// A scan of the snapshot's rows alone.
    #[inline]
    pub(super) fn of_snapshot(rows: &'r OpenRows, table: u16) -> Result<Self, TableError> {
        OpenScan::frozen_in_form(rows, table, ())
    }
}

impl<'r, T: RowForm<OpenRow<'r>>> OpenScan<'r, T> {
    /// A scan that returns rows in a form; `columns` are the form's fields.
    #[inline]
    pub(super) fn in_form(
        rows: &'r OpenRows,
        table: u16,
        columns: T::Columns,
    ) -> Result<Self, TableError> {
        let mut scan = OpenScan::frozen_in_form(rows, table, columns)?;
        scan.own = rows.changed(table).map(|changed| changed.rows().iter());
        Ok(scan)
    }

    #[inline]
    fn frozen_in_form(
        rows: &'r OpenRows,
        table: u16,
        columns: T::Columns,
    ) -> Result<Self, TableError> {
        Ok(OpenScan {
            frozen: Some(rows.snapshot.scan_of(table)?),
            rows,
            table,
            own: None,
            extent: Extent::default(),
            refused: rows.take_bytes(super::OVERHEAD_BYTES).err(),
            columns,
        })
    }

    #[inline]
    pub(super) fn next_frozen(&mut self) -> Result<Option<RowRef<'r, PageSnapshot>>, TableError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let Some(scan) = &mut self.frozen else {
            return Ok(None);
        };
        let row = scan.next_row()?;
        match &row {
            Some(_) => self.extent.front += 1,
            None => {
                self.extent.all = true;
                self.frozen = None;
            }
        }
        Ok(row)
    }

    /// The next row, with its primary key if that is wanted.
    #[inline]
    pub(super) fn step(
        &mut self,
        with_key: bool,
    ) -> Result<Option<(Vec<u8>, OpenRow<'r>)>, TableError> {
        let known: &'r Known = self.rows.known(self.table)?;
        while let Some(row) = self.next_frozen()? {
            let mut key = KeyBytes::default();
            if self.own.is_none() && !with_key {
                return Ok(Some((Vec::new(), OpenRow::frozen(row))));
            }
            let pages = &*self.rows.snapshot.rows;
            known.primary.of_row(pages, row.address(), &mut key)?;
            if self.rows.own(self.table, &key).is_none() {
                return Ok(Some((key.to_vec(), OpenRow::frozen(row))));
            }
        }
        for (key, own) in self.own.iter_mut().flatten() {
            if let Own::Row(bytes) = own {
                let row = known.format.row(bytes)?;
                return Ok(Some((key.to_vec(), OpenRow::own(row))));
            }
        }
        Ok(None)
    }
}

impl<'r, T: RowForm<OpenRow<'r>>> Iterator for OpenScan<'r, T> {
    type Item = Result<T::Item, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.step(false).transpose()?;
        let row = found.and_then(|(_, row)| T::give(row, &self.columns));
        if row.is_err() {
            (self.frozen, self.own) = (None, None);
        }
        Some(row.map_err(Error::from))
    }
}

impl<'r> ScanRows for OpenScan<'r> {
    type Row = OpenRow<'r>;

    /// It is read to its end.
    #[inline]
    fn place(&self) -> Option<ScanPlace> {
        None
    }

    fn walk<E: From<Error>>(&mut self, each: &mut impl EachRow<E>) -> Result<bool, E> {
        if self.own.is_some() {
            for row in self.by_ref() {
                if !each.take(&row?)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if let Some(error) = self.refused.take() {
            self.frozen = None;
            return Err(Error::from(error).into());
        }
        // No row is to be looked for among the transaction's own: none is kept beyond its turn.
        while let Some(scan) = &mut self.frozen {
            let front = &mut self.extent.front;
            let more = scan.next_page(&mut |row| {
                *front += 1;
                each.take(&OpenRow::frozen(row))
            });
            match more {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Ok(false),
                Ok(None) => {
                    self.extent.all = true;
                    self.frozen = None;
                }
                Err(error) => {
                    self.frozen = None;
                    return Err(error);
                }
            }
        }
        Ok(true)
    }
}

impl<'r, T: RowForm<OpenRow<'r>>> Drop for OpenScan<'r, T> {
    #[inline]
    fn drop(&mut self) {
        self.rows
            .reads
            .borrow_mut()
            .note_scan(self.table, self.extent);
    }
}

impl<'r, T: RowForm<OpenRow<'r>>> fmt::Debug for OpenScan<'r, T> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenScan of table {}", self.table)
    }
}
