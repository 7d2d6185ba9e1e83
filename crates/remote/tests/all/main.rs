//! The tests of stores that others keep: one program, with a module for stores in this process and one for a real one.

#[path = "../../../storage/tests/all/alone.rs"]
mod alone;
#[path = "../../../sardonyx/tests/common/fork.rs"]
mod fork;
mod stores;

mod contract;
mod keeper;
mod processes;
mod real;
