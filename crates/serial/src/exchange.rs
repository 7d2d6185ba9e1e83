//! Requests in a form of their own, such as the bytes of a connection. They are received and decoded on the
//! threads of the input stage, and answered on those of the output stage. So both stages have the work that
//! the TPK paper gives them, and both can be replicated.
//!
//! An exchange is a batch whose requests are known only when the input stage asks for them. It is answered
//! exactly once, whatever becomes of it: with its outcomes when they are durable (I1), or with why there are
//! none. Its methods are the program's code: a panic in one of them ends there.
//!
//! Source: TPK paper, section 2, "Transaction Input and Output", and section 5.

use crate::batch::{Batch, Job, Outcomes};
use crate::error::SerialError;
use crate::execution::Execution;
use crate::kernel::Shared;
use crate::procedure::{Procedure, Registered};
use sardonyx_base::error::Error;
use sardonyx_base::process::Process;
use sardonyx_base::user_code::{caught, discard, discard_all, message_of};
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::ticket::Claim;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Requests of one client that run as a batch: it receives and decodes them, and sends its own answer.
pub trait Exchange: Send + 'static {
    /// The requested procedure.
    type Procedure: Procedure;

    /// Receives and decodes the requests, on the input stage. May find none.
    fn requests(&mut self, requests: &mut Vec<<Self::Procedure as Procedure>::Arguments>);

    /// Answers, on the output stage: the outcomes in the order of the requests, all of them durable. An error:
    /// the fate of the requests is unknown, or, if the database is closed, none of them ran. Must not wait for
    /// a client, since other clients' answers come after it on the same thread.
    fn answer(&mut self, outcomes: Result<Outcomes<Self::Procedure>, Error>);
}

/// An exchange on its way through the stages.
pub(crate) struct Exchanged<X: Exchange> {
    /// In another process no client is answered.
    process: Process,
    /// Until it is answered.
    exchange: Option<X>,
    batch: Batch<X::Procedure>,
    /// Why it has no requests.
    failed: Option<SerialError>,
    log: Arc<LogWriter>,
}

impl<X: Exchange> Exchanged<X> {
    pub fn new(procedure: Registered<X::Procedure>, exchange: X, log: &Arc<LogWriter>) -> Self {
        Exchanged {
            process: Process::current(),
            exchange: Some(exchange),
            batch: Batch::new(procedure, Vec::new(), None),
            failed: None,
            log: log.clone(),
        }
    }

    fn answer(&mut self, outcomes: Result<Outcomes<X::Procedure>, SerialError>) {
        let Some(mut exchange) = self.exchange.take() else {
            return discard_all(outcomes.into_iter().flatten());
        };
        if !self.process.is_current() {
            return std::mem::forget(exchange);
        }
        caught(|| exchange.answer(outcomes.map_err(Error::from)));
        discard(exchange);
    }
}

impl<X: Exchange> Job for Exchanged<X> {
    fn prepare(&mut self) {
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        let requests = self.batch.requests();
        let decoded = catch_unwind(AssertUnwindSafe(|| exchange.requests(requests)));
        if let Err(panic) = decoded {
            discard_all(requests.drain(..));
            let message = message_of(panic);
            self.failed = Some(SerialError::Panicked { message });
        }
        self.batch.prepare();
    }

    fn execute(&mut self, execution: &mut Execution<'_>) -> u64 {
        match self.batch.requests().is_empty() {
            // There is no group to wait for.
            true => 0,
            false => self.batch.execute(execution),
        }
    }

    fn deliver(&mut self, fate: Result<(), SerialError>) {
        let outcomes = self.batch.take_outcomes();
        match (fate, self.failed.take()) {
            (Ok(()), None) => self.answer(Ok(outcomes)),
            (Err(error), _) | (_, Some(error)) => {
                discard_all(outcomes);
                self.answer(Err(error));
            }
        }
    }
}

impl<X: Exchange> Drop for Exchanged<X> {
    fn drop(&mut self) {
        if self.exchange.is_some() {
            let closed = self.log.check().err();
            self.answer(Err(closed.map_or(SerialError::Closed, SerialError::from)));
        }
    }
}

/// An exchange that was executed where there is no output stage: the answer is owed by who submitted it.
/// Dropped, it answers that its fate is unknown or the database closed.
#[must_use = "the client waits for an answer"]
pub struct Owed<X: Exchange> {
    job: Exchanged<X>,
    claim: Claim<LogWriter>,
    shared: Arc<Shared>,
}

impl<X: Exchange> Owed<X> {
    pub(crate) fn new(job: Exchanged<X>, group: u64, shared: &Arc<Shared>) -> Self {
        let claim = Claim::new(job.log.clone(), Some(group));
        let shared = shared.clone();
        Owed { job, claim, shared }
    }

    /// Waits until the outcomes are durable, and answers.
    pub fn answer(mut self) {
        let fate = self.claim.wait().map_err(SerialError::from);
        let started = Instant::now();
        self.job.deliver(fate);
        self.shared.output_time.add_since(started);
    }
}

impl<X: Exchange> std::fmt::Debug for Owed<X> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owed").finish_non_exhaustive()
    }
}
