//! A logging thread: takes steps of the log writer while there are any, and sleeps while there are none.

use super::LogWriter;
use crate::log::policy::GroupPolicy;
use sardonyx_base::sync::atomic::Ordering;
use std::time::{Duration, Instant};

impl LogWriter {
    /// The logging stage: writes groups until closed. The body of a thread; several may run.
    pub fn run(&self) {
        let mut spun = false;
        loop {
            if self.step() {
                spun = false;
                continue;
            }
            if !spun {
                spun = true;
                if self.spin() {
                    continue;
                }
            }
            // If a group is filling and the pen is taken, its holder looks when it releases the pen.
            if self.idle() {
                // Another logging thread may sleep since it saw a group filling, and a signal wakes one of them.
                self.look_for_end();
                return;
            }
            spun = false;
        }
    }

    /// Looks for work a short while before parking: a park and a wake-up cost more than this.
    fn spin(&self) -> bool {
        // In a model there is no time that could pass.
        if self.policy != GroupPolicy::Adaptive || cfg!(shuttle) {
            return false;
        }
        let until = Instant::now() + Duration::from_micros(20);
        loop {
            for _ in 0..32 {
                if self.wants_group() && self.is_filling() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= until {
                return false;
            }
        }
    }

    /// Waits for something to do. Returns whether the stage is closed and empty.
    fn idle(&self) -> bool {
        let mut queue = self.work.queue.lock();
        if queue.signalled {
            queue.signalled = false;
            return false;
        }
        if queue.closed {
            let empty = queue.sealed.is_empty() && !self.watched.filling.load(Ordering::SeqCst);
            if empty || self.poison.get().is_some() {
                return true;
            }
            if self.remote.is_none() {
                return false;
            }
            // The filling group is sealed when the copy elsewhere has the outstanding ones, which is signalled.
        }
        let is_poisoned = self.poison.get().is_some();
        let due_at = match (self.policy, queue.filling_since) {
            // There is nothing to write any more, so that no time is waited for.
            _ if is_poisoned => None,
            // One that is further away than time reaches never comes.
            (GroupPolicy::Fixed { time, .. }, Some(since)) => since.checked_add(time),
            _ => queue.due_at,
        };
        if !is_poisoned && queue.is_due() {
            return false;
        }
        match due_at {
            Some(due_at) => {
                queue.timed += 1;
                self.work.arrived.wait_until(&mut queue, due_at);
                queue.timed -= 1;
            }
            None => self.work.arrived.wait(&mut queue),
        }
        queue.signalled = false;
        false
    }
}
