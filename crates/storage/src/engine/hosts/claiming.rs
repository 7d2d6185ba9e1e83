//! A directory and the log in a store become one, before the opening of a database whose log is there, or of a
//! follower.
//!
//! ```text
//!   the store has: 1 2 3 4 5 6'  7'        6 was never acknowledged, or only here: another host took over before the
//!   this host has: 1 2 3 4 5 6             store had it. It is cut off, and 6' is appended.
//!
//!   the store has: 1 2 3 4 5               No host took over: the log is claimed, and 6 is put into the store.
//!   this host has: 1 2 3 4 5 6
//! ```
//!
//! The groups of each entry are compared with those here, from the place on that is known to be the same ([`Known`]);
//! from the first difference on the store's count. The part that is cut off is kept first ([`forks`]). It is removed
//! from its last group backwards, so that the rest is a log at any moment. A known place is recorded only when
//! recovery has made it stable: a killed process may have left log that is seen here and lost by a power cut. The
//! checkpoints have no part that is cut off, if nothing was acknowledged that the store did not have
//! ([`DurableAt::Both`](super::DurableAt::Both)). Otherwise they may: recovery finds that, and the directory begins
//! anew.
//!
//! Invariants: I2, I4, I12. The opened database has everything that was ever acknowledged through the store, or before
//! the database's log was there. After the claim's fence no other host acknowledges. So only another host's groups cut
//! anything off: to follow alone is no reason to.

use super::adopting::{adopt, check_member};
use super::base::manifest_from_store;
use super::forks;
use super::lacking::{self, is_in_store};
use super::lagging::{GoingOn, Lagging, may_begin_anew};
use crate::checkpoint::BACKUP_DIRECTORY;
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskLock};
use crate::engine::opening::new_manifest;
use crate::engine::{OpenError, RemoteLog, Replica, StorageOptions, marks};
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::reader::LogReader;
use crate::log::segment::segment_file;
use crate::log::{LogError, LogPosition, Lsn};
use crate::manifest::{Manifest, ManifestError};
use crate::places::{self, Hold, PlaceLocks};
use crate::recovery::RecoveryError;
use crate::remote_log::RemoteLogError;
use crate::remote_log::copy::{EntryOfGroups, entry_bytes};
use crate::remote_log::entry::Entry;
use crate::remote_log::known::Known;
use crate::remote_log::shell::{Follower, RemoteWriter, ask, ask_whole, check_entry_before};
use crate::remote_log::store::Appended;
use sardonyx_base::events;
use std::sync::Arc;

/// The object that identifies the database: the manifest with which it was made.
pub const MANIFEST_OBJECT: &str = "database/manifest";

/// A log that is this process' now, and how far the directory has it: to its end.
#[derive(Debug)]
pub(in crate::engine) struct Claimed {
    pub writer: RemoteWriter,
    pub known: Known,
    /// The part of that which the directory has recorded.
    pub recorded: Known,
}

impl Claimed {
    /// Records in the directory what the store has of its log. With an earlier record, from which the log is kept, the
    /// thread that puts the log into the store does that first of all: clients wait for the opening.
    pub fn record(&mut self, home: &dyn Disk, earlier: Option<Known>) -> Result<(), OpenError> {
        if let Some(earlier) = earlier {
            self.recorded = earlier;
            return Ok(());
        }
        Ok(self.known.write(home)?)
    }
}

/// Has the log here and the one in the store be the same, and claims that. The caller holds the directory's lock.
pub(super) fn claim(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
) -> Result<Claimed, OpenError> {
    let mut joining = Joining::begin(home, options, remote)?.taken_while(|_| true)?;
    joining.check_whole()?;
    // As late as possible: from the fence on, the host that serves can append nothing more.
    if !options.permit.is_given() {
        return Err(OpenError::TurnOver);
    }
    let mut late = Vec::new();
    let identity = joining.known.identity;
    let (store, at) = (remote.store.clone(), joining.known.entry);
    let mut writer = RemoteWriter::claim(store, identity, at, remote.patience, |entry| {
        late.push(entry.clone());
        Ok::<(), RemoteLogError>(())
    })?;
    if let Err(error) = late.iter().try_for_each(|entry| joining.take(entry)) {
        // The fence is in place: the store's log is complete.
        joining = joining.gone_on_after(error)?.taken_while(|_| true)?;
    }
    let known = joining.put_tail(&mut writer)?;
    Ok(Claimed {
        writer,
        known,
        recorded: known,
    })
}

/// Opens a directory to follow the log in a store: its log is compared first. Makes it, if it does not exist.
///
/// # Errors
/// As opening the database; [`OpenError::StoreBehind`] if there are transactions here that the store has not.
pub fn follow_store(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    lock: Box<dyn DiskLock>,
) -> Result<(Replica, Follower), OpenError> {
    let Some(remote) = &options.remote else {
        return Err(impossible("no store is named whose log could be followed"));
    };
    // Until all log here is compared, so that the rest can be followed.
    let join = || Joining::begin(home, options, remote)?.taken_while(|it| it.replica.is_none());
    let joining = join()?;
    let compared = joining.known;
    let replica = match joining.into_replica() {
        Ok(replica) => replica,
        Err(error) => {
            lacking::begin_anew(home, options, remote, &compared, error)?;
            join()?.into_replica()?
        }
    };
    let replica = replica.holding(lock);
    let known = *replica.known();
    let (store, patience) = (remote.store.clone(), remote.patience);
    let follower = Follower::new(store, known.identity, known.entry, patience);
    Ok((replica, follower))
}

pub(super) fn impossible(reason: impl Into<String>) -> OpenError {
    OpenError::StoreImpossible {
        reason: reason.into(),
    }
}

/// The manifest of the database in this store, if there is one: as it was made.
///
/// # Errors
/// The store's; it is damaged.
pub fn stored_manifest(remote: &RemoteLog) -> Result<Option<Manifest>, OpenError> {
    let store = &remote.store;
    let read = || store.read_object(MANIFEST_OBJECT);
    let name = format!("{} of {}", MANIFEST_OBJECT, store.place());
    ask_whole(&remote.patience, read, |bytes| {
        let decoded = bytes.map(|bytes| Manifest::decode(&name, &bytes));
        Ok(decoded.transpose()?)
    })
}

/// The directory's manifest, and the store's. Either is made from the other; both, if there is neither.
fn manifests_of(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
) -> Result<[Manifest; 2], OpenError> {
    let local = match Manifest::read(&**home) {
        Ok(manifest) => Some(manifest),
        Err(ManifestError::Absent { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let stored = match (stored_manifest(remote)?, &local) {
        (Some(stored), _) => stored,
        (None, Some(local)) => adopt(home, options, remote, local)?,
        (None, None) => publish(remote, &new_manifest(options)?)?,
    };
    match local {
        None => Ok([manifest_from_store(home, options, remote, &stored)?, stored]),
        Some(local) if local.identity == stored.identity => {
            check_member(home, options, &local)?;
            Ok([local, stored])
        }
        Some(local) => Err(RemoteLogError::Identity {
            number: 0,
            expected: local.identity,
            found: stored.identity,
        }
        .into()),
    }
}

/// Puts a manifest into the store, if there is none yet. Returns the store's.
pub(super) fn publish(remote: &RemoteLog, manifest: &Manifest) -> Result<Manifest, OpenError> {
    let text = manifest.encode();
    let create = || remote.store.create_object(MANIFEST_OBJECT, text.as_bytes());
    match ask(&remote.patience, create).map_err(RemoteLogError::from)? {
        Appended::Ok => Ok(manifest.clone()),
        Appended::Conflict => {
            let stored = stored_manifest(remote)?;
            stored.ok_or_else(|| impossible("the database's manifest is deleted from the store"))
        }
    }
}

/// The log here, as far as it is compared.
#[derive(Debug)]
struct Local {
    reader: LogReader,
    disk: Arc<dyn Disk>,
    _places: PlaceLocks,
}

/// A directory on its way to the state of the store.
#[derive(Debug)]
struct Joining<'a> {
    home: &'a Arc<dyn Disk>,
    options: &'a StorageOptions,
    remote: &'a RemoteLog,
    manifest: Manifest,
    /// The database had the groups before this one when its log began to be in the store.
    whole_before: u64,
    known: Known,
    /// As long as no difference was found.
    local: Option<Local>,
    /// The number of the first group that is not here, once that was found.
    ended: Option<u64>,
    replica: Option<Replica>,
    /// True if this opening had the directory begin anew.
    is_anew: bool,
}

impl<'a> Joining<'a> {
    fn begin(
        home: &'a Arc<dyn Disk>,
        options: &'a StorageOptions,
        remote: &'a RemoteLog,
    ) -> Result<Self, OpenError> {
        let [manifest, stored] = manifests_of(home, options, remote)?;
        let kept = options.kept.as_ref();
        let kept = kept.and_then(|kept| kept.known(&manifest));
        let known = match kept.map_or_else(|| Known::read(&**home), |kept| Ok(Some(kept)))? {
            None => Known::start(manifest.identity),
            Some(known) if known.identity == manifest.identity => known,
            Some(known) => {
                return Err(RemoteLogError::Identity {
                    number: 0,
                    expected: manifest.identity,
                    found: known.identity,
                }
                .into());
            }
        };
        let (store, at) = (&*remote.store, known.entry);
        check_entry_before(store, known.identity, at, &remote.patience)?;
        let (disk, places) = places::find(home, &manifest, &options.directories, Hold::Alone)?;
        let reader = reader_before_recovery(&disk, &manifest, known.log)?;
        Ok(Joining {
            home,
            options,
            remote,
            manifest,
            whole_before: stored.log_end.group,
            known,
            local: Some(Local {
                reader,
                disk,
                _places: places,
            }),
            ended: None,
            replica: None,
            is_anew: false,
        })
    }

    /// Takes the entries that the store has now, as long as this holds. If the next one was deleted it continues from a
    /// base, if it may.
    fn taken_while(mut self, goes_on: impl Fn(&Self) -> bool) -> Result<Self, OpenError> {
        while let Err(error) = self.take_while(&goes_on) {
            self = self.gone_on_after(error)?;
        }
        Ok(self)
    }

    /// The same directory at a base from which it may continue, if this is the reason that it cannot continue where it
    /// is ([`Lagging::go_on`]). Begun anew, if its checkpoints have groups that were cut off, and all of these are kept. Else
    /// the error.
    fn gone_on_after(mut self, error: OpenError) -> Result<Self, OpenError> {
        let (number, first) = match error {
            OpenError::Store(RemoteLogError::BehindBoundary { number, first })
                if number == self.known.entry.next =>
            {
                (number, first)
            }
            OpenError::StoreForked { source }
                if self.is_kept_aside()? && is_in_store(self.remote, &self.known)? =>
            {
                events::warn!(
                    error = %source,
                    "the checkpoints or journals here have transactions that another host continued without: this \
                     directory begins anew"
                );
                marks::begin_anew(&**self.home)?;
                self.is_anew = true;
                return self.begun_again();
            }
            // All that is here was compared, or is kept aside.
            error @ OpenError::Recovery(_) if self.local.is_none() && !self.is_anew => {
                lacking::begin_anew(self.home, self.options, self.remote, &self.known, error)?;
                self.is_anew = true;
                return self.begun_again();
            }
            error => return Err(error),
        };
        let Some(local) = self.local.take() else {
            return match self.replica.take() {
                // Something was appended here: the recorded place is where it continues.
                Some(replica) => {
                    replica.close();
                    self.begun_again()
                }
                None => Err(error),
            };
        };
        let Local {
            mut reader,
            disk,
            _places,
        } = local;
        reader.set_checks_end(true);
        let begin = |at| LogReader::open(&disk, self.manifest.log_layout(), at);
        let lagging = Lagging {
            home: self.home,
            options: self.options,
            remote: self.remote,
            manifest: &self.manifest,
            known: &self.known,
            whole_before: self.whole_before,
        };
        match lagging.go_on(reader, begin)? {
            GoingOn::Anew => self.begun_again(),
            GoingOn::From(base) => {
                let reader = reader_before_recovery(&disk, &self.manifest, base.log)?;
                self.known = base;
                self.local = Some(Local {
                    reader,
                    disk,
                    _places,
                });
                Ok(self)
            }
            GoingOn::Refused => Err(OpenError::StoreTrimmed { number, first }),
        }
    }

    fn begun_again(&self) -> Result<Self, OpenError> {
        self.options.forget_kept();
        Ok(Joining {
            is_anew: self.is_anew,
            ..Self::begin(self.home, self.options, self.remote)?
        })
    }

    /// True if the directory may begin anew, and its log ends just before the first group of a file of groups that
    /// were cut off. Then its checkpoints have only log that one of the two has.
    fn is_kept_aside(&self) -> Result<bool, OpenError> {
        let may = !self.is_anew && may_begin_anew(&self.manifest, self.options);
        let Some(ended) = self.ended.filter(|_| may) else {
            return Ok(false);
        };
        let forks = forks::forks(&**self.home)?;
        Ok(forks.iter().any(|fork| fork.first_group == ended))
    }

    /// Refuses to continue with less than the database had when its log began to be in the store: the rest is still in
    /// the directory of that time.
    fn check_whole(&self) -> Result<(), OpenError> {
        let mut end = self.known.log.group;
        if end < self.whole_before
            && let Some(local) = &self.local
        {
            let mut rest = LogReader::open(
                &local.disk,
                self.manifest.log_layout(),
                local.reader.position(),
            )?;
            while rest.next_group()?.is_some() {}
            end = rest.position().group;
        }
        match end >= self.whole_before {
            true => Ok(()),
            false => Err(impossible(format!(
                "this database had {} groups when its log began to be in {}, and from number {end} on they are not there \
                 yet: open the database in the directory that has them; if that is lost, make a copy of the \
                 store's part",
                self.whole_before - 1,
                self.remote.store.place()
            ))),
        }
    }

    /// Takes the entries that the store has now, as long as this holds.
    fn take_while(&mut self, goes_on: &impl Fn(&Self) -> bool) -> Result<(), OpenError> {
        let (store, patience) = (self.remote.store.clone(), self.remote.patience);
        let mut follower = Follower::new(store, self.known.identity, self.known.entry, patience);
        while goes_on(self)
            && let Some(entry) = follower.next_entry()?
        {
            self.take(&entry)?;
        }
        Ok(())
    }

    /// The next entry: the part that is not here is appended.
    fn take(&mut self, entry: &Entry) -> Result<(), OpenError> {
        let groups: Vec<_> = entry.groups().collect::<Result<_, _>>()?;
        let mut same = 0;
        for (header, _) in &groups {
            if !self.is_here(header)? {
                break;
            }
            same += 1;
        }
        let missing = groups.get(same..).unwrap_or_default();
        if !missing.is_empty() {
            self.replica()?.append(missing).map_err(OpenError::from)?;
        }
        let last = groups.last().map(|(header, _)| header);
        self.known.entry = entry.head().position_after();
        if let Some(last) = last {
            self.known.log = last.next_position();
        }
        if let Some(replica) = &mut self.replica {
            replica.is_applied(entry, last);
        }
        Ok(())
    }

    /// True if the next group here is this one. If another is, it is cut off with all that follow.
    fn is_here(&mut self, header: &GroupHeader) -> Result<bool, OpenError> {
        let Some(local) = &mut self.local else {
            return Ok(false);
        };
        let before = local.reader.position();
        let found = local.reader.next_group()?.map(|(header, _)| header);
        match found {
            Some(found) if found.history_checksum() == header.history_checksum() => {
                return Ok(true);
            }
            Some(found) => self.cut(before, found)?,
            None => self.local = None,
        }
        self.ended = Some(before.group);
        Ok(false)
    }

    /// Cuts the log off at this place, where this group is.
    fn cut(&mut self, at: LogPosition, first: GroupHeader) -> Result<(), OpenError> {
        let Some(mut local) = self.local.take() else {
            return Ok(());
        };
        local.reader.set_checks_end(true);
        let headers = forks::keep_aside(&**self.home, &mut local.reader, first)?;
        if self.manifest.log_end.group > at.group {
            self.manifest.log_end = at;
            self.manifest.write(&*local.disk)?;
        }
        for header in headers.into_iter().rev() {
            self.overwrite(&*local.disk, header.lsn)?;
        }
        Ok(())
    }

    /// Has no group be here, durably.
    fn overwrite(&self, disk: &dyn Disk, lsn: Lsn) -> Result<(), OpenError> {
        let layout = self.manifest.log_layout();
        let name = segment_file(layout.segment_of(lsn));
        let file = disk.open(&name, Access::Direct, Create::No)?;
        let zeroes = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
        file.write_at(layout.offset_in_segment(lsn), &zeroes)?;
        Ok(file.sync()?)
    }

    /// The copy to which entries are applied.
    fn replica(&mut self) -> Result<&mut Replica, OpenError> {
        if self.replica.is_none() {
            // It holds the locks of the directories elsewhere itself.
            self.local = None;
            let replica = Replica::open(self.home, self.options, self.known, None)?;
            let end = replica.end().group;
            // Recovery does not miss log before a checkpoint that is complete.
            if let Some(ended) = self.ended.filter(|ended| end > *ended) {
                replica.close();
                let source = RecoveryError::LogEndsEarly {
                    file: self.home.display_name(BACKUP_DIRECTORY),
                    backup_group: end,
                    log_group: ended,
                };
                return Err(OpenError::StoreForked { source });
            }
            self.replica = Some(replica);
        }
        match &mut self.replica {
            Some(replica) => Ok(replica),
            None => Err(impossible("the replica is not open")),
        }
    }

    /// Puts the log that is only here into the store, which is claimed.
    fn put_tail(mut self, writer: &mut RemoteWriter) -> Result<Known, OpenError> {
        if let Some(mut local) = self.local.take() {
            let most = entry_bytes(writer.entry_bytes_max(), self.options.log_bytes_max);
            let mut waiting = EntryOfGroups::default();
            while let Some((header, _)) = local.reader.next_group()? {
                let bytes = local.reader.last_group_bytes(&header);
                if let Some((entry, _)) = waiting.push(&header, bytes, most) {
                    writer.append(entry)?;
                }
            }
            if let Some((entry, _)) = waiting.take() {
                writer.append(entry)?;
            }
            self.known.log = local.reader.position();
        }
        if let Some(replica) = self.replica.take() {
            replica.close();
        }
        Ok(Known {
            entry: writer.position(),
            ..self.known
        })
    }

    /// The copy, at the end of the store's log. Groups that are only here may have been acknowledged, under any present
    /// options: under others, or when the database had no store.
    fn into_replica(mut self) -> Result<Replica, OpenError> {
        if let Some(mut local) = self.local.take()
            && local.reader.next_group()?.is_some()
        {
            return Err(OpenError::StoreBehind);
        }
        if let Some(replica) = self.replica.take() {
            let known = replica.close();
            return Replica::open(self.home, self.options, known, None);
        }
        Replica::open(self.home, self.options, self.known, None)
    }
}

/// A reader of a log that is recovered next, in every case: recovery checks its end, which takes long.
fn reader_before_recovery(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    from: LogPosition,
) -> Result<LogReader, LogError> {
    let mut reader = LogReader::open(disk, manifest.log_layout(), from)?;
    reader.set_checks_end(false);
    Ok(reader)
}
