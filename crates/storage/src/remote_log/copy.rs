//! A log in a store as the copy of one that is written here. Either nothing is durable without it ([`RemoteCopy`]), or
//! it follows the durable log here ([`StoreCopy::carry`]).
//!
//! All groups that wait become one entry, or few if they are too large for one. So there are as many entries as the
//! store takes one after the other. They grow with the load, up to the limit of a follower's log ([`entry_bytes`]).
//!
//! A store that gives no answer is asked for as long as the database is open ([`Closing`]): transactions wait meanwhile, and
//! go on when it answers. Only another owner, or a contradiction to the log here, closes it.
//!
//! The log here is kept from the place on that the directory knows to be in the store ([`Known`]). That is recorded now
//! and then ([`record_bytes`]), and when the log is full (`remote_log::record`).
//!
//! Bound (I10): a group that is larger than the store's entries closes the log; a program that opens one with a copy
//! limits transactions to less. If the copy follows, the log here has to hold everything that the store has not yet
//! taken: when it is full, transactions wait.

use super::RemoteLogError;
use super::entry::{ENTRY_HEAD_BYTES, EntryBuilder};
use super::in_store::InStore;
use super::known::Known;
use super::record::Record;
use super::shell::RemoteWriter;
use super::store::RemoteStore;
use crate::checkpoint::CheckpointStage;
use crate::disk::Disk;
use crate::log::follow::Follower;
use crate::log::group::GroupHeader;
use crate::log::pool::DurableGroup;
use crate::log::segment::Segments;
use crate::log::writer::{LogWriter, RemoteCopy, SendsAhead};
use crate::log::{LogError, LogLayout};
use sardonyx_base::events;
use sardonyx_base::seldom::Seldom;
use sardonyx_base::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The bytes of log that go to the store between two records of its place, if the log here has so many bytes: at most
/// an eighth of them is kept for the record alone.
pub fn record_bytes(log_bytes: u64) -> u64 {
    (log_bytes / 8).min(16 << 20)
}

/// The most bytes of an entry with several groups, for a store that takes so many and a log here of so many. A follower
/// frees its log only up to an entry, so one with a log as long as this must have room for it.
pub fn entry_bytes(of_store: u64, log_bytes: u64) -> u64 {
    of_store.min(record_bytes(log_bytes))
}

/// Groups on their way into entries.
#[derive(Debug, Default)]
pub(crate) struct EntryOfGroups {
    entry: EntryBuilder,
    last: Option<GroupHeader>,
}

/// An entry that is full, and the header of its last group.
pub(crate) type FullEntry = (EntryBuilder, GroupHeader);

impl EntryOfGroups {
    /// Without groups, in this memory.
    pub fn in_memory_of(entry: EntryBuilder) -> Self {
        EntryOfGroups { entry, last: None }
    }

    /// Adds a copy of a group. Returns the entry before, if both would be more than these bytes.
    pub fn push(&mut self, header: &GroupHeader, bytes: &[u8], most: u64) -> Option<FullEntry> {
        let full = self.take_before(bytes.len(), most);
        self.entry.push(bytes);
        self.last = Some(*header);
        full
    }

    /// Adds a group that stays where it is.
    fn push_shared(&mut self, group: &Arc<DurableGroup>, most: u64) -> Option<FullEntry> {
        let full = self.take_before(group.bytes().len(), most);
        self.entry.push_shared(group.clone());
        self.last = Some(*group.header());
        full
    }

    /// The entry so far, if it would have more than these bytes with a group of so many.
    fn take_before(&mut self, bytes: usize, most: u64) -> Option<FullEntry> {
        match self.entry.bytes() + bytes as u64 > most {
            true => self.take(),
            false => None,
        }
    }

    /// Without a group yet, the next entry gets the memory of the writer's last one.
    fn fill_next(&mut self, writer: &mut RemoteWriter) {
        if self.last.is_none() {
            self.entry = writer.next_entry();
        }
    }

    /// The added entry, if any.
    pub fn take(&mut self) -> Option<FullEntry> {
        let last = self.last.take()?;
        Some((std::mem::take(&mut self.entry), last))
    }
}

impl RemoteCopy for RemoteWriter {
    fn append(&mut self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError> {
        let (first, most) = (self.next_entry(), self.entry_bytes_max());
        put_groups(groups, first, most, false, |(entry, _)| {
            let appended = RemoteWriter::append(self, entry);
            appended.map(drop).map_err(poisoned)
        })
    }
}

fn put_groups(
    groups: &[Arc<DurableGroup>],
    first: EntryBuilder,
    most: u64,
    shares: bool,
    mut put: impl FnMut(FullEntry) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let mut waiting = EntryOfGroups::in_memory_of(first);
    for group in groups {
        let full = match shares {
            true => waiting.push_shared(group, most),
            false => waiting.push(group.header(), group.bytes(), most),
        };
        if let Some(full) = full {
            put(full)?;
        }
    }
    waiting.take().map_or(Ok(()), put)
}

fn poisoned(error: RemoteLogError) -> LogError {
    LogError::Poisoned {
        cause: error.to_string().into(),
    }
}

/// The copy in a store of the log of a database that is open here.
#[derive(Debug)]
pub struct StoreCopy {
    writer: RemoteWriter,
    known: Known,
    disk: Arc<dyn Disk>,
    entry_bytes: u64,
    record: Arc<Record>,
    closing: Arc<Closing>,
    in_store: Arc<InStore>,
    stage: Arc<CheckpointStage>,
}

impl StoreCopy {
    /// Continues from the known place; the log here reaches back to the recorded one.
    pub fn new(
        writer: RemoteWriter,
        (known, recorded): (Known, Known),
        disk: Arc<dyn Disk>,
        stage: Arc<CheckpointStage>,
        segments: &Arc<Segments>,
        closing: Arc<Closing>,
    ) -> Self {
        let log_bytes = segments.segments_max() * segments.layout().segment_bytes;
        let between = record_bytes(log_bytes);
        StoreCopy {
            entry_bytes: entry_bytes(writer.entry_bytes_max(), log_bytes),
            writer,
            known,
            record: Record::new(
                (known, recorded),
                disk.clone(),
                stage.clone(),
                segments,
                between,
            ),
            disk,
            in_store: Arc::new(InStore::at(known.log)),
            closing,
            stage,
        }
    }

    /// The progress of the store with the log, for others.
    pub fn in_store(&self) -> &Arc<InStore> {
        &self.in_store
    }

    /// The place up to which the store has the log.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The way of groups of the next entry, if the store takes them before that is complete.
    pub fn ahead(&self) -> Option<AheadOfEntry> {
        let store = self.writer.store().clone();
        store.ahead().is_some().then(|| AheadOfEntry {
            store,
            most: self.entry_bytes,
            bytes: AtomicU64::new(0),
        })
    }

    /// Makes this the copy of a log: when that is full, the store's place is recorded.
    pub fn serve(&self, log: &Arc<LogWriter>) {
        self.record.serve(log);
    }

    /// Behind an entry that is in the store, and these groups here.
    fn is_there(&mut self, last: &GroupHeader, bytes: u64, time: Duration) {
        self.known.entry = self.writer.position();
        self.known.log = last.next_position();
        // The log here that has become dispensable can be freed when others see the store's progress.
        let let_go = || self.record.store_has(self.known, bytes);
        self.in_store.has(self.known.log, time, let_go);
    }

    /// The log was stable here up to the known place when it was claimed: that is written down, if it is not yet. The
    /// record names the claim's epoch then, whose bases this directory can continue from. Nothing is acknowledged
    /// through the store before.
    pub fn record_claimed(&self) {
        self.record.write_below(self.known.log.group);
    }

    /// All that the store has is stable here, and nothing more comes: it is written down.
    pub fn record_all(&mut self) {
        self.record.write_all();
    }

    /// Puts the durable log here into the store, until that is closed and all of it is there. The body of a thread.
    ///
    /// # Errors
    /// Another host has the log; it is damaged here; it is closed, and the store gives no answer.
    pub fn carry(&mut self, log: &LogWriter, layout: LogLayout) -> Result<(), LogError> {
        let closing = self.closing.clone();
        let waker = Waker::from(closing.clone());
        let most = self.entry_bytes;
        let mut follower = Follower::new(self.disk.clone(), layout, self.known.log);
        let mut waiting = EntryOfGroups::default();
        let recent = log.recent();
        recent.set_wanted(true);
        loop {
            let closed = closing.is_closed();
            let mut full = None;
            let (mut groups, mut read_back) = (0, 0);
            while full.is_none() {
                let (next, durable) = (follower.position().group, log.durable());
                // Groups written just now are still in memory.
                full = match recent.get(next) {
                    Some((header, bytes)) if next < durable.group => {
                        follower.skip(&header);
                        waiting.push(&header, &bytes, most)
                    }
                    _ => {
                        let Some((header, bytes)) = follower.next_group(durable)? else {
                            break;
                        };
                        read_back += 1;
                        waiting.push(&header, bytes, most)
                    }
                };
                groups += 1;
            }
            if groups > 0 {
                self.in_store.count(groups, read_back);
            }
            match full.or_else(|| waiting.take()) {
                Some(entry) => {
                    self.put_patiently(entry)?;
                    // It was stable here before it was begun.
                    self.record.write_below(u64::MAX);
                    waiting.fill_next(&mut self.writer);
                }
                None if closed => return Ok(()),
                None => match log.poll(follower.position().group, &waker) {
                    Poll::Ready(Ok(())) => {}
                    // Durable groups are carried to their end; then it waits to be closed.
                    Poll::Ready(Err(_)) | Poll::Pending => closing.wait(),
                },
            }
        }
    }

    /// Puts an entry into the store, however long that takes while the database is open.
    fn put_patiently(&mut self, (entry, last): FullEntry) -> Result<(), LogError> {
        let bytes = entry.bytes();
        self.writer.begin(entry).map_err(poisoned)?;
        let patience = *self.writer.patience();
        let (began, mut pause, mut told) = (Instant::now(), patience.pause, Seldom::default());
        let mut is_away = false;
        loop {
            match self.writer.try_to_finish() {
                Ok(_) => {
                    if told.end() {
                        events::warn!(waited = ?began.elapsed(), "the log's store answers again");
                    }
                    if is_away {
                        self.in_store.is_away(None);
                        self.stage.store_is_away(None);
                    }
                    self.is_there(&last, bytes, began.elapsed());
                    return Ok(());
                }
                Err(RemoteLogError::Store(error))
                    if error.is_unclear() && self.closing.is_waited_for(&patience.time_limit) =>
                {
                    is_away = true;
                    let reason: Arc<str> = error.to_string().into();
                    self.in_store.is_away(Some(reason.clone()));
                    // One lost answer is no reason to refuse a caller that needs room in a full log, or a checkpoint.
                    if began.elapsed() >= patience.away_after() {
                        self.stage.store_is_away(Some(reason));
                    }
                    if told.is_due(Instant::now()) {
                        events::warn!(%error, waited = ?began.elapsed(), "the log's store is asked again");
                    }
                    self.closing.pause(pause);
                    pause = (pause * 2).min(patience.pause_most);
                }
                Err(error) => return Err(poisoned(self.writer.give_up(error))),
            }
        }
    }
}

impl Drop for StoreCopy {
    /// The thread that had this is joined before the directory's lock is given back. Others may have the record.
    fn drop(&mut self) {
        self.record.end();
    }
}

impl RemoteCopy for StoreCopy {
    fn append(&mut self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError> {
        let (first, most) = (self.writer.next_entry(), self.entry_bytes);
        self.in_store.count(groups.len() as u64, 0);
        // Another store puts an entry together for each request: into new memory, if its groups were not copied here.
        let shares = self.writer.store().ahead().is_some();
        put_groups(groups, first, most, shares, |full| self.put_patiently(full))
    }

    fn is_stable_here(&mut self, below: u64) {
        self.record.write_below(below);
    }
}

/// Sends groups of the next entry to a store, as many as go into one.
#[derive(Debug)]
pub struct AheadOfEntry {
    store: Arc<dyn RemoteStore>,
    /// The most bytes of an entry.
    most: u64,
    /// The bytes of the next entry, without its head; more than the most if a group did not go into it.
    bytes: AtomicU64,
}

impl SendsAhead for AheadOfEntry {
    fn prepare(&self) -> bool {
        self.store.ahead().is_some_and(SendsAhead::prepare)
    }

    fn send(&self, group: &Arc<DurableGroup>) {
        let bytes = group.bytes().len() as u64;
        let before = self.bytes.fetch_add(bytes, Ordering::SeqCst);
        if ENTRY_HEAD_BYTES as u64 + before + bytes <= self.most
            && let Some(ahead) = self.store.ahead()
        {
            ahead.send(group);
        }
    }

    fn end(&self) {
        self.bytes.store(0, Ordering::SeqCst);
        self.store.ahead().iter().for_each(|ahead| ahead.end());
    }

    fn give_up(&self) {
        self.store.ahead().iter().for_each(|ahead| ahead.give_up());
    }
}

/// Signals to the thread that puts the log into the store that the database is being closed.
#[derive(Debug, Default)]
pub struct Closing {
    /// The time since when requests without an answer are waited for no longer than the patience.
    ending: Mutex<Option<Instant>>,
    is_closed: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Closing {
    /// The calling thread is the one that puts the log there.
    pub fn begin(&self) {
        let _ = self.thread.set(thread::current());
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Until there is more log, or it is closed. A wake-up before is not lost.
    fn wait(&self) {
        if !self.is_closed() {
            thread::park();
        }
    }

    /// Between two requests to a store that gives no answer.
    fn pause(&self, pause: Duration) {
        thread::park_timeout(pause);
    }

    /// True if a store that gives no answer is asked again: while the database is open, and for so long when it is being
    /// closed.
    fn is_waited_for(&self, time_limit: &Duration) -> bool {
        let ending = *self.ending.lock();
        ending.is_none_or(|since| since.elapsed() < *time_limit)
    }

    /// The database is about to be closed: requests without an answer are given up soon.
    pub fn end(&self) {
        self.ending.lock().get_or_insert_with(Instant::now);
        self.thread.get().iter().for_each(|thread| thread.unpark());
    }

    /// The database is being closed, and nothing more becomes durable.
    pub fn close(&self) {
        self.end();
        self.is_closed.store(true, Ordering::SeqCst);
        self.thread.get().iter().for_each(|thread| thread.unpark());
    }
}

impl Wake for Closing {
    fn wake(self: Arc<Self>) {
        self.thread.get().iter().for_each(|thread| thread.unpark());
    }
}
