//! The database that a verb works on: its files, for reading, or the opened database.
//!
//! A path without a database is an error here and never becomes one. Sizes that are fixed at creation are read from its
//! manifest, so any database opens.
//!
//! **Read-only verbs** open the files for reading only, so that they work on a read-only file system and on files of
//! another user. If the database is not open they take its lock, so that it does not change. If another program has it
//! open, they read the files all the same, and report that ([`Files`]). They then see a state that the database had
//! during the reading: whole transactions, in order, up to about the moment at which they reached the log's end
//! ([`RecoveryOptions::beside_writer`]). Files may have changed during the reading, so damage is reported only if it is
//! found twice ([`Files::read`]).

use crate::store::{Held, StoreOption};
use anyhow::Context;
use sardonyx::Options;
use sardonyx::disk::GroupLimits;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{self, UsageError};
use sardonyx_command::help::LATE;
use sardonyx_command::output::Output;
use sardonyx_results::units::parse_time;
use sardonyx_storage::checkpoint::BACKUP_DIRECTORY;
use sardonyx_storage::disk::{Disk, DiskLock, RealDisk};
use sardonyx_storage::engine::{OpenError, take_lock};
use sardonyx_storage::log::segment::LOG_DIRECTORY;
use sardonyx_storage::manifest::{MANIFEST_FILE, Manifest};
use sardonyx_storage::places::find_for_reading;
use sardonyx_storage::recovery::RecoveryOptions;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The most readings while a writer has the files open, before that is an error.
const READINGS_MAX: usize = 8;

/// The path of a database, as an argument.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The database's directory, such as bank.sdx
    pub path: PathBuf,
    /// Wait up to this time, such as 30s, for a program that has the database open [default: read beside it, or fail]
    #[arg(long, value_name = "TIME", value_parser = parse_time, display_order = LATE)]
    wait: Option<Duration>,
}

/// A database's files, for reading.
#[derive(Debug)]
pub struct Files {
    /// The database's own directory and, except for [`Target::own_files`], those that have parts of it, open for
    /// reading.
    pub disk: Arc<dyn Disk>,
    /// True if another program has the database open and may write to it.
    beside_writer: bool,
    /// `None` if another program holds it, or there is no file to lock.
    _lock: Option<Box<dyn DiskLock>>,
}

impl Target {
    /// The database at this path, without waiting for a program that has it open.
    pub fn at(path: PathBuf) -> Target {
        Target { path, wait: None }
    }

    /// The time to wait for it.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// The disk of an existing database, for reading and without its lock.
    pub fn disk(&self) -> anyhow::Result<Arc<dyn Disk>> {
        self.check_there()?;
        Ok(Arc::new(RealDisk::open_for_reading(&self.path)?))
    }

    /// All files of the database, locked so that they do not change; or, if another program has them open, without the
    /// lock, which `output` reports.
    pub fn files(&self, output: &mut Output) -> anyhow::Result<Files> {
        let mut files = self.own_files(output)?;
        // The verb reports a manifest that cannot be read.
        if let Ok(manifest) = Manifest::read(&*files.disk) {
            files.disk = find_for_reading(&files.disk, &manifest)?;
        }
        Ok(files)
    }

    /// The files in the database's own directory, locked likewise.
    pub fn own_files(&self, output: &mut Output) -> anyhow::Result<Files> {
        let disk = self.disk()?;
        let (lock, beside_writer) = match take_lock(&disk, self.wait.unwrap_or_default()) {
            Ok(lock) => (Some(lock), false),
            Err(OpenError::Locked { holders, .. }) if self.wait.is_none() => {
                output.note(&beside(&disk, &holders));
                (None, true)
            }
            // Every opening creates the file, so the database is not open.
            Err(OpenError::Disk(error)) if error.source.kind() == ErrorKind::NotFound => {
                (None, false)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Files {
            disk,
            beside_writer,
            _lock: lock,
        })
    }

    /// Opens the database, whose parts were moved to these directories.
    pub fn database(&self, moved: &Directories, store: &StoreOption) -> anyhow::Result<Held> {
        let options = self.options()?.directories(moved.places());
        store.open_unserved(options, &self.path, self.wait.unwrap_or_default())
    }

    /// The options to open the existing database.
    pub fn options(&self) -> anyhow::Result<Options> {
        let manifest = Manifest::read(&*self.disk()?)?;
        // The existing number of segments is enough; no transactions will run.
        let options = Options::new()
            .create(false)
            .wait_for_lock(self.wait.unwrap_or_default())
            .group_limits(GroupLimits::for_segments(manifest.segment_bytes))
            .log_bytes_max(manifest.segment_bytes.saturating_mul(8).max(2 << 30))
            .log_bytes_prepared(0);
        Ok(options)
    }

    /// The options to open it, or to create one.
    #[cfg(feature = "sql")]
    pub fn database_or_new(
        &self,
        moved: &Directories,
        store: &StoreOption,
    ) -> anyhow::Result<Held> {
        // The opening reports directories with other files.
        if self.path.join(MANIFEST_FILE).exists() {
            return self.database(moved, store);
        }
        let options = Options::new().directories(moved.places());
        store.open_unserved(options, &self.path, self.wait.unwrap_or_default())
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
        } else if self.path.join("cluster.json").exists() {
            Err(absent(
                "is the directory of nodes (`cluster status`), and their database is bank.sdx in it",
            ))
        } else {
            Err(absent("has neither a manifest nor a log nor a backup"))
        }
    }
}

/// The message about files that another program has open.
fn beside(disk: &Arc<dyn Disk>, holders: &[u32]) -> String {
    let names: Vec<String> = holders.iter().map(u32::to_string).collect();
    let who = match names.len() {
        0 => "another process".into(),
        1 => format!("process {}", names[0]),
        _ => format!("the processes {}", names.join(", ")),
    };
    format!(
        "{} is open in {who}: it is read meanwhile, as whole transactions up to about now",
        disk.display_name("")
    )
}

impl Files {
    /// Returns true if another program has the database open and may write to it.
    pub fn beside_writer(&self) -> bool {
        self.beside_writer
    }

    /// The options of a read-only recovery.
    pub fn dry_run(&self) -> RecoveryOptions {
        RecoveryOptions {
            dry_run: true,
            beside_writer: self.beside_writer,
            ..RecoveryOptions::default()
        }
    }

    /// The result of `read`. While a writer has the files open, it is called again after an error or `damage`, since
    /// the files may have changed under it. A result that is found twice is returned.
    ///
    /// # Errors
    /// The errors of `read`; that each reading finds other damage.
    pub fn read<T>(
        &self,
        mut read: impl FnMut() -> anyhow::Result<T>,
        damage: impl Fn(&T) -> Option<String>,
    ) -> anyhow::Result<T> {
        let mut before = None;
        for _ in 1..READINGS_MAX {
            let found = read();
            let said = match &found {
                Ok(found) => damage(found),
                Err(error) => Some(exit::message(error)),
            };
            if !self.beside_writer || said.is_none() || said == before {
                return found;
            }
            // A database that its program removed meanwhile, such as an experiment's, is not damaged.
            if !self.disk.list("")?.iter().any(|name| name == MANIFEST_FILE) {
                let path = self.disk.display_name("").into();
                let what = "was removed while it was read";
                return Err(UsageError::Absent { path, what }.into());
            }
            before = said;
        }
        self.told(read())
    }

    /// The result of one reading, with the hint that an error may come from the writer.
    pub fn told<T>(&self, found: anyhow::Result<T>) -> anyhow::Result<T> {
        match self.beside_writer {
            true => found.context(Moving),
            false => found,
        }
    }
}

/// An error that may come from a writer's changes.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database is being written to, which alone may cause this error; try again, or close it \
     and wait for it (--wait)"
)]
pub struct Moving;
