//! The operations that tables need of a transaction: pages, locked and copied, and changes of them.

use super::super::NodeError;
use super::super::work::WorkPoint;
use super::known::{Known, Used};
use crate::protocol::LockMode;
use sardonyx_storage::tree::Page;

/// New bytes of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub page: u64,
    pub offset: usize,
    pub bytes: &'a [u8],
}

/// A transaction, as tables see it. Locks are kept until it ends.
pub(crate) trait Access {
    /// The pool that its node takes pages from.
    fn slot(&self) -> usize;

    /// Pages that there may be.
    fn pages(&self) -> u64;

    /// Locks a page and copies it.
    fn read_page(&mut self, page: u64, mode: LockMode, into: &mut Page) -> Result<(), NodeError>;

    /// Locks a page for writing that is locked for reading.
    fn lock_to_write(&mut self, page: u64) -> Result<(), NodeError>;

    /// Changes bytes of pages that are locked for writing: all of them, or none.
    fn write_all(&mut self, changes: &[Change<'_>]) -> Result<(), NodeError>;

    fn database(&self) -> u64;

    /// The tables that are known from earlier transactions, where something is kept of them.
    fn known(&self) -> Option<&Known>;

    /// Its use of tables.
    fn used(&mut self) -> &mut Used;

    /// The extent of its changes.
    ///
    /// # Errors
    /// Why the node does not go on.
    fn point(&mut self) -> Result<WorkPoint, NodeError>;

    /// Undoes the changes behind a savepoint.
    ///
    /// # Errors
    /// Why the node does not go on: then nothing of the transaction is committed.
    fn roll_back(&mut self, to: WorkPoint) -> Result<(), NodeError>;
}
