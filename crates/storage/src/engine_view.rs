//! The view of an engine for its users: its log, its checkpoints, its disk. It outlives the engine, and then shows its
//! last state.

use crate::checkpoint::CheckpointStage;
use crate::disk::Disk;
use crate::engine::Engine;
use crate::log::writer::LogWriter;
use crate::manifest::Manifest;
use crate::remote_log::in_store::InStore;
use sardonyx_base::process::Process;
use std::sync::Arc;

/// A view of an [`Engine`], for tools and statistics.
#[derive(Clone, Debug)]
pub struct EngineView {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    log_bytes_max: u64,
    transaction_bytes_max: usize,
    commit: Arc<LogWriter>,
    checkpoint: Arc<CheckpointStage>,
    in_store: Option<Arc<InStore>>,
}

impl EngineView {
    /// Shares the engine's parts; the engine may end before the view.
    pub fn of(engine: &Engine) -> EngineView {
        EngineView {
            disk: engine.disk().clone(),
            manifest: engine.manifest().clone(),
            log_bytes_max: engine.log_bytes_max(),
            transaction_bytes_max: engine.transaction_bytes_max(),
            commit: engine.commit().clone(),
            checkpoint: engine.checkpoint().clone(),
            in_store: engine.in_store().cloned(),
        }
    }

    /// Group commit.
    pub fn commit(&self) -> &Arc<LogWriter> {
        &self.commit
    }

    /// The most bytes of records of one transaction.
    pub fn transaction_bytes_max(&self) -> usize {
        self.transaction_bytes_max
    }

    /// Its counts stay after the engine's end.
    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.checkpoint
    }

    /// The progress of the store with the log, if it is in one.
    pub fn in_store(&self) -> Option<&Arc<InStore>> {
        self.in_store.as_ref()
    }

    /// Gives access to all files of the database.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The manifest, as of the opening.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The most bytes of log on disk.
    pub fn log_bytes_max(&self) -> u64 {
        self.log_bytes_max
    }

    /// The process that opened the database.
    pub fn process(&self) -> Process {
        self.commit.process()
    }
}
