//! The tests of the page store, the log, checkpoints and recovery as one program: it is compiled and linked once.
//! `tests/shuttle_*.rs` are the Shuttle models, programs of their own.

#[path = "../common/mod.rs"]
mod common;

mod address_space;
mod alone;
mod deaths;
mod decoders;
mod disk_contract;
mod entry_log;
mod group_commit;
mod kept_copy;
mod letting_go;
mod log_end;
mod real_disk;
mod remote_copy;
mod segment_growth;
mod shared_log;
mod simulated_faults;
mod simulated_model;
mod snapshot_checkpoints;
mod snapshots;
mod spanning;
mod store_adopting;
mod store_alone;
mod store_bases;
mod store_both;
mod store_checkpoints;
mod store_damaged_answers;
mod store_following;
mod store_forks;
mod store_hosts;
mod store_log;
mod store_lost;
mod store_makers;
mod store_retention;
