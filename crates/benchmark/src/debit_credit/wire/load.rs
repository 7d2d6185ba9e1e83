//! Clients of a server in another process: a closed loop, or an open one. Response times are those of the client,
//! with both ways through the sockets.

use super::address::Address;
use super::client::{Client, ClientError, Receiving, Sending};
use super::message::Answer;
use crate::debit_credit::open_loop::arrivals;
use crate::debit_credit::requests::{Generator, Scale};
use crate::debit_credit::run::{Measured, Outcome, Progress, Until};
use crate::open_loop::point::Part;
use crate::open_loop::{Clock, Limits, Offered, Point, Service, WallClock, drive};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// The load of the clients of a process.
#[derive(Clone, Debug)]
pub struct ClientLoad {
    /// Connections, each with a thread, in an open loop with two.
    pub clients: usize,
    /// Requests that are sent together; in a closed loop `batches_in_flight` times as many are in flight.
    pub batch: usize,
    /// See `batch`.
    pub batches_in_flight: usize,
    /// When to stop.
    pub until: Until,
    /// In an open loop, so many arrivals a second over all clients.
    pub arrival_rate: Option<f64>,
    /// The share of accounts of another branch, in percent.
    pub other_branch_percent: u32,
    /// The share of requests with a wrong code, in percent: they are refused.
    pub wrong_code_percent: u32,
    /// The seed of requests and arrivals.
    pub seed: u64,
}

/// Connects the clients and runs them to the end. Also returns the bank's size. If the server ends before, they end
/// with the answers so far.
///
/// # Errors
/// The first client's [`ClientError`].
pub fn run_clients(
    address: &Address,
    load: &ClientLoad,
    progress: &Progress,
) -> Result<(Outcome, Scale), ClientError> {
    let connected = (0..load.clients).map(|_| Client::connect(address));
    let clients: Vec<Client> = connected.collect::<Result<_, _>>()?;
    let [accounts, tellers, branches] = clients[0].welcome().scale;
    let scale = Scale::new(accounts, tellers, branches).map_err(|error| {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
        ClientError::Connection(error)
    })?;
    let (clock, started) = (WallClock::since(Instant::now()), AtomicU64::new(0));
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|client| {
                let running = Running {
                    load,
                    progress,
                    clock,
                    started: &started,
                    scale,
                };
                scope.spawn(move || match load.arrival_rate {
                    Some(rate) => running.open(client, rate),
                    None => Ok((running.closed(client)?, None)),
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("a client does not panic")
        };
        threads.into_iter().map(join).collect()
    });
    let mut outcome = Outcome {
        elapsed: clock.now(),
        ..Outcome::default()
    };
    let mut parts = Vec::new();
    for result in results {
        let (measured, part) = result?;
        outcome.add(measured);
        parts.extend(part);
    }
    if let (Some(rate), Until::Time(length)) = (load.arrival_rate, load.until) {
        outcome.points.push(Point::of(rate, length, &parts));
    }
    Ok((outcome, scale))
}

/// A client of this process while it runs.
struct Running<'a> {
    load: &'a ClientLoad,
    progress: &'a Progress,
    clock: WallClock,
    /// Requests that clients have started, if a number of them ends the run.
    started: &'a AtomicU64,
    scale: Scale,
}

impl Running<'_> {
    fn generator(&self, client: &Client) -> Generator {
        // Clients of other processes draw others.
        let seed = self.load.seed.wrapping_add(client.welcome().client.into());
        let generator = Generator::new(self.scale, self.load.other_branch_percent, seed);
        let generator = generator.expect("the share was checked");
        generator.with_wrong_codes(self.load.wrong_code_percent)
    }

    /// The number of `wanted` requests that may be sent now.
    fn grant(&self, wanted: usize) -> usize {
        if self.progress.is_stopped() {
            return 0;
        }
        match self.load.until {
            Until::Time(time) if self.clock.now() >= time => 0,
            Until::Time(_) => wanted,
            Until::Transactions(most) => {
                let before = self.started.fetch_add(wanted as u64, Ordering::Relaxed);
                most.saturating_sub(before).min(wanted as u64) as usize
            }
        }
    }

    /// Sends batches, so many at once, each timed from before it is generated to its last answer.
    fn closed(&self, mut client: Client) -> Result<Measured, ClientError> {
        let window = client.welcome().window as usize;
        let batch = self.load.batch.min(window).max(1);
        let in_flight = (window / batch).min(self.load.batches_in_flight).max(1);
        let mut generator = self.generator(&client);
        let mut on_the_way: VecDeque<(Instant, u64)> = VecDeque::with_capacity(in_flight);
        let mut measured = Measured::default();
        let mut ending = false;
        loop {
            while !ending && on_the_way.len() < in_flight {
                let started = Instant::now();
                let granted = self.grant(batch);
                ending = granted == 0;
                if granted > 0 {
                    client.send(generator.by_ref().take(granted))?;
                    on_the_way.push_back((started, granted as u64));
                }
            }
            if on_the_way.is_empty() {
                return Ok(measured);
            }
            let committed = measured.committed;
            match client.receive(|answer| measured.count(answer)) {
                Err(error) if error.is_closing() => return Ok(measured),
                received => received?,
            }
            self.progress.add_committed(measured.committed - committed);
            let mut answered = measured.acknowledged - measured.responses.count();
            while let Some((started, count)) = on_the_way.front()
                && *count <= answered
            {
                measured.responses.record_n(started.elapsed(), *count);
                answered -= count;
                on_the_way.pop_front();
            }
        }
    }

    /// Sends requests as they arrive, and receives on a thread of its own.
    fn open(&self, client: Client, rate: f64) -> Result<(Measured, Option<Part>), ClientError> {
        let Until::Time(length) = self.load.until else {
            unreachable!("an open loop ends after a time");
        };
        let welcome = client.welcome();
        let generator = self.generator(&client);
        let (sending, receiving) = client.split();
        let (sender, due) = mpsc::channel();
        let limits = Limits {
            length,
            give_up: 2 * length,
            together_max: self.load.batch.min(welcome.window as usize).max(1),
        };
        let number = usize::from(welcome.client);
        let arrivals = arrivals(rate, self.load.clients, self.load.seed, number);
        std::thread::scope(|scope| {
            let answers = Answers {
                running: self,
                length,
                receiving,
                due,
                measured: Measured::default(),
                in_time: 0,
            };
            let answering = scope.spawn(move || answers.receive());
            let mut terminal = Terminal {
                generator,
                sending,
                sender,
                progress: self.progress,
            };
            let offered = drive(&self.clock, arrivals, limits, &mut terminal);
            // The receiving thread ends when all is answered.
            drop(terminal.sender);
            terminal.sending.finish();
            let (measured, in_time) = answering.join().expect("does not panic")?;
            let offered: Offered = offered?;
            let part = Part {
                responses: measured.responses.clone(),
                answered_in_time: in_time,
                offered,
            };
            Ok((measured, Some(part)))
        })
    }
}

/// Sends due requests.
struct Terminal<'a> {
    generator: Generator,
    sending: Sending,
    sender: Sender<Vec<Duration>>,
    progress: &'a Progress,
}

impl Service for Terminal<'_> {
    type Error = ClientError;

    fn draw(&mut self, count: usize) {
        self.sending.add(self.generator.by_ref().take(count));
    }

    fn submit(&mut self, due: &[Duration]) -> Result<(), ClientError> {
        // An error means that the receiving thread met one, which it reports.
        let _ = self.sender.send(due.to_vec());
        self.sending.send()
    }

    fn is_stopped(&self) -> bool {
        self.progress.is_stopped()
    }
}

/// Receives answers and times them from the intended arrivals.
struct Answers<'a> {
    running: &'a Running<'a>,
    length: Duration,
    receiving: Receiving,
    due: Receiver<Vec<Duration>>,
    measured: Measured,
    in_time: u64,
}

impl Answers<'_> {
    fn receive(self) -> Result<(Measured, u64), ClientError> {
        let Answers {
            running,
            length,
            mut receiving,
            due,
            mut measured,
            mut in_time,
        } = self;
        let mut batches = due.iter();
        let mut batch: VecDeque<Duration> = VecDeque::new();
        loop {
            while batch.is_empty() {
                match batches.next() {
                    Some(due) => batch = due.into(),
                    None => return Ok((measured, in_time)),
                }
            }
            let (mut came, committed) = (0, measured.committed);
            let received = receiving.receive(batch.len() as u64, |answer| {
                measured.count(answer);
                came += 1;
            });
            let now = running.clock.now();
            in_time += if now <= length { came } else { 0 };
            let mut left = came;
            while left > 0 {
                match batch.pop_front() {
                    Some(at) => {
                        measured.responses.record_n(now.saturating_sub(at), 1);
                        left -= 1;
                    }
                    None => match batches.next() {
                        Some(due) => batch = due.into(),
                        // More answers than requests: no longer needed.
                        None => left = 0,
                    },
                }
            }
            running
                .progress
                .add_committed(measured.committed - committed);
            if let Err(error) = received {
                running.progress.stop();
                return match error.is_closing() {
                    true => Ok((measured, in_time)),
                    false => Err(error),
                };
            }
        }
    }
}

impl Measured {
    /// One more answer.
    #[inline]
    fn count(&mut self, answer: Answer) {
        self.acknowledged += 1;
        match answer {
            Answer::Committed => self.committed += 1,
            _ => self.refused += 1,
        }
    }
}
