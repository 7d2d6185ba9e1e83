//! A database that was made without a store comes into one: its whole log goes there.
//!
//! First the directory records, in the file `STORE`, that it is a part of the store. Then the store gets the manifest,
//! which has the log's end at that time. The next claim of the directory puts the log itself there ([`claiming`]).
//! Until all of it is there no other host may continue: its transactions were acknowledged. So the log's end is made
//! stable before it is published.
//!
//! Invariant: I12 (another host continues with everything that was acknowledged before there was a store).
//!
//! [`claiming`]: super::claiming

use super::claiming::{impossible, publish};
use crate::disk::Disk;
use crate::engine::{OpenError, RemoteLog, StorageOptions};
use crate::log::group::GroupHeader;
use crate::log::reader::LogReader;
use crate::log::{LogError, LogPosition};
use crate::manifest::Manifest;
use crate::places::{self, Hold};
use crate::recovery::{make_names_stable, write_tail_again};
use crate::remote_log::entry::ENTRY_HEAD_BYTES;
use crate::remote_log::known::Known;
use std::collections::VecDeque;
use std::sync::Arc;

/// Refuses a directory that has transactions and never was one of the store's: a clone or a backup, whose transactions
/// would be taken for unacknowledged ones.
pub(super) fn check_member(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    local: &Manifest,
) -> Result<(), OpenError> {
    if Known::read(&**home)?.is_some() {
        return Ok(());
    }
    let (disk, _places) = places::find(home, local, &options.directories, Hold::Alone)?;
    let is_empty = match LogReader::open(&disk, local.log_layout(), LogPosition::START) {
        Ok(mut reader) => reader.next_group()?.is_none(),
        Err(LogError::MissingSegment { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    match is_empty {
        true => Ok(()),
        false => Err(impossible(
            "this directory has transactions, and was never opened with the store that has its database: it may be a \
             clone or a backup. Give the store another directory, absent or empty",
        )),
    }
}

/// A database that was made without a store: its whole log can go there, if it is still whole.
pub(super) fn adopt(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    local: &Manifest,
) -> Result<Manifest, OpenError> {
    let known = Known::read(&**home)?;
    if known.is_some_and(|known| known.log != LogPosition::START) {
        return Err(impossible(format!(
            "{} has no database, and this directory has one whose log was in a store: name that store",
            remote.store.place()
        )));
    }
    let (disk, _places) = places::find(home, local, &options.directories, Hold::Alone)?;
    let is_cut = || {
        impossible(
            "the log of this directory no longer reaches back to the database's beginning, so it cannot be put into a \
             store: begin a new database with the store, and import the tables",
        )
    };
    let reader = match LogReader::open(&disk, local.log_layout(), LogPosition::START) {
        Ok(reader) if local.compacted.is_none() => reader,
        // In the first session the manifest does not have the log's end, however long it is.
        Ok(_) | Err(LogError::MissingSegment { .. }) => return Err(is_cut()),
        Err(error) => return Err(error.into()),
    };
    let most = remote.store.entry_bytes_max();
    let log_end = stable_end(&disk, local, reader, most)?;
    if log_end == LogPosition::START && local.log_end != LogPosition::START {
        return Err(is_cut());
    }
    // Recorded before the store has it: then it is a part of the store.
    Known::start(local.identity).write(&**home)?;
    let made = Manifest {
        places: None,
        log_end,
        incarnation: 1,
        ..local.clone()
    };
    publish(remote, &made)
}

/// The log's end, when all of it is stable: as recovery makes it, which comes later. The store takes entries of so many
/// bytes.
fn stable_end(
    disk: &Arc<dyn Disk>,
    local: &Manifest,
    mut reader: LogReader,
    most: u64,
) -> Result<LogPosition, OpenError> {
    let mut unproved: VecDeque<LogPosition> = VecDeque::new();
    let mut durable_before = local.log_end.group;
    loop {
        let before = reader.position();
        let Some((header, _)) = reader.next_group()? else {
            break;
        };
        check_fits(&header, most)?;
        durable_before = durable_before.max(header.durable_number + 1);
        unproved.push_back(before);
        while unproved
            .pop_front_if(|before| before.group < durable_before)
            .is_some()
        {}
    }
    let end = reader.position();
    make_names_stable(&**disk)?;
    let first = unproved.front().copied().unwrap_or(end);
    write_tail_again(disk, local.log_layout(), first, end)?;
    Ok(end)
}

/// Refuses a group that the store does not take, or that no follower does.
fn check_fits(header: &GroupHeader, most: u64) -> Result<(), OpenError> {
    let bytes = (ENTRY_HEAD_BYTES + header.bytes_on_disk()) as u64;
    let reason = match (header.is_spanning(), bytes > most) {
        (false, false) => return Ok(()),
        (true, _) => "has segments for itself, which no follower takes".to_string(),
        (false, true) => format!("would be an entry of {bytes} bytes, and the store takes {most}"),
    };
    Err(impossible(format!(
        "the log of this directory has a transaction that is too large for it: group {} {reason}. Begin a new database with \
         the store, and import the tables",
        header.number
    )))
}
