//! A directory whose log no longer reaches back to its backup, since its checkpoints were left to followers, or a part
//! of it is lost. The store has everything missing, so it begins anew from there, as a new directory does.
//!
//! It does so only if the store is read. The store must have all of the log that is known to be there, in a base or in
//! entries. The rest of the log here must be whole to the recorded end: a tail behind damage may be in no other place.
//! The claim has put the end of the log here into the store; a directory that follows is refused if it has more than
//! that.
//!
//! Invariant: I12 (nothing is deleted here that was acknowledged and is not in the store).
//!
//! Source: TPK paper, section 3, configuration C.

use super::base::{check_base, newest_base};
use super::claiming::{Claimed, claim};
use super::lagging::may_begin_anew;
use crate::disk::Disk;
use crate::engine::opening::{self, Ready, Writers};
use crate::engine::{OpenError, RemoteLog, StorageOptions, marks};
use crate::log::reader::LogReader;
use crate::manifest::Manifest;
use crate::places::{self, Hold};
use crate::recovery::{RecoveryError, check_recorded_end};
use crate::remote_log::RemoteLogError;
use crate::remote_log::known::Known;
use crate::remote_log::position::EntryPosition;
use crate::remote_log::shell::Follower;
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
            let known = claimed.known;
            // Its fence stays; the next claim puts another behind it.
            drop(claimed);
            begin_anew(home, options, remote, &known, error)?;
            let claimed = claim(home, options, remote)?;
            let ready = opening::open(home, options, Writers::Alone)?;
            Ok((claimed, ready))
        }
    }
}

/// Has a directory begin anew whose recovery failed since it lacks log that the store has. The log here is in the
/// store up to the known place, as far as it was compared; the rest is checked for damage.
///
/// # Errors
/// Errors: the given one, if that is not the reason; [`OpenError::Lacking`] if the directory cannot begin anew by
/// itself; the store's, the disk's; the log here is damaged, or its end is lost.
pub(super) fn begin_anew(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    known: &Known,
    error: OpenError,
) -> Result<(), OpenError> {
    let source = lack(error)?;
    options.forget_kept();
    let manifest = Manifest::read(&**home)?;
    {
        let (disk, _places) = places::find(home, &manifest, &options.directories, Hold::Alone)?;
        let mut rest = LogReader::open(&disk, manifest.log_layout(), known.log)?;
        while rest.next_group()?.is_some() {}
        // Log lost here may be in no other place.
        check_recorded_end(&*disk, &manifest, rest.position())?;
    }
    if !may_begin_anew(&manifest, options) || !is_in_store(remote, known)? {
        return Err(OpenError::Lacking { source });
    }
    events::warn!(
        error = %source,
        "this directory alone cannot be recovered, and the store has all of it: it begins anew from there"
    );
    marks::begin_anew(&**home)
}

/// Refuses to leave the checkpoints of a database to followers that could not begin anew: before anything is done.
pub(super) fn check_may_begin_anew(
    home: &dyn Disk,
    options: &StorageOptions,
) -> Result<(), OpenError> {
    let may = match Manifest::read(home) {
        Ok(manifest) => may_begin_anew(&manifest, options),
        // A new one is made by the options; its damage is found when it is opened.
        Err(_) => options.directories.is_empty(),
    };
    match may {
        true => Ok(()),
        false => Err(OpenError::FollowersWithPlaces),
    }
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

/// True if the store has all parts of a new directory, up to the known place: its newest base, read and whole, or its
/// log's beginning, and every entry between that and the known place. The files here are deleted only then.
pub(super) fn is_in_store(remote: &RemoteLog, known: &Known) -> Result<bool, OpenError> {
    let begin = match newest_base(remote, known.identity, |_| true)? {
        Some((name, head)) => {
            check_base(remote, known.identity, &name, |_| ())?;
            head.known.entry
        }
        None => EntryPosition::START,
    };
    let (from, to) = match begin.next <= known.entry.next {
        true => (begin, known.entry),
        // The base is of this log if the log behind it leads to it.
        false => (known.entry, begin),
    };
    let mut follower = Follower::new(remote.store.clone(), known.identity, from, remote.patience);
    while follower.position().next < to.next {
        match follower.next_entry() {
            Ok(Some(_)) => {}
            Ok(None) | Err(RemoteLogError::BehindBoundary { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    // With the checksum of the last entry, and so of all.
    Ok(follower.position() == to)
}
