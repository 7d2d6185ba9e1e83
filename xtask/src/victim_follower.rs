//! The other host of a victim, in the victim's process: a store over TCP, and a copy that follows the log there and takes the
//! checkpoints (configuration C of the TPK paper).

use crate::torture::remove;
use anyhow::Context;
use sardonyx::disk::GroupLimits;
use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx_base::greeting::Trust;
use sardonyx_base::transport::Plain;
use sardonyx_remote::{RemoteOptions, StoreServer, open};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{Replica, StorageOptions, follow_store, stored_manifest, take_lock};
use sardonyx_storage::remote_log::shell::Follower;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two checks for new entries.
const POLL: Duration = Duration::from_millis(5);

/// A store, and the copy.
pub struct OtherHost {
    directory: PathBuf,
    checkpoint_transactions: Option<u64>,
    _server: StoreServer,
    remote: RemoteLog,
    ending: Arc<AtomicBool>,
    follower: Option<JoinHandle<anyhow::Result<()>>>,
}

impl OtherHost {
    /// Starts the store, next to the copy's directory.
    pub fn start(directory: &Path, checkpoint_transactions: Option<u64>) -> anyhow::Result<Self> {
        let place = format!("file:{}", store_of(directory).display());
        let log = open(&place, &RemoteOptions::default())?;
        let trust = Trust {
            transport: Arc::new(Plain),
            token: None,
        };
        let server = StoreServer::start(log, TcpListener::bind("127.0.0.1:0")?, trust)?;
        let place = format!("tcp://{}", server.address());
        Ok(OtherHost {
            directory: directory.into(),
            checkpoint_transactions,
            remote: RemoteLog {
                durable_at: DurableAt::Local,
                ..RemoteLog::new(open(&place, &RemoteOptions::default())?)
            },
            _server: server,
            ending: Arc::default(),
            follower: None,
        })
    }

    /// The store, as the database uses it.
    pub fn remote(&self) -> RemoteLog {
        self.remote.clone()
    }

    /// Starts to follow, on a thread.
    pub fn follow(&mut self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.directory)?;
        let home: Arc<dyn Disk> = Arc::new(RealDisk::open(&self.directory)?);
        let manifest = stored_manifest(&self.remote)?.context("the store has no database")?;
        let options = StorageOptions {
            limits: GroupLimits::for_segments(manifest.segment_bytes),
            log_bytes_max: manifest.segment_bytes * 8,
            checkpoint_interval_transactions: self.checkpoint_transactions,
            remote: Some(self.remote.clone()),
            ..StorageOptions::default()
        };
        let lock = take_lock(&home, Duration::ZERO)?;
        let (replica, log) = follow_store(&home, &options, lock)?;
        let ending = self.ending.clone();
        self.follower = Some(std::thread::spawn(move || apply(replica, log, &ending)));
        Ok(())
    }

    /// Ends when the copy has all entries of the store.
    pub fn close(mut self) -> anyhow::Result<()> {
        self.ending.store(true, Ordering::SeqCst);
        match self.follower.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => anyhow::bail!("the follower's thread panicked"),
            None => Ok(()),
        }
    }

    /// Removes the copy and the store.
    pub fn remove(directory: &Path) -> anyhow::Result<()> {
        remove(&store_of(directory))?;
        remove(directory)
    }
}

fn store_of(directory: &Path) -> PathBuf {
    directory.with_extension("store")
}

/// Applies entries until it is to end and has all.
fn apply(mut replica: Replica, mut log: Follower, ending: &AtomicBool) -> anyhow::Result<()> {
    loop {
        // Read first: later entries are not awaited.
        let is_ending = ending.load(Ordering::SeqCst);
        while let Some(entry) = log.look()? {
            replica.apply(&entry)?;
        }
        if is_ending {
            replica.close();
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}
