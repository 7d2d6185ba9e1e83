//! Advisory locks: numbers that sessions lock for each other. The database looks at none of them.
//!
//! A lock is of a session or of its transaction, shared or exclusive. A session may have it several times. Who waits is in
//! a queue, so that shared locks do not overtake an exclusive one for ever. Nothing here is stored.
//!
//! Invariants: no two sessions have a lock unless both have it shared. No circle of sessions waits: the one that would
//! close it is refused.

use crate::error::{SqlError, code};
use sardonyx_base::waiting::BETWEEN_LOOKS;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most locks that sessions of a database have, each with 200 bytes or so.
const LOCKS_MAX: usize = 100_000;

/// The key of a lock: one number, or two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    One(i64),
    Two(i32, i32),
}

/// The mode of a lock, and when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    pub is_shared: bool,
    /// Until the transaction's end.
    pub of_transaction: bool,
}

/// The count of a session's holds on a lock, by mode.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Held {
    exclusive: u32,
    shared: u32,
    of_transaction_exclusive: bool,
    of_transaction_shared: bool,
}

impl Held {
    fn is_exclusive(self) -> bool {
        self.exclusive > 0 || self.of_transaction_exclusive
    }

    fn is_none(self) -> bool {
        self == Held::default()
    }

    fn add(&mut self, mode: Mode) {
        match (mode.of_transaction, mode.is_shared) {
            (false, false) => self.exclusive = self.exclusive.saturating_add(1),
            (false, true) => self.shared = self.shared.saturating_add(1),
            (true, false) => self.of_transaction_exclusive = true,
            (true, true) => self.of_transaction_shared = true,
        }
    }
}

/// A lock, by sessions.
#[derive(Default, Debug)]
struct Lock {
    held: BTreeMap<u64, Held>,
    /// In the order in which they came: true if shared.
    waiting: Vec<(u64, bool)>,
}

impl Lock {
    /// True if a session that does not have it so already must wait for another's lock.
    fn is_held_against(&self, session: u64, is_shared: bool) -> bool {
        let mut others = self.held.iter().filter(|(other, _)| **other != session);
        others.any(|(_, held)| !is_shared || held.is_exclusive())
    }

    /// True if another waits before it for what it would be in the way of.
    fn is_awaited_against(&self, session: u64, is_shared: bool) -> bool {
        let before = self
            .waiting
            .iter()
            .take_while(|(other, _)| *other != session);
        let mut before = before.filter(|(_, other_shared)| !is_shared || !other_shared);
        !self.held.contains_key(&session) && before.next().is_some()
    }
}

#[derive(Default, Debug)]
struct State {
    locks: BTreeMap<Key, Lock>,
    /// The keys of the locks that a session has.
    keys: BTreeMap<u64, BTreeSet<Key>>,
    /// The lock that a session waits for, and whether it waits for a shared one.
    waits: BTreeMap<u64, (Key, bool)>,
    sessions: u64,
}

impl State {
    fn try_take(&mut self, session: u64, key: Key, mode: Mode) -> Result<bool, SqlError> {
        let count = self.locks.len();
        let lock = self.locks.entry(key).or_default();
        let is_free = !lock.is_held_against(session, mode.is_shared)
            && !lock.is_awaited_against(session, mode.is_shared);
        if is_free {
            if count >= LOCKS_MAX && lock.held.is_empty() {
                self.locks.remove(&key);
                let text = format!("sessions have at most {LOCKS_MAX} advisory locks");
                return Err(SqlError::new(code::OUT_OF_MEMORY, text));
            }
            lock.held.entry(session).or_default().add(mode);
            self.keys.entry(session).or_default().insert(key);
        }
        self.forget_unused(key);
        Ok(is_free)
    }

    fn forget_unused(&mut self, key: Key) {
        if let Some(lock) = self.locks.get(&key)
            && lock.held.is_empty()
            && lock.waiting.is_empty()
        {
            self.locks.remove(&key);
        }
    }

    /// True if a session that waits for a lock waits for itself: each that is in its way waits in turn.
    fn is_circle(&self, session: u64) -> bool {
        let (mut open, mut seen) = (vec![session], BTreeSet::new());
        while let Some(waits) = open.pop() {
            let Some(&(key, is_shared)) = self.waits.get(&waits) else {
                continue;
            };
            let Some(lock) = self.locks.get(&key) else {
                continue;
            };
            let holders = lock
                .held
                .iter()
                .filter(|(other, held)| **other != waits && (!is_shared || held.is_exclusive()));
            let before = lock.waiting.iter().take_while(|(other, _)| *other != waits);
            let before = before.filter(|(_, other_shared)| !is_shared || !other_shared);
            for other in holders
                .map(|(other, _)| *other)
                .chain(before.map(|(other, _)| *other))
            {
                if other == session {
                    return true;
                }
                if seen.insert(other) {
                    open.push(other);
                }
            }
        }
        false
    }

    /// Changes what a session has of each lock.
    fn change(&mut self, session: u64, change: impl Fn(&mut Held)) {
        for key in self.keys.get(&session).cloned().unwrap_or_default() {
            self.change_one(session, key, &change);
        }
    }

    /// Changes what a session has of a lock that it has.
    fn change_one(&mut self, session: u64, key: Key, change: impl FnOnce(&mut Held)) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        let Some(held) = lock.held.get_mut(&session) else {
            return;
        };
        change(held);
        if held.is_none() {
            lock.held.remove(&session);
            if let Some(keys) = self.keys.get_mut(&session) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.keys.remove(&session);
                }
            }
        }
        self.forget_unused(key);
    }

    fn wait_for(&mut self, session: u64, key: Key, is_shared: bool) {
        let lock = self.locks.entry(key).or_default();
        lock.waiting.push((session, is_shared));
        self.waits.insert(session, (key, is_shared));
    }

    fn wait_no_more(&mut self, session: u64, key: Key) {
        self.waits.remove(&session);
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.waiting.retain(|(of, _)| *of != session);
        }
        self.forget_unused(key);
    }
}

/// The advisory locks of a database.
#[derive(Default, Debug)]
pub(crate) struct AdvisoryLocks {
    state: Mutex<State>,
    changed: Condvar,
}

impl AdvisoryLocks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session's way to them.
    pub fn enter(self: &Arc<Self>) -> Locker {
        let mut state = self.state();
        state.sessions += 1;
        Locker {
            locks: self.clone(),
            session: state.sessions,
        }
    }
}

/// A session's way to the locks.
#[derive(Clone, Debug)]
pub(crate) struct Locker {
    locks: Arc<AdvisoryLocks>,
    session: u64,
}

impl Locker {
    /// Takes a lock if nothing is in its way.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn try_take(&self, key: Key, mode: Mode) -> Result<bool, SqlError> {
        self.locks.state().try_take(self.session, key, mode)
    }

    /// Takes a lock, and waits for it until `look` has an error.
    ///
    /// # Errors
    /// As [`Locker::try_take`]; `40P01` if others wait for what this session has; that of `look`.
    pub fn take(
        &self,
        key: Key,
        mode: Mode,
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut state = self.locks.state();
        if state.try_take(self.session, key, mode)? {
            return Ok(());
        }
        state.wait_for(self.session, key, mode.is_shared);
        let taken = loop {
            if state.is_circle(self.session) {
                let text =
                    "deadlock detected: another session waits for an advisory lock of this one";
                break Err(SqlError::new(code::DEADLOCK, text));
            }
            let waited = self.locks.changed.wait_timeout(state, BETWEEN_LOOKS);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            match state.try_take(self.session, key, mode) {
                Ok(true) => break Ok(()),
                Ok(false) => {}
                Err(error) => break Err(error),
            }
            if let Err(error) = look() {
                break Err(error);
            }
        };
        state.wait_no_more(self.session, key);
        drop(state);
        self.locks.changed.notify_all();
        taken
    }

    /// Gives a lock of the session back, once. False if it does not have it.
    pub fn release(&self, key: Key, is_shared: bool) -> bool {
        let mut has = false;
        self.locks.state().change_one(self.session, key, |held| {
            let count = match is_shared {
                true => &mut held.shared,
                false => &mut held.exclusive,
            };
            has = *count > 0;
            *count = count.saturating_sub(1);
        });
        self.locks.changed.notify_all();
        has
    }

    /// Gives back what the session has; that of its transaction stays.
    pub fn release_session(&self) {
        self.locks.state().change(self.session, |held| {
            (held.exclusive, held.shared) = (0, 0);
        });
        self.locks.changed.notify_all();
    }

    /// The transaction has ended.
    pub fn end_transaction(&self) {
        self.locks.state().change(self.session, |held| {
            (held.of_transaction_exclusive, held.of_transaction_shared) = (false, false);
        });
        self.locks.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{AdvisoryLocks, Key, Mode};
    use std::sync::Arc;

    const EXCLUSIVE: Mode = Mode {
        is_shared: false,
        of_transaction: false,
    };
    const SHARED: Mode = Mode {
        is_shared: true,
        ..EXCLUSIVE
    };

    #[test]
    fn a_shared_lock_does_not_overtake_an_exclusive_one_that_waits() {
        let locks = Arc::new(AdvisoryLocks::default());
        let [first, second, third] = [(); 3].map(|()| locks.enter());
        let key = Key::One(1);
        assert!(first.try_take(key, SHARED).expect("there is room"));
        locks.state().wait_for(second.session, key, false);
        assert!(!third.try_take(key, SHARED).expect("there is room"));
        assert!(first.try_take(key, SHARED).expect("it has it already"));
        locks.state().wait_no_more(second.session, key);
        assert!(third.try_take(key, SHARED).expect("there is room"));
    }

    #[test]
    fn a_circle_of_sessions_that_wait_is_found() {
        let locks = Arc::new(AdvisoryLocks::default());
        let sessions = [(); 3].map(|()| locks.enter());
        for (number, session) in (0..).zip(&sessions) {
            let taken = session.try_take(Key::Two(0, number), EXCLUSIVE);
            assert!(taken.expect("there is room"));
        }
        for (number, session) in (0..).zip(&sessions) {
            let session = session.session;
            let awaited = Key::Two(0, (number + 1) % 3);
            let mut state = locks.state();
            state.wait_for(session, awaited, false);
            assert_eq!(state.is_circle(session), number == 2, "{number}");
        }
    }

    #[test]
    fn a_session_that_ends_leaves_nothing_behind() {
        let locks = Arc::new(AdvisoryLocks::default());
        let session = locks.enter();
        let of_transaction = Mode {
            of_transaction: true,
            ..EXCLUSIVE
        };
        for number in 0..10 {
            let taken = session.try_take(Key::One(number), EXCLUSIVE);
            assert!(taken.expect("there is room"));
            let again = session.try_take(Key::One(number), of_transaction);
            assert!(again.expect("it has it"));
        }
        session.release_session();
        assert_eq!(locks.state().locks.len(), 10);
        session.end_transaction();
        assert!(locks.state().locks.is_empty() && locks.state().keys.is_empty());
    }
}
