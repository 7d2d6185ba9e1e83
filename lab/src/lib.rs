//! The lab: every experiment of the papers, run on the engine, and its baselines.
//!
//! Nothing of the product depends on this crate. The debit-credit benchmark, and the frame in which these experiments run, are
//! the crate [`sardonyx_benchmark`].
//!
//! - [`crashes`]: the engine on a simulated disk that crashes, and damaged files;
//! - [`page_touch`]: the cost of finding a transaction's pages (LIBXAC thesis, sections 4.2 and 4.3: Figures 4-1 to
//!   4-4, Tables 4.2 to 4.7), the additive model, and the steps of the cost;
//! - [`concurrency`]: independent transactions of several processes (LIBXAC thesis, section 4.4:
//!   Figures 4-5 and 4-6, Tables 4.9 and 4.10);
//! - [`tree_inserts`]: durable random inserts into the trees of [`structures`], which were written
//!   for plain memory (LIBXAC thesis, section 5);
//! - [`complex_objects`]: operations on complex objects under each strategy of multi-level
//!   transactions (DASDBS paper, section 3: Figures 7 to 10);
//! - [`tpcc`]: TPC-C's five transactions on tables, and the twelve conditions of consistency;
//! - [`ycsb`]: YCSB's workloads on tables, and on any implementation of its store;
//! - [`hot_object`]: many threads that increment one counter, in multi-level transactions;
//! - [`floor`]: the rate of bare loops and bare writes on this machine, for comparison with all of them.
//!
//! [`Experiment`] is the trait of each, [`registry`] has all of them as verbs.
//!
//! Everything that is timed is checked: reads are compared with the last committed values, and writes are read again by
//! others. An experiment whose memory is wrong has no figure.
//!
//! # Adding an experiment
//!
//! A module with three files. `options` has the type of its options, which implements [`Experiment`]. `run` has the
//! measurement, as a type that serialises, in a [`Report`]. `show` has the figures as
//! [`Findings`](sardonyx_results::Findings): grids whose columns are declared once, notes, charts. Then a line in
//! [`registry`]: printing, JSON, CSV, SVG, exit codes and `--help` follow.

#![allow(
    missing_docs,
    reason = "the crate is not published: its interface is the programs' help"
)]

pub mod complex_objects;
pub mod concurrency;
pub mod crashes;
mod crew;
mod error;
pub mod exit;
pub mod floor;
pub mod hot_object;
pub mod least_squares;
pub mod page_touch;
mod processor;
pub mod product;
pub mod registry;
mod strategy;
pub mod structures;
pub mod tpcc;
pub mod tree_inserts;
mod worker;
pub mod ycsb;

pub use crew::Program;
pub use error::{ExperimentError, Failure};
pub use registry::Experiments;
pub use sardonyx_benchmark::experiment::{About, Conditions, Experiment, Paper, Report};
use sardonyx_benchmark::{engine_options, experiment, place, progress, responses, window};
use sardonyx_command::ending;
