//! The database that a verb works on: its files under the lock, or the database opened.
//!
//! A path without a database is an error here and never becomes one. What is fixed when a database
//! is made is read from its manifest, so any database opens whatever sizes it was made with.

use crate::exit::UsageError;
use sardonyx::{GroupLimits, Options, Tables};
use sardonyx_storage::checkpoint::BACKUP_DIRECTORY;
use sardonyx_storage::disk::{Disk, DiskLock, RealDisk};
use sardonyx_storage::engine::{LOCK_FILE, OpenError};
use sardonyx_storage::log::segment::LOG_DIRECTORY;
use sardonyx_storage::manifest::{MANIFEST_FILE, Manifest};
use sardonyx_storage::recovery::RecoveryOptions;
use std::path::PathBuf;
use std::sync::Arc;

/// The path of a database, as an argument.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The database's directory, such as bank.sdx
    pub path: PathBuf,
}

/// A database's files, held by this process, not recovered.
#[derive(Debug)]
pub struct Files {
    /// The directory.
    pub disk: Arc<dyn Disk>,
    _lock: Box<dyn DiskLock>,
}

impl Target {
    /// The disk of a database that is there, without its lock.
    pub fn disk(&self) -> anyhow::Result<Arc<dyn Disk>> {
        self.check_there()?;
        Ok(Arc::new(RealDisk::open(&self.path)?))
    }

    /// Takes the lock, so that nobody changes the files meanwhile.
    pub fn files(&self) -> anyhow::Result<Files> {
        let disk = self.disk()?;
        let lock = disk.lock(LOCK_FILE)?;
        let file = || disk.display_name(LOCK_FILE);
        let lock = lock.ok_or_else(|| OpenError::Locked { file: file() })?;
        Ok(Files { disk, _lock: lock })
    }

    /// Opens the database.
    pub fn database(&self) -> anyhow::Result<Tables> {
        let manifest = Manifest::read(&*self.disk()?)?;
        // As many segments as there are will do; nothing is going to be run.
        let options = Options::new()
            .create(false)
            .group_limits(GroupLimits::for_segments(manifest.segment_bytes))
            .log_bytes_max(manifest.segment_bytes.saturating_mul(8).max(2 << 30))
            .log_bytes_prepared(0);
        Ok(options.open_tables(&self.path)?)
    }

    fn check_there(&self) -> Result<(), UsageError> {
        let absent = |what| UsageError::Absent {
            path: self.path.clone(),
            what,
        };
        if !self.path.exists() {
            return Err(absent("is not there"));
        }
        if !self.path.is_dir() {
            return Err(absent("is not a directory"));
        }
        let is_there = |name: &&str| self.path.join(name).exists();
        if [MANIFEST_FILE, LOG_DIRECTORY, BACKUP_DIRECTORY]
            .iter()
            .any(is_there)
        {
            Ok(())
        } else {
            Err(absent("has neither a manifest nor a log nor a backup"))
        }
    }
}

/// A recovery that changes nothing.
pub fn dry_run() -> RecoveryOptions {
    RecoveryOptions {
        dry_run: true,
        ..RecoveryOptions::default()
    }
}
