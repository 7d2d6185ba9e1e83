//! A store's progress with the log of a database that is open here: for statistics, and for a database whose
//! checkpoints are left to followers.

use crate::log::LogPosition;
use sardonyx_base::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// A store's progress with the log.
#[derive(Debug)]
pub struct InStore(Mutex<InStoreState>);

/// The known progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InStoreState {
    /// The store has everything before here.
    pub end: LogPosition,
    /// The reason why it gives no answer, while it gives none.
    pub trouble: Option<Arc<str>>,
    /// All that it was sent since the database was opened.
    pub sent: Sent,
}

/// The part of the log that a store was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Sent {
    /// Commit groups.
    pub groups: u64,
    /// The number of them that were read back from the disk here, since they were not in memory any more.
    pub groups_read_back: u64,
    /// The time that the store took.
    pub time: Duration,
}

impl InStore {
    /// The store has everything before here.
    pub fn at(end: LogPosition) -> Self {
        InStore(Mutex::new(InStoreState {
            end,
            trouble: None,
            sent: Sent::default(),
        }))
    }

    /// The progress known now.
    pub fn state(&self) -> InStoreState {
        self.0.lock().clone()
    }

    /// The store has the log before here, too, which took so long. Neither is seen without the other: this, and the
    /// outcome of `let_go` for threads that wait for the store.
    pub(super) fn has(&self, end: LogPosition, time: Duration, let_go: impl FnOnce()) {
        let mut state = self.0.lock();
        let_go();
        state.end = end;
        state.sent.time += time;
    }

    /// It gives no answer for this reason; or does again.
    pub(super) fn is_away(&self, reason: Option<Arc<str>>) {
        self.0.lock().trouble = reason;
    }

    /// So many more groups go there; of them so many were read back.
    pub(super) fn count(&self, groups: u64, read_back: u64) {
        let mut state = self.0.lock();
        state.sent.groups += groups;
        state.sent.groups_read_back += read_back;
    }
}
