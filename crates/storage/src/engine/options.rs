//! The options of opening a database's storage, and the values that work.

use super::{KeptCopy, OpenError, RemoteLog};
use crate::checkpoint::{CheckpointInterval, CheckpointPlace, Checkpoints};
use crate::drive::Drive;
use crate::journal::Retention;
use crate::log::LogLayout;
use crate::log::policy::{GroupLimits, GroupPolicy, TIME_PER_GROUP_MAX};
use crate::log::room::large_bytes_max;
use crate::log::segment::FIRST_BYTES;
use crate::places::Directories;
use crate::recovery::RecoveryOptions;
use std::sync::Arc;
use std::time::Duration;

/// The time that a close works at a checkpoint, unless configured.
pub const CLOSING_CHECKPOINT: Duration = Duration::from_secs(10);

/// A question before the log in a store is taken from any other owner. By default it is permitted.
#[derive(Clone, Default)]
pub struct Permit(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Permit {
    /// Permitted if this returns true, which may wait for an answer.
    pub fn asking(permits: impl Fn() -> bool + Send + Sync + 'static) -> Permit {
        Permit(Some(Arc::new(permits)))
    }

    /// Asks now.
    #[cfg(feature = "hosts")]
    pub(super) fn is_given(&self) -> bool {
        self.0.as_ref().is_none_or(|permits| permits())
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Permit").field(&self.0.is_some()).finish()
    }
}

/// The options of opening a database's storage. The first four are fixed when the database is made.
#[derive(Clone, Debug)]
pub struct StorageOptions {
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Bytes of a backup block.
    pub block_bytes: u32,
    /// Stripes of the backup; each has a file and a checkpointing thread.
    pub stripes: u32,
    /// The rows of journals to keep after they left the log.
    pub journal: Retention,
    /// The database's identity if it is made now; `None` chooses one at random.
    pub identity: Option<u64>,
    /// The most bytes of log on disk, rounded down to segments; at least four of them.
    pub log_bytes_max: u64,
    /// Bytes of log that are prepared before opening returns, rounded down to segments. So the first transactions do
    /// not wait for the disk to be filled with zeroes. With none the log of a new database is small and grows with
    /// use.
    pub log_bytes_prepared: u64,
    /// Bytes with which the log of a new database begins.
    pub log_bytes_first: u64,
    /// A checkpoint begins when so many bytes of log were written since the last one began. `None` takes three eighths
    /// of `log_bytes_max`, so that two checkpoints' log fits, and less for a small database. While the checkpoints are
    /// left to followers it is for the time in which this host follows itself.
    pub checkpoint_interval_bytes: Option<u64>,
    /// A checkpoint begins after so many transactions, too; `None` counts bytes only. Left to followers: as above.
    pub checkpoint_interval_transactions: Option<u64>,
    /// The most bytes of pages (DB; DB', if there is one, takes as much again).
    pub memory_bytes_max: u64,
    /// The rule that closes a commit group.
    pub policy: GroupPolicy,
    /// The bounds of group commit.
    pub limits: GroupLimits,
    /// The most bytes of records of one transaction that is alone in its group, which may be larger than
    /// [`GroupLimits::transaction_bytes`]. If the log has room for less, that is the most ([`large_bytes_max`]).
    pub transaction_bytes_max: u64,
    /// True if logging and checkpointing have threads of their own.
    pub threaded: bool,
    /// For how long a close may finish a checkpoint, or take one if there is much to redo; zero for
    /// none, also after an opening that redid much. While the checkpoints are left to followers a close takes none.
    pub closing_checkpoint: Duration,
    /// Threads for recovery.
    pub workers: usize,
    /// This process, or a follower.
    pub checkpoint: CheckpointPlace,
    /// The source of the checkpoints here. Snapshots need an appender that freezes its pages
    /// ([`Engine::open_to_freeze`](super::Engine::open_to_freeze)).
    pub checkpoints: Checkpoints,
    /// The store that has the log, too.
    pub remote: Option<RemoteLog>,
    /// For how long an opening waits while others have the database open; zero for not at all.
    pub wait_for_lock: Duration,
    /// State that this process kept of a copy that it closed
    /// ([`Replica::close_keeping`](super::Replica::close_keeping)) and opens now: the lock, the pages, the log's end.
    pub kept: Option<Arc<KeptCopy>>,
    /// A host that was stopped since its turn began does not take the log from the one that serves by then.
    pub permit: Permit,
    /// The directories of the log and the backup, if not in the database's own one, or their new places after a move.
    pub directories: Directories,
}

impl Default for StorageOptions {
    fn default() -> Self {
        StorageOptions {
            segment_bytes: 64 << 20,
            block_bytes: 1 << 20,
            stripes: 1,
            journal: Retention::All,
            identity: None,
            log_bytes_max: 2 << 30,
            log_bytes_prepared: 0,
            log_bytes_first: FIRST_BYTES,
            checkpoint_interval_bytes: None,
            checkpoint_interval_transactions: None,
            memory_bytes_max: 1 << 40,
            policy: GroupPolicy::Adaptive,
            limits: GroupLimits::default(),
            transaction_bytes_max: u64::MAX,
            threaded: true,
            closing_checkpoint: CLOSING_CHECKPOINT,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            checkpoint: CheckpointPlace::Local,
            checkpoints: Checkpoints::default(),
            remote: None,
            wait_for_lock: Duration::ZERO,
            kept: None,
            permit: Permit::default(),
            directories: Directories::default(),
        }
    }
}

impl StorageOptions {
    /// Refuses checkpoints from snapshots where they cannot be taken.
    ///
    /// # Errors
    /// [`OpenError::NoSnapshots`].
    pub fn refuse_snapshots(&self, of: &'static str) -> Result<(), OpenError> {
        match self.checkpoints {
            Checkpoints::FromCopy => Ok(()),
            Checkpoints::FromSnapshots => Err(OpenError::NoSnapshots { of }),
        }
    }

    /// The directory is about to change: the kept state is unusable then.
    pub(super) fn forget_kept(&self) {
        self.kept.iter().for_each(|kept| kept.forget());
    }

    /// The threads that take the steps of logging and checkpointing.
    pub(crate) fn drive(&self) -> Drive {
        match self.threaded {
            true => Drive::Threads,
            false => Drive::Callers,
        }
    }

    pub(crate) fn recovery(&self) -> RecoveryOptions {
        RecoveryOptions {
            memory_max_bytes: self.memory_bytes_max,
            workers: self.workers,
            known_end: self.kept.as_ref().map(|kept| kept.end()),
            checkpoints: self.checkpoints,
            ..RecoveryOptions::default()
        }
    }

    /// The distance of checkpoints.
    pub(crate) fn checkpoint_interval(&self, layout: LogLayout) -> CheckpointInterval {
        let log_bytes = self.segments_max(layout) * layout.segment_bytes;
        CheckpointInterval {
            bytes: self
                .checkpoint_interval_bytes
                .unwrap_or(CheckpointInterval::usual_bytes(log_bytes)),
            transactions: self.checkpoint_interval_transactions.unwrap_or(u64::MAX),
            follows_size: self.checkpoint_interval_bytes.is_none(),
        }
    }

    /// The same of a copy that follows, which takes its checkpoints itself.
    pub(crate) fn of_follower(&self) -> Self {
        StorageOptions {
            checkpoint: CheckpointPlace::Local,
            checkpoints: Checkpoints::FromCopy,
            ..self.clone()
        }
    }

    /// The most bytes of records of one transaction of those that may have a group for themselves. In a store a group
    /// is in one entry: there none may.
    pub(crate) fn transaction_bytes_max(&self, layout: LogLayout) -> usize {
        let shared = self.limits.transaction_bytes;
        let most = match self.remote {
            None => large_bytes_max(layout, self.segments_max(layout)).max(shared),
            Some(_) => shared,
        };
        most.min(usize::try_from(self.transaction_bytes_max).unwrap_or(usize::MAX))
    }

    /// The most segments of the log.
    pub(crate) fn segments_max(&self, layout: LogLayout) -> u64 {
        self.log_bytes_max / layout.segment_bytes
    }

    /// The segments that are prepared before opening returns.
    pub(crate) fn segments_prepared(&self, layout: LogLayout) -> u64 {
        (self.log_bytes_prepared / layout.segment_bytes).min(self.segments_max(layout))
    }
}

/// I10: an admitted transaction fits.
pub(super) fn check_limits(
    options: &StorageOptions,
    limits: &GroupLimits,
    segment_bytes: u64,
) -> Result<(), OpenError> {
    let check = |option, value: u64, good: bool, requirement| {
        if good {
            Ok(())
        } else {
            Err(OpenError::Option {
                option,
                value,
                requirement,
            })
        }
    };
    check(
        "segment_bytes",
        segment_bytes,
        segment_bytes >= limits.group_bytes_most(),
        "a segment must hold a full group and the largest transaction (group_bytes + \
         transaction_bytes + 8192)",
    )?;
    check(
        "log_bytes_max",
        options.log_bytes_max,
        options.log_bytes_max >= segment_bytes.saturating_mul(4),
        "at least four segments of the log, which have segment_bytes each (64 MiB unless set when the database was made)",
    )?;
    check(
        "depth",
        limits.depth as u64,
        (1..=64).contains(&limits.depth),
        "1 to 64",
    )?;
    check(
        "buffers",
        limits.buffers as u64,
        limits.buffers >= limits.depth + 2,
        "at least two more than depth",
    )?;
    let GroupPolicy::Fixed { transactions, time } = options.policy else {
        return Ok(());
    };
    check(
        "group_policy time (in seconds)",
        time.as_secs(),
        transactions <= 1 || time <= TIME_PER_GROUP_MAX,
        "at most an hour, unless each transaction closes its group: a transaction alone waits so long",
    )
}
