//! The queue from the logging stage to one consumer of the log: a checkpointer's thread. The
//! consumer takes *all* that waits at once. It is bounded by the buffer pool.
//!
//! Source: Li & Naughton, section 2, "Checkpointing" (the checkpoint queue).

use super::pool::DurableGroup;
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// Durable groups on their way to a consumer, in log order.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    groups: VecDeque<Arc<DurableGroup>>,
    nudged: bool,
    closed: bool,
}

impl Feed {
    /// Adds a group; called in log order.
    pub fn push(&self, group: Arc<DurableGroup>) {
        let mut state = self.state.lock();
        if !state.closed {
            state.groups.push_back(group);
            self.arrived.notify_one();
        }
    }

    /// Wakes the consumer without a group: there is something else to do.
    pub fn nudge(&self) {
        self.state.lock().nudged = true;
        self.arrived.notify_one();
    }

    /// No more groups will come; what waits is still delivered.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Drops what waits and refuses what comes: the consumer has failed and must not hold buffers.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.groups.clear();
    }

    /// Waits until there is something to take or to do.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while state.groups.is_empty() && !state.nudged && !state.closed {
            self.arrived.wait(&mut state);
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
