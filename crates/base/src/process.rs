//! The identity of this process, which distinguishes a child made by `fork` from its parent.
//!
//! A child has a copy of its parent's memory, and so of every handle in it, but none of the threads that work
//! behind the handles. A mutex that one of them held at that moment stays locked in the child for ever. And the
//! files are the parent's: a group written by the child would overwrite the parent's log. So everything opened
//! remembers the process that opened it ([`Process`]) and refuses to work in another, before it takes any lock.
//! The log's writer and the files themselves check once more.
//!
//! The detection: a page of its own that the kernel hands to a child as zeroes (`MADV_WIPEONFORK`). So every way
//! of forking is noticed, also a raw system call that runs no handlers of the C library, and asking costs a load
//! from memory. A kernel without that advice (before Linux 4.14) leaves it to a handler of `pthread_atfork`.
//!
//! Invariants: a number is never used by two processes of one line of ancestors; the word is 0 only in
//! a child that has not asked yet.
//!
//! Not a fork: `vfork` and `posix_spawn`, whose child shares its parent's memory until it runs another
//! program.

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The error for a child; the errors of all rooms have the same words.
pub const FORKED: &str = "this process was forked after the database was opened: it belongs to the \
                          parent, whose threads and locks are not here; open it again in this \
                          process when the parent has closed it";

/// The process that a handle belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    word: &'static AtomicU32,
    number: u32,
}

/// This process was forked after the handle was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", FORKED)]
pub struct Forked;

/// The word with this process's identity; null until the first request.
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
/// Takes the page's place where the kernel gives none.
static WITHOUT_PAGE: AtomicU32 = AtomicU32::new(0);
/// The last number given in this process and its ancestors.
static LAST: AtomicU32 = AtomicU32::new(0);

impl Process {
    /// The process that asks.
    pub fn current() -> Self {
        let word = word();
        let number = match word.load(Ordering::Relaxed) {
            0 => take_number(word),
            number => number,
        };
        Process { word, number }
    }

    /// True if this is still that process, and not a child of it. A load and a comparison.
    #[inline(always)]
    pub fn is_current(&self) -> bool {
        self.word.load(Ordering::Relaxed) == self.number
    }

    /// Refuses a child.
    ///
    /// # Errors
    /// [`Forked`], unless this is still that process.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Forked> {
        match self.is_current() {
            true => Ok(()),
            false => Err(refuse()),
        }
    }

    /// Its number, which none of its ancestors had.
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// The state of a process that is stopped, as the system says: `T` (stopped) or `t` (by a debugger). `None` if it
/// is not, or if the system does not say.
#[inline]
pub fn stopped_state(process: u32) -> Option<char> {
    let (state, _) = state_and_start(process)?;
    matches!(state, 'T' | 't').then_some(state)
}

/// The time at which a process began, in the system's ticks since it started. With the process id it names one process,
/// since ids are used again. `None` if the process has ended, or if the system does not say.
#[inline]
pub fn start_of(process: u32) -> Option<u64> {
    let (state, start) = state_and_start(process)?;
    (!matches!(state, 'Z' | 'X')).then_some(start)
}

/// The state of a process and the time of its start.
#[inline]
fn state_and_start(process: u32) -> Option<(char, u64)> {
    if process == 0 {
        return None;
    }
    let said = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let mut fields = said.get(said.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3, the start field 22.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

/// A child gets an error, and does not keep its parent's databases locked: if it was made by a raw system call it
/// has their locks still.
#[cold]
fn refuse() -> Forked {
    crate::inherited::leave_parents_locks();
    Forked
}

fn word() -> &'static AtomicU32 {
    let word = WORD.load(Ordering::Acquire);
    match word.is_null() {
        // SAFETY: once set it points to a page that is never unmapped, or to a static; both hold an
        // aligned word that is only used atomically.
        false => unsafe { &*word },
        true => make_word(),
    }
}

#[cold]
fn make_word() -> &'static AtomicU32 {
    extern "C" fn in_the_child() {
        WITHOUT_PAGE.store(0, Ordering::Relaxed);
        crate::inherited::leave_parents_locks();
    }
    // Before anything that it is for is there. Two threads that come at once register it twice, which
    // does no harm.
    // SAFETY: the handler only uses atomics and `dup3`, which may be done after a fork.
    unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    let made = wiped_page().unwrap_or_else(|| ptr::from_ref(&WITHOUT_PAGE).cast_mut());
    let set = WORD.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    // A page that another thread was faster than is left alone: it happens once.
    let word = set.map_or_else(|other| other, |_| made);
    // SAFETY: as in `word`.
    unsafe { &*word }
}

/// A page that is zero in every child. `None` if the kernel does not give one.
fn wiped_page() -> Option<*mut AtomicU32> {
    // Of the C library, which knows it wherever this runs: `rustix` reads the auxiliary vector, which
    // some tools (valgrind) do not hand on, and panics.
    // SAFETY: takes a number and touches no memory of ours.
    let bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let page = unsafe {
        rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)
    }
    .ok()?;
    // SAFETY: the advice changes a child's copy of this page, which has no other user yet.
    match unsafe { rustix::mm::madvise(page, bytes, Advice::LinuxWipeOnFork) } {
        Ok(()) => Some(page.cast()),
        Err(_) => {
            // SAFETY: the page mapped above; its address has no other user.
            let _ = unsafe { rustix::mm::munmap(page, bytes) };
            None
        }
    }
}

/// The first to ask in a process gives it a number.
#[cold]
fn take_number(word: &AtomicU32) -> u32 {
    let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    word.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed)
        .map_or_else(|other| other, |_| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forks by `fork`, and says what the child answers.
    fn in_a_child(fork: impl FnOnce() -> libc::pid_t, body: impl FnOnce() -> bool) -> bool {
        match fork() {
            0 => {
                let code = i32::from(!body());
                // SAFETY: ends the child at once, without what its parent's libraries do at the end.
                unsafe { libc::_exit(code) }
            }
            child => {
                let mut status = 0;
                // SAFETY: waits for the child just made.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }

    fn by_the_library() -> libc::pid_t {
        // SAFETY: the child uses atomics only, and ends.
        unsafe { libc::fork() }
    }

    fn by_a_system_call() -> libc::pid_t {
        // SAFETY: as above; `clone` with no flags but the signal at its end is a fork.
        unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t }
    }

    #[test]
    fn a_child_is_another_process_however_it_was_forked_and_so_is_its_child() {
        let parent = Process::current();
        for fork in [by_the_library, by_a_system_call] {
            assert!(in_a_child(fork, || {
                let child = Process::current();
                let other = !parent.is_current() && parent.check() == Err(Forked);
                other
                    && child.is_current()
                    && Process::current().number() == child.number()
                    && child.number() != parent.number()
                    && in_a_child(fork, || {
                        let grandchild = Process::current().number();
                        !parent.is_current()
                            && !child.is_current()
                            && grandchild != child.number()
                            && grandchild != parent.number()
                    })
            }));
            assert!(parent.is_current());
            assert_eq!(Process::current().number(), parent.number());
        }
    }
}
