//! The program `sardonyx-lab` as its users meet it, and the lab's library: crashes, damage, trees, the standby of a benchmark.

const PROGRAM: &str = env!("CARGO_BIN_EXE_sardonyx-lab");

mod cluster;
#[path = "../../../crates/cli/tests/all/common.rs"]
mod common;
mod complex_objects;
mod crash;
mod damage;
mod experiments;
mod foreign_fault;
mod manners;
mod simulate;
mod standby;
mod structures;
mod trace;
