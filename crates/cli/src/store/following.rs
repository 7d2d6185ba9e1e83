//! A copy of a database that follows its log in a store, and from which bases are made.

use sardonyx::hosts::RemoteLog;
use sardonyx_storage::checkpoint::CheckpointTotals;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{OpenError, Replica, StorageOptions, follow_store, take_lock};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::shell::Follower;
use sardonyx_storage::remote_log::store::StoreError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The point at which a copy stopped.
pub enum CaughtUp {
    /// The end of the store's log.
    AtEnd,
    /// The store gave no answer.
    NoAnswer(StoreError),
    /// An entry is missing.
    Missing(RemoteLogError),
    /// The store deleted the following entries: opened again, the copy may begin again.
    Behind(RemoteLogError),
    /// The copy is to end.
    Interrupted,
}

/// True if the same may succeed later: the store gave no answer, or damaged reports of hosts are to be replaced by the next one.
pub fn may_pass(error: &anyhow::Error) -> bool {
    let of_log = |error: &RemoteLogError| match error {
        RemoteLogError::Store(error) => error.is_unclear(),
        RemoteLogError::Hosts { .. } => true,
        _ => false,
    };
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(OpenError::Store(error)), _) | (_, Some(error)) => of_log(error),
        _ => false,
    }
}

/// The care with which the end of the log is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end is checked again and again.
    Followed,
    /// No further entry is expected: each time the store is asked if an entry is missing.
    Wanted,
}

/// A copy that follows.
pub struct Following<'a> {
    options: &'a StorageOptions,
    replica: Replica,
    follower: Follower,
}

impl<'a> Following<'a> {
    /// Opens a directory, or creates it; `wait`: the time to wait for another program that has it open.
    pub fn open(
        path: &Path,
        options: &'a StorageOptions,
        wait: Duration,
    ) -> anyhow::Result<Following<'a>> {
        std::fs::create_dir_all(path)?;
        let home: Arc<dyn Disk> = Arc::new(RealDisk::open(path)?);
        let lock = take_lock(&home, wait)?;
        let (replica, follower) = follow_store(&home, options, lock)?;
        Ok(Following {
            options,
            replica,
            follower,
        })
    }

    /// The copy's position.
    pub fn known(&self) -> &Known {
        self.replica.known()
    }

    /// Its checkpoints since it was opened.
    pub fn checkpoints(&self) -> CheckpointTotals {
        self.replica.checkpoints()
    }

    /// Applies the store's log, until it is to end. After each entry it calls `applied` with the position.
    pub fn catch_up(
        &mut self,
        end: End,
        mut is_to_end: impl FnMut() -> bool,
        mut applied: impl FnMut(&Known),
    ) -> anyhow::Result<CaughtUp> {
        while !is_to_end() {
            let found = match (end, self.follower.look()) {
                (End::Wanted, Ok(None)) => self.follower.check_end(),
                (_, found) => found,
            };
            match found {
                Ok(Some(entry)) => self.replica.apply(&entry)?,
                Ok(None) => return Ok(CaughtUp::AtEnd),
                Err(RemoteLogError::Store(error)) if error.is_unclear() => {
                    return Ok(CaughtUp::NoAnswer(error));
                }
                Err(error @ RemoteLogError::Hole { .. }) => return Ok(CaughtUp::Missing(error)),
                Err(error @ RemoteLogError::BehindBoundary { .. }) => {
                    return Ok(CaughtUp::Behind(error));
                }
                Err(error) => return Err(error.into()),
            }
            applied(self.known());
        }
        Ok(CaughtUp::Interrupted)
    }

    /// Puts a base into the store. The copy is closed then, and its files are free. Returns the base's bytes; `None` if
    /// another maker of bases was faster, and has deleted the log after this one.
    pub fn put_base(self, remote: &RemoteLog) -> anyhow::Result<Option<u64>> {
        match self.replica.put_base(self.options, remote) {
            Ok((_, head)) => Ok(Some(head.bytes())),
            Err(OpenError::Store(RemoteLogError::BehindBoundary { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub fn close(self) -> Known {
        self.replica.close()
    }
}
