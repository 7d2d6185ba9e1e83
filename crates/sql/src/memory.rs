//! The memory of rows, within the bounds of the statement and of all sessions.

use crate::error::{SqlError, code};
use sardonyx::schema::Value;
use sardonyx_base::memory::{Budget, Share};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The most bytes of a statement's rows in memory: of a result, of groups, of sorted rows.
pub(crate) const RESULT_BYTES_MAX: usize = 256 << 20;

/// Checks the memory that rows take against the bound.
///
/// # Errors
/// `53200` beyond it.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), SqlError> {
    match bytes <= RESULT_BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::OUT_OF_MEMORY,
            format!("the rows of the statement take more than {RESULT_BYTES_MAX} bytes"),
        )
        .hint("Ask for fewer rows at a time: with WHERE, or LIMIT.")),
    }
}

/// The bytes of a value that are outside of itself.
pub(crate) fn outside(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The bytes that values take.
pub fn bytes_of(values: &[Value]) -> usize {
    size_of_val(values) + values.iter().map(outside).sum::<usize>()
}

/// Rows of up to this many bytes are not counted among those of all sessions.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

/// The memory of written bytes, as a multiple of them: their buffer grows by doubling.
pub(crate) const WRITTEN: usize = 2;
/// The memory of rows on their way to a client, as a multiple of their bytes: the values, and the written bytes.
const COPIES: usize = 1 + WRITTEN;

/// Has a share cover a portion of rows on their way to a client.
///
/// # Errors
/// `53200` if there is no memory for them.
pub fn cover_portion(share: &mut Share, values: &[Value]) -> Result<(), SqlError> {
    match bytes_of(values) {
        0..=SMALL_BYTES => Ok(()),
        bytes => Ok(share.cover(bytes.saturating_mul(COPIES))?),
    }
}

/// Has a share cover rows of the given bytes that stay, and those on their way to a client.
///
/// # Errors
/// As [`cover_portion`].
pub fn cover_bytes(share: &mut Share, bytes: usize) -> Result<(), SqlError> {
    match bytes <= SMALL_BYTES {
        true => Ok(()),
        false => Ok(share.cover(bytes)?),
    }
}

/// Changes of a statement that wait for its end, as plans note them, with their memory. It is counted here: not each path
/// of a change has memory of its own until then.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    changes: Vec<Box<dyn Any + Send>>,
    bytes: usize,
    share: Option<Share>,
}

impl Waiting {
    /// Counts the bytes of a change, before it is pushed.
    ///
    /// # Errors
    /// `53200` beyond the bound of a statement, or without memory for all sessions.
    pub fn count(
        &mut self,
        bytes: usize,
        budget: impl FnOnce() -> Arc<Budget>,
    ) -> Result<(), SqlError> {
        self.bytes += bytes;
        let share = self.share.get_or_insert_with(|| Share::of(budget()));
        share.cover(self.bytes)?;
        check_bytes(self.bytes)
    }

    /// Adds a change that is counted.
    pub fn push(&mut self, change: Box<dyn Any + Send>) {
        self.changes.push(change);
    }

    /// Takes the changes out. They stay counted until this is dropped.
    pub fn take(&mut self) -> Vec<Box<dyn Any + Send>> {
        std::mem::take(&mut self.changes)
    }
}

/// The memory that a statement has spent on existing rows.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub bytes: Cell<usize>,
    /// Shares of the memory of all sessions, for rows that are kept to the statement's end.
    pub shares: RefCell<Vec<Share>>,
}

/// The memory of rows, counted against the bound of the statement until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Memory<'m> {
    bytes: usize,
    spent: Option<&'m Spent>,
    /// The share of the memory of all sessions.
    share: Option<Share>,
}

impl<'m> Memory<'m> {
    /// The memory of the statement that runs.
    pub fn of(spent: Option<&'m Spent>, budget: Arc<Budget>) -> Memory<'m> {
        Memory {
            bytes: 0,
            spent,
            share: Some(Share::of(budget)),
        }
    }

    /// Counts values.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn take(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.take_bytes(bytes_of(values))
    }

    /// Counts the bytes of a value outside itself.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn take_outside(&mut self, value: &Value) -> Result<(), SqlError> {
        self.take_bytes(outside(value))
    }

    /// Counts bytes.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.bytes += bytes;
        if let Some(share) = &mut self.share {
            share.cover(self.bytes)?;
        }
        match self.spent {
            Some(spent) => {
                spent.bytes.set(spent.bytes.get() + bytes);
                check_bytes(spent.bytes.get())
            }
            None => check_bytes(self.bytes),
        }
    }

    /// Makes sure that there is memory for the given bytes besides those that are counted, before they are used.
    ///
    /// # Errors
    /// `53200` if there is none.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        match &mut self.share {
            Some(share) => Ok(share.cover(self.bytes.saturating_add(bytes))?),
            None => Ok(()),
        }
    }

    /// Stops counting bytes.
    pub fn give_back(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(spent) = self.spent {
            spent.bytes.set(spent.bytes.get().saturating_sub(bytes));
        }
    }

    /// The bytes counted.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Leaves the counted bytes to the statement, which keeps the rows to its end.
    pub fn keep(mut self) {
        self.bytes = 0;
        if let (Some(spent), Some(share)) = (self.spent, self.share.take()) {
            spent.shares.borrow_mut().push(share);
        }
    }

    fn release(&mut self) {
        self.give_back(self.bytes);
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
