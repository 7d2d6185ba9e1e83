//! Finds times during which this program did not run: the machine was paused, or a signal stopped the program.
//!
//! Its clients are then stopped, too, so that a time that they measure is not one of the hosts. A thread that wakes up
//! each 10 ms notices it by a late wake-up.

use crate::pauses::Pauses;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time between two wake-ups.
const BETWEEN: Duration = Duration::from_millis(10);

/// A thread that wakes up all the time, until it is dropped.
#[derive(Debug)]
pub struct Standstill {
    wake_ups: Arc<Pauses>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Standstill {
    /// Starts the thread.
    pub fn begin() -> anyhow::Result<Standstill> {
        let (wake_ups, ends) = (Arc::new(Pauses::new()), Arc::new(AtomicBool::new(false)));
        let (noted, ended) = (wake_ups.clone(), ends.clone());
        let thread = thread::Builder::new()
            .name("standstill".into())
            .spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    noted.sign(Instant::now());
                    thread::sleep(BETWEEN);
                }
            })?;
        Ok(Standstill {
            wake_ups,
            ends,
            thread: Some(thread),
        })
    }

    /// Discards earlier standstills.
    pub fn watch(&self) {
        self.wake_ups.watch();
    }

    /// The longest time since then without a wake-up.
    pub fn longest(&self) -> Duration {
        self.wake_ups.longest(Instant::now())
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only reads a clock.
            let _ = thread.join();
        }
    }
}
