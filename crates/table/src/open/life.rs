//! The bounds that a database's open transactions have together: on their number, and on what they keep.
//!
//! One that is forgotten costs a bounded memory and is in nobody's way: at the bound on their number the oldest is ended, at
//! that on their memory the one that wants more is refused.

use sardonyx_base::process::Process;
use sardonyx_rows::{TableError, TransactionEnded};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that a transaction takes of what all may keep, at a time; less where that is little.
const TAKEN_AT_ONCE: usize = 1 << 16;

const RUNS: u8 = 0;
const DISPLACED: u8 = 1;

/// The open transactions of a database.
#[derive(Debug)]
pub struct OpenTransactions {
    process: Process,
    number_max: usize,
    bytes_max: usize,
    bytes: AtomicUsize,
    is_closed: AtomicBool,
    open: Mutex<Open>,
}

/// The states of those that run, by their numbers, from the oldest on.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    states: BTreeMap<u64, Arc<AtomicU8>>,
}

impl OpenTransactions {
    /// None yet, of a database that this process has open: at most so many, which keep at most so many bytes together.
    pub fn new(process: Process, number_max: usize, bytes_max: usize) -> Arc<Self> {
        Arc::new(OpenTransactions {
            process,
            number_max,
            bytes_max,
            bytes: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            open: Mutex::default(),
        })
    }

    /// The database is closed: they end.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Bytes that one of them may keep.
    pub(super) fn bytes_of_one(&self) -> usize {
        self.bytes_max / 4
    }

    /// The number of those that run.
    pub fn count(&self) -> usize {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.states.len()
    }

    /// One more.
    pub(super) fn begin(self: &Arc<Self>) -> Life {
        let state = Arc::new(AtomicU8::new(RUNS));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number = open.next;
        open.next += 1;
        open.states.insert(number, state.clone());
        if open.states.len() > self.number_max
            && let Some((_, oldest)) = open.states.pop_first()
        {
            oldest.store(DISPLACED, Ordering::Release);
        }
        drop(open);
        Life {
            all: Arc::clone(self),
            number,
            state,
            taken: 0,
        }
    }
}

/// The life of one of them.
#[derive(Debug)]
pub(super) struct Life {
    all: Arc<OpenTransactions>,
    number: u64,
    state: Arc<AtomicU8>,
    /// Bytes that were taken of what all may keep.
    taken: usize,
}

impl Life {
    /// Checks that it runs.
    ///
    /// # Errors
    /// [`TableError::Ended`].
    #[inline]
    pub fn check(&self) -> Result<(), TableError> {
        let runs = self.all.process.is_current()
            && !self.all.is_closed.load(Ordering::Acquire)
            && self.state.load(Ordering::Acquire) == RUNS;
        match runs {
            true => Ok(()),
            false => Err(self.ended()),
        }
    }

    #[cold]
    fn ended(&self) -> TableError {
        TableError::Ended(if !self.all.process.is_current() {
            TransactionEnded::Forked
        } else if self.all.is_closed.load(Ordering::Acquire) {
            TransactionEnded::Closed
        } else {
            TransactionEnded::Displaced {
                max: self.all.number_max,
            }
        })
    }

    /// True if this is the process that began it.
    pub fn is_here(&self) -> bool {
        self.all.process.is_current()
    }

    /// Takes bytes, so that it has as many as these.
    ///
    /// # Errors
    /// [`TableError::OpenTransactionsFull`].
    pub fn take(&mut self, bytes: usize) -> Result<(), TableError> {
        if bytes <= self.taken {
            return Ok(());
        }
        let limit = self.all.bytes_max;
        let at_once = (limit / 64).clamp(1, TAKEN_AT_ONCE);
        let more = (bytes - self.taken).next_multiple_of(at_once);
        let take = |used: usize| used.checked_add(more).filter(|used| *used <= limit);
        let taken = (self.all.bytes).fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        match taken {
            Ok(_) => {
                self.taken += more;
                Ok(())
            }
            Err(used) => Err(TableError::OpenTransactionsFull { bytes: used, limit }),
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if !self.is_here() {
            // Locks of the parent may be taken for ever.
            return;
        }
        self.all.bytes.fetch_sub(self.taken, Ordering::Relaxed);
        let mut open = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.states.remove(&self.number);
    }
}
