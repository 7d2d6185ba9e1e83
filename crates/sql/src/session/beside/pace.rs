//! The pace at which a statement changes many rows. It commits each of its calls without waiting for the disk, so it could
//! fill the log faster than the disk takes it; then every small transaction would wait behind megabytes. So a call begins
//! when the rows before the last slice are durable: the disk is kept busy, and has little to do before a small transaction.

use sardonyx::Ticket;
use sardonyx_base::waiting::{Interrupt, interruptible};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The durability of the calls that a statement has made.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Rows since the last call that is waited for.
    rows: Cell<usize>,
    /// Of that call.
    last: RefCell<Option<Ticket<()>>>,
}

impl Pace {
    /// A call has changed so many rows. If they end a slice, this waits for the slice before. An interrupt ends the wait; a
    /// log that failed tells the next call.
    pub fn after(&self, rows: usize, slice: usize, ticket: Ticket<()>, interrupt: &Arc<Interrupt>) {
        let rows = self.rows.get() + rows;
        if rows < slice {
            self.rows.set(rows);
            return;
        }
        self.rows.set(0);
        if let Some(before) = self.last.replace(Some(ticket)) {
            let _ = interruptible(interrupt, None, || before.wait());
        }
    }
}
