//! Errors of starting, loading and measuring nodes.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::protocol::DivisionError;
#[cfg(feature = "lab")]
use sardonyx_simulation::experiment::SimulationError;
#[cfg(feature = "lab")]
use sardonyx_simulation::parameters::read::ParameterError;
use sardonyx_tls::TlsError;
use sardonyx_workload::arrival::ArrivalError;
use sardonyx_workload::debit_credit_pages::PageScaleError;
#[cfg(feature = "lab")]
use sardonyx_workload::routing::TablesError;
#[cfg(feature = "lab")]
use sardonyx_workload::trace::{Fault, TraceError};
use std::io;
use std::path::{Path, PathBuf};

/// The reason why nodes cannot be started, loaded or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A node refused.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A file, a socket or a process could not be used.
    #[error("cannot {what} {place}: {source}", place = place.display())]
    System {
        /// The attempted action.
        what: &'static str,
        /// The file, socket or process.
        place: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A setting that is not possible.
    #[error("{what} of {found} is not possible: choose {allowed}")]
    Setting {
        /// The kind of thing.
        what: &'static str,
        /// The requested value.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// This build lacks a cargo feature that a setting needs.
    #[error(
        "this program was built without the feature `{feature}`: build it with `--features {feature}` or `--features \
         full`, or install the packaged program"
    )]
    MissingFeature {
        /// The feature's name.
        feature: &'static str,
    },
    /// Not supported by loosely coupled nodes.
    #[error("loosely coupled nodes {what}: leave that out, or choose --coupling close")]
    Loose {
        /// The request, and the reason.
        what: &'static str,
    },
    /// Loosely coupled nodes have no page server.
    #[error("the page server of the nodes in {place} does not run: start it, and the nodes, with `cluster up`", place = place.display())]
    NoPageServer {
        /// The searched place.
        place: PathBuf,
    },
    /// A file that TLS needs is missing.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The database knows nodes that its register does not.
    #[error(
        "the nodes of {place} have logs, but {register} knows no node: its data was lost, or it is another one; \
         restore it, or begin a new directory, since new nodes would be taken for the earlier ones", place = place.display()
    )]
    RegisterLost {
        /// The register's name.
        register: String,
        /// The place of the nodes.
        place: PathBuf,
    },
    /// The database's scale is not possible.
    #[error(transparent)]
    Scale(#[from] PageScaleError),
    /// The arrivals are not possible.
    #[error(transparent)]
    Arrivals(#[from] ArrivalError),
    /// Routing tables that are not valid, or for other transactions.
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// This program does not support it.
    #[error("{what} is not supported by this program: use `sardonyx-lab cluster`")]
    NeedsLab {
        /// The request.
        what: &'static str,
    },
    /// Routing tables for another number of nodes.
    #[cfg(feature = "lab")]
    #[error(
        "{file} has tables for {found} nodes, and there are {nodes}: compute them with `trace route --nodes {nodes}`"
    )]
    TablesNodes {
        file: String,
        /// Its nodes.
        found: u16,
        /// The number of nodes in the setting.
        nodes: u16,
    },
    /// A lock authority that cannot be divided in this way.
    #[error("the lock authority of loosely coupled nodes cannot be divided in this way: {0}")]
    Division(#[from] DivisionError),
    /// A trace that is not valid.
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace of this database is not possible.
    #[cfg(feature = "lab")]
    #[error("a trace of this database is not possible: {0}")]
    Header(#[from] Fault),
    /// Nodes are running where others are to be started.
    #[error("{place} has nodes that run: end them with `cluster down`, or load them with `cluster bench --directory`", place = place.display())]
    Up { place: PathBuf },
    /// There are no nodes.
    #[error("{place} has no nodes: start some with `cluster up`", place = place.display())]
    NotThere {
        /// The searched place.
        place: PathBuf,
    },
    /// A file is in the place of the nodes' directory.
    #[error("{place} is not a directory: nodes have a directory of their own", place = place.display())]
    NoDirectory {
        /// Its name.
        place: PathBuf,
    },
    /// Nodes would be created among other files.
    #[error(
        "{place} has no nodes, and other files ({found}): nodes are created in a new or an empty directory; name another \
         one, or move the files away", place = place.display()
    )]
    Occupied {
        /// The directory.
        place: PathBuf,
        /// One of the files.
        found: String,
    },
    /// A node is not there.
    #[error("node {slot} does not run: `cluster status` lists those that do")]
    NoNode {
        /// The node's slot.
        slot: usize,
    },
    /// Another load is under way.
    #[error(
        "{place} is loaded already{by}: wait until that load ends, or end the process that began it", place = place.display(),
        by = slot.map(|slot| format!(" (node {slot} runs a load)")).unwrap_or_default()
    )]
    Loaded {
        place: PathBuf,
        /// A node that still runs a load; `None`: another process loads or proves the nodes.
        slot: Option<u16>,
    },
    /// A node was lost under a load.
    #[error("node {slot} was lost under the load: {reason}")]
    Lost {
        /// The node's slot.
        slot: usize,
        reason: String,
    },
    /// A node's process ended, or sent an unexpected answer.
    #[error("node {slot} {what}{}", said(log))]
    Ended {
        /// The node's slot.
        slot: usize,
        /// The event.
        what: String,
        /// Its output.
        log: PathBuf,
    },
    /// A node answered with an error.
    #[error("node {slot}: {reason}")]
    Refused {
        /// The node's slot.
        slot: usize,
        /// The node's message.
        reason: String,
    },
    /// A file of the cluster's is damaged.
    #[error("{place} is damaged: {reason}", place = place.display())]
    Damaged {
        place: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Parameters of a simulation that are not possible.
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The simulation failed.
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// The place of a process's output, if it has any.
fn said(log: &Path) -> String {
    match std::fs::metadata(log).is_ok_and(|found| found.len() > 0) {
        true => format!("; its output is in {}", log.display()),
        false => "; its log is empty".into(),
    }
}

impl ClusterError {
    /// A node's process ended, or gave no answer.
    pub(crate) fn ended(slot: usize, what: String, log: PathBuf) -> Self {
        ClusterError::Ended { slot, what, log }
    }

    pub(crate) fn system(
        what: &'static str,
        place: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let place = place.into();
        move |source| ClusterError::System {
            what,
            place,
            source,
        }
    }

    /// True if the request itself is impossible.
    pub fn is_usage(&self) -> bool {
        #[cfg(feature = "lab")]
        if let ClusterError::Tables(_)
        | ClusterError::TablesNodes { .. }
        | ClusterError::Parameters(_) = self
        {
            return true;
        }
        matches!(
            self,
            ClusterError::Setting { .. }
                | ClusterError::MissingFeature { .. }
                | ClusterError::NeedsLab { .. }
                | ClusterError::Loose { .. }
                | ClusterError::NoPageServer { .. }
                | ClusterError::Tls(_)
                | ClusterError::Scale(_)
                | ClusterError::Arrivals(_)
                | ClusterError::Division(_)
                | ClusterError::Up { .. }
                | ClusterError::NotThere { .. }
                | ClusterError::NoDirectory { .. }
                | ClusterError::Occupied { .. }
                | ClusterError::Loaded { .. }
                | ClusterError::NoNode { .. }
        )
    }
}
