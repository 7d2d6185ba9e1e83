//! A hot object: many threads that change one counter, in durable transactions of three operations.
//!
//! Each transaction increments the counter, which all have in common, and two of many cold records.
//! The variants differ in nothing but the mode of the counter's lock and when it is given back:
//! increments commute, so with a matrix that says so nobody waits for anybody's end of transaction;
//! exclusive locks are what an engine without such a matrix has, held until the transaction is
//! durable as usual, or only until its end is in the log.
//!
//! After each cell the database is closed and opened again: the counter must be the number of
//! acknowledged transactions, and the cold records together twice that. A variant that fails this
//! has no figure.

mod operation;
mod options;
mod run;
mod show;

pub use operation::RECORDS_PER_PAGE;
pub use options::Options;
pub use run::{Cell, Figures, Series, Variant, run};
pub use show::findings;

#[cfg(test)]
mod tests;
