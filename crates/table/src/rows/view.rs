//! The rows of a live state: between transactions, and in one.

use super::find_row;
use crate::addresses::Addresses;
use crate::index_view::{Origin, TreeEntries, named};
use crate::space::View;
use crate::table::TableState;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::read::{ReadRows, ScanPlace, ScanRows};
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{
    AnyRow, Found, Index, KeyValues, Relations, RowForm, RowRef, Rows, TableError,
};
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::fmt;
use std::sync::Arc;

impl<'a> View<'a> {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows(&self, table: &str) -> Result<Rows<View<'a>>, Error> {
        Rows::named(*self, table)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows_of(&self, number: u16) -> Result<Rows<View<'a>>, Error> {
        Rows::numbered(*self, number)
    }

    /// Rows of a table inserted, changed and deleted since the database was opened, also by transactions that were
    /// undone; 0 if there is no such table.
    #[inline]
    pub fn changes_of(&self, number: u16) -> u64 {
        self.state_of(number).map_or(0, |state| state.changes)
    }

    /// Bytes of the pages that a table uses, for rows and for the values outside of them; 0 if there is no such table.
    #[inline]
    pub fn bytes_of(&self, number: u16) -> u64 {
        let runs = self
            .state_of(number)
            .into_iter()
            .flat_map(TableState::used_runs);
        runs.map(|run| run.end - run.start).sum::<u64>() * PAGE_SIZE as u64
    }

    #[inline]
    fn table_state(&self, number: u16) -> Result<&'a TableState, TableError> {
        match self.state_of(number) {
            Some(state) => Ok(state),
            None => Err(TableError::UnknownHandle { number }),
        }
    }

    #[inline]
    pub(crate) fn found(&self, state: &'a TableState, at: Address) -> Found<'a> {
        Found {
            pages: self.pages(),
            schema: &state.schema,
            table: &state.name,
            at,
        }
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
    type Entries<'r>
        = TreeEntries<'a>
    where
        Self: 'r;

    #[inline]
    fn definitions(&self) -> &Definitions {
        View::definitions(self)
    }

    #[inline]
    fn relations(&self) -> &Relations {
        self.space().tables.relations()
    }

    #[inline]
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.state_of(table)?.schema)
    }

    #[inline]
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        Ok(self.table_state(table)?.len())
    }

    #[inline]
    fn rows_about(&self, table: u16) -> Option<u64> {
        Some(self.state_of(table)?.len())
    }

    #[inline]
    fn bytes_about(&self, table: u16) -> Option<u64> {
        self.state_of(table).map(|_| self.bytes_of(table))
    }

    #[inline]
    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<RowRef<'a>>, Error> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        self.row_by_key(table, &*key)
    }

    fn row_by_key(
        &self,
        table: u16,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<RowRef<'a>>, Error> {
        let state = self.table_state(table)?;
        let found = find_row(self.indexes(), self.pages(), state, &state.name, key)?;
        Ok(found.map(|at| self.found(state, at).row()).transpose()?)
    }

    #[inline]
    fn scan_rows(&self, table: u16, _: ScanPlace) -> Result<ViewScan<'a>, Error> {
        Ok(ViewScan::new(*self, self.table_state(table)?)?)
    }

    #[inline]
    fn row_index(&self, table: u16, name: &str) -> Result<Index<TreeEntries<'a>>, Error> {
        let state = self.table_state(table)?;
        Ok(Index::new(TreeEntries {
            nodes: self.indexes().bytes(),
            rows: self.pages(),
            index: named(&state.secondary, &state.name, name)?,
            schema: &state.schema,
            table: &state.name,
            origin: Origin::default(),
        })?)
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
    type Entries<'r>
        = TreeEntries<'r>
    where
        Self: 'r;

    #[inline]
    fn definitions(&self) -> &Definitions {
        self.space.definitions()
    }

    #[inline]
    fn relations(&self) -> &Relations {
        self.space.tables.relations()
    }

    #[inline]
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        Some(&self.view().state_of(table)?.schema)
    }

    #[inline]
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        self.view().count_rows(table)
    }

    #[inline]
    fn rows_about(&self, table: u16) -> Option<u64> {
        self.view().rows_about(table)
    }

    #[inline]
    fn bytes_about(&self, table: u16) -> Option<u64> {
        self.view().bytes_about(table)
    }

    #[inline]
    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<RowRef<'_>>, Error> {
        self.view().get_row(table, key)
    }

    fn row_by_key(
        &self,
        table: u16,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<RowRef<'_>>, Error> {
        self.view().row_by_key(table, key)
    }

    #[inline]
    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<ViewScan<'_>, Error> {
        self.view().scan_rows(table, from)
    }

    #[inline]
    fn row_index(&self, table: u16, name: &str) -> Result<Index<TreeEntries<'_>>, Error> {
        self.view().row_index(table, name)
    }
}

/// The rows of a table in a live state, in no particular order.
pub struct ViewScan<'a, T: RowForm<Found<'a>> = AnyRow> {
    view: View<'a>,
    state: &'a TableState,
    at: Addresses<'a>,
    columns: T::Columns,
}

impl<'a, T: RowForm<Found<'a>>> ViewScan<'a, T> {
    pub(crate) fn new(view: View<'a>, state: &'a TableState) -> Result<Self, TableError> {
        Ok(ViewScan {
            view,
            state,
            at: state.records(view.pages()),
            columns: T::columns_of(&state.schema, &state.name)?,
        })
    }
}

impl<'a, T: RowForm<Found<'a>>> Clone for ViewScan<'a, T> {
    fn clone(&self) -> Self {
        ViewScan {
            at: self.at.clone(),
            ..*self
        }
    }
}

impl<'a, T: RowForm<Found<'a>>> Iterator for ViewScan<'a, T> {
    type Item = Result<T::Item, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.next()?;
        let row = T::give(self.view.found(self.state, at), &self.columns);
        Some(row.map_err(Error::from))
    }
}

impl<'a, T: RowForm<Found<'a>>> ScanRows for ViewScan<'a, T> {
    type Row = T::Item;

    /// A live state changes: it is read to its end.
    fn place(&self) -> Option<ScanPlace> {
        None
    }
}

impl<'a, T: RowForm<Found<'a>>> fmt::Debug for ViewScan<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewScan of {:?}", self.state.name)
    }
}
