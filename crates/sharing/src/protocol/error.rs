//! The refusals of a machine.

use super::{Message, NodeId};

/// A message of the other protocol: the sender runs another one than the receiver. The receiver has
/// done nothing; the two cannot share a database.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("node {} sent a message that {protocol} does not have: {message:?}", from.0)]
pub struct ForeignMessage {
    /// The sender.
    pub from: NodeId,
    /// As it was received.
    pub message: Box<Message>,
    /// The receiver's protocol.
    pub protocol: &'static str,
}

/// Why a machine with its own access to entries could not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AccessError<E> {
    /// The sender runs another protocol. Nothing was done.
    #[error(transparent)]
    Foreign(#[from] ForeignMessage),
    /// An entry could not be read or changed.
    #[error("the global lock table refuses an access")]
    Store(#[source] E),
}
