//! Why a database cannot be opened.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::LOCK_FILE;
#[cfg(feature = "hosts")]
use super::hosts::AppendError;
use crate::disk::{Disk, DiskError};
use crate::log::LogError;
use crate::manifest::ManifestError;
use crate::places::PlacesError;
use crate::recovery::RecoveryError;
use crate::remote_log::RemoteLogError;
use crate::remote_log::known::KnownError;

/// The reason why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The manifest is damaged or cannot be written.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Recovery failed.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Another process, or this one, has it open.
    #[error(
        "{file} is held{}: the database is open already; if a server has it, connect to that; else close it \
         there first, or wait for it (the option `wait_for_lock`, `--wait` of the \
         command); to read beside it, follow it (`sardonyx sql DB --follow`, \
         `sardonyx serve DB --follow`, `Tables::follow` with the feature `hosts`)",
        by(holders)
    )]
    Locked {
        /// The lock file.
        file: String,
        /// The processes that hold it, as far as the system shows them.
        holders: Vec<u32>,
    },
    /// The parts that are elsewhere cannot be used, or not be made there.
    #[error(transparent)]
    Places(#[from] PlacesError),
    /// A database is to be made where files are that are not a database's.
    #[error(
        "{directory} has no database, and other files ({found}): a database is made in a new or an empty \
         directory; name another one, or move the files away"
    )]
    Occupied {
        directory: String,
        /// One of the files.
        found: String,
    },
    /// There is a log but no manifest.
    #[error(
        "{file} is missing, but {evidence} holds data: this is a database whose manifest was lost; \
         restore the manifest, or move the directory away to make a new database here"
    )]
    ManifestLost {
        /// The expected place of the manifest.
        file: String,
        /// The evidence of an earlier one.
        evidence: String,
    },
    /// An option has a value that cannot work.
    #[error("the option {option} is {value}: {requirement}")]
    Option {
        option: &'static str,
        value: u64,
        requirement: &'static str,
    },
    /// The checkpoints were to be left to followers of a log that is in no store.
    #[error(
        "checkpoints are left only to followers of the log in a store: name the store, too, or take checkpoints here"
    )]
    FollowersWithoutStore,
    /// The checkpoints of a database that several processes share were to be left to followers.
    #[error(
        "a database that several processes share takes its checkpoints itself: open it alone to leave them to followers"
    )]
    FollowersWhileShared,
    /// Checkpoints were to be taken from snapshots where they cannot be.
    #[error(
        "checkpoints are taken from snapshots of tables alone, not {of}: leave the option `checkpoints` at its default, \
         the second copy"
    )]
    NoSnapshots {
        /// The opened thing.
        of: &'static str,
    },
    /// The checkpoints of a database with parts in other directories were to be left to followers.
    #[error(
        "a database that leaves its checkpoints to followers begins anew from the store when its own log is not enough, and \
         so has all of its parts in its own directory: move the log and the stripes back, or take the checkpoints here"
    )]
    FollowersWithPlaces,
    /// A log in a store was asked for where it cannot be.
    #[error("the log cannot be in a store: {reason}")]
    StoreImpossible { reason: String },
    /// There are transactions here that the store has not, and no other host went on without them yet. They may have been
    /// acknowledged.
    #[error(
        "there are transactions here that the store lacks, and they may have been acknowledged: open the database \
         here (`sardonyx serve DIRECTORY --store PLACE`), so that it gets them, instead of following it"
    )]
    StoreBehind,
    /// The log in the store was not taken: another host may have its turn by now.
    #[error(
        "this host's turn ended before it took the log in the store, so another host may serve: nothing was changed there"
    )]
    TurnOver,
    /// The checkpoints, or the journals' archive, have groups that were cut off from the log, and the directory cannot
    /// begin anew by itself: parts of it are elsewhere, or not all cut groups are kept.
    #[error(
        "another host continued without transactions that were acknowledged here alone, and the checkpoints or \
         journals here have \
         them ({source}): move the directory away, and a new one is made from the store"
    )]
    StoreForked {
        /// Recovery's error.
        source: RecoveryError,
    },
    /// The directory alone is not enough: its checkpoints were left to followers, or a part of it is lost. It does not begin
    /// anew, since the store has no way to all that is here.
    #[error(
        "this directory alone cannot be recovered ({source}), and it does not begin anew from the store by itself, since \
         parts of it are elsewhere, or the store lacks a part of what was here: it has no whole base, or not each entry \
         that follows it. Nothing is deleted: restore the store; an absent or empty directory is made from the store"
    )]
    Lacking {
        /// Recovery's error.
        source: RecoveryError,
    },
    /// The following entry was deleted from the store, and the directory cannot begin anew by itself.
    #[error(
        "the next entry, {number}, is deleted from the store, whose log begins at entry {first}. The log here is longer \
         than the newest base, and the rest may have been acknowledged and be only here; or parts of this directory are \
         elsewhere. So it does not begin anew by itself. Nothing is changed. `sardonyx backup` makes a database of its own of \
         this directory; an absent or empty directory that is opened with the store begins with the store's state, and \
         `sardonyx store clone` makes a copy of that"
    )]
    StoreTrimmed {
        /// The requested number.
        number: u64,
        /// The log's beginning.
        first: u64,
    },
    /// A copy is to be of a moment that is no longer kept.
    #[error(
        "the store no longer has the state of that time: the oldest moment that it keeps is behind entry {entry}, \
         which was made \
         {time} microseconds after 1970 (UTC), and commit group {group}; ask for that one or a later one"
    )]
    BeforeKept {
        /// The last entry of the oldest base.
        entry: u64,
        /// The last commit group of it.
        group: u64,
        /// The time of that entry.
        time: u64,
    },
    /// A copy is to be of a moment that has not come.
    #[error(
        "the log in {place} does not reach that moment: it ends behind entry {entry}, which was made {time} microseconds \
         after 1970 (UTC), and commit group {group}; ask for that one or an earlier one, or for the newest state"
    )]
    BeyondEnd {
        /// The store.
        place: String,
        /// The log's last entry.
        entry: u64,
        /// Its last commit group.
        group: u64,
        /// The time of that entry.
        time: u64,
    },
    /// The log is in a store, and that is not named.
    #[error(
        "the log of this database is in a store, too ({file}): open it with that store (`--store` of the \
         command; `Options::store`, with the feature `hosts`), or it would continue without the other hosts"
    )]
    StoreMissing {
        /// The file with that statement.
        file: String,
    },
    /// The record of the store cannot be read.
    #[error(transparent)]
    Known(#[from] KnownError),
    #[error(transparent)]
    Store(#[from] RemoteLogError),
    /// The log here cannot take the store's entries.
    #[cfg(feature = "hosts")]
    #[error(transparent)]
    Append(#[from] AppendError),
    /// There is no database.
    #[error("{file} is not there: no database to open")]
    Absent {
        /// The expected place of the manifest.
        file: String,
    },
}

/// The error that the database is open elsewhere.
pub fn locked(disk: &dyn Disk) -> OpenError {
    OpenError::Locked {
        file: disk.display_name(LOCK_FILE),
        holders: disk.lock_holders(LOCK_FILE),
    }
}

/// The holders of a lock, as a text.
fn by(holders: &[u32]) -> String {
    let name = |process: &u32| match *process == std::process::id() {
        true => "this process".to_string(),
        false => format!("process {process}"),
    };
    match holders {
        [] => String::new(),
        holders => format!(
            " by {}",
            holders.iter().map(name).collect::<Vec<_>>().join(", ")
        ),
    }
}
