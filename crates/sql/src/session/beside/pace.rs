//! The pace at which a statement changes many rows. It commits each of its calls without waiting for the disk, so it
//! could fill the log faster than the disk writes it. Then every small transaction would wait behind megabytes. So a
//! call begins when all but the last [`ROWS`] rows are durable. The disk is kept busy, and has little to write before a
//! small transaction.

use sardonyx::Ticket;
use sardonyx_base::waiting::{Interrupt, interruptible};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The rows of about a hundred kilobytes of log, if they are not long.
const ROWS: usize = 500;

/// The durability of the calls that a statement has made.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Rows since the last call to wait for.
    rows: Cell<usize>,
    /// The durability of that call.
    last: RefCell<Option<Ticket<()>>>,
}

impl Pace {
    /// Notes a call that has changed this many rows, which may be long. If there are many by now, this waits for
    /// earlier ones. An interrupt ends the wait; a failed log fails the next call.
    pub fn after(&self, rows: usize, long: bool, ticket: Ticket<()>, interrupt: &Arc<Interrupt>) {
        let rows = self.rows.get() + rows;
        if rows < ROWS && !long {
            self.rows.set(rows);
            return;
        }
        self.rows.set(0);
        if let Some(before) = self.last.replace(Some(ticket)) {
            let _ = interruptible(interrupt, None, || before.wait());
        }
    }
}
