//! Locks that sessions have for each other: advisory locks of numbers, locks of `LOCK TABLE`, and [claims](crate::claims)
//! of rows. The database itself ignores them.
//!
//! A lock belongs to a session or to its transaction, and has a mode. A session may hold it several times. Waiting
//! sessions form a queue, so that shared locks cannot overtake an exclusive one for ever. A transaction that claims or
//! changes rows is noted as a holder of their table, whatever the locks of others: it does not wait. Nothing here is
//! stored.
//!
//! Invariants: two sessions take the same lock only in modes that do not exclude each other. No circle of sessions waits:
//! the request that would close it is refused. Locks and claims that a transaction has taken since a mark are given back
//! in the order of their taking.

mod listed;

pub(crate) use listed::{Listed, Locked};

use crate::activity::now;
use crate::claims::{Claimed, ROWS_MAX, RowClaims, RowHash, TableId};
use crate::error::{SqlError, code};
use crate::lock_modes::{Modes, RowMode, TableMode};
use sardonyx_base::waiting::BETWEEN_LOOKS;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The most locks that sessions of a database have, each with 200 bytes or so.
const LOCKS_MAX: usize = 100_000;

/// The key of a lock: one number, or two; or a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Key {
    One(i64),
    Two(i32, i32),
    Table(TableId),
}

/// The mode of a lock, and when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Mode {
    pub lock: TableMode,
    /// Until the transaction's end.
    pub of_transaction: bool,
}

/// The count of a session's holds on a lock, by mode.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Held {
    exclusive: u32,
    shared: u32,
    of_transaction: Modes,
}

impl Held {
    fn modes(self) -> Modes {
        let bit = |is_there: bool, mode: TableMode| if is_there { mode.bit() } else { 0 };
        self.of_transaction
            | bit(self.exclusive > 0, TableMode::Exclusive)
            | bit(self.shared > 0, TableMode::Share)
    }

    fn is_none(self) -> bool {
        self == Held::default()
    }

    /// Adds a hold. Returns true if it is a new one of the transaction.
    fn add(&mut self, mode: Mode) -> bool {
        match (mode.of_transaction, mode.lock) {
            (true, lock) => {
                let is_new = self.of_transaction & lock.bit() == 0;
                self.of_transaction |= lock.bit();
                is_new
            }
            (false, TableMode::Share) => {
                self.shared = self.shared.saturating_add(1);
                false
            }
            (false, _) => {
                self.exclusive = self.exclusive.saturating_add(1);
                false
            }
        }
    }
}

/// A lock, by sessions.
#[derive(Default, Debug)]
struct Lock {
    held: BTreeMap<u64, Held>,
    /// In the order of arrival, with the modes.
    waiting: Vec<(u64, TableMode)>,
}

impl Lock {
    /// The other sessions whose holds exclude a mode.
    fn held_against(&self, session: u64, mode: TableMode) -> impl Iterator<Item = u64> + '_ {
        let others = self
            .held
            .iter()
            .filter(move |(other, held)| **other != session && held.modes() & mode.excluded() != 0);
        others.map(|(other, _)| *other)
    }

    /// The sessions that wait in the queue before one, for modes that exclude its own.
    fn awaited_against(&self, session: u64, mode: TableMode) -> impl Iterator<Item = u64> + '_ {
        let before = self
            .waiting
            .iter()
            .take_while(move |(other, _)| *other != session);
        before
            .filter(move |(_, other)| other.bit() & mode.excluded() != 0)
            .map(|(other, _)| *other)
    }

    /// The sessions for which one waits that asks for a mode. A holder does not wait for those in the queue, nor for
    /// anyone if it has the mode.
    fn in_the_way(&self, session: u64, mode: TableMode) -> impl Iterator<Item = u64> + '_ {
        let own = self.held.get(&session);
        let has = own.is_some_and(|held| mode.is_within(held.modes()));
        let holders = self.held_against(session, mode).filter(move |_| !has);
        let awaited = self.awaited_against(session, mode);
        let is_holder = own.is_some();
        holders.chain(awaited.filter(move |_| !is_holder))
    }

    /// True if a session can take the lock now.
    fn is_free(&self, session: u64, mode: TableMode) -> bool {
        self.in_the_way(session, mode).next().is_none()
    }

    /// True if rows of the table are not to be claimed by a session that does not wait: for those that have locked the
    /// table, and for those that wait to do so. Else a steady stream of claims would hold them up for ever.
    fn excludes_rows(&self, session: u64) -> bool {
        let mode = TableMode::RowShare;
        self.held_against(session, mode).next().is_some()
            || !self.held.contains_key(&session)
                && self.awaited_against(session, mode).next().is_some()
    }
}

/// A lock or a claim that a transaction has taken.
#[derive(Clone, Copy, Debug)]
enum Taken {
    Lock(Key, TableMode),
    Rows(Claimed),
}

/// A session, as others see it.
#[derive(Debug)]
struct Known {
    /// The number by which its client knows it.
    process: u32,
    /// The number of its newest transaction.
    transaction: Arc<AtomicI64>,
}

#[derive(Default, Debug)]
struct State {
    locks: BTreeMap<Key, Lock>,
    /// The keys of the locks that a session has.
    keys: BTreeMap<u64, BTreeSet<Key>>,
    /// The lock that a session waits for, its mode, and since when.
    waits: BTreeMap<u64, (Key, TableMode, i64)>,
    rows: RowClaims,
    /// The locks and claims of sessions' transactions, in the order of their taking.
    taken: BTreeMap<u64, Vec<Taken>>,
    sessions: u64,
    known: BTreeMap<u64, Known>,
    /// True if a lock was released, or a queue left, for which others wait.
    wakes: bool,
}

impl State {
    fn try_take(&mut self, session: u64, key: Key, mode: Mode) -> Result<bool, SqlError> {
        let count = self.locks.len();
        let lock = self.locks.entry(key).or_default();
        let is_free = lock.is_free(session, mode.lock);
        if is_free {
            if count >= LOCKS_MAX && lock.held.is_empty() && !matches!(key, Key::Table(_)) {
                self.locks.remove(&key);
                let text = format!("sessions have at most {LOCKS_MAX} advisory locks");
                return Err(SqlError::new(code::OUT_OF_MEMORY, text));
            }
            self.hold(session, key, mode);
        }
        self.forget_unused(key);
        Ok(is_free)
    }

    /// Notes a hold, whatever others have.
    fn hold(&mut self, session: u64, key: Key, mode: Mode) {
        let lock = self.locks.entry(key).or_default();
        if lock.held.entry(session).or_default().add(mode) {
            let taken = self.taken.entry(session).or_default();
            taken.push(Taken::Lock(key, mode.lock));
        }
        self.keys.entry(session).or_default().insert(key);
    }

    /// Gives back what a session's transaction has taken since a mark.
    fn return_to(&mut self, session: u64, mark: usize) {
        let Some(mut taken) = self.taken.remove(&session) else {
            return;
        };
        let since = taken.split_off(mark.min(taken.len()));
        if !taken.is_empty() {
            self.taken.insert(session, taken);
        }
        for one in since.into_iter().rev() {
            match one {
                Taken::Rows(claimed) => self.rows.give_back(session, &claimed),
                Taken::Lock(key, mode) => self.change_one(session, key, |held| {
                    held.of_transaction &= !mode.bit();
                }),
            }
        }
    }

    /// Claims a row for a session. False if others have claimed it, and the claim is no `urgent` one.
    fn claim(
        &mut self,
        session: u64,
        (table, row): (TableId, RowHash),
        (mode, of_table): (RowMode, TableMode),
        urgent: bool,
    ) -> Result<Claim, SqlError> {
        if !urgent && self.is_claimed(session, (table, row), mode) {
            return Ok(Claim::Refused);
        }
        let claimed = self.rows.claim(table, row, session, (mode, urgent));
        let claimed = claimed.map_err(|_| {
            let text = format!("the transactions of a database lock at most {ROWS_MAX} rows");
            SqlError::new(code::CONFIGURATION_LIMIT, text)
                .hint("Lock fewer rows at a time, with LIMIT.")
        })?;
        let Some(claimed) = claimed else {
            return Ok(Claim::Had);
        };
        let taken = self.taken.entry(session).or_default();
        taken.push(Taken::Rows(claimed));
        let mode = Mode {
            lock: of_table,
            of_transaction: true,
        };
        self.hold(session, Key::Table(table), mode);
        Ok(Claim::New)
    }

    /// True if others have claimed a row, or locked its table, so that a session cannot claim it. Its own claim counts
    /// first.
    fn is_claimed(&self, session: u64, (table, row): (TableId, RowHash), mode: RowMode) -> bool {
        if self.rows.has(table, row, session, mode) {
            return false;
        }
        let lock = self.locks.get(&Key::Table(table));
        lock.is_some_and(|lock| lock.excludes_rows(session))
            || self.rows.is_claimed(table, row, session, mode)
    }

    /// Gives back the newest claim of a row.
    fn give_back(&mut self, session: u64, (table, row): (TableId, RowHash)) {
        let Some(taken) = self.taken.get_mut(&session) else {
            return;
        };
        let is_it = |one: &Taken| matches!(one, Taken::Rows(claimed) if claimed.table == table && claimed.row == Some(row));
        if let Some(at) = taken.iter().rposition(is_it)
            && let Taken::Rows(claimed) = taken.remove(at)
        {
            self.rows.give_back(session, &claimed);
        }
    }

    fn forget_unused(&mut self, key: Key) {
        if let Some(lock) = self.locks.get(&key)
            && lock.held.is_empty()
            && lock.waiting.is_empty()
        {
            self.locks.remove(&key);
        }
    }

    /// True if a session that waits for a lock would wait for itself: each session in its way waits in turn.
    fn is_circle(&self, session: u64) -> bool {
        let (mut open, mut seen) = (vec![session], BTreeSet::new());
        while let Some(waits) = open.pop() {
            let Some(&(key, mode, _)) = self.waits.get(&waits) else {
                continue;
            };
            let Some(lock) = self.locks.get(&key) else {
                continue;
            };
            for other in lock.in_the_way(waits, mode) {
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

    /// Changes a session's holds of each lock.
    fn change(&mut self, session: u64, change: impl Fn(&mut Held)) {
        for key in self.keys.get(&session).cloned().unwrap_or_default() {
            self.change_one(session, key, &change);
        }
    }

    /// Changes a session's hold of a lock.
    fn change_one(&mut self, session: u64, key: Key, change: impl FnOnce(&mut Held)) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        let Some(held) = lock.held.get_mut(&session) else {
            return;
        };
        let before = *held;
        change(held);
        self.wakes |= *held != before && !lock.waiting.is_empty();
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

    fn wait_for(&mut self, session: u64, key: Key, mode: TableMode) {
        let lock = self.locks.entry(key).or_default();
        lock.waiting.push((session, mode));
        self.waits.insert(session, (key, mode, now()));
    }

    fn wait_no_more(&mut self, session: u64, key: Key) {
        self.waits.remove(&session);
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.waiting.retain(|(of, _)| *of != session);
            self.wakes |= !lock.waiting.is_empty();
        }
        self.forget_unused(key);
    }
}

/// The outcome of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    New,
    /// The session had the claim.
    Had,
    /// Others have claimed the row.
    Refused,
}

/// The locks of a database's sessions.
#[derive(Default, Debug)]
pub(crate) struct AdvisoryLocks {
    state: Mutex<State>,
    changed: Condvar,
    hashes: [RandomState; 2],
}

impl AdvisoryLocks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a change of the state: wakes the waiting sessions, if it may concern them.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let wakes = std::mem::take(&mut state.wakes);
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
    }

    /// The number of sessions since the database was opened.
    pub fn sessions(&self) -> u64 {
        self.state().sessions
    }

    /// The way to them of a session, whose client knows it by a number.
    pub fn enter(self: &Arc<Self>, process: u32) -> Locker {
        let mut state = self.state();
        state.sessions += 1;
        let session = state.sessions;
        let transaction = Arc::<AtomicI64>::default();
        let known = Known {
            process,
            transaction: transaction.clone(),
        };
        state.known.insert(session, known);
        Locker {
            locks: self.clone(),
            session,
            has_taken: Arc::default(),
            transaction,
        }
    }
}

/// A session's access to the locks.
#[derive(Clone, Debug)]
pub(crate) struct Locker {
    locks: Arc<AdvisoryLocks>,
    session: u64,
    /// True if its transaction may have locks or claims.
    has_taken: Arc<AtomicBool>,
    /// The number of its newest transaction.
    transaction: Arc<AtomicI64>,
}

impl Locker {
    /// The session's state of locks, which may change now.
    fn taking(&self) -> MutexGuard<'_, State> {
        self.has_taken.store(true, Ordering::Relaxed);
        self.locks.state()
    }

    /// The session's number, which no other session of the process has.
    pub fn number(&self) -> u64 {
        self.session
    }

    /// Takes a lock if no other session is in its way.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn try_take(&self, key: Key, mode: Mode) -> Result<bool, SqlError> {
        self.taking().try_take(self.session, key, mode)
    }

    /// Takes a lock, and waits for it until `look` has an error.
    ///
    /// # Errors
    /// As [`Locker::try_take`]; `40P01` if others wait for locks of this session; the error of `look`.
    pub fn take(
        &self,
        key: Key,
        mode: Mode,
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut state = self.taking();
        if state.try_take(self.session, key, mode)? {
            return Ok(());
        }
        state.wait_for(self.session, key, mode.lock);
        // The last of a circle that begins to wait closes it. It is searched again at each look only, as wakes are many.
        let mut searches = true;
        let taken = loop {
            if searches && state.is_circle(self.session) {
                let text = "deadlock detected: another session waits for a lock of this one";
                break Err(SqlError::new(code::DEADLOCK, text));
            }
            let waited = self.locks.changed.wait_timeout(state, BETWEEN_LOOKS);
            let waited = waited.unwrap_or_else(PoisonError::into_inner);
            (state, searches) = (waited.0, waited.1.timed_out());
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
        self.locks.wake(state);
        taken
    }

    /// Releases one hold of the session on a lock. False if it does not have it.
    pub fn release(&self, key: Key, is_shared: bool) -> bool {
        let mut has = false;
        let mut state = self.locks.state();
        state.change_one(self.session, key, |held| {
            let count = match is_shared {
                true => &mut held.shared,
                false => &mut held.exclusive,
            };
            has = *count > 0;
            *count = count.saturating_sub(1);
        });
        self.locks.wake(state);
        has
    }

    /// Releases the session's locks; those of its transaction stay.
    pub fn release_session(&self) {
        let mut state = self.locks.state();
        state.change(self.session, |held| {
            (held.exclusive, held.shared) = (0, 0);
        });
        self.locks.wake(state);
    }

    /// The session's transaction has this number.
    pub fn note_transaction(&self, number: i64) {
        self.transaction.store(number, Ordering::Relaxed);
    }

    /// The session has ended.
    pub fn leave(&self) {
        self.release_session();
        self.end_transaction();
        self.locks.state().known.remove(&self.session);
    }

    /// The transaction has ended.
    pub fn end_transaction(&self) {
        self.return_to(0);
    }

    /// The place to which the transaction's locks and claims can be given back.
    pub fn mark(&self) -> usize {
        if !self.has_taken.load(Ordering::Relaxed) {
            return 0;
        }
        let state = self.locks.state();
        state.taken.get(&self.session).map_or(0, Vec::len)
    }

    /// Gives back the locks and claims that the transaction has taken since a mark.
    pub fn return_to(&self, mark: usize) {
        let has_taken = match mark {
            0 => self.has_taken.swap(false, Ordering::Relaxed),
            _ => self.has_taken.load(Ordering::Relaxed),
        };
        if has_taken {
            let mut state = self.locks.state();
            state.return_to(self.session, mark);
            self.locks.wake(state);
        }
    }

    /// The hash by which a row is claimed.
    pub fn hash_of(&self, key: &[u8]) -> RowHash {
        let [high, low] = self.locks.hashes.each_ref().map(|of| of.hash_one(key));
        u128::from(high) << 64 | u128::from(low)
    }

    /// Claims a row. An `urgent` claim is made whatever others have claimed; at the bound it is one of the whole table.
    ///
    /// # Errors
    /// `53400` beyond the bound.
    pub fn claim(
        &self,
        row: (TableId, RowHash),
        mode: RowMode,
        urgent: bool,
    ) -> Result<Claim, SqlError> {
        let modes = (mode, TableMode::RowShare);
        self.taking().claim(self.session, row, modes, urgent)
    }

    /// Claims a row that the transaction changes.
    pub fn claim_changed(&self, row: (TableId, RowHash), mode: RowMode) {
        let modes = (mode, TableMode::RowExclusive);
        let claimed = self.taking().claim(self.session, row, modes, true);
        debug_assert!(claimed.is_ok(), "an urgent claim has no bound");
    }

    /// Notes that the transaction changes rows of a table.
    pub fn hold_changed(&self, table: TableId) {
        let mode = Mode {
            lock: TableMode::RowExclusive,
            of_transaction: true,
        };
        self.taking().hold(self.session, Key::Table(table), mode);
    }

    /// True if others have claimed a row, so that this session cannot.
    pub fn is_claimed(&self, row: (TableId, RowHash), mode: RowMode) -> bool {
        self.locks.state().is_claimed(self.session, row, mode)
    }

    /// Gives back the newest claim of a row.
    pub fn give_back(&self, row: (TableId, RowHash)) {
        self.locks.state().give_back(self.session, row);
    }
}

#[cfg(test)]
mod tests;
