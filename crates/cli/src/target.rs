//! The database that a verb works on: its files to be read, or the database opened.
//!
//! A path without a database is an error here and never becomes one. What is fixed when a database
//! is made is read from its manifest, so any database opens whatever sizes it was made with.
//!
//! **Verbs that change nothing** open the files for reading only, so that they work on a read-only file
//! system and on files of another user. If nobody has the database open they take its lock, so that it
//! stays as it is; if somebody has, they read beside it, and say so ([`Files`]). What they find then is a
//! state that the database was in while they read: whole transactions, in order, up to about the moment at
//! which they came to the log's end ([`RecoveryOptions::beside_writer`]). Something may have been changed
//! under them, so damage is believed only if it is found twice ([`Files::read`]).

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

/// How often files are read beside a writer before that is an error.
const READINGS_MAX: usize = 8;

/// The path of a database, as an argument.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The database's directory, such as bank.sdx
    pub path: PathBuf,
    /// Wait so long, such as 30s, if another program has the database open [default: read beside it, or end]
    #[arg(long, value_name = "TIME", value_parser = parse_time, display_order = LATE)]
    wait: Option<Duration>,
}

/// A database's files, to be read.
#[derive(Debug)]
pub struct Files {
    /// The database's own directory and, but for [`Target::own_files`], those that have parts of it, open
    /// for reading.
    pub disk: Arc<dyn Disk>,
    /// Whether somebody has the database open, who may write to it.
    beside_writer: bool,
    /// `None` where it is held by others, or there is no file to lock.
    _lock: Option<Box<dyn DiskLock>>,
}

impl Target {
    /// The database at this path, without waiting for a program that has it open.
    pub fn at(path: PathBuf) -> Target {
        Target { path, wait: None }
    }

    /// How long it is waited for.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// The disk of a database that is there, for reading and without its lock.
    pub fn disk(&self) -> anyhow::Result<Arc<dyn Disk>> {
        self.check_there()?;
        Ok(Arc::new(RealDisk::open_for_reading(&self.path)?))
    }

    /// The files, wherever they are, held so that nobody changes them meanwhile; or beside whoever has them
    /// open, which is said through `output`.
    pub fn files(&self, output: &mut Output) -> anyhow::Result<Files> {
        let mut files = self.own_files(output)?;
        // Of a manifest that cannot be read the verb tells.
        if let Ok(manifest) = Manifest::read(&*files.disk) {
            files.disk = find_for_reading(&files.disk, &manifest)?;
        }
        Ok(files)
    }

    /// The files in the database's own directory, held likewise.
    pub fn own_files(&self, output: &mut Output) -> anyhow::Result<Files> {
        let disk = self.disk()?;
        let (lock, beside_writer) = match take_lock(&disk, self.wait.unwrap_or_default()) {
            Ok(lock) => (Some(lock), false),
            Err(OpenError::Locked { holders, .. }) if self.wait.is_none() => {
                output.note(&beside(&disk, &holders));
                (None, true)
            }
            // Whoever opens a database makes the file, so nobody has this one open.
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

    /// How the database, which is there, is opened.
    pub fn options(&self) -> anyhow::Result<Options> {
        let manifest = Manifest::read(&*self.disk()?)?;
        // As many segments as there are will do; nothing is going to be run.
        let options = Options::new()
            .create(false)
            .wait_for_lock(self.wait.unwrap_or_default())
            .group_limits(GroupLimits::for_segments(manifest.segment_bytes))
            .log_bytes_max(manifest.segment_bytes.saturating_mul(8).max(2 << 30))
            .log_bytes_prepared(0);
        Ok(options)
    }

    /// The same, of a new one if there is none.
    #[cfg(feature = "sql")]
    pub fn database_or_new(
        &self,
        moved: &Directories,
        store: &StoreOption,
    ) -> anyhow::Result<Held> {
        // Where other files are, the opening says so.
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

/// What is said of files that somebody has open.
fn beside(disk: &Arc<dyn Disk>, holders: &[u32]) -> String {
    let names: Vec<String> = holders.iter().map(u32::to_string).collect();
    let who = match names.len() {
        0 => "another process".into(),
        1 => format!("process {}", names[0]),
        _ => format!("the processes {}", names.join(", ")),
    };
    format!(
        "{} is open in {who}: this is read beside it, and may be out of date when you see it",
        disk.display_name("")
    )
}

impl Files {
    /// Whether somebody has the database open, who may write to it.
    pub fn beside_writer(&self) -> bool {
        self.beside_writer
    }

    /// A recovery that changes nothing.
    pub fn dry_run(&self) -> RecoveryOptions {
        RecoveryOptions {
            dry_run: true,
            beside_writer: self.beside_writer,
            ..RecoveryOptions::default()
        }
    }

    /// What `read` finds. Beside a writer it is called again if it ends in an error or finds `damage`, since
    /// what it read may have been changed under it; what is found twice is believed.
    ///
    /// # Errors
    /// Those of `read`; and if it finds other damage each time.
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
            // Removed by its program, such as an experiment's at the end, it is no damaged one.
            if !self.disk.list("")?.iter().any(|name| name == MANIFEST_FILE) {
                let path = self.disk.display_name("").into();
                let what = "was removed while it was read";
                return Err(UsageError::Absent { path, what }.into());
            }
            before = said;
        }
        self.told(read())
    }

    /// What was read once, with the hint that an error may come of the writer.
    pub fn told<T>(&self, found: anyhow::Result<T>) -> anyhow::Result<T> {
        match self.beside_writer {
            true => found.context(Moving),
            false => found,
        }
    }
}

/// An error that may be no more than the trace of a writer.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database is being written to, and what follows may come of that alone; try again, or close it \
     and wait for it (--wait)"
)]
pub struct Moving;
