//! Transactions that a directory had alone and another host went on without, kept aside before they are cut off the log.
//!
//! It may be the last copy of something that was acknowledged: under [`DurableAt::Local`](super::DurableAt::Local), or
//! by a store that lost it after its answer. So the cut groups are in a file of the directory, one after the other as
//! in the log. The file is durable before the first of them is cut. Its name has the number of the first group and its
//! checksum. An interrupted cut finds the file that it had written, which is then longer than the rest.

use crate::disk::{Access, Create, Disk, DiskError};
use crate::engine::{FORK_NEW_FILE, FORK_PREFIX, OpenError};
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::reader::LogReader;
use sardonyx_base::events;

/// A file of groups that were cut off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fork {
    /// Its name in the directory.
    pub file: String,
    /// The group from which on the log was cut.
    pub first_group: u64,
    /// Counts the cut groups.
    pub groups: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

fn name_of(first: &GroupHeader) -> String {
    let (number, checksum) = (first.number, first.history_checksum());
    format!("{FORK_PREFIX}{number:020}-{checksum:08x}")
}

/// Keeps this group, which the reader has just read, and all that follow it. Returns the headers of all, and the file: without
/// transactions, too, since by that a directory whose checkpoints have the groups is known to lose nothing.
fn keep(
    home: &dyn Disk,
    log: &mut LogReader,
    first: GroupHeader,
) -> Result<(Vec<GroupHeader>, Fork), OpenError> {
    let file = name_of(&first);
    let there = home.list("")?;
    if there.iter().any(|found| found == FORK_NEW_FILE) {
        home.remove(FORK_NEW_FILE)?;
    }
    let is_there = there.contains(&file);
    let new = match is_there {
        true => None,
        false => Some(home.open(FORK_NEW_FILE, Access::Buffered, Create::New)?),
    };
    let (mut headers, mut bytes) = (vec![first], 0);
    while let Some(last) = headers.last() {
        let group = log.last_group_bytes(last);
        if let Some(new) = &new {
            new.write_at(bytes, group)?;
        }
        bytes += group.len() as u64;
        match log.next_group()? {
            Some((header, _)) => headers.push(header),
            None => break,
        }
    }
    let mut fork = Fork {
        file,
        first_group: first.number,
        groups: headers.len() as u64,
        transactions: headers
            .iter()
            .map(|header| u64::from(header.transactions))
            .sum(),
        bytes,
    };
    match new {
        Some(new) => {
            new.sync()?;
            drop(new);
            home.rename(FORK_NEW_FILE, &fork.file)?;
            home.sync_directory("")?;
        }
        None => fork = read(home, &fork.file)?.unwrap_or(fork),
    }
    Ok((headers, fork))
}

/// The same for groups that this directory loses, which is an event.
pub(super) fn keep_aside(
    home: &dyn Disk,
    log: &mut LogReader,
    first: GroupHeader,
) -> Result<Vec<GroupHeader>, OpenError> {
    let (headers, fork) = keep(home, log, first)?;
    // Not if it is only the mark of an orderly end.
    if fork.transactions > 0 {
        let file = home.display_name(&fork.file);
        events::error!(
            %file,
            first_group = fork.first_group,
            groups = fork.groups,
            transactions = fork.transactions,
            "another host continued, perhaps without the groups that are only here: they are cut off the log, and \
             kept in this file; it may \
             be the last copy of transactions that were acknowledged"
        );
    }
    Ok(headers)
}

/// The files of a directory that were kept aside, by their first groups.
///
/// # Errors
/// The disk's.
pub fn forks(home: &dyn Disk) -> Result<Vec<Fork>, DiskError> {
    let mut found = Vec::new();
    let mut names = home.list("")?;
    names.sort();
    for name in names.iter().filter(|name| name.starts_with(FORK_PREFIX)) {
        found.extend(read(home, name)?);
    }
    Ok(found)
}

/// The content of a file; `None`: no group.
fn read(home: &dyn Disk, name: &str) -> Result<Option<Fork>, DiskError> {
    let file = home.open(name, Access::Buffered, Create::No)?;
    let bytes = file.len()?;
    let (mut at, mut fork) = (0, None);
    let mut head = vec![0; GROUP_ALIGNMENT];
    while at < bytes {
        let read = file.read_at(at, &mut head)?;
        let Some(header) = head.get(..read).and_then(GroupHeader::decode) else {
            break;
        };
        let fork = fork.get_or_insert_with(|| Fork {
            file: name.into(),
            first_group: header.number,
            groups: 0,
            transactions: 0,
            bytes,
        });
        fork.groups += 1;
        fork.transactions += u64::from(header.transactions);
        at += (header.bytes_on_disk() as u64).max(1);
    }
    Ok(fork)
}
