//! An exchange with a client: the bytes that arrived on its connection, and the answers to it.

use super::connection::Connection;
use crate::debit_credit::prelocated::{Directory, Prelocated};
use crate::debit_credit::transaction::{DebitCredit, Numbered, Refusal};
use sardonyx::Error;
use sardonyx::procedures::{Exchange, Outcomes, Procedure};
use std::sync::Arc;
use std::time::Instant;

/// The part of the input stage after decoding: from requests to the procedure's arguments.
pub type Preparing<P> =
    Arc<dyn Fn(&[Numbered], &mut Vec<<P as Procedure>::Arguments>) + Send + Sync>;

/// The transaction takes decoded requests, and locates their records itself.
pub fn as_decoded() -> Preparing<DebitCredit> {
    Arc::new(|calls, requests| requests.extend_from_slice(calls))
}

/// The records of requests are located on the input stage.
pub fn located(directory: Directory) -> Preparing<Prelocated> {
    Arc::new(move |calls, requests| {
        let located = |call: &Numbered| (*call, directory.locate(&call.request));
        requests.extend(calls.iter().map(located));
    })
}

/// The bytes that arrived on a connection at one moment.
pub(super) struct Visit<P: Procedure> {
    connection: Arc<Connection>,
    preparing: Preparing<P>,
    /// The time at which its requests were received: the TPK paper's time stamp, which the output thread reads.
    came: Option<Instant>,
    requests: usize,
}

impl<P: Procedure> Visit<P> {
    /// A visit that is received when the input stage reaches it.
    pub fn new(connection: Arc<Connection>, preparing: Preparing<P>) -> Self {
        connection.shared().visits.enter();
        Visit {
            connection,
            preparing,
            came: None,
            requests: 0,
        }
    }
}

impl<P: Procedure<Output = (), Error = Refusal>> Exchange for Visit<P> {
    type Procedure = P;

    fn requests(&mut self, requests: &mut Vec<P::Arguments>) {
        let mut calls = Vec::new();
        self.came = self.connection.receive(&mut calls);
        self.requests = calls.len();
        requests.reserve(calls.len());
        (self.preparing)(&calls, requests);
    }

    fn answer(&mut self, outcomes: Result<Outcomes<P>, Error>) {
        match (outcomes, self.came) {
            (Ok(outcomes), Some(came)) => self.connection.answer(outcomes, came),
            (Ok(_), None) => {}
            (Err(error), _) => self.connection.fail(error, self.requests),
        }
    }
}

impl<P: Procedure> Drop for Visit<P> {
    fn drop(&mut self) {
        self.connection.shared().visits.leave();
    }
}
