//! The tables of nodes in recovered pages, of either coupling: to be read without a node, as by a command that looks
//! into a database's files.
//!
//! Invariant: nothing is changed and nothing is locked, since no other process has these pages. Recovered pages hold
//! durable transactions only: redo leaves a node when its transaction commits, and not before.

use super::super::NodeError;
use super::super::loose::place_of_page;
use super::super::work::WorkPoint;
use super::access::{Access, Change};
use super::catalogue::{self, Definition, TableInfo, unknown};
use super::entries::{self, Keys};
use super::known::{Known, Used};
use super::range::OwnedRow;
use super::store::NodeTables;
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::Way;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_storage::tree::Page;
use std::ops::Bound;
use std::sync::Arc;

/// Rows that are read at a time.
const PIECE: usize = 512;

/// Pages that tables can have.
const PAGES: u64 = 1 << 32;

/// Read instead of the number of the database: handles are used with no other one.
const DATABASE: u64 = 0;

/// The tables of nodes in recovered pages.
#[derive(Debug)]
pub struct FrozenTables {
    pages: Frozen,
}

#[derive(Debug)]
struct Frozen {
    store: PageStore,
    used: Used,
    /// True if they are a page server's, which has the nodes' pages among its own.
    is_page_server: bool,
}

impl FrozenTables {
    /// The tables in recovered pages.
    ///
    /// # Errors
    /// The pages, if nodes' tables cannot be in them.
    pub fn of(store: PageStore) -> Result<Self, PageStore> {
        let is_page_server = match Way::of(store.bytes()) {
            Way::NodeTables => false,
            Way::PageServer => true,
            _ => return Err(store),
        };
        let pages = Frozen {
            store,
            used: Used::default(),
            is_page_server,
        };
        Ok(FrozenTables { pages })
    }

    /// The tables, as a store of rows.
    ///
    /// # Errors
    /// [`NodeError::OtherPages`]: the nodes use their pages by number. [`NodeError::TablesVersion`],
    /// [`NodeError::DamagedPage`], [`NodeError::Rows`].
    pub fn tables(&mut self) -> Result<NodeTables<'_>, NodeError> {
        NodeTables::of(&mut self.pages)
    }

    fn table(&mut self, name: &str) -> Result<Arc<TableInfo>, NodeError> {
        match catalogue::find(&View::new(&mut self.pages), name, DATABASE)? {
            Some(Definition::Table(info)) => Ok(Arc::new(info)),
            _ => Err(unknown(name)),
        }
    }

    /// The columns of a table.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is no such table; as [`FrozenTables::tables`].
    pub fn schema(&mut self, table: &str) -> Result<Arc<Schema>, NodeError> {
        Ok(self.table(table)?.format.schema().clone())
    }

    /// Calls `each` with every row of a table, in the order of its primary key, until that returns false.
    ///
    /// # Errors
    /// As [`FrozenTables::schema`]; those of `each`.
    pub fn each_row<E: From<NodeError>>(
        &mut self,
        table: &str,
        mut each: impl FnMut(&OwnedRow) -> Result<bool, E>,
    ) -> Result<(), E> {
        let info = self.table(table)?;
        let mut keys = Keys {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        loop {
            let view = View::new(&mut self.pages);
            let found = entries::scan(&view, info.root, &keys, PIECE, false)?;
            drop(view);
            let is_last = found.len() < PIECE;
            for (key, bytes) in found {
                if !each(&OwnedRow::of(&info, bytes)?)? {
                    return Ok(());
                }
                keys.lower = Bound::Excluded(key);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl Access for Frozen {
    fn slot(&self) -> usize {
        0
    }

    fn pages(&self) -> u64 {
        PAGES
    }

    /// Pages that were never written are zero, and not in the files.
    fn read_page(&mut self, page: u64, _: LockMode, into: &mut Page) -> Result<(), NodeError> {
        let place = match self.is_page_server {
            true => place_of_page(page),
            false => page,
        };
        let bytes = usize::try_from(place).ok();
        let start = bytes.and_then(|place| place.checked_mul(PAGE_SIZE));
        let found = start.and_then(|start| self.store.bytes().get(start..)?.first_chunk());
        *into = found.copied().unwrap_or([0; PAGE_SIZE]);
        Ok(())
    }

    fn lock_to_write(&mut self, _: u64) -> Result<(), NodeError> {
        Err(read_only())
    }

    fn write_all(&mut self, _: &[Change<'_>]) -> Result<(), NodeError> {
        Err(read_only())
    }

    fn database(&self) -> u64 {
        DATABASE
    }

    fn known(&self) -> Option<&Known> {
        None
    }

    fn used(&mut self) -> &mut Used {
        &mut self.used
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        Ok(WorkPoint::default())
    }

    fn roll_back(&mut self, _: WorkPoint) -> Result<(), NodeError> {
        Ok(())
    }
}

#[cold]
fn read_only() -> NodeError {
    NodeError::Refused {
        reason: "recovered pages are only read".into(),
    }
}
