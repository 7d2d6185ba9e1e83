//! Tickets that are awaited: a thread that waits for durability on behalf of tasks that must not block.
//!
//! It is started by the first ticket that is awaited, and waits for the last position of all that were
//! asked for meanwhile: tasks share commit groups as threads do.

use crate::error::SegmentError;
use crate::process_state::ProcessState;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::user_code::{message_of, wake};
use sardonyx_storage::log::LogError;
use sardonyx_storage::ticket::DurableLog;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::Waker;

/// The state for waiting tasks.
#[derive(Debug, Default)]
pub(crate) struct Awaiting {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tasks: Vec<(u64, Waker)>,
    /// True if the thread runs.
    running: bool,
    closed: bool,
}

impl Awaiting {
    /// Wakes a task when a position is durable, or when the log has failed.
    pub(crate) fn ask(
        process: &Arc<ProcessState>,
        position: u64,
        waker: &Waker,
    ) -> Result<(), SegmentError> {
        let awaiting = process.awaiting();
        // The program's code: not under our lock.
        let waker = waker.clone();
        let mut state = awaiting.state.lock();
        state.tasks.push((position, waker));
        if !state.running {
            let (shared, weak) = (awaiting.clone(), Arc::downgrade(process));
            sardonyx_base::sync::thread::Builder::new()
                .name("awaiting".into())
                .spawn(move || shared.run(&weak))
                .map_err(|source| SegmentError::System {
                    operation: "start a thread that waits for durability",
                    source,
                })?;
            state.running = true;
        }
        awaiting.asked.notify_one();
        Ok(())
    }

    fn run(&self, process: &Weak<ProcessState>) {
        loop {
            let mut state = self.state.lock();
            while state.tasks.is_empty() && !state.closed {
                self.asked.wait(&mut state);
            }
            let tasks = std::mem::take(&mut state.tasks);
            drop(state);
            // Each task holds a ticket, and so the process; without tasks it may be dropped.
            let Some(process) = process.upgrade() else {
                return;
            };
            if let Some(last) = tasks.iter().map(|(position, _)| *position).max() {
                // A failure is found again by the tasks themselves. So is a panic: nothing else would
                // report it to them.
                let wait = AssertUnwindSafe(|| drop(process.wait_durable(last)));
                if let Err(payload) = catch_unwind(wait) {
                    let died = LogError::thread_died(&message_of(payload));
                    process.region.control().log.poison(&died.to_string());
                }
            }
            tasks.into_iter().for_each(|(_, waker)| wake(waker));
        }
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.asked.notify_one();
    }
}
