//! S2/PS: two-level transactions whose operations go to the log with the spheres of a transaction that
//! ends.
//!
//! Its records until then, and their writing, are in [`crate::unit_log::spheres`]; the spheres are in
//! [`crate::sphere`].
//!
//! Source: DASDBS paper, section 2, "Deferred Log Writes".

use super::{NumberedInverse, Protocol, check_size};
use crate::error::DatabaseError;
use crate::pages::Stop;
use crate::shared::Shared;
use crate::sphere::SubtransactionNumber;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use crate::unit_log::spheres::{Member, MemberKind};
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::PageId;

/// S2/PS.
#[derive(Debug)]
pub(super) struct InSpheres {
    /// A sphere of more pages is written at once.
    pub pages_max: usize,
}

impl Protocol for InSpheres {
    fn begin_to_write(&self, shared: &Shared, page: PageId) -> Result<(), Stop> {
        shared.unit_log()?.begin_to_write(page);
        Ok(())
    }

    fn undone(&self, shared: &Shared, pages: &mut dyn Iterator<Item = PageId>) {
        let mut pages = pages.peekable();
        if pages.peek().is_some() {
            // It was had when the writing began.
            if let Ok(mut unit_log) = shared.unit_log() {
                unit_log.writing_undone(pages);
            }
        }
    }

    fn end_of_operation(
        &self,
        transaction: &Transaction<'_>,
        operation: &mut Subtransaction<'_>,
        inverse: Option<NumberedInverse>,
    ) -> Result<Result<(), LogError>, DatabaseError> {
        let read = operation.only_read();
        // If nothing is to be undone, nothing is reserved for it.
        let pages = inverse.as_ref().map_or(0, |_| operation.inverse_pages());
        let changed = operation.changed();
        let mut unit_log = transaction.unit_log()?;
        check_size(&unit_log, changed, inverse.as_ref(), pages)?;
        let sequence = unit_log.sequences(1)?;
        let member = Member {
            transaction: transaction.number(),
            kind: MemberKind::Operation {
                sequence,
                inverse: inverse.clone(),
            },
        };
        let sphere =
            unit_log.complete_in_sphere(changed, &read, &[], member, pages, self.pages_max)?;
        operation.keep_before();
        // While the log is held, so that they are in the order of their ends.
        let mut progress = transaction.progress();
        match inverse {
            Some((operation, bytes)) => progress.completed.push(Completed {
                sequence,
                operation,
                bytes,
                pages,
                sphere: Some(sphere),
            }),
            None => progress.settled.push(sphere),
        }
        Ok(Ok(()))
    }

    fn end_of_compensation(
        &self,
        compensation: &mut Subtransaction<'_>,
        of: &Completed,
        unit_log: &mut UnitLog<'_>,
        progress: &mut Progress,
    ) -> Result<(), DatabaseError> {
        let read = compensation.only_read();
        let member = Member {
            transaction: compensation.transaction(),
            kind: MemberKind::Compensation { of: of.sequence },
        };
        let changed = compensation.changed();
        unit_log.check_size(changed)?;
        // With the operation that it undoes, and with the compensation before it: the written part of an abort is
        // always its beginning.
        let before = progress.compensations.last().copied();
        let joined: Vec<_> = of.sphere.into_iter().chain(before).collect();
        let number =
            unit_log.complete_in_sphere(changed, &read, &joined, member, 0, self.pages_max)?;
        compensation.keep_before();
        progress.compensations.push(number);
        progress.settled.extend(of.sphere);
        Ok(())
    }

    fn end_of_transaction(
        &self,
        transaction: &Transaction<'_>,
        unit_log: &mut UnitLog<'_>,
        committed: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        let all = subtransactions(&transaction.progress());
        unit_log.end_in_spheres(transaction.number(), all, committed)
    }
}

/// All completed subtransactions of a transaction, written or not.
fn subtransactions(progress: &Progress) -> Vec<SubtransactionNumber> {
    let completed = progress.completed.iter().filter_map(|c| c.sphere);
    let others = progress.settled.iter().chain(&progress.compensations);
    completed.chain(others.copied()).collect()
}
