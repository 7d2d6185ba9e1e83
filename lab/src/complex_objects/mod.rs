//! Operations on complex objects, under every strategy of multi-level transactions: the measurements
//! of the DASDBS paper (Hasse & Weikum), section 3.
//!
//! - [`plan`]: the sweeps of the DASDBS paper's figures;
//! - [`processors`]: work takes time on simulated processors, because a machine of a few cores cannot
//!   show twelve;
//! - [`operation`]: the operation on a complex object, its locks and its inverse;
//! - [`database`]: the database of complex objects in the engine, and the comparison of every value
//!   with what was committed;
//! - [`report`]: the measures of one run;
//! - [`victims`]: the victim of a deadlock and the delay before it is run again, all rules side by side.
//!
//! Differences from the DASDBS paper: pages are of 4 KiB and not of 2 KByte, ten to a complex object as there. Work is
//! sleeping, and compensation does no timed work. A committing transaction waits for a real synced write.

mod build;
pub mod database;
mod engine;
mod expected;
mod experiment;
mod layout;
pub mod operation;
mod options;
mod picture;
pub mod plan;
pub mod processors;
pub mod report;
mod show;
pub mod victims;
mod window;
mod worker;
pub mod workload;

pub use database::{ComplexObjects, Setting};
pub use expected::{Difference, Expected};
pub use experiment::{Figures, Plan, Progress, THREADS_MAX, run};
pub use options::Options;
pub use plan::{Figure, Parameter, Point, Sweep};
pub use report::Row;
pub use victims::Handling;
pub use window::Until;

#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod tests;
