//! What transactions do, and where they and the lock authorities are: prepared once, shared by all
//! replications of a point.

use crate::experiment::SimulationError;
use crate::parameters::{Parameters, Workload};
use sardonyx_workload::debit_credit_pages::{self as pages, HistoryEnd, PageScale};
use sardonyx_workload::reference::PageNumber;

/// What transactions do.
#[derive(Debug)]
pub enum Load {
    /// Debit-credit, drawn.
    DebitCredit {
        /// How large the database is.
        scale: PageScale,
        /// How many nodes there are.
        nodes: u16,
    },
}

impl Load {
    /// What `parameters` ask for.
    ///
    /// # Errors
    /// [`SimulationError`] if the scale is not possible or the trace cannot be read.
    pub fn new(parameters: &Parameters) -> Result<Self, SimulationError> {
        let Workload { clustered, other_branch_percent, .. } = parameters.workload;
        let workload = &parameters.workload;
        let scale = PageScale {
            units: parameters.nodes,
            branches_per_unit: workload.branches_per_node,
            tellers_per_branch: workload.tellers_per_branch,
            accounts_per_branch: workload.accounts_per_branch,
            branch_blocking: workload.branch_blocking,
            teller_blocking: workload.teller_blocking,
            account_blocking: workload.account_blocking,
            history_blocking: workload.history_blocking,
            clustered,
            other_branch_percent,
        };
        scale.check()?;
        let nodes = parameters.nodes as u16;
        Ok(Load::DebitCredit { scale, nodes })
    }

    /// The names of the partitions, by number.
    pub fn partitions(&self) -> Vec<String> {
        match self {
            Load::DebitCredit { scale, .. } => {
                let name = |partition| match partition {
                    pages::ACCOUNT => "account",
                    pages::HISTORY => "history",
                    pages::BRANCH if scale.clustered => "branch_teller",
                    pages::BRANCH => "branch",
                    _ => "teller",
                };
                (0..scale.partitions()).map(name).map(String::from).collect()
            }
        }
    }

    /// The node that has the lock authority for `page`.
    pub fn authority(&self, page: u64) -> u16 {
        match self {
            Load::DebitCredit { scale, nodes } => {
                PageNumber::from_u64(page).map_or(0, |page| scale.node_of_page(page, *nodes))
            }
        }
    }

    /// Mean number of accesses of a transaction.
    pub fn mean_accesses(&self) -> f64 {
        match self {
            Load::DebitCredit { .. } => 4.0,
        }
    }

    /// The end of the sequential file at which `node` appends.
    pub fn history_end(&self, node: u16) -> HistoryEnd {
        match self {
            Load::DebitCredit { scale, nodes } => {
                HistoryEnd::new(node, *nodes, scale.history_blocking)
            }
        }
    }
}
