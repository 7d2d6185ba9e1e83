//! YCSB's core workloads A to F, and reads and scans of short rows, in any store.
//!
//! - [`operations`]: the operations of a client, and the rows;
//! - [`workload`]: the workloads' mixes and distributions, as a stream of operations;
//! - [`store`]: the interface of a store, and a model of it;
//! - [`tables`]: Sardonyx as a store;
//! - [`run`](mod@run): one client that hands over batches and waits, for each workload in turn;
//! - `show`: the figures.
//!
//! All stores get the same operations in the same order from one seed. A batch is answered when all its changes are on
//! stable storage. The results of operations go into a digest. So no store can leave out the reading, and two runs of as
//! many operations can be compared.
//!
//! Source: B. F. Cooper et al., *Benchmarking Cloud Serving Systems with YCSB* (2010); the core workloads
//! as its distribution has them.

pub mod operations;
mod options;
pub mod run;
mod show;
pub mod store;
pub mod tables;
pub mod workload;

pub use options::Options;
pub use run::{Cell, Figures, Plan, StoreFigures, measure, run};
pub use show::{add, findings};
pub use store::{Engine, Seen, Store};

#[cfg(test)]
mod tests;
