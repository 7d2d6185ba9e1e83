//! The transactions that wait for a lock on a node, and since when.

use super::pages::PageMap;
use crate::signal::Signal;
use crate::time::Time;
use sardonyx_sharing::protocol::{NodeId, PageSource, Psn, TransactionId};

/// The answer to a transaction that requested a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has the lock; version `psn` is the newest, and `source` has it.
    Granted {
        /// The newest committed version.
        psn: Psn,
        /// The page's source.
        source: PageSource,
    },
    /// It is a deadlock's victim.
    Victim,
}

/// The transactions of a node that have requested a lock and not yet continued.
#[derive(Default)]
pub struct Waiting(PageMap<Request>);

struct Request {
    answer: Option<Answer>,
    signal: Option<Signal<Answer>>,
    times: Times,
}

/// The known times of a request.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The time of the request.
    pub since: Time,
    /// The time when its transaction began to wait for another one, if it did, as far as its node knows.
    pub blocked: Option<Time>,
    /// The time when its page was requested from another node.
    pub page_requested: Option<Time>,
}

impl Waiting {
    /// The transaction is about to ask for a lock.
    pub fn ask(&mut self, transaction: TransactionId, now: Time) {
        let request = Request {
            answer: None,
            signal: None,
            times: Times {
                since: now,
                blocked: None,
                page_requested: None,
            },
        };
        self.0.insert(transaction.number(), request);
    }

    /// It is answered; the process that waits on the request's signal continues.
    ///
    /// # Panics
    /// If it has not asked: the protocol answers each request once.
    pub fn answer(&mut self, transaction: TransactionId, answer: Answer) {
        let request = self.0.get_mut(&transaction.number()).expect("it has asked");
        match request.signal.take() {
            Some(signal) => signal.fire(answer),
            None => request.answer = Some(answer),
        }
    }

    /// The answer, if it has come; else the signal to wait for is `signal`.
    pub fn answered_or(
        &mut self,
        transaction: TransactionId,
        signal: impl FnOnce() -> Signal<Answer>,
    ) -> Result<Answer, Signal<Answer>> {
        let request = self.0.get_mut(&transaction.number()).expect("it has asked");
        match request.answer.take() {
            Some(answer) => Ok(answer),
            None => Err(request.signal.insert(signal()).clone()),
        }
    }

    /// The request's times, to note more of them.
    pub fn times(&mut self, transaction: TransactionId) -> Option<&mut Times> {
        self.0
            .get_mut(&transaction.number())
            .map(|request| &mut request.times)
    }

    /// The transaction goes on.
    pub fn done(&mut self, transaction: TransactionId) -> Times {
        self.0
            .remove(&transaction.number())
            .expect("it has asked")
            .times
    }

    /// The transactions of `node`, which this is, that have waited since `before` or longer, in the
    /// order of their numbers (I11).
    pub fn long(&self, node: NodeId, before: Time) -> Vec<TransactionId> {
        let waits = self
            .0
            .iter()
            .filter(|(_, request)| request.signal.is_some() && request.times.since <= before);
        let mut long: Vec<_> = waits
            .map(|(&number, _)| TransactionId::new(node, number))
            .collect();
        long.sort_unstable();
        long
    }
}
