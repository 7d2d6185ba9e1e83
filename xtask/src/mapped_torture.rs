//! The kill loop for mapped segments: four processes run transactions on one segment with plain loads and stores. One
//! is killed at a random instant, or all at once, with every mechanism, with and without a log. The witness is outside:
//! it knows the acknowledged transactions of each.
//!
//! Checked after every kill: accounts on pages of their own have a constant sum; the transactions of a process are the
//! acknowledged ones, or one more, and whole; the survivors continue. With a log, also after a restart, and by `verify`
//! before it.

use crate::multilevel_torture::verify_sound;
use anyhow::{Context, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx::disk::GroupLimits;
use sardonyx_base::victims::{Counts, Victim, Witness, acknowledge};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, Options, P, Segment};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_workload::random::Random;
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
    /// The directory of the database; removed before and after. Without it, segments have no log.
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
    let grow = random.chance(2);
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

/// A victim, and the number of its worker.
struct Worker {
    number: u64,
    victim: Victim,
}

/// One segment under torture.
struct Arena<'a> {
    options: &'a MappedTorture,
    mechanism: u64,
    place: PathBuf,
    random: Random,
    started: u64,
    witness: Witness,
}

impl MappedTorture {
    /// Runs the loop; ends with an error at the first transaction that is missing or found in part.
    pub fn run(&self) -> anyhow::Result<()> {
        for mechanism in 0..MECHANISMS.len() as u64 {
            let kind = MECHANISMS[mechanism as usize];
            let place = match &self.directory {
                Some(directory) => directory.clone(),
                None => format!("sardonyx-torture-{}-{mechanism}", std::process::id()).into(),
            };
            let mut arena = Arena {
                options: self,
                mechanism,
                place,
                random: Random::new(self.seed.wrapping_add(mechanism)),
                started: 0,
                witness: Witness::default(),
            };
            arena.remove()?;
            let done = arena.torture();
            arena.remove()?;
            let found = done.with_context(|| format!("{kind:?}, seed {}", self.seed))?;
            println!(
                "{kind:?}: {} kills; {found} transactions found, each acknowledged one among them",
                self.kills
            );
        }
        Ok(())
    }
}

impl Arena<'_> {
    fn durable(&self) -> bool {
        self.options.directory.is_some()
    }

    fn open(&self) -> anyhow::Result<Segment> {
        let setting = Setting {
            place: self.place.clone(),
            mechanism: self.mechanism,
            durable: self.durable(),
            shared_memory: None,
        };
        setting.open()
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

    fn start(&mut self) -> anyhow::Result<Worker> {
        let number = self.started;
        self.started += 1;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("mapped-victim").arg(&self.place);
        command.args(["--mechanism", &self.mechanism.to_string()]);
        command.args(["--number", &number.to_string()]);
        let seed = self.options.seed.wrapping_mul(1000).wrapping_add(number);
        command.args(["--seed", &seed.to_string()]);
        if self.durable() {
            command.arg("--durable");
        }
        let victim = self.witness.start(&mut command)?;
        Ok(Worker { number, victim })
    }

    /// Returns when a worker has acknowledged so many more.
    fn goes_on(&self, worker: &Worker, more: u64) -> anyhow::Result<()> {
        let goes_on = self
            .witness
            .goes_on(&worker.victim, [worker.number], more, PATIENCE);
        goes_on.with_context(|| format!("process {}", worker.number))
    }

    /// Judges the transactions of a worker that was killed.
    fn judge(&self, segment: &Segment, mut worker: Worker) -> anyhow::Result<()> {
        worker.victim.end()?;
        self.witness.verdict()?;
        self.witness
            .with(|counts| check(segment, worker.number, counts))
    }

    fn torture(&mut self) -> anyhow::Result<u64> {
        let mut segment = self.open()?;
        prepare(&segment)?;
        let mut workers = Vec::new();
        for _ in 0..self.options.processes {
            workers.push(self.start()?);
        }
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} kills")?;
        let progress = ProgressBar::new(self.options.kills).with_style(style);
        for kill in 0..self.options.kills {
            let victim = self.random.below(workers.len() as u64) as usize;
            let more = self.random.below(300);
            self.goes_on(&workers[victim], more)?;
            std::thread::sleep(Duration::from_micros(self.random.below(500)));
            let all = self.random.chance(10);
            let mut dead = Vec::new();
            if all {
                // As many as possible before they notice.
                for worker in &mut workers {
                    worker.victim.kill()?;
                }
                for mut worker in workers.drain(..) {
                    worker.victim.wait()?;
                    dead.push(worker);
                }
                if self.durable() {
                    drop(segment);
                    verify_sound(&self.place)?;
                    segment = self.open()?;
                }
            } else {
                dead.push(workers.swap_remove(victim));
            }
            for worker in dead {
                let judged = self.judge(&segment, worker);
                judged.with_context(|| format!("after kill {kill}"))?;
            }
            for survivor in &workers {
                self.goes_on(survivor, 1)?;
            }
            while (workers.len() as u64) < self.options.processes {
                workers.push(self.start()?);
            }
            progress.inc(1);
        }
        for worker in workers {
            self.judge(&segment, worker)?;
        }
        progress.finish_and_clear();
        Ok(self.witness.with(|counts| counts.total()))
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
