//! The interface of an engine that takes part.

use std::path::Path;

use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::requests::{DebitCreditError, Request, Scale};
use sardonyx_lab::ExperimentError;
use sardonyx_lab::product::Product;

pub use sardonyx_lab::Failure;

/// A bank in some engine.
pub trait Peer: Product {
    /// Opens the bank in `directory`, an existing directory of its own; makes one of `scale`, all
    /// balances zero, if there is none yet.
    ///
    /// # Errors
    /// The engine's error.
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure>
    where
        Self: Sized;

    /// Runs all of `requests` in order, each reading and writing an account, a teller and a branch and appending to the
    /// history. Returns when all are on stable storage.
    ///
    /// # Errors
    /// The engine's error; then the bank must not be used any more.
    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure>;

    /// The four sums, read from every record.
    ///
    /// # Errors
    /// The engine's error.
    fn sums(&mut self) -> Result<Sums, Failure>;

    /// The number of lines of the history.
    ///
    /// # Errors
    /// The engine's error.
    fn history_lines(&mut self) -> Result<u64, Failure>;
}

/// Opens or makes a bank in an engine: see [`Peer::open`].
pub type OpenBank = fn(&Path, Scale) -> Result<Box<dyn Peer>, Failure>;

/// An engine of the registry: its name and the opening of its bank.
#[derive(Clone, Copy)]
pub struct Engine {
    /// See [`Product::name`].
    pub name: &'static str,
    /// See [`Product::settings`].
    pub settings: &'static str,
    /// See [`Peer::open`].
    pub open: OpenBank,
}

impl Engine {
    /// The engine that `P` adapts.
    pub fn of<P: Peer + 'static>() -> Self {
        Engine {
            name: P::name(),
            settings: P::settings(),
            open: |directory, scale| Ok(Box::new(P::open(directory, scale)?)),
        }
    }
}

/// The reason why a comparison has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// An engine failed.
    #[error("{engine} could not {operation}: {source}")]
    Engine {
        /// Its name.
        engine: &'static str,
        /// `open the bank`, `run a group` and the like.
        operation: &'static str,
        /// The engine's error.
        #[source]
        source: Failure,
    },
    /// An engine lost, doubled or tore a transaction.
    #[error(
        "{engine} holds {lines} lines of history and the sums {sums}, but was given {transactions} \
         transactions of {amount} together"
    )]
    Wrong {
        /// Its name.
        engine: &'static str,
        /// The sums that it holds.
        sums: Sums,
        /// The lines of history that it holds.
        lines: u64,
        /// The number of transactions that it acknowledged.
        transactions: u64,
        /// The sum of their amounts.
        amount: i64,
    },
    /// The directory for the banks cannot be made or removed.
    #[error("the directory for {engine}'s bank: {source}")]
    Directory {
        /// The engine's name.
        engine: &'static str,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// A group without transactions, or no engine or no group size at all.
    #[error("nothing to run: name at least one engine and group sizes of at least 1")]
    Nothing,
    /// The scale is not possible.
    #[error(transparent)]
    Scale(#[from] DebitCreditError),
    /// The conditions of the run could not be made or measured.
    #[error(transparent)]
    Conditions(#[from] ExperimentError),
}
