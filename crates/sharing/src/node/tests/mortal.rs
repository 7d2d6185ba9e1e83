//! Nodes that die at any step: the steps of a thread are counted, and at the one that was chosen it panics with
//! [`Killed`]. The node's shared memory stays as it is then, as when a process is killed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The panic of a node that is killed.
#[derive(Debug)]
pub struct Killed;

thread_local! {
    /// Steps until the thread is killed; 0: it is not.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// A step of a node.
pub fn step() {
    LEFT.with(|left| match left.get() {
        0 => {}
        1 => {
            left.set(0);
            resume_unwind(Box::new(Killed));
        }
        more => left.set(more - 1),
    });
}

/// Does a part of a node's work, which is killed at the step `at` (0: never). Returns nothing if it was, and
/// else how many steps were left.
pub fn mortal<T>(at: u64, part: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(at);
    let done = catch_unwind(AssertUnwindSafe(part));
    LEFT.set(0);
    match done {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<Killed>() => None,
        Err(panic) => resume_unwind(panic),
    }
}
