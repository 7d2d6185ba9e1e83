//! Ordered indexes of variable keys and values: the one of multi-level transactions beside LMDB and
//! redb.
//!
//! Inserts of ascending and of random keys, durable, one or a hundred in a transaction; gets of random
//! keys, one or a hundred in a transaction; scans of a hundred entries. Keys have 16 bytes, values
//! 100. Each cell has a new index, filled before the clock runs. Every read is compared with the expected entries;
//!      after inserts the index is closed, opened again and read whole.
//!
//! Every engine has the best settings that keep acknowledged inserts through a power failure. No engine gets a hint
//! that keys ascend.
//!
//! # Adding an engine
//!
//! Implement [`Index`] and [`Session`] in a module of its own and add one line to [`registry`]. The
//! tests run over the registry, so they cover the new engine too.

mod engine;
mod entry;
mod lmdb;
mod redb;
mod run;
mod sardonyx;
mod table;
mod work;

pub use engine::{Engine, Index, OnEntry, OnValue, Session};
pub use entry::{Entry, KEY_BYTES, Key, Order, VALUE_BYTES, key, value};
pub use run::{Cell, EngineReport, Figures, Options, WorkReport, run};
pub use sardonyx_lab::{ExperimentError, Failure};
pub use table::findings;
pub use work::{SCAN_ENTRIES, Work};

/// All engines, in the order in which they run.
pub fn registry() -> Vec<Engine> {
    vec![
        Engine::of::<sardonyx::Sardonyx>(),
        Engine::of::<lmdb::Lmdb>(),
        Engine::of::<redb::Redb>(),
    ]
}
