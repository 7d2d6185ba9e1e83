//! The program `sardonyx-lab` as its users run it, and the lab's library: crashes, damage, trees, the other host of a
//! benchmark.

const PROGRAM: &str = env!("CARGO_BIN_EXE_sardonyx-lab");

mod cluster;
#[path = "../../../crates/cli/tests/all/common.rs"]
mod common;
mod complex_objects;
mod crash;
mod damage;
mod experiments;
mod follower;
mod foreign_fault;
mod manners;
mod simulate;
mod structures;
mod trace;

use std::path::Path;

/// A path as an argument.
fn path(directory: &Path, name: &str) -> String {
    directory.join(name).to_str().unwrap().into()
}
