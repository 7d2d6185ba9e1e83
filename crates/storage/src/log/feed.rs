//! The queue from the logging stage to one consumer of the log: a checkpointer's thread. The
//! consumer takes *all* that waits at once. It is bounded by the buffer pool.
//!
//! Source: Li & Naughton, section 2, "Checkpointing" (the checkpoint queue).

use super::pool::DurableGroup;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

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

/// What a consumer is told besides the groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// No more groups will come.
    pub closed: bool,
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

    /// Takes everything that waits. Waits at most `wait` for something to come; `None`: until
    /// something comes.
    pub fn take(&self, into: &mut VecDeque<Arc<DurableGroup>>, wait: Option<Duration>) -> Taken {
        let mut state = self.state.lock();
        if state.groups.is_empty() && !state.nudged && !state.closed {
            match wait {
                None => self.arrived.wait(&mut state),
                Some(time) if time.is_zero() => {}
                Some(time) => {
                    self.arrived.wait_for(&mut state, time);
                }
            }
        }
        state.nudged = false;
        into.append(&mut state.groups);
        Taken { closed: state.closed }
    }
}
