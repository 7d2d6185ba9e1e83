//! The past of a database in a store: the wanted bases, and the log from the oldest of them on.
//!
//! The log goes up to a base, so there is always a copy with which a new directory begins; without a base nothing goes.
//! A process that needs a deleted part gets an error, and begins anew from a base: a copy that did not follow for
//! longer than the store keeps, for example.

use super::base::{of_bases, read_base, remove_base};
use super::claiming::{impossible, stored_manifest};
use crate::engine::{OpenError, RemoteLog};
use crate::remote_log::RemoteLogError;
use crate::remote_log::known::Known;
use crate::remote_log::position::EntryPosition;
use crate::remote_log::shell::{ask, ask_boundary, trim};
use crate::remote_log::trim::Trimmed;

/// The past to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepInStore {
    /// At least so many bases, the newest; at least one.
    pub bases: usize,
    /// The past from this time on, in microseconds since 1970, UTC: the newest base that is not after it, and the log
    /// behind.
    pub since: Option<u64>,
}

/// The deleted past.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deleted {
    /// Bases, those without a head included.
    pub bases: u64,
    /// Entries of the log, and their bytes.
    pub log: Trimmed,
    /// The present beginning of the past; `None`: the log's beginning, since it has no base.
    pub from: Option<Known>,
}

/// The bytes of log in a store from this entry on, and the number after the last of them: by its list, which may be
/// old.
///
/// # Errors
/// The store's.
pub fn log_bytes_from(remote: &RemoteLog, from: u64) -> Result<(u64, u64), OpenError> {
    let (mut next, mut bytes) = (from, 0);
    loop {
        let listed = ask(&remote.patience, || remote.store.list(next));
        let listed = listed.map_err(RemoteLogError::from)?;
        let Some(last) = listed.last() else {
            return Ok((next, bytes));
        };
        bytes += listed.iter().map(|entry| entry.bytes).sum::<u64>();
        next = last.number.saturating_add(1);
    }
}

/// The oldest place of which a copy can be made: the oldest base after which no entry is deleted. `None`: the log's
/// beginning, since nothing is deleted; or no place at all, since there is no such base.
///
/// # Errors
/// As [`read_base`].
pub fn oldest_kept(remote: &RemoteLog, identity: u64) -> Result<Option<Known>, OpenError> {
    let first = ask_boundary(&*remote.store, identity, &remote.patience)?.next;
    if first <= EntryPosition::START.next {
        return Ok(None);
    }
    of_bases(remote, identity, |listed| match listed.whole.first() {
        Some((name, _)) => Ok(Some(read_base(remote, identity, name)?.known)),
        None => Ok(None),
    })
}

/// Deletes the past beyond the retention.
///
/// # Errors
/// The store's; the rest is deleted by the next call.
pub fn delete_past(remote: &RemoteLog, keep: KeepInStore) -> Result<Deleted, OpenError> {
    let place = || remote.store.place();
    let stored = stored_manifest(remote)?
        .ok_or_else(|| impossible(format!("{} has no database", place())))?;
    let (listed, oldest) = of_bases(remote, stored.identity, |listed| {
        let mut oldest = None;
        let mut kept = 0;
        for (name, _) in listed.whole.iter().rev() {
            let is_enough =
                |known: &Known| keep.since.is_none_or(|since| known.entry.time <= since);
            match &oldest {
                Some((_, known)) if kept >= keep.bases.max(1) && is_enough(known) => break,
                _ => {
                    let head = read_base(remote, stored.identity, name)?;
                    oldest = Some((name.clone(), head.known));
                    kept += 1;
                }
            }
        }
        Ok((listed.clone(), oldest))
    })?;
    let Some((oldest, known)) = oldest else {
        return Ok(Deleted::default());
    };
    // First: a base that is finished before the boundary is deleted by its maker (`Replica::put_base`).
    let log = trim(
        &*remote.store,
        stored.identity,
        known.entry,
        &remote.patience,
    )?;
    let mut deleted = Deleted {
        bases: 0,
        log,
        from: Some(known),
    };
    let whole = listed.whole.iter().map(|(name, _)| name);
    let old = whole.filter(|name| **name < oldest);
    // One that is being put there is newer, or before the boundary.
    let given_up = listed.unfinished.iter();
    let given_up = given_up.filter(|name| name.next_entry < oldest.next_entry);
    for name in old.chain(given_up) {
        remove_base(remote, name).map_err(RemoteLogError::from)?;
        deleted.bases += 1;
    }
    Ok(deleted)
}
