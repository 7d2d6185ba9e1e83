//! The engine: everything below the execution stage, opened and put together.
//!
//! There is one opening (`opening`): the lock, the manifest, recovery, the incarnation, the records of it. The same
//! parts work behind every log (`background`): the supply of segments, and the checkpoints. The appenders to the log
//! differ:
//! - the process that opened the database: [`Engine::open`], with group commit ([`LogWriter`]), and with
//!   the right to append ([`Engine::pen`]);
//! - all processes that have it open: [`open_first`] and [`join`]. The first waiting one writes for all, with its
//!   [`crate::log::LogLeader`]; an [`Election`] chooses the process that drives the work ([`Driver`]);
//! - another host, whose groups are read from a store: [`Replica`].
//!
//! Others read the log of one of them, and do not take part: each is a [`Guest`].
//!
//! With a log in a store, too ([`RemoteLog`]), the directory and the store are made one first (`claiming`).

mod background;
mod compacted;
mod compaction;
mod driver;
mod election;
mod error;
mod files;
#[cfg(feature = "hosts")]
mod hosts;
mod kept;
mod leftovers;
mod marks;
mod opening;
mod options;
mod remote_log;
mod sharing;
#[cfg(not(feature = "hosts"))]
mod without_hosts;

pub use compaction::{CompactionError, Ended};
pub use driver::{Driver, DriverError};
pub use election::{Election, SharedMemory};
pub use error::{OpenError, locked};
pub use files::{ELECTION_FILE, FORK_NEW_FILE, FORK_PREFIX, LOCK_FILE, OPENING_FILE, SEEDING_FILE};
#[cfg(feature = "hosts")]
pub use hosts::*;
pub use kept::KeptCopy;
pub use opening::{create_database, exists, new_manifest, open_patiently, take_lock};
pub use options::{Permit, StorageOptions};
#[cfg(feature = "hosts")]
pub use remote_log::DurableAt;
pub use remote_log::RemoteLog;
pub use sharing::{FirstLock, FirstOpening, OpeningLock, SharedLock};
pub use sharing::{join, lock_opening, open_first, record_end};

use crate::checkpoint::{CheckpointPlace, CheckpointStage};
use crate::disk::{Disk, DiskLock};
use crate::log::published::{PublishedEnd, Stored};
use crate::log::seal::Sequencer;
use crate::log::writer::LogWriter;
use crate::manifest::Manifest;
use crate::pen::Pen;
use crate::places::refuse_others;
use crate::recovery::RecoveryReport;
use crate::remote_log::in_store::InStore;
use crate::store::PageStore;
use crate::stored::ClosedAt;
use crate::supervisor::{Supervisor, Threads};
use background::Background;
#[cfg(feature = "hosts")]
use hosts::Remote;
use opening::{Ready, Writers};
use sardonyx_base::events;
use sardonyx_base::process::Process;
use std::sync::Arc;
use std::time::Instant;
#[cfg(not(feature = "hosts"))]
use without_hosts::Remote;

/// An opened storage, for the execution stage.
#[derive(Debug)]
pub struct Opened {
    /// The rest of the pipeline.
    pub engine: Engine,
    /// The pages, recovered: DB.
    pub store: PageStore,
    /// Times and counts of the recovery that preceded the opening.
    pub report: RecoveryReport,
    /// The clean close that left this very state, if one did: state that it stored belongs to the pages.
    pub closed: Option<ClosedAt>,
}

/// Logging and checkpointing of an open database, in the process that opened it.
#[derive(Debug)]
pub struct Engine {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    commit: Arc<LogWriter>,
    background: Background,
    options: StorageOptions,
    threads: Threads,
    closed: bool,
    remote: Option<Remote>,
    /// Taken only to be given back when all threads have ended.
    lock: Option<Box<dyn DiskLock>>,
}

impl Engine {
    /// Opens the database on a disk, or makes it.
    ///
    /// # Errors
    /// [`OpenError::NoSnapshots`] if the checkpoints are to be taken from snapshots.
    #[inline]
    pub fn open(disk: Arc<dyn Disk>, options: StorageOptions) -> Result<Opened, OpenError> {
        options.refuse_snapshots("of pages that change in other ways")?;
        Self::open_to_freeze(disk, options)
    }

    /// The same for a caller that can freeze its pages: before it starts the engine, it calls
    /// [`CheckpointStage::set_pages`], and it appends by
    /// [`Appending::admit_lending`](crate::pen::Appending::admit_lending).
    pub fn open_to_freeze(
        disk: Arc<dyn Disk>,
        mut options: StorageOptions,
    ) -> Result<Opened, OpenError> {
        match &options.remote {
            Some(remote) => remote.check(&*disk, &options)?,
            None if options.checkpoint == CheckpointPlace::Followers => {
                return Err(OpenError::FollowersWithoutStore);
            }
            None => {}
        }
        if options.checkpoint == CheckpointPlace::Followers {
            options.refuse_snapshots("of a database whose checkpoints are left to followers")?;
        }
        // Before the lock's file is made, too.
        refuse_others(&*disk)?;
        options.kept = options.kept.map(|kept| Arc::new(kept.of_one_opening()));
        let kept_lock = options
            .kept
            .as_ref()
            .and_then(|kept| kept.take_lock(&*disk));
        let lock = match kept_lock.transpose()? {
            Some(lock) => lock,
            None => take_lock(&disk, options.wait_for_lock)?,
        };
        let (mut claimed, ready) = match &options.remote {
            Some(remote) => {
                let (claimed, ready) = remote.claim_and_open(&disk, &options)?;
                (Some((remote, claimed)), ready)
            }
            None => (None, opening::open(&disk, &options, Writers::Alone)?),
        };
        let Ready {
            manifest,
            store,
            checkpointers,
            end,
            needed_from,
            report,
            disk,
            places,
            closed,
            recorded,
            ..
        } = ready;
        options.kept = None;
        if let Some((_, claimed)) = &mut claimed {
            // Recovery has made the compared log stable.
            claimed.record(&*disk, recorded)?;
        }
        let lock = places.with(lock);
        let layout = manifest.log_layout();
        options.limits = options.limits.within(layout.segment_bytes);
        let background =
            Background::assemble(&disk, &manifest, &options, checkpointers, needed_from)?;
        background
            .supply
            .prepare_for_opening(end, options.segments_prepared(layout))?;
        let Background {
            stage, segments, ..
        } = &background;
        let remote =
            claimed.map(|(remote, claimed)| Remote::new(remote, claimed, &disk, stage, segments));
        let commit = LogWriter::new(
            background.segments.clone(),
            background.supply.clone(),
            Sequencer::new(layout, manifest.incarnation, end),
            options.policy,
            options.limits,
            background.feeds.clone(),
            options.drive(),
        );
        let stored = remote.as_ref().map_or(Stored::NoStore, Remote::stored);
        let published = PublishedEnd::create(&disk, &manifest, end, stored);
        let commit = commit.publishing(published);
        let commit = Arc::new(match &remote {
            Some(remote) => remote.arrange(commit),
            None => commit,
        });
        let (told, waiters) = (commit.clone(), background.stage.clone());
        let supervisor = Supervisor::numbered(commit.engine(), move |error| {
            waiters.give_up(&error);
            told.poison(error);
        });
        let engine = Engine {
            disk,
            manifest,
            commit,
            background,
            options,
            threads: Threads::new(supervisor),
            closed: false,
            remote,
            lock: Some(lock),
        };
        Ok(Opened {
            engine,
            store,
            report,
            closed,
        })
    }

    /// Starts the logging, preparing and checkpointing threads, and the one that puts the log into its store; none, if the
    /// callers drive.
    pub fn start(&mut self) {
        if !self.commit.drive().has_threads() {
            return;
        }
        for n in 0..self.options.limits.depth {
            let commit = self.commit.clone();
            self.threads
                .spawn(format!("logging-{n}"), move || commit.run());
        }
        if let Some(remote) = &mut self.remote {
            remote.start(&self.commit, &mut self.threads);
        }
        self.background.start(&mut self.threads);
        if !self.options.closing_checkpoint.is_zero() {
            self.checkpoint()
                .settle_after_opening(self.commit.durable());
        }
    }

    /// The supervisor that starts the database's threads, for those of the stages above, too: if one of them dies, the
    /// log is poisoned.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        self.threads.supervisor()
    }

    /// Group commit.
    pub fn commit(&self) -> &Arc<LogWriter> {
        &self.commit
    }

    /// The most bytes of records of one transaction, if it may have a group for itself.
    pub fn transaction_bytes_max(&self) -> usize {
        let layout = self.manifest.log_layout();
        self.options.transaction_bytes_max(layout)
    }

    /// The right to append to the log, for an appender of this state.
    pub fn pen<A>(&self, appender: A) -> Pen<A> {
        Pen::new(self.commit.clone(), self.checkpoint().clone(), appender)
    }

    /// Writes checkpoints, in the background or when it is asked.
    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.background.stage
    }

    /// The progress of the store with the log, if it is in one.
    pub fn in_store(&self) -> Option<&Arc<InStore>> {
        self.remote.as_ref().map(Remote::in_store)
    }

    /// Gives access to all files of the database.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The most bytes of log on disk.
    pub fn log_bytes_max(&self) -> u64 {
        self.options.log_bytes_max
    }

    /// Layout and identity of the database's files.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The process that opened the database.
    pub fn process(&self) -> Process {
        self.commit.process()
    }

    /// In a forked child: forgets the threads, which are not there, and all that they share with this,
    /// whose locks may be taken for ever. It is memory only, and goes with the child.
    fn forget(&mut self) {
        self.threads.forget();
        std::mem::forget((self.commit.clone(), self.background.clone()));
    }

    /// The database is about to be closed: a store that gives no answer is waited for no longer than its patience
    /// ([`RemoteLog::patience`]).
    pub fn begin_to_close(&self) {
        if let Some(remote) = &self.remote {
            remote.end();
        }
    }

    /// Ends the log in order. It leaves little to redo ([`CheckpointStage::settle`]), and records the durable log's end
    /// in the manifest, so that the next opening notices lost log before it. If that fails nothing is lost but this:
    /// the end that was recorded at the opening stays.
    ///
    /// Returns the recorded state, for which the caller may [store](crate::stored) its own, in the rest of the time
    /// that a close may take.
    pub fn record_end(&mut self) -> Option<ClosedAt> {
        let end = self.commit.durable();
        if let Err(error) = self.commit.wait_until_stable(end) {
            events::warn!(%error, "the log's end was not recorded");
            return None;
        }
        let within = self.options.closing_checkpoint;
        let until = Instant::now().checked_add(within);
        self.checkpoint().settle(end, within);
        match opening::record_end(&*self.disk, &self.manifest, end) {
            Ok(manifest) => self.manifest = manifest,
            Err(error) => {
                events::warn!(%error, "the log's end was not recorded");
                return None;
            }
        }
        // If followers make the checkpoints, a close makes neither a checkpoint nor this.
        let has_time = !within.is_zero() && self.options.checkpoint == CheckpointPlace::Local;
        has_time.then(|| ClosedAt::of(&self.manifest).until(until))
    }

    /// Stops the threads; earlier work that was not made durable stays so. On one of them it does not wait for their
    /// end, but has another thread do that, which then releases the database's lock. In a forked child it does
    /// nothing.
    pub fn stop(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if !self.process().is_current() {
            return self.forget();
        }
        self.commit.close();
        self.background.close();
        if let Some(remote) = &self.remote {
            remote.close();
        }
        if self.threads.supervisor().is_own_thread() {
            let lock = self.lock.take();
            self.threads.end(lock);
        } else {
            self.threads.end(());
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}
