//! The checkpoints' ledger: their progress, the wanted ones, and the reason why none can be taken. It is the same in
//! every place of checkpoints. The stripes of a [`super::CheckpointStage`] enter their work here. If the checkpoints
//! are left to followers of the log in a store, the carrier of the log enters its progress. Callers that want a
//! checkpoint, wait for one, or need room in the log look here.
//!
//! Invariant: I6 (the log is freed only up to the place that every entry allows).

use super::{CheckpointError, Checkpointer};
use crate::disk::DiskError;
use crate::log::segment::Segments;
use crate::log::supply::SegmentSupply;
use crate::log::{LogError, LogPosition, Lsn};
use sardonyx_base::events;
use sardonyx_base::sync::{Condvar, Mutex};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The known state of a database's checkpoints.
#[derive(Debug)]
pub(super) struct Ledger {
    segments: Arc<Segments>,
    supply: Arc<SegmentSupply>,
    /// One for each stripe; a single one, the store's, if the checkpoints are left to followers.
    entries: Mutex<Vec<Entry>>,
    changed: Condvar,
    is_of_store: bool,
    record: OnceLock<Weak<dyn RecordsStore>>,
}

/// The writer of the record of a store's progress with the log.
pub trait RecordsStore: Send + Sync + std::fmt::Debug {
    /// Room is wanted in the log: writes down all that the store has, if that is stable here. If it is not yet, the supply
    /// of segments looks again when it is.
    fn record_now(&self);

    /// Writes down all that the store has now, as soon as that is stable here.
    fn record_soon(&self);
}

/// The state of a stripe, or of a store, as others see it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    needed_from: LogPosition,
    /// The group up to which the last complete checkpoint, or the store, has everything.
    complete_from: LogPosition,
    /// The log may be freed up to here: everything before is recorded as the store's. As `needed_from` for a stripe.
    dispensable_before: LogPosition,
    complete: u64,
    blocks: u64,
    bytes: u64,
    /// A checkpoint is wanted that has everything before this place.
    wanted: Option<LogPosition>,
    /// Of a store: the log was at this place when room was wanted, and not everything before is dispensable yet.
    room_for: Option<LogPosition>,
    failure: Option<Arc<CheckpointError>>,
    /// It waits for room on the disk.
    waiting: Option<Waiting>,
    /// Attempts to write that found no room.
    attempts_failed: u64,
    /// A caller wants it to be tried again at once.
    try_now: bool,
}

/// A checkpoint waits for room on the disk; it continues by itself when there is some.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Since when.
    pub since: Instant,
    /// The last attempt's error.
    pub cause: Arc<CheckpointError>,
}

/// Counts of the checkpointing stage since the database was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CheckpointTotals {
    /// Checkpoints that all stripes have completed.
    pub checkpoints: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written to the backup.
    pub bytes: u64,
    /// Time from the beginning to the end of the writeouts, summed over stripes.
    pub writeout_time: Duration,
    /// The time that a checkpoint has been waiting for room on the disk. Meanwhile no log is freed.
    /// [`super::CheckpointStage::waiting`] has the reason.
    pub waiting_for_room: Option<Duration>,
    /// True if checkpointing stopped for good: [`super::CheckpointStage::failure`] has the reason.
    pub stopped: bool,
}

impl Entry {
    fn at(needed_from: LogPosition, complete_from: LogPosition) -> Self {
        Entry {
            needed_from,
            complete_from,
            dispensable_before: needed_from,
            complete: 0,
            blocks: 0,
            bytes: 0,
            wanted: None,
            room_for: None,
            failure: None,
            waiting: None,
            attempts_failed: 0,
            try_now: false,
        }
    }

    /// The entry of a stripe.
    pub fn of(checkpointer: &Checkpointer) -> Self {
        let statistics = checkpointer.statistics();
        Entry {
            complete: statistics.checkpoints,
            blocks: statistics.blocks,
            bytes: statistics.bytes,
            ..Self::at(
                checkpointer.log_needed_from(),
                checkpointer.last_complete().redo_start,
            )
        }
    }

    /// The place from which the log is needed without its dispensable part, and the one that answers the wish for
    /// room.
    fn free_what_is_dispensable(&mut self) -> (LogPosition, LogPosition) {
        self.needed_from = self.needed_from.max(self.dispensable_before);
        let needed = self.needed_from.group;
        self.room_for = self.room_for.filter(|place| place.group > needed);
        match self.is_wanted() {
            false => (self.needed_from, self.complete_from),
            // More will be freed.
            true => (self.needed_from, self.needed_from),
        }
    }

    /// True if something is wanted that is not there yet.
    fn is_wanted(&self) -> bool {
        self.wanted.is_some() || self.room_for.is_some()
    }
}

impl Ledger {
    pub fn of_stripes(entries: Vec<Entry>, supply: Arc<SegmentSupply>) -> Self {
        Self::new(entries, supply, false)
    }

    /// The ledger of a store, for which the log is kept from a place on until it has that.
    pub fn of_store(needed_from: LogPosition, supply: Arc<SegmentSupply>) -> Self {
        let entry = Entry::at(needed_from, LogPosition::START);
        Self::new(vec![entry], supply, true)
    }

    fn new(entries: Vec<Entry>, supply: Arc<SegmentSupply>, is_of_store: bool) -> Self {
        Ledger {
            segments: supply.segments().clone(),
            supply,
            entries: Mutex::new(entries),
            changed: Condvar::new(),
            is_of_store,
            record: OnceLock::new(),
        }
    }

    /// Sets the recorder of the store's progress.
    #[inline]
    pub fn set_record(&self, record: Weak<dyn RecordsStore>) {
        let _ = self.record.set(record);
    }

    /// True if the checkpoints are left to followers of the log in a store.
    pub fn is_of_store(&self) -> bool {
        self.is_of_store
    }

    /// Before any lock is taken: a forked child has locks that are never given back.
    pub fn check_process(&self) -> Result<(), Arc<CheckpointError>> {
        let check = self.segments.process().check();
        check.map_err(|forked| Arc::new(forked.into()))
    }

    /// Notes that a checkpoint is wanted that has everything before `position`. A store that has that already has no more
    /// to do: the log that it makes dispensable goes at once.
    pub fn want(&self, position: LogPosition) {
        let mut entries = self.entries.lock();
        for entry in entries.iter_mut() {
            if !self.is_of_store || entry.complete_from.group < position.group {
                entry.wanted = entry.wanted.max(Some(position));
                entry.try_now = true;
            }
            if self.is_of_store {
                entry.room_for = entry.room_for.max(Some(position));
            }
        }
        let of_store = entries.first_mut().filter(|_| self.is_of_store);
        let freed = of_store.map(Entry::free_what_is_dispensable);
        drop(entries);
        if let Some((needed_from, answered)) = freed {
            self.free(needed_from.lsn, answered);
        }
        self.record_for_room();
    }

    /// Has it be written down how far the store has the log, if room waits for that alone: the store has all that is
    /// wanted, or takes no more now.
    fn record_for_room(&self) {
        let entries = self.entries.lock();
        let of_store = entries.first().filter(|_| self.is_of_store);
        let takes_no_more = |e: &Entry| e.wanted.is_none() || e.failure.is_some();
        let waits = of_store.is_some_and(|e| takes_no_more(e) && e.room_for.is_some());
        drop(entries);
        if waits && let Some(record) = self.record.get().and_then(Weak::upgrade) {
            record.record_now();
        }
    }

    /// Has it be written down how far the store has the log, as soon as that is stable here.
    pub fn record_soon(&self) {
        if let Some(record) = self.record.get().and_then(Weak::upgrade) {
            record.record_soon();
        }
    }

    /// Notes that a checkpoint is wanted of one stripe that has everything before `position`.
    pub fn want_of(&self, stripe: usize, position: LogPosition) {
        let entry = &mut self.entries.lock()[stripe];
        entry.wanted = entry.wanted.max(Some(position));
    }

    /// True if nothing more of the request comes soon: it is complete, or the disk has no room for it, or checkpointing
    /// stopped. If not, waits for a change, until that time at the latest, if `wait`.
    pub fn is_settled(&self, wait: bool, until: Option<Instant>) -> bool {
        let mut entries = self.entries.lock();
        let over = |e: &Entry| e.wanted.is_none() || e.failure.is_some() || e.waiting.is_some();
        if entries.iter().all(over) {
            return true;
        }
        match until {
            _ if !wait => {}
            Some(until) => {
                self.changed.wait_until(&mut entries, until);
            }
            None => self.changed.wait(&mut entries),
        }
        false
    }

    /// Attempts that found no room so far, for [`Ledger::outcome`].
    #[inline]
    pub fn attempts(&self) -> Vec<u64> {
        let entries = self.entries.lock();
        entries.iter().map(|entry| entry.attempts_failed).collect()
    }

    /// The result of the request, if that is known; else waits for a change, if `wait`.
    #[inline]
    pub fn outcome(
        &self,
        attempts_before: &[u64],
        wait: bool,
    ) -> Option<Result<(), Arc<CheckpointError>>> {
        let mut entries = self.entries.lock();
        if let Some(error) = entries.iter().find_map(|entry| entry.failure.clone()) {
            return Some(Err(error));
        }
        if entries.iter().all(|entry| entry.wanted.is_none()) {
            return Some(Ok(()));
        }
        let mut tried = entries.iter().zip(attempts_before);
        let found_no_room = tried.find_map(|(entry, &before)| match &entry.waiting {
            Some(waiting) if entry.attempts_failed > before => Some(waiting.cause.clone()),
            _ => None,
        });
        if let Some(cause) = found_no_room {
            return Some(Err(Arc::new(CheckpointError::Waiting { cause })));
        }
        if wait {
            self.changed.wait(&mut entries);
        }
        None
    }

    /// Notifies a change of the freeing of log, for threads that wait for the log or for a checkpoint.
    fn tell(&self) {
        self.changed.notify_all();
        self.supply.look_again();
    }

    /// The log that no entry needs is freed (I6). `answered`: see [`SegmentSupply::freed`].
    fn free(&self, needed_from: Lsn, answered: LogPosition) {
        self.segments.free_before(needed_from);
        self.supply.freed(answered);
        self.changed.notify_all();
    }

    // The present act of a stripe.

    /// The request to a stripe.
    pub fn wanted_of(&self, stripe: usize) -> Option<LogPosition> {
        self.entries.lock()[stripe].wanted
    }

    /// True if a caller, since the last question, wanted a step that found no room to be tried again at once.
    pub fn take_try_now(&self, stripe: usize) -> bool {
        std::mem::take(&mut self.entries.lock()[stripe].try_now)
    }

    /// A stripe has stopped. The first reason stays.
    pub fn failed(&self, stripe: usize, error: CheckpointError) {
        let mut entries = self.entries.lock();
        entries[stripe].failure.get_or_insert(Arc::new(error));
        drop(entries);
        self.tell();
    }

    /// A step of a stripe found no room; nothing is half done.
    #[cold]
    pub fn found_no_room(&self, stripe: usize, error: CheckpointError) {
        let mut entries = self.entries.lock();
        let entry = &mut entries[stripe];
        entry.attempts_failed += 1;
        let before = entry.waiting.take();
        if before.is_none() {
            events::warn!(%error, stripe, "the checkpoint waits for room on the disk");
        }
        entry.waiting = Some(Waiting {
            since: before.map_or_else(Instant::now, |before| before.since),
            cause: Arc::new(error),
        });
        drop(entries);
        self.tell();
    }

    /// A step of a stripe that had found no room has been done.
    #[cold]
    pub fn found_room(&self, stripe: usize) {
        if let Some(waited) = self.entries.lock()[stripe].waiting.take() {
            let waited = waited.since.elapsed();
            events::info!(?waited, stripe, "the checkpoint continues");
        }
        self.tell();
    }

    /// A stripe's checkpoint is complete.
    pub fn completed(&self, stripe: usize, checkpointer: &Checkpointer) {
        let mut entries = self.entries.lock();
        let before = entries[stripe].clone();
        let of_now = Entry::of(checkpointer);
        let complete = of_now.complete_from.group;
        entries[stripe] = Entry {
            wanted: before.wanted.filter(|wanted| wanted.group > complete),
            attempts_failed: before.attempts_failed,
            // Also that of another thread of the engine, reported while this was being completed.
            failure: before.failure,
            ..of_now
        };
        let needed_from = entries.iter().map(|entry| entry.needed_from).min();
        let complete_from = entries.iter().map(|entry| entry.complete_from).min();
        // While another stripe is at a requested checkpoint, more will be freed: a checkpoint that was complete before
        // may need log that its archive lacks.
        let all = entries.iter().all(|entry| entry.wanted.is_none());
        drop(entries);
        if let (Some(needed_from), Some(complete_from)) = (needed_from, complete_from) {
            let answered = if all { complete_from } else { needed_from };
            self.free(needed_from.lsn, answered);
        }
    }

    // The thread that puts the log into a store reports.

    /// The store has the log up to `end`, and a record here says so for everything before `recorded`. The log is freed
    /// up to there when room, or a checkpoint, is wanted: until then an opening finds here all that it needs.
    #[inline]
    pub fn store_has(&self, end: LogPosition, recorded: LogPosition) {
        if !self.is_of_store {
            return;
        }
        let mut entries = self.entries.lock();
        let Some(entry) = entries.first_mut() else {
            return;
        };
        entry.complete_from = entry.complete_from.max(end);
        entry.dispensable_before = entry.dispensable_before.max(recorded);
        if !entry.is_wanted() {
            return;
        }
        entry.wanted = entry.wanted.filter(|wanted| wanted.group > end.group);
        let (needed_from, answered) = entry.free_what_is_dispensable();
        drop(entries);
        self.free(needed_from.lsn, answered);
    }

    /// Notes that the record of the store's progress could not be written here; or that it was.
    #[inline]
    pub fn is_unrecorded(&self, error: Option<DiskError>) {
        if !self.is_of_store {
            error.iter().for_each(|error| {
                events::warn!(%error, "the store's progress with the log is not recorded");
            });
            return;
        }
        let mut entries = self.entries.lock();
        let Some(entry) = entries.first_mut() else {
            return;
        };
        let before = entry.waiting.take();
        entry.waiting = error.map(|cause| {
            if before.is_none() {
                events::warn!(error = %cause, "the store's progress with the log is not recorded");
            }
            Waiting {
                since: before.map_or_else(Instant::now, |before| before.since),
                cause: Arc::new(CheckpointError::Unrecorded { cause }),
            }
        });
    }

    /// The store gives no answer for this reason; or does again.
    #[inline]
    pub fn store_is_away(&self, reason: Option<Arc<str>>) {
        if !self.is_of_store {
            return;
        }
        let away = reason.map(|reason| Arc::new(CheckpointError::StoreAway { reason }));
        for entry in self.entries.lock().iter_mut() {
            match entry.failure.as_deref() {
                None | Some(CheckpointError::StoreAway { .. }) => entry.failure = away.clone(),
                Some(_) => {}
            }
        }
        self.record_for_room();
        self.tell();
    }

    // The request of all callers.

    /// A thread of the engine died: callers that wait for a checkpoint are notified, since it may never come.
    pub fn give_up(&self, reason: &LogError) {
        let error = Arc::new(CheckpointError::Poisoned {
            cause: reason.to_string(),
        });
        for entry in self.entries.lock().iter_mut() {
            entry.failure.get_or_insert(error.clone());
        }
        self.changed.notify_all();
    }

    /// The reason why checkpointing stopped, if it did.
    pub fn failure(&self) -> Option<Arc<CheckpointError>> {
        let entries = self.entries.lock();
        entries.iter().find_map(|entry| entry.failure.clone())
    }

    /// The entry that has waited longest for room on the disk.
    #[inline]
    pub fn waiting(&self) -> Option<Waiting> {
        let entries = self.entries.lock();
        let waiting = entries.iter().filter_map(|entry| entry.waiting.clone());
        waiting.min_by_key(|waiting| waiting.since)
    }

    /// From where the log is needed.
    #[inline]
    pub fn log_needed_from(&self) -> LogPosition {
        let entries = self.entries.lock();
        let needed_from = entries.iter().map(|entry| entry.needed_from).min();
        needed_from.unwrap_or(LogPosition::START)
    }

    /// Up to where every entry's last complete checkpoint has everything.
    pub fn complete_from(&self) -> LogPosition {
        let entries = self.entries.lock();
        let complete_from = entries.iter().map(|entry| entry.complete_from).min();
        complete_from.unwrap_or(LogPosition::START)
    }

    /// The counts since the database was opened.
    #[inline]
    pub fn totals(&self, writeout_time: Duration) -> CheckpointTotals {
        let entries = self.entries.lock();
        let waiting = entries.iter().filter_map(|entry| entry.waiting.as_ref());
        CheckpointTotals {
            checkpoints: entries.iter().map(|e| e.complete).min().unwrap_or(0),
            blocks: entries.iter().map(|e| e.blocks).sum(),
            bytes: entries.iter().map(|e| e.bytes).sum(),
            writeout_time,
            waiting_for_room: waiting.map(|waiting| waiting.since.elapsed()).max(),
            stopped: entries.iter().any(|e| e.failure.is_some()),
        }
    }

    /// True if something requested is not complete yet.
    pub fn is_wanted(&self) -> bool {
        self.entries.lock().iter().any(Entry::is_wanted)
    }

    /// The reason why nothing can be freed now, and the remedy; see [`crate::log::supply::FreesLog::obstacle`]. Chunks
    /// that wait only to be written are tried first.
    pub fn obstacle(&self) -> Option<Arc<str>> {
        self.record_for_room();
        let entries = self.entries.lock();
        let failed = entries.iter().find_map(|entry| entry.failure.as_deref());
        let waits = entries.iter().find_map(|entry| entry.waiting.as_ref());
        let reason = match (failed, waits) {
            (Some(CheckpointError::StoreAway { reason }), _) => format!(
                "only the store can free it, and that gives no answer: {reason}; transactions go on when it does"
            ),
            (Some(error), _) => {
                format!("nothing can be freed, because checkpointing stopped: {error}")
            }
            // The action comes first: the text may be cut off.
            (None, Some(Waiting { cause, .. }))
                if matches!(**cause, CheckpointError::Unrecorded { .. }) =>
            {
                format!("see to the disk and try again ({cause})")
            }
            (None, Some(Waiting { cause, .. })) => {
                format!("free disk space and try again (the checkpoint waits: {cause})")
            }
            (None, None) => return None,
        };
        Some(reason.into())
    }
}
