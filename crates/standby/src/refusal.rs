//! Why the two sides do not go on with each other: bytes that are not believed, and refusals, which go over the
//! connection themselves.

use crate::protocol::PROTOCOL_VERSION;
use sardonyx_storage::checkpoint::RemoteError;
use serde::{Deserialize, Serialize};

/// Why bytes from the other side are not believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[from] std::io::Error),
    /// The other side closed the connection.
    #[error("the other side closed the connection")]
    Closed,
    /// The other side said nothing for too long.
    #[error("the other side was silent for {seconds} seconds")]
    Silent {
        /// For how long.
        seconds: u64,
    },
    /// A frame has no content.
    #[error("a frame of {bytes} bytes is too short to be one")]
    Short {
        /// Its length.
        bytes: usize,
    },
    /// A frame's checksum is wrong: it was damaged on the way.
    #[error("a frame of {bytes} bytes was damaged on the way: its checksum is wrong")]
    Checksum {
        /// Its length.
        bytes: usize,
    },
    /// A frame of no known kind.
    #[error("a frame of the unknown kind {tag}")]
    Kind {
        /// The byte that says so.
        tag: u8,
    },
    /// A greeting that is not of this protocol.
    #[error("the other side does not speak this protocol")]
    Magic,
    /// A greeting of another version.
    #[error("the other side speaks version {found} of the protocol, this one {PROTOCOL_VERSION}")]
    Version {
        /// The other side's version.
        found: u32,
    },
    /// The content cannot be decoded.
    #[error("a {what} cannot be decoded: {source}")]
    Content {
        /// Of what it should be.
        what: &'static str,
        /// Why not.
        #[source]
        source: postcard::Error,
    },
    /// Something that should not come now.
    #[error("{found} came where {expected} was expected")]
    Unexpected {
        /// What came.
        found: &'static str,
        /// What should have come.
        expected: &'static str,
    },
}

/// Why one side refuses the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// The standby does not speak this version.
    #[error(
        "it speaks version {known} of the protocol, and this one version {PROTOCOL_VERSION}: use the same \
         release on both sides"
    )]
    Version {
        /// The version that it speaks.
        known: u32,
    },
    /// Another database.
    #[error("it is the standby of database {standby:016x}, and this is database {primary:016x}")]
    Identity {
        /// The standby's database.
        standby: u64,
        /// The primary's.
        primary: u64,
    },
    /// The same identity, but segments of another length.
    #[error("its log has segments of {standby} bytes, this one's of {primary} bytes")]
    SegmentBytes {
        /// The standby's.
        standby: u64,
        /// The primary's.
        primary: u64,
    },
    /// No database has these values.
    #[error("it does not believe this database's manifest")]
    Manifest,
    /// An image was asked of a standby that has nothing.
    #[error("it has no database yet")]
    Empty,
    /// The standby cannot work.
    #[error("it cannot go on: {reason}")]
    Failed {
        /// Why.
        reason: String,
    },
    /// The primary refuses the standby.
    #[error("the primary refuses this standby: {reason}")]
    History {
        /// Why.
        reason: String,
    },
    /// The primary has not the standby's token.
    #[error("{}", match wanted {
        true => "it wants the token that it was started with, and this is another one or none",
        false => "it was started without a token, and this primary has one",
    })]
    Token {
        /// Whether the standby has one.
        wanted: bool,
    },
}

impl Refusal {
    /// The error of a primary that a standby at this address refused so.
    pub fn into_remote(self, address: &str) -> RemoteError {
        let (address, reason) = (address.to_string(), self.to_string());
        match self {
            Refusal::Failed { reason } => RemoteError::Failed { address, reason },
            Refusal::Version { .. } | Refusal::Empty | Refusal::Token { .. } => {
                RemoteError::Unwelcome { address, reason }
            }
            Refusal::Identity { .. }
            | Refusal::SegmentBytes { .. }
            | Refusal::Manifest
            | Refusal::History { .. } => RemoteError::Refused { address, reason },
        }
    }
}
