//! Locks: the cores without threads, clocks or I/O, and the threaded shell over them.
//!
//! A lock protects an object (a page, an object of a user's schema) until its owner (a transaction, an operation)
//! releases it. A [`Compatibility`] matrix gives the locks: shared and exclusive is one such matrix, read and
//! increment another. The core is [`LockQueue`], the state of one object: its holders, and its waiters, first come
//! first served. [`Reservations`] serve bounded quantities, for which no matrix suffices. [`deadlock::victim`] finds a
//! cycle among transactions with subtransactions that wait, and chooses the one to give way.
//!
//! All these are state machines: a request is answered at once with [`Answer`], and the grants of a release are
//! returned to the caller, which notifies their owners. The simulation and the entries of a global lock table (GEM
//! paper, section 2) are shells around them. So is [`Locks`], the lock manager of multi-level transactions (DASDBS
//! paper, section 2), whose threads park.
//!
//! ```
//! use sardonyx_lock::{Answer, Compatibility, EXCLUSIVE, LockQueue, SHARED};
//!
//! let matrix = Compatibility::SHARED_EXCLUSIVE;
//! let mut page: LockQueue<u32> = LockQueue::default();
//! assert_eq!(page.request(&matrix, 1, SHARED), Answer::Granted);
//! assert_eq!(page.request(&matrix, 2, EXCLUSIVE), Answer::Waiting);
//! let mut granted = Vec::new();
//! page.release(&matrix, 1, &mut granted);
//! assert_eq!(granted, [2]);
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]
#![forbid(unsafe_code)]

pub mod compatibility;
pub mod deadlock;
pub mod escrow;
pub mod locks;
pub mod owner;
mod parking;
pub mod queue;
mod shard;
pub mod space;
pub mod statistics;
pub mod victim_rule;

pub use compatibility::{Compatibility, CompatibilityError, EXCLUSIVE, Mode, Modes, SHARED};
pub use escrow::{Admission, Quantity, Reservations};
pub use locks::{Locks, Reserved, Token, Waiting};
pub use owner::{Asker, Denied, Granted, Owner};
pub use queue::{Answer, Holder, LockQueue, Waiter};
pub use space::{LockSpace, PAGES, Resource};
pub use statistics::{LevelStatistics, LocksStatistics};
pub use victim_rule::VictimRule;
