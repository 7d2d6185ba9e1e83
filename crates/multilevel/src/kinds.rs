//! The user's remedies for an error of this crate: the kind of each.

use crate::error::{CallError, CommitError, CompensationError, DatabaseError};
use crate::index::IndexError;
use crate::pages::Stop;
use crate::records::RecordError;
use crate::undo::UndoDamage;
use sardonyx_base::error::{CrateError, Error, Kind};
use std::any::Any;

impl CrateError for UndoDamage {
    fn kind(&self) -> Kind {
        Error::Damaged
    }
}

impl CrateError for CompensationError {
    fn kind(&self) -> Kind {
        Error::Poisoned
    }
}

impl CrateError for Stop {
    fn kind(&self) -> Kind {
        match self {
            Stop::Restart | Stop::Deadlock => Error::Conflict,
            Stop::NoPage { .. } | Stop::Range { .. } | Stop::NoArea { .. } | Stop::ReadOnly => {
                Error::Refused
            }
            Stop::Bounds { .. } | Stop::SnapshotEnded(_) => Error::Limit,
            Stop::Full { .. } => Error::Full,
        }
    }
}

impl CrateError for IndexError {
    fn kind(&self) -> Kind {
        match self {
            IndexError::Stop(stop) => stop.kind(),
            IndexError::Duplicate => Error::Duplicate,
            IndexError::KeyLength { .. } | IndexError::ValueLength { .. } => Error::Limit,
            IndexError::Damaged { .. } => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            IndexError::Stop(stop) => stop.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for RecordError {
    fn kind(&self) -> Kind {
        match self {
            RecordError::Stop(stop) => stop.kind(),
            RecordError::Duplicate { .. } => Error::Duplicate,
            RecordError::TooLong { .. } => Error::Limit,
            RecordError::Row(error) => error.kind(),
            _ => Error::Refused,
        }
    }

    fn into_error(self) -> Error {
        match self {
            RecordError::Stop(stop) => stop.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for DatabaseError {
    fn kind(&self) -> Kind {
        match self {
            DatabaseError::Open(error) => error.kind(),
            DatabaseError::Catalogue(error) => error.kind(),
            DatabaseError::Table(error) => error.kind(),
            DatabaseError::Undo(error) => error.kind(),
            DatabaseError::Log(error) => error.kind(),
            DatabaseError::Store(error) => error.kind(),
            DatabaseError::Compensation(error) => error.kind(),
            DatabaseError::Reserved { .. } | DatabaseError::CannotUndo { .. } => Error::Full,
            DatabaseError::Checkpoint { .. } => Error::Poisoned,
            DatabaseError::Closing | DatabaseError::Nested => Error::Nested,
            DatabaseError::Name { .. }
            | DatabaseError::TooManyOperations { .. }
            | DatabaseError::TooLarge { .. } => Error::Limit,
            DatabaseError::RegisteredTwice { .. }
            | DatabaseError::Unregistered { .. }
            | DatabaseError::Refused { .. } => Error::Refused,
            DatabaseError::Forked => Error::Forked,
        }
    }

    fn into_error(self) -> Error {
        match self {
            DatabaseError::Open(error) => error.into(),
            DatabaseError::Catalogue(error) => error.into(),
            DatabaseError::Table(error) => error.into(),
            DatabaseError::Undo(error) => error.into(),
            DatabaseError::Log(error) => error.into(),
            DatabaseError::Store(error) => error.into(),
            DatabaseError::Compensation(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for CommitError {
    fn kind(&self) -> Kind {
        match self {
            CommitError::Deadlock => Error::Conflict,
            CommitError::Unknown(error) => error.kind(),
            CommitError::Engine(error) => error.kind(),
        }
    }

    fn into_error(self) -> Error {
        match self {
            CommitError::Engine(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

/// The kind of an operation's own error: that of one of this crate's, or the program's.
fn kind_of_own(error: &dyn Any) -> Kind {
    let of_index = || error.downcast_ref().map(IndexError::kind);
    let of_record = || error.downcast_ref().map(RecordError::kind);
    let of_room = error.downcast_ref().map(Stop::kind);
    let kind = of_room.or_else(of_index).or_else(of_record);
    kind.unwrap_or(Error::Other)
}

impl<E: std::error::Error + Send + Sync + 'static> CrateError for CallError<E> {
    fn kind(&self) -> Kind {
        match self {
            CallError::Failed(error) => kind_of_own(error),
            CallError::Deadlock => Error::Conflict,
            CallError::Unregistered { .. } => Error::Refused,
            CallError::TooLarge { .. } => Error::Limit,
            CallError::Nested => Error::Nested,
            CallError::Engine(error) => error.kind(),
            CallError::Commit(error) => error.kind(),
        }
    }

    fn into_error(self) -> Error {
        match self {
            CallError::Failed(error) => kind_of_own(&error)(error.into()),
            CallError::Engine(error) => error.into(),
            CallError::Commit(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}
