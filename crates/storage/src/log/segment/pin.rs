//! Log that is held back for a reader.

use super::Segments;
use crate::log::Lsn;
use std::sync::Arc;

/// Holds the log back for a reader that cannot do without it: a copy in a store that catches up.
#[derive(Debug)]
pub struct LogPin {
    pub(super) segments: Arc<Segments>,
    pub(super) number: u64,
}

impl LogPin {
    /// Lets the log before `lsn` go.
    pub fn advance(&self, lsn: Lsn) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            let mut pins = files.pins.iter_mut();
            if let Some((_, from)) = pins.find(|(number, _)| *number == self.number) {
                *from = lsn;
            }
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        if !self.segments.process.is_current() {
            return;
        }
        let needed_from = {
            let mut files = self.segments.files.lock();
            files.pins.retain(|(number, _)| *number != self.number);
            files.needed_from
        };
        self.segments.free_before(needed_from);
    }
}
