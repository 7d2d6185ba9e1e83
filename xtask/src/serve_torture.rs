//! `torture-serve`: hosts that are `sardonyx serve` on one store, killed, stopped, ended, asked to hand over, and
//! without their store for a while. The witnesses are PostgreSQL clients with several hosts. The store is a directory,
//! or processes `sardonyx store serve`, which are killed and stopped, too, as are the servers of the etcd that keeps their
//! register.
//!
//! After each event a host must continue, and no host ends by itself. While a host is stopped, the writers continue at
//! another one. A host that was stopped while another one took
//! over is asked by its earlier connections: it must not show the state from before. With `--stale-reads`, following
//! hosts answer reads, and none may be older than that. At the end each acknowledged number is found, and every host
//! serves or follows.
//!
//! With `--other-program`, a host that is started again alternates between two versions of the program: so older and newer
//! ones follow each other, and take over from each other. With `--bases`, bases are made and the log is trimmed beside that.
//!
//! With `--figures` it measures instead. It measures the time until a client with several hosts has its first
//! acknowledged transaction: from a kill of the serving host, from `store drain`, and from a termination signal. It
//! also measures the longest pause of a writer while all hosts are restarted, one after the other. A measurement during
//! which this program was stopped is repeated: its clients were stopped, too.

use crate::kill_loop::{Tortured, torture};
use crate::own_directory::OwnDirectory;
use crate::serve_hosts::{Hosts, name_of};
use crate::serve_store::{ServeStore, ServeStoreKind};
use crate::serve_witness::{Proven, Witness};
use crate::standstill::Standstill;
use crate::store_servers::run_with_endpoint;
use crate::takeover_events::{Entry, Event, SERVE_EVENTS};
use crate::torture::remove;
use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use rustix::process::Signal;
use sardonyx::hosts::{ANY_OTHER, RemoteLog, primary, promote};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Kills, Subject};
use sardonyx_remote::{RemoteOptions, open};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time within which a host must continue after any event.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of requests to a host to take over; each has its part of [`PATIENCE`].
const PROMOTIONS: u32 = 4;
/// A measurement during which this program did not run for longer is discarded, and repeated.
const STANDSTILL_MAX: Duration = Duration::from_secs(1);
/// The most of these measurements.
const STANDSTILLS_MAX: usize = 20;
/// Connections to a host when it is stopped.
const SLEEPERS: usize = 4;

/// Options of `torture-serve`.
#[derive(Args)]
pub struct ServeTorture {
    /// The number of events.
    #[arg(long, default_value_t = 40)]
    events: u64,
    /// Measures so many takeovers, hand-overs of each kind and rolling restarts instead.
    #[arg(long, value_name = "COUNT")]
    figures: Option<usize>,
    /// Measures this one only.
    #[arg(long, value_enum, requires = "figures")]
    only: Option<Measured>,
    /// Keeps the directory, with the log of each host, when a figure is above so many milliseconds, and ends.
    #[arg(long, value_name = "MILLISECONDS", requires = "figures")]
    keep_above: Option<u64>,
    /// Prints the figures as JSON.
    #[arg(long)]
    json: bool,
    /// The seed of the events, their victims and their times.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hosts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=8))]
    hosts: u64,
    /// Writers.
    #[arg(long, default_value_t = 4)]
    writers: usize,
    /// Milliseconds without a sign after which another host takes over.
    #[arg(long, default_value_t = 2000)]
    lease: u64,
    /// Following hosts answer reads of a state that is at most so many milliseconds old; a client of each host reads.
    #[arg(long, value_name = "MILLISECONDS")]
    stale_reads: Option<u64>,
    /// The program [default: `sardonyx` beside this one]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Another version of the program: each host takes the two in turn, one at each of its starts
    #[arg(long)]
    other_program: Option<PathBuf>,
    /// The serving host makes bases, and deletes the log before them
    #[arg(long)]
    bases: bool,
    /// The program of the store's servers [default: nats-server, versitygw or etcd]
    #[arg(long)]
    store_program: Option<PathBuf>,
    /// The store.
    #[arg(long, value_enum, default_value_t = ServeStoreKind::File)]
    store: ServeStoreKind,
    /// The directory of the hosts' directories and the store; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture-serve")]
    directory: PathBuf,
}

/// A time that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Measured {
    /// From a kill of the serving host to the first acknowledged transaction.
    Killed,
    /// The same from `store drain`.
    Drained,
    /// The same from a termination signal.
    Terminated,
    /// All hosts are restarted, one after the other: the longest pause of a writer.
    Rolled,
}

impl Measured {
    /// The event from which the time counts; `None`: it is not one event.
    fn event(self) -> Option<Event> {
        match self {
            Measured::Killed => Some(Event::KillServing),
            Measured::Drained => Some(Event::Drain),
            Measured::Terminated => Some(Event::Terminate),
            Measured::Rolled => None,
        }
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().into())
    }
}

struct Arena {
    hosts: Hosts,
    witness: Witness,
    remote: RemoteLog,
    store: ServeStore,
    questions: usize,
    /// Hosts that were stopped.
    stops: u64,
}

impl ServeTorture {
    /// Runs the events, or measures.
    pub fn run(&self) -> anyhow::Result<()> {
        if let Some(kind) = self.store.servers()
            && let Some(()) = run_with_endpoint(kind)?
        {
            return Ok(());
        }
        let _own = OwnDirectory::take(&self.directory)?;
        match self.figures {
            Some(count) => self.measure(self.start()?, count)?,
            None => {
                let mut served = Served {
                    torture: self,
                    proven: Proven::default(),
                    questions: 0,
                };
                torture(&mut served, Kills::new(self.events), self.seed)?;
            }
        }
        remove(&self.directory)
    }

    fn start(&self) -> anyhow::Result<Arena> {
        remove(&self.directory)?;
        std::fs::create_dir_all(&self.directory)?;
        let directory = self.directory.canonicalize()?;
        let program = match &self.program {
            Some(program) => program.clone(),
            None => std::env::current_exe()?.with_file_name("sardonyx"),
        };
        ensure!(
            program.is_file(),
            "{} does not exist: build the command, or say --program",
            program.display()
        );
        let programs = (&*program, self.store_program.as_deref());
        let store = ServeStore::start(self.store, programs, &directory)?;
        let place = store.place();
        let options = RemoteOptions {
            // Hosts do that.
            changes_copies: false,
            ..RemoteOptions::default()
        };
        let remote = RemoteLog::new(open(&place, &options)?);
        let lease = Duration::from_millis(self.lease);
        let count = usize::try_from(self.hosts)?;
        let stale_reads = self.stale_reads.map(Duration::from_millis);
        if let Some(other) = &self.other_program {
            ensure!(other.is_file(), "{} does not exist", other.display());
        }
        let programs = [Some(program.clone()), self.other_program.clone()];
        let programs: Vec<PathBuf> = programs.into_iter().flatten().collect();
        let options = (lease, stale_reads, self.bases);
        let hosts = Hosts::start(&programs, &directory, &place, options, count)?;
        let witness = Witness::begin(&hosts.ports, self.writers, stale_reads, PATIENCE)?;
        Ok(Arena {
            hosts,
            witness,
            remote,
            store,
            questions: 0,
            stops: 0,
        })
    }

    /// Prints the times that clients waited, each after some load.
    fn measure(&self, mut arena: Arena, count: usize) -> anyhow::Result<()> {
        let all = Measured::value_variants().iter().copied();
        let measured = all.filter(|measured| self.only.is_none_or(|only| only == *measured));
        let (mut figures, mut stops) = (Vec::new(), Vec::new());
        let standstill = Standstill::begin()?;
        let mut random = Random::new(self.seed);
        for measured in measured {
            let (name, event) = (measured.name(), measured.event());
            let mut times = Vec::new();
            while times.len() < count {
                // A host that recovers cannot take over.
                let others = arena.others(arena.serving()?);
                others
                    .iter()
                    .try_for_each(|host| arena.witness.follows(*host, PATIENCE))?;
                standstill.watch();
                let took = match event {
                    Some(event) => arena.suffer(event, &mut random)?.context("a time")?,
                    None => arena.roll()?,
                };
                let stopped = standstill.longest();
                if stopped > STANDSTILL_MAX {
                    ensure!(
                        stops.len() < STANDSTILLS_MAX,
                        "{STANDSTILLS_MAX} measurements failed: this program was stopped for {stops:?} s meanwhile"
                    );
                    stops.push(stopped.as_secs_f64());
                    continue;
                }
                if let Some(most) = self.keep_above.map(Duration::from_millis)
                    && took > most
                {
                    bail!(
                        "{name}: {took:?} is above {most:?}; the logs of the hosts are in {}",
                        self.directory.display()
                    );
                }
                times.push(took.as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            let median = times.get(times.len() / 2).copied().unwrap_or_default();
            let most = times.last().copied().unwrap_or_default();
            if !self.json {
                println!("{name:<12} median {median:.3} s, worst {most:.3} s of {count}");
            }
            figures.push(json!({
                "event": name, "median_seconds": median, "worst_seconds": most, "seconds": times,
            }));
        }
        let acknowledged = arena.prove()?.acknowledged;
        if !self.json && !stops.is_empty() {
            println!("measured again, since this program was stopped meanwhile: {stops:.1?} s");
        }
        if self.json {
            let lease = self.lease as f64 / 1000.0;
            println!(
                "{}",
                json!({
                    "lease_seconds": lease, "hosts": self.hosts, "writers": self.writers,
                    "store": self.store.to_possible_value().map(|kind| kind.get_name().to_string()),
                    "acknowledged": acknowledged, "figures": figures, "measured_again_after_stops_of_seconds": stops,
                })
            );
        }
        Ok(())
    }
}

/// The hosts of a run, and what was proved of them.
struct Served<'a> {
    torture: &'a ServeTorture,
    proven: Proven,
    questions: usize,
}

impl Subject for Served<'_> {
    type Event = Event;
    type Database = Arena;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<Entry> {
        let events = SERVE_EVENTS.into_iter();
        let events = events.filter(|(_, event, _)| self.torture.store.bears(*event));
        events.collect()
    }

    fn start(&mut self) -> anyhow::Result<Arena> {
        self.torture.start()
    }

    fn submit(
        &mut self,
        arena: &mut Arena,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        arena.stops += u64::from(event == Event::StopServing);
        arena.suffer(event, random).map(drop)
    }

    fn observe(&mut self, arena: &mut Arena, ends: bool, _: &mut Random) -> anyhow::Result<()> {
        self.proven.acknowledged = arena.witness.acknowledged();
        self.questions = arena.questions;
        if ends {
            ensure!(
                arena.questions > 0 || arena.stops == 0,
                "no host that was stopped had a connection of before"
            );
            self.proven = arena.prove()?;
        }
        Ok(())
    }
}

impl Tortured for Served<'_> {
    const ACKNOWLEDGED: &'static str = "numbers";

    fn acknowledged(&self) -> u64 {
        self.proven.acknowledged
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        let questions = ("questions to hosts that woke up", self.questions as u64);
        let reads = self.proven.reads_of_followers;
        let reads = reads.map(|reads| ("reads that followers answered", reads));
        [Some(questions), reads].into_iter().flatten().collect()
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged number is there, and every host serves or follows"
    }
}

impl Arena {
    fn serving(&self) -> anyhow::Result<usize> {
        let record = primary(&self.remote)?.context("a host serves")?;
        let number = record.host.strip_prefix("host-");
        number
            .and_then(|number| number.parse().ok())
            .context("a host's name")
    }

    fn others(&self, host: usize) -> Vec<usize> {
        (0..self.hosts.count())
            .filter(|other| *other != host)
            .collect()
    }

    /// Runs an event, and waits until a host has continued. Returns the time, if it counts.
    fn suffer(&mut self, event: Event, random: &mut Random) -> anyhow::Result<Option<Duration>> {
        let outcome = self.run_event(event, random);
        outcome.map_err(|error| self.explained(error))
    }

    /// The error with the register and the answer of each host: an outage may have ended when its logs are read.
    fn explained(&mut self, error: anyhow::Error) -> anyhow::Error {
        let record = primary(&self.remote);
        let hosts: Vec<_> = (0..self.hosts.count())
            .map(|host| match self.hosts.check(host) {
                Ok(()) => format!("{}: {:?}", name_of(host), self.witness.sent_away(host)),
                Err(ended) => ended.to_string(),
            })
            .collect();
        error.context(format!("the register: {record:?}; {}", hosts.join("; ")))
    }

    fn run_event(&mut self, event: Event, random: &mut Random) -> anyhow::Result<Option<Duration>> {
        let all: Vec<usize> = (0..self.hosts.count()).collect();
        self.witness.next(&all, PATIENCE)?;
        std::thread::sleep(Duration::from_millis(300 + random.below(1200)));
        for host in &all {
            self.hosts.check(*host)?;
        }
        let serving = self.serving()?;
        let others = self.others(serving);
        let other = others[random.below(others.len() as u64) as usize];
        let mut time = None;
        match event {
            Event::KillServing => {
                let began = Instant::now();
                self.hosts.kill(serving)?;
                time = Some(self.witness.next(&others, PATIENCE)? - began);
                self.hosts.start_again(serving)?;
            }
            Event::KillOther => {
                self.hosts.kill(other)?;
                self.witness.next(&all, PATIENCE)?;
                self.hosts.start_again(other)?;
            }
            Event::KillAll => {
                all.iter().try_for_each(|host| self.hosts.kill(*host))?;
                all.iter()
                    .try_for_each(|host| self.hosts.start_again(*host))?;
                self.witness.next(&all, PATIENCE)?;
            }
            Event::StopServing => self.stop(serving, &others, random)?,
            Event::Promote => self.hand_over(&name_of(other), &[other]).map(drop)?,
            Event::Drain => {
                let began = Instant::now();
                time = Some(self.hand_over(ANY_OTHER, &others)? - began);
            }
            Event::Terminate => {
                let began = Instant::now();
                self.hosts.signal(serving, Signal::TERM)?;
                time = Some(self.witness.next(&others, PATIENCE)? - began);
                self.hosts.wait_for_end(serving)?;
                self.hosts.start_again(serving)?;
            }
            Event::StoreAway => {
                let time = Duration::from_millis(100 + random.below(6000));
                self.store.leave(|| std::thread::sleep(time))?;
                self.witness.next(&all, PATIENCE)?;
            }
            Event::KillStoreServer | Event::StopStoreServer => {
                let server = usize::try_from(random.below(self.store.servers()))?;
                let time = Duration::from_millis(100 + random.below(4000));
                let goes_on = self.store.bears_a_loss()?;
                let witness = &self.witness;
                self.store.lose(server, event, || {
                    if goes_on {
                        witness.next(&all, PATIENCE)?;
                    }
                    std::thread::sleep(time);
                    Ok(())
                })?;
                self.witness.next(&all, PATIENCE)?;
            }
            other => bail!("{other:?} is no event of these hosts"),
        }
        Ok(time)
    }

    /// Restarts every host, as an upgrade does: the followers, then the one that served, once another one has taken
    /// over. Returns the longest pause of a writer meanwhile.
    fn roll(&mut self) -> anyhow::Result<Duration> {
        let serving = self.serving()?;
        let others = self.others(serving);
        self.witness.watch_pauses();
        others.iter().try_for_each(|host| self.restart(*host))?;
        self.hand_over(ANY_OTHER, &others)?;
        self.restart(serving)?;
        Ok(self.witness.longest_pause())
    }

    /// Ends a follower in order, and starts it again.
    fn restart(&mut self, host: usize) -> anyhow::Result<()> {
        self.witness.follows(host, PATIENCE)?;
        self.hosts.signal(host, Signal::TERM)?;
        self.hosts.wait_for_end(host)?;
        self.hosts.start_again(host)?;
        self.witness.follows(host, PATIENCE)
    }

    /// Makes one of these hosts take over; `to` names them. If none does within the lease, the request is repeated.
    /// Returns when one serves.
    fn hand_over(&self, to: &str, hosts: &[usize]) -> anyhow::Result<Instant> {
        for _ in 1..PROMOTIONS {
            promote(&self.remote, to)?;
            if let Ok(served) = self.witness.next(hosts, PATIENCE / PROMOTIONS) {
                return Ok(served);
            }
        }
        promote(&self.remote, to)?;
        self.witness.next(hosts, PATIENCE / PROMOTIONS)
    }

    /// Stops the serving host until another one serves, and queries it when it wakes up.
    fn stop(
        &mut self,
        serving: usize,
        others: &[usize],
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let sleepers = self.witness.sleepers(serving, SLEEPERS);
        self.hosts.signal(serving, Signal::STOP)?;
        let gone_on = self.witness.next(others, PATIENCE);
        let gone_on = gone_on.and_then(|_| self.witness.writers_continue(PATIENCE));
        std::thread::sleep(Duration::from_millis(random.below(1000)));
        let hosts = &self.hosts;
        let questions = self
            .witness
            .ask(sleepers, || hosts.signal(serving, Signal::CONT));
        gone_on?;
        self.questions += questions?;
        Ok(())
    }

    /// Every host serves or follows, and each acknowledged number is found.
    fn prove(&mut self) -> anyhow::Result<Proven> {
        let proven = self.prove_hosts();
        proven.map_err(|error| self.explained(error))
    }

    fn prove_hosts(&mut self) -> anyhow::Result<Proven> {
        for host in 0..self.hosts.count() {
            let standing = self.witness.serves_or_follows(host, PATIENCE);
            self.hosts.check(host)?;
            standing.with_context(|| format!("{} neither serves nor follows", name_of(host)))?;
        }
        self.witness.prove(PATIENCE)
    }
}
