//! The kill loop for multi-level transactions: a process runs the complex-object benchmark with several threads under
//! one strategy after the other; some of its transactions it aborts. It is killed at a random instant, its recovery is
//! killed, too, and then every value is compared with the expected one. The witness is outside: it knows the number of
//! acknowledged transactions of each thread, and which ones they were, because a thread's transactions follow from its
//! seed.
//!
//! A thread has at most one transaction more than the acknowledged ones. So the values must be the sum of the
//! acknowledged changes and all changes of a subset of those few: nothing half, nothing twice, nothing of an aborted
//! transaction.

use crate::kill_loop::{Tortured, torture};
use crate::own_directory::OwnDirectory;
use crate::torture::remove;
use anyhow::bail;
use clap::Args;
use sardonyx::disk::GroupLimits;
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Counts, Kills, Life, Subject, acknowledge};
use sardonyx_lab::complex_objects::workload::{Generator, Mix, References, Scale, Transaction};
use sardonyx_lab::complex_objects::{ComplexObjects, Handling, Setting};
use sardonyx_multilevel::{PageLog, Strategy};
use sardonyx_storage::engine::StorageOptions;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Every so many transactions of a thread, one is aborted.
const ABORT_EVERY: u64 = 7;

/// Threads of a life: their last transactions' subsets are tried.
const THREADS_MAX: u64 = 12;

/// Options of `torture-complex`.
#[derive(Args)]
pub struct ComplexTorture {
    /// The number of kills.
    #[arg(long, default_value_t = 96)]
    kills: u64,
    /// The seed of the kills, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that run transactions.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=THREADS_MAX))]
    threads: u64,
    /// The directory of the database; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture-complex.sdx")]
    directory: PathBuf,
}

/// Options of the process that is killed.
#[derive(Args)]
pub struct ComplexVictim {
    directory: PathBuf,
    #[arg(long)]
    life: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    threads: u64,
    /// Only open, and close.
    #[arg(long)]
    recover_only: bool,
}

/// Small, so that transactions conflict.
fn references(seed: u64) -> References {
    let scale = Scale::new(40, 100, 20, 5).expect("a valid scale");
    References::generate(scale, seed)
}

const MIX: Mix = Mix {
    operations: 5,
    own_accesses: 4,
    foreign_accesses: 3,
    update_percent: 50,
};

fn strategy(life: u64) -> Strategy {
    match life % 5 {
        0 => Strategy::SPHERES,
        1 => Strategy::OrderedLog,
        2 => Strategy::SingleLevel,
        3 => Strategy::ForcedSubtransactions,
        // Spheres that are written before the end of any transaction.
        _ => Strategy::PersistenceSpheres { pages_max: 6 },
    }
}

/// A small log, so that it is recycled all the time; lives differ in all else.
fn setting(life: u64) -> Setting {
    let limits = GroupLimits {
        group_bytes: 512 << 10,
        transaction_bytes: 1 << 20,
        ..GroupLimits::default()
    };
    let storage = StorageOptions {
        limits,
        segment_bytes: 4 << 20,
        block_bytes: 64 << 10,
        log_bytes_max: 32 << 20,
        log_bytes_prepared: 16 << 20,
        ..StorageOptions::default()
    };
    Setting {
        processors: 64,
        access_time: Duration::from_micros([0, 20, 200][life as usize % 3]),
        semantic: life % 4 >= 2,
        page_log: match life % 2 {
            0 => PageLog::ByteRanges,
            _ => PageLog::AfterImages,
        },
        handling: Handling::default(),
        storage,
        seed: 0,
    }
}

fn generator(references: &References, seed: u64, life: u64, thread: u64) -> Generator<'_> {
    let seed = (seed << 32) ^ (life << 8) ^ thread;
    Generator::new(references, MIX, seed).expect("a valid mix")
}

fn is_aborted(number: u64) -> bool {
    number % ABORT_EVERY == ABORT_EVERY - 1
}

impl ComplexVictim {
    /// Runs until killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let references = references(self.seed);
        let setting = setting(self.life);
        let strategy = strategy(self.life);
        let objects = ComplexObjects::open(&self.directory, &references, &setting, strategy)?;
        if self.recover_only {
            return Ok(objects.close()?);
        }
        let work = |thread: u64| -> anyhow::Result<()> {
            let mut generator = generator(&references, self.seed, self.life, thread);
            for number in 0.. {
                let transaction = generator.transaction();
                if is_aborted(number) {
                    objects.transact_and_abort(&transaction)?;
                } else {
                    objects.transact(&transaction)?;
                }
                acknowledge(thread, number + 1)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let start = |thread| {
                let work = &work;
                scope.spawn(move || work(thread))
            };
            let threads: Vec<_> = (0..self.threads).map(start).collect();
            for thread in threads {
                match thread.join() {
                    Ok(outcome) => outcome?,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(())
        })
    }
}

/// Values by the subobjects' identity.
type Values = BTreeMap<u64, i64>;

impl ComplexTorture {
    /// Runs the loop; ends with an error at the first value that differs from the committed one.
    pub fn run(&self) -> anyhow::Result<()> {
        let _own = OwnDirectory::take(&self.directory)?;
        let mut lives = Lives {
            torture: self,
            references: references(self.seed),
            life: 0,
            expected: Values::new(),
            acknowledged: 0,
            unacknowledged: 0,
        };
        let kills = Kills {
            recoveries_percent: 40,
            ..Kills::new(self.kills)
        };
        torture(&mut lives, kills, self.seed)?;
        remove(&self.directory)
    }
}

/// The lives of the database.
struct Lives<'a> {
    torture: &'a ComplexTorture,
    references: References,
    life: u64,
    expected: Values,
    acknowledged: u64,
    unacknowledged: u64,
}

impl Subject for Lives<'_> {
    type Event = ();
    type Database = Counts;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<(u64, (), &'static str)> {
        vec![(1, (), "kills")]
    }

    fn start(&mut self) -> anyhow::Result<Counts> {
        let directory = &self.torture.directory;
        remove(directory)?;
        ComplexObjects::make(directory, &self.references, &setting(0))?.close()?;
        Ok(Counts::default())
    }

    fn submit(&mut self, counts: &mut Counts, _: (), random: &mut Random) -> anyhow::Result<()> {
        let life = Life::new(self.victim(self.life)?, random.below(600));
        Ok(life.end(counts, random)?)
    }

    fn recover(&mut self, _: &mut Random) -> anyhow::Result<Option<Command>> {
        // The next life's strategy: any strategy can recover the files of another.
        let mut command = self.victim(self.life + 1)?;
        command.arg("--recover-only");
        Ok(Some(command))
    }

    fn observe(&mut self, counts: &mut Counts, _: bool, _: &mut Random) -> anyhow::Result<()> {
        self.unacknowledged += u64::from(self.check(&counts.first(self.torture.threads))?);
        self.acknowledged += counts.total();
        // A life's transactions follow from its seed, and are counted from 1 on.
        counts.clear();
        self.life += 1;
        Ok(())
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "transactions";

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        vec![("committed without an acknowledgement", self.unacknowledged)]
    }

    fn verdict(&self) -> &'static str {
        "each committed transaction is there once, and each aborted one not at all"
    }
}

impl Lives<'_> {
    fn victim(&self, life: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("complex-victim").arg(&self.torture.directory);
        command.args(["--life", &life.to_string()]);
        command.args(["--seed", &self.torture.seed.to_string()]);
        command.args(["--threads", &self.torture.threads.to_string()]);
        Ok(command)
    }

    /// Compares all values; returns the number of found transactions that were not acknowledged.
    fn check(&mut self, ended: &[u64]) -> anyhow::Result<u32> {
        let Lives {
            torture,
            references,
            life,
            expected,
            ..
        } = self;
        let (life, scale) = (*life, references.scale());
        let mut last = Vec::new();
        for (thread, &ended) in ended.iter().enumerate() {
            let mut generator = generator(references, torture.seed, life, thread as u64);
            for number in 0..=ended {
                let transaction = generator.transaction();
                if is_aborted(number) {
                    continue;
                }
                if number < ended {
                    add(expected, &scale, &transaction);
                } else {
                    last.push(transaction);
                }
            }
        }
        let objects = ComplexObjects::open(
            &torture.directory,
            references,
            &setting(life + 1),
            strategy(life + 1),
        )?;
        let mut found = Values::new();
        for complex_object in 0..scale.complex_objects() {
            let first = u64::from(complex_object) * u64::from(scale.subobjects());
            let values = objects.values(complex_object)?;
            found.extend((first..).zip(values).filter(|(_, value)| *value != 0));
        }
        objects.close()?;
        for subset in 0u32..1 << last.len() {
            let mut with = expected.clone();
            let chosen = last.iter().enumerate();
            for (_, transaction) in chosen.filter(|(number, _)| subset >> number & 1 == 1) {
                add(&mut with, &scale, transaction);
            }
            if with == found {
                *expected = with;
                return Ok(subset.count_ones());
            }
        }
        let wrong = found
            .iter()
            .filter(|(id, value)| expected.get(id) != Some(value));
        bail!(
            "{} values after life {life} under {:?}, of whose threads {ended:?} transactions had \
             ended, are of no set of whole transactions",
            wrong.count(),
            strategy(life),
        );
    }
}

/// Adds the changes of a transaction; a value that is 0 again is removed.
fn add(values: &mut Values, scale: &Scale, transaction: &Transaction) {
    for (subobject, change) in transaction.changes() {
        let identity = scale.identity(subobject);
        let value = values.entry(identity).or_default();
        *value += change;
        if *value == 0 {
            values.remove(&identity);
        }
    }
}
