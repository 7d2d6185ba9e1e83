//! Bases made by a serving host: a thread makes one whenever so much log has come since the last one.
//!
//! It keeps a copy of the database in a directory of its own, which it opens only to make a base, as `store follow
//! --once` does. So the server shares only the disk and the processors with it. The bases are read from the store and
//! checked, so a lost entry is noticed. The copy can be lost or deleted at any time: the next one begins with the
//! newest base.

use super::following::{CaughtUp, End, Following};
use super::retention::Kept;
use super::{StoreOption, copy_options};
use sardonyx::hosts::RemoteLog;
use sardonyx_base::events;
use sardonyx_command::exit::UsageError;
use sardonyx_results::units::parse_bytes;
use sardonyx_storage::engine::{
    KeepInStore, delete_past, log_bytes_from, newest_base, stored_manifest,
};
use sardonyx_storage::manifest::Manifest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The time between two checks of how much log has come.
const PAUSE: Duration = Duration::from_secs(5);

/// After failures the pause doubles up to this.
const PAUSE_MOST: Duration = Duration::from_secs(3600);

/// The options for a server's bases.
#[derive(Debug, clap::Args)]
pub struct BasesOption {
    /// Put a base, from which new hosts start, into the store after each SIZE of log; 0: after any [default: never]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "store", help_heading = "Bases")]
    base_every: Option<u64>,
    /// The copy from which bases are made [default: the database's directory with .bases appended]
    #[arg(
        long,
        value_name = "DIR",
        requires = "base_every",
        help_heading = "Bases"
    )]
    base_directory: Option<PathBuf>,
    #[command(flatten)]
    kept: Kept,
}

impl BasesOption {
    /// Refuses options without effect.
    pub fn check(&self) -> Result<(), UsageError> {
        match self.base_every.is_none() && self.kept.keep(1).is_some() {
            false => Ok(()),
            true => Err(UsageError::Arguments(
                "--keep-bases and --keep-time only apply when bases are made: add --base-every"
                    .into(),
            )),
        }
    }

    /// Starts the thread, if the options ask for it, for the database in this directory, which is open. `newest` is set
    /// to the time of the newest base, in microseconds since 1970.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        &self,
        store: &StoreOption,
        path: &Path,
        newest: &Arc<AtomicU64>,
    ) -> anyhow::Result<Option<Bases>> {
        let Some(every) = self.base_every else {
            return Ok(None);
        };
        let directory = self.base_directory.clone().unwrap_or_else(|| {
            // Without a slash at its end.
            let mut name = path.components().as_path().as_os_str().to_os_string();
            name.push(".bases");
            name.into()
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let maker = {
            let (keep, newest, is_over) = (self.kept.clone(), newest.clone(), is_over.clone());
            move |remote| Maker {
                remote,
                directory,
                every,
                keep,
                newest,
                is_over,
            }
        };
        // Opened there: a host that begins to serve does not wait for it.
        let (store, ends) = (store.clone(), is_over.clone());
        let thread = thread::Builder::new()
            .name("store-bases".into())
            .spawn(move || {
                if let Some(remote) = reach(&store, &ends) {
                    maker(remote).run();
                }
            })?;
        Ok(Some(Bases {
            is_over,
            thread: thread.thread().clone(),
        }))
    }
}

/// The thread runs until this is dropped. It then ends the base that it is putting into the store, or leaves it
/// unfinished: an unfinished base does not count.
#[derive(Debug)]
pub struct Bases {
    is_over: Arc<AtomicBool>,
    thread: Thread,
}

impl Drop for Bases {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// The store, when it can be opened; `None` if it is not wanted any more.
fn reach(store: &StoreOption, is_over: &AtomicBool) -> Option<RemoteLog> {
    let mut pause = PAUSE;
    while !is_over.load(Ordering::SeqCst) {
        match store.remote() {
            Ok(remote) => return remote,
            Err(error) => {
                pause = (pause * 2).min(PAUSE_MOST);
                let error = format!("{error:#}");
                events::error!(error, again_in = ?pause, "the store of bases is not open");
                thread::park_timeout(pause);
            }
        }
    }
    None
}

/// The maker of bases, on its thread.
struct Maker {
    remote: RemoteLog,
    directory: PathBuf,
    every: u64,
    keep: Kept,
    newest: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Maker {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn run(&self) {
        let (mut counted, mut pause) = (None, PAUSE);
        while !self.is_over() {
            match self.look(&mut counted) {
                Ok(()) => pause = PAUSE,
                Err(error) => {
                    pause = (pause * 2).min(PAUSE_MOST);
                    let error = format!("{error:#}");
                    events::error!(error, again_in = ?pause, "no base can be made");
                }
            }
            if !self.is_over() {
                thread::park_timeout(pause);
            }
        }
    }

    /// Makes a base, if it is time. `counted`: the entry up to which the log since the last base was counted, and its
    /// bytes.
    fn look(&self, counted: &mut Option<(u64, u64)>) -> anyhow::Result<()> {
        let Some(manifest) = stored_manifest(&self.remote)? else {
            return Ok(());
        };
        let (from, before) = match *counted {
            Some(counted) => counted,
            None => {
                let newest = newest_base(&self.remote, manifest.identity, |_| true)?;
                (
                    newest.map_or(1, |(name, head)| {
                        self.newest.store(head.known.entry.time, Ordering::SeqCst);
                        name.next_entry
                    }),
                    0,
                )
            }
        };
        let (next, come) = log_bytes_from(&self.remote, from)?;
        let come = before + come;
        *counted = Some((next, come));
        if come == 0 || come < self.every {
            return Ok(());
        }
        // If another maker was faster, the log is counted from its base.
        *counted = self.make(&manifest)?.map(|next_entry| (next_entry, 0));
        Ok(())
    }

    /// Makes a base of the store's current log, and deletes bases and log that are not to be kept. Returns the first
    /// entry after it; `None` if it is to end, or another maker was faster.
    fn make(&self, manifest: &Manifest) -> anyhow::Result<Option<u64>> {
        let options = copy_options(self.remote.clone(), manifest);
        let mut following = Following::open(&self.directory, &options, Duration::ZERO)?;
        match following.catch_up(End::Wanted, || self.is_over(), |_| ())? {
            CaughtUp::AtEnd => {}
            CaughtUp::Interrupted => return Ok(None),
            CaughtUp::NoAnswer(error) => return Err(error.into()),
            CaughtUp::Missing(error) | CaughtUp::Behind(error) => return Err(error.into()),
        }
        let entry = following.known().entry;
        let next_entry = entry.next;
        let (following, bytes) = following.put_base(&self.remote)?;
        following.close();
        let Some(bytes) = bytes else { return Ok(None) };
        self.newest.store(entry.time, Ordering::SeqCst);
        events::info!(next_entry, bytes, "a base is in the store");
        if let Some(keep) = self.keep.keep(1) {
            self.delete_past(keep)?;
        }
        Ok(Some(next_entry))
    }

    fn delete_past(&self, keep: KeepInStore) -> anyhow::Result<()> {
        let deleted = delete_past(&self.remote, keep)?;
        events::info!(
            bases = deleted.bases,
            entries = deleted.log.entries,
            "bases and log that are not to be kept are deleted from the store"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Options;
    use sardonyx::hosts::MemoryStore;

    #[test]
    fn a_maker_that_another_one_overtook_counts_from_the_newest_base_again() {
        let machine = tempfile::tempdir().unwrap();
        let remote = RemoteLog::new(Arc::new(MemoryStore::new()));
        let options = Options::new().store(remote.clone());
        let bank = options.open_tables(machine.path().join("bank.sdx"));
        bank.unwrap().close().unwrap();
        let maker = |is_over| Maker {
            remote: remote.clone(),
            directory: machine.path().join("bases.sdx"),
            every: 0,
            keep: Kept::default(),
            newest: Arc::default(),
            is_over: Arc::new(AtomicBool::new(is_over)),
        };
        let mut counted = Some((1, 1));
        // As if another maker had been faster: it makes none.
        maker(true).look(&mut counted).unwrap();
        assert_eq!(counted, None);
        maker(false).look(&mut counted).unwrap();
        let (next_entry, bytes) = counted.unwrap();
        assert!(next_entry > 1 && bytes == 0, "{counted:?}");
    }

    #[test]
    fn a_host_that_begins_to_serve_does_not_wait_for_the_store_of_its_bases() {
        // Opening it fails, which a caller that opened it would report.
        let store = StoreOption {
            store: Some("file:/nowhere/at/all".into()),
            durable_at: None,
            time_limit: None,
            register_limit: None,
        };
        assert!(store.remote().is_err());
        for base_every in [None, Some(1)] {
            let bases = BasesOption {
                base_every,
                base_directory: None,
                kept: Kept::default(),
            };
            let started = bases.start(&store, Path::new("bank.sdx"), &Arc::default());
            assert_eq!(started.unwrap().is_some(), base_every.is_some());
        }
    }
}
