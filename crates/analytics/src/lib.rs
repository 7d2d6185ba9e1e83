//! Analytic reads of Sardonyx's SQL layer: DataFusion on a snapshot.
//!
//! What the SQL layer's own planner does not know (`ROLLUP`, more aggregates, …), and what joins
//! and groups whole tables, is read by [`DataFusionReader`], once it is set on a database:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let tables = std::sync::Arc::new(sardonyx::Tables::open("bank.sdx")?);
//! use sardonyx_analytics::{DataFusionReader, Options};
//! let database = sardonyx_sql::Database::new(tables)?;
//! let reader = DataFusionReader::new(&Options::default())?;
//! database.set_analytic_reader(std::sync::Arc::new(reader));
//! # Ok(())
//! # }
//! ```
//!
//! A statement reads one snapshot, and nobody waits for it. DataFusion is planned with PostgreSQL's meaning: where its own
//! differs (sums that run over, casts that cut, floats divided by zero, …) the statement is rewritten or planned
//! otherwise, and functions that mean something else are left out.
//!
//! - [`text`]: a statement's text; [`plan`]: its plan; [`parameters`]; [`reader`], [`rows`]: running it;
//! - [`table`], [`access`], [`scan`], [`batch`]: tables of a snapshot as Arrow's arrays; [`values`]: arrays as values;
//! - [`planner`], [`arithmetic`], [`convert`], [`functions`]: PostgreSQL's meaning; [`types`], [`error`].
//!
//! Compiling DataFusion takes 20 to 30 minutes of a processor, so nothing depends on this crate unless it is asked for.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

mod access;
mod arithmetic;
mod batch;
mod convert;
mod error;
mod functions;
mod parameters;
mod plan;
mod planner;
mod reader;
mod rows;
mod scan;
mod table;
mod text;
mod types;
mod values;

pub use reader::{DataFusionReader, Options};
