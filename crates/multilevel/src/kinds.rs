//! What a user can do about an error of this room: the kind of each.

use crate::error::{CallError, CommitError, CompensationError, DatabaseError};
use crate::index::IndexError;
use crate::pages::Stop;
use crate::records::RecordError;
use crate::undo::UndoDamage;
use sardonyx_base::error::{Error, Kind, RoomError};
use std::any::Any;

impl RoomError for UndoDamage {
    fn kind(&self) -> Kind {
        Error::Damaged
    }
}

impl RoomError for CompensationError {
    fn kind(&self) -> Kind {
        Error::Poisoned
    }
}

impl RoomError for Stop {
    fn kind(&self) -> Kind {
        match self {
            Stop::Restart | Stop::Deadlock => Error::Conflict,
            Stop::NoPage { .. } | Stop::Range { .. } | Stop::NoArea { .. } => Error::Refused,
            Stop::Bounds { .. } => Error::Limit,
            Stop::Full { .. } => Error::Full,
        }
    }
}

impl RoomError for IndexError {
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

impl RoomError for RecordError {
    fn kind(&self) -> Kind {
        match self {
            RecordError::Stop(stop) => stop.kind(),
            RecordError::Duplicate { .. } => Error::Duplicate,
            RecordError::KeyChanged { .. } | RecordError::NoTable { .. } => Error::Refused,
            RecordError::Inverse { .. } => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            RecordError::Stop(stop) => stop.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl RoomError for DatabaseError {
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
            DatabaseError::Closing => Error::Nested,
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

impl RoomError for CommitError {
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

/// The kind of an operation's own error: that of one of this room's, or the program's.
fn kind_of_own(error: &dyn Any) -> Kind {
    if let Some(error) = error.downcast_ref::<RecordError>() {
        return RecordError::kind(error);
    }
    match (error.downcast_ref::<Stop>(), error.downcast_ref()) {
        (Some(stop), _) => stop.kind(),
        (None, Some(error)) => IndexError::kind(error),
        (None, None) => Error::Other,
    }
}

impl<E: std::error::Error + Send + Sync + 'static> RoomError for CallError<E> {
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
