//! TPC-C: all five transactions of the standard as one procedure, on tables of fixed records.
//!
//! - [`scale`]: the numbers of rows, and the keys of all tables;
//! - [`records`]: the nine tables; the history is a journal;
//! - [`draw`]: the standard's random numbers and texts (clauses 2.1.6, 4.3.2, 4.3.3);
//! - [`load`]: the initial population (clause 4.3.3.1);
//! - [`requests`]: the requests of terminals, in the standard's mix, from a deck (clause 5.2.4.2);
//! - [`paths`]: the ordered accesses;
//! - [`transactions`]: the five transactions (clauses 2.4 to 2.8);
//! - [`run`]: clients that submit batches and measure;
//! - [`consistency`]: the twelve conditions of clause 3.3.2;
//! - `options`, `figures`, `show`: the experiment.
//!
//! Differences from an audited run: terminals neither think nor key in, so that a few of them reach the engine's
//! throughput. The delivery is not queued; its response time is that of its transaction. Texts of variable length in
//! the standard are as long as their columns, filled with spaces.
//!
//! Source: TPC Benchmark C, Standard Specification, revision 5.11.

pub mod consistency;
pub mod draw;
mod figures;
pub mod load;
mod options;
pub mod paths;
pub mod records;
pub mod requests;
pub mod run;
pub mod scale;
mod show;
pub mod transactions;

pub use figures::{Figures, Kinds, measure};
pub use options::Options;
pub use show::findings;

#[cfg(test)]
mod tests;
