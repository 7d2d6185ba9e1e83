//! Debit-credit as an open loop in this process: due requests are submitted, and answers are timed from the intended
//! arrival. See [`crate::open_loop`].
//!
//! A client is a generator. In batches it submits all due requests at once, and a thread of its own waits for the
//! answers. One at a time it runs the due requests, one closure after the other.

use super::requests::Generator;
use super::run::{Load, Measured, Mode, Outcome, Progress, Until, run_closure, watch};
use super::schema::Schema;
use super::transaction::{DebitCredit, Numbered, Refusal};
use crate::open_loop::point::Part;
use crate::open_loop::{Arrivals, Clock, Limits, Point, Service, WallClock, drive};
use sardonyx::procedures::{BatchTicket, Registered};
use sardonyx::{Durability, Error, Tables};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Separates the seeds of requests from those of arrivals.
const ARRIVALS_SEED: u64 = 0x6f70_656e;

/// An open loop of so many arrivals a second over all clients, which are numbered from `first_client` on.
///
/// # Errors
/// The first error that is not a refusal of a single request.
///
/// # Panics
/// The load has no end by time.
pub fn run_open(
    database: &Tables,
    schema: Schema,
    procedure: &Registered<DebitCredit>,
    (load, first_client): (&Load, usize),
    arrival_rate: f64,
    progress: &Progress,
) -> Result<Outcome, Error> {
    let Until::Time(length) = load.until else {
        panic!("an open loop ends after a time");
    };
    let clock = WallClock::since(Instant::now());
    let client = |number: usize| Client {
        database,
        schema,
        procedure,
        load,
        progress,
        clock,
        length,
        number: first_client + number,
        arrivals: arrivals(arrival_rate, load.clients, load.seed, first_client + number),
    };
    let (clients, elapsed, slices) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| {
                let client = client(number);
                scope.spawn(move || client.run())
            })
            .collect();
        let watcher = scope.spawn(|| watch(database, progress));
        let clients: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().expect("a client does not panic"))
            .collect();
        let elapsed = clock.now();
        progress.stop();
        let slices = watcher.join().expect("the watcher does not panic");
        (clients, elapsed, slices)
    });
    let mut outcome = Outcome {
        elapsed,
        slices,
        ..Outcome::default()
    };
    let mut parts = Vec::new();
    for client in clients {
        let (measured, part) = client?;
        outcome.add(measured);
        parts.push(part);
    }
    outcome.points.push(Point::of(arrival_rate, length, &parts));
    Ok(outcome)
}

/// The arrivals of one of so many clients, which together are Poisson of that rate.
pub(super) fn arrivals(rate: f64, clients: usize, seed: u64, number: usize) -> Arrivals {
    let seed = seed.wrapping_add(number as u64) ^ ARRIVALS_SEED;
    Arrivals::new(rate / clients as f64, seed)
}

struct Client<'a> {
    database: &'a Tables,
    schema: Schema,
    procedure: &'a Registered<DebitCredit>,
    load: &'a Load,
    progress: &'a Progress,
    clock: WallClock,
    length: Duration,
    number: usize,
    arrivals: Arrivals,
}

/// A batch in flight, and the intended arrivals of its requests.
struct InFlight {
    ticket: BatchTicket<(), Refusal>,
    due: Vec<Duration>,
}

impl Client<'_> {
    fn run(self) -> Result<(Measured, Part), Error> {
        let outcome = match self.load.mode {
            Mode::Batches { requests, .. } => self.run_batches(requests),
            Mode::OneAtATime => self.run_one_at_a_time(),
        };
        if outcome.is_err() {
            self.progress.stop();
        }
        outcome
    }

    fn limits(&self, together_max: usize) -> Limits {
        Limits {
            length: self.length,
            give_up: 2 * self.length,
            together_max,
        }
    }

    fn generator(&self) -> Generator {
        self.load.generator(self.number)
    }

    fn answers(&self) -> Answers<'_> {
        Answers {
            clock: &self.clock,
            length: self.length,
            progress: self.progress,
            measured: Measured::default(),
            in_time: 0,
        }
    }

    fn run_batches(&self, together_max: usize) -> Result<(Measured, Part), Error> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let answers = self.answers();
            let waiting = scope.spawn(move || answers.wait_for(receiver));
            let mut batches = Batches {
                client: self,
                generator: self.generator(),
                sent: 0,
                drawn: Vec::new(),
                sender,
            };
            let limits = self.limits(together_max);
            let offered = drive(&self.clock, self.arrivals.clone(), limits, &mut batches);
            drop(batches);
            let answers = waiting.join().expect("the waiting thread does not panic")?;
            Ok(answers.ended(offered?))
        })
    }

    fn run_one_at_a_time(&self) -> Result<(Measured, Part), Error> {
        let mut closures = Closures {
            client: self,
            generator: self.generator(),
            procedure: DebitCredit::new(self.schema),
            durability: self.load.durability,
            sent: 0,
            drawn: None,
            answers: self.answers(),
        };
        let offered = drive(
            &self.clock,
            self.arrivals.clone(),
            self.limits(1),
            &mut closures,
        )?;
        Ok(closures.answers.ended(offered))
    }

    fn numbered(&self, generator: &mut Generator, sent: &mut u64) -> Numbered {
        let transaction = ((self.number as u64) << 48) | *sent;
        *sent += 1;
        Numbered {
            transaction,
            request: generator.request(),
        }
    }
}

/// Submits due requests in batches.
struct Batches<'a> {
    client: &'a Client<'a>,
    generator: Generator,
    sent: u64,
    drawn: Vec<Numbered>,
    sender: Sender<InFlight>,
}

impl Service for Batches<'_> {
    type Error = Error;

    fn draw(&mut self, count: usize) {
        let draw = |_| self.client.numbered(&mut self.generator, &mut self.sent);
        self.drawn = (0..count).map(draw).collect();
    }

    fn submit(&mut self, due: &[Duration]) -> Result<(), Error> {
        let (client, drawn) = (self.client, std::mem::take(&mut self.drawn));
        let ticket = client
            .database
            .submit_batch(client.procedure, drawn, client.number);
        let due = due.to_vec();
        // An error means that the waiting thread met one, which it reports.
        let _ = self.sender.send(InFlight { ticket, due });
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.client.progress.is_stopped()
    }
}

/// Runs due requests as closures.
struct Closures<'a> {
    client: &'a Client<'a>,
    generator: Generator,
    procedure: DebitCredit,
    durability: Durability,
    sent: u64,
    drawn: Option<Numbered>,
    answers: Answers<'a>,
}

impl Service for Closures<'_> {
    type Error = Error;

    fn draw(&mut self, _: usize) {
        let client = self.client;
        self.drawn = Some(client.numbered(&mut self.generator, &mut self.sent));
    }

    fn submit(&mut self, due: &[Duration]) -> Result<(), Error> {
        let numbered = self.drawn.take().expect("drawn before it is submitted");
        let Client {
            database, schema, ..
        } = self.client;
        let committed = run_closure(
            database,
            self.durability,
            schema,
            &self.procedure,
            &numbered,
        )?;
        self.answers.came(due, u64::from(committed));
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.client.progress.is_stopped()
    }
}

/// The answers, timed from the intended arrivals.
struct Answers<'a> {
    clock: &'a WallClock,
    length: Duration,
    progress: &'a Progress,
    measured: Measured,
    in_time: u64,
}

impl Answers<'_> {
    fn wait_for(mut self, batches: Receiver<InFlight>) -> Result<Self, Error> {
        for InFlight { ticket, due } in batches {
            let outcomes = match ticket.wait() {
                Ok(outcomes) => outcomes,
                Err(error) => {
                    self.progress.stop();
                    return Err(error);
                }
            };
            let committed = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            self.came(&due, committed as u64);
        }
        Ok(self)
    }

    /// Answers to requests with these intended arrivals came just now.
    fn came(&mut self, due: &[Duration], committed: u64) {
        let now = self.clock.now();
        let count = due.len() as u64;
        self.measured.committed += committed;
        self.measured.refused += count - committed;
        self.measured.acknowledged += count;
        for at in due {
            self.measured.responses.record_n(now - *at, 1);
        }
        if now <= self.length {
            self.in_time += count;
        }
        self.progress.add_committed(committed);
    }

    fn ended(self, offered: crate::open_loop::Offered) -> (Measured, Part) {
        let part = Part {
            offered,
            responses: self.measured.responses.clone(),
            answered_in_time: self.in_time,
        };
        (self.measured, part)
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::load;
    use super::super::proof::prove;
    use super::super::requests::Scale;
    use super::super::schema::code_of;
    use super::*;
    use sardonyx::{Options, Shape};

    /// Figures that depend on no timing: the arrivals are a function of the seed, and all of them are answered,
    /// acknowledged, and found once.
    #[test]
    fn all_that_arrives_is_answered_and_there_once_in_every_shape_and_mode() {
        let pipelined = Shape::Pipelined {
            input_threads: 2,
            output_threads: 2,
        };
        let batches = Mode::Batches {
            requests: 64,
            in_flight: 8,
        };
        let modes = [
            (batches, Durability::Durable),
            (Mode::OneAtATime, Durability::Deferred),
        ];
        for shape in [Shape::Coalesced, pipelined] {
            let directory = tempfile::tempdir().unwrap();
            let options = || Options::new().shape(shape).log_bytes_prepared(0);
            let open = || {
                options()
                    .open_tables(directory.path().join("bank"))
                    .unwrap()
            };
            let database = open();
            let schema = Schema::of(&database).unwrap();
            let scale = Scale::new(1_000, 10, 2).unwrap();
            load(&database, &schema, &scale, |_| {}).unwrap();
            let procedure = database.register(DebitCredit::new(schema)).unwrap();
            let mut outcome = Outcome::default();
            for (at, (mode, durability)) in modes.into_iter().enumerate() {
                let load = Load {
                    scale,
                    clients: 2,
                    mode,
                    until: Until::Time(Duration::from_millis(200)),
                    durability,
                    other_branch_percent: 15,
                    wrong_code_percent: 10,
                    seed: 5,
                };
                let run = run_open(
                    &database,
                    schema,
                    &procedure,
                    (&load, at * 2),
                    5_000.0,
                    &Progress::default(),
                );
                outcome.absorb(run.unwrap());
            }
            assert_eq!(outcome.points.len(), 2);
            for (at, point) in outcome.points.iter().enumerate() {
                let expected: usize = (0..2)
                    .map(|number| arrivals(5_000.0, 2, 5, at * 2 + number))
                    .map(|all| all.take_while(|t| *t < Duration::from_millis(200)).count())
                    .sum();
                assert_eq!(point.arrivals, expected as u64);
                let answered = point.arrivals - point.given_up;
                let acknowledged = &outcome.acknowledged[at * 2..at * 2 + 2];
                assert_eq!(acknowledged.iter().sum::<u64>(), answered);
                assert_eq!(point.responses.unwrap().count, point.arrivals);
            }
            database.close().unwrap();
            let database = open();
            let schema = Schema::of(&database).unwrap();
            let refused = outcome.refused;
            let proof = prove(&database, &schema, &outcome.acknowledged, refused).unwrap();
            assert!(proof.holds(), "{proof:?}");
            // In both modes a wrong code is refused, and changes neither the sums nor the history.
            let acknowledged = outcome.acknowledged.iter().enumerate();
            let wrong: usize = acknowledged
                .map(|(client, &count)| {
                    let drawn = Generator::standard(scale, 5 + client as u64).with_wrong_codes(10);
                    let drawn = drawn.take(count as usize);
                    drawn.filter(|one| one.code != code_of(one.account)).count()
                })
                .sum();
            assert_eq!((refused, refused > 50), (wrong as u64, true));
            let one_less = prove(&database, &schema, &outcome.acknowledged, refused + 1);
            let one_less = one_less.unwrap();
            assert!(!one_less.holds() && one_less.refused_but_there == 1);
        }
    }
}
