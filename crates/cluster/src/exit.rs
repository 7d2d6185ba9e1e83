//! The exit codes of the errors of nodes.

use crate::ClusterError;
use sardonyx_command::exit::{Exit, of_open};
use sardonyx_sharing::node::NodeError;
use sardonyx_tls::TlsError;

/// The exit code of such an error.
pub fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<TlsError>() {
        return Some(Exit::Usage);
    }
    match cause.downcast_ref::<ClusterError>()? {
        ClusterError::Node(NodeError::Open(error)) => Some(of_open(error)),
        // For a trace's damage, the program that reads traces knows the code.
        #[cfg(feature = "lab")]
        ClusterError::Trace(_) => None,
        #[cfg(feature = "lab")]
        ClusterError::Simulation(_) => Some(Exit::Usage),
        ClusterError::Damaged { .. } => Some(Exit::Found),
        error if error.is_usage() => Some(Exit::Usage),
        _ => Some(Exit::Failed),
    }
}
