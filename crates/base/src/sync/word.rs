//! The kernel's futex: threads sleep while a word of memory has a value.
//!
//! By the C library, not by `rustix`, whose feature for this call alone takes every embedding program longer to compile than
//! these lines.
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
    // SAFETY: the word is borrowed, so its address is mapped. The kernel neither reads nor changes its value; of a word that
    // processes share it looks up the page.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, threads) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// Another process has a shared word at another address. So has another mapping of the same memory in this one.
    #[test]
    fn a_word_of_several_processes_is_one_at_all_its_addresses() {
        use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let memory = memfd_create("word", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&memory, 4096).expect("a page");
        let [one, other] = [(); 2].map(|()| {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let (at, flags) = (std::ptr::null_mut(), MapFlags::SHARED);
            // SAFETY: the system chooses a place that is free, and nothing unmaps it. The page is of zeroes, longer than the
            // word and aligned; all accesses to it are atomic.
            unsafe {
                let page = mmap(at, 4096, protection, flags, &memory, 0).expect("a mapping");
                &*page.cast::<AtomicU32>()
            }
        });
        std::thread::scope(|threads| {
            // The value stays, so that only a wake-up ends the sleep before its time.
            let time = Some(Duration::from_secs(60));
            let sleeper = threads.spawn(move || wait(one, Sleepers::OfProcesses, 0, time));
            while !sleeper.is_finished() {
                wake(other, Sleepers::OfProcesses, 1);
                std::thread::yield_now();
            }
            assert!(sleeper.join().expect("no panic"));
        });
    }

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
