//! A logging thread: takes steps of the log writer while there are any, and sleeps while there are none.

use super::LogWriter;
use crate::log::policy::{DEFERRED_TIME_MAX, GroupPolicy};
use sardonyx_base::sync::atomic::Ordering;
use std::time::{Duration, Instant};

impl LogWriter {
    /// The logging stage: writes groups until closed. The body of a thread; several may run.
    pub fn run(&self) {
        let (mut spun, mut has_written) = (false, false);
        loop {
            if self.step() {
                (spun, has_written) = (false, true);
                continue;
            }
            if !spun {
                spun = true;
                if self.spin() {
                    continue;
                }
            }
            // If a group is filling and the pen is taken, its holder looks when it releases the pen.
            if self.idle(&mut has_written) {
                // Another logging thread may sleep since it saw a group filling, and a signal wakes one of them.
                self.look_for_end();
                return;
            }
            spun = false;
        }
    }

    /// Looks for work a short while before parking: a park and a wake-up cost more than this. Not while groups gather: the
    /// threads of the program, which have work, would wait for this processor.
    fn spin(&self) -> bool {
        // In a model there is no time that could pass.
        if self.policy != GroupPolicy::Adaptive || cfg!(shuttle) || self.gathers() {
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

    /// Waits for something to do. `has_written` says if the thread has written since it last waited. Returns whether the
    /// stage is closed and empty.
    fn idle(&self, has_written: &mut bool) -> bool {
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
            _ => queue.due_at.or_else(|| self.looks_again(*has_written)),
        };
        if !is_poisoned && queue.is_due() {
            return false;
        }
        *has_written = false;
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

    /// The time at which a thread that has just written looks again, although nothing is due. While groups gather, the next
    /// one comes soon. It is due later than this, so that its transaction need not wake a thread to watch the clock.
    #[doc(hidden)]
    pub fn looks_again(&self, has_written: bool) -> Option<Instant> {
        let is_soon = has_written && self.gathers() && !cfg!(shuttle);
        is_soon.then(|| Instant::now() + DEFERRED_TIME_MAX)
    }
}
