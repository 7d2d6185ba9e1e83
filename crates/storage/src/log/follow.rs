//! Following a log: its durable groups, in order, for a consumer. A [`Feed`] has them in memory, as they become
//! durable. A [`Follower`] reads them back from disk, for a consumer that comes later, does not share the writer's
//! memory, or lags behind. A checkpointer has a [`Feed`], which the writer fills, or a follower of the log that other
//! processes write. The carrier of the log to a store is a follower.
//!
//! A consumer takes *all* that waits in its feed at once. The feed is bounded by the buffer pool.
//!
//! Waking a thread is a system call, and on a virtual machine often an interrupt to a sleeping processor. Paid on
//! every small group it would cost a lone client a third of a fast disk's latency. So a consumer that had groups a
//! moment ago is not woken for each: it looks again after a short pause, or is woken when a few wait. Only after a
//! pause without any group does it sleep until it is woken; an idle database wakes no thread.
//!
//! Invariant: I2 (nothing is read beyond the durable end).
//!
//! Source: TPK paper, section 2, "Checkpointing" (the checkpoint queue).

use super::group::GroupHeader;
use super::pool::DurableGroup;
use super::reader::LogReader;
use super::{LogError, LogLayout, LogPosition};
use crate::disk::{AlignedBuffer, Disk};
use sardonyx_base::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many waiting groups wake the consumer during its pause, so that the pool keeps buffers; otherwise only a pause
/// would be lost.
const WAKE_AT_GROUPS: usize = 4;

/// The time that a consumer that had groups waits for more before it looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Durable groups on their way to a consumer, in log order.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    groups: VecDeque<Arc<DurableGroup>>,
    /// The consumer looks by itself soon.
    pausing: bool,
    nudged: bool,
    closed: bool,
}

impl State {
    fn has_work(&self) -> bool {
        !self.groups.is_empty() || self.nudged || self.closed
    }
}

impl Feed {
    /// Adds a group; called in log order.
    pub fn push(&self, group: Arc<DurableGroup>) {
        let mut state = self.state.lock();
        if !state.closed {
            state.groups.push_back(group);
            if !state.pausing || state.groups.len() >= WAKE_AT_GROUPS {
                drop(state);
                self.arrived.notify_one();
            }
        }
    }

    /// Wakes the consumer without a group: there is something else to do.
    pub fn nudge(&self) {
        self.state.lock().nudged = true;
        self.arrived.notify_one();
    }

    /// No more groups will come; waiting ones are still delivered.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Drops the waiting groups and refuses others: the consumer has failed and must not hold buffers.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.groups.clear();
    }

    /// Waits a short while for something to take or to do. Returns whether there is.
    pub fn pause(&self) -> bool {
        let mut state = self.state.lock();
        self.pause_with(&mut state);
        let has_work = state.has_work();
        state.nudged = false;
        has_work
    }

    fn pause_with(&self, state: &mut MutexGuard<'_, State>) {
        // In a model there is no time that could pass.
        if !state.has_work() && !cfg!(shuttle) {
            state.pausing = true;
            self.arrived.wait_until(state, Instant::now() + PAUSE);
            state.pausing = false;
        }
    }

    /// Waits until there is something to take or to do.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        self.pause_with(&mut state);
        while !state.has_work() {
            self.arrived.wait(&mut state);
        }
        state.nudged = false;
    }

    /// Waits until there is something to take or to do, or a moment has come.
    pub fn wait_until(&self, moment: Instant) {
        let mut state = self.state.lock();
        // In a model there is no time that could pass.
        while !state.has_work() && !cfg!(shuttle) && Instant::now() < moment {
            self.arrived.wait_until(&mut state, moment);
        }
        state.nudged = false;
    }

    /// Takes everything that waits. Returns whether no more will come.
    pub fn take(&self, into: &mut VecDeque<Arc<DurableGroup>>) -> bool {
        let mut state = self.state.lock();
        into.append(&mut state.groups);
        state.closed
    }
}

/// Reads the durable groups of a log that is being written from disk.
#[derive(Debug)]
pub struct Follower {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    position: LogPosition,
    /// Opened when there is something to read.
    reader: Option<LogReader>,
}

impl Follower {
    /// Begins at a position.
    pub fn new(disk: Arc<dyn Disk>, layout: LogLayout, from: LogPosition) -> Follower {
        Follower {
            disk,
            layout,
            position: from,
            reader: None,
        }
    }

    /// The next group before `durable`, the durable end: its header, and all its bytes on disk. `None`: there is none
    /// yet. The cost depends on the bytes read, not on those behind.
    ///
    /// # Errors
    /// The disk's; the errors of a log that is damaged, or was freed ([`LogError::MissingSegment`]).
    #[inline]
    pub fn next_group(
        &mut self,
        durable: LogPosition,
    ) -> Result<Option<(GroupHeader, &[u8])>, LogError> {
        if self.position.group >= durable.group {
            return Ok(None);
        }
        // After a failure the next call opens another reader.
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => LogReader::open(&self.disk, self.layout, self.position)?,
        };
        reader.set_until(durable);
        let header = reader.next_group()?.map(|(header, _)| header);
        self.position = reader.position();
        let reader = self.reader.insert(reader);
        Ok(header.map(|header| (header, reader.last_group_bytes(&header))))
    }

    /// The bytes on disk of the group that [`Follower::next_group`] returned just now; empty, if it returned none.
    pub fn last_group_bytes(&self, header: &GroupHeader) -> &[u8] {
        let reader = self.reader.as_ref();
        reader.map_or(&[], |reader| reader.last_group_bytes(header))
    }

    /// The spanning group that [`Follower::next_group`] returned just now, as a buffer of its own: it may be
    /// as large as memory allows, and then there is none for a copy.
    ///
    /// # Panics
    /// If it returned none.
    pub fn take_spanning(&mut self, header: &GroupHeader) -> AlignedBuffer {
        let reader = self.reader.as_mut().expect("it has just read");
        reader.take_spanning(header)
    }

    /// The caller had the next group from elsewhere.
    #[inline]
    pub fn skip(&mut self, next: &GroupHeader) {
        debug_assert_eq!(next.number, self.position.group);
        self.position = next.next_position();
        self.reader = None;
    }

    /// The place after the last group that was read or skipped.
    pub fn position(&self) -> LogPosition {
        self.position
    }
}
