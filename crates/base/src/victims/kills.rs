//! The loop of all torture runs: databases, events that strike their processes, killed recoveries, judgements.

use super::drawn;
use crate::random::Random;
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A way of running transactions whose processes are killed again and again.
pub trait Subject {
    /// An event that strikes processes: a kill of one or of all, a stop, a hand-over.
    type Event: Copy;
    /// A database, and what is known of it: its processes, and the transactions that they acknowledged.
    type Database;
    /// Of starting, killing and judging; ends the loop.
    type Error: From<io::Error>;

    /// The events that may strike: relative frequency, event and name.
    fn events(&self) -> Vec<(u64, Self::Event, &'static str)>;

    /// A new database. Processes that outlive events are started.
    ///
    /// # Errors
    /// It cannot be made.
    fn start(&mut self) -> Result<Self::Database, Self::Error>;

    /// Processes submit transactions until the event strikes. Those that live must continue.
    ///
    /// # Errors
    /// A process ended by itself, hangs, or reports what cannot be true; an acknowledged transaction is missing.
    fn submit(
        &mut self,
        database: &mut Self::Database,
        event: Self::Event,
        random: &mut Random,
    ) -> Result<(), Self::Error>;

    /// A process that only recovers. It is killed, or ends before. `None` if processes that live recover a dead one's
    /// transactions.
    ///
    /// # Errors
    /// It cannot be started.
    fn recover(&mut self, _random: &mut Random) -> Result<Option<Command>, Self::Error> {
        Ok(None)
    }

    /// Judges the database after an event. `ends` is true after its last event: then all processes are ended, and the
    /// whole content is judged.
    ///
    /// # Errors
    /// An acknowledged transaction is missing, or one is there twice or in part.
    fn observe(
        &mut self,
        database: &mut Self::Database,
        ends: bool,
        random: &mut Random,
    ) -> Result<(), Self::Error>;

    /// True if this event is the last one of the database.
    fn is_full(&self, _database: &Self::Database) -> bool {
        false
    }
}

/// The number and the moments of events.
#[derive(Clone, Copy, Debug)]
pub struct Kills {
    /// Kills and whatever else a subject does to its processes.
    pub events: u64,
    /// The number of events with one database.
    pub per_database: u64,
    /// After an event a recovery is killed in so many of a hundred cases, and then another one in as many.
    pub recoveries_percent: u64,
    /// A recovery is killed within this time.
    pub recovery: Duration,
}

/// The counts of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Killed {
    /// Events by their names, in the subject's order.
    pub events: Vec<(&'static str, u64)>,
    /// Processes that were killed while they opened the database after an earlier kill.
    pub recoveries: u64,
    /// Databases made one after the other; each was judged at its end.
    pub databases: u64,
}

/// The event at which a run found a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failed<E> {
    /// The event's number, from 1 on; 0 if the first database cannot be started.
    pub event: u64,
    /// As the report lists it.
    pub name: &'static str,
    /// The fault.
    pub error: E,
}

impl Kills {
    /// So many events with one database; no recovery is killed.
    pub fn new(events: u64) -> Kills {
        Kills {
            events,
            per_database: u64::MAX,
            recoveries_percent: 0,
            recovery: Duration::from_millis(60),
        }
    }

    /// Runs the loop; `progress` is called after each judgement.
    ///
    /// # Errors
    /// The errors of the subject, with the event.
    pub fn run<S: Subject>(
        &self,
        random: &mut Random,
        subject: &mut S,
        mut progress: impl FnMut(&S),
    ) -> Result<Killed, Failed<S::Error>> {
        let events = subject.events();
        let mut killed = Killed {
            events: events.iter().map(|(_, _, name)| (*name, 0)).collect(),
            ..Killed::default()
        };
        let (mut done, mut of_this, mut current) = (0, 0, None);
        let mut name = "";
        let outcome = (|| {
            while done < self.events {
                let database = match &mut current {
                    Some(database) => database,
                    none => {
                        (of_this, name) = (0, "the start of the database");
                        killed.databases += 1;
                        none.insert(subject.start()?)
                    }
                };
                let drawn = draw(&events, random);
                let Some((_, event, called)) = events.get(drawn) else {
                    return Ok(());
                };
                name = called;
                done += 1;
                of_this += 1;
                killed.events[drawn].1 += 1;
                subject.submit(database, *event, random)?;
                while random_recovery(self.recoveries_percent, random) {
                    let Some(command) = subject.recover(random)? else {
                        break;
                    };
                    self.kill_recovery(command, random)?;
                    killed.recoveries += 1;
                }
                let is_last = done == self.events || of_this == self.per_database;
                let ends = is_last || subject.is_full(database);
                subject.observe(database, ends, random)?;
                progress(subject);
                if ends {
                    current = None;
                }
            }
            Ok(())
        })();
        match outcome {
            Ok(()) => Ok(killed),
            Err(error) => Err(Failed {
                event: done,
                name,
                error,
            }),
        }
    }

    fn kill_recovery(&self, mut command: Command, random: &mut Random) -> io::Result<()> {
        let mut child = command.stdout(Stdio::null()).spawn()?;
        std::thread::sleep(drawn(random, self.recovery));
        child.kill()?;
        child.wait()?;
        Ok(())
    }
}

/// Draws an event: its place. A single one needs no random number.
fn draw<E>(events: &[(u64, E, &'static str)], random: &mut Random) -> usize {
    if events.len() < 2 {
        return 0;
    }
    let mut point = random.below(events.iter().map(|(weight, ..)| weight).sum());
    let found = events.iter().position(|(weight, ..)| {
        let is_hit = point < *weight;
        point = point.saturating_sub(*weight);
        is_hit
    });
    found.unwrap_or_default()
}

/// No random number is drawn if recoveries are not killed.
fn random_recovery(percent: u64, random: &mut Random) -> bool {
    percent > 0 && random.chance(percent, 100)
}
