//! A lock table of one thread, by key: the reference for the threaded [`sardonyx_lock::Locks`].
//!
//! An unlocked object takes no room. The holdings and waits of an owner are listed by owner, so that the end of a
//! transaction costs no search.

#![allow(dead_code, reason = "a test of multilevel uses a part of it")]

pub mod waits_for;

use core::hash::Hash;
use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::{Answer, Compatibility, LockQueue, Mode, Modes};
use smallvec::SmallVec;
use waits_for::Blockers;

/// Counts since the table was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Requests of any outcome.
    pub requests: u64,
    /// Requests that had to wait.
    pub waits: u64,
    /// Requests taken back while they waited.
    pub cancelled: u64,
    /// Deadlocks found by [`LockTable::deadlock`].
    pub deadlocks: u64,
}

/// A table of locks on objects named by `K`, owned by `O`s.
#[derive(Clone, Debug)]
pub struct LockTable<K, O> {
    matrix: Compatibility,
    queues: IntegerMap<K, LockQueue<O>>,
    /// By owner: the objects that it holds or awaits, in order of the first request.
    owned: IntegerMap<O, SmallVec<[K; 8]>>,
    statistics: Statistics,
}

impl<K: Copy + Eq + Hash, O: Copy + Eq + Hash> LockTable<K, O> {
    /// An empty table with this matrix.
    pub fn new(matrix: Compatibility) -> Self {
        LockTable {
            matrix,
            queues: IntegerMap::default(),
            owned: IntegerMap::default(),
            statistics: Statistics::default(),
        }
    }

    /// Asks for a lock on `key`.
    ///
    /// # Panics
    /// If the matrix has no such mode.
    pub fn request(&mut self, owner: O, key: K, mode: Mode) -> Answer {
        assert!(
            usize::from(mode.0) < self.matrix.modes(),
            "the matrix has no lock mode {}",
            mode.0
        );
        let queue = self.queues.entry(key).or_default();
        let new = queue.held(owner).is_empty() && queue.awaited(owner).is_empty();
        if new {
            self.owned.entry(owner).or_default().push(key);
        }
        let answer = queue.request(&self.matrix, owner, mode);
        self.statistics.requests += 1;
        self.statistics.waits += u64::from(answer == Answer::Waiting);
        answer
    }

    /// Releases one lock, held or awaited. Appends to `granted` the owners that hold (more) of `key` now.
    pub fn release(&mut self, owner: O, key: K, granted: &mut Vec<(O, K)>) {
        self.release_in_queue(owner, key, granted);
        self.disown(owner, key);
    }

    /// Gives back all that the owner holds or awaits, in the order of its requests.
    pub fn release_all(&mut self, owner: O, granted: &mut Vec<(O, K)>) {
        for key in self.owned.remove(&owner).unwrap_or_default() {
            self.release_in_queue(owner, key, granted);
        }
    }

    /// Cancels the owner's request for `key`; its held modes stay. Returns true if it waited.
    pub fn cancel(&mut self, owner: O, key: K, granted: &mut Vec<(O, K)>) -> bool {
        let Some(queue) = self.queues.get_mut(&key) else {
            return false;
        };
        let mut owners = SmallVec::<[O; 4]>::new();
        let waited = queue.cancel(&self.matrix, owner, &mut owners);
        granted.extend(owners.into_iter().map(|owner| (owner, key)));
        let disowned = waited && queue.held(owner).is_empty();
        if queue.is_free() {
            self.queues.remove(&key);
        }
        if disowned {
            self.disown(owner, key);
        }
        self.statistics.cancelled += u64::from(waited);
        waited
    }

    /// The modes that the owner holds of `key`.
    pub fn held(&self, owner: O, key: K) -> Modes {
        self.queues
            .get(&key)
            .map_or(Modes::NONE, |queue| queue.held(owner))
    }

    /// The owners in a cycle of waiting through `owner`, if there is one in this table alone. To
    /// look over several tables at once, see [`waits_for::cycle`].
    pub fn deadlock(&mut self, owner: O) -> Option<Vec<O>> {
        let cycle = waits_for::cycle(&[&*self], owner);
        self.statistics.deadlocks += u64::from(cycle.is_some());
        cycle
    }

    /// The number of objects that are held or awaited.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Returns true if nothing is held or awaited.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Counts since the table was made.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn release_in_queue(&mut self, owner: O, key: K, granted: &mut Vec<(O, K)>) {
        let Some(queue) = self.queues.get_mut(&key) else {
            return;
        };
        let mut owners = SmallVec::<[O; 4]>::new();
        queue.release(&self.matrix, owner, &mut owners);
        granted.extend(owners.into_iter().map(|owner| (owner, key)));
        if queue.is_free() {
            self.queues.remove(&key);
        }
    }

    fn disown(&mut self, owner: O, key: K) {
        if let Some(keys) = self.owned.get_mut(&owner) {
            keys.retain(|other| *other != key);
            if keys.is_empty() {
                self.owned.remove(&owner);
            }
        }
    }
}

impl<K: Copy + Eq + Hash, O: Copy + Eq + Hash> Blockers<O> for LockTable<K, O> {
    fn blockers(&self, waiter: O, visit: &mut dyn FnMut(O)) {
        for key in self.owned.get(&waiter).into_iter().flatten() {
            let queue = &self.queues[key];
            queue.blockers(&self.matrix, waiter).for_each(&mut *visit);
        }
    }
}
