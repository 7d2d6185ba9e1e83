//! A copy of a database that follows its log in a store, and of which bases are made.

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

/// Where a copy stopped.
pub enum CaughtUp {
    /// To the end of what the store has.
    AtEnd,
    /// Up to where the store gave no answer.
    NoAnswer(StoreError),
    /// Up to an entry that is missing.
    Missing(RemoteLogError),
    /// To where the store deleted what follows: opened again, it may begin anew.
    Behind(RemoteLogError),
    /// It is to end.
    Interrupted,
}

/// The care with which the end of the log is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is looked for again and again.
    Followed,
    /// It is the end of what is wanted: that no entry is missing there is asked each time.
    Wanted,
}

/// A copy that follows.
pub struct Following<'a> {
    home: Arc<dyn Disk>,
    options: &'a StorageOptions,
    wait: Duration,
    replica: Replica,
    follower: Follower,
}

impl<'a> Following<'a> {
    /// Opens a directory, or makes it; `wait`: so long for whoever has it open.
    pub fn open(
        path: &Path,
        options: &'a StorageOptions,
        wait: Duration,
    ) -> anyhow::Result<Following<'a>> {
        std::fs::create_dir_all(path)?;
        Self::open_at(Arc::new(RealDisk::open(path)?), options, wait)
    }

    fn open_at(
        home: Arc<dyn Disk>,
        options: &'a StorageOptions,
        wait: Duration,
    ) -> anyhow::Result<Following<'a>> {
        let lock = take_lock(&home, wait)?;
        let (replica, follower) = follow_store(&home, options, lock)?;
        Ok(Following {
            home,
            options,
            wait,
            replica,
            follower,
        })
    }

    /// How far it is.
    pub fn known(&self) -> &Known {
        self.replica.known()
    }

    /// Its checkpoints since it was opened.
    pub fn checkpoints(&self) -> CheckpointTotals {
        self.replica.checkpoints()
    }

    /// Applies what there is, until it is to end. After each entry `applied` hears how far it is.
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

    /// The same, closed and opened.
    pub fn reopened(self) -> anyhow::Result<Following<'a>> {
        let (home, options, wait) = (self.home, self.options, self.wait);
        self.replica.close();
        Self::open_at(home, options, wait)
    }

    /// Puts a base into the store. It is opened again afterwards. The base's bytes; none, if another maker of bases was
    /// faster, and has deleted what follows this one.
    pub fn put_base(self, remote: &RemoteLog) -> anyhow::Result<(Following<'a>, Option<u64>)> {
        let (home, options, wait) = (self.home, self.options, self.wait);
        let bytes = match self.replica.put_base(options, remote) {
            Ok((_, head)) => Some(head.bytes()),
            Err(OpenError::Store(RemoteLogError::BehindBoundary { .. })) => None,
            Err(error) => return Err(error.into()),
        };
        Ok((Self::open_at(home, options, wait)?, bytes))
    }

    /// Ends it in order.
    pub fn close(self) -> Known {
        self.replica.close()
    }
}
