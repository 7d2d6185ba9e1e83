//! The debit-credit benchmark with its proof, and the frame in which every experiment runs.
//!
//! - [`debit_credit`]: the benchmark of the TPK paper (section 4), and the proof of its outcome;
//! - [`floor`]: the rate of bare loops and bare writes on this machine, to set beside each figure;
//! - [`experiment`]: an experiment, as the type of its options; running, printing and writing it;
//! - [`open_loop`]: requests that arrive independently of earlier answers;
//! - [`place`], [`engine_options`], [`remote_store`]: the place and the options of an experiment's database;
//! - [`progress`], [`responses`], [`window`]: its progress and its measurements.
//!
//! Users run this benchmark first, so it belongs to the product. The papers' other experiments are the crate `lab`.

pub mod debit_credit;
pub mod engine_options;
mod error;
pub mod exit;
pub mod experiment;
pub mod floor;
pub mod open_loop;
pub mod place;
pub mod progress;
pub mod remote_store;
pub mod responses;
pub mod window;
pub mod written;

pub use error::BenchmarkError;
