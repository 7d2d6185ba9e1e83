//! Common bounds of a database's open transactions: their number, and their bytes.
//!
//! At either bound the oldest is ended. So a program that forgets transactions delays no other one. The program frees
//! the content of an ended one by dropping it.
//!
//! Invariant: when a transaction takes bytes, the running ones have at most the bound. The ended ones that are not
//! dropped, and the committed ones whose tickets are not answered, have at most as much. So all together never have more than
//! twice the bound.

use sardonyx_base::process::Process;
use sardonyx_rows::{TableError, TransactionEnded};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a transaction takes of the common bound at a time: first these.
const TAKEN_FIRST: usize = 1 << 12;
/// Later as many as it has, up to these; fewer where the common bound is small.
const TAKEN_AT_ONCE: usize = 1 << 16;

const RUNS: u8 = 0;
/// Too many were begun after it.
const DISPLACED: u8 = 1;
/// Others needed its bytes.
const OUTGROWN: u8 = 2;
/// It has come to its own end.
const OVER: u8 = 3;

/// The open transactions of a database.
#[derive(Debug)]
pub struct OpenTransactions {
    process: Process,
    number_max: usize,
    bytes_max: usize,
    rows_max: usize,
    is_closed: AtomicBool,
    open: Mutex<Open>,
}

/// Running transactions by their numbers, the oldest first, and bytes.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    running: BTreeMap<u64, Running>,
    /// Bytes that all of them have taken.
    bytes: usize,
    /// Bytes of those that were ended and are not dropped.
    ended_bytes: usize,
}

#[derive(Debug)]
struct Running {
    state: Arc<AtomicU8>,
    taken: usize,
}

impl Open {
    /// Ends one of them: its bytes count until it is dropped.
    #[inline]
    fn end(&mut self, number: u64, why: u8) {
        if let Some(ended) = self.running.remove(&number) {
            ended.state.store(why, Ordering::Release);
            self.bytes -= ended.taken;
            self.ended_bytes += ended.taken;
        }
    }

    /// Removes a dropped one, with its bytes.
    #[inline]
    fn leave(&mut self, number: u64, taken: usize) {
        match self.running.remove(&number) {
            Some(_) => self.bytes -= taken,
            None => self.ended_bytes -= taken,
        }
    }

    /// The oldest one with bytes, except a given one; and its bytes.
    #[inline]
    fn oldest_but(&self, number: u64) -> Option<(u64, usize)> {
        let mut others = self.running.iter();
        let oldest = others.find(|(other, running)| **other != number && running.taken > 0);
        oldest.map(|(number, running)| (*number, running.taken))
    }
}

impl OpenTransactions {
    /// Begins empty, for a database that this process has open, with these bounds on number and bytes, and on the changed rows
    /// of one.
    #[inline]
    pub fn new(process: Process, [number_max, bytes_max, rows_max]: [usize; 3]) -> Arc<Self> {
        Arc::new(OpenTransactions {
            process,
            number_max,
            bytes_max,
            rows_max,
            is_closed: AtomicBool::new(false),
            open: Mutex::default(),
        })
    }

    /// Ends them, since the database is closed.
    #[inline]
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Bytes that one of them may keep.
    #[inline]
    pub(super) fn bytes_of_one(&self) -> usize {
        self.bytes_max / 4
    }

    /// Rows that one of them may change.
    #[inline]
    pub(super) fn rows_of_one(&self) -> usize {
        self.rows_max
    }

    /// The most bytes that one takes at a time beyond its needs.
    #[inline]
    fn at_once(&self) -> usize {
        (self.bytes_max / 64).clamp(1, TAKEN_AT_ONCE)
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one more.
    #[inline]
    pub(super) fn begin(self: &Arc<Self>) -> Life {
        let state = Arc::new(AtomicU8::new(RUNS));
        let mut open = self.lock();
        let number = open.next;
        open.next += 1;
        let running = Running {
            state: state.clone(),
            taken: 0,
        };
        open.running.insert(number, running);
        if open.running.len() > self.number_max
            && let Some((&oldest, _)) = open.running.first_key_value()
        {
            open.end(oldest, DISPLACED);
        }
        drop(open);
        Life {
            all: Arc::clone(self),
            number: Some(number),
            state,
            taken: 0,
        }
    }

    /// Begins one that runs in the serial stage. There is one at a time, so it counts in no bound, and no other one ends
    /// it.
    #[inline]
    pub(super) fn begin_in_stage(self: &Arc<Self>) -> Life {
        Life {
            all: Arc::clone(self),
            number: None,
            state: Arc::new(AtomicU8::new(RUNS)),
            taken: 0,
        }
    }
}

/// The life of one of them.
#[derive(Debug)]
pub(super) struct Life {
    all: Arc<OpenTransactions>,
    /// `None` if it counts in no bound.
    number: Option<u64>,
    state: Arc<AtomicU8>,
    /// Bytes taken of the common bound.
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
        } else if self.state.load(Ordering::Acquire) == OUTGROWN {
            TransactionEnded::Outgrown {
                bytes_max: self.all.bytes_max,
            }
        } else {
            TransactionEnded::Displaced {
                max: self.all.number_max,
            }
        })
    }

    /// True if this is the process that began it.
    #[inline]
    pub fn is_here(&self) -> bool {
        self.all.process.is_current()
    }

    /// Notes its own end: from now on it is no open transaction, but its bytes count until they are free.
    #[inline]
    pub fn finish(&mut self) {
        // In a forked child it may stay locked for ever.
        if let Some(number) = self.number
            && self.is_here()
        {
            self.all.lock().end(number, OVER);
        }
    }

    /// Releases its bytes beyond these, in whole parts.
    #[inline]
    pub fn give(&mut self, bytes: usize) {
        let kept = bytes.next_multiple_of(self.all.at_once());
        let (Some(number), Some(less)) = (self.number, self.taken.checked_sub(kept)) else {
            return;
        };
        // In a forked child it may stay locked for ever.
        if less == 0 || !self.is_here() {
            return;
        }
        let mut open = self.all.lock();
        if let Some(running) = open.running.get_mut(&number) {
            running.taken -= less;
            open.bytes -= less;
            self.taken -= less;
        }
    }

    /// Takes bytes, so that it has as many as these. Beyond the common bound, the oldest other ones are ended.
    ///
    /// # Errors
    /// [`TableError::Ended`] if it was ended itself; [`TableError::OpenTransactionsFull`] if ended ones that are not
    /// dropped have too many.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<(), TableError> {
        let Some(number) = self.number else {
            return Ok(());
        };
        if bytes <= self.taken {
            return Ok(());
        }
        let limit = self.all.bytes_max;
        let at_once = self.taken.max(TAKEN_FIRST).min(self.all.at_once());
        let more = (bytes - self.taken).next_multiple_of(at_once);
        // In a forked child it may stay locked for ever.
        self.check()?;
        let mut open = self.all.lock();
        // It may have been ended since: then it ends no other one.
        if !open.running.contains_key(&number) {
            drop(open);
            return Err(self.ended());
        }
        while open.bytes + more > limit
            && let Some((oldest, taken)) = open.oldest_but(number)
            && open.ended_bytes + taken <= limit
        {
            open.end(oldest, OUTGROWN);
        }
        if open.bytes + more > limit || open.ended_bytes > limit {
            let bytes = open.ended_bytes;
            return Err(TableError::OpenTransactionsFull { bytes, limit });
        }
        if let Some(running) = open.running.get_mut(&number) {
            running.taken += more;
        }
        open.bytes += more;
        self.taken += more;
        Ok(())
    }
}

impl Drop for Life {
    #[inline]
    fn drop(&mut self) {
        // In a forked child the parent's locks may stay locked for ever.
        if let Some(number) = self.number
            && self.is_here()
        {
            self.all.lock().leave(number, self.taken);
        }
    }
}
