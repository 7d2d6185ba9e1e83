//! A copy of a database as it was at some place of its log in a store: from the newest base before that place, and the
//! log from there. The host that serves has no part in it.
//!
//! The copy is a database of its own: it does not follow, and opened with the store it is refused.

use super::base::{create_empty, get_base, newest_base};
use super::claiming::{impossible, stored_manifest};
use super::retention::oldest_kept;
use crate::disk::Disk;
use crate::engine::opening::{exists, take_lock};
use crate::engine::{OpenError, RemoteLog, Replica, StorageOptions};
use crate::log::LogPosition;
use crate::remote_log::entry::Entry;
use crate::remote_log::known::{Known, STORE_FILE};
use crate::remote_log::shell::{Follower, now};
use std::sync::Arc;

/// Up to where a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloneUntil {
    /// To the end of the store's log.
    End,
    /// To the entry of this number, inclusive.
    Entry(u64),
    /// With this commit group.
    Group(u64),
    /// With the last entry that was made at this time or before, in microseconds since 1970, UTC.
    Time(u64),
}

impl CloneUntil {
    /// True if the known place here is before or at the place.
    fn admits(self, known: &Known) -> bool {
        match self {
            CloneUntil::End => true,
            CloneUntil::Entry(number) => known.entry.next <= number.saturating_add(1),
            CloneUntil::Group(number) => known.log.group <= number.saturating_add(1),
            CloneUntil::Time(time) => known.entry.time <= time,
        }
    }

    /// True if the known place here has everything wanted: no other entry is.
    fn is_reached(self, known: &Known) -> bool {
        match self {
            CloneUntil::Entry(number) => known.entry.next > number,
            CloneUntil::Group(number) => known.log.group > number,
            CloneUntil::End | CloneUntil::Time(_) => false,
        }
    }

    /// True if the log ends here, and before the place. Until a time that is over, nothing more comes.
    fn is_missed(self, known: &Known, log: LogPosition) -> bool {
        match self {
            CloneUntil::End => false,
            CloneUntil::Entry(number) => known.entry.next <= number,
            CloneUntil::Group(number) => log.group <= number,
            CloneUntil::Time(time) => time > now(),
        }
    }

    /// The number of wanted groups of an entry; `None`: it and all that follow are not.
    fn groups_of(self, entry: &Entry) -> Result<Option<usize>, OpenError> {
        let head = entry.head();
        let is_wanted = match self {
            CloneUntil::End => true,
            CloneUntil::Entry(number) => head.number <= number,
            CloneUntil::Time(time) => head.time <= time,
            CloneUntil::Group(number) => {
                let mut wanted = 0;
                let mut all = 0;
                for group in entry.groups() {
                    let (header, _) = group?;
                    all += 1;
                    wanted += usize::from(header.number <= number);
                }
                return Ok((wanted > 0 || all == 0).then_some(wanted));
            }
        };
        Ok(is_wanted.then_some(usize::MAX))
    }
}

/// The contents of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cloned {
    /// Its end: behind its last whole entry, and its last group.
    pub known: Known,
    /// The end of the base with which it began; the log's beginning, if it had none.
    pub base: Known,
    /// Entries that were applied.
    pub entries: u64,
}

/// Makes a copy in a directory without a database. `progress` gets the number of bytes that came from the store.
///
/// # Errors
/// The store's, the disk's; [`OpenError::BeforeKept`] if the place is before the retained part; [`OpenError::BeyondEnd`] if
/// it is behind the log's end;
/// [`OpenError::StoreImpossible`] if there is a database.
pub fn clone_at(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    until: CloneUntil,
    progress: impl FnMut(u64),
) -> Result<Cloned, OpenError> {
    clone_or_undo(home, options, until, progress, || ())
}

/// As [`clone_at`]. If that fails on the way, `undo` is called to remove what it left, with the directory locked: all but
/// the lock's file, since another process may begin there as soon as the lock is given back.
///
/// # Errors
/// As [`clone_at`].
pub fn clone_or_undo(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    until: CloneUntil,
    mut progress: impl FnMut(u64),
    undo: impl FnOnce(),
) -> Result<Cloned, OpenError> {
    let Some(remote) = &options.remote else {
        return Err(impossible(
            "no store is named of which a copy could be made",
        ));
    };
    let lock = take_lock(home, options.wait_for_lock)?;
    if exists(&**home)? {
        return Err(impossible(
            "the directory of the copy has a database: take one that is absent or empty",
        ));
    }
    let cloned = clone_locked(home, options, remote, until, &mut progress);
    if cloned.is_err() {
        undo();
    }
    drop(lock);
    cloned
}

/// Makes the copy; the caller holds the directory's lock.
fn clone_locked(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    until: CloneUntil,
    progress: &mut impl FnMut(u64),
) -> Result<Cloned, OpenError> {
    let known = begin(home, options, remote, until, progress)?;
    let mut replica = Replica::open(home, options, known, None)?;
    let (store, patience) = (remote.store.clone(), remote.patience);
    let mut follower = Follower::new(store, known.identity, known.entry, patience);
    let mut entries = 0;
    // Behind the wanted place an entry may be missing.
    while !until.is_reached(replica.known()) {
        let next = match follower.next_entry()? {
            None => follower.check_end()?,
            entry => entry,
        };
        let Some(entry) = next else { break };
        let Some(wanted) = until.groups_of(&entry)? else {
            break;
        };
        progress(entry.length() as u64);
        entries += 1;
        if !replica.apply_some(&entry, wanted)? {
            break;
        }
    }
    let log = replica.end();
    if until.is_missed(replica.known(), log) {
        let known = *replica.known();
        return Err(OpenError::BeyondEnd {
            place: remote.store.place(),
            entry: known.entry.next.saturating_sub(1),
            group: log.group.saturating_sub(1),
            time: known.entry.time,
        });
    }
    let end = replica.close();
    // From here on it follows no store.
    home.remove(STORE_FILE)?;
    home.sync_directory("")?;
    Ok(Cloned {
        known: Known { log, ..end },
        base: known,
        entries,
    })
}

/// Makes the directory of the newest base that is not beyond the place.
fn begin(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    until: CloneUntil,
    progress: &mut impl FnMut(u64),
) -> Result<Known, OpenError> {
    let stored = stored_manifest(remote)?
        .ok_or_else(|| impossible(format!("{} has no database", remote.store.place())))?;
    let base = newest_base(remote, stored.identity, |head| until.admits(&head.known))?;
    match base {
        Some(base) => {
            get_base(home, options, remote, &base, progress)?;
            Ok(base.1.known)
        }
        None => {
            // Before a directory is made of which nothing comes.
            if let Some(oldest) = oldest_kept(remote, stored.identity)? {
                return Err(OpenError::BeforeKept {
                    entry: oldest.entry.next.saturating_sub(1),
                    group: oldest.log.group.saturating_sub(1),
                    time: oldest.entry.time,
                });
            }
            create_empty(home, options, &stored)?;
            Ok(Known::start(stored.identity))
        }
    }
}
