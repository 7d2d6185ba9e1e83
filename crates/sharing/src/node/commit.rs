//! Group commit over all nodes: one common log, and the first waiting transaction writes for all.
//!
//! One log, and not one for each node, has three reasons. A sync then serves all nodes. The order of redo is the
//! order of the ring, in which a page's frames follow their PSNs, so that nothing has to be merged. When a node has
//! failed, its log need not be searched, since the common one is at hand. Behind the log everything is as for every
//! database that processes share ([`sardonyx_storage::engine::Election`]): one of them prepares segments, keeps a DB'
//! of its own and writes the backup.
//!
//! The holder of the writing lock takes the published frames that are not durable, and writes them as a commit group.
//! If it dies, the next one writes that group again ([`LogLeader`]). Then locks may be given back: a page never
//! travels ahead of its redo (I2).

use super::NodeError;
use super::gem::{Gem, step};
use super::imposed::sleep;
use super::layout::{Common, WRITER_WORDS};
use super::ring::Frame;
use crate::protocol::NodeId;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::log::{LogLayout, LogLeader, LogPosition, SharedLogError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A waiting thread looks after who writes so often: that one may have died.
const LOOK_AFTER: Duration = Duration::from_millis(5);

/// After so many looks a waiting thread sleeps.
const LOOKS: u32 = 200;

/// The writer waits for the clients of the last group for this part of the time that writing it took, but not longer
/// than [`GATHER_MAX`]. They were acknowledged just now and will be back soon, and a group with them costs no more.
const GATHER_PART: u64 = 2;
const GATHER_MAX: Duration = Duration::from_micros(100);

/// If they do not come, as of two nodes that change one page in turn, so many groups do not wait: one, two, four, and
/// at most so many.
const HURRIED_MAX: u64 = 64;

/// Waits a moment until those who were in the last group are in this one. Returns who is.
fn gather(gem: &Gem, from: u64) -> [u64; WRITER_WORDS] {
    let mut writers = [0; WRITER_WORDS];
    let mut seen = from;
    let took = gem.common(Common::WriteTime).load(Ordering::Relaxed);
    let at_most = Duration::from_nanos(took / GATHER_PART).min(GATHER_MAX);
    let (mut began, mut looks) = (None, 0);
    let (hurried, in_vain) = gem.hurried_groups();
    loop {
        let to = gem.get(Common::Tail);
        while seen < to {
            let (writer, end) = gem.writer(seen);
            writers[writer / 64] |= 1 << (writer % 64);
            seen = end;
        }
        let missing = |n: usize| gem.last_writers(n).load(Ordering::Relaxed) & !writers[n] != 0;
        if !(0..WRITER_WORDS).any(missing) {
            if began.is_some() {
                in_vain.store(0, Ordering::Relaxed);
            }
            return writers;
        }
        let left = hurried.load(Ordering::Relaxed);
        if left > 0 {
            hurried.store(left - 1, Ordering::Relaxed);
            return writers;
        }
        if began.get_or_insert_with(Instant::now).elapsed() >= at_most {
            let more = (2 * in_vain.load(Ordering::Relaxed)).clamp(1, HURRIED_MAX);
            in_vain.store(more, Ordering::Relaxed);
            hurried.store(more, Ordering::Relaxed);
            return writers;
        }
        looks += 1;
        match looks % LOOKS {
            0 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}

/// This process' use of the common log.
#[derive(Debug)]
pub(super) struct CommitLog {
    leader: Mutex<LogLeader>,
    layout: LogLayout,
    group_bytes_max: usize,
    /// True if the writer waits a moment for the clients of the last group.
    gathers: bool,
    /// Slept before each group's write.
    imposed: Duration,
}

impl CommitLog {
    pub fn new(leader: LogLeader) -> Self {
        CommitLog {
            layout: leader.layout(),
            // So that the frames of a ring that is full, and one more, become few groups.
            group_bytes_max: leader.group_bytes_max() / 2,
            leader: Mutex::new(leader),
            gathers: true,
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
            gathers: false,
            ..self
        }
    }

    /// The most bytes of redo records of one transaction.
    pub fn transaction_bytes_max(&self, gem: &Gem) -> usize {
        (gem.frame_words_max() * 8 / 2).min(self.group_bytes_max / 2)
    }

    /// Writes one group with the published frames that are not durable, unless another node does. Returns true unless
    /// another node did.
    pub fn try_lead(&self, gem: &Gem, node: NodeId) -> Result<bool, SharedLogError> {
        if !gem.try_lock(Common::Writing, node) {
            return Ok(false);
        }
        let led = self.lead(gem);
        gem.unlock(Common::Writing);
        gem.tell_groups();
        led.map(|()| true)
    }

    fn lead(&self, gem: &Gem) -> Result<(), SharedLogError> {
        let state = gem.log_state();
        let from = state.durable_tail();
        // An earlier writer may have died between the log's end and this.
        gem.common(Common::Durable)
            .fetch_max(from, Ordering::SeqCst);
        if from == gem.get(Common::Tail) {
            return Ok(());
        }
        let writers = self.gathers.then(|| gather(gem, from));
        let to = gem.get(Common::Tail);
        let (mut records, mut count, mut end) = (Vec::new(), 0, from);
        let mut frame = Frame::default();
        while end < to {
            let next = gem.frame(end, &mut frame).map_err(|error| {
                state.poison(&error.to_string());
                state.check().expect_err("it is poisoned")
            })?;
            if records.len() + frame.records.len() > self.group_bytes_max && count > 0 {
                break;
            }
            records.extend_from_slice(&frame.records);
            count += 1;
            end = next;
        }
        step();
        let began = self.gathers.then(Instant::now);
        sleep(self.imposed);
        self.leader
            .lock()
            .write_group(state, count, &[&records], end)?;
        step();
        gem.common(Common::Durable).store(end, Ordering::SeqCst);
        if let (Some(began), Some(writers)) = (began, writers) {
            let took = began.elapsed().as_nanos() as u64;
            gem.common(Common::WriteTime).store(took, Ordering::Relaxed);
            for (n, bits) in writers.into_iter().enumerate() {
                gem.last_writers(n).store(bits, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Publishes a transaction's frame, if the log and the ring have room for it now.
    pub fn try_publish(
        &self,
        gem: &Gem,
        node: NodeId,
        frame: &Frame,
    ) -> Result<Option<u64>, SharedLogError> {
        let state = gem.log_state();
        state.check()?;
        // In this order: others publish and write meanwhile, and what is durable was published.
        let durable = gem.get(Common::Durable);
        let pending = (gem.get(Common::Tail) - durable) * 8;
        let pending = pending + frame.words() as u64 * 8;
        if pending > self.layout.segment_bytes / 2 {
            return Ok(None);
        }
        if !state.admits(self.layout, pending) {
            state.want_room(self.layout, pending);
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
        let is_durable = || gem.get(Common::Durable) >= position;
        let mut looks = 0;
        while !is_durable() {
            gem.log_state().check()?;
            match self.try_lead(gem, node) {
                Ok(true) => looks = 0,
                Ok(false) => {}
                Err(SharedLogError::NoRoom) => {
                    // The driver is preparing a segment, or freeing one.
                    let state = gem.log_state();
                    let seen = state.changes();
                    state.notify();
                    state.wait(seen + 1, LOOK_AFTER);
                }
                Err(error) => return Err(error.into()),
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else if !is_durable() {
                gem.wait_for_group(LOOK_AFTER, is_durable);
                gem.segment().find_dead();
            }
        }
        Ok(())
    }

    /// Marks the log's end: this is the last node. Returns where it is.
    pub fn end(&self, gem: &Gem) -> Result<LogPosition, SharedLogError> {
        // The published frames of a node that died, which were not acknowledged, may be written or not.
        self.leader.lock().write_end_mark(gem.log_state())
    }
}
