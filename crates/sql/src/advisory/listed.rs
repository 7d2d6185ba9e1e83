//! The locks of all sessions, as `pg_locks` lists them.
//!
//! Claims of rows are not listed, as in PostgreSQL: their table is, and the lock of its own number that a transaction has
//! from its first claim or change on.

use super::{AdvisoryLocks, Key, Known, State, Taken};
use crate::lock_modes::{Modes, TableMode};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// The object of a listed lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locked {
    Key(Key),
    /// A transaction's own number.
    Transaction,
}

/// A lock that a session has, or waits for.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub locked: Locked,
    pub session: u64,
    /// The number of the session's process, as its client knows it.
    pub process: u32,
    pub transaction: i64,
    pub mode: TableMode,
    /// When the session began to wait, in microseconds since 1970; `None` if it has the lock.
    pub waits_since: Option<i64>,
}

impl State {
    fn known(&self, session: u64) -> (u32, i64) {
        let known = self.known.get(&session);
        let numbers = |known: &Known| (known.process, known.transaction.load(Ordering::Relaxed));
        known.map_or((0, 0), numbers)
    }

    /// True if a session's transaction has claimed or changed rows.
    fn has_written(&self, session: u64) -> bool {
        let writes = |taken: &Taken| match taken {
            Taken::Rows(_) => true,
            Taken::Lock(key, mode) => {
                matches!(key, Key::Table(_)) && *mode == TableMode::RowExclusive
            }
        };
        let taken = self.taken.get(&session);
        taken.is_some_and(|taken| taken.iter().any(writes))
    }
}

impl AdvisoryLocks {
    /// The locks, and those that sessions wait for.
    pub fn listed(&self) -> Vec<Listed> {
        let state = self.state();
        let mut all = Vec::new();
        let mut list = |locked, session, mode, waits_since| {
            let (process, transaction) = state.known(session);
            all.push(Listed {
                locked,
                session,
                process,
                transaction,
                mode,
                waits_since,
            });
        };
        for (key, lock) in &state.locks {
            for (session, held) in &lock.held {
                for mode in modes_of(held.modes()) {
                    list(Locked::Key(*key), *session, mode, None);
                }
            }
        }
        for (session, (key, mode, since)) in &state.waits {
            list(Locked::Key(*key), *session, *mode, Some(*since));
        }
        for session in state.taken.keys() {
            if state.has_written(*session) {
                list(Locked::Transaction, *session, TableMode::Exclusive, None);
            }
        }
        all
    }

    /// The locks that sessions wait for, by the sessions' numbers.
    pub fn awaited(&self) -> BTreeMap<u64, Key> {
        let state = self.state();
        let waits = state.waits.iter();
        waits.map(|(session, (key, ..))| (*session, *key)).collect()
    }

    /// The processes of the sessions for which a session waits, each once: those that hold its lock in a mode that
    /// excludes its own, and those before it in the queue. Empty if it does not wait.
    pub fn blocking(&self, process: u32) -> Vec<u32> {
        let state = self.state();
        let known = state.known.iter();
        let of_process = known.filter(|(_, known)| known.process == process);
        let mut found = Vec::new();
        for (session, _) in of_process {
            let Some((key, mode, _)) = state.waits.get(session) else {
                continue;
            };
            let lock = state.locks.get(key);
            for other in lock
                .into_iter()
                .flat_map(|lock| lock.in_the_way(*session, *mode))
            {
                let (process, _) = state.known(other);
                if !found.contains(&process) {
                    found.push(process);
                }
            }
        }
        found
    }
}

fn modes_of(modes: Modes) -> impl Iterator<Item = TableMode> {
    let all = TableMode::ALL.into_iter();
    all.filter(move |mode| modes & mode.bit() != 0)
}
