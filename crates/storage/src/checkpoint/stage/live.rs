//! The stage's work without DB': it has the blocks copied from the live pages ([`source`](super::super::source)). A thread
//! that has the pen, and waits for the room that a checkpoint makes, lends its pages.
//!
//! A copy may be put off, since the pen, a buffer or memory is not to be had. Then the stripe takes its waiting groups, and
//! tries again; if it has not waited for the pen, after a pause.

use super::super::source::{FreezesPages, Freezing, FrozenPages};
use super::{CheckpointError, CheckpointStage, Stripe};
use crate::page::PAGE_SIZE;
use sardonyx_base::events;
use std::sync::Weak;

impl CheckpointStage {
    /// Sets the holder of the live pages, if the blocks are read from snapshots of them.
    pub fn set_pages(&self, by: Weak<dyn FreezesPages>) {
        if let Some(freezer) = &self.freezer {
            freezer.set(by);
        }
    }

    /// True if the blocks are read from snapshots of the live pages.
    pub fn reads_snapshots(&self) -> bool {
        self.freezer.is_some()
    }

    /// Has these pages for the blocks of all stripes until the result is dropped: for a thread that has the pen, and
    /// waits for a checkpoint.
    pub(crate) fn lend(&self, frozen: FrozenPages) -> Lent<'_> {
        self.set_lent(Some(frozen));
        self.feeds.iter().for_each(|feed| feed.nudge());
        Lent(self)
    }

    fn set_lent(&self, frozen: Option<FrozenPages>) {
        if let Some(freezer) = &self.freezer {
            freezer.lend(frozen);
        }
    }

    /// Without DB': looks at the number of pages, which decides the number of blocks. Returns false if that is put off.
    pub(super) fn see_pages(&self, state: &mut Stripe) -> Result<bool, CheckpointError> {
        let Some(freezer) = &self.freezer else {
            return Ok(true);
        };
        let mut pages = None;
        let frozen = freezer.freeze(&mut |live, _| {
            pages = Some((live.len() / PAGE_SIZE) as u64);
            true
        })?;
        match frozen {
            Freezing::Frozen(frozen) => pages = Some(frozen.pages.pages()),
            Freezing::Later => state.put_off = true,
            Freezing::Busy | Freezing::Done | Freezing::Refused(_) => {}
        }
        let seen = pages.map(|pages| state.checkpointer.see(pages));
        Ok(seen.is_some())
    }

    /// Without DB': copies the next block, if it was not copied. Returns false if it cannot be written yet.
    pub(super) fn copy_block(&self, state: &mut Stripe) -> Result<bool, CheckpointError> {
        let Some(freezer) = &self.freezer else {
            return Ok(true);
        };
        let checkpointer = &mut state.checkpointer;
        if checkpointer.needs_copy() {
            let under_pen = checkpointer.copies_under_pen();
            let frozen = freezer.freeze(&mut |pages, position| {
                under_pen && checkpointer.copy_live(pages, position)
            })?;
            let copied = match frozen {
                Freezing::Busy => false,
                Freezing::Later => {
                    state.put_off = true;
                    false
                }
                Freezing::Done => true,
                Freezing::Frozen(frozen) => checkpointer.copy_block(&frozen),
                Freezing::Refused(error) => {
                    events::warn!(%error, "a block is copied in the stage, for want of a snapshot");
                    checkpointer.copy_under_pen();
                    false
                }
            };
            if !copied {
                return Ok(false);
            }
        }
        if checkpointer.waits_for_group() {
            freezer.check()?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// Pages that are lent to the checkpoints, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lent<'s>(&'s CheckpointStage);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.set_lent(None);
    }
}
