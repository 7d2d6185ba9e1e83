//! The options of TPC-C, and the experiment as a whole.

use super::scale::Scale;
use super::{figures, show};
use crate::ExperimentError;
use crate::engine_options::{LOG_BYTES, LOG_BYTES_MIN};
use crate::experiment::{About, Conditions, Experiment, Report, check_seconds};
use crate::place::{Place, beside};
use sardonyx_results::Findings;
use sardonyx_results::units::parse_bytes;
use std::path::PathBuf;

/// Run TPC-C durably, and check its consistency.
///
/// Run TPC-C's five transactions durably, recover, and check the twelve conditions of consistency.
///
/// Loads warehouses of the standard's size (100,000 items; ten districts of 3,000 customers each) and takes a
/// checkpoint. Clients then run new orders, payments, order status, deliveries and stock levels in the standard's mix,
/// each acknowledged only when it is on stable storage. Terminals neither think nor key in. Then the conditions of
/// clause 3.3.2 are checked on all rows. The database is closed and recovered, and the check is repeated; every
/// acknowledged order, payment and delivery must be found. The database is removed at the end unless --keep is given or
/// a check fails.
///
/// Examples:
///   sardonyx-lab tpcc
///   sardonyx-lab tpcc --warehouses 10 --seconds 10 --busy
///   sardonyx-lab tpcc --batch 1 --in-flight 1 --clients 32
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Warehouses, of about 100 MB each
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub warehouses: u32,
    /// End after so many seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,
    /// End after so many transactions of all kinds
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub transactions: Option<u64>,
    /// Clients, each a thread that serves a share of the terminals
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub clients: u32,
    /// Requests in a batch that a client submits
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub batch: u32,
    /// Batches that a client has in flight
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub in_flight: u32,
    /// Rows of a warehouse, for a quick look: 200 items, and 30 customers of a district
    #[arg(long)]
    pub small: bool,
    /// The most bytes of log on disk [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub log_bytes: Option<u64>,
    /// The seed of rows and requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The directory for the database [default: ./sardonyx-tpcc.sdx]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Keep the database at the end
    #[arg(long)]
    pub keep: bool,
    /// The common options of experiments.
    #[command(flatten)]
    pub conditions: Conditions,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "tpcc",
        source: None,
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        self.check()?;
        let default = PathBuf::from("sardonyx-tpcc.sdx");
        let path = self.directory.as_ref().unwrap_or(&default);
        let mut place = Place::claim(path)?;
        let report = Report::measured(self.conditions.face(), Some(&beside(path)), || {
            figures::measure(self, place.path())
        })?;
        if self.keep || !report.figures.holds() {
            place.keep();
        }
        Ok(show::findings(&report)?)
    }
}

impl Options {
    /// The size of the tables.
    ///
    /// # Errors
    /// The size is not possible.
    pub(super) fn scale(&self) -> Result<Scale, ExperimentError> {
        let scale = Scale::standard(self.warehouses)?;
        Ok(match self.small {
            true => Scale::small(self.warehouses),
            false => scale,
        })
    }

    /// The most bytes of log.
    pub(super) fn log_bytes(&self) -> u64 {
        self.log_bytes.unwrap_or(LOG_BYTES)
    }

    fn check(&self) -> Result<(), ExperimentError> {
        check_seconds(self.seconds)?;
        self.scale()?;
        if self.log_bytes() < LOG_BYTES_MIN {
            let log_bytes = self.log_bytes();
            let text = format!("--log-bytes {log_bytes}: at least 32MiB");
            return Err(ExperimentError::Usage(text));
        }
        Ok(())
    }
}
