//! The debit-credit benchmark on Sardonyx, and the proof of its outcome.
//!
//! - [`schema`]: the tables and the account history;
//! - [`transaction`]: the debit-credit transaction as a procedure in two stages;
//! - [`load`]: filling the tables;
//! - [`run`]: clients that submit, measure and keep account of what was acknowledged;
//! - [`proof`]: the four sums, and every acknowledged transaction there once;
//! - [`exploration`]: random transactions on a simulated disk that crashes;
//! - [`damage`]: damaged files, and whether opening or verifying tells.
//!
//! Source: Li & Naughton, section 4, Figures 3 and 4.

pub mod damage;
pub mod exploration;
pub mod load;
pub mod proof;
pub mod run;
pub mod schema;
pub mod transaction;
