//! The execution stage: runs transactions one at a time on the pages in memory, with before-images
//! kept until each succeeds, and appends redo records to the group being filled.
//!
//! Because only one transaction runs at a time, records need no locks. A transaction that reads the writes
//! of an earlier one is in the same commit group or a later one: it can only commit if the earlier one
//! does (I8).
//!
//! Source: TPK paper, section 2, "Transaction Execution" and Figure 2.

use crate::error::{ProcedureError, SerialError};
use crate::procedure::Procedure;
use crate::steps::Steps;
use sardonyx_base::error::Error;
use sardonyx_base::process::Process;
use sardonyx_base::user_code::{caught, discard, discard_all, message_of};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::pen::{Appending, Held};
use sardonyx_table::{TableSpace, Transaction};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Requests whose cache misses overlap: located together, then executed one by one.
const LOCATED_TOGETHER: usize = 64;

/// The execution stage while a thread holds the pen: the tables, and the log to append to.
#[derive(Debug)]
pub(crate) struct Execution<'h> {
    process: Process,
    space: &'h mut TableSpace,
    log: Appending<'h>,
}

/// The end of a closure's transaction.
pub(crate) enum Ended<T, E> {
    Committed(T),
    Aborted(E),
    Panicked(Box<dyn Any + Send>),
    /// Its code forked, and this is the child.
    Forked,
}

impl<'h> Execution<'h> {
    /// For the holder of the pen.
    #[inline]
    pub fn of(held: &'h mut Held<'_, TableSpace>) -> Self {
        let (space, log) = held.split();
        Execution {
            process: log.process(),
            space,
            log,
        }
    }

    /// Makes sure that a transaction may run: the log is sound and has room for what it may write.
    #[inline(always)]
    pub fn admit(&mut self) -> Result<(), SerialError> {
        let space = &mut *self.space;
        let freeze = |log: &mut GroupBuilder| {
            // Beginning undoes a transaction that was leaked.
            space.begin(log).abort();
            Ok(Some(space.freeze_pages()?))
        };
        Ok(self.log.admit_lending(Admission::Measured, freeze)?)
    }

    /// The last group with a transaction.
    pub fn last_group(&self) -> u64 {
        self.log.last_group()
    }

    /// Runs a closure as a transaction. Returns its end, and the number of the last group that must be
    /// durable before its outcome may be acknowledged. That is its own, or, if it wrote nothing, that of
    /// the newest change it can have read.
    pub(crate) fn run<T, E>(
        &mut self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> (Ended<T, E>, u64) {
        let mut transaction = self.space.begin(self.log.builder());
        // Whatever the closure leaves half done is undone by dropping the transaction.
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut transaction)));
        match outcome {
            _ if !self.process.is_current() => {
                transaction.abort();
                (Ended::Forked, 0)
            }
            Ok(Ok(value)) => {
                let wrote = transaction.commit();
                (Ended::Committed(value), self.ended(wrote))
            }
            Ok(Err(error)) => {
                transaction.abort();
                (Ended::Aborted(error), self.log.last_group())
            }
            Err(panic) => {
                transaction.abort();
                (Ended::Panicked(panic), self.log.last_group())
            }
        }
    }

    /// The group to wait for after a transaction.
    #[inline]
    fn ended(&mut self, wrote: bool) -> u64 {
        if wrote {
            self.log.transaction_ended()
        } else {
            self.log.last_group()
        }
    }

    /// Runs a procedure for each of a batch's arguments, in order, as a transaction each. `refused`
    /// says which arguments the input stage refused; those are not located either. Appends an
    /// outcome per request: if the log refuses one, it and all later ones did not run. Returns the
    /// group to wait for.
    pub(crate) fn run_batch<P: Procedure>(
        &mut self,
        procedure: &P,
        arguments: &[P::Arguments],
        refused: &mut [Option<ProcedureError<P::Error>>],
        outcomes: &mut Vec<Result<P::Output, ProcedureError<P::Error>>>,
    ) -> u64 {
        if let Err(error) = self.run_admitted(procedure, arguments, refused, outcomes) {
            // The caller must know which of them ran.
            let error = Arc::new(Error::from(error));
            outcomes.resize_with(arguments.len(), || {
                Err(ProcedureError::NotRun(error.clone()))
            });
        }
        self.log.last_group()
    }

    /// Runs requests until the log refuses one; the error is why.
    fn run_admitted<P: Procedure>(
        &mut self,
        procedure: &P,
        arguments: &[P::Arguments],
        refused: &mut [Option<ProcedureError<P::Error>>],
        outcomes: &mut Vec<Result<P::Output, ProcedureError<P::Error>>>,
    ) -> Result<(), SerialError> {
        let mut located = Vec::with_capacity(LOCATED_TOGETHER);
        for (chunk_number, chunk) in arguments.chunks(LOCATED_TOGETHER).enumerate() {
            let first = chunk_number * LOCATED_TOGETHER;
            if !refused.is_empty() || self.locate(procedure, chunk, &mut located).is_err() {
                let refused = refused.get_mut(first..).unwrap_or_default();
                self.run_singly(procedure, chunk, refused, outcomes)?;
                continue;
            }
            let mut located = located.drain(..).enumerate();
            while let Some((n, one)) = located.next() {
                if let Err(error) = self.admit() {
                    discard(one);
                    discard_all(located);
                    return Err(error);
                }
                outcomes.push(self.run_one(procedure, &chunk[n], one));
            }
        }
        Ok(())
    }

    /// Locates a whole chunk, so that its cache misses overlap. An error is the message of the procedure's
    /// panic: nothing was located then.
    #[inline(always)]
    fn locate<P: Procedure>(
        &self,
        procedure: &P,
        chunk: &[P::Arguments],
        located: &mut Vec<P::Located>,
    ) -> Result<(), String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            procedure.prefetch_all(chunk, self.space);
            let locate = |arguments| procedure.locate(arguments, self.space);
            located.extend(chunk.iter().map(locate));
        }));
        outcome.map_err(|payload| {
            discard_all(located.drain(..));
            message_of(payload)
        })
    }

    /// For a chunk with a request that was refused, or that cannot be located without a panic: each
    /// by itself, so that each gets its own outcome.
    #[cold]
    fn run_singly<P: Procedure>(
        &mut self,
        procedure: &P,
        chunk: &[P::Arguments],
        refused: &mut [Option<ProcedureError<P::Error>>],
        outcomes: &mut Vec<Result<P::Output, ProcedureError<P::Error>>>,
    ) -> Result<(), SerialError> {
        for (n, arguments) in chunk.iter().enumerate() {
            if let Some(error) = refused.get_mut(n).and_then(Option::take) {
                outcomes.push(Err(error));
                continue;
            }
            self.admit()?;
            let mut located = Vec::with_capacity(1);
            let outcome = self.locate(procedure, std::slice::from_ref(arguments), &mut located);
            outcomes.push(match (outcome, located.pop()) {
                (Ok(()), Some(located)) => self.run_one(procedure, arguments, located),
                (Err(message), _) => Err(ProcedureError::Panicked(message)),
                (Ok(()), None) => unreachable!("one is located for one"),
            });
        }
        Ok(())
    }

    /// Runs steps as a transaction each, in their order. Those that the log refuses do not run. Returns the group to wait
    /// for.
    pub(crate) fn run_steps<S: Steps>(&mut self, steps: &mut S) -> u64 {
        let mut count = 0;
        caught(|| count = steps.count());
        for number in 0..count {
            if number % LOCATED_TOGETHER == 0 {
                let end = count.min(number + LOCATED_TOGETHER);
                caught(|| steps.prefetch(number..end, self.space));
            }
            if let Err(error) = self.admit() {
                let error = Arc::new(Error::from(error));
                for left in number..count {
                    caught(|| steps.failed(left, ProcedureError::NotRun(error.clone())));
                }
                break;
            }
            let ran = self.run_closure(|transaction| steps.run(number, transaction));
            if let Err(error) = ran {
                caught(|| steps.failed(number, error));
            }
        }
        self.log.last_group()
    }

    // Always: it is called from the loop over a batch, whose speed it decides.
    #[inline(always)]
    fn run_one<P: Procedure>(
        &mut self,
        procedure: &P,
        arguments: &P::Arguments,
        located: P::Located,
    ) -> Result<P::Output, ProcedureError<P::Error>> {
        self.run_closure(|transaction| procedure.execute(arguments, located, transaction))
    }

    /// Runs a closure as a transaction of a batch.
    #[inline(always)]
    fn run_closure<T, E>(
        &mut self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, ProcedureError<E>> {
        let mut transaction = self.space.begin(self.log.builder());
        let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut transaction)));
        match outcome {
            _ if !self.process.is_current() => {
                transaction.abort();
                Err(ProcedureError::NotRun(Arc::new(SerialError::Forked.into())))
            }
            Ok(Ok(value)) => {
                let wrote = transaction.commit();
                self.ended(wrote);
                Ok(value)
            }
            Ok(Err(error)) => {
                transaction.abort();
                Err(ProcedureError::Aborted(error))
            }
            Err(panic) => {
                transaction.abort();
                Err(ProcedureError::Panicked(message_of(panic)))
            }
        }
    }
}
