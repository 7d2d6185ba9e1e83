//! Durable random inserts into ordered trees, one transaction each.
//!
//! The LIBXAC thesis found its trees from 4 percent slower to 67 percent faster than Berkeley DB's at this load. Here
//! are the two trees of `structures`, plain serial code, in a mapped segment that all workers share
//! ([`segment_trees`]); the crate `peers` adds other engines and runs all of them in one run. Every insert is a
//! transaction of its own and is on stable storage when it returns. The tree holds a number of entries before the clock
//! runs; keys of 64 bits are as good as random, and no worker draws one twice. Workers are threads of one process, or
//! processes if the engine allows several.
//!
//! After every cell the tree is closed and opened again. Its entries are counted, and a sample of every worker's keys is
//! compared with their values. An engine that fails this has no figure.

mod engine;
mod options;
mod run;
mod segment;
mod shape;
mod show;
mod worker;

pub use engine::{OpenTree, Session, Sharing, TreeEngine, TreePeer, fill_value, key, value};
pub use options::Options;
pub use run::{Cell, Figures, Plan, TreeReport, Workers, run};
pub use segment::{BPlus, CacheOblivious};
pub use shape::VALUE_BYTES_MAX;
pub use show::findings;
pub use worker::{Budget, serve};

pub fn segment_trees() -> Vec<TreeEngine> {
    vec![
        TreeEngine::of::<BPlus>(),
        TreeEngine::of::<CacheOblivious>(),
    ]
}

#[cfg(test)]
mod tests;
