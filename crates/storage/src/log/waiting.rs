//! Whoever waits for a group to become durable: parked threads and registered wakers.
//!
//! Threads park on one of a few words, chosen by the group's number, so that a finished group wakes
//! its own waiters, all of them with one system call, and nobody else's.

use parking_lot::Mutex;
use rustix::thread::futex;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

const SLOTS: usize = 64;

/// The waiters.
#[derive(Debug)]
pub(super) struct Waiting {
    slots: [Slot; SLOTS],
    wakers: Mutex<Vec<(u64, Waker)>>,
}

/// A word to park on; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot {
    /// Changes whenever the slot's waiters are to look again.
    generation: AtomicU32,
    parked: AtomicU32,
}

impl Default for Waiting {
    fn default() -> Self {
        Waiting {
            slots: std::array::from_fn(|_| Slot::default()),
            wakers: Mutex::default(),
        }
    }
}

impl Waiting {
    /// Parks until the group's slot is woken, unless `done` already. May return early.
    pub fn park(&self, number: u64, done: impl Fn() -> bool) {
        let slot = &self.slots[number as usize % SLOTS];
        slot.parked.fetch_add(1, Ordering::SeqCst);
        let generation = slot.generation.load(Ordering::SeqCst);
        // Checked after we are counted: a waker that missed us has changed what `done` looks at.
        if !done() {
            // Interruptions and changed words are as good as a wake-up: the caller looks again.
            let _ = futex::wait(&slot.generation, futex::Flags::PRIVATE, generation, None);
        }
        slot.parked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Adds a waker for a group.
    pub fn register(&self, number: u64, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        match wakers
            .iter_mut()
            .find(|(n, w)| *n == number && w.will_wake(waker))
        {
            Some((_, old)) => old.clone_from(waker),
            None => wakers.push((number, waker.clone())),
        }
    }

    /// Wakes those who wait for these groups.
    pub fn wake(&self, numbers: Range<u64>) {
        let end = numbers.end;
        for number in numbers.take(SLOTS) {
            self.slots[number as usize % SLOTS].wake();
        }
        self.wake_tasks(end);
    }

    /// Wakes everyone.
    pub fn wake_all(&self) {
        self.slots.iter().for_each(Slot::wake);
        self.wake_tasks(u64::MAX);
    }

    fn wake_tasks(&self, below: u64) {
        let mut wakers = self.wakers.lock();
        if wakers.is_empty() {
            return;
        }
        let ready: Vec<_> = wakers
            .extract_if(.., |(number, _)| *number < below)
            .collect();
        drop(wakers);
        for (_, waker) in ready {
            waker.wake();
        }
    }
}

impl Slot {
    fn wake(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        if self.parked.load(Ordering::SeqCst) > 0 {
            let _ = futex::wake(&self.generation, futex::Flags::PRIVATE, u32::MAX >> 1);
        }
    }
}
