//! A thread of the lowest priority that keeps one core awake.
//!
//! On a virtual machine whose cores idle, the completion of a write may be noticed only at the next timer tick:
//! milliseconds instead of microseconds, and no fault of the disk. A comparison of durable systems is fair only if all
//! of them have the disk in the same state. So a spinner runs during all or during none, and the report says which. At
//! nice 19 it yields to any thread with real work.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::process::setpriority_process;
use rustix::thread::{Pid, gettid};

/// The lowest priority.
const LOWEST: i32 = 19;

/// Keeps a core busy from [`Spinner::start`] until it is dropped.
#[must_use = "a spinner stops when it is dropped"]
pub struct Spinner {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    thread_id: Pid,
}

impl Spinner {
    /// Starts spinning; returns when the thread runs at the lowest priority.
    ///
    /// # Errors
    /// The operating system's error, if it refused the thread or the priority.
    pub fn start() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (report, reported) = mpsc::sync_channel(1);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("spinner".into())
            .spawn(move || {
                // No process named: the calling thread alone, as Linux keeps priorities by thread.
                let lowered = setpriority_process(None, LOWEST).map(|()| gettid());
                let failed = lowered.is_err();
                if report.send(lowered).is_err() || failed {
                    return;
                }
                while !stopped.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })?;
        let lowered = reported.recv().map_err(io::Error::other)?;
        Ok(Spinner {
            stop,
            thread: Some(thread),
            thread_id: lowered?,
        })
    }

    /// The operating system's id of the thread.
    pub fn thread_id(&self) -> i32 {
        self.thread_id.as_raw_nonzero().get()
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread does nothing that panics.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of proc(5)'s `stat`, counted from 0 after the thread's name.
    fn stat(thread_id: i32, field: usize) -> i64 {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread_id}/stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        after_name
            .split_whitespace()
            .nth(field)
            .unwrap()
            .parse()
            .unwrap()
    }

    const USER_TICKS: usize = 11;
    const NICE: usize = 16;

    #[test]
    fn it_spins_at_the_lowest_priority_and_ends() {
        let spinner = Spinner::start().unwrap();
        let thread_id = spinner.thread_id();
        assert_eq!(stat(thread_id, NICE), i64::from(LOWEST));
        let own = gettid().as_raw_nonzero().get();
        assert!(
            stat(own, NICE) < i64::from(LOWEST),
            "only the spinner's priority changes"
        );
        // Never ends if nothing spins; how long it takes does not matter.
        while stat(thread_id, USER_TICKS) == 0 {
            std::thread::yield_now();
        }
        let held_by_thread = Arc::clone(&spinner.stop);
        drop(spinner);
        assert_eq!(
            Arc::strong_count(&held_by_thread),
            1,
            "the thread has ended"
        );
    }
}
