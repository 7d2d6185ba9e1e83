//! S1: single-level transactions on pages, strict two-phase locking.
//!
//! Pages stay locked until the transaction ends, with their before-images; at its end all its changes are one unit of
//! the log. There is nothing to compensate: a transaction that aborts restores the before-images. For the readers of
//! snapshots, which do not wait for it, each page is copied before its first change.
//!
//! Source: DASDBS paper, section 3.1.

use super::{NumberedInverse, Protocol};
use crate::error::DatabaseError;
use crate::pages::Stop;
use crate::shared::Shared;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::PageId;

/// S1.
#[derive(Debug)]
pub(super) struct SingleLevel;

impl Protocol for SingleLevel {
    fn has_two_levels(&self) -> bool {
        false
    }

    fn begin_to_write(&self, shared: &Shared, page: PageId) -> Result<(), Stop> {
        shared.frames.note_before(page);
        Ok(())
    }

    fn end_of_operation(
        &self,
        transaction: &Transaction<'_>,
        operation: &mut Subtransaction<'_>,
        _: Option<NumberedInverse>,
    ) -> Result<Result<(), LogError>, DatabaseError> {
        if operation.is_first_to_change() {
            // All of it is logged when it commits; for that there must be room (I14).
            transaction.unit_log()?.admit_work()?;
        }
        Ok(Ok(()))
    }

    fn end_of_compensation(
        &self,
        _: &mut Subtransaction<'_>,
        _: &Completed,
        _: &mut UnitLog<'_>,
        _: &mut Progress,
    ) -> Result<(), DatabaseError> {
        // There are no inverses, so no compensation calls this.
        Ok(())
    }

    fn end_of_transaction(
        &self,
        transaction: &Transaction<'_>,
        unit_log: &mut UnitLog<'_>,
        committed: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        let mut progress = transaction.progress();
        // Its operations take turns, so there is one workspace at most.
        let workspace = progress.workspaces.last_mut().filter(|_| committed);
        let Some(workspace) = workspace else {
            return unit_log.end_of_transaction(transaction.number(), &[]);
        };
        let ranges = workspace.changed();
        unit_log.check_size(ranges)?;
        let ended = unit_log.end_of_transaction(transaction.number(), ranges)?;
        let frames = &transaction.database.frames;
        frames.keep_before(&workspace.changes);
        frames.forget_befores(workspace.held.written());
        Ok(ended)
    }
}
