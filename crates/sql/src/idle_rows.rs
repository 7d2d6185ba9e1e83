//! Rows of open transactions that run aside, and those whose sessions wait for their clients. These count in the memory of all
//! sessions. If others need it, the oldest of these transactions lose their rows (I13).
//!
//! Invariant: rows are in one place, with their session or here.

use crate::blocking::unblocked;
use crate::signals::Effects;
use sardonyx::Snapshot;
use sardonyx::rows::OpenRows;
use sardonyx_base::memory::Reclaim;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rows of an open transaction that runs aside, with their snapshot.
#[derive(Debug)]
pub(crate) struct Aside {
    pub rows: OpenRows,
    /// Its place among those of all sessions, by age.
    pub number: u64,
    /// The state in which they began.
    pub snapshot: Snapshot,
    /// The version of the catalogue in its snapshot, and the group with which that is durable.
    pub version: u64,
    pub group: u64,
    pub effects: Effects,
}

/// The same as a session keeps it, shared by threads.
#[derive(Debug)]
pub(crate) struct Kept(Mutex<Aside>);

impl Kept {
    pub fn new(aside: Aside) -> Box<Kept> {
        Box::new(Kept(Mutex::new(aside)))
    }

    pub fn get(&mut self) -> &mut Aside {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(self: Box<Kept>) -> Aside {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The deposited rows of a database's sessions, by the age of their transactions.
#[derive(Debug, Default)]
pub(crate) struct IdleRows {
    rows: Mutex<BTreeMap<u64, Counted>>,
    /// The bytes of all of them. It changes while they are locked.
    bytes: AtomicUsize,
    next: AtomicU64,
}

/// Rows, and the bytes that they count.
#[derive(Debug)]
struct Counted {
    kept: Box<Kept>,
    bytes: usize,
}

impl IdleRows {
    /// The number of a transaction that goes aside: older ones have smaller numbers.
    pub fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Counted>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deposit(&self, number: u64, kept: Box<Kept>, bytes: usize) {
        let mut rows = self.lock();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        rows.insert(number, Counted { kept, bytes });
    }

    fn take(&self, number: u64) -> Option<Box<Kept>> {
        let mut rows = self.lock();
        let Counted { kept, bytes } = rows.remove(&number)?;
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        Some(kept)
    }
}

impl Reclaim for IdleRows {
    fn held(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn reclaim(&self, bytes: usize) -> bool {
        let mut rows = self.lock();
        if self.held() < bytes {
            return false;
        }
        let (mut given, mut ended) = (0, Vec::new());
        while given < bytes
            && let Some((_, mut counted)) = rows.pop_first()
        {
            self.bytes.fetch_sub(counted.bytes, Ordering::Relaxed);
            given += counted.kept.get().rows.uncount();
            ended.push(counted);
        }
        drop(rows);
        // It takes time in proportion to their rows, and the caller may have the stage.
        drop(unblocked(move || drop(ended)));
        true
    }
}

/// Rows that a session has deposited. They are dropped with it.
#[derive(Debug)]
pub(crate) struct Deposit {
    all: Arc<IdleRows>,
    number: u64,
}

impl Deposit {
    pub fn of(all: &Arc<IdleRows>, mut kept: Box<Kept>, bytes: usize) -> Deposit {
        let number = kept.get().number;
        all.deposit(number, kept, bytes);
        Deposit {
            all: all.clone(),
            number,
        }
    }

    /// Takes the rows; `None` if others have needed the memory.
    pub fn take(&self) -> Option<Box<Kept>> {
        self.all.take(self.number)
    }
}

impl Drop for Deposit {
    fn drop(&mut self) {
        drop(self.take());
    }
}
