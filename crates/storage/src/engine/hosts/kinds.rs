//! The user's remedies for errors of copies that follow: the kind of each. Those of the rest are in `kinds`.

use super::{AppendError, GuestError, ReplicaError};
use crate::engine::OpenError;
use sardonyx_base::error::{CrateError, Error, Kind};

impl CrateError for GuestError {
    fn kind(&self) -> Kind {
        match self {
            GuestError::Manifest(error) => error.kind(),
            GuestError::Places(error) => error.kind(),
            GuestError::Disk(error) => error.kind(),
            GuestError::Recovery(error) => error.kind(),
            GuestError::Log(error) => error.kind(),
            GuestError::Overtaken { .. }
            | GuestError::Replaced { .. }
            | GuestError::WentBack { .. } => Error::Unavailable,
        }
    }

    fn into_error(self) -> Error {
        match self {
            GuestError::Manifest(error) => error.into(),
            GuestError::Places(error) => error.into(),
            GuestError::Disk(error) => error.into(),
            GuestError::Recovery(error) => error.into(),
            GuestError::Log(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for AppendError {
    fn kind(&self) -> Kind {
        match self {
            AppendError::Log(error) => error.kind(),
            AppendError::Chain { .. } | AppendError::NoGroup { .. } => Error::Damaged,
            AppendError::Poisoned { .. } => Error::Poisoned,
        }
    }
}

impl CrateError for ReplicaError {
    fn kind(&self) -> Kind {
        match self {
            ReplicaError::Append(error) => error.kind(),
            ReplicaError::Remote(error) => error.kind(),
        }
    }
}

impl From<ReplicaError> for OpenError {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Append(error) => error.into(),
            ReplicaError::Remote(error) => error.into(),
        }
    }
}
