//! The bytes that an open transaction keeps: its changes, and notes of its reads.
//!
//! Invariant: memory is taken of each bound before it is used. A shared budget counts a transaction only if it keeps more
//! than a few bytes.

use super::OpenRows;
use super::reads::RangeRead;
use sardonyx_base::error::Error;
use sardonyx_base::memory::{Budget, Share};
use sardonyx_rows::TableError;
use sardonyx_rows::key::Span;
use std::cell::RefCell;
use std::sync::Arc;

/// A transaction that keeps no more takes nothing of a budget, so that many sessions may have one. One that keeps more takes
/// at least so many at a time.
const UNCOUNTED_BYTES: usize = 64 << 10;

impl OpenRows {
    /// Sets the bound on its kept bytes (default 1 GiB): its changes, and notes of its reads. Takes `self` by value,
    /// so a borrower cannot change the bound.
    #[inline]
    pub fn with_bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// Bytes that it keeps.
    #[doc(hidden)]
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Counts its bytes in a shared budget, too, if they are more than a few. An operation that finds no room there
    /// fails as [`Error::Full`].
    #[doc(hidden)]
    #[inline]
    pub fn counted_in(mut self, budget: Arc<Budget>) -> Self {
        let share = Share::of(budget).in_steps(UNCOUNTED_BYTES);
        self.share = Some(RefCell::new(share));
        self
    }

    /// The bytes that it has of that budget.
    #[doc(hidden)]
    #[inline]
    pub fn counted_bytes(&self) -> usize {
        let bytes = |share: &RefCell<Share>| share.borrow().bytes();
        self.share.as_ref().map_or(0, bytes)
    }

    /// Gives back the bytes of that budget, before it is dropped elsewhere. Returns how many they were.
    #[doc(hidden)]
    #[inline]
    pub fn uncount(&mut self) -> usize {
        let bytes = self.counted_bytes();
        self.share = None;
        bytes
    }

    /// The most bytes that it may keep, so that it alone does not take the others' part.
    #[inline]
    fn bytes_limit(&self) -> usize {
        let of_budget = |share: &RefCell<Share>| share.borrow().bytes_max() / 4;
        let of_budget = self.share.as_ref().map_or(usize::MAX, of_budget);
        self.bytes_max.min(of_budget.max(UNCOUNTED_BYTES))
    }

    /// Begins a statement of a client: what earlier ones were refused is forgotten.
    #[doc(hidden)]
    #[inline]
    pub fn begin_statement(&mut self) {
        self.had_no_room.set(false);
        self.forget_refused();
    }

    /// True if the statement found no memory for its changes or for notes of what it read.
    #[doc(hidden)]
    #[inline]
    pub fn had_no_room(&self) -> bool {
        self.had_no_room.get()
    }

    /// Takes bytes of the bounds.
    #[inline]
    pub(super) fn take_bytes(&self, more: usize) -> Result<(), TableError> {
        let taken = self.take_of_bounds(more);
        if taken.is_err() {
            self.had_no_room.set(true);
        }
        taken
    }

    #[inline]
    fn take_of_bounds(&self, more: usize) -> Result<(), TableError> {
        let bytes = self.bytes.get() + more;
        let limit = self.bytes_limit();
        if bytes > limit {
            return Err(TableError::TransactionTooLarge { bytes, limit });
        }
        if let Some(life) = &self.life {
            life.borrow_mut().take(bytes)?;
        }
        if let Some(share) = &self.share
            && bytes > UNCOUNTED_BYTES
        {
            let covered = share.borrow_mut().cover(bytes);
            covered.map_err(|error| TableError::Engine(Error::Full(error.into())))?;
        }
        self.bytes.set(bytes);
        Ok(())
    }

    /// Takes bytes for the note of a part of an index.
    #[inline]
    pub(super) fn take_bytes_of_range(&self, index: &str, span: &Span) -> Result<(), TableError> {
        // The list of notes may have as many places free as taken.
        self.take_bytes(2 * size_of::<RangeRead>() + index.len() + span.bytes())
    }

    #[inline]
    pub(super) fn give_bytes(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_sub(bytes));
    }

    /// Other open transactions may have the bytes that were given back.
    #[inline]
    pub(super) fn give_to_others(&self) {
        if let Some(life) = &self.life {
            life.borrow_mut().give(self.bytes.get());
        }
        if let Some(share) = &self.share {
            let bytes = Some(self.bytes.get()).filter(|bytes| *bytes > UNCOUNTED_BYTES);
            share.borrow_mut().give(bytes.unwrap_or_default());
        }
    }
}
