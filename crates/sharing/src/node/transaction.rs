//! A transaction's operations on pages, on a node of any coupling: it reads and changes bytes, and each first use takes
//! a lock.
//!
//! Strict two-phase locking: locks are kept until the transaction is durable, or undone. A page that is read first and
//! changed later is locked for reading first. Two transactions that do so to one page are a deadlock, so
//! [`Transaction::read_to_change`] is better for pages that will be changed.
//!
//! Invariant: a transaction that was chosen to end a deadlock, or that gave up while it requested a lock, requests
//! nothing more. Whatever its closure returns, it is not committed.

use super::NodeError;
use super::running::{AtLocal, Runs};
use super::tables::{Access, Change, Known, Used};
use super::work::WorkPoint;
use crate::protocol::{LockMode, PageId, TransactionId};
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::tree::Page;
use std::ops::Range;

/// A transaction that runs on a node, closely or loosely coupled.
#[derive(Debug)]
pub struct Transaction<'a> {
    pub(super) member: &'a dyn Runs,
    pub(super) number: TransactionId,
    /// It was chosen to end a deadlock.
    pub(super) is_victim: bool,
    /// Why it cannot go on.
    pub(super) failed: Option<NodeError>,
    bytes_max: usize,
    /// Its type and its references, for an observer.
    pub(super) kind: u16,
    pub(super) references: Vec<(u64, LockMode)>,
    is_observed: bool,
    /// Its use of tables.
    pub(super) used: Used,
}

/// Bytes within a page.
pub(super) fn check_range(offset: usize, length: usize) -> Result<(), NodeError> {
    match offset <= PAGE_SIZE && length <= PAGE_SIZE - offset {
        true => Ok(()),
        false => Err(NodeError::NotInPage { offset, length }),
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(member: &'a dyn Runs, number: TransactionId) -> Self {
        Transaction {
            member,
            number,
            is_victim: false,
            failed: None,
            bytes_max: member.transaction_bytes_max(),
            kind: 0,
            references: Vec::new(),
            is_observed: member.observer().is_some(),
            used: Used::default(),
        }
    }
}

impl Transaction<'_> {
    /// Bytes of a page, which is locked for reading.
    ///
    /// # Errors
    /// [`NodeError::Deadlock`]: end the closure, it is run again. [`NodeError::NoPage`],
    /// [`NodeError::NotInPage`], [`NodeError::BufferFull`], and whatever stops the node. [`NodeError::Interrupted`], and on
    /// a loosely coupled node [`NodeError::TimedOut`]: the transaction is undone.
    pub fn read(&mut self, page: u64, range: Range<usize>) -> Result<Vec<u8>, NodeError> {
        let mut bytes = vec![0; range.len()];
        self.read_into(page, range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// As [`Transaction::read`], into memory of the caller's.
    ///
    /// # Errors
    /// As [`Transaction::read`].
    pub fn read_into(
        &mut self,
        page: u64,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), NodeError> {
        self.read_locked(page, LockMode::Read, offset, bytes)
    }

    /// Bytes of a page, which is locked so.
    pub(super) fn read_locked(
        &mut self,
        page: u64,
        mode: LockMode,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), NodeError> {
        check_range(offset, bytes.len())?;
        self.with_page(page, mode, &mut |local| {
            local.read(PageId(page), offset, bytes)
        })
    }

    /// Checks that so many bytes of redo records more are not too many.
    pub(super) fn check_room(&self, more: usize) -> Result<(), NodeError> {
        let (number, bytes_max) = (self.number, self.bytes_max);
        self.member
            .with_local(&mut |local| local.check_room(number, more, bytes_max))
    }

    pub(super) fn database(&self) -> u64 {
        self.member.database()
    }

    /// Bytes of a page, which is locked for writing: for what will be changed.
    ///
    /// # Errors
    /// As [`Transaction::read`].
    pub fn read_to_change(&mut self, page: u64, range: Range<usize>) -> Result<Vec<u8>, NodeError> {
        let mut bytes = vec![0; range.len()];
        self.read_locked(page, LockMode::Write, range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// Changes bytes of a page, which is locked for writing.
    ///
    /// # Errors
    /// As [`Transaction::read`], and [`NodeError::TransactionTooLarge`].
    pub fn write(&mut self, page: u64, offset: usize, bytes: &[u8]) -> Result<(), NodeError> {
        check_range(offset, bytes.len())?;
        let (number, bytes_max) = (self.number, self.bytes_max);
        self.with_page(page, LockMode::Write, &mut |local| {
            local.check_room(number, encoded_bytes(bytes.len()), bytes_max)?;
            local.write(number, PageId(page), offset, bytes)
        })
    }

    /// Appends a row to a journal, for which nothing is locked.
    pub(super) fn append_row(&mut self, journal: u16, row: &[u8]) -> Result<(), NodeError> {
        self.check()?;
        let (number, bytes_max) = (self.number, self.bytes_max);
        self.member.with_local(&mut |local| {
            local.check_room(number, encoded_bytes(row.len()), bytes_max)?;
            local.append(number, journal, row)
        })
    }

    /// Says of which type it is, for an [`Observer`](super::Observer).
    pub fn set_type(&mut self, kind: u16) {
        self.kind = kind;
    }

    /// Unique among all nodes and lives.
    pub fn number(&self) -> TransactionId {
        self.number
    }

    /// Checks that it continues.
    fn check(&self) -> Result<(), NodeError> {
        match &self.failed {
            Some(failed) => Err(failed.clone()),
            None if self.is_victim => Err(NodeError::Deadlock),
            None => Ok(()),
        }
    }

    /// Does something when it has the lock and the page.
    fn with_page(&mut self, page: u64, mode: LockMode, then: AtLocal<'_>) -> Result<(), NodeError> {
        self.check()?;
        if self.is_observed {
            self.references.push((page, mode));
        }
        let done = self.member.with_page(self.number, PageId(page), mode, then);
        match &done {
            Err(NodeError::Deadlock) => self.is_victim = true,
            Err(error @ (NodeError::TimedOut { .. } | NodeError::Interrupted(_))) => {
                self.failed = Some(error.clone());
            }
            _ => {}
        }
        done
    }
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
                // The pages are locked and the log has room. So the node has stopped, or the page's copy was dropped
                // and cannot come back: a part of an operation is never committed.
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

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        let (number, mut savepoint) = (self.number, WorkPoint::default());
        self.member.with_local(&mut |local| {
            savepoint = local.point(number);
            Ok(())
        })?;
        Ok(savepoint)
    }

    fn roll_back(&mut self, to: WorkPoint) -> Result<(), NodeError> {
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
