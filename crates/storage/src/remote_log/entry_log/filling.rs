//! The group of an entry log that fills with changes, and the memory of such groups.

use super::EntryLogError;
use super::change::{Change, TRAILER_BYTES};
use crate::disk::AlignedBuffer;
use crate::log::LogLayout;
use crate::log::group::{GROUP_ALIGNMENT, group_bytes_on_disk};
use crate::log::seal::GroupBuilder;
use sardonyx_base::sync::Mutex;
use std::sync::{Arc, OnceLock};

/// A buffer that a larger entry made longer is given back after it. The entries of a serving host's log have at most 16 MiB
/// ([`record_bytes`](crate::remote_log::copy::record_bytes)), and a buffer grows by doubling.
const BUFFER_BYTES_KEPT: usize = 32 << 20;

/// Buffers that are kept for later groups: one is filled by a connection while another one is written.
const SPARES_KEPT: usize = 2;

/// The outcome of a group, for its waiters.
pub(super) type Outcome = Arc<OnceLock<Result<(), EntryLogError>>>;

/// Changes that become one group.
#[derive(Debug)]
pub(super) struct Filling {
    pub group: GroupBuilder,
    pub changes: Vec<Change>,
    pub outcome: Outcome,
}

impl Default for Filling {
    /// Without changes, in little memory: the first change brings more.
    fn default() -> Self {
        Filling {
            group: GroupBuilder::with_capacity(GROUP_ALIGNMENT),
            changes: Vec::new(),
            outcome: Outcome::default(),
        }
    }
}

impl Filling {
    /// True if a change of so many bytes fits this group. Entries and removals do not share groups: room that a full
    /// disk refuses to an entry, it has for a removal.
    pub fn takes(&self, layout: LogLayout, bytes: usize, is_put: bool) -> bool {
        let Some(first) = self.changes.first() else {
            return true;
        };
        let payload = self.group.payload().len() + bytes + TRAILER_BYTES;
        matches!(first, Change::Put { .. }) == is_put
            && group_bytes_on_disk(payload) as u64 <= layout.segment_bytes
    }
}

/// Memory for later groups, at most [`SPARES_KEPT`] buffers.
#[derive(Debug, Default)]
pub(super) struct Spares(Mutex<Vec<AlignedBuffer>>);

impl Spares {
    /// Memory of an earlier group, if there is some.
    pub fn take(&self) -> AlignedBuffer {
        let spare = self.0.lock().pop();
        spare.unwrap_or_else(|| AlignedBuffer::with_capacity(GROUP_ALIGNMENT))
    }

    /// Keeps memory that is no longer needed.
    pub fn keep(&self, memory: AlignedBuffer) {
        let mut spares = self.0.lock();
        if spares.len() < SPARES_KEPT && memory.capacity() <= BUFFER_BYTES_KEPT {
            spares.push(memory);
        }
    }
}
