//! Undoing a transaction. Its completed operations are compensated in the reverse order of their ends,
//! each by its inverse, executed as a subtransaction. It requests no locks on objects, and is never the
//! victim of a deadlock while there is another. Its effects are logged with the note that it is done.

use super::{Completed, Transaction};
use crate::error::DatabaseError;
use crate::subtransaction::{Purpose, Subtransaction};

impl Transaction<'_> {
    pub(super) fn compensate_all(&mut self) -> Result<(), DatabaseError> {
        while self.compensate_last()?.is_some() {}
        let mut unit_log = self.unit_log()?;
        unit_log.reserve.ended(self.number);
        if !unit_log.is_in_log(self.number) {
            unit_log.owes_nothing(self.number);
            return Ok(());
        }
        self.protocol
            .end_of_transaction(self, &mut unit_log, false)?;
        Ok(())
    }

    /// The sequence number of the operation that has to be compensated next.
    pub(crate) fn last_sequence(&self) -> Option<u64> {
        self.progress().completed.last().map(|last| last.sequence)
    }

    /// Compensates the operation that ended last. `None` if there is none left.
    pub(crate) fn compensate_last(&self) -> Result<Option<()>, DatabaseError> {
        let Some(last) = self.progress().completed.last().cloned() else {
            return Ok(None);
        };
        let asker = self.asker(self.owner.subtransaction(1), true);
        loop {
            let workspace = self.progress().workspaces.pop().unwrap_or_default();
            let mut subtransaction = self.subtransaction(Purpose::Compensation, asker, workspace);
            let operations = &self.database.operations;
            let outcome = operations.execute(last.operation, &last.bytes, &mut subtransaction);
            if let Err(forked) = self.database.check_process() {
                std::mem::forget(subtransaction);
                return Err(forked);
            }
            let verdict = subtransaction.verdict();
            let ended = match (verdict, outcome) {
                (None, Ok(())) => self.end_of_compensation(&mut subtransaction, &last),
                (None, Err(error)) => Err(error.into()),
                (Some(_), _) => Ok(()),
            };
            if verdict.is_some() || ended.is_err() {
                subtransaction.undo();
            }
            if verdict.is_none() && ended.is_ok() {
                subtransaction.list_grown();
            }
            let workspace = subtransaction.end();
            self.progress().workspaces.push(workspace);
            if verdict.is_some() {
                self.database.counters.add(|c| &c.restarts, 1);
                continue;
            }
            ended?;
            self.database.counters.add(|c| &c.compensations, 1);
            return Ok(Some(()));
        }
    }

    fn end_of_compensation(
        &self,
        subtransaction: &mut Subtransaction<'_>,
        of: &Completed,
    ) -> Result<(), DatabaseError> {
        let mut unit_log = self.unit_log()?;
        let mut progress = self.progress();
        self.protocol
            .end_of_compensation(subtransaction, of, &mut unit_log, &mut progress)?;
        progress.completed.pop();
        unit_log.reserve.give_back(self.number, of.pages);
        Ok(())
    }
}
