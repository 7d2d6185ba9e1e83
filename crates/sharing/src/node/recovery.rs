//! The handling of a failed node, as each of the others sees it (GEM paper, section 2: availability is the
//! purpose of the nodes' separate memories).
//!
//! 1. Each node that lives reads what the failed one has sent, tells its machine, and says so in its slot. From
//!    then on it asks nothing of the failed node.
//! 2. When all have said so, the one in the lowest slot recovers: all that is published becomes durable and is
//!    applied to the stored pages. So there every page has the newest version that the failed node has committed,
//!    and nothing is to be undone: only committed redo leaves a node.
//! 3. It goes over all entries and frees what the failed node held ([`Input::Recover`]), and then the slot. The
//!    slot's next life tells the others that it is done.
//!
//! If it dies, the next one begins anew: each step may be done twice. A node that leaves is recovered in the same way,
//! which finds nothing to redo. Meanwhile only transactions that want the failed node's locks wait.

use super::NodeError;
use super::close::Close;
use super::commit::CommitLog;
use super::gem::slot_of;
use super::layout::Common;
use super::shell::Shell;
use crate::protocol::{EntryStore, Input, NodeId, PageId};
use sardonyx_base::hash::IntegerSet;
use sardonyx_storage::log::SharedLogError;

/// A recovery that this node does.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    nodes: Vec<NodeId>,
    left: IntegerSet<(PageId, NodeId)>,
}

impl Shell<Close> {
    /// Looks for failed nodes, and for recovered ones.
    pub fn look_after_failures(&mut self) -> Result<(), NodeError> {
        let gem = self.coupling.gem.clone();
        let own = self.coupling.slot;
        for slot in (0..gem.shape().slots).filter(|&slot| slot != own) {
            let now = gem.node_of(slot);
            let known = self
                .coupling
                .failed
                .iter()
                .position(|&node| slot_of(node) == slot);
            if let Some(place) = known.filter(|&place| self.coupling.failed[place] != now) {
                let node = self.coupling.failed.remove(place);
                self.feed(Input::NodeRecovered { node })?;
            }
            if gem.segment().table().has_failed(slot) && !self.coupling.failed.contains(&now) {
                self.hear(slot)?;
                self.coupling.outbox.forget(now);
                self.forget_puts_for(now);
                gem.free_frames(self.coupling.slot, now);
                gem.free_frames(slot, self.local.node);
                self.coupling.failed.push(now);
                self.feed(Input::NodeFailed { node: now })?;
                gem.tell(self.coupling.slot, now);
            }
        }
        if gem.segment().table().has_failed(self.coupling.slot) {
            self.stop(&NodeError::Stopped {
                reason: "others have found it dead".into(),
            });
        }
        Ok(())
    }

    /// Recovers failed nodes, if that is for this node to do, and as far as it can be done now.
    pub fn recover(&mut self, log: &CommitLog) -> Result<(), NodeError> {
        let gem = self.coupling.gem.clone();
        if self.coupling.failed.is_empty() || self.coupling.recovery.is_some() {
            return Ok(());
        }
        if gem.living().next() != Some(self.coupling.slot) {
            return Ok(());
        }
        let nodes = self.coupling.failed.clone();
        let knows =
            |slot: usize, node: NodeId| gem.told(slot, slot_of(node)) == u64::from(node.0) + 1;
        let all_know = gem
            .living()
            .all(|slot| nodes.iter().all(|&node| knows(slot, node)));
        if !all_know || !gem.try_lock(Common::Recovering, self.local.node) {
            return Ok(());
        }
        match self.bring_to_storage(log) {
            Ok(true) => {}
            Ok(false) => {
                gem.unlock(Common::Recovering);
                return Ok(());
            }
            Err(error) => {
                gem.unlock(Common::Recovering);
                return Err(error);
            }
        }
        let pages = self.entries()?.pages();
        let all = pages
            .iter()
            .flat_map(|&page| nodes.iter().map(move |&node| (page, node)));
        let recovery = Recovery {
            left: all.clone().collect(),
            nodes: nodes.clone(),
        };
        self.coupling.recovery = Some(recovery);
        for (page, node) in all {
            self.feed(Input::Recover { page, node })?;
        }
        self.finish_recovery()
    }

    /// All that is published becomes durable and is applied. Returns whether it is.
    fn bring_to_storage(&mut self, log: &CommitLog) -> Result<bool, NodeError> {
        let gem = self.coupling.gem.clone();
        let tail = gem.get(Common::Tail);
        for _ in 0..2 {
            match log.try_lead(&gem, self.local.node) {
                Ok(_) | Err(SharedLogError::NoRoom) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if gem.get(Common::Durable) < tail {
            return Ok(false);
        }
        gem.apply(self.local.node, tail)?;
        Ok(true)
    }

    /// Reports the newest version in storage that the failed node has committed. Of a page that it had locked for
    /// writing, that is everything stored. Of another one, it is the version in the entry, since a later version is of
    /// a node that has not released its lock.
    pub(super) fn recover_page(&mut self, page: PageId, node: NodeId) -> Result<(), NodeError> {
        let entry = self.entries()?.read(page)?;
        let stored = self.coupling.gem.stored_psn(page)?;
        let psn = match entry.is_write_locked_by(node) {
            true => stored,
            false => stored.min(entry.psn()),
        };
        self.tell_later(Input::PageRecovered { page, node, psn });
        Ok(())
    }

    pub(super) fn entry_recovered(&mut self, page: PageId, node: NodeId) {
        if let Some(recovery) = &mut self.coupling.recovery {
            recovery.left.remove(&(page, node));
        }
    }

    /// When all entries are free, the slots are.
    pub fn finish_recovery(&mut self) -> Result<(), NodeError> {
        let gem = self.coupling.gem.clone();
        let done = self
            .coupling
            .recovery
            .take_if(|recovery| recovery.left.is_empty());
        let Some(recovery) = done else {
            return Ok(());
        };
        for node in recovery.nodes {
            gem.free_frames_for_the_dead(slot_of(node));
            gem.segment().table().forget(node)?;
        }
        gem.unlock(Common::Recovering);
        gem.tell_failures();
        Ok(())
    }
}
