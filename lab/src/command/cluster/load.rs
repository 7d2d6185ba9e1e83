//! The load of a run, as arguments.

use sardonyx_cluster::command::options::routing;
use sardonyx_cluster::load::Load;

/// The load of each node.
#[derive(Debug, clap::Args)]
pub struct LoadOptions {
    /// The routing of transactions to nodes: affinity (by branch), random, or a file that `trace route` wrote
    #[arg(long, value_name = "ROUTING", default_value = "affinity")]
    routing: String,
    /// Clients of each node, one transaction at a time each
    #[arg(long, value_name = "N", default_value_t = 4)]
    clients: u16,
    /// Seconds measured
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Seconds before, not measured
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    warm_up: f64,
    /// So many transactions in all, instead of seconds
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"])]
    transactions: Option<u64>,
    /// Transactions that arrive at each node in a second, independent of earlier ones [default: a client begins the
    /// next one when the last is durable]
    #[arg(long, value_name = "TPS")]
    rate: Option<f64>,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl LoadOptions {
    pub fn load(&self) -> anyhow::Result<Load> {
        let routing = routing("routing", &self.routing)?;
        Ok(Load {
            clients: self.clients,
            routing,
            warm_up_seconds: self.warm_up,
            seconds: self.seconds,
            transactions: self.transactions,
            rate: self.rate,
            seed: self.seed,
            record: false,
        })
    }
}
