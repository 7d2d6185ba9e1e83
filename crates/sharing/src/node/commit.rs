//! Group commit over all nodes: one common log, and the first waiting transaction writes for all.
//!
//! One log, and not one for each node, has three reasons. A sync then serves all nodes. The order of redo is the
//! order of the ring, in which a page's frames follow their PSNs, so that nothing has to be merged. When a node has
//! failed, its log need not be searched, since the common one is at hand. Behind the log everything is as for every
//! database that processes share ([`sardonyx_storage::engine::Election`]): one of them prepares segments, keeps a DB'
//! of its own and writes the backup.
//!
//! [`GroupLeader`] writes the groups. When a frame is durable, locks may be given back: a page never travels ahead of its
//! redo (I2).

use super::NodeError;
use super::gem::{Gem, step};
use super::imposed::sleep;
use super::layout::{CLIENTS, Common, WRITER_WORDS};
use super::ring::Frame;
use crate::lock_table::layout::NODES;
use crate::protocol::NodeId;
use sardonyx_base::named_lock::NamedLock;
use sardonyx_base::sync::ChangesWord;
use sardonyx_storage::log::{
    GroupLeader, GroupSize, GroupWords, LeaderStep, LogLeader, LogPosition, LogState,
    PublishedRedo, SharedLogError,
};
use std::time::Duration;

/// After so many looks a thread that publishes sleeps.
const LOOKS: u32 = 200;

const _: () = assert!(WRITER_WORDS * 64 == NODES * CLIENTS);

/// The redo ring, as a node uses it.
struct Ring<'a> {
    gem: &'a Gem,
    node: NodeId,
    imposed: Duration,
}

impl PublishedRedo for Ring<'_> {
    type Error = NodeError;
    type Looks<'a>
        = ()
    where
        Self: 'a;

    fn words(&self) -> GroupWords<'_> {
        let gem = self.gem;
        let (hurried, in_vain) = gem.hurried_groups();
        GroupWords {
            writer: NamedLock::of(gem.common(Common::Writing)),
            durable: gem.common(Common::Durable),
            groups: ChangesWord::of(gem.common(Common::Groups)),
            waited: gem.common(Common::GroupsWaited),
            write_time: gem.common(Common::WriteTime),
            hurried,
            in_vain,
            last_writers: gem.last_writers(),
        }
    }

    fn log_state(&self) -> &LogState {
        self.gem.log_state()
    }

    fn tail(&self) -> u64 {
        self.gem.get(Common::Tail)
    }

    fn name(&self) -> u32 {
        Gem::name(self.node)
    }

    fn lives(&self, name: u32) -> bool {
        self.gem.lives_by_name(name)
    }

    fn frame_writer(&self, at: u64) -> (usize, u64) {
        self.gem.writer(at)
    }

    fn with_group<R>(
        &self,
        from: u64,
        to: u64,
        size: &mut GroupSize,
        write: impl FnOnce(&[&[u8]], u64, u32) -> Result<R, SharedLogError>,
    ) -> Result<R, SharedLogError> {
        let (mut records, mut end) = (Vec::new(), from);
        let mut frame = Frame::default();
        while end < to {
            let next = self.gem.frame(end, &mut frame).map_err(|error| {
                let state = self.gem.log_state();
                state.poison(&error.to_string());
                state.check().expect_err("it is poisoned")
            })?;
            if !size.takes(frame.records.len()) {
                break;
            }
            records.extend_from_slice(&frame.records);
            end = next;
        }
        write(&[&records], end, size.transactions())
    }

    fn looks(&self) {}

    /// The thread that watches the processes fences a stopped leader; a dead one is found here.
    fn has_waited(&self, (): &mut ()) -> Result<(), NodeError> {
        self.gem.segment().find_dead();
        Ok(())
    }

    fn step(&self, which: LeaderStep) {
        step();
        if which == LeaderStep::Leading {
            sleep(self.imposed);
        }
    }
}

/// This process' use of the common log.
#[derive(Debug)]
pub(super) struct CommitLog {
    leader: GroupLeader,
    /// Slept before each group's write.
    imposed: Duration,
}

impl CommitLog {
    pub fn new(leader: LogLeader) -> Self {
        CommitLog {
            leader: GroupLeader::new(leader),
            imposed: Duration::ZERO,
        }
    }

    /// The same, with a time of the log's device.
    pub fn imposing(self, imposed: Duration) -> Self {
        CommitLog { imposed, ..self }
    }

    /// The same without looking at clocks.
    #[cfg(test)]
    pub fn without_clocks(self) -> Self {
        CommitLog {
            leader: self.leader.without_clocks(),
            ..self
        }
    }

    /// The most bytes of redo records of one transaction.
    pub fn transaction_bytes_max(&self, gem: &Gem) -> usize {
        let group_bytes_max = usize::try_from(self.leader.group_bytes_max());
        (gem.frame_words_max() * 8 / 2).min(group_bytes_max.unwrap_or(usize::MAX) / 2)
    }

    fn ring<'a>(&self, gem: &'a Gem, node: NodeId) -> Ring<'a> {
        Ring {
            gem,
            node,
            imposed: self.imposed,
        }
    }

    /// Writes one group with the published frames that are not durable, unless another node does. Returns true unless
    /// another node did.
    pub fn try_lead(&self, gem: &Gem, node: NodeId) -> Result<bool, SharedLogError> {
        step();
        self.leader.try_lead(&self.ring(gem, node))
    }

    /// Publishes a transaction's frame, if the log and the ring have room for it now.
    pub fn try_publish(
        &self,
        gem: &Gem,
        node: NodeId,
        frame: &Frame,
    ) -> Result<Option<u64>, SharedLogError> {
        let (state, layout) = (gem.log_state(), self.leader.layout());
        state.check()?;
        // In this order: others publish and write meanwhile, and every durable byte was published.
        let durable = gem.get(Common::Durable);
        let pending = (gem.get(Common::Tail) - durable) * 8;
        let pending = pending + frame.words() as u64 * 8;
        if pending > layout.segment_bytes / 2 {
            return Ok(None);
        }
        if !state.admits(layout, pending) {
            state.want_room(layout, pending);
            return Ok(None);
        }
        if !gem.try_lock(Common::Publishing, node) {
            return Ok(None);
        }
        let published = gem.publish(node, frame);
        gem.unlock(Common::Publishing);
        Ok(published)
    }

    /// Publishes a transaction's frame: when this returns it has committed, and is not durable yet.
    pub fn publish(&self, gem: &Gem, node: NodeId, frame: &Frame) -> Result<u64, NodeError> {
        let mut looks = 0;
        loop {
            if let Some(end) = self.try_publish(gem, node, frame)? {
                return Ok(end);
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
                continue;
            }
            // Another node publishes; or it needs durable or applied redo, or a part that the driver prepares.
            self.wait(gem, node, gem.get(Common::Tail))?;
            gem.apply(node, u64::MAX)?;
            let state = gem.log_state();
            if let Some(refusal) = state.refusal().or_else(|| state.failure()) {
                return Err(refusal.into());
            }
            gem.segment().find_dead();
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Returns when everything before this position is durable.
    pub fn wait(&self, gem: &Gem, node: NodeId, position: u64) -> Result<(), NodeError> {
        self.leader.wait(&self.ring(gem, node), position)
    }

    /// Marks the log's end: this is the last node. Returns where it is.
    pub fn end(&self, gem: &Gem) -> Result<LogPosition, SharedLogError> {
        // The published frames of a node that died, which were not acknowledged, may be written or not.
        self.leader.end(gem.log_state())
    }
}
