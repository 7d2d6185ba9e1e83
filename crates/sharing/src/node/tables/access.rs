//! What tables ask of a transaction: pages, locked and copied, and changes of them.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::super::work::Savepoint;
use super::known::{Known, Used};
use crate::protocol::LockMode;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::tree::Page;

/// Bytes of a page that now stand there.
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

    /// Which database it is of.
    fn database(&self) -> u64;

    /// The tables that are known from earlier transactions, where something is kept of them.
    fn known(&self) -> Option<&Known>;

    /// What it has to do with tables.
    fn used(&mut self) -> &mut Used;

    /// How far its changes have come.
    ///
    /// # Errors
    /// Why the node does not go on.
    fn savepoint(&mut self) -> Result<Savepoint, NodeError>;

    /// Undoes the changes behind a savepoint.
    ///
    /// # Errors
    /// Why the node does not go on: then nothing of the transaction is committed.
    fn roll_back(&mut self, to: Savepoint) -> Result<(), NodeError>;
}

impl Access for Transaction<'_> {
    fn slot(&self) -> usize {
        self.member.slot()
    }

    fn pages(&self) -> u64 {
        self.member.pages()
    }

    fn read_page(&mut self, page: u64, mode: LockMode, into: &mut Page) -> Result<(), NodeError> {
        self.read_locked(page, mode, 0, into)
    }

    fn lock_to_write(&mut self, page: u64) -> Result<(), NodeError> {
        self.read_locked(page, LockMode::Write, 0, &mut [])
    }

    fn write_all(&mut self, changes: &[Change<'_>]) -> Result<(), NodeError> {
        let bytes = changes
            .iter()
            .map(|change| encoded_bytes(change.bytes.len()));
        self.check_room(bytes.sum())?;
        for change in changes {
            let written = self.write(change.page, change.offset, change.bytes);
            if let Err(error) = &written {
                // The pages are locked and there is room, so the node has stopped, or the page's copy had gone and
                // cannot come back: a part of an operation is never committed.
                self.failed = Some(error.clone());
                return written;
            }
        }
        Ok(())
    }

    fn database(&self) -> u64 {
        Transaction::database(self)
    }

    fn known(&self) -> Option<&Known> {
        Some(self.member.known())
    }

    fn used(&mut self) -> &mut Used {
        &mut self.used
    }

    fn savepoint(&mut self) -> Result<Savepoint, NodeError> {
        let (number, mut savepoint) = (self.number, Savepoint::default());
        self.member.with_local(&mut |local| {
            savepoint = local.savepoint(number);
            Ok(())
        })?;
        Ok(savepoint)
    }

    fn roll_back(&mut self, to: Savepoint) -> Result<(), NodeError> {
        let number = self.number;
        let undone = self.member.with_local(&mut |local| {
            local.roll_back(number, to);
            Ok(())
        });
        if let Err(error) = &undone {
            self.failed.get_or_insert_with(|| error.clone());
        }
        undone
    }
}
