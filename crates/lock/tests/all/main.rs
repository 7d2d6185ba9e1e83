//! The tests of lock queues, lock tables and the lock manager as one program: it is compiled and linked once.
//! `tests/shuttle_locks` are the Shuttle models, a program of their own.

#[path = "../oracle/mod.rs"]
mod oracle;

mod deadlock;
mod escrow;
mod locks_model;
mod model;
mod queue;
mod threads;
