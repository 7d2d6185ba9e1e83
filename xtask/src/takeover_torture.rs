//! Hosts of one database whose log is in a store, killed, stopped and asked to hand over: `torture-takeover`. If it has
//! started the store's servers itself, those are killed, too.
//!
//! An outside witness reads every number that any of them acknowledges. None may occur twice: then two hosts would have
//! served at once, or one would have lost an acknowledgement of another. After each event a host must continue. At the
//! end every host's directory is opened in turn, and must have each acknowledged number with its host.

use crate::host_victim::{name_of, numbers_in};
use crate::kill_loop::{Tortured, torture};
use crate::own_directory::OwnDirectory;
use crate::store_servers::{StoreKind, StoreServers, run_with_endpoint};
use crate::takeover_events::{EVENTS, Entry, Event};
use crate::torture::remove;
use anyhow::{Context, bail, ensure};
use clap::Args;
use rustix::process::Signal;
use sardonyx::hosts::{ANY_OTHER, RemoteLog, primary, promote};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Hear, Kills, Report, Subject, Victim, Witness};
use sardonyx_remote::{RemoteOptions, open};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time within which a host must continue after any event.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of requests to a host to take over; each has its part of [`PATIENCE`].
const PROMOTIONS: u32 = 4;

/// Options of `torture-takeover`.
#[derive(Args)]
pub struct TakeoverTorture {
    /// The number of events: a kill of the serving host, of another, of all; a stop; a hand-over; with `--with` also a
    /// kill or a stop of one of the store's servers, and a kill of all of them.
    #[arg(long, default_value_t = 40)]
    kills: u64,
    /// Kills only the serving host, and measures the time until another one acknowledges.
    #[arg(long)]
    takeovers_only: bool,
    /// The seed of the events, their victims and their times, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hosts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=8))]
    hosts: u64,
    /// Clients of the serving host.
    #[arg(long, default_value_t = 4)]
    clients: usize,
    /// Milliseconds without a sign after which a host counts as dead.
    #[arg(long, default_value_t = 2000)]
    wait: u64,
    /// The store: s3://BUCKET/PREFIX, nats://HOST/STREAM, or file:DIRECTORY [default: a directory beside the hosts']
    #[arg(long)]
    store: Option<String>,
    /// Starts this store here, on loopback addresses and with its data next to the hosts' directories, and kills its
    /// servers, too.
    #[arg(long, conflicts_with = "store")]
    with: Option<StoreKind>,
    /// The program of the store's servers [default: nats-server or versitygw]
    #[arg(long, requires = "with")]
    store_program: Option<PathBuf>,
    /// The directory of the hosts' directories; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture-takeover")]
    directory: PathBuf,
    /// The number of events with one database before a new one is begun.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    lives: u64,
}

/// The host of each acknowledged number.
#[derive(Default)]
struct Heard {
    numbers: BTreeMap<u64, u64>,
    /// The count of each host.
    told: BTreeMap<u64, u64>,
}

impl Hear for Heard {
    /// A host reports a number, which none has reported before.
    fn hear(&mut self, report: Report) -> Result<(), String> {
        let Report::Acknowledged {
            worker: host,
            count: number,
        } = report
        else {
            return Ok(());
        };
        *self.told.entry(host).or_default() += 1;
        let before = self.numbers.insert(number, host);
        before.map_or(Ok(()), |before| {
            Err(format!(
                "number {number} was acknowledged by hosts {before} and {host}"
            ))
        })
    }
}

/// Waits until one of these hosts acknowledges more than the counts in `before`; returns the host.
fn wait_for(
    witness: &Witness<Heard>,
    before: &BTreeMap<u64, u64>,
    is_wanted: impl Fn(u64) -> bool,
) -> anyhow::Result<u64> {
    let found = wait_until(witness, Instant::now() + PATIENCE, before, is_wanted)?;
    found.with_context(|| {
        let told = told(witness);
        format!("no host continued within {PATIENCE:?}; the hosts had acknowledged {before:?} numbers, and now {told:?}")
    })
}

/// As [`wait_for`]; `None` if none does before this moment.
fn wait_until(
    witness: &Witness<Heard>,
    until: Instant,
    before: &BTreeMap<u64, u64>,
    is_wanted: impl Fn(u64) -> bool,
) -> anyhow::Result<Option<u64>> {
    let came = witness.wait_until(until, |heard| {
        let new = heard.told.iter().find(|(host, told)| {
            is_wanted(**host) && **told > before.get(host).copied().unwrap_or(0)
        });
        new.map(|(host, _)| *host)
    });
    Ok(came?)
}

/// The count of each host.
fn told(witness: &Witness<Heard>) -> BTreeMap<u64, u64> {
    witness.with(|heard| heard.told.clone())
}

/// The hosts of one database.
struct Arena<'a> {
    torture: &'a TakeoverTorture,
    store: String,
    remote: RemoteLog,
    hosts: Vec<Victim>,
    witness: Witness<Heard>,
}

impl<'a> Arena<'a> {
    fn start(
        torture: &'a TakeoverTorture,
        servers: Option<&StoreServers>,
        life: u64,
    ) -> anyhow::Result<Arena<'a>> {
        remove(&torture.directory)?;
        std::fs::create_dir_all(&torture.directory)?;
        let place = match (&torture.store, servers) {
            (Some(place), _) => place.clone(),
            (None, Some(servers)) => servers.place(),
            (None, None) => format!("file:{}/store", torture.directory.display()),
        };
        let store = format!("{place}/{}-{life}-{}", torture.seed, std::process::id());
        // Tested once.
        let remote = RemoteLog::new(open(&store, &RemoteOptions::from_environment()?)?);
        let mut arena = Arena {
            torture,
            store,
            remote,
            hosts: Vec::new(),
            witness: Witness::default(),
        };
        for host in 0..torture.hosts {
            let host = arena.spawn(host)?;
            arena.hosts.push(host);
        }
        wait_for(&arena.witness, &BTreeMap::new(), |_| true)?;
        Ok(arena)
    }

    fn directory(&self, host: u64) -> PathBuf {
        self.torture
            .directory
            .join(format!("{}.sdx", name_of(host)))
    }

    fn spawn(&self, host: u64) -> anyhow::Result<Victim> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("host-victim").arg(self.directory(host));
        command.args(["--store", &self.store]);
        command.args(["--host", &host.to_string()]);
        command.args(["--wait", &self.torture.wait.to_string()]);
        command.args(["--clients", &self.torture.clients.to_string()]);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(
            self.torture
                .directory
                .join(format!("{}.err", name_of(host))),
        )?;
        Ok(self.witness.start(command.stderr(log))?)
    }

    fn serving(&self) -> anyhow::Result<u64> {
        let record = primary(&self.remote)?.context("a host serves")?;
        let number = record.host.strip_prefix("host-");
        number
            .and_then(|number| number.parse().ok())
            .context("a host's name")
    }

    fn signal(&self, host: u64, signal: Signal) -> anyhow::Result<()> {
        Ok(self.hosts[host as usize].signal(signal)?)
    }

    fn kill(&mut self, host: u64) -> anyhow::Result<()> {
        let victim = &mut self.hosts[host as usize];
        ensure!(victim.ended()?.is_none(), "host {host} ended by itself");
        victim.end()?;
        Ok(())
    }

    fn start_again(&mut self, host: u64) -> anyhow::Result<()> {
        self.hosts[host as usize] = self.spawn(host)?;
        Ok(())
    }

    /// Runs an event, and waits until a host has continued. Returns the time without acknowledgements, if it counts.
    fn suffer(
        &mut self,
        servers: Option<&mut StoreServers>,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<Option<Duration>> {
        std::thread::sleep(Duration::from_millis(random.below(1500)));
        let serving = self.serving()?;
        let other = (serving + 1 + random.below(self.torture.hosts - 1)) % self.torture.hosts;
        let mut time = None;
        match event {
            Event::KillServing => {
                self.kill(serving)?;
                let (killed, before) = (Instant::now(), told(&self.witness));
                wait_for(&self.witness, &before, |host| host != serving)?;
                time = Some(killed.elapsed());
                self.start_again(serving)?;
            }
            Event::KillOther => {
                self.kill(other)?;
                let before = told(&self.witness);
                wait_for(&self.witness, &before, |_| true)?;
                self.start_again(other)?;
            }
            Event::KillAll => {
                (0..self.torture.hosts).try_for_each(|host| self.kill(host))?;
                let before = told(&self.witness);
                (0..self.torture.hosts).try_for_each(|host| self.start_again(host))?;
                wait_for(&self.witness, &before, |_| true)?;
            }
            Event::StopServing => {
                self.signal(serving, Signal::STOP)?;
                let before = told(&self.witness);
                let outcome = wait_for(&self.witness, &before, |host| host != serving);
                // It continues in the middle of its work, and finds itself superseded.
                self.signal(serving, Signal::CONT)?;
                outcome?;
                std::thread::sleep(Duration::from_millis(random.below(1000)));
                let before = told(&self.witness);
                wait_for(&self.witness, &before, |_| true)?;
            }
            Event::Promote => {
                let mut asked = Instant::now();
                let before = told(&self.witness);
                for attempt in 0..PROMOTIONS {
                    // A host that does not take over within the wait is no longer wanted, and must be requested again.
                    promote(&self.remote, &name_of(other))?;
                    asked = Instant::now();
                    let until = asked + PATIENCE / PROMOTIONS;
                    let came = wait_until(&self.witness, until, &before, |host| host == other)?;
                    if came.is_some() {
                        break;
                    }
                    ensure!(
                        attempt + 1 < PROMOTIONS,
                        "host {other} did not take over, though it was asked repeatedly"
                    );
                }
                handed_over(asked);
            }
            Event::Drain => {
                promote(&self.remote, ANY_OTHER)?;
                let before = told(&self.witness);
                wait_for(&self.witness, &before, |host| host != serving)?;
            }
            Event::Terminate | Event::StoreAway => bail!("no event of these hosts"),
            Event::KillStoreServer | Event::KillStore => {
                let servers = servers.context("servers of a store")?;
                self.kill_store(servers, event, random)?;
            }
            Event::StopStoreServer => {
                let servers = servers.context("servers of a store")?;
                self.stop_store_server(servers, random)?;
            }
        }
        Ok(time)
    }

    /// Stops one of the store's servers for a while; when it continues it may still believe that it is the leader.
    fn stop_store_server(&self, servers: &StoreServers, random: &mut Random) -> anyhow::Result<()> {
        let server = random.below(servers.count() as u64) as usize;
        servers.signal(server, Signal::STOP)?;
        std::thread::sleep(Duration::from_millis(100 + random.below(6000)));
        let before = told(&self.witness);
        let outcome = match servers.bears_a_loss() {
            true => wait_for(&self.witness, &before, |_| true).map(drop),
            false => Ok(()),
        };
        servers.signal(server, Signal::CONT)?;
        outcome?;
        let before = told(&self.witness);
        wait_for(&self.witness, &before, |_| true)?;
        Ok(())
    }

    /// Kills one or all of the store's servers, and restarts them a moment later. If others have its data, a host must
    /// continue meanwhile.
    fn kill_store(
        &self,
        servers: &mut StoreServers,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let killed = match event {
            Event::KillStore => 0..servers.count(),
            _ => {
                let one = random.below(servers.count() as u64) as usize;
                one..one + 1
            }
        };
        killed.clone().for_each(|server| servers.kill(server));
        // Earlier answers are read now.
        std::thread::sleep(Duration::from_millis(100 + random.below(3000)));
        if killed.len() < servers.count() && servers.bears_a_loss() {
            let before = told(&self.witness);
            wait_for(&self.witness, &before, |_| true)?;
        }
        for server in killed {
            servers.start_server(server)?;
        }
        let before = told(&self.witness);
        wait_for(&self.witness, &before, |_| true)?;
        Ok(())
    }

    /// Ends all, and checks for every number in every directory. Returns the number of acknowledged ones.
    fn prove(&mut self) -> anyhow::Result<u64> {
        (0..self.torture.hosts).try_for_each(|host| self.kill(host))?;
        self.witness.verdict()?;
        let numbers = self
            .witness
            .with(|heard| std::mem::take(&mut heard.numbers));
        for host in 0..self.torture.hosts {
            let found = numbers_in(&self.directory(host), &self.store)
                .with_context(|| format!("opening {} at the end", name_of(host)))?;
            for (number, by) in &numbers {
                let there = usize::try_from(*number - 1)
                    .ok()
                    .and_then(|at| *found.get(at)?);
                ensure!(
                    there == Some(*by),
                    "number {number} was acknowledged by host {by}; {} has {there:?}",
                    name_of(host)
                );
            }
            let hole = found.iter().position(Option::is_none);
            ensure!(
                hole.is_none(),
                "{} lacks number {hole:?} + 1",
                name_of(host)
            );
        }
        Ok(numbers.len() as u64)
    }
}

/// Hand-overs are printed as they come: there are few.
fn handed_over(since: Instant) {
    eprintln!("handed over in {:.2} s", since.elapsed().as_secs_f64());
}

impl TakeoverTorture {
    /// Runs the loop; ends with an error at the first number that is missing, or acknowledged twice.
    pub fn run(&self) -> anyhow::Result<()> {
        if let Some(kind) = self.with
            && let Some(()) = run_with_endpoint(kind)?
        {
            return Ok(());
        }
        let _own = OwnDirectory::take(&self.directory)?;
        let mut beside = self.directory.clone().into_os_string();
        beside.push("-store");
        let start =
            |kind| StoreServers::start(kind, self.store_program.as_deref(), beside.as_ref());
        let mut lives = Lives {
            torture: self,
            servers: self.with.map(start).transpose()?,
            life: 0,
            acknowledged: 0,
            times: Vec::new(),
        };
        let kills = Kills {
            per_database: self.lives,
            ..Kills::new(self.kills)
        };
        torture(&mut lives, kills, self.seed)?;
        remove(&self.directory)?;
        let times = &mut lives.times;
        times.sort();
        if let (Some(least), Some(most)) = (times.first(), times.last()) {
            let median = times[times.len() / 2];
            println!(
                "from a kill to the next acknowledged number, seconds: {:.2} least, {:.2} median, {:.2} most of {}",
                least.as_secs_f64(),
                median.as_secs_f64(),
                most.as_secs_f64(),
                times.len()
            );
        }
        Ok(())
    }
}

/// The hosts of one database after the other.
struct Lives<'a> {
    torture: &'a TakeoverTorture,
    servers: Option<StoreServers>,
    /// Databases so far.
    life: u64,
    /// Acknowledged numbers of the proved databases.
    acknowledged: u64,
    /// Times from a kill to the next acknowledged number.
    times: Vec<Duration>,
}

impl<'a> Subject for Lives<'a> {
    type Event = Event;
    type Database = Arena<'a>;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<Entry> {
        let events = EVENTS.into_iter().filter(|(_, event, _)| {
            let only = self.torture.takeovers_only && *event != Event::KillServing;
            !only && (self.servers.is_some() || !event.is_of_store())
        });
        events.collect()
    }

    fn start(&mut self) -> anyhow::Result<Arena<'a>> {
        let arena = Arena::start(self.torture, self.servers.as_ref(), self.life)?;
        self.life += 1;
        Ok(arena)
    }

    fn submit(
        &mut self,
        arena: &mut Arena<'a>,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let time = arena.suffer(self.servers.as_mut(), event, random)?;
        self.times.extend(time);
        Ok(())
    }

    fn observe(&mut self, arena: &mut Arena<'a>, ends: bool, _: &mut Random) -> anyhow::Result<()> {
        if ends {
            self.acknowledged += arena.prove().context("the proof of all hosts")?;
        }
        Ok(())
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "numbers";

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged number is on every host, and was acknowledged by one"
    }
}
