//! Checkpoints taken at a standby: what the storage asks of it, and what it is given. The TPK paper's
//! configuration C, where the checkpointing thread runs on another machine.
//!
//! The storage knows neither the network nor the standby's own storage, only the trait
//! [`RemoteCheckpointer`]: a thread that is given the durable log ([`ShippedLog`]), reports how far
//! the standby is, and can fetch an image of DB' when the database is opened.
//!
//! Invariants: I6 (the log is freed only as the standby's reports allow), I10 (a standby that is
//! away lets the log fill to its limit; then transactions are refused, with the reason).
//!
//! Source: TPK paper, section 3, configuration C.

use super::ledger::Ledger;
use super::{CheckpointInterval, CheckpointStage, Seed, SeedError, SeedSource};
use crate::disk::Disk;
use crate::log::follow::Follower;
use crate::log::group::GroupHeader;
use crate::log::reader::group_before;
use crate::log::segment::{LOG_DIRECTORY, segment_of_file};
use crate::log::writer::LogWriter;
use crate::log::{LogError, LogPosition, Lsn};
use crate::manifest::Manifest;
use crate::store::{PageStore, StoreError};
use sardonyx_base::process::FORKED;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::transport::TransportError;
use sardonyx_base::user_code::wake;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// Where the checkpoints of an open database are taken.
#[derive(Clone, Debug, Default)]
pub enum CheckpointPlace {
    /// Here: DB' and the backup are this process's.
    #[default]
    Local,
    /// At a standby: no DB' and no backup here; the standby frees the log.
    Standby(Arc<dyn RemoteCheckpointer>),
}

/// A checkpointer in another process or on another host.
pub trait RemoteCheckpointer: Send + Sync + Debug {
    /// Fetches an image of DB'. Called when the database is opened and the directory alone is not
    /// enough.
    ///
    /// # Errors
    /// [`RemoteError`]: what is wrong, and what to do.
    fn fetch_image(&self, manifest: &Manifest, memory_bytes_max: u64)
    -> Result<Image, RemoteError>;

    /// Gives the durable log to the standby, and its reports to the log, until closed. The body of
    /// a thread. Called once per opening; returns when [`ShippedLog::poll_closed`] says so.
    fn run(&self, log: &ShippedLog);
}

/// A copy of the pages as a standby has them.
#[derive(Debug)]
pub struct Image {
    /// The pages. They may have the changes of groups after `redo_start`, but of none after
    /// `position` (fuzzy, like a backup; I3).
    pub store: PageStore,
    /// From where the log must be applied to them.
    pub redo_start: LogPosition,
    /// The end of the standby's durable log.
    pub position: LogPosition,
    /// Of the last group before `position` ([`GroupHeader::history_checksum`]); 0 at the log's
    /// start.
    pub last_checksum: u32,
    /// The standby, for messages.
    pub origin: String,
}

/// Why a standby is of no use.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// This process was forked from the one that named the standby.
    #[error("{}", FORKED)]
    Forked,
    /// It cannot be reached, or the connection broke.
    #[error(
        "the standby at {address} cannot be reached ({cause}); start it there and try again, or, if \
         this log is lost, open the standby's own directory as the database"
    )]
    Unreachable {
        /// Its address.
        address: String,
        /// What happened.
        cause: String,
    },
    /// The two ends do not come together: one does not trust the other, or they use different transports.
    #[error("the standby at {address} cannot be talked to: {source}")]
    Transport {
        /// Its address.
        address: String,
        /// Why, and what to do.
        source: TransportError,
    },
    /// It is there and cannot work.
    #[error("the standby at {address} cannot go on: {reason}")]
    Failed {
        /// Its address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// It does not take this primary: another version of the protocol, another token, nothing to be had.
    #[error("the standby at {address} does not take this primary: {reason}")]
    Unwelcome {
        /// Its address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// It refused, or is refused: another database, or another history.
    #[error("the standby at {address} and this database do not belong together: {reason}")]
    Refused {
        /// Its address.
        address: String,
        /// Why.
        reason: String,
    },
    /// The standby has groups that the local log does not have.
    #[error(
        "the standby at {address} has everything before group {standby_group} of this database's \
         log, but the log here does not have group {} as the standby has it: durable log was lost \
         here, or the standby was opened as the database meanwhile; open the standby's directory \
         as the database, or a copy of it here",
        standby_group - 1
    )]
    Ahead {
        /// Its address.
        address: String,
        /// The first group that it does not have.
        standby_group: u64,
    },
    /// Both are of one database, but went different ways.
    #[error(
        "the standby at {address} has another group {group} than the log here: one of the two was \
         opened as a database while the other went on; keep the one with the right history, and \
         put an empty directory, or a copy of that one, in the other's place"
    )]
    Diverged {
        /// Its address.
        address: String,
        /// The last group of the standby.
        group: u64,
    },
    /// The log that the standby lacks was freed.
    #[error(
        "the standby at {address} lacks the log from group {group} on, and the log here no longer \
         reaches back so far: it is not the standby that freed it; start the right one there, or \
         give it an empty directory"
    )]
    TooOld {
        /// Its address.
        address: String,
        /// The first group that it lacks.
        group: u64,
    },
    /// The pages were compacted since.
    #[error(
        "the standby at {address} lacks the log from group {group} on, and this database was compacted after \
         that: the log alone does not say so; close the database and give the standby a copy of its directory"
    )]
    Compacted {
        /// Its address.
        address: String,
        /// The first group that it lacks.
        group: u64,
    },
    /// The standby has nothing, and is not made of the pages here.
    #[error(
        "the standby at {address} has no database, the log here no longer reaches back to the beginning, and the pages \
         here are not to be had for it: {reason}"
    )]
    NotSeeded {
        /// Its address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// The image does not fit into memory.
    #[error("the standby's image does not fit: {0}")]
    Store(#[from] Arc<StoreError>),
}

/// What a standby says of its checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteProgress {
    /// Up to where the groups that it has durably are applied to its DB': an image of it needs the
    /// log from here on.
    pub needed_from: LogPosition,
    /// The place up to which its last complete checkpoint has everything.
    pub complete_from: LogPosition,
    /// Checkpoints completed since it was started.
    pub checkpoints: u64,
    /// Blocks written since then.
    pub blocks: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// The durable log of an open database, for whoever carries it to a standby.
#[derive(Clone, Debug)]
pub struct ShippedLog {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    commit: Arc<LogWriter>,
    ledger: Arc<Ledger>,
    /// How far apart checkpoints are, if that is chosen here and not at the standby.
    interval: Option<CheckpointInterval>,
    closing: Arc<Closing>,
    seeds: Option<Arc<dyn SeedSource>>,
}

/// A commit group for the standby.
#[derive(Clone, Debug)]
pub struct ShippedGroup {
    /// Its bytes, as they stand on disk or soon will.
    pub bytes: Arc<[u8]>,
    /// Whether it was read back from disk, since it was not in memory any more.
    pub was_read_back: bool,
}

/// Whether the database is being closed, and who wants to know.
#[derive(Debug, Default)]
struct Closing {
    closed: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl ShippedLog {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        manifest: Manifest,
        commit: Arc<LogWriter>,
        stage: &CheckpointStage,
        interval: Option<CheckpointInterval>,
    ) -> Self {
        ShippedLog {
            disk,
            manifest,
            commit,
            ledger: stage.ledger().clone(),
            interval,
            closing: Arc::default(),
            seeds: None,
        }
    }

    /// With a source of seeds, if there is one.
    pub(crate) fn with_seeds(mut self, seeds: Option<Arc<dyn SeedSource>>) -> Self {
        self.seeds = seeds;
        self
    }

    /// The seed of a standby that has nothing, as of now; `None`: there is no source of any. The log is kept from there
    /// on, since no standby says that it may go. Waits for a group.
    ///
    /// # Errors
    /// [`SeedError`].
    pub fn seed(&self) -> Result<Option<Seed>, SeedError> {
        let Some(source) = &self.seeds else {
            return Ok(None);
        };
        let pages = source.pages()?;
        let position = pages.position();
        let last = self.group_before(position).map_err(SeedError::new)?;
        let missing = || SeedError::new(format!("the group before {} is not here", position.group));
        let mut follower = self.follow(last.ok_or_else(missing)?.position_before());
        let read = follower.next_group(position).map_err(SeedError::new)?;
        let (_, bytes) = read.ok_or_else(missing)?;
        Ok(Some(Seed {
            last_group: bytes.into(),
            pages,
        }))
    }

    /// The database is being closed.
    pub(crate) fn close(&self) {
        self.closing.closed.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *self.closing.wakers.lock());
        wakers.into_iter().for_each(wake);
    }

    /// Ready when the database is being closed; else the waker is woken then.
    pub fn poll_closed(&self, waker: &Waker) -> Poll<()> {
        let mut new = Some(waker.clone());
        let mut wakers = self.closing.wakers.lock();
        if self.closing.closed.load(Ordering::SeqCst) {
            drop(wakers);
            return Poll::Ready(());
        }
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.extend(new.take());
        }
        drop(wakers);
        Poll::Pending
    }

    /// The database's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The end of the durable log.
    pub fn durable(&self) -> LogPosition {
        self.commit.durable()
    }

    /// Reads the log from a position on, for [`ShippedLog::next_group`]. It is kept from the last reported need
    /// on.
    pub fn follow(&self, from: LogPosition) -> Follower {
        Follower::new(self.disk.clone(), self.manifest.log_layout(), from)
    }

    /// The next group, if it is there: from memory, perhaps not durable yet; or, if it is older, from disk,
    /// before `durable`.
    ///
    /// # Errors
    /// As [`Follower::next_group`]; [`LogError::NotShipped`] for a spanning group, which is no message.
    pub fn next_group(
        &self,
        follower: &mut Follower,
        durable: LogPosition,
    ) -> Result<Option<ShippedGroup>, LogError> {
        if let Some((header, bytes)) = self.commit.recent().get(follower.position().group) {
            follower.skip(&header);
            return Ok(Some(ShippedGroup {
                bytes,
                was_read_back: false,
            }));
        }
        let read = follower.next_group(durable)?;
        if let Some((header, _)) = &read
            && header.is_spanning()
        {
            return Err(LogError::NotShipped {
                number: header.number,
                bytes: header.bytes_on_disk() as u64,
            });
        }
        Ok(read.map(|(_, bytes)| ShippedGroup {
            bytes: bytes.into(),
            was_read_back: true,
        }))
    }

    /// Ready if the group of this number is in memory; else the waker is woken when one comes.
    pub fn poll_recent(&self, group: u64, waker: &Waker) -> Poll<()> {
        self.commit.recent().poll(group, waker)
    }

    /// The group that ends at a position, if the log here has one.
    pub fn group_before(&self, position: LogPosition) -> Result<Option<GroupHeader>, LogError> {
        if position.group > self.durable().group {
            return Ok(None);
        }
        group_before(&*self.disk, self.manifest.log_layout(), position)
    }

    /// Whether a standby whose durable log ends at `position`, with a group of this
    /// [`GroupHeader::history_checksum`], can go on with this log. `address`: the standby's, for
    /// messages.
    ///
    /// # Errors
    /// [`RemoteError::Ahead`], [`RemoteError::Diverged`], [`RemoteError::TooOld`] or [`RemoteError::Compacted`]; and what
    /// reading the log may give.
    pub fn check_history(
        &self,
        address: &str,
        position: LogPosition,
        last_checksum: u32,
    ) -> Result<Result<(), RemoteError>, LogError> {
        let address = address.to_string();
        if position.group > self.durable().group {
            let standby_group = position.group;
            return Ok(Err(RemoteError::Ahead {
                address,
                standby_group,
            }));
        }
        let compacted = self.manifest.compacted;
        if compacted.is_some_and(|compacted| position.group < compacted.group) {
            let group = position.group;
            return Ok(Err(RemoteError::Compacted { address, group }));
        }
        let layout = self.manifest.log_layout();
        let last_byte = Lsn(position.lsn.0.saturating_sub(1));
        let first = layout.segment_of(last_byte);
        let names = self.disk.list(LOG_DIRECTORY)?;
        if !names
            .iter()
            .any(|name| segment_of_file(name) == Some(first))
        {
            let group = position.group;
            return Ok(Err(RemoteError::TooOld { address, group }));
        }
        let same = position == LogPosition::START
            || self
                .group_before(position)?
                .is_some_and(|header| header.history_checksum() == last_checksum);
        Ok(if same {
            Ok(())
        } else {
            let group = position.group - 1;
            Err(RemoteError::Diverged { address, group })
        })
    }

    /// Whether the group of this number is durable; else the waker is woken when it is.
    ///
    /// # Errors
    /// What poisoned the log: nothing more will be durable.
    pub fn poll_durable(&self, group: u64, waker: &Waker) -> Poll<Result<(), LogError>> {
        self.commit.poll(group, waker)
    }

    /// The checkpoint that is wanted of the standby; the waker is woken when another is.
    pub fn wanted(&self, waker: &Waker) -> Option<LogPosition> {
        self.ledger.wanted_of_standby(waker)
    }

    /// The log up to `sent` was sent: wants a checkpoint if the chosen interval has passed since `since`, and
    /// moves that to where this one begins.
    pub fn want_when_due(&self, since: &mut LogPosition, sent: LogPosition) {
        if self
            .interval
            .is_some_and(|interval| interval.is_over(*since, sent))
        {
            *since = sent;
            self.ledger.want(sent);
        }
    }

    /// The standby is connected and has been heard.
    pub fn connected(&self) {
        self.commit.recent().set_wanted(true);
        self.ledger.standby_is_there();
    }

    /// The standby is away. When the log is full, transactions are refused for this reason.
    pub fn disconnected(&self, reason: &str) {
        self.commit.recent().set_wanted(false);
        self.ledger.standby_is_away(reason.into());
    }

    /// Takes a standby's report, and frees the log that it does not need (I6).
    pub fn report(&self, progress: RemoteProgress) {
        self.ledger.report(progress);
    }
}
