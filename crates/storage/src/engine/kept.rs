//! State that a host keeps in memory between the close of its copy and the opening with which it takes over: the
//! directory's lock, DB' with the checkpointers, the end of the log, and the part of it that the store has. So a
//! hand-over does not read the log since the last checkpoint, and copies DB' instead.
//!
//! The close writes nothing of this down, since clients wait for the opening. That records the log's end, and the thread
//! of the store its part, before the first entry. After a crash in between, the directory is one of a copy that was
//! killed.
//!
//! Invariants: I2, I5 (each opening that may write counts the incarnation up: after another one nothing of this is
//! used). Without the lock in between, another process could write checkpoints that these checkpointers do not know
//! of. So they are given only to the holder of the lock.

use super::LOCK_FILE;
use crate::checkpoint::{Checkpointer, StripeLayout};
use crate::disk::{Disk, DiskError, DiskLock};
use crate::log::LogPosition;
use crate::manifest::Manifest;
use crate::recovery::KnownEnd;
use crate::remote_log::known::Known;
use sardonyx_base::sync::Mutex;

/// The kept state of a closed copy, for one opening.
#[derive(Debug)]
pub struct KeptCopy {
    end: KnownEnd,
    known: Known,
    lock_name: String,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// None if the closed copy had failed, or if the lock was not the copy's.
    checkpointers: Option<Vec<Checkpointer>>,
    lock: Option<Box<dyn DiskLock>>,
}

impl KeptCopy {
    pub(super) fn new(
        (end, known): (KnownEnd, Known),
        lock_name: String,
        checkpointers: Option<Vec<Checkpointer>>,
        lock: Option<Box<dyn DiskLock>>,
    ) -> Self {
        let kept = Kept {
            checkpointers: checkpointers.filter(|_| lock.is_some()),
            lock,
        };
        KeptCopy {
            end,
            known,
            lock_name,
            kept: Mutex::new(kept),
        }
    }

    /// The end of the log here.
    pub fn end(&self) -> KnownEnd {
        self.end
    }

    /// The same for one opening alone. If that fails, its lock is given back, and the checkpointers go with it.
    pub(super) fn of_one_opening(&self) -> KeptCopy {
        let mut kept = self.kept.lock();
        let (checkpointers, lock) = (kept.checkpointers.take(), kept.lock.take());
        let places = (self.end, self.known);
        KeptCopy::new(places, self.lock_name.clone(), checkpointers, lock)
    }

    /// The lock of the directory, if this has it. A lock that can be taken is another directory's: then the kept one is
    /// given back, and that is the opening's.
    pub(super) fn take_lock(
        &self,
        home: &dyn Disk,
    ) -> Option<Result<Box<dyn DiskLock>, DiskError>> {
        let mut kept = self.kept.lock();
        let lock = kept.lock.take()?;
        let has_its_name = home.display_name(LOCK_FILE) == self.lock_name;
        let other = has_its_name.then(|| home.lock(LOCK_FILE).transpose());
        let other = other.flatten();
        if has_its_name && other.is_none() {
            return Some(Ok(lock));
        }
        kept.checkpointers = None;
        other
    }

    /// Gives back the lock and the memory, if no opening has taken them.
    #[inline]
    pub fn let_go(&self) {
        let mut kept = self.kept.lock();
        (kept.checkpointers, kept.lock) = (None, None);
    }

    /// The directory is about to change: it is recovered from its files.
    pub(super) fn forget(&self) {
        self.kept.lock().checkpointers = None;
    }

    /// The part of the log that the store has; `None` if the database with this manifest is not as it was left.
    pub(super) fn known(&self, manifest: &Manifest) -> Option<Known> {
        let is_kept = self.kept.lock().checkpointers.is_some();
        (is_kept && self.end.is_of(manifest)).then_some(self.known)
    }

    /// The checkpointers and the end of the log, which they have; `None` if the database with this manifest is not as it
    /// was left.
    pub(super) fn take(&self, manifest: &Manifest) -> Option<(Vec<Checkpointer>, LogPosition)> {
        let checkpointers = self.kept.lock().checkpointers.take()?;
        let layouts = (0..manifest.stripes).map(|stripe| StripeLayout::of(manifest, stripe));
        let is_as_left =
            self.end.is_of(manifest) && layouts.eq(checkpointers.iter().map(Checkpointer::layout));
        is_as_left.then_some((checkpointers, self.end.position))
    }
}
