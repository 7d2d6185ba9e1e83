//! Waiters for a group to become durable: parked threads and registered wakers.
//!
//! Threads park on one of a few words, chosen by the group's number. So a finished group wakes its own waiters, all of
//! them with one system call, and few others.

use sardonyx_base::sync::atomic::{AtomicU32, Ordering};
use sardonyx_base::sync::{Mutex, ParkingWord};
use sardonyx_base::user_code::wake;
use std::ops::Range;
use std::task::Waker;

const SLOTS: usize = 64;

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
    generation: ParkingWord,
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
    /// The argument for [`Waiting::park`]. Get it *before* looking for work: a wake-up after that is not missed.
    pub fn seen(&self, number: u64) -> u32 {
        self.slots[number as usize % SLOTS].generation.value()
    }

    /// Parks until the group's slot is woken, unless it was since `seen`, or `done` already. May
    /// return early.
    pub fn park(&self, number: u64, seen: u32, done: impl Fn() -> bool) {
        let slot = &self.slots[number as usize % SLOTS];
        slot.parked.fetch_add(1, Ordering::SeqCst);
        // A waker that does not see us counted has changed the generation already.
        if !done() {
            slot.generation.park(seen);
        }
        slot.parked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Adds a waker for a group.
    pub fn register(&self, number: u64, waker: &Waker) {
        // The program's code, which may call us or panic: not while we hold the lock.
        let mut new = Some(waker.clone());
        let mut wakers = self.wakers.lock();
        if !wakers
            .iter()
            .any(|(known, old)| *known == number && old.will_wake(waker))
        {
            wakers.extend(new.take().map(|new| (number, new)));
        }
        drop(wakers);
    }

    /// Wakes the waiters for these groups.
    pub fn wake(&self, numbers: Range<u64>) {
        let end = numbers.end;
        for number in numbers.take(SLOTS) {
            self.slots[number as usize % SLOTS].wake();
        }
        self.wake_tasks(end);
    }

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
            wake(waker);
        }
    }
}

impl Slot {
    fn wake(&self) {
        self.generation.change();
        if self.parked.load(Ordering::SeqCst) > 0 {
            self.generation.wake_all();
        }
    }
}
