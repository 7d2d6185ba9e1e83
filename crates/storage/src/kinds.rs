//! The user's remedies for an error of this crate: the kind of each.

use crate::catalogue::CatalogueError;
use crate::checkpoint::CheckpointError;
use crate::disk::DiskError;
use crate::engine::{CompactionError, OpenError};
use crate::journal::JournalError;
use crate::log::LogError;
use crate::log::SharedLogError;
use crate::manifest::ManifestError;
use crate::places::PlacesError;
use crate::recovery::RecoveryError;
use crate::remote_log::RemoteLogError;
use crate::remote_log::known::KnownError;
use crate::remote_log::store::StoreError as RemoteStoreError;
use crate::store::StoreError;
use sardonyx_base::error::{CrateError, Error, Kind};

impl CrateError for DiskError {
    fn kind(&self) -> Kind {
        match self.is_full() {
            true => Error::Full,
            false => Error::System,
        }
    }
}

impl CrateError for StoreError {
    fn kind(&self) -> Kind {
        match self {
            StoreError::Memory { .. } | StoreError::AddressSpace { .. } => Error::System,
            StoreError::Full { .. } => Error::Full,
        }
    }
}

impl CrateError for LogError {
    fn kind(&self) -> Kind {
        match self {
            LogError::Disk(error) => error.kind(),
            LogError::MissingSegment { .. }
            | LogError::SegmentLength { .. }
            | LogError::SegmentCut { .. }
            | LogError::ForeignSegment { .. }
            | LogError::Corrupt { .. }
            | LogError::Inconsistent { .. } => Error::Damaged,
            LogError::Poisoned { .. } | LogError::ThreadDied { .. } => Error::Poisoned,
            LogError::Full { .. } => Error::Full,
            LogError::Nested => Error::Nested,
            LogError::Interrupted(_) => Error::Unavailable,
            LogError::Closed => Error::Closed,
            LogError::Forked => Error::Forked,
        }
    }

    fn into_error(self) -> Error {
        match self {
            LogError::Disk(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for ManifestError {
    fn kind(&self) -> Kind {
        match self {
            ManifestError::Disk(error) => error.kind(),
            ManifestError::Absent { .. } => Error::NotFound,
            ManifestError::Damaged { .. } => Error::Damaged,
            ManifestError::UnknownVersion { .. } | ManifestError::Value { .. } => Error::Refused,
        }
    }

    fn into_error(self) -> Error {
        match self {
            ManifestError::Disk(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for RecoveryError {
    fn kind(&self) -> Kind {
        match self {
            RecoveryError::Disk(error) => error.kind(),
            RecoveryError::Log(error) => error.kind(),
            RecoveryError::Journal(error) => error.kind(),
            RecoveryError::Store(error) => error.kind(),
            _ => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            RecoveryError::Disk(error) => error.into(),
            RecoveryError::Log(error) => error.into(),
            RecoveryError::Journal(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for JournalError {
    fn kind(&self) -> Kind {
        match self {
            JournalError::Disk(error) => error.kind(),
            JournalError::Log(error) => error.kind(),
            JournalError::Overtaken { .. } | JournalError::Removed { .. } => Error::Unavailable,
            JournalError::NotKept => Error::Refused,
            _ => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            JournalError::Disk(error) => error.into(),
            JournalError::Log(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for CheckpointError {
    fn kind(&self) -> Kind {
        match self {
            CheckpointError::Disk(error) | CheckpointError::Unrecorded { cause: error } => {
                error.kind()
            }
            CheckpointError::Store(error) => error.kind(),
            CheckpointError::Journal(error) => error.kind(),
            CheckpointError::Waiting { .. } => Error::Full,
            CheckpointError::StoreAway { .. } | CheckpointError::AlreadyWriting { .. } => {
                Error::Unavailable
            }
            CheckpointError::Forked => Error::Forked,
            _ => Error::Poisoned,
        }
    }
}

impl CrateError for SharedLogError {
    fn kind(&self) -> Kind {
        match self {
            SharedLogError::NoRoom => Error::Unavailable,
            SharedLogError::Full { .. } => Error::Full,
            SharedLogError::TooLarge { .. } => Error::Limit,
            SharedLogError::Log(error) => error.kind(),
            _ => Error::Poisoned,
        }
    }

    fn into_error(self) -> Error {
        match self {
            SharedLogError::Log(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for CatalogueError {
    fn kind(&self) -> Kind {
        match self {
            CatalogueError::Limit { .. } => Error::Limit,
            CatalogueError::Damaged { .. } => Error::Damaged,
            _ => Error::Refused,
        }
    }
}

impl CrateError for PlacesError {
    fn kind(&self) -> Kind {
        match self {
            PlacesError::Disk(error) => error.kind(),
            PlacesError::Damaged { .. }
            | PlacesError::Lost { .. }
            | PlacesError::Absent { .. }
            | PlacesError::Unowned { .. }
            | PlacesError::Foreign { .. } => Error::Damaged,
            PlacesError::UnknownVersion { .. }
            | PlacesError::Occupied { .. }
            | PlacesError::IsPart { .. }
            | PlacesError::AtHome { .. }
            | PlacesError::Count { .. }
            | PlacesError::Path { .. } => Error::Refused,
        }
    }

    fn into_error(self) -> Error {
        match self {
            PlacesError::Disk(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for CompactionError {
    fn kind(&self) -> Kind {
        match self {
            CompactionError::Disk(error) => error.kind(),
            CompactionError::Log(error) => error.kind(),
            CompactionError::Checkpoint(error) => error.kind(),
            CompactionError::Manifest(error) => error.kind(),
            CompactionError::Store(error) => error.kind(),
            CompactionError::InStore => Error::Refused,
            CompactionError::TooOften { .. } => Error::Limit,
        }
    }
}

impl CrateError for RemoteLogError {
    fn kind(&self) -> Kind {
        match self {
            RemoteLogError::Store(error) if error.is_unclear() => Error::Unavailable,
            RemoteLogError::Store(RemoteStoreError::Encryption { .. }) => Error::Damaged,
            RemoteLogError::Fenced { .. } | RemoteLogError::Unknown { .. } => Error::Unavailable,
            RemoteLogError::Entry { .. }
            | RemoteLogError::Chain { .. }
            | RemoteLogError::Hole { .. }
            | RemoteLogError::Lost { .. }
            | RemoteLogError::Groups { .. }
            | RemoteLogError::Primary { .. }
            | RemoteLogError::Hosts { .. }
            | RemoteLogError::Base { .. }
            | RemoteLogError::Boundary { .. } => Error::Damaged,
            RemoteLogError::TooLarge { .. } | RemoteLogError::UsedUp { .. } => Error::Limit,
            RemoteLogError::Store(_)
            | RemoteLogError::BehindBoundary { .. }
            | RemoteLogError::Identity { .. }
            | RemoteLogError::Empty => Error::Refused,
        }
    }
}

impl CrateError for OpenError {
    fn kind(&self) -> Kind {
        match self {
            OpenError::Disk(error) => error.kind(),
            OpenError::Log(error) => error.kind(),
            OpenError::Manifest(error) => error.kind(),
            OpenError::Recovery(error) => error.kind(),
            OpenError::Places(error) => error.kind(),
            OpenError::Locked { .. } => Error::Locked,
            OpenError::ManifestLost { .. } => Error::Damaged,
            OpenError::Absent { .. } => Error::NotFound,
            OpenError::Option { .. }
            | OpenError::FollowersWithoutStore
            | OpenError::FollowersWhileShared
            | OpenError::NoSnapshots { .. }
            | OpenError::FollowersWithPlaces
            | OpenError::StoreBehind
            | OpenError::TurnOver
            | OpenError::StoreForked { .. }
            | OpenError::Lacking { .. }
            | OpenError::StoreImpossible { .. }
            | OpenError::StoreTrimmed { .. }
            | OpenError::BeforeKept { .. }
            | OpenError::BeyondEnd { .. }
            | OpenError::StoreMissing { .. }
            | OpenError::Occupied { .. } => Error::Refused,
            OpenError::Known(KnownError::Disk(error)) => error.kind(),
            OpenError::Known(_) => Error::Damaged,
            OpenError::Store(error) => error.kind(),
            #[cfg(feature = "hosts")]
            OpenError::Append(error) => error.kind(),
        }
    }

    fn into_error(self) -> Error {
        match self {
            OpenError::Disk(error) => error.into(),
            OpenError::Log(error) => error.into(),
            OpenError::Manifest(error) => error.into(),
            OpenError::Recovery(error) => error.into(),
            OpenError::Places(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}
