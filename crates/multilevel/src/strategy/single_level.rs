//! S1: single-level transactions on pages, strict two-phase locking.
//!
//! Pages stay locked until the transaction ends, with their before-images; at its end all that it
//! changed is one unit of the log. There is nothing to compensate: a transaction that aborts puts the
//! before-images back.
//!
//! Source: DASDBS paper, section 3.1.

use super::{NumberedInverse, Protocol};
use crate::error::DatabaseError;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use sardonyx_storage::log::LogError;

/// S1.
#[derive(Debug)]
pub(super) struct SingleLevel;

impl Protocol for SingleLevel {
    fn has_two_levels(&self) -> bool {
        false
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
        let ranges = match progress.workspaces.last_mut() {
            Some(workspace) if committed => workspace.changed(),
            _ => &[],
        };
        unit_log.check_size(ranges)?;
        unit_log.end_of_transaction(transaction.number(), ranges)
    }
}
