//! A database whose log is in a store, too: its opening, and the thread that carries the log there.

use super::claiming::{Claimed, impossible};
use super::lacking::{check_may_begin_anew, claim_and_open};
use crate::checkpoint::{CheckpointPlace, CheckpointStage};
use crate::disk::Disk;
use crate::engine::opening::Ready;
use crate::engine::{DurableAt, OpenError, RemoteLog, StorageOptions};
use crate::log::published::Stored;
use crate::log::segment::Segments;
use crate::log::writer::{LogWriter, SendsAhead};
use crate::remote_log::copy::{Closing, StoreCopy};
use crate::remote_log::in_store::InStore;
use crate::supervisor::Threads;
use std::sync::Arc;

impl RemoteLog {
    /// Checks that a database can be opened with these options and this store, before anything is done.
    pub(in crate::engine) fn check(
        &self,
        home: &dyn Disk,
        options: &StorageOptions,
    ) -> Result<(), OpenError> {
        if !options.drive().has_threads() {
            return Err(impossible(
                "a log in a store needs a thread that puts it there: open the database in a shape with threads",
            ));
        }
        let group_most = options.limits.group_bytes_most();
        let entry_most = self.store.entry_bytes_max();
        if entry_most < group_most {
            return Err(impossible(format!(
                "{} takes entries of {entry_most} bytes, and a group may have {group_most}: choose smaller groups",
                self.store.place()
            )));
        }
        match options.checkpoint {
            CheckpointPlace::Followers => check_may_begin_anew(home, options),
            CheckpointPlace::Local => Ok(()),
        }
    }

    /// Has the directory and the store be one, claims the log, and recovers the database.
    ///
    /// # Errors
    /// As [`claim_and_open`].
    pub(in crate::engine) fn claim_and_open(
        &self,
        home: &Arc<dyn Disk>,
        options: &StorageOptions,
    ) -> Result<(Claimed, Ready), OpenError> {
        let (claimed, mut ready) = claim_and_open(home, options, self)?;
        if self.durable_at == DurableAt::Local {
            // The first transaction need not wait for the store's thread, so the opening records the claimed place.
            ready.recorded = None;
        }
        Ok((claimed, ready))
    }
}

/// The copy in a store of an open database's log.
#[derive(Debug)]
pub(in crate::engine) struct Remote {
    durable_at: DurableAt,
    /// Until its thread runs.
    copy: Option<StoreCopy>,
    closing: Arc<Closing>,
    in_store: Arc<InStore>,
    stage: Arc<CheckpointStage>,
}

impl Remote {
    pub fn new(
        remote: &RemoteLog,
        claimed: Claimed,
        disk: &Arc<dyn Disk>,
        stage: &Arc<CheckpointStage>,
        segments: &Arc<Segments>,
    ) -> Self {
        let closing = Arc::<Closing>::default();
        let places = (claimed.known, claimed.recorded);
        let (disk, of_copy) = (disk.clone(), stage.clone());
        let writer = claimed.writer;
        let copy = StoreCopy::new(writer, places, disk, of_copy, segments, closing.clone());
        Remote {
            stage: stage.clone(),
            durable_at: remote.durable_at,
            in_store: copy.in_store().clone(),
            copy: Some(copy),
            closing,
        }
    }

    /// The progress of the store with the log.
    pub fn in_store(&self) -> &Arc<InStore> {
        &self.in_store
    }

    /// The part of the published log that the store has.
    pub fn stored(&self) -> Stored {
        match self.durable_at {
            DurableAt::Local => Stored::Before(self.in_store.state().end.group),
            DurableAt::Both | DurableAt::Remote => Stored::All,
        }
    }

    /// Sets the log's writing: nothing is durable before the store has it, or before this disk does.
    pub fn arrange(&self, commit: LogWriter) -> LogWriter {
        match self.durable_at {
            DurableAt::Local => commit,
            DurableAt::Both => commit.with_remote_copy(),
            DurableAt::Remote => commit.with_remote_copy().synced_behind(),
        }
    }

    /// Starts the thread that puts the log into the store, and the one that syncs behind it.
    pub fn start(&mut self, commit: &Arc<LogWriter>, threads: &mut Threads) {
        let Some(mut copy) = self.copy.take() else {
            return;
        };
        let (commit, closing) = (commit.clone(), self.closing.clone());
        let stage = self.stage.clone();
        let durable_at = self.durable_at;
        copy.serve(&commit);
        if durable_at == DurableAt::Remote {
            let commit = commit.clone();
            threads.spawn("log-sync", move || commit.run_behind());
        }
        let ahead = copy.ahead().map(Arc::new);
        if let Some(ahead) = ahead.clone()
            && durable_at != DurableAt::Local
        {
            let commit = commit.clone();
            threads.spawn("store-ahead", move || commit.run_ahead(&*ahead));
        }
        threads.spawn("store", move || {
            let ahead = ahead.as_deref().map(|ahead| ahead as &dyn SendsAhead);
            closing.begin();
            // Behind this thread's first entry, a base of this epoch may be all that the store keeps.
            copy.record_claimed();
            match durable_at {
                DurableAt::Both | DurableAt::Remote => commit.run_remote(&mut copy, ahead),
                DurableAt::Local => {
                    let layout = commit.segments().layout();
                    if let Err(error) = copy.carry(&commit, layout) {
                        commit.poison(error);
                    }
                }
            }
            stage.store_is_lost(commit.check());
            // Log that is not stable here is not known to be here.
            if commit.wait_until_stable(copy.known().log).is_ok() {
                copy.record_all();
            }
        });
    }

    /// The database is about to be closed.
    pub fn end(&self) {
        self.closing.end();
    }

    /// Nothing more becomes durable.
    pub fn close(&self) {
        self.closing.close();
    }
}
