//! The rows of all tables in a node's transaction, as a store of rows. Code for any store reads and changes them by
//! [`ReadRows`](sardonyx_rows::ReadRows) and [`WriteRows`](sardonyx_rows::WriteRows), and constraints are those of all
//! stores.
//!
//! A row's place is its key, as bytes. An operation works on copies of pages ([`View`]) and hands its changes over when
//! it has succeeded. Several that are one have a savepoint of the transaction, to which it returns. An error of the
//! node goes through [`TableError::Engine`] and comes out as what it was.
//!
//! Invariants: an operation that fails has done nothing; the rows and gaps that constraints read are locked until the
//! transaction ends, so that they hold whatever other nodes do meanwhile.

mod constraints;
mod define;
mod index;
mod read;
mod records;
mod write;

pub use index::NodeEntries;

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::super::work::WorkPoint;
use super::access::Access;
use super::catalogue::TableInfo;
use super::entries;
use super::known::Tables;
use super::range::OwnedRow;
use super::view::View;
use sardonyx_base::error::Error;
use sardonyx_rows::constraints::{self as rules, Due, HeldReference, HeldReferences};
use sardonyx_rows::{Savepoint, TableError};
use sardonyx_storage::tree::Intent;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The rows of all tables in a transaction: [`Transaction::tables`].
pub struct NodeTables<'t> {
    access: RefCell<&'t mut dyn Access>,
    tables: Arc<Tables>,
    /// References that the transaction checks later.
    held: HeldReferences,
    /// Rows that are looked up by their keys will be changed.
    changes_found: bool,
    /// The row that was found last to be changed, with its key, until something is changed: its page is locked for writing.
    to_change: RefCell<Option<(Vec<u8>, OwnedRow)>>,
}

impl Transaction<'_> {
    /// The rows of all tables, as a store of rows: [`Rows`](sardonyx_rows::Rows) are had of it by a table's name.
    ///
    /// # Errors
    /// [`NodeError::OtherPages`], [`NodeError::TablesVersion`], and those of [`Transaction::read`].
    pub fn tables(&mut self) -> Result<NodeTables<'_>, NodeError> {
        NodeTables::of(self)
    }

    /// Checks the references that are held.
    ///
    /// # Errors
    /// The errors of [`NodeTables::check_held`].
    pub(in super::super) fn check_held(&mut self) -> Result<(), NodeError> {
        if self.used.held.is_empty() {
            return Ok(());
        }
        Ok(self.tables()?.check_held(|_| Due::NOW)?)
    }
}

impl<'t> NodeTables<'t> {
    pub(in super::super) fn of(access: &'t mut dyn Access) -> Result<Self, NodeError> {
        let tables = Tables::of(access)?;
        let held = std::mem::take(&mut access.used().held);
        Ok(NodeTables {
            access: RefCell::new(access),
            tables,
            held,
            changes_found: false,
            to_change: RefCell::default(),
        })
    }

    /// Rows that are found by their keys from now on are locked for writing at once, since they will be changed; or not any
    /// more. Two transactions that read a row first and change it later are a deadlock.
    pub fn change_found(&mut self, changes: bool) {
        self.changes_found = changes;
    }

    /// The version of the catalogue.
    #[doc(hidden)]
    pub fn version(&self) -> u64 {
        self.tables.version()
    }

    /// The number of the table or journal of a name.
    pub fn number(&self, name: &str) -> Option<u16> {
        self.tables.number(name)
    }

    pub(in super::super) fn info(&self, number: u16) -> Result<&Arc<TableInfo>, TableError> {
        let info = self.tables.info(number);
        info.ok_or(TableError::UnknownHandle { number })
    }

    /// Looks at pages.
    fn look<R>(
        &self,
        look: impl FnOnce(&View<'_>) -> Result<R, NodeError>,
    ) -> Result<R, NodeError> {
        let mut access = self.access.borrow_mut();
        look(&View::new(&mut **access))
    }

    /// Changes pages: all that it does, or nothing.
    fn change<R>(
        &mut self,
        change: impl FnOnce(&mut View<'_>) -> Result<R, NodeError>,
    ) -> Result<R, NodeError> {
        self.to_change = RefCell::default();
        let mut view = View::new(&mut **self.access.get_mut());
        let done = change(&mut view)?;
        view.finish()?;
        Ok(done)
    }

    fn row_with_key(
        &self,
        info: &Arc<TableInfo>,
        key: &[u8],
        intent: Intent,
    ) -> Result<Option<OwnedRow>, NodeError> {
        let is_it = |(of, row): &&(Vec<u8>, OwnedRow)| row.info.root == info.root && of == key;
        if let Some((_, row)) = self.to_change.borrow().as_ref().filter(is_it) {
            return Ok(Some(row.clone()));
        }
        let found = self.look(|view| entries::get(view, info.root, key, intent))?;
        let found = found.map(|bytes| OwnedRow::of(info, bytes)).transpose()?;
        if let (Intent::Write, Some(row)) = (intent, &found) {
            *self.to_change.borrow_mut() = Some((key.to_vec(), row.clone()));
        }
        Ok(found)
    }

    /// The catalogue is another now.
    fn changed(&mut self) -> Result<(), NodeError> {
        let access = &mut **self.access.get_mut();
        access.used().defined();
        self.to_change = RefCell::default();
        self.tables = Tables::of(access)?;
        Ok(())
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        self.access.get_mut().point()
    }

    fn roll_back(&mut self, to: WorkPoint) -> Result<(), NodeError> {
        let access = &mut **self.access.get_mut();
        access.roll_back(to)?;
        access.used().rolled_back();
        self.to_change = RefCell::default();
        self.tables = Tables::of(access)?;
        Ok(())
    }

    /// Does several steps of one operation: all, or none.
    fn whole<T, E: From<NodeError>>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.point()?;
        let result = steps(self);
        if result.is_err() {
            self.roll_back(before)?;
        }
        result
    }

    /// Marks how far the transaction has come, to [go back](NodeTables::rollback_to) there.
    pub fn savepoint(&mut self) -> Savepoint {
        // A node that has stopped commits nothing any more.
        let point = self.point().unwrap_or_default();
        let marks = &mut self.access.get_mut().used().marks;
        let savepoint = marks.push(point);
        self.held.mark(marks.len() - 1);
        savepoint
    }

    /// Undoes the changes since a savepoint. The savepoint stays; later ones do not.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such savepoint, or not any more; why the node does not go on.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        let (position, point) = self.marked(savepoint)?;
        self.roll_back(point)?;
        self.access.get_mut().used().marks.truncate(position + 1);
        self.held.return_to(position);
        Ok(())
    }

    /// Forgets a savepoint, and later ones. The changes since stay.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such savepoint, or not any more.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        let (position, _) = self.marked(savepoint)?;
        self.access.get_mut().used().marks.truncate(position);
        self.held.release(position);
        Ok(())
    }

    fn marked(&mut self, savepoint: Savepoint) -> Result<(usize, WorkPoint), TableError> {
        let marks = &self.access.get_mut().used().marks;
        marks.find(savepoint).ok_or(TableError::NoSavepoint)
    }

    /// References that do not hold are noted from now on, or refused at once again, until the transaction ends. Noted
    /// ones are checked before it commits, or earlier by [`NodeTables::check_held`].
    pub fn hold_references(&mut self, holds: bool) {
        self.held.hold(holds);
    }

    /// The references with notes.
    pub fn held_references(&self) -> Vec<HeldReference> {
        self.held.references()
    }

    /// Checks held references against the present rows, as far as they are due.
    ///
    /// # Errors
    /// [`TableError::NoSuchReference`], [`TableError::Referenced`] with the first values that violate one; those of
    /// [`Transaction::read`].
    pub fn check_held(&mut self, due: impl Fn(&HeldReference) -> Due) -> Result<(), TableError> {
        rules::check_held(self, due)
    }
}

/// The transaction has what is held from then on.
impl Drop for NodeTables<'_> {
    fn drop(&mut self) {
        self.access.get_mut().used().held = std::mem::take(&mut self.held);
    }
}

impl fmt::Debug for NodeTables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeTables of version {}", self.version())
    }
}
