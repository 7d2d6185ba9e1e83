//! Undoing a transaction: its completed operations are compensated in the reverse order of their ends,
//! each by its inverse, executed as a subtransaction that asks for no locks on objects and is never the
//! victim of a deadlock while there is another. What it does is logged with the note that it is done.

use super::{Done, Transaction};
use crate::error::{CompensationError, DatabaseError};
use crate::nesting::executing;
use crate::strategy::Strategy;
use crate::subtransaction::{Purpose, Subtransaction};
use crate::unit_log::spheres::{Member, MemberKind};
use sardonyx_base::user_code::message_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Transaction<'_> {
    pub(super) fn compensate_all(&mut self) -> Result<(), DatabaseError> {
        while self.compensate_last()?.is_some() {}
        let mut stage = self.database.stage()?;
        stage.reserve.ended(self.number);
        if !stage.is_in_log(self.number) {
            return Ok(());
        }
        if matches!(self.strategy, Strategy::PersistenceSpheres { .. }) {
            let spheres = self.spheres();
            stage.end_in_spheres(self.number, spheres, false)?;
        } else {
            stage.end_of_transaction(self.number, &[])?;
        }
        Ok(())
    }

    /// The sequence number of the operation that has to be compensated next.
    pub(crate) fn last_sequence(&self) -> Option<u64> {
        self.course.lock().done.last().map(|done| done.sequence)
    }

    /// Compensates the operation that ended last. `None` if there is none.
    pub(crate) fn compensate_last(&self) -> Result<Option<()>, DatabaseError> {
        let Some(done) = self.course.lock().done.last().cloned() else {
            return Ok(None);
        };
        let asker = self.asker(self.owner.subtransaction(1), true);
        loop {
            let workspace = self.course.lock().workspaces.pop().unwrap_or_default();
            let mut subtransaction = self.subtransaction(Purpose::Compensation, asker, workspace);
            let outcome = self.execute_inverse(&done, &mut subtransaction);
            if let Err(forked) = self.database.check_process() {
                std::mem::forget(subtransaction);
                return Err(forked);
            }
            let verdict = subtransaction.verdict();
            let ended = match (verdict, outcome) {
                (None, Ok(())) => self.end_of_compensation(&mut subtransaction, &done),
                (None, Err(error)) => Err(error.into()),
                (Some(_), _) => Ok(()),
            };
            if verdict.is_some() || ended.is_err() {
                subtransaction.undo();
            }
            let workspace = subtransaction.end();
            self.course.lock().workspaces.push(workspace);
            if verdict.is_some() {
                self.database.counters.add(|c| &c.restarts, 1);
                continue;
            }
            ended?;
            self.database.counters.add(|c| &c.compensations, 1);
            return Ok(Some(()));
        }
    }

    fn execute_inverse(
        &self,
        done: &Done,
        subtransaction: &mut Subtransaction<'_>,
    ) -> Result<(), CompensationError> {
        let (name, execute) = self
            .database
            .operations
            .by_number(done.operation)
            .expect("it was numbered when it was noted");
        let failed = |reason| CompensationError {
            name: name.to_string(),
            reason,
        };
        let Some(execute) = execute else {
            return Err(failed("it is not registered".into()));
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            executing(|| execute(&done.bytes, subtransaction))
        }));
        match outcome {
            Ok(outcome) => outcome.map_err(failed),
            Err(panic) => Err(failed(message_of(panic))),
        }
    }

    fn end_of_compensation(
        &self,
        subtransaction: &mut Subtransaction<'_>,
        done: &Done,
    ) -> Result<(), DatabaseError> {
        let spheres = matches!(self.strategy, Strategy::PersistenceSpheres { .. });
        let read = if spheres {
            subtransaction.only_read()
        } else {
            Vec::new()
        };
        let changed = &subtransaction.workspace().ranges;
        let mut stage = self.database.stage()?;
        stage.check_size(changed)?;
        let mut course = self.course.lock();
        if let Strategy::PersistenceSpheres { pages_max } = self.strategy {
            let kind = MemberKind::Compensation { of: done.sequence };
            let member = Member {
                transaction: self.number,
                kind,
            };
            // With what it undoes, and with the compensation before it: what is written of an abort
            // is always its beginning.
            let before = course.compensations.last().copied();
            let joined: Vec<_> = done.sphere.into_iter().chain(before).collect();
            let number = stage.complete_in_sphere(changed, &read, &joined, member, 0, pages_max)?;
            course.compensations.push(number);
            course.settled.extend(done.sphere);
        } else {
            let last = course.done.len() == 1;
            stage.end_of_compensation(self.number, changed, done.sequence, last)?;
        }
        course.done.pop();
        stage.reserve.give_back(self.number, done.pages);
        Ok(())
    }
}
