//! The live pages, frozen for the checkpoints, if these are made from snapshots.
//!
//! Invariant: pages are frozen between transactions, at the end of a commit group. So they have the changes of the log up
//! to the end of that group, and no others.

use crate::kernel::Shared;
use sardonyx_storage::checkpoint::{CheckpointError, FreezesPages, Freezing, FrozenPages};
use sardonyx_storage::log::{LogError, LogPosition};
use std::time::Duration;

/// The longest wait of a checkpointer for the pen before it consumes groups of the log again. The holder of the pen may
/// itself wait for the buffers of those groups, so a wait without end could be a deadlock.
const PATIENCE: Duration = Duration::from_millis(1);

impl FreezesPages for Shared {
    fn freeze(
        &self,
        live: &mut dyn FnMut(&[u8], LogPosition) -> bool,
    ) -> Result<Freezing, CheckpointError> {
        self.log().check()?;
        let Some(mut stage) = self.pen.take_inside_within(PATIENCE)? else {
            return Ok(Freezing::Busy);
        };
        let (space, mut appending) = stage.split();
        // Beginning undoes a transaction that was leaked.
        space.begin(appending.builder()).abort();
        let Some(position) = stage.try_hand_over_group() else {
            return Ok(Freezing::Later);
        };
        if live(stage.pages(), position) {
            return Ok(Freezing::Done);
        }
        Ok(match stage.freeze_pages() {
            Ok(pages) => Freezing::Frozen(FrozenPages { pages, position }),
            Err(error) => Freezing::Refused(error),
        })
    }

    fn check(&self) -> Result<(), LogError> {
        self.log().check()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
