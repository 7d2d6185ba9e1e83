//! The input of the simulation: page references, drawn or recorded, without an engine.
//!
//! Nothing here knows an engine, a disk or a clock.
//!
//! - [`random`]: seeded numbers that replay on every version and machine (invariant I11).
//! - [`arrival`]: when transactions arrive.
//! - [`popularity`]: which of many items is asked for.
//! - [`reference`](mod@reference): transactions as page references, for page-level models.
//! - [`debit_credit_pages`]: debit-credit as page references (GEM paper).
//! - `trace` (feature `traces`): recorded transactions: two forms, statistics, a synthetic one, local lock shares.
//! - [`routing`]: which types run on which nodes, and which node grants which locks.

#![forbid(unsafe_code)]

pub mod arrival;
pub mod debit_credit_pages;
pub mod popularity;
pub mod random;
pub mod reference;
pub mod routing;
#[cfg(feature = "traces")]
pub mod trace;
