//! One ordered log: a unit at the end of each operation, durable with the first force after it.
//!
//! Recovery compensates by it, too, under any strategy: then nothing is unwritten.
//!
//! Source: DASDBS paper, section 4 (the "emulation of ARIES").

use super::{NumberedInverse, Protocol, check_size};
use crate::error::DatabaseError;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use sardonyx_storage::log::LogError;

/// The ordered log.
#[derive(Debug)]
pub(crate) struct Ordered;

/// Appends an operation that has ended as a unit, which is waited for if it is `forced`. Returns the
/// log's right to append, to wait for the unit's group, and that.
pub(super) fn append<'t>(
    transaction: &'t Transaction<'_>,
    operation: &mut Subtransaction<'_>,
    inverse: Option<NumberedInverse>,
    forced: bool,
) -> Result<(UnitLog<'t>, u64), DatabaseError> {
    // If nothing is to be undone, nothing is reserved for it.
    let pages = inverse.as_ref().map_or(0, |_| operation.inverse_pages());
    let changed = operation.changed();
    let mut unit_log = transaction.unit_log()?;
    check_size(&unit_log, changed, inverse.as_ref(), pages)?;
    let entry = inverse
        .as_ref()
        .map(|(number, bytes)| (*number, &bytes[..]));
    let (sequence, group) =
        unit_log.end_of_subtransaction(transaction.number(), changed, entry, pages, forced)?;
    operation.keep_before();
    if let Some((operation, bytes)) = inverse {
        // While the log is held, so that they are in the order of their ends.
        transaction.progress().completed.push(Completed {
            sequence,
            operation,
            bytes,
            pages,
            sphere: None,
        });
    }
    Ok((unit_log, group))
}

impl Protocol for Ordered {
    fn end_of_operation(
        &self,
        transaction: &Transaction<'_>,
        operation: &mut Subtransaction<'_>,
        inverse: Option<NumberedInverse>,
    ) -> Result<Result<(), LogError>, DatabaseError> {
        append(transaction, operation, inverse, false)?;
        Ok(Ok(()))
    }

    fn end_of_compensation(
        &self,
        compensation: &mut Subtransaction<'_>,
        of: &Completed,
        unit_log: &mut UnitLog<'_>,
        progress: &mut Progress,
    ) -> Result<(), DatabaseError> {
        let (transaction, last) = (compensation.transaction(), progress.completed.len() == 1);
        let changed = compensation.changed();
        unit_log.check_size(changed)?;
        unit_log.end_of_compensation(transaction, changed, of.sequence, last)?;
        compensation.keep_before();
        Ok(())
    }

    fn end_of_transaction(
        &self,
        transaction: &Transaction<'_>,
        unit_log: &mut UnitLog<'_>,
        _: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        unit_log.end_of_transaction(transaction.number(), &[])
    }
}
