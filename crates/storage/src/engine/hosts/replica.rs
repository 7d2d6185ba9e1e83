//! A copy of a database that follows its log in a store: the groups of each entry go to the log here, and from there to
//! the checkpoints. When the host before has ended, this directory is opened in its place.
//!
//! Invariants: I1 (an entry is known when all of its groups are durable here). I6 (the log here is kept from the
//! recorded known place on, so that it can be compared with the store's). I7 (after a failure nothing more is applied;
//! the next opening compares).

use super::receiving::{BATCH_GROUPS_MAX, ReceivingEngine};
use crate::checkpoint::CheckpointTotals;
use crate::disk::{Disk, DiskLock};
use crate::engine::kept::KeptCopy;
use crate::engine::{AppendError, LOCK_FILE, OpenError, StorageOptions};
use crate::log::group::GroupHeader;
use crate::log::segment::LogPin;
use crate::log::{LogError, LogPosition};
use crate::manifest::Manifest;
use crate::recovery::KnownEnd;
use crate::remote_log::RemoteLogError;
use crate::remote_log::copy::record_bytes;
use crate::remote_log::entry::Entry;
use crate::remote_log::known::Known;
use sardonyx_base::events;
use std::sync::Arc;

/// The reason why an entry was not applied. The replica is to be closed; opened again, it continues.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The log here.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The entry.
    #[error(transparent)]
    Remote(#[from] RemoteLogError),
}

/// A copy of a database, kept by the log in a store.
#[derive(Debug)]
pub struct Replica {
    engine: ReceivingEngine,
    known: Known,
    home: Arc<dyn Disk>,
    pin: Option<LogPin>,
    unrecorded_bytes: u64,
    record_bytes: u64,
    /// Kept to be given back last.
    lock: Option<Box<dyn DiskLock>>,
}

impl Replica {
    /// Opens a directory whose log ends where the store's is known to be, or in the middle of the next entry. The caller
    /// holds its lock, if it is not given.
    pub(super) fn open(
        home: &Arc<dyn Disk>,
        options: &StorageOptions,
        known: Known,
        lock: Option<Box<dyn DiskLock>>,
    ) -> Result<Replica, OpenError> {
        let engine = ReceivingEngine::open(home, &options.of_follower(), known.log.group)?;
        // Its recovery has made the compared log stable.
        known.write(&**home)?;
        Ok(Replica {
            pin: engine.pin(known.log.lsn),
            engine,
            known,
            home: home.clone(),
            unrecorded_bytes: 0,
            record_bytes: record_bytes(options.log_bytes_max),
            lock,
        })
    }

    /// The same with the directory's lock, which the caller held.
    pub(super) fn holding(mut self, lock: Box<dyn DiskLock>) -> Replica {
        self.lock = Some(lock);
        self
    }

    /// The database.
    pub fn manifest(&self) -> &Manifest {
        self.engine.manifest()
    }

    /// Its directory.
    pub(super) fn home(&self) -> &Arc<dyn Disk> {
        &self.home
    }

    /// Takes a checkpoint of everything. Returns from where the log is needed afterwards.
    pub(super) fn checkpointed(&self) -> Result<LogPosition, OpenError> {
        let stage = self.engine.checkpoint();
        stage.take(self.end()).map_err(|error| LogError::Poisoned {
            cause: error.to_string().into(),
        })?;
        Ok(stage.log_needed_from())
    }

    /// Its checkpoints since it was opened.
    pub fn checkpoints(&self) -> CheckpointTotals {
        self.engine.checkpoint().totals()
    }

    /// Its place.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Applies the next entry. Its groups are durable here when this returns.
    ///
    /// # Errors
    /// It cannot follow here; the disk failed, or is full. Nothing more can be applied.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ReplicaError> {
        self.apply_several(std::slice::from_ref(entry))
    }

    /// Applies the next entries, in order. Each sync is for the groups of several of them, so a copy that is behind is
    /// there sooner. After an error the entries before it may be applied, but are not known to be.
    ///
    /// # Errors
    /// As [`Replica::apply`].
    pub fn apply_several(&mut self, entries: &[Entry]) -> Result<(), ReplicaError> {
        let mut rest = entries;
        while !rest.is_empty() {
            let (run, others) = rest.split_at(self.until_record(rest));
            self.apply_run(run)?;
            rest = others;
        }
        Ok(())
    }

    /// So many of these entries are applied until the next record is due. The log here is freed only up to that, so a
    /// small log has no room for more.
    fn until_record(&self, entries: &[Entry]) -> usize {
        let mut bytes = self.unrecorded_bytes;
        let before = entries.iter().take_while(|entry| {
            let is_before = bytes < self.record_bytes;
            bytes += entry.length() as u64;
            is_before
        });
        before.count().max(1)
    }

    fn apply_run(&mut self, entries: &[Entry]) -> Result<(), ReplicaError> {
        let (mut groups, mut lasts) = (Vec::new(), Vec::new());
        let mut outcome = Ok(());
        for entry in entries {
            match entry.groups().collect::<Result<Vec<_>, _>>() {
                Ok(of_entry) => {
                    lasts.push((entry, of_entry.last().map(|(last, _)| *last)));
                    groups.extend(of_entry);
                }
                // The groups before it are sound.
                Err(error) => {
                    outcome = Err(error.into());
                    break;
                }
            }
        }
        self.append(&groups)?;
        for (entry, last) in lasts {
            self.is_applied(entry, last.as_ref());
        }
        outcome
    }

    /// Applies so many groups of the next entry. Returns true if these are all; if not, the known place stays before
    /// the entry, and no other can be applied.
    pub(super) fn apply_some(&mut self, entry: &Entry, count: usize) -> Result<bool, ReplicaError> {
        let groups: Vec<_> = entry.groups().collect::<Result<_, _>>()?;
        let wanted = groups.get(..count).unwrap_or(&groups);
        self.append(wanted)?;
        let is_whole = wanted.len() == groups.len();
        if is_whole {
            let last = groups.last().map(|(header, _)| header);
            self.is_applied(entry, last);
        }
        Ok(is_whole)
    }

    /// The end of the log here.
    pub(super) fn end(&self) -> LogPosition {
        self.engine.end()
    }

    /// Appends groups of an entry.
    pub(super) fn append(&mut self, groups: &[(GroupHeader, &[u8])]) -> Result<(), ReplicaError> {
        for batch in groups.chunks(BATCH_GROUPS_MAX) {
            let bytes: Vec<&[u8]> = batch.iter().map(|(_, bytes)| *bytes).collect();
            self.engine.append(&bytes)?;
        }
        Ok(())
    }

    /// All groups of this entry are durable here, of which this is the last.
    pub(super) fn is_applied(&mut self, entry: &Entry, last: Option<&GroupHeader>) {
        self.known.entry = entry.head().position_after();
        if let Some(last) = last {
            self.known.log = last.next_position();
        }
        self.unrecorded_bytes += entry.length() as u64;
        if self.unrecorded_bytes >= self.record_bytes {
            self.record();
        }
    }

    /// Writes down how far it is. If that fails the log is kept from where it was recorded before.
    fn record(&mut self) {
        match self.known.write(&*self.home) {
            Ok(()) => {
                self.unrecorded_bytes = 0;
                self.pin
                    .iter()
                    .for_each(|pin| pin.advance(self.known.log.lsn));
            }
            Err(error) => events::warn!(%error, "the place of the followed log is not recorded"),
        }
    }

    /// Ends it in order. The contents of the log here stay.
    pub fn close(self) -> Known {
        self.close_locked().0
    }

    /// As [`Replica::close`], and keeps the state that the opening that takes over need not read again, and writes down.
    /// The directory stays locked.
    pub fn close_keeping(mut self) -> KeptCopy {
        let (checkpointers, recorded) = self.engine.close_keeping();
        if checkpointers.is_none() {
            self.record();
        }
        let end = KnownEnd {
            position: self.end(),
            recorded,
            incarnation: self.engine.manifest().incarnation,
        };
        let lock_name = self.home.display_name(LOCK_FILE);
        KeptCopy::new(
            (end, self.known),
            lock_name,
            checkpointers,
            self.lock.take(),
        )
    }

    /// The same; the directory stays locked.
    pub(super) fn close_locked(mut self) -> (Known, Option<Box<dyn DiskLock>>) {
        self.record();
        self.engine.close();
        (self.known, self.lock.take())
    }
}
