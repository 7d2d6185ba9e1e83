//! The tests of stores: `contract` in this process, `processes` over TCP, `real` and `keeper` on real stores.

#[path = "../../../storage/tests/all/alone.rs"]
mod alone;
#[path = "../../../sardonyx/tests/common/fork.rs"]
mod fork;
mod stores;

mod contract;
mod keeper;
mod processes;
mod real;
