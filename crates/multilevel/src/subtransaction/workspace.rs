//! A subtransaction's workspace, its purpose, and the reasons to execute it again.

use crate::changes::{Changed, Changes};
use crate::page_locks::PageLocks;
use crate::pages::Area;
use sardonyx_lock::{LockSpace, Mode, Token};
use sardonyx_storage::page::PageId;

/// The buffers of a subtransaction; kept and used again.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub held: PageLocks,
    pub changes: Changes,
    pub ranges: Vec<Changed>,
    /// Reservations made, to be taken back if it fails.
    pub reserved: Vec<(&'static LockSpace, u64, i64)>,
    /// Pages of tables that a compensation was given, which are in no list of those with room. If it has to be executed
    /// again, they are still its own. If it fails, its transaction stays unfinished, and has them until the next opening.
    pub grown: Vec<(Area, PageId)>,
}

impl Workspace {
    /// The changes, each byte once, by page and place.
    pub fn changed(&mut self) -> &[Changed] {
        self.changes.ranges(&mut self.ranges);
        &self.ranges
    }
}

/// The reason to wait before it is executed again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Await {
    Nothing,
    Lock(&'static LockSpace, u64, Mode),
    Reservation(&'static LockSpace, u64, Token),
}

/// The reason why it cannot end well, with any result of the operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Restart(Await),
    Deadlock,
}

/// The use of a subtransaction: to do something or to undo it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Operation,
    Compensation,
}
