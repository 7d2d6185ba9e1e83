//! With what a subtransaction works, for what it is executed, and why it may have to be executed again.

use crate::changes::{Changed, Changes};
use crate::page_locks::PageLocks;
use crate::pages::Area;
use sardonyx_lock::{LockSpace, Mode, Token};
use sardonyx_storage::page::PageId;

/// What a subtransaction works with; kept and used again.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub held: PageLocks,
    pub changes: Changes,
    pub ranges: Vec<Changed>,
    /// Reservations made, to be taken back if it fails.
    pub reserved: Vec<(&'static LockSpace, u64, i64)>,
    /// Pages of tables that a compensation was given, which are in no list of those with room. If it has to be executed
    /// again, they are still its own.
    pub grown: Vec<(Area, PageId)>,
}

impl Workspace {
    /// What was changed, each byte once, by page and place.
    pub fn changed(&mut self) -> &[Changed] {
        self.changes.ranges(&mut self.ranges);
        &self.ranges
    }
}

/// What it waits for before it is executed again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Await {
    Nothing,
    Lock(&'static LockSpace, u64, Mode),
    Reservation(&'static LockSpace, u64, Token),
}

/// Why it cannot end well, whatever the operation returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Restart(Await),
    Deadlock,
}

/// Whether it does something or undoes something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Operation,
    Compensation,
}
