//! Faults that the tests plant: dying or being stopped at a chosen instruction of a critical section, and leaving
//! validation out. Also the part of the ring that a thread has read, which shows the cost of an old reader
//! without a clock. Only with the feature `planted-faults`, which the tests of this crate turn on and nothing
//! else does; without it every call here is nothing.
//!
//! A proof needs them: a checker that never sees an anomaly may be blind. Of a million random kills, one meets a death
//! between two particular stores.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static SKIP_VALIDATION: AtomicBool = AtomicBool::new(false);
static DIE_AT: AtomicU32 = AtomicU32::new(0);
static RAISE_AT: AtomicU32 = AtomicU32::new(0);
static LET_PASS: AtomicU32 = AtomicU32::new(0);
static STOPS: AtomicBool = AtomicBool::new(false);

macro_rules! steps {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        /// A place at which a process can be made to die.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Step { $($(#[$meta])* $name),* }

        impl Step {
            /// All of them.
            #[cfg(feature = "planted-faults")]
            pub const ALL: &'static [Step] = &[$(Step::$name),*];
        }
    };
}

steps! {
    /// A session took the commit lock.
    CommitLocked,
    /// The frame is in the ring, and nothing points to it.
    FrameWritten,
    /// A large transaction: the spill area is taken, and has no memory yet.
    SpillNoted,
    /// Some of its records are in the spill area, and nothing points to them.
    SpillHalfCopied,
    /// The spill area's memory was given back, which is not noted.
    SpillFreed,
    /// Some sequence numbers are raised.
    SequencesHalfStored,
    /// All are raised; the tail is not.
    BeforeTail,
    /// The transaction has happened; the session's slot still says that it runs.
    AfterTail,
    /// The slot is free, the commit lock held.
    SlotFree,
    /// It is announced how far is folded.
    FoldAnnounced,
    /// Some records are in the base pages.
    FoldHalfDone,
    /// All are, and `folded` does not say so.
    BeforeFolded,
    /// It does.
    AfterFolded,
    /// It is announced how far the ring is used again.
    ReclaimAnnounced,
    /// The ring may be used again.
    Reclaimed,
    /// The commit lock is held for the last instruction.
    BeforeUnlock,
    /// A transaction's pin is known, its snapshot is not.
    Pinned,
    /// A transaction's snapshot is known.
    Registered,
    /// A transaction runs and has written.
    Gathered,
    /// Growing: the lock is held.
    GrowthLocked,
    /// Growing: the needed pages are allocated, the length is the old one.
    Allocated,
    /// Growing: the length is the new one, the lock is held.
    Grown,
    /// A session's slot is being given out: counted up, not taken.
    SlotCounted,
    /// The slot is taken, the lock held.
    SlotTaken,
    /// A process has its place among the processes.
    ProcessRegistered,
    /// A slot of a dead process is free, others of it are not.
    Burying,
    /// A group is about to be written for all.
    Leading,
    /// The group is on stable storage, and nothing was acknowledged.
    GroupWritten,
    /// A shared memory is complete and has no name.
    BeforeName,
    /// A process has left a shared memory, which is still mapped.
    Left,
    /// A fault in a view is being handled, with the turn to do so.
    Resolving,
    /// A thread has the turn to change the states of a view's pages, outside of the fault handler.
    TurnTaken,
}

/// Dies or stops here if that was asked for, or sends this thread a signal.
#[inline]
pub(crate) fn step(step: Step) {
    if cfg!(feature = "planted-faults") {
        if DIE_AT.load(Ordering::Relaxed) == step as u32 + 1 {
            die();
        }
        if RAISE_AT.load(Ordering::Relaxed) == step as u32 + 1 {
            // SAFETY: sends a signal to the calling thread, which may be done in a signal handler.
            unsafe { libc::raise(libc::SIGUSR1) };
        }
    }
}

thread_local! {
    static LOOKED: Cell<u64> = const { Cell::new(0) };
}

/// This thread looks at so many bytes of records in the ring.
#[inline]
pub(crate) fn look(bytes: usize) {
    if cfg!(feature = "planted-faults") {
        LOOKED.set(LOOKED.get() + bytes as u64);
    }
}

/// Bytes of records in the ring that this thread has looked at.
#[cfg(feature = "planted-faults")]
pub fn looked() -> u64 {
    LOOKED.get()
}

/// True if validation is left out.
#[inline]
pub(crate) fn skips_validation() -> bool {
    cfg!(feature = "planted-faults") && SKIP_VALIDATION.load(Ordering::Relaxed)
}

#[cold]
fn die() {
    let pass = |left: u32| left.checked_sub(1);
    if LET_PASS
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass)
        .is_ok()
    {
        return;
    }
    if STOPS.load(Ordering::Relaxed) {
        // Once.
        DIE_AT.store(0, Ordering::Relaxed);
        // SAFETY: sends a signal to this very thread, which stops with all others before the call returns.
        unsafe { libc::raise(libc::SIGSTOP) };
        return;
    }
    // SAFETY: sends a signal to this process, which ends before the call returns: as by `kill -9`, nothing is
    // cleaned up.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

/// From now on this process dies at a step, after it was passed so many times.
#[cfg(feature = "planted-faults")]
pub fn die_at(step: Step, passes: u32) {
    LET_PASS.store(passes, Ordering::Relaxed);
    DIE_AT.store(step as u32 + 1, Ordering::Relaxed);
}

/// From now on this process stops once at a step, after it was passed so many times, until someone lets
/// it continue.
#[cfg(feature = "planted-faults")]
pub fn stop_at(step: Step, passes: u32) {
    STOPS.store(true, Ordering::Relaxed);
    die_at(step, passes);
}

/// True if it has stopped since, or was not asked to.
#[cfg(feature = "planted-faults")]
pub fn has_stopped() -> bool {
    DIE_AT.load(Ordering::Relaxed) == 0
}

/// From now on a thread that passes a step gets SIGUSR1 there, each time.
#[cfg(feature = "planted-faults")]
pub fn raise_at(step: Step) {
    RAISE_AT.store(step as u32 + 1, Ordering::Relaxed);
}

/// From now on transactions of this process commit regardless of others' changes.
#[cfg(feature = "planted-faults")]
pub fn skip_validation() {
    SKIP_VALIDATION.store(true, Ordering::Relaxed);
}
