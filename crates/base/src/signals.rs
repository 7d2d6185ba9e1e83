//! Keeping the program's signals away from what cannot bear to be interrupted: the engine's own
//! threads, and the instructions in which a thread changes what a fault handler reads.
//!
//! A signal to a process is taken by any of its threads that does not block it. Its handler runs there, on that
//! thread's stack and in the middle of its work. A program knows nothing of threads that it did not start, so those
//! must take none. Each is started with all asynchronous signals blocked, from its first instruction on, since a thread
//! inherits the blocked signals of its starter. ([`thread::Builder`](crate::sync::thread::Builder) and [`spawn_scoped`]
//! are the ways to start one.)
//!
//! Not blocked are the signals by which the processor reports acts of the thread itself ([`SYNCHRONOUS`]). If they were
//! blocked, the kernel would end the process without asking any handler, also where a handler makes the access right.
//!
//! For programs, which alone decide what ends them, there is [`Ending`]: the signals that end a program, to be
//! waited for, so that it can leave its place in order.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread::{Scope, ScopedJoinHandle};

/// The signals that a thread's own instructions raise. These are never blocked.
pub const SYNCHRONOUS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// The signals that end a program that does nothing about them: an interrupt and a hang-up of the terminal, and the
/// request to end.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// All signals but those of [`SYNCHRONOUS`].
#[inline]
pub fn asynchronous() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call fills the set.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    // SAFETY: filled above.
    let mut set = unsafe { set.assume_init() };
    for signal in SYNCHRONOUS {
        // SAFETY: a valid set and the number of a signal.
        unsafe { libc::sigdelset(&raw mut set, signal) };
    }
    set
}

/// That the calling thread takes no asynchronous signals, until this is dropped: they wait. A thread that
/// it starts meanwhile takes none for as long as it lives.
///
/// May be used in a signal handler. Two system calls; one, if they were blocked already.
#[derive(Debug)]
#[must_use = "signals are blocked until this is dropped"]
pub struct Blocked {
    /// The thread's blocked signals before, if these were fewer.
    before: Option<libc::sigset_t>,
    /// It is the mask of this thread.
    _of_a_thread: PhantomData<*const ()>,
}

/// Blocks all asynchronous signals in the calling thread.
pub fn block() -> Blocked {
    let set = asynchronous();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are valid, and the second is filled by the call, which cannot fail.
    let before = unsafe {
        libc::sigemptyset(before.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, before.as_mut_ptr());
        before.assume_init()
    };
    Blocked {
        before: (!contains(&before, &set)).then_some(before),
        _of_a_thread: PhantomData,
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the set is one that this thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}

/// True if a set has all signals of another.
fn contains(set: &libc::sigset_t, other: &libc::sigset_t) -> bool {
    // A bit for each signal, of which the kernel has 64: the structure starts with them. The library's
    // own question, signal by signal, takes longer than the system call that this is to save.
    let bits = |set: &libc::sigset_t| {
        // SAFETY: the structure has at least 8 bytes, and any bytes are a number.
        unsafe { ptr::from_ref(set).cast::<u64>().read_unaligned() }
    };
    bits(set) & bits(other) == bits(other)
}

/// The signals that end a program, taken only by the thread that waits for them here. Signals that the program was
/// started to ignore (`nohup`) are ignored as before.
pub struct Ending {
    set: libc::sigset_t,
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").finish_non_exhaustive()
    }
}

impl Ending {
    /// Blocks them in the calling thread and in all that it starts from now on: to be called by `main`, before
    /// there are any. A program that is started by one of these threads inherits that.
    #[inline]
    pub fn block() -> Ending {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the call fills the set.
        let mut set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        };
        for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
            // SAFETY: a valid set and the number of a signal.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        // SAFETY: a valid set; nothing of the mask before is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
        Ending { set }
    }

    /// Has the calling thread, and all that it starts from now on, take them as usual, also if the program was
    /// started by one that blocked them.
    #[inline]
    pub fn unblock() {
        Ending::block().take_as_usual();
    }

    /// Waits for one of them; its number.
    pub fn wait(&self) -> i32 {
        let mut signal = 0;
        loop {
            // SAFETY: a valid set, and a place for the number.
            if unsafe { libc::sigwait(&raw const self.set, &raw mut signal) } == 0 {
                return signal;
            }
        }
    }

    /// Ends the process by a signal of these, as if it had never been waited for: so who started it sees what
    /// ended it. Nothing is dropped.
    pub fn end(self, signal: i32) -> ! {
        // SAFETY: the usual action for a signal that is about to be raised, the mask of this thread, and an
        // end of the process should it go on.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            self.take_as_usual();
            libc::raise(signal);
            libc::_exit(128 + signal)
        }
    }

    fn take_as_usual(&self) {
        // SAFETY: a valid set; nothing of the mask before is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const self.set, ptr::null_mut()) };
    }
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks for the action, which the call writes; all zeroes are an action, too.
    let action = unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// That this process ignores an interrupt of the terminal, until this is dropped.
#[derive(Debug)]
#[must_use = "an interrupt has its action again when this is dropped"]
pub struct InterruptIgnored(Action);

struct Action(libc::sigaction);

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Action").finish_non_exhaustive()
    }
}

/// Has this process ignore an interrupt, while another program has the terminal. A program that was started before takes
/// it as usual.
pub fn ignore_interrupt() -> InterruptIgnored {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeroes are an action; `SIG_IGN` runs no code. The call writes the action of before.
    let before = unsafe {
        let mut ignored = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        ignored.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGINT, &raw const ignored, before.as_mut_ptr());
        before.assume_init()
    };
    InterruptIgnored(Action(before))
}

impl Drop for InterruptIgnored {
    fn drop(&mut self) {
        // SAFETY: an action that this process had; a handler in it is still the program's own.
        unsafe { libc::sigaction(libc::SIGINT, &raw const self.0.0, ptr::null_mut()) };
    }
}

/// Starts a thread of a scope that takes none of the program's signals. The calling thread goes on to
/// take them.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let _blocked = block();
    scope.spawn(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread;

    /// The signals that the calling thread blocks, of those that the kernel lets be blocked.
    fn blocked() -> Vec<i32> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: asks for the mask, which the call writes.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
            set.assume_init()
        };
        (1..=31)
            .filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
            // SAFETY: a valid set and the number of a signal.
            .filter(|signal| unsafe { libc::sigismember(&raw const set, *signal) } == 1)
            .collect()
    }

    fn all_but_synchronous() -> Vec<i32> {
        (1..=31)
            .filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
            .filter(|signal| !SYNCHRONOUS.contains(signal))
            .collect()
    }

    #[test]
    fn a_started_thread_blocks_what_the_one_that_starts_it_goes_on_to_take() {
        let before = blocked();
        let thread = thread::Builder::new().name("one-of-ours".into());
        let theirs = thread.spawn(blocked).unwrap().join().unwrap();
        assert_eq!(theirs, all_but_synchronous());
        assert_eq!(blocked(), before);
        std::thread::scope(|scope| {
            let theirs = spawn_scoped(scope, blocked);
            assert_eq!(blocked(), before);
            assert_eq!(theirs.join().unwrap(), all_but_synchronous());
        });
    }

    #[test]
    fn who_waits_for_the_end_takes_its_signals_but_those_that_are_to_be_ignored() {
        // The starter of this process may have had it ignore some: a shell does, for programs in the background.
        let set = |dispositions: [libc::sighandler_t; 3]| {
            let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
            let pairs = signals.into_iter().zip(dispositions);
            // SAFETY: both arguments are valid constants, so no handler of ours can run. The disposition is the whole
            // process': no other test of this program reads or changes those of these three signals, and none raises one.
            pairs
                .map(|(signal, to)| unsafe { libc::signal(signal, to) })
                .collect::<Vec<_>>()
        };
        let before = set([libc::SIG_IGN, libc::SIG_DFL, libc::SIG_DFL]);
        let body = || {
            let ending = Ending::block();
            let taken = blocked();
            // SAFETY: to this thread, which blocks it.
            unsafe { libc::raise(libc::SIGTERM) };
            let first = ending.wait();
            Ending::unblock();
            (taken, first, blocked())
        };
        let (taken, first, after) = std::thread::spawn(body).join().unwrap();
        set([before[0], before[1], before[2]]);
        assert_eq!(
            (taken, first),
            (vec![libc::SIGINT, libc::SIGTERM], libc::SIGTERM)
        );
        assert_eq!(after, []);
    }

    #[test]
    fn blocking_ends_where_it_began_also_inside_of_another() {
        let before = blocked();
        let outer = block();
        drop(block());
        assert_eq!(blocked(), all_but_synchronous());
        drop(outer);
        assert_eq!(blocked(), before);
    }
}
