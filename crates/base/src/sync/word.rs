//! The kernel's futex: threads sleep while a word of memory has a value.
//!
//! By the C library, not by `rustix`: its feature for this call alone takes a third of the time that every embedding
//! program spends to compile it.
//!
//! Invariant: a wait returns at once if the word has another value; the kernel compares it under its own lock. A caller
//! that changes the word before it wakes loses no wake-up.

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The threads that may sleep at one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleepers {
    /// Of this process alone, which the kernel finds sooner.
    OfProcess,
    /// Of several processes: the word lies in memory that they share.
    OfProcesses,
}

impl Sleepers {
    fn flags(self) -> libc::c_int {
        match self {
            Sleepers::OfProcess => libc::FUTEX_PRIVATE_FLAG,
            Sleepers::OfProcesses => 0,
        }
    }
}

/// Sleeps while the word is `seen`, at most so long; may return early. Returns false if the time was over.
pub fn wait(word: &AtomicU32, sleepers: Sleepers, seen: u32, at_most: Option<Duration>) -> bool {
    let time = at_most.map(|time| libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    let time: *const libc::timespec = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | sleepers.flags();
    // SAFETY: the word lives until the call returns, and the kernel reads it atomically. The time is null or lives as
    // long.
    let slept = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, seen, time) };
    // Interruptions and changed words are as good as a wake-up: the caller looks again.
    slept == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// Wakes so many threads that sleep at the word, at most `i32::MAX`.
pub fn wake(word: &AtomicU32, sleepers: Sleepers, threads: u32) {
    let operation = libc::FUTEX_WAKE | sleepers.flags();
    let threads = threads.min(i32::MAX as u32);
    // SAFETY: the kernel uses the address of the word, and does not access the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, threads) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_wait_ends_by_its_time_a_wake_up_and_another_value() {
        for sleepers in [Sleepers::OfProcess, Sleepers::OfProcesses] {
            let word = AtomicU32::new(1);
            assert!(!wait(&word, sleepers, 1, Some(Duration::from_micros(1))));
            assert!(wait(&word, sleepers, 2, Some(Duration::MAX)));
            assert!(wait(&word, sleepers, 2, None));
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    while word.load(Ordering::SeqCst) == 1 {
                        wait(&word, sleepers, 1, None);
                    }
                });
                word.store(2, Ordering::SeqCst);
                wake(&word, sleepers, u32::MAX);
            });
        }
    }
}
