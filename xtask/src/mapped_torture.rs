//! The kill loop for mapped segments: four processes run transactions on one segment with plain loads and stores. One
//! is killed at a random instant, or all at once, with every mechanism, with and without a log. The witness is outside:
//! it knows the acknowledged transactions of each.
//!
//! Checked after every kill: accounts on pages of their own have a constant sum; the transactions of a process are the
//! acknowledged ones, or one more, and whole; the survivors continue. With a log, also after a restart, and by `verify`
//! before it.

use crate::kill_loop::{Tortured, torture};
use crate::multilevel_torture::verify_sound;
use crate::own_directory::OwnDirectory;
use anyhow::{Context, ensure};
use clap::Args;
use sardonyx::disk::GroupLimits;
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Counts, Kills, Subject, Victim, Witness, acknowledge};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, Options, P, Segment};
use sardonyx_storage::engine::StorageOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PAGE: u64 = 4096;
const ACCOUNTS: std::ops::Range<u64> = 480..544;
const EACH: u64 = 1_000_000;
const COUNTERS: u64 = 600;
const PAGES: u64 = 8192;
/// The number of counters with room, and so the most processes of one segment.
const WORKERS_MAX: u64 = PAGES - COUNTERS;
/// A survivor without progress for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options of `torture-mapped`.
#[derive(Args)]
pub struct MappedTorture {
    /// The number of kills with each mechanism.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// The seed of the kills, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processes at once.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..=64))]
    processes: u64,
    /// The directory of the database; removed before and after, so it must be new or of an earlier run. Without it, segments have no log.
    #[arg(long)]
    directory: Option<PathBuf>,
}

/// Options of the process that is killed.
#[derive(Args)]
pub struct MappedVictim {
    #[command(flatten)]
    setting: Setting,
    #[arg(long)]
    number: u64,
    #[arg(long)]
    seed: u64,
    /// Only open, and prepare the shared state.
    #[arg(long)]
    recover_only: bool,
}

/// The options of a segment.
#[derive(Args, Clone, Debug)]
pub struct Setting {
    place: PathBuf,
    #[arg(long)]
    mechanism: u64,
    /// It has a log; the place is its directory.
    #[arg(long)]
    durable: bool,
    /// The directory of the shared memory, if not the default one.
    #[arg(long)]
    shared_memory: Option<PathBuf>,
}

const MECHANISMS: [MechanismKind; 3] = [
    MechanismKind::Asynchronous,
    MechanismKind::Signal,
    MechanismKind::Explicit,
];

fn word(page: u64, index: u64) -> P<u64> {
    P::from_offset(page * PAGE + index * 8)
}

impl Setting {
    /// Opens the segment: with the smallest ring and a small log, so that both wrap all the time.
    fn open(&self) -> anyhow::Result<Segment> {
        let storage = StorageOptions {
            segment_bytes: 8 << 20,
            block_bytes: 64 << 10,
            log_bytes_max: 64 << 20,
            log_bytes_prepared: 16 << 20,
            limits: GroupLimits {
                group_bytes: 512 << 10,
                transaction_bytes: 4 << 20,
                ..GroupLimits::default()
            },
            ..StorageOptions::default()
        };
        let mut options = Options::new()
            .mechanism(MECHANISMS[self.mechanism as usize])
            .versions_bytes(1)
            .address_space_bytes(1 << 30)
            .storage(storage);
        if let Some(directory) = &self.shared_memory {
            options = options.shared_memory(directory);
        }
        Ok(if self.durable {
            options.open(&self.place)?
        } else {
            options.open_volatile(&self.place.to_string_lossy())?
        })
    }

    /// `verify` finds nothing, and the acknowledged transactions of each of so many processes are found.
    pub fn judge(&self, counts: &mut Counts, processes: u64) -> anyhow::Result<()> {
        // Killed during its creation, it may be less than a database.
        if counts.total() > 0 {
            verify_sound(&self.place)?;
        }
        let segment = self.open()?;
        prepare(&segment)?;
        (0..processes).try_for_each(|number| check(&segment, number, counts))
    }
}

/// Sets the accounts' initial balances, unless they have them.
fn prepare(segment: &Segment) -> anyhow::Result<()> {
    let prepared = segment.run(|tx| -> anyhow::Result<()> {
        if tx.length() < PAGES * PAGE {
            tx.grow_to(PAGES * PAGE)?;
        }
        // All or none of them were written.
        let mut written = false;
        for page in ACCOUNTS {
            written |= tx.read(word(page, 0))? != 0;
        }
        for page in ACCOUNTS.filter(|_| !written) {
            tx.write(word(page, 0), EACH)?;
        }
        Ok(())
    });
    Ok(prepared?)
}

impl MappedVictim {
    /// Runs until killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let segment = self.setting.open()?;
        prepare(&segment)?;
        if self.recover_only {
            return Ok(());
        }
        let mut random = Random::new(self.seed);
        loop {
            let count = transfer(&segment, self.number, &mut random)?;
            acknowledge(self.number, count)?;
        }
    }
}

/// Moves money between some accounts, and counts on a page of its own.
fn transfer(segment: &Segment, number: u64, random: &mut Random) -> anyhow::Result<u64> {
    let hops = 1 + random.below(4);
    let accounts: Vec<u64> = (0..=hops)
        .map(|_| ACCOUNTS.start + random.below(ACCOUNTS.end - ACCOUNTS.start))
        .collect();
    let last = [2, 40, 512][random.below(3) as usize];
    let grow = random.chance(2, 100);
    let counter = COUNTERS + number % WORKERS_MAX;
    let count = segment.run(|tx| -> anyhow::Result<u64> {
        for pair in accounts.windows(2) {
            *tx.get_mut(word(pair[0], 0))? -= 1;
            *tx.get_mut(word(pair[1], 0))? += 1;
        }
        let count = tx.read(word(counter, 0))? + 1;
        for index in 0..last {
            tx.write(word(counter, index), count)?;
        }
        if grow && tx.length() < 256 << 20 {
            let bytes = tx.length() + PAGE;
            tx.grow_to(bytes)?;
        }
        Ok(count)
    })?;
    Ok(count)
}

struct Worker {
    number: u64,
    victim: Victim,
}

/// A kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    One,
    All,
}

impl MappedTorture {
    /// Runs the loop with each mechanism; ends with an error at the first transaction that is missing or found in part.
    pub fn run(&self) -> anyhow::Result<()> {
        let directory = self.directory.as_deref();
        let _own = directory.map(OwnDirectory::take).transpose()?;
        for (mechanism, kind) in (0..).zip(MECHANISMS) {
            let place = match &self.directory {
                Some(directory) => directory.clone(),
                None => format!("sardonyx-torture-{}-{mechanism}", std::process::id()).into(),
            };
            let mut lives = Lives {
                options: self,
                mechanism,
                place,
                acknowledged: 0,
            };
            println!("{kind:?}");
            let seed = self.seed.wrapping_add(mechanism);
            let done = torture(&mut lives, Kills::new(self.kills), seed);
            // A segment without a log would stay in memory.
            lives.remove()?;
            done.with_context(|| format!("{kind:?}, seed {}", self.seed))?;
        }
        Ok(())
    }
}

/// The segments of a mechanism.
struct Lives<'a> {
    options: &'a MappedTorture,
    mechanism: u64,
    place: PathBuf,
    /// Found and acknowledged transactions.
    acknowledged: u64,
}

impl Lives<'_> {
    fn durable(&self) -> bool {
        self.options.directory.is_some()
    }

    fn remove(&self) -> anyhow::Result<()> {
        let removed = match self.durable() {
            true => std::fs::remove_dir_all(&self.place),
            false => std::fs::remove_file(Path::new("/dev/shm").join(&self.place)),
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// One segment under torture.
struct Arena<'a> {
    options: &'a MappedTorture,
    setting: Setting,
    /// Closed while all are dead.
    segment: Option<Segment>,
    workers: Vec<Worker>,
    started: u64,
    witness: Witness,
}

impl Arena<'_> {
    fn segment(&self) -> anyhow::Result<&Segment> {
        self.segment.as_ref().context("an open segment")
    }

    /// Opens the segment; one with a log is verified before.
    fn open(&mut self) -> anyhow::Result<()> {
        if self.segment.take().is_some() {
            verify_sound(&self.setting.place)?;
        }
        self.segment = Some(self.setting.open()?);
        Ok(())
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let number = self.started;
        self.started += 1;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("mapped-victim").arg(&self.setting.place);
        command.args(["--mechanism", &self.setting.mechanism.to_string()]);
        command.args(["--number", &number.to_string()]);
        let seed = self.options.seed.wrapping_mul(1000).wrapping_add(number);
        command.args(["--seed", &seed.to_string()]);
        if self.setting.durable {
            command.arg("--durable");
        }
        let victim = self.witness.start(&mut command)?;
        self.workers.push(Worker { number, victim });
        Ok(())
    }

    fn start_missing(&mut self) -> anyhow::Result<()> {
        while (self.workers.len() as u64) < self.options.processes {
            self.start()?;
        }
        Ok(())
    }

    /// Returns when a worker has acknowledged so many more.
    fn goes_on(&self, worker: &Worker, more: u64) -> anyhow::Result<()> {
        let goes_on = self
            .witness
            .goes_on(&worker.victim, [worker.number], more, PATIENCE);
        goes_on.with_context(|| format!("process {}", worker.number))
    }

    /// Judges the transactions of a worker that was killed.
    fn judge(&self, mut worker: Worker) -> anyhow::Result<()> {
        worker.victim.end()?;
        self.witness.verdict()?;
        let segment = self.segment()?;
        self.witness
            .with(|counts| check(segment, worker.number, counts))
    }

    /// Kills all: as many as possible before they notice.
    fn kill_all(&mut self) -> anyhow::Result<Vec<Worker>> {
        for worker in &mut self.workers {
            worker.victim.kill()?;
        }
        let mut dead = std::mem::take(&mut self.workers);
        for worker in &mut dead {
            worker.victim.wait()?;
        }
        Ok(dead)
    }
}

impl<'a> Subject for Lives<'a> {
    type Event = Event;
    type Database = Arena<'a>;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<(u64, Event, &'static str)> {
        vec![
            (9, Event::One, "one process killed"),
            (1, Event::All, "all processes killed"),
        ]
    }

    fn start(&mut self) -> anyhow::Result<Arena<'a>> {
        self.remove()?;
        let mut arena = Arena {
            options: self.options,
            setting: Setting {
                place: self.place.clone(),
                mechanism: self.mechanism,
                durable: self.durable(),
                shared_memory: None,
            },
            segment: None,
            workers: Vec::new(),
            started: 0,
            witness: Witness::default(),
        };
        arena.open()?;
        prepare(arena.segment()?)?;
        arena.start_missing()?;
        Ok(arena)
    }

    fn submit(
        &mut self,
        arena: &mut Arena<'a>,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let victim = random.below(arena.workers.len() as u64) as usize;
        arena.goes_on(&arena.workers[victim], random.below(300))?;
        std::thread::sleep(Duration::from_micros(random.below(500)));
        let dead = match event {
            Event::One => vec![arena.workers.swap_remove(victim)],
            Event::All => {
                let dead = arena.kill_all()?;
                if arena.setting.durable {
                    arena.open()?;
                }
                dead
            }
        };
        dead.into_iter().try_for_each(|dead| arena.judge(dead))?;
        for survivor in &arena.workers {
            arena.goes_on(survivor, 1)?;
        }
        Ok(())
    }

    fn observe(&mut self, arena: &mut Arena<'a>, ends: bool, _: &mut Random) -> anyhow::Result<()> {
        if ends {
            let workers = std::mem::take(&mut arena.workers);
            workers.into_iter().try_for_each(|one| arena.judge(one))?;
        } else {
            arena.start_missing()?;
        }
        self.acknowledged = arena.witness.with(|counts| counts.total());
        Ok(())
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "transactions";

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged transaction is there, and none in part"
    }
}

fn check(segment: &Segment, number: u64, counts: &mut Counts) -> anyhow::Result<()> {
    let snapshot = segment.snapshot()?;
    let mut sum = 0;
    for page in ACCOUNTS {
        sum += snapshot.read(word(page, 0))?;
    }
    let expected = EACH * (ACCOUNTS.end - ACCOUNTS.start);
    ensure!(
        sum == expected,
        "the accounts have {sum} and should have {expected}"
    );
    let counter = COUNTERS + number % WORKERS_MAX;
    let count = snapshot.read(word(counter, 0))?;
    let second = snapshot.read(word(counter, 1))?;
    ensure!(
        count == second,
        "a transaction of process {number} is there in part"
    );
    Ok(counts.settle(number, count, 1)?)
}
