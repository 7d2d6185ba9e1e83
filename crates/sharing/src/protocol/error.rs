//! What a machine refuses.

use super::{Message, NodeId};

/// A message of the other protocol: the sender runs another one than the receiver. The receiver has
/// done nothing; the two cannot share a database.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("node {} sent a message that {protocol} does not have: {message:?}", from.0)]
pub struct ForeignMessage {
    /// Who sent it.
    pub from: NodeId,
    /// What it says.
    pub message: Box<Message>,
    /// The receiver's protocol.
    pub protocol: &'static str,
}
