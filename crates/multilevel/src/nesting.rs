//! The mark of a thread that is executing an operation. A thread that called an operation of a
//! transaction would wait for pages that it holds itself, without detection: to the lock manager
//! the two are strangers, of which one is merely slow.

#[cfg(not(shuttle))]
use std::cell::Cell;

#[cfg(not(shuttle))]
thread_local!(static EXECUTING: Cell<bool> = const { Cell::new(false) });

/// True if the calling thread is executing an operation.
#[cfg(not(shuttle))]
#[inline]
pub(crate) fn is_executing() -> bool {
    EXECUTING.get()
}

/// Executes an operation. It may panic.
#[cfg(not(shuttle))]
#[inline]
pub(crate) fn executing<T>(execute: impl FnOnce() -> T) -> T {
    struct Ended;
    impl Drop for Ended {
        fn drop(&mut self) {
            EXECUTING.set(false);
        }
    }
    EXECUTING.set(true);
    let _ended = Ended;
    execute()
}

/// In a model all threads are one and cannot be distinguished.
#[cfg(shuttle)]
pub(crate) fn is_executing() -> bool {
    false
}

/// In a model all threads are one and cannot be distinguished.
#[cfg(shuttle)]
pub(crate) fn executing<T>(execute: impl FnOnce() -> T) -> T {
    execute()
}
