//! Answers of a session that wait to be sent: their bytes, and the bound at which the rest of a flight waits for them.
//!
//! A client that asks for many large values and does not read must not take all memory there is. So a flight whose answers
//! are large is answered in parts ([`Pending::is_full`]), and the answers of all sessions share one bound.
//!
//! A flight that changes many rows, or gathers much to answer little, is run in parts, too: others have the serial stage
//! between two parts. So a flight of many deletions holds others for one part, and each command is still a transaction of
//! its own.
//!
//! Commands of few words may take long on long values and large keys, which only shows when they have run. So behind such a
//! command ([`Pending::is_long`]) the next ones of its session step aside: they do not run on the thread that serves others.

use crate::command::line::Line;
use crate::data::Room;
use crate::failure::Failure;
use sardonyx_base::memory::{Budget, Share};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers, and commands that wait, up to so many bytes are not counted among those of all sessions.
pub(crate) const SMALL_BYTES: usize = 64 << 10;
/// An answer takes its bytes twice: as a value, and as it is sent.
pub(crate) const COPIES: usize = 2;

/// The rest of a flight waits when its commands have made so many changes. Commands on single values make fewer, as many
/// as there may be in a flight.
const CHANGES_MAX: usize = 16 << 10;

/// To gather so many bytes takes as long as a change.
const BYTES_OF_CHANGE: usize = 1 << 10;
/// A command of so many changes is long: it takes about a millisecond.
const LONG_CHANGES: usize = 4 << 10;
/// The parts of flights behind a long command that step aside.
const PARTS_ASIDE: usize = 64;

/// The memory that the answers of a session take.
#[derive(Debug)]
pub(crate) struct Pending {
    /// From so many bytes on the rest of a flight waits.
    full: usize,
    bytes: AtomicUsize,
    /// The changes of the commands of this part of the flight.
    changes: AtomicUsize,
    /// So many parts of flights are still to step aside.
    aside: AtomicUsize,
    budget: Arc<Budget>,
    share: Mutex<Share>,
    /// Commands that took long, with how many microseconds.
    slow: Mutex<Vec<(Line, i64)>>,
    has_slow: AtomicBool,
    /// A script of the flight has run a command that reads.
    script_has_read: AtomicBool,
}

impl Pending {
    pub fn new(full: usize, budget: Arc<Budget>) -> Pending {
        Pending {
            full,
            bytes: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
            aside: AtomicUsize::new(0),
            share: Mutex::new(Share::of(budget.clone())),
            budget,
            slow: Mutex::default(),
            has_slow: AtomicBool::new(false),
            script_has_read: AtomicBool::new(false),
        }
    }

    /// True if the answers so far are to be sent before more commands run.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.full
            || self.changes.load(Ordering::Relaxed) >= CHANGES_MAX
    }

    /// Counts the changes of a command, and the bytes that it has gathered.
    #[inline]
    pub fn add_work(&self, changes: usize, gathered: usize) {
        let work = changes + gathered / BYTES_OF_CHANGE;
        if work >= LONG_CHANGES {
            return self.add_long(work);
        }
        // One thread at a time has the serial stage.
        let all = self.changes.load(Ordering::Relaxed).saturating_add(work);
        self.changes.store(all, Ordering::Relaxed);
    }

    #[cold]
    fn add_long(&self, work: usize) {
        let first = self.aside.swap(PARTS_ASIDE, Ordering::Relaxed) == 0;
        // The rest of a flight that has not stepped aside waits, and does so then.
        let work = if first { CHANGES_MAX } else { work };
        self.changes.fetch_add(work, Ordering::Relaxed);
    }

    /// True if a command of the session took long lately: the next ones step aside.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.aside.load(Ordering::Relaxed) > 0
    }

    /// The room of the next answer: at most `most` bytes, and no more than there is memory for.
    #[inline]
    pub fn room(&self, most: usize) -> Room {
        // Most answers are small, and there is memory for much larger ones.
        if self.budget.left() / COPIES >= most && self.budget.check().is_ok() {
            return Room::new(most);
        }
        // With what others would give back for it.
        self.bounded_room(most)
    }

    /// The same beside a long transaction: memory is counted while it is gathered.
    pub fn counted_room(&self, most: usize) -> Room {
        Room::counted(most, self.memory())
    }

    /// A new, empty share of the memory for the answers of all sessions.
    pub fn memory(&self) -> Share {
        Share::of(self.budget.clone())
    }

    #[cold]
    fn bounded_room(&self, most: usize) -> Room {
        let there = (self.share().room() / COPIES).max(SMALL_BYTES);
        let left = there.saturating_sub(self.bytes.load(Ordering::Relaxed));
        match left < most {
            true => Room::bounded(left, self.budget.exhausted()),
            false => Room::new(most),
        }
    }

    /// Checks that something may be stored.
    ///
    /// # Errors
    /// [`Failure::Memory`].
    #[inline]
    pub fn check(&self) -> Result<(), Failure> {
        Ok(self.budget.check()?)
    }

    /// Counts an answer.
    ///
    /// # Errors
    /// [`Failure::Memory`] if there is no memory for it.
    #[inline]
    pub fn take(&self, bytes: usize) -> Result<(), Failure> {
        // One thread at a time has the serial stage.
        let all = self.bytes.load(Ordering::Relaxed).saturating_add(bytes);
        if all > SMALL_BYTES {
            self.share().cover(all.saturating_mul(COPIES))?;
        }
        self.bytes.store(all, Ordering::Relaxed);
        Ok(())
    }

    /// Commands took long.
    #[cold]
    pub fn keep_slow(&self, slow: Vec<(Line, i64)>) {
        let mut own = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        own.extend(slow);
        self.has_slow.store(true, Ordering::Release);
    }

    /// The slow commands since the last call, if any.
    #[inline]
    pub fn take_slow(&self) -> Option<Vec<(Line, i64)>> {
        if !self.has_slow.load(Ordering::Acquire) {
            return None;
        }
        self.has_slow.store(false, Ordering::Relaxed);
        let mut own = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *own))
    }

    /// A script has run a command that reads.
    pub fn note_script_read(&self) {
        self.script_has_read.store(true, Ordering::Relaxed);
    }

    /// True if one has since the last call.
    pub fn take_script_read(&self) -> bool {
        self.script_has_read.swap(false, Ordering::Relaxed)
    }

    /// All answers were sent.
    pub fn release(&self) {
        self.changes.store(0, Ordering::Relaxed);
        let aside = self.aside.load(Ordering::Relaxed);
        if aside > 0 {
            self.aside.store(aside - 1, Ordering::Relaxed);
        }
        if self.bytes.swap(0, Ordering::Relaxed) > SMALL_BYTES {
            *self.share() = Share::of(self.budget.clone());
        }
    }

    fn share(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_room_that_there_is_memory_for() {
        let budget = Arc::new(Budget::default());
        let pending = Pending::new(1 << 20, budget.clone());
        assert!(pending.room(8 << 20).take(7 << 20));
        budget.set_bytes_max(4 << 20);
        // Nothing is gathered that could not be kept.
        let room = pending.room(8 << 20);
        assert!(!room.take(3 << 20));
        let refused = room.check().expect_err("no memory").to_string();
        assert!(refused.starts_with("OOM answers and rows"), "{refused}");
        assert!(pending.room(8 << 20).take(1 << 20));
        // Memory that the session has taken already counts.
        pending.take(1 << 20).expect("memory");
        assert!(!pending.room(8 << 20).take(1 << 20));
        assert!(pending.room(8 << 20).take(1000 << 10));
        pending.release();
        // Beside a long transaction it is taken while it is gathered.
        let (one, other) = (pending.counted_room(8 << 20), pending.counted_room(8 << 20));
        assert!(one.take(1 << 20) && budget.taken() >= 2 << 20);
        assert!(other.take(60 << 10) && !other.take(1 << 20) && !other.take(1));
        let refused = other.check().expect_err("no memory").to_string();
        assert!(refused.starts_with("OOM answers and rows"), "{refused}");
        drop((one, other));
        assert_eq!(budget.taken(), 0);
        // Small answers need no memory of their own.
        budget.set_short(true);
        let room = pending.room(8 << 20);
        assert!(room.take(60 << 10) && !room.take(60 << 10));
        let refused = room.check().expect_err("no memory").to_string();
        assert!(refused.starts_with("OOM the process"), "{refused}");
    }
}
