//! The transactions that a node runs, by the routing tables that `trace route` computes and `simulate` uses.
//!
//! A client draws transactions until it has one that the table sends to its node. So each node has its part of the
//! whole workload, in the shares of the table, without a process between clients and nodes.

use crate::bank::{Bank, Transfer, Transfers};
use crate::error::ClusterError;
use crate::setting::Setting;
use sardonyx_workload::random::Random;
use sardonyx_workload::routing::RoutingTable;
#[cfg(feature = "lab")]
use sardonyx_workload::routing::Tables;
#[cfg(feature = "lab")]
use sardonyx_workload::trace::{Header, Partition};
use serde::{Deserialize, Serialize};

/// The routing of transactions to nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// To the node of its branch.
    #[default]
    Affinity,
    /// Drawn for each transaction.
    Random,
    /// By the tables of a file.
    Tables {
        /// The file's name.
        file: String,
        /// The content of the file.
        text: String,
    },
}

/// Routing tables come from traces.
#[cfg(not(feature = "lab"))]
pub(crate) const NO_TABLES: ClusterError = ClusterError::NeedsLab {
    what: "a routing from a file",
};

impl Routing {
    /// As options and reports have it.
    pub fn name(&self) -> &str {
        match self {
            Routing::Affinity => "affinity",
            Routing::Random => "random",
            Routing::Tables { file, .. } => file,
        }
    }

    /// The routing table for the nodes of a setting.
    ///
    /// # Errors
    /// [`ClusterError::Tables`], [`ClusterError::TablesNodes`].
    pub fn table(&self, setting: &Setting) -> Result<RoutingTable, ClusterError> {
        let nodes = setting.nodes;
        match self {
            Routing::Random => Ok(RoutingTable::random(setting.types(), nodes)),
            Routing::Affinity => {
                let scale = setting.scale.pages();
                let mut weights = vec![vec![0.0; nodes.into()]; setting.types()];
                for branch in 0..scale.branches() as u32 {
                    let node = scale.node_of_branch(branch, nodes);
                    weights[usize::from(setting.type_of(branch))][usize::from(node)] += 1.0;
                }
                let table = RoutingTable::of_weights(nodes, &weights);
                Ok(table.unwrap_or_else(|| RoutingTable::random(setting.types(), nodes)))
            }
            #[cfg(feature = "lab")]
            Routing::Tables { file, text } => Ok(Self::tables(setting, file, text)?.routing),
            #[cfg(not(feature = "lab"))]
            Routing::Tables { .. } => Err(NO_TABLES),
        }
    }

    #[cfg(feature = "lab")]
    /// The tables of a file, for the nodes of a setting.
    ///
    /// # Errors
    /// As [`Routing::table`].
    pub(crate) fn tables(
        setting: &Setting,
        file: &str,
        text: &str,
    ) -> Result<Tables, ClusterError> {
        let tables = Tables::from_toml(text, file, &header(setting)?)?;
        let (found, nodes) = (tables.routing.nodes(), setting.nodes);
        match found == nodes {
            true => Ok(tables),
            false => Err(ClusterError::TablesNodes {
                file: file.into(),
                found,
                nodes,
            }),
        }
    }
}

#[cfg(feature = "lab")]
/// The header of a trace of such nodes.
///
/// # Errors
/// [`ClusterError::Header`].
pub fn header(setting: &Setting) -> Result<Header, ClusterError> {
    let types = (0..setting.types()).map(|kind| match setting.types() as u64 {
        types if types == setting.scale.pages().branches() => format!("branch-{kind}"),
        _ => format!("branches-{kind}"),
    });
    let partitions = setting.partitions().into_iter();
    let partitions = partitions.map(|(name, pages)| Partition {
        name: name.into(),
        pages,
    });
    let bytes = sardonyx_storage::page::PAGE_SIZE as u32;
    Ok(Header::new(bytes, types.collect(), partitions.collect())?)
}

/// Draws a node's transactions.
#[derive(Clone, Debug)]
pub struct Source {
    transfers: Transfers,
    table: RoutingTable,
    random: Random,
    node: u16,
}

impl Source {
    /// The tables of a node.
    ///
    /// # Errors
    /// As [`Routing::table`], and [`ClusterError::Scale`]; and [`ClusterError::Setting`] if the node gets no
    /// transactions.
    pub fn new(
        setting: &Setting,
        routing: &Routing,
        node: u16,
        seed: u64,
    ) -> Result<Self, ClusterError> {
        let table = routing.table(setting)?;
        let mut all = 0..table.types() as u16;
        let gets = |kind: u16| {
            table
                .shares(kind)
                .any(|(to, share)| to == node && share > 0.0)
        };
        if !all.any(gets) {
            return Err(ClusterError::Setting {
                what: "a routing",
                found: format!("{} that sends nothing to node {node}", routing.name()),
                allowed: "one that sends transactions to every node".into(),
            });
        }
        Ok(Source {
            transfers: Transfers::new(setting.scale.pages(), seed)?,
            table,
            random: Random::new(seed.rotate_left(17) ^ 0x0707),
            node,
        })
    }

    /// The next one for this node, and its type.
    pub fn draw(&mut self, setting: &Setting, bank: &Bank) -> (Transfer, u16) {
        loop {
            let transfer = self.transfers.draw(bank);
            let kind = setting.type_of(transfer.branch);
            if self.table.route(kind, &mut self.random) == self.node {
                return (transfer, kind);
            }
        }
    }
}
