//! An operation's view of the database: pages to read and write, objects to lock.
//!
//! It is a trait. So the same operation runs in a transaction of the engine, in its recovery, and on plain pages in a
//! test ([`crate::PlainPages`]).
//!
//! Under the engine every page is locked when it is first read or written (L0), until the end of the subtransaction.
//! The lock is shared to read, exclusive to write, and converted if needed.

use crate::records::memory::TableMemory;
use sardonyx_base::resident::Resident;
use sardonyx_lock::{LockSpace, Mode, Modes};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::store::SnapshotEnded;
use std::ops::Range;
use std::sync::Arc;

/// A page's bytes.
pub type Page = [u8; PAGE_SIZE];

/// A named set of pages, which grows: the number of its definition in the database's catalogue, the
/// same after every restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Resident)]
#[repr(transparent)]
pub struct Area(pub u16);

/// The reason why a subtransaction cannot go on. Operations pass it on; the engine handles it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The effects are undone and the operation is executed again: it was the victim of a deadlock over pages, or had
    /// to wait for an object.
    #[error("the operation has to be executed again")]
    Restart,
    /// The transaction was chosen to end a deadlock.
    #[error("the transaction was the victim of a deadlock")]
    Deadlock,
    /// There is no such page.
    #[error("page {page} is beyond the {pages} pages of the {of}")]
    NoPage {
        /// The page's number in the database, or in its area.
        page: u64,
        /// The present size of the database or area.
        pages: u64,
        /// `database` or `area`.
        of: &'static str,
    },
    /// The bytes asked for are not in one page.
    #[error("bytes {start} to {end} are not a range of a page of {PAGE_SIZE} bytes")]
    Range {
        /// The first.
        start: usize,
        /// The one after the last.
        end: usize,
    },
    /// No such area.
    #[error("there is no area number {number}: its handle belongs to another database")]
    NoArea {
        /// The handle's number.
        number: u16,
    },
    /// A change of a bounded quantity that could not be admitted in any outcome of other transactions.
    #[error("a quantity of {value} cannot change by {change} and stay within {low} to {high}")]
    Bounds {
        /// Its present value.
        value: i64,
        /// The amount to add.
        change: i64,
        /// The least that it may be.
        low: i64,
        /// The most that it may be.
        high: i64,
    },
    /// The operation changes something, and was called to read a snapshot.
    #[error("a snapshot is only read: operations that change something are called by transactions")]
    ReadOnly,
    /// Take a new one, and call the operation again.
    #[error(transparent)]
    SnapshotEnded(#[from] SnapshotEnded),
    /// There are no more pages to be had, or no more log.
    #[error("{reason}")]
    Full {
        /// The full thing, and the remedy.
        reason: String,
    },
}

/// A change of a bounded quantity. It is admitted only if the quantity stays within its bounds in every outcome of the
/// running transactions (escrow).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The present value of the quantity, with the changes of all transactions, ended or not.
    pub value: i64,
    /// The change to add.
    pub change: i64,
    /// The least that it may be.
    pub low: i64,
    /// The most that it may be.
    pub high: i64,
}

/// The pages and locks of a subtransaction.
pub trait Pages {
    /// The page at a place of an area.
    ///
    /// # Errors
    /// [`Stop::NoPage`] beyond the area's end, [`Stop::NoArea`].
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop>;

    /// The number of an area's pages.
    ///
    /// # Errors
    /// [`Stop::NoArea`].
    fn pages_of(&self, area: Area) -> Result<u64, Stop>;

    /// Makes an area have at least so many pages; new ones are zeroes. It stays so even if the
    /// operation fails or its transaction aborts.
    ///
    /// # Errors
    /// [`Stop::Full`].
    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop>;

    /// Reserves pages for the operation's inverse, which may make areas grow by so many pages together. They are
    /// reserved until the transaction ends, so that undoing it cannot fail for want of them. If so many do not exist,
    /// the operation fails when it ends, without effect. An inverse that grows an area without a reservation takes
    /// pages that happen to be free.
    fn inverse_may_take(&mut self, pages: u64) {
        let _ = pages;
    }

    /// Locks it shared until the operation ends.
    fn read(&self, page: PageId) -> Result<&Page, Stop>;

    /// Reads a page that will be written: locks it exclusively at once, so that two that do so do
    /// not deadlock.
    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop>;

    /// The bytes of a range of a page, to be changed. All of them go to the log, so ask only for the changed ones.
    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop>;

    /// Locks an object until the end of the transaction. If it has to wait, the operation is undone
    /// ([`Stop::Restart`]) and executed again when the lock is granted, so that no page stays locked meanwhile.
    ///
    /// # Panics
    /// If the space has no such mode.
    fn lock(&mut self, space: &'static LockSpace, object: u64, mode: Mode) -> Result<(), Stop>;

    /// Locks a key that may be in no page: like [`Pages::lock`], and with a single level, where objects
    /// are not locked, like a page; exclusively if it is to `change`.
    fn lock_key(
        &mut self,
        space: &'static LockSpace,
        object: u64,
        mode: Mode,
        change: bool,
    ) -> Result<(), Stop> {
        let _ = change;
        self.lock(space, object, mode)
    }

    /// True if a page may yet be restored to its state before its first change here: by this operation or, with a
    /// single level, by its transaction.
    #[doc(hidden)]
    fn is_changed(&self, page: PageId) -> bool {
        let _ = page;
        true
    }

    /// The memory of a table; `None` if the area is no table, or the database has no tables.
    #[doc(hidden)]
    fn table(&self, area: Area) -> Option<Arc<TableMemory>> {
        let _ = area;
        None
    }

    /// A page of a table for an inverse, which has room nowhere else: no other operation is given it before the inverse has
    /// ended. `None` if this is no inverse; [`Pages::grow`] is for others.
    #[doc(hidden)]
    fn page_for_inverse(&mut self, table: &TableMemory) -> Result<Option<PageId>, Stop> {
        let _ = table;
        Ok(None)
    }

    /// The modes of an object that the transaction holds; `None` if that is unknown, and then the operation has to
    /// reckon with any.
    fn held(&self, space: &'static LockSpace, object: u64) -> Option<Modes> {
        let _ = (space, object);
        None
    }

    /// Asks for a change of a bounded quantity and, once it is admitted, counts with it until the
    /// end of the transaction. The caller has locked the page of the quantity exclusively and makes
    /// the change itself.
    ///
    /// # Errors
    /// [`Stop::Bounds`] if it cannot be admitted in any outcome of the others; [`Stop::Restart`] if it
    /// depends on them.
    fn reserve(
        &mut self,
        space: &'static LockSpace,
        object: u64,
        change: Change,
    ) -> Result<(), Stop>;
}

impl dyn Pages + '_ {
    /// Copies a value's bytes out of a page.
    ///
    /// # Errors
    /// As [`Pages::read`]; [`Stop::Range`].
    pub fn read_bytes<const N: usize>(&self, page: PageId, at: usize) -> Result<[u8; N], Stop> {
        let range = checked(at..at.saturating_add(N))?;
        Ok(self.read(page)?[range].try_into().expect("N bytes"))
    }

    /// Overwrites bytes of a page.
    ///
    /// # Errors
    /// As [`Pages::write`].
    pub fn write_bytes(&mut self, page: PageId, at: usize, bytes: &[u8]) -> Result<(), Stop> {
        self.write(page, at..at.saturating_add(bytes.len()))?
            .copy_from_slice(bytes);
        Ok(())
    }
}

/// A range, if it lies within a page.
///
/// # Errors
/// [`Stop::Range`].
pub fn checked(range: Range<usize>) -> Result<Range<usize>, Stop> {
    if range.start <= range.end && range.end <= PAGE_SIZE {
        return Ok(range);
    }
    Err(Stop::Range {
        start: range.start,
        end: range.end,
    })
}
