//! S2: two-level transactions whose operations are forced to the log one by one.
//!
//! The ordered log, but an operation that changed something returns when it is durable.
//!
//! Source: DASDBS paper, section 3.1.

use super::ordered::{Ordered, append};
use super::{NumberedInverse, Protocol};
use crate::error::DatabaseError;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use sardonyx_storage::log::LogError;

/// S2.
#[derive(Debug)]
pub(super) struct Forced;

impl Protocol for Forced {
    fn end_of_operation(
        &self,
        transaction: &Transaction<'_>,
        operation: &mut Subtransaction<'_>,
        inverse: Option<NumberedInverse>,
    ) -> Result<Result<(), LogError>, DatabaseError> {
        let (unit_log, group) = append(transaction, operation, inverse, true)?;
        Ok(transaction.database.force(unit_log, group))
    }

    fn end_of_compensation(
        &self,
        compensation: &mut Subtransaction<'_>,
        of: &Completed,
        unit_log: &mut UnitLog<'_>,
        progress: &mut Progress,
    ) -> Result<(), DatabaseError> {
        Ordered.end_of_compensation(compensation, of, unit_log, progress)
    }

    fn end_of_transaction(
        &self,
        transaction: &Transaction<'_>,
        unit_log: &mut UnitLog<'_>,
        committed: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        Ordered.end_of_transaction(transaction, unit_log, committed)
    }
}
