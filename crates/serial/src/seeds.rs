//! The seed of a standby that has nothing: a snapshot of the pages of all tables, with which a group ends.
//!
//! The source is with the engine's thread that carries the log to the standby, so it does not keep the kernel alive.

use crate::kernel::{Shared, frozen};
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_storage::checkpoint::{SeedError, SeedPages, SeedSource};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::PageRead;
use sardonyx_table::SpaceSnapshot;
use std::sync::{Arc, Weak};

/// Makes seeds of a kernel's tables.
pub(crate) struct Seeds(Weak<Shared>);

impl std::fmt::Debug for Seeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seeds").finish()
    }
}

impl Seeds {
    pub fn of(shared: &Arc<Shared>) -> Seeds {
        Seeds(Arc::downgrade(shared))
    }
}

impl SeedSource for Seeds {
    fn pages(&self) -> Result<Box<dyn SeedPages>, SeedError> {
        let closed = || SeedError::new("the database is being closed");
        let shared = self.0.upgrade().ok_or_else(closed)?;
        let mut held = shared.pen.take().map_err(SeedError::new)?;
        // With the pen: after the log's end was marked nothing may be appended.
        if shared.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let snapshot = frozen(&mut held);
        let position = held.close_group_at();
        let snapshot = snapshot.map_err(SeedError::new)?;
        shared
            .pen
            .wait(position.group - 1)
            .map_err(SeedError::new)?;
        Ok(Box::new(Frozen { snapshot, position }))
    }
}

#[derive(Debug)]
struct Frozen {
    snapshot: Arc<SpaceSnapshot>,
    position: LogPosition,
}

impl SeedPages for Frozen {
    fn position(&self) -> LogPosition {
        self.position
    }

    fn bytes(&self) -> u64 {
        self.snapshot.pages().pages() * PAGE_SIZE as u64
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), SeedError> {
        let (pages, mut at) = (self.snapshot.pages(), offset as usize);
        let mut rest = into;
        while !rest.is_empty() {
            let (part, more) = rest.split_at_mut(rest.len().min(PAGE_SIZE - at % PAGE_SIZE));
            let read = pages.read_into(Address(at as u64), part);
            read.map_err(SeedError::new)?;
            at += part.len();
            rest = more;
        }
        Ok(())
    }
}
