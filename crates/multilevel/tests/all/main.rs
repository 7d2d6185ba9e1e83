//! The tests of multi-level transactions: one program, with a module for each matter.
//!
//! - [`common`]: records of 8 bytes, and operations that add to them;
//! - [`support`]: cells with a copy of themselves, and operations that let others come in between;
//! - [`harness_support`]: accounts of a bank, for the tests of the harness;
//! - [`alone`]: a process of its own for tests that fork;
//! - the rest: tests. Those under Shuttle are a program of their own, which an ordinary build leaves empty.
//!
//! Explorations take a part of the cases, chosen by their numbers. They take all of them, and so many seeds, if the
//! environment has `SARDONYX_SEEDS` ([`seeds`]).

#[path = "../../../storage/tests/all/alone.rs"]
mod alone;
mod common;
mod harness_support;
mod support;

mod bad_input;
mod basics;
mod crashes;
mod drops;
mod extremes;
mod forks;
mod full_disk;
mod full_store;
mod harness_bank;
mod harness_checks;
mod harness_ready_types;
mod index_engine;
mod index_model;
mod index_pages;
mod index_serializable;
mod other_ways;
mod records;
mod serializable;
mod snapshots;
mod sphere_replay;
mod spheres;
mod texts;
mod threads;
mod victims;

/// The seeds that the environment asks for: then every case is tried.
fn seeds() -> Option<u64> {
    sardonyx_base::random::asked("SARDONYX_SEEDS")
}
