//! The program `sardonyx` as its users run it, verb by verb: real processes, their output, their exit codes.

const PROGRAM: &str = env!("CARGO_BIN_EXE_sardonyx");

mod backup;
mod changes;
mod cluster;
mod command_line;
mod common;
mod compact;
mod disks;
mod following;
mod hosting;
mod import;
mod import_keys;
#[path = "../../../sardonyx/tests/all/kept.rs"]
mod kept;
mod kept_databases;
#[path = "../../../sardonyx/tests/all/leave_unfinished.rs"]
mod leave_unfinished;
mod leftovers;
mod machine;
mod manners;
mod other_files;
#[cfg(feature = "otlp")]
mod otlp;
mod reload;
mod restore;
mod rows;
mod schema;
mod serving;
mod sockets;
mod sql;
mod store;
mod store_copies;
mod store_killed;
mod store_serve;
mod store_trimmed;
mod terminal;
mod unfinished;
mod ways;
mod ways_in;
