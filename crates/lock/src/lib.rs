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
//! # A map, in an order of reading
//!
//! | module | subject | users |
//! | --- | --- | --- |
//! | [`compatibility`], [`queue`] | matrices; the locks of one object | `sharing`, whose global lock table stores queues as words of shared memory; [`Locks`] |
//! | [`owner`], [`space`] | transactions and subtransactions; kinds of objects | `multilevel` |
//! | [`escrow`] | pending changes of a bounded quantity | [`Locks`] |
//! | [`deadlock`], [`victim_rule`] | waits that never end; the request to deny | [`Locks`] |
//! | `shard`, `parking`, [`locks`] | a part of the table under its mutex; a parked thread; the shell over them | `multilevel` |
//!
//! A request goes from [`Locks::request`] to its object's shard, and to the queue there. If it has to wait, the shard
//! notes the wait, [`deadlock::victim`] decides whether a wait is denied, and the thread parks. A release goes the same
//! way, and returns the threads to wake.
//!
//! # Tests
//!
//! The invariants are at the heads of [`queue`], [`escrow`] and `shard`. `tests/all` compares each with a naive model
//! or with its definition; `tests/shuttle_locks` runs [`Locks`] under a scheduler that explores the orders of threads.
//! The example `uncontended` measures a request and its release.
//!
//! ```text
//! cargo test -p sardonyx-lock
//! RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle cargo test -p sardonyx-lock --test shuttle_locks
//! ```
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
