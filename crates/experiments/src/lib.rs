//! The experiments of the thesis on memory-mapped transactions (paper 002, sections 4.2 to 4.4), on
//! mapped segments and, beside them, on that thesis' own recipe built again; and those of the paper
//! on multi-level transactions (paper 003, section 3).
//!
//! - [`page_touch`]: what it costs that a transaction's pages are found out (Figures 4-1 to 4-4,
//!   Tables 4.2 to 4.7), the additive model, and the steps that the cost consists of;
//! - [`least_squares`]: how the model is fitted;
//! - [`concurrency`]: independent transactions of several processes (Figures 4-5 and 4-6, Tables 4.9
//!   and 4.10);
//! - [`tree_inserts`]: durable random inserts into trees that were written for plain memory;
//! - [`complex_objects`]: operations on complex objects, under each strategy of multi-level
//!   transactions (Figures 7 to 10 of paper 003);
//! - [`hot_object`]: many threads that increment one counter, in multi-level transactions.
//!
//! All that is timed is checked: what a transaction read is compared with what was committed last,
//! and what was written is read again by others. An experiment whose memory is wrong has no figure.

pub mod complex_objects;
pub mod concurrency;
mod crew;
mod error;
pub mod hot_object;
pub mod least_squares;
pub mod page_touch;
pub mod tree_inserts;

pub use crew::Program;
pub use error::{ExperimentError, Failure};
