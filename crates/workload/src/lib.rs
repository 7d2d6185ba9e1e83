//! Workloads without an engine: what a transaction asks for, who draws it, and what must hold
//! after.
//!
//! Every benchmark and every test of every engine takes its requests from here, so that two figures
//! in one table answer the same question. Nothing here knows an engine, a disk or a clock.
//!
//! - [`random`]: seeded numbers that replay on every version and machine (invariant I11).
//! - [`arrival`]: when transactions arrive.
//! - [`debit_credit`]: the debit-credit transaction of paper 000, section 4: scale, request,
//!   generator.
//! - [`reference`](mod@reference): transactions as page references, for page-level models.
//! - [`debit_credit_pages`]: debit-credit as page references (paper 001).
//! - [`complex_objects`]: operations on complex objects with shared parts (paper 003).
//! - [`record`]: the fixed-size records that the transaction reads and writes.
//! - [`model`]: the transaction on plain vectors, and the four sums that must agree.
//! - [`trace`]: recorded transactions: two forms, statistics, a synthetic one, local lock shares.
//! - [`routing`]: which types run on which nodes, and which node grants which locks.
//! - [`responses`]: response times, gathered batch by batch.
//!
//! ```
//! use sardonyx_workload::debit_credit::{Generator, Scale};
//! use sardonyx_workload::model::Model;
//!
//! let scale = Scale::paper();
//! let mut model = Model::new(scale);
//! for request in Generator::standard(scale, 42).take(1_000) {
//!     model.apply(&request)?;
//! }
//! assert!(model.sums().agree());
//! # Ok::<(), sardonyx_workload::debit_credit::DebitCreditError>(())
//! ```

#![forbid(unsafe_code)]

pub mod arrival;
pub mod complex_objects;
pub mod debit_credit;
pub mod debit_credit_pages;
pub mod model;
pub mod random;
pub mod record;
pub mod reference;
pub mod responses;
pub mod routing;
pub mod trace;
