//! The debit-credit benchmark on Sardonyx, and the proof of its outcome.
//!
//! - [`requests`]: scale, request and generator of the benchmark, without an engine;
//! - [`record`]: the fixed-size records that the transaction reads and writes;
//! - [`model`]: the transaction on plain vectors, and the four sums that must agree;
//! - [`schema`]: the tables and the account history;
//! - [`transaction`]: the debit-credit transaction as a procedure in two stages;
//! - [`prelocated`]: the same, with records located by the input stage;
//! - [`load`]: filling the tables;
//! - [`run`]: clients that submit, measure and count the acknowledged transactions;
//! - [`open_loop`]: clients whose requests arrive independently of earlier answers;
//! - [`wire`]: clients in other processes, over sockets;
//! - `options`, `plan`, `measurement`, `figures`, `show`: the experiment, from its options to its report; `paper` has
//!   Table 1 for comparison, `follower` the other host of configuration C, `terminals` the experiment of clients whose
//!   server is another process;
//! - [`proof`]: the four sums, and every acknowledged transaction found once.
//!
//! Source: TPK paper (Li & Naughton), section 4, Figures 3 and 4.

mod curve;
pub mod figures;
mod follower;
pub mod load;
mod measurement;
mod memory;
pub mod model;
pub mod open_loop;
mod options;
mod paper;
mod plan;
pub mod prelocated;
pub mod proof;
pub mod record;
pub mod requests;
pub mod run;
pub mod schema;
mod show;
mod terminals;
pub mod transaction;
pub mod wire;

pub use figures::Figures;
pub use options::{Configuration, Options};
pub use show::findings;
