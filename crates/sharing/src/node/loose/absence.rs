//! Nodes that have left or failed: this one, whose errors then do not count, and others, whose logs may be closed.
//!
//! Invariant: a log is closed only when its node has left or failed. Such a node acknowledges nothing, not even reads:
//! its lease has ended, or it has stopped before it left the register.

use super::coupling::{Job, Loose};
use crate::node::NodeError;
use crate::node::shell::Shell;
use crate::protocol::NodeId;
use crate::protocol::membership::View;

/// Why a node ends that is there no more, as the register says.
pub fn out_of_lease() -> NodeError {
    NodeError::ShutOut {
        reason:
            "its lease has run out, since its process was stopped or its register away for too long"
                .into(),
    }
}

impl Shell<Loose> {
    /// True if the reason for the node's stop is still to be read from the register.
    pub fn is_in_doubt(&self) -> bool {
        self.coupling.doubt.is_some()
    }

    /// The register's answer: whether this node still takes part. A node that does not may have granted to itself what
    /// others have changed since, and a page in another version is no error then. `None`: there is no answer.
    pub fn settle_doubt(&mut self, takes_part: Option<bool>) {
        let Some(lost) = self.coupling.doubt.take() else {
            return;
        };
        match takes_part {
            None => {}
            Some(true) => {
                let reason = lost.to_string();
                self.has_stopped_since(NodeError::Stopped { reason });
            }
            Some(false) => self.has_stopped_since(out_of_lease()),
        }
    }

    /// Nodes of the view that are there no more: the logs of those that were shut out may be closed.
    pub fn are_absent(&mut self, absent: &[NodeId]) {
        let View {
            members, shut_out, ..
        } = self.coupling.membership.view();
        self.coupling
            .absent
            .retain(|node| members.contains_key(node) || shut_out.contains_key(node));
        for &node in absent {
            self.coupling.absent.insert(node);
            if let Some(epoch) = self.coupling.closing.remove(&node) {
                self.coupling.job(Job::CloseLog(node, epoch));
            }
        }
    }

    /// True if a log waits to be closed until its node is absent.
    pub fn awaits_absence(&self) -> bool {
        !self.coupling.closing.is_empty()
    }
}
