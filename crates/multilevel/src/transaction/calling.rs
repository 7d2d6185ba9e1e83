//! Calling an operation: its locks on objects, its execution, as often as it takes, and its end, at
//! which what it did goes to the log or into a sphere while its pages are locked.

use super::{Done, Transaction};
use crate::error::{CallError, DatabaseError};
use crate::nesting::executing;
use crate::operation::{INVERSE_BYTES_MAX, LockRequests, Operation};
use crate::strategy::Strategy;
use crate::subtransaction::{Await, Purpose, Subtransaction, Verdict};
use crate::unit_log::spheres::{Member, MemberKind};
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::user_code::discard;
use sardonyx_lock::Asker;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::record::RECORD_HEAD_BYTES;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

impl Transaction<'_> {
    pub(super) fn call_in_two_levels<O: Operation>(
        &self,
        operation: &O,
        asker: Asker,
    ) -> Result<O::Output, CallError<O::Error>> {
        let mut requests = LockRequests::default();
        operation.locks(&mut requests);
        for (space, object, mode) in requests.iter() {
            let wait = Await::Lock(space, object, mode);
            // Holding no page, it can only be told to abort.
            self.wait(asker, wait).map_err(|_| CallError::Deadlock)?;
        }
        loop {
            let workspace = self.course.lock().workspaces.pop().unwrap_or_default();
            let mut subtransaction = self.subtransaction(Purpose::Operation, asker, workspace);
            // Its inverse is the user's code, too, and may panic.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                executing(|| {
                    let output = operation.execute(&mut subtransaction)?;
                    let inverse = match subtransaction.verdict() {
                        None => operation.inverse(&output),
                        Some(_) => None,
                    };
                    Ok((output, inverse))
                })
            }));
            if let Err(forked) = self.database.check_process() {
                // The operation forked, and this is the child: the pages' locks are the parent's.
                std::mem::forget(subtransaction);
                return Err(forked.into());
            }
            let ended = match (subtransaction.verdict(), outcome) {
                (None, Ok(Ok((output, inverse)))) => {
                    let inverse = inverse.as_ref().map(|i| (i.name(), i.bytes()));
                    match self.end_of_subtransaction(&mut subtransaction, inverse) {
                        Ok(Ok(())) => Ended::Well(output),
                        Ok(Err(error)) => {
                            discard(output);
                            Ended::Unforced(error)
                        }
                        Err(error) => {
                            discard(output);
                            Ended::Failed(error)
                        }
                    }
                }
                // What it gave is the user's, and may panic when it is dropped: not while pages are
                // locked.
                (Some(verdict), outcome) => {
                    discard(outcome);
                    Ended::Doomed(verdict)
                }
                (None, Ok(Err(error))) => Ended::Failed(CallError::Failed(error)),
                (None, Err(panic)) => Ended::Panicked(panic),
            };
            if !matches!(ended, Ended::Well(_) | Ended::Unforced(_)) {
                subtransaction.undo();
            }
            let workspace = subtransaction.end();
            self.course.lock().workspaces.push(workspace);
            match ended {
                Ended::Well(output) => {
                    self.database.counters.add(|c| &c.subtransactions, 1);
                    return Ok(output);
                }
                Ended::Failed(error) => {
                    self.database.counters.add(|c| &c.failed, 1);
                    return Err(error);
                }
                Ended::Unforced(error) => return Err(CallError::Engine(error.into())),
                Ended::Panicked(panic) => resume_unwind(panic),
                Ended::Doomed(Verdict::Deadlock) => return Err(CallError::Deadlock),
                Ended::Doomed(Verdict::Restart(wait)) => {
                    self.database.counters.add(|c| &c.restarts, 1);
                    self.wait(asker, wait).map_err(|_| CallError::Deadlock)?;
                }
            }
        }
    }

    /// EOS: what the subtransaction did goes to the log, or into a sphere, while its pages are
    /// locked. The inner error is the log's, after that.
    fn end_of_subtransaction<E: std::error::Error + 'static>(
        &self,
        subtransaction: &mut Subtransaction<'_>,
        inverse: Option<(&'static str, &[u8])>,
    ) -> Result<Result<(), LogError>, CallError<E>> {
        let database = self.database;
        if subtransaction.workspace().ranges.is_empty() {
            return Ok(Ok(()));
        }
        let inverse = match inverse {
            None => None,
            Some((name, bytes)) => {
                let number = database.operations.number(name);
                let number = number.ok_or(CallError::Unregistered { name })?;
                check_size("inverse", bytes.len(), INVERSE_BYTES_MAX)?;
                Some((number, Arc::<[u8]>::from(bytes)))
            }
        };
        let read = match self.strategy {
            Strategy::PersistenceSpheres { .. } => subtransaction.only_read(),
            _ => Vec::new(),
        };
        // Where there is nothing to undo, nothing is reserved for it.
        let pages = inverse
            .as_ref()
            .map_or(0, |_| subtransaction.inverse_pages());
        let changed = &subtransaction.workspace().ranges;
        let mut stage = database.stage().map_err(DatabaseError::from)?;
        let bytes = stage.log_bytes(changed) + inverse.as_ref().map_or(0, |(_, bytes)| bytes.len());
        check_size("change", bytes, stage.change_bytes_max())?;
        let forced = self.strategy == Strategy::ForcedSubtransactions;
        let mut group = None;
        let (sequence, sphere) = match self.strategy {
            Strategy::PersistenceSpheres { pages_max } => {
                let sequence = stage.sequences(1)?;
                let kind = MemberKind::Operation {
                    sequence,
                    inverse: inverse.clone(),
                };
                let member = Member {
                    transaction: self.number,
                    kind,
                };
                let sphere =
                    stage.complete_in_sphere(changed, &read, &[], member, pages, pages_max)?;
                (sequence, Some(sphere))
            }
            _ => {
                let inverse = inverse
                    .as_ref()
                    .map(|(number, bytes)| (*number, &bytes[..]));
                let ended =
                    stage.end_of_subtransaction(self.number, changed, inverse, pages, forced)?;
                group = Some(ended.1);
                (ended.0, None)
            }
        };
        // While the stage is held, so that they are in the order of their ends.
        let mut course = self.course.lock();
        match (inverse, sphere) {
            (Some((operation, bytes)), sphere) => course.done.push(Done {
                sequence,
                operation,
                bytes,
                pages,
                sphere,
            }),
            (None, Some(sphere)) => course.settled.push(sphere),
            (None, None) => {}
        }
        drop(course);
        if let (true, Some(group)) = (forced, group) {
            return Ok(database.force(stage, group));
        }
        Ok(Ok(()))
    }

    pub(super) fn call_in_single_level<O: Operation>(
        &self,
        operation: &O,
    ) -> Result<O::Output, CallError<O::Error>> {
        // Siblings share the transaction's pages, so they take turns.
        let mut single = self.single.lock();
        let first = single.changes.is_empty();
        let asker = self.asker(self.owner, false);
        let workspace = std::mem::take(&mut *single);
        let mut subtransaction = self.subtransaction(Purpose::Operation, asker, workspace);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            executing(|| operation.execute(&mut subtransaction))
        }));
        if let Err(forked) = self.database.check_process() {
            std::mem::forget((subtransaction, single));
            return Err(forked.into());
        }
        let verdict = subtransaction.verdict();
        let mut well = verdict.is_none() && matches!(outcome, Ok(Ok(_)));
        let mut refused = None;
        if well && first && subtransaction.has_changed() {
            // All of it is logged when it commits; for that there must be room (I14).
            let stage = self.database.stage().map_err(DatabaseError::from);
            refused = stage.and_then(|mut stage| stage.admit_work()).err();
            well = refused.is_none();
        }
        if !well {
            subtransaction.undo();
        }
        *single = subtransaction.end();
        drop(single);
        let counters = &self.database.counters;
        if verdict.is_some() {
            // Its pages are locked until its end: only that lets others go on.
            counters.add(|c| &c.deadlocks, 1);
            self.doomed.store(true, Ordering::Release);
            return Err(CallError::Deadlock);
        }
        if let Some(error) = refused {
            counters.add(|c| &c.failed, 1);
            return Err(error.into());
        }
        match outcome {
            Ok(Ok(output)) => {
                counters.add(|c| &c.subtransactions, 1);
                Ok(output)
            }
            Ok(Err(error)) => {
                counters.add(|c| &c.failed, 1);
                Err(CallError::Failed(error))
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// How an execution ended.
enum Ended<T, E: std::error::Error + 'static> {
    Well(T),
    /// It is complete, but the log failed when it was forced (S2).
    Unforced(LogError),
    Failed(CallError<E>),
    Panicked(Box<dyn Any + Send>),
    Doomed(Verdict),
}

fn check_size<E: std::error::Error + 'static>(
    what: &'static str,
    bytes: usize,
    limit: usize,
) -> Result<(), CallError<E>> {
    if bytes + RECORD_HEAD_BYTES <= limit {
        return Ok(());
    }
    Err(CallError::TooLarge { what, bytes, limit })
}
