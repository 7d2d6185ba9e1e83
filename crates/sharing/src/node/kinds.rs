//! The kind of the user's error for each error of a node.

use super::NodeError;
use sardonyx_base::error::{CrateError, Error, Kind};
use std::sync::Arc;

impl CrateError for NodeError {
    fn kind(&self) -> Kind {
        match self {
            NodeError::Deadlock => Error::Conflict,
            NodeError::Rows(error) => error.kind(),
            NodeError::Journal(error) => error.kind(),
            NodeError::Transport(error) => error.kind(),
            NodeError::Open(error) => error.kind(),
            NodeError::Log(error) => error.kind(),
            NodeError::DamagedPage(_)
            | NodeError::Damaged { .. }
            | NodeError::VersionMissing { .. }
            | NodeError::PageLost { .. }
            | NodeError::Frame(_) => Error::Damaged,
            NodeError::BufferFull { .. }
            | NodeError::TransactionTooLarge { .. }
            | NodeError::KeyTooLong { .. }
            | NodeError::TooManyTables => Error::Limit,
            NodeError::PagesFull { .. } => Error::Full,
            NodeError::Shape { .. }
            | NodeError::TooManyPages { .. }
            | NodeError::NoPage { .. }
            | NodeError::NotInPage { .. }
            | NodeError::Dropped
            | NodeError::OtherPages
            | NodeError::NotAPageServers
            | NodeError::TablesVersion { .. }
            | NodeError::Refused { .. }
            | NodeError::Table(_) => Error::Refused,
            NodeError::NoFreeSlot { .. }
            | NodeError::NotHere { .. }
            | NodeError::Unreachable { .. }
            | NodeError::TimedOut { .. }
            | NodeError::Interrupted(_)
            | NodeError::Membership { .. } => Error::Unavailable,
            NodeError::OpenHere { .. } => Error::Locked,
            NodeError::Stopped { .. } | NodeError::ShutOut { .. } | NodeError::Fenced(_) => {
                Error::Poisoned
            }
            NodeError::System { .. } | NodeError::Network { .. } => Error::System,
            NodeError::Forked(_) => Error::Forked,
        }
    }

    fn into_error(self) -> Error {
        match self {
            // A table's error is the same from every store.
            NodeError::Rows(error) => match Arc::try_unwrap(error) {
                Ok(error) => error.into(),
                Err(shared) => shared.into(),
            },
            error => error.kind()(error.into()),
        }
    }
}
