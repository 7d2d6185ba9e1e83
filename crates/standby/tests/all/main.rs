//! The tests of the standby: one program, with a module for each matter.
//!
//! A test that forks, or that looks at all threads of its process, runs in a process of its own ([`alone`]).

#[path = "../../../storage/tests/all/alone.rs"]
mod alone;
mod common;

mod failures;
mod forks;
mod signals;
mod strangers;
