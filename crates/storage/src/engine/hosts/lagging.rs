//! A directory whose next entry was deleted from the store goes on from a base, by itself, when nothing in it can be lost.
//!
//! ```text
//!   the store, trimmed:            [base up to 7] 7 8 9
//!   here, of epoch 1: 1 2 3 4 5 6 7 8             the base is of epoch 1, too: it is compared from 7 on
//! ```
//!
//! *From the base's place on*, if the base and the known place here are of one epoch. An epoch has one writer, so the
//! log here behind the known place is that writer's log in the store, in its order. That is the last serving host,
//! which was killed: its log is longer than any base, and nothing of it is discarded.
//!
//! *Anew*, if the log here does not reach beyond the newest base. Then its groups are in the base, or another host
//! continued without them, and comparing would cut them off.
//!
//! *Anew, too*, if each group here beyond the newest base is in the store: nothing is lost.
//!
//! *Anew, too*, if the store has another group in place of one of these, and another host can have continued ([`Lagging::is_superseded`]).
//! A host acknowledges nothing before its directory knows the epoch. So each group here that was acknowledged is before the
//! fence of that host, and in the base.
//!
//! A base of a later epoch alone is no reason. A claim puts its fence first, and then the groups that are only here. If it was
//! interrupted in between, the later epoch is this directory's own, and the store's log ends where the base does.
//!
//! In all other cases the log here may have groups that are nowhere else: then an error names the ways out.
//!
//! The groups of a directory that begins anew are kept aside first ([`forks`]), from the first one on that is not known to be in
//! the store. The groups behind the base's place are compared with the store's entries for that: one that is the same has
//! the same past.
//!
//! It is first marked as being made, and its manifest is removed, so that it has no database ([`marks::begin_anew`]).
//! The rest is that of any new directory, from any step on at which it was ended before
//! ([`get_base`](super::base::get_base)).
//!
//! Invariant: I12 (nothing is deleted here that was acknowledged and is not in the store).

use super::base::{check_base, newest_base};
use super::forks;
use crate::disk::Disk;
use crate::engine::{DurableAt, OpenError, RemoteLog, StorageOptions, marks};
use crate::log::group::GroupHeader;
use crate::log::reader::LogReader;
use crate::log::{LogError, LogPosition};
use crate::manifest::Manifest;
use crate::remote_log::base::BaseHead;
use crate::remote_log::known::Known;
use crate::remote_log::position::Epoch;
use crate::remote_log::shell::Follower;
use sardonyx_base::events;
use std::collections::VecDeque;
use std::sync::Arc;

/// The way in which a directory continues whose next entry was deleted.
#[derive(Debug)]
pub(super) enum GoingOn {
    /// It has no database any more, and is made anew of a base.
    Anew,
    /// It is compared from here on: up to this place its log is the store's.
    From(Known),
    /// The directory cannot go on by itself.
    Refused,
}

/// A directory whose next entry was deleted.
#[derive(Debug)]
pub(super) struct Lagging<'a> {
    pub home: &'a Arc<dyn Disk>,
    pub options: &'a StorageOptions,
    pub remote: &'a RemoteLog,
    pub manifest: &'a Manifest,
    /// So much of its log is known to be in the store.
    pub known: &'a Known,
    /// The database had the groups before this one when its log began to be in the store.
    pub whole_before: u64,
}

/// The groups here from a base's place on, compared with the store's entries behind that base.
#[derive(Debug)]
enum Beyond {
    /// The store has each of them.
    InStore,
    /// The store has another one in place of one of these.
    Replaced,
    /// The store's log ends first: the others are only here.
    OnlyHere,
}

/// The first group here that is not known to be in the store, and a reader that has just read it.
type Unknown = Option<(LogReader, GroupHeader)>;

impl Lagging<'_> {
    /// Chooses the way on. This reader has the log from the known place on. Has the directory begin anew, if that is the way.
    ///
    /// # Errors
    /// The store's; the disk's; the log here is damaged.
    pub fn go_on(
        &self,
        mut log: LogReader,
        open: impl Fn(LogPosition) -> Result<LogReader, LogError>,
    ) -> Result<GoingOn, OpenError> {
        let (remote, identity) = (self.remote, self.manifest.identity);
        // Each base that is taken is beyond the one before, so this comes to an end.
        let is_beyond = |head: &BaseHead| head.known.entry.next > self.known.entry.next;
        let of_epoch = newest_base(remote, identity, |head| {
            is_beyond(head) && is_of_one_epoch(self.known, &head.known)
        })?;
        let of_epoch = of_epoch.map(|(_, head)| head.known);
        let mut meets = false;
        loop {
            let here = log.position();
            meets |= of_epoch.is_some_and(|base| base.log == here);
            if log.next_group()?.is_none() {
                break;
            }
        }
        if let Some(base) = of_epoch.filter(|_| meets) {
            events::info!(
                base_entry = base.entry.next,
                base_groups = base.log.group - 1,
                "the store no longer has the log behind this one: it is compared from a base on"
            );
            return Ok(GoingOn::From(base));
        }
        let end = log.position().group.max(self.manifest.log_end.group);
        drop(log);
        let newest = newest_base(remote, identity, |_| true)?;
        let Some((name, head)) = newest.filter(|(_, head)| is_beyond(head)) else {
            return Ok(GoingOn::Refused);
        };
        if !may_begin_anew(self.manifest, self.options) {
            return Ok(GoingOn::Refused);
        }
        let base = head.known;
        let (beyond, unknown) = self.compare(&base, open)?;
        let is_lossless = match beyond {
            Beyond::InStore => true,
            Beyond::Replaced => self.is_superseded(&base),
            Beyond::OnlyHere => false,
        };
        if base.log.group < end && !is_lossless {
            return Ok(GoingOn::Refused);
        }
        // The files here are deleted only if the base can be read.
        check_base(remote, identity, &name, |_| ())?;
        if let Some((mut log, first)) = unknown {
            forks::keep_aside(&**self.home, &mut log, first)?;
        }
        events::warn!(
            groups = end - 1,
            base_entry = base.entry.next,
            base_groups = base.log.group - 1,
            "the store no longer has the log behind this one: this directory begins anew with the newest base"
        );
        marks::begin_anew(&**self.home)?;
        Ok(GoingOn::Anew)
    }

    /// True if another host that continued has all groups that were acknowledged here. That is not so if they were
    /// acknowledged without the store: when there was none yet, or by option. No host continues before the store has all
    /// groups of the time without one.
    fn is_superseded(&self, base: &Known) -> bool {
        let is_later = base.entry.epoch > self.known.entry.epoch;
        let had_store = self.known.entry.epoch > Epoch(0) && base.log.group >= self.whole_before;
        is_later && had_store && self.remote.durable_at != DurableAt::Local
    }

    /// Compares the groups here with the store's behind this base.
    fn compare(
        &self,
        base: &Known,
        open: impl Fn(LogPosition) -> Result<LogReader, LogError>,
    ) -> Result<(Beyond, Unknown), OpenError> {
        let (remote, known) = (self.remote, self.known);
        let store = remote.store.clone();
        let mut entries = Follower::new(store, known.identity, base.entry, remote.patience);
        let mut there = VecDeque::new();
        let (mut log, mut has_same_past) = (open(known.log)?, false);
        let mut beyond = Beyond::OnlyHere;
        while let Some((here, _)) = log.next_group()? {
            if here.number < base.log.group {
                continue;
            }
            beyond = match next_group(&mut entries, &mut there)? {
                Some(group) if group.history_checksum() == here.history_checksum() => {
                    has_same_past = true;
                    Beyond::InStore
                }
                Some(_) => Beyond::Replaced,
                None => Beyond::OnlyHere,
            };
            match beyond {
                Beyond::InStore => {}
                _ if has_same_past => return Ok((beyond, Some((log, here)))),
                _ => break,
            }
        }
        if has_same_past {
            return Ok((beyond, None));
        }
        let mut log = open(known.log)?;
        let first = log.next_group()?.map(|(first, _)| first);
        Ok((beyond, first.map(|first| (log, first))))
    }
}

/// The next group of the store's log.
fn next_group(
    entries: &mut Follower,
    read: &mut VecDeque<GroupHeader>,
) -> Result<Option<GroupHeader>, OpenError> {
    while read.is_empty() {
        let Some(entry) = entries.next_entry()? else {
            return Ok(None);
        };
        for group in entry.groups() {
            read.push_back(group?.0);
        }
    }
    Ok(read.pop_front())
}

/// True if the entries between these places have one writer, or none exist.
fn is_of_one_epoch(known: &Known, base: &Known) -> bool {
    let of = |known: &Known| (known.entry.epoch, known.entry.writer);
    of(known) == of(base)
}

/// True if a directory of this manifest can be made anew: a base has all of its parts in one directory.
pub(super) fn may_begin_anew(manifest: &Manifest, options: &StorageOptions) -> bool {
    manifest.places.is_none() && options.directories.is_empty()
}
