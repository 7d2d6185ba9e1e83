//! Memory before its first use. The first touch of a huge page has the operating system find memory and clear it, and
//! a hypervisor perhaps, too. That takes some hundred microseconds, which otherwise delay the transaction that needs
//! the page. So a thread does it for the pages behind those that are being filled.
//!
//! Invariants: it changes no byte. It is at most [`WAITING_MAX`] units of [`COMMIT_BYTES`] behind its requests, and
//! forgets others, whose pages get their memory when they are touched. It ends when the store is dropped.

use super::COMMIT_BYTES;
use super::mapping::Mapping;
use crate::supervisor::start;
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::waiting::let_others_run;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Requests that wait.
const WAITING_MAX: usize = 16;

/// A store's requests to its thread.
#[derive(Debug)]
pub(super) struct Ahead {
    requests: Arc<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The beginnings of the units, in bytes.
    units: VecDeque<usize>,
    ended: bool,
}

impl Ahead {
    /// Starts the thread.
    pub fn start(mapping: Arc<Mapping>) -> io::Result<Self> {
        let requests = Arc::<Requests>::default();
        let ahead = Ahead {
            requests: requests.clone(),
        };
        let work = move || {
            while let Some(unit) = requests.next() {
                mapping.populate(unit, unit + COMMIT_BYTES);
                let_others_run();
            }
        };
        start("memory-ahead".into(), Box::new(work))?;
        Ok(ahead)
    }

    /// Asks for the unit that begins at an offset, all of which is committed.
    pub fn ask(&self, unit: usize) {
        let mut state = self.requests.state.lock();
        if state.units.len() < WAITING_MAX {
            state.units.push_back(unit);
            self.requests.changed.notify_one();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.requests.state.lock().ended = true;
        self.requests.changed.notify_one();
    }
}

impl Requests {
    /// The next unit; none when the store was dropped.
    fn next(&self) -> Option<usize> {
        let mut state = self.state.lock();
        loop {
            if state.ended {
                return None;
            }
            if let Some(unit) = state.units.pop_front() {
                return Some(unit);
            }
            self.changed.wait(&mut state);
        }
    }
}
