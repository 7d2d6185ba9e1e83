//! A directory whose checkpoints were left to followers, and whose log no longer reaches back to the backup that it has:
//! all that is missing is in the store, so it begins anew from there, as a new directory does.
//!
//! It does so only if the store has all that is here, which is so behind a claim, and if what is left of the log is whole to
//! its end: a tail behind damage may be in no other place.
//!
//! Invariant: I12 (nothing is deleted here that was acknowledged and is not in the store).
//!
//! Source: TPK paper, section 3, configuration C.

use super::base::{check_base, newest_base};
use super::claiming::{Claimed, claim};
use super::lagging::may_begin_anew;
use super::opening::{self, Ready, Writers};
use super::{OpenError, RemoteLog, StorageOptions, marks};
use crate::disk::Disk;
use crate::log::LogPosition;
use crate::log::reader::LogReader;
use crate::manifest::Manifest;
use crate::places::{self, Hold};
use crate::recovery::RecoveryError;
use crate::remote_log::position::EntryPosition;
use crate::remote_log::shell::ask_boundary;
use sardonyx_base::events;
use std::sync::Arc;

/// Has the directory and the store be one, claims the log, and recovers the database.
///
/// # Errors
/// As [`claim`] and [`opening::open`].
pub(super) fn claim_and_open(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
) -> Result<(Claimed, Ready), OpenError> {
    let claimed = claim(home, options, remote)?;
    match opening::open(home, options, Writers::Alone) {
        Ok(ready) => Ok((claimed, ready)),
        Err(error) => {
            let end = claimed.known.log;
            // Its fence stays; the next claim puts another behind it.
            drop(claimed);
            begin_anew(home, options, remote, end, error)?;
            let claimed = claim(home, options, remote)?;
            let ready = opening::open(home, options, Writers::Alone)?;
            Ok((claimed, ready))
        }
    }
}

/// Has a directory begin anew whose recovery failed since it lacks what the store has. The store has what is here, and the
/// log from `compared` on is looked at for damage.
///
/// # Errors
/// The one given, if that is not why; [`OpenError::Lacking`] if the directory cannot begin anew by itself; the store's, the
/// disk's; the log here is damaged.
pub(super) fn begin_anew(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    compared: LogPosition,
    error: OpenError,
) -> Result<(), OpenError> {
    let source = lack(error)?;
    let manifest = Manifest::read(&**home)?;
    {
        let (disk, _places) = places::find(home, &manifest, &options.directories, Hold::Alone)?;
        let mut rest = LogReader::open(&disk, manifest.log_layout(), compared)?;
        while rest.next_group()?.is_some() {}
    }
    if !may_begin_anew(&manifest, options) || !is_in_store(remote, manifest.identity)? {
        return Err(OpenError::Lacking { source });
    }
    events::warn!(
        error = %source,
        "the checkpoints of this directory were left to followers: it begins anew from the store"
    );
    marks::begin_anew(&**home)
}

/// The lack of the directory, if that is the error: log that was freed, and a backup that is older. A crash tears at most
/// one slot of a backup; more are damage.
fn lack(error: OpenError) -> Result<RecoveryError, OpenError> {
    match error {
        OpenError::Recovery(
            source @ (RecoveryError::LogFreed { .. } | RecoveryError::MissingBlock { .. }),
        ) if damaged(&source) <= 1 => Ok(source),
        error => Err(error),
    }
}

fn damaged(error: &RecoveryError) -> usize {
    match error {
        RecoveryError::LogFreed {
            damaged_offsets, ..
        }
        | RecoveryError::MissingBlock {
            damaged_offsets, ..
        } => damaged_offsets.len(),
        _ => 0,
    }
}

/// True if the store has all that a new directory is made of: its newest base, read and whole, or its log from the
/// beginning on. What is here is deleted only then.
pub(super) fn is_in_store(remote: &RemoteLog, identity: u64) -> Result<bool, OpenError> {
    match newest_base(remote, identity, |_| true)? {
        Some((name, _)) => check_base(remote, identity, &name, |_| ()).map(|_| true),
        None => {
            let boundary = ask_boundary(&*remote.store, identity, &remote.patience)?;
            Ok(boundary.next == EntryPosition::START.next)
        }
    }
}
