//! The acts of the pen's holder: it asks for room, appends records, ends transactions.

use crate::checkpoint::{CheckpointStage, FrozenPages, Lent};
use crate::log::open_group::OpenGroup;
use crate::log::seal::GroupBuilder;
use crate::log::supply::Admission;
use crate::log::writer::LogWriter;
use crate::log::{LogError, LogPosition};
use crate::store::{PageSnapshot, StoreError};
use sardonyx_base::process::Process;
use std::sync::Arc;

/// The open group in the hands of the pen's holder.
#[derive(Debug)]
pub struct Appending<'h> {
    pub(super) log: &'h LogWriter,
    pub(super) checkpoint: &'h CheckpointStage,
    pub(super) open: &'h mut OpenGroup,
}

impl<'h> Appending<'h> {
    /// Makes sure that this may be appended: the log is sound and has room. If there is none, waits for it, and makes
    /// some: hands over the filling group, and takes a checkpoint, or asks for one, if the log is at its limit.
    ///
    /// # Errors
    /// [`LogError::Full`] if no room can be had; the error that closed the log.
    // Always: once for every transaction, and almost always two loads and two comparisons.
    #[inline(always)]
    pub fn admit(&mut self, admission: Admission) -> Result<(), LogError> {
        self.admit_lending(admission, |_| Ok(None))
    }

    /// The same between transactions, by a caller that can freeze its pages. If checkpoints are taken from snapshots, it
    /// lends them while it waits for one, since that cannot have the pen meanwhile.
    ///
    /// # Errors
    /// As [`Appending::admit`]. [`LogError::Full`] also if a checkpoint must make room, and `freeze` fails or gives no
    /// pages: that checkpoint is taken when the caller has released the pen.
    #[inline(always)]
    pub fn admit_lending(
        &mut self,
        admission: Admission,
        freeze: impl FnMut(&mut GroupBuilder) -> Result<Option<Arc<PageSnapshot>>, StoreError>,
    ) -> Result<(), LogError> {
        match self.is_admitted(admission) {
            true => Ok(()),
            false => self.wait_for_room(admission, freeze),
        }
    }

    #[inline(always)]
    fn is_admitted(&self, admission: Admission) -> bool {
        self.log.segments().prepared_end() >= self.open.needed_end(admission)
            && !self.log.is_poisoned()
    }

    #[cold]
    fn wait_for_room(
        &mut self,
        admission: Admission,
        mut freeze: impl FnMut(&mut GroupBuilder) -> Result<Option<Arc<PageSnapshot>>, StoreError>,
    ) -> Result<(), LogError> {
        let (log, checkpoint) = (self.log, self.checkpoint);
        log.check()?;
        log.hand_over(self.open);
        let mut lent = None;
        // The group handed over moves the log's place on, maybe into a segment of its own.
        while !self.is_admitted(admission) {
            log.check()?;
            // Transactions that wait in the group must not wait for room as well.
            log.hand_over(self.open);
            let (next, last) = (self.open.next(), self.open.last_group());
            log.room().wait_for_room(admission, next, checkpoint, || {
                if lent.is_none() && checkpoint.reads_snapshots() {
                    lent = Some(self.lend(&mut freeze)?);
                }
                if log.drive().has_threads() {
                    return Ok(());
                }
                // A checkpoint has only the durable log; another client may be writing the rest.
                log.wait(last)?;
                checkpoint.work_off();
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lends the pages to the checkpoints. They do not change before the result is dropped, since the caller has the pen,
    /// and all records are handed over.
    fn lend(
        &mut self,
        freeze: impl FnOnce(&mut GroupBuilder) -> Result<Option<Arc<PageSnapshot>>, StoreError>,
    ) -> Result<Lent<'h>, LogError> {
        let refused = |reason: &str| {
            LogError::Full {
            reason: format!(
                "a checkpoint makes some, and the caller that waits for it cannot lend it the pages ({reason}): it is \
                 taken now, so try again"
            )
            .into(),
        }
        };
        let pages = freeze(self.open.builder()).map_err(|error| refused(&error.to_string()))?;
        let pages = pages.ok_or_else(|| refused("it has no snapshots of them"))?;
        let position = self.open.next();
        Ok(self.checkpoint.lend(FrozenPages { pages, position }))
    }

    /// The builder to which records are appended.
    #[inline]
    pub fn builder(&mut self) -> &mut GroupBuilder {
        self.open.builder()
    }

    /// Notes that a transaction with records has ended in the builder ([`GroupBuilder::end_transaction`] returned
    /// true), and hands the group over if it is full. Returns the number of the group that holds the transaction.
    #[inline]
    pub fn transaction_ended(&mut self) -> u64 {
        self.log.transaction_ended(self.open)
    }

    /// The number of the last group that holds a transaction; 0 if none. When that is durable,
    /// everything is that was appended before now.
    #[inline]
    pub fn last_group(&self) -> u64 {
        self.open.last_group()
    }

    /// The process that opened the log.
    #[inline]
    pub fn process(&self) -> Process {
        self.log.process()
    }

    /// The place of the open group.
    pub fn position(&self) -> LogPosition {
        self.open.next()
    }
}
