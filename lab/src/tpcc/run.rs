//! Clients that submit batches of requests, measure, and count the answers.
//!
//! The response time of a transaction is that of its batch: from before its first request was drawn until the client
//! sees the whole batch answered, as in [`sardonyx_benchmark::debit_credit::run`].

use super::draw::Constants;
use super::requests::{Generator, Kind, Request};
use super::scale::Scale;
use super::transactions::{Answer, Refusal, Tpcc};
use crate::processor::processor_time;
use crate::responses::Responses;
use crate::window::{Answered, Window};
use sardonyx::procedures::{ProcedureError, Registered};
use sardonyx::{Error, Tables};
use sardonyx_benchmark::debit_credit::run::{Progress, Until};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The load of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The size of the tables.
    pub scale: Scale,
    /// As the tables were filled.
    pub constants: Constants,
    /// Clients, each a thread.
    pub clients: u32,
    /// Requests in a batch.
    pub batch: usize,
    /// Batches that a client has in flight.
    pub in_flight: usize,
    /// The end of the run.
    pub until: Until,
    /// The seed of the requests.
    pub seed: u64,
}

/// The outcome, for each kind in the order of [`Kind::ALL`].
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Transactions that were committed.
    pub committed: [u64; 5],
    /// New orders that were rolled back because of an unused item.
    pub rolled_back: u64,
    /// Delivered orders.
    pub delivered: u64,
    /// Response times, also of rolled back orders.
    pub responses: [Responses; 5],
    /// Wall time of the run.
    pub elapsed: Duration,
    /// The processor time of the clients' threads. If the stages are coalesced, clients execute their batches.
    pub processor: Duration,
}

impl Outcome {
    /// Committed transactions of all kinds.
    pub fn all(&self) -> u64 {
        self.committed.iter().sum()
    }

    fn merge(&mut self, client: &Outcome) {
        self.rolled_back += client.rolled_back;
        self.delivered += client.delivered;
        self.processor += client.processor;
        for (sum, more) in self.committed.iter_mut().zip(client.committed) {
            *sum += more;
        }
        for (all, more) in self.responses.iter_mut().zip(&client.responses) {
            all.merge(more);
        }
    }
}

/// Runs the clients to the end. Shows new orders as progress.
///
/// # Errors
/// The first error other than the rollback because of an unused item.
pub fn run(
    database: &Tables,
    procedure: &Registered<Tpcc>,
    load: &Load,
    progress: &Progress,
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let requests = AtomicU64::new(0);
    let (clients, elapsed) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| {
                let client = Client {
                    database,
                    procedure,
                    load,
                    progress,
                    requests: &requests,
                    started,
                    generator: Generator::new(
                        load.scale,
                        &load.constants,
                        load.seed,
                        (number, load.clients),
                    ),
                    number,
                    kinds: VecDeque::new(),
                    outcome: Outcome::default(),
                };
                std::thread::Builder::new()
                    .name(format!("client-{number}"))
                    .spawn_scoped(scope, move || client.run())
                    .expect("the system can start a thread")
            })
            .collect();
        let ended: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().expect("a client does not panic"))
            .collect();
        (ended, started.elapsed())
    });
    let mut outcome = Outcome {
        elapsed,
        ..Outcome::default()
    };
    for client in clients {
        outcome.merge(&client?);
    }
    Ok(outcome)
}

struct Client<'a> {
    database: &'a Tables,
    procedure: &'a Registered<Tpcc>,
    load: &'a Load,
    progress: &'a Progress,
    /// Drawn by all clients.
    requests: &'a AtomicU64,
    started: Instant,
    generator: Generator,
    number: u32,
    /// The kinds of the requests in each batch in flight.
    kinds: VecDeque<Vec<Kind>>,
    outcome: Outcome,
}

impl Client<'_> {
    fn run(mut self) -> Result<Outcome, Error> {
        let before = processor_time();
        let ended = self.run_batches();
        self.outcome.processor = processor_time() - before;
        if ended.is_err() {
            self.progress.stop();
        }
        ended.map(|()| self.outcome)
    }

    /// The number of requests of the next batch.
    fn grant(&self) -> usize {
        let wanted = self.load.batch;
        match self.load.until {
            _ if self.progress.is_stopped() => 0,
            Until::Time(time) if self.started.elapsed() >= time => 0,
            Until::Time(_) => wanted,
            Until::Transactions(all) => {
                let before = self.requests.fetch_add(wanted as u64, Ordering::Relaxed);
                all.saturating_sub(before).min(wanted as u64) as usize
            }
        }
    }

    fn run_batches(&mut self) -> Result<(), Error> {
        let mut window = Window::new(self.load.in_flight);
        loop {
            let started = Instant::now();
            let granted = self.grant();
            if granted > 0 {
                let now = microseconds();
                let batch: Vec<Request> =
                    (0..granted).map(|_| self.generator.request(now)).collect();
                self.kinds
                    .push_back(batch.iter().map(Request::kind).collect());
                let lane = self.number as usize;
                window.push(
                    self.database.submit_batch(self.procedure, batch, lane),
                    started,
                );
            }
            while let Some(answered) = window.pop(granted == 0)? {
                self.finish(answered)?;
            }
            if granted == 0 {
                return Ok(());
            }
        }
    }

    fn finish(&mut self, batch: Answered<Answer, Refusal>) -> Result<(), Error> {
        let took = batch.started.elapsed();
        let kinds = self.kinds.pop_front().expect("one for each batch");
        let mut answered = [0; 5];
        let before = self.outcome.all();
        for (kind, outcome) in kinds.into_iter().zip(batch.outcomes) {
            answered[kind as usize] += 1;
            match outcome {
                Ok(Answer::Delivery(delivered)) => self.outcome.delivered += u64::from(delivered),
                Ok(_) => {}
                Err(ProcedureError::Aborted(Refusal::UnusedItem { .. })) => {
                    self.outcome.rolled_back += 1;
                    continue;
                }
                Err(error) => return Err(Error::other(error)),
            }
            self.outcome.committed[kind as usize] += 1;
        }
        for (responses, count) in self.outcome.responses.iter_mut().zip(answered) {
            responses.record_n(took, count);
        }
        self.progress.add_committed(self.outcome.all() - before);
        Ok(())
    }
}

/// Since 1970.
fn microseconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros() as i64)
}
