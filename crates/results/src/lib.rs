//! The forms of results: aligned text for people, CSV and SVG for other programs.
//!
//! - [`findings`]: all that an experiment found, printed and written in every form;
//! - [`grid`]: rows whose columns are declared once, for people and for CSV;
//! - [`table`]: aligned cells, and named figures under headings;
//! - [`units`]: quantities as people read and write them;
//! - [`csv`]: comma-separated values;
//! - [`chart`]: curves and heat maps as SVG;
//! - [`recovery`]: what a recovery did (feature `recovery`).

#![forbid(unsafe_code)]

pub mod chart;
pub mod csv;
mod estimate;
pub mod findings;
pub mod grid;
#[cfg(feature = "recovery")]
pub mod recovery;
pub mod table;
pub mod units;

pub use estimate::Estimate;
pub use findings::{Findings, WriteError};
pub use grid::Grid;
