//! The standby's storage, as the network's side sees it: a [`StandbyEngine`], and whether a primary's
//! database is the one here.

use crate::error::StandbyError;
use crate::options::StandbyOptions;
use crate::protocol::{Hello, Progress};
use crate::refusal::Refusal;
use bytes::Bytes;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::{
    LogEnd, OpenError, StandbyEngine, clear_unfinished_seed, create_database, seed_database,
};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::log::segment::FIRST_BYTES;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::store::PageStore;
use std::sync::Arc;

/// An open standby's storage.
#[derive(Debug)]
pub(crate) struct Store(StandbyEngine);

impl Store {
    /// Makes a database's directory for this primary, and opens it.
    pub fn create(
        disk: &Arc<dyn Disk>,
        hello: &Hello,
        options: &StandbyOptions,
    ) -> Result<Store, StandbyError> {
        let manifest = hello.manifest().ok_or(Refusal::Manifest)?;
        check_limits(&manifest, options)?;
        clear_unfinished_seed(disk)?;
        create_database(disk, &manifest, &options.directories, FIRST_BYTES)?;
        Self::open(disk, options)
    }

    /// Makes a database's directory for this primary, of all pages as they are after this group, and opens it.
    pub fn of_seed(
        disk: &Arc<dyn Disk>,
        hello: &Hello,
        options: &StandbyOptions,
        pages: &PageStore,
        last_group: &[u8],
    ) -> Result<Store, StandbyError> {
        let manifest = hello.manifest().ok_or(Refusal::Manifest)?;
        check_limits(&manifest, options)?;
        seed_database(disk, &manifest, &options.storage(), pages, last_group)?;
        Self::open(disk, options)
    }

    /// Opens a standby's directory: recovers it like a database. The caller holds the lock.
    pub fn open(disk: &Arc<dyn Disk>, options: &StandbyOptions) -> Result<Store, StandbyError> {
        check_limits(&Manifest::read(&**disk)?, options)?;
        Ok(Store(StandbyEngine::open(disk, &options.storage())?))
    }

    /// The database.
    pub fn manifest(&self) -> &Manifest {
        self.0.manifest()
    }

    /// Whether this primary's database is the one here.
    pub fn check(&self, hello: &Hello) -> Result<(), Refusal> {
        let (standby, primary) = (self.manifest().identity, hello.identity);
        if standby != primary {
            return Err(Refusal::Identity { standby, primary });
        }
        let (standby, primary) = (self.manifest().segment_bytes, hello.segment_bytes);
        if standby != primary {
            return Err(Refusal::SegmentBytes { standby, primary });
        }
        match self.failure() {
            Some(error) => Err(Refusal::Failed {
                reason: error.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Why the standby cannot go on, if it cannot.
    pub fn failure(&self) -> Option<StandbyError> {
        if let Some(error) = self.0.checkpoint().failure() {
            return Some(error.into());
        }
        self.0.check().err().map(StandbyError::from)
    }

    /// Begins a connection's work: see [`StandbyEngine::begin_session`].
    pub fn begin_session(&self) -> (u64, LogEnd) {
        self.0.begin_session()
    }

    /// Where the durable log ends.
    pub fn log_end(&self) -> LogEnd {
        self.0.end()
    }

    /// Appends groups, and returns when they are on stable storage: see [`StandbyEngine::append`].
    pub fn append(&self, session: u64, groups: &[Bytes]) -> Result<LogPosition, StandbyError> {
        Ok(self.0.append(session, groups)?)
    }

    /// Asks for a checkpoint that has everything before a place.
    pub fn want_checkpoint(&self, position: LogPosition) {
        self.0.checkpoint().want(position);
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        // Looked at before the log's end: what is applied is never beyond it.
        let of_stage = self.0.progress();
        let durable = self.log_end().position;
        Progress {
            durable: durable.into(),
            applied: of_stage.needed_from.into(),
            complete_from: of_stage.complete_from.into(),
            checkpoints: of_stage.checkpoints,
            blocks: of_stage.blocks,
            bytes: of_stage.bytes,
        }
    }

    /// Up to where the log is applied to DB'.
    pub fn applied(&self) -> LogPosition {
        self.0.checkpoint().applied()
    }

    /// A part of a stripe's DB'; empty at its end.
    pub fn pages(&self, stripe: u32, offset: u64, bytes_max: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(bytes_max);
        let stage = self.0.checkpoint();
        stage.copy_shadow(stripe as usize, offset, bytes_max, &mut bytes);
        bytes.into()
    }

    /// Stops the threads, and records the log's end.
    pub fn close(&self) {
        self.0.close();
    }
}

fn check_limits(manifest: &Manifest, options: &StandbyOptions) -> Result<(), StandbyError> {
    if options.log_bytes_max / 4 < manifest.segment_bytes {
        return Err(OpenError::Option {
            option: "log_bytes_max",
            value: options.log_bytes_max,
            requirement: "at least four segments of the primary's log",
        }
        .into());
    }
    Ok(())
}
