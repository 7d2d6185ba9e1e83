//! The engine of a program that was built without the feature `hosts`: no database has its log in a store. The types of
//! `remote` have no values here, so the opening is spelled once. A directory whose log is in a store is refused, as by
//! every program that does not name the store.

use super::opening::Ready;
use super::{OpenError, RemoteLog, StorageOptions};
use crate::checkpoint::CheckpointStage;
use crate::disk::Disk;
use crate::log::published::Stored;
use crate::log::segment::Segments;
use crate::log::writer::LogWriter;
use crate::remote_log::in_store::InStore;
use crate::remote_log::known::Known;
use crate::supervisor::Threads;
use std::sync::Arc;

impl RemoteLog {
    pub(super) fn check(&self, _: &dyn Disk, _: &StorageOptions) -> Result<(), OpenError> {
        match *self {}
    }

    pub(super) fn claim_and_open(
        &self,
        _: &Arc<dyn Disk>,
        _: &StorageOptions,
    ) -> Result<(Claimed, Ready), OpenError> {
        match *self {}
    }
}

/// A claimed log in a store: none.
pub(super) enum Claimed {}

impl Claimed {
    pub fn record(&mut self, _: &dyn Disk, _: Option<Known>) -> Result<(), OpenError> {
        match *self {}
    }
}

/// The copy of the log in a store: none.
#[derive(Debug)]
pub(super) enum Remote {}

impl Remote {
    pub fn new(
        remote: &RemoteLog,
        _: Claimed,
        _: &Arc<dyn Disk>,
        _: &Arc<CheckpointStage>,
        _: &Arc<Segments>,
    ) -> Self {
        match *remote {}
    }

    pub fn in_store(&self) -> &Arc<InStore> {
        match *self {}
    }

    pub fn stored(&self) -> Stored {
        match *self {}
    }

    pub fn arrange(&self, _: LogWriter) -> LogWriter {
        match *self {}
    }

    pub fn start(&mut self, _: &Arc<LogWriter>, _: &mut Threads) {
        match *self {}
    }

    pub fn end(&self) {
        match *self {}
    }

    pub fn close(&self) {
        match *self {}
    }
}
