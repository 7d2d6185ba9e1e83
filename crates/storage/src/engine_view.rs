//! What can be asked of an engine by those who share it: its log, its checkpoints, its disk. It outlives
//! the engine, and tells of it as it ended.

use crate::checkpoint::CheckpointStage;
use crate::disk::Disk;
use crate::engine::Engine;
use crate::log::writer::LogWriter;
use crate::manifest::Manifest;
use sardonyx_base::process::Process;
use std::sync::Arc;

/// A view of an [`Engine`], for tools and statistics.
#[derive(Clone, Debug)]
pub struct EngineView {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    commit: Arc<LogWriter>,
    checkpoint: Arc<CheckpointStage>,
}

impl EngineView {
    /// A view of this engine.
    pub fn of(engine: &Engine) -> EngineView {
        EngineView {
            disk: engine.disk().clone(),
            manifest: engine.manifest().clone(),
            commit: engine.commit().clone(),
            checkpoint: engine.checkpoint().clone(),
        }
    }

    /// Group commit.
    pub fn commit(&self) -> &Arc<LogWriter> {
        &self.commit
    }

    /// The checkpointing stage.
    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.checkpoint
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The manifest, as of the opening.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The process that opened the database.
    pub fn process(&self) -> Process {
        self.commit.process()
    }
}
