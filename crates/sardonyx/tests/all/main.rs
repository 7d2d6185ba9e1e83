//! The tests of the library's face as one program: it is compiled and linked once. A test that must be the only one of
//! its process runs its body in a child process (`alone`). `tests/shuttle_database.rs` is a program of its own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/fork.rs"]
mod fork;
#[path = "../../../storage/tests/common/held.rs"]
mod held;
#[path = "../../../storage/tests/common/watched.rs"]
mod watched;

mod abuse;
#[path = "../../../storage/tests/all/alone.rs"]
mod alone;
mod backup;
mod bounds;
mod changes;
mod checkpoints;
mod columns;
mod compact;
mod damage;
mod deaths;
mod disk_faults;
mod drops;
mod exchanges;
mod extremes;
mod face;
mod failures;
mod followers;
mod forks;
mod full_disk;
mod full_disk_real;
mod hosts;
mod journal_readers;
mod journal_texts;
mod kept;
mod kept_versions;
mod large;
mod leave_unfinished;
mod migrations;
mod model;
mod nested;
mod nodes;
mod open_transactions;
mod opening;
mod own_threads;
mod places;
mod records;
mod registering;
mod replaced_segment;
mod rows;
mod shape_changes;
mod signals;
mod small_log;
mod snapshot_checkpoints;
mod snapshots;
mod stores;
mod threadless;
mod tickets;
mod ways;
mod zero_bytes;
