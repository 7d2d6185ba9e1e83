//! The rows of a live state: between transactions, and in one.

use super::find_row;
use super::index::RowIndex;
use crate::addresses::Addresses;
use crate::index_view::{Reader, named};
use crate::space::View;
use crate::table::TableState;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::read::{ReadRows, ScanPlace, ScanRows};
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{RowRef, Rows, TableError};
use sardonyx_storage::catalogue::Definition;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::fmt;
use std::sync::Arc;

impl<'a> View<'a> {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows(&self, table: &str) -> Result<Rows<View<'a>>, Error> {
        Rows::named(*self, table)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows_of(&self, number: u16) -> Result<Rows<View<'a>>, Error> {
        Rows::numbered(*self, number)
    }

    /// Rows of a table inserted, changed and deleted since the database was opened, also by transactions that were
    /// undone; 0 if there is no such table.
    pub fn changes_of(&self, number: u16) -> u64 {
        self.state_of(number).map_or(0, |state| state.changes)
    }

    /// Bytes of the pages that a table uses, for rows and for the values outside of them; 0 if there is no such table.
    pub fn bytes_of(&self, number: u16) -> u64 {
        let runs = self
            .state_of(number)
            .into_iter()
            .flat_map(TableState::used_runs);
        runs.map(|run| run.end - run.start).sum::<u64>() * PAGE_SIZE as u64
    }

    #[inline]
    fn table_state(&self, number: u16) -> Result<&'a TableState, TableError> {
        let state = self.state_of(number);
        state.ok_or(TableError::UnknownHandle { number })
    }

    #[inline]
    fn row(&self, state: &'a TableState, at: Address) -> Result<RowRef<'a>, TableError> {
        RowRef::new(self.pages(), &state.schema, &state.name, at)
    }
}

impl<'a> ReadRows for View<'a> {
    type Row<'r>
        = RowRef<'a>
    where
        Self: 'r;
    type Scan<'r>
        = ViewScan<'a>
    where
        Self: 'r;
    type Index<'r>
        = RowIndex<'a>
    where
        Self: 'r;

    fn definitions(&self) -> &[Definition] {
        View::definitions(self)
    }

    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.state_of(table)?.schema)
    }

    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        Ok(self.table_state(table)?.len())
    }

    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<RowRef<'a>>, Error> {
        let state = self.table_state(table)?;
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let found = find_row(self.indexes(), self.pages(), state, &state.name, &key)?;
        Ok(found.map(|at| self.row(state, at)).transpose()?)
    }

    fn scan_rows(&self, table: u16, _: ScanPlace) -> Result<ViewScan<'a>, Error> {
        Ok(ViewScan {
            view: *self,
            state: self.table_state(table)?,
            at: self.table_state(table)?.records(self.pages()),
        })
    }

    fn row_index(&self, table: u16, name: &str) -> Result<RowIndex<'a>, Error> {
        let state = self.table_state(table)?;
        Ok(RowIndex::of(Reader {
            nodes: self.indexes().bytes(),
            rows: self.pages(),
            index: named(&state.secondary, &state.name, name)?,
            schema: &state.schema,
            table: &state.name,
        }))
    }
}

impl ReadRows for Transaction<'_> {
    type Row<'r>
        = RowRef<'r>
    where
        Self: 'r;
    type Scan<'r>
        = ViewScan<'r>
    where
        Self: 'r;
    type Index<'r>
        = RowIndex<'r>
    where
        Self: 'r;

    fn definitions(&self) -> &[Definition] {
        self.space.definitions()
    }

    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.view().state_of(table)?.schema)
    }

    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        self.view().count_rows(table)
    }

    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<RowRef<'_>>, Error> {
        self.view().get_row(table, key)
    }

    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<ViewScan<'_>, Error> {
        self.view().scan_rows(table, from)
    }

    fn row_index(&self, table: u16, name: &str) -> Result<RowIndex<'_>, Error> {
        self.view().row_index(table, name)
    }
}

/// The rows of a table in a live state, in no particular order.
#[derive(Clone)]
pub struct ViewScan<'a> {
    view: View<'a>,
    state: &'a TableState,
    at: Addresses<'a>,
}

impl<'a> Iterator for ViewScan<'a> {
    type Item = Result<RowRef<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.next()?;
        Some(self.view.row(self.state, at).map_err(Error::from))
    }
}

impl<'a> ScanRows for ViewScan<'a> {
    type Row = RowRef<'a>;

    /// A live state changes: it is read to its end.
    fn place(&self) -> Option<ScanPlace> {
        None
    }
}

impl fmt::Debug for ViewScan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewScan of {:?}", self.state.name)
    }
}
