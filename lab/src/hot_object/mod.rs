//! A hot object: many threads that change one counter, in durable transactions of three operations.
//!
//! Each transaction increments the counter, which all share, and two of many cold records. The variants differ only in
//! the mode of the counter's lock and the moment of its release. Increments commute, so with a matrix that allows it no
//! transaction waits for another's end. Exclusive locks are those of an engine without such a matrix. They are held until
//! the transaction is durable, as usual, or only until its end is in the log.
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
