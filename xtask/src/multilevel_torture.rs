//! The kill loop for multi-level transactions: a process with several workers is killed at a random instant, its
//! recovery is killed a few times, and then everything is checked. The witness is outside: it knows the last
//! acknowledged transaction of each worker.
//!
//! A worker's journal must have exactly its transactions that commit, in order, up to the last one acknowledged or the
//! one after it. The accounts and the stock must be the result of exactly those transactions. So each is found once and
//! whole, and no other has left a trace. Every life has its own strategy, unless one is given: the format on disk is
//! the same for all.

use crate::kill_loop::{Tortured, torture};
use crate::multilevel_operations::{ACCOUNTS, Plan, WORKERS_MAX};
use crate::multilevel_victim::{Opened, StrategyName, open};
use crate::own_directory::OwnDirectory;
use crate::torture::remove;
use anyhow::ensure;
use clap::{Args, ValueEnum};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Counts, Kills, Life, Subject};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::verify::verify;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Options of `torture-multilevel`.
#[derive(Args)]
pub struct MultilevelTorture {
    /// The number of kills.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// The seed of the kills, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep to one strategy.
    #[arg(long, value_enum)]
    strategy: Option<StrategyName>,
    /// The directory of the database; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture-multilevel.sdx")]
    directory: PathBuf,
    /// Threads that run transactions.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=WORKERS_MAX))]
    workers: u64,
    /// A life is killed after fewer acknowledgements than this.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..))]
    acknowledgements: u64,
}

/// The work that recoveries undid in a run.
#[derive(Default)]
pub struct Met {
    undone_transactions: u64,
    undone_operations: u64,
}

impl MultilevelTorture {
    /// Runs the loop; ends with an error at the first transaction that is missing, found twice, or found in part.
    pub fn run(&self) -> anyhow::Result<()> {
        let _own = OwnDirectory::take(&self.directory)?;
        let mut lives = Lives {
            torture: self,
            journaled: 0,
            met: Met::default(),
        };
        let kills = Kills {
            recoveries_percent: 35,
            ..Kills::new(self.kills)
        };
        torture(&mut lives, kills, self.seed)?;
        remove(&self.directory)
    }
}

/// The lives of the database.
struct Lives<'a> {
    torture: &'a MultilevelTorture,
    journaled: u64,
    met: Met,
}

impl Lives<'_> {
    fn victim(&self, life: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("multilevel-victim")
            .arg(&self.torture.directory);
        command.args(["--life", &life.to_string()]);
        command.args(["--workers", &self.torture.workers.to_string()]);
        let strategy = self.torture.strategy.and_then(|s| s.to_possible_value());
        if let Some(strategy) = strategy {
            command.args(["--strategy", strategy.get_name()]);
        }
        Ok(command)
    }
}

impl Subject for Lives<'_> {
    type Event = ();
    type Database = Counts;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<(u64, (), &'static str)> {
        vec![(1, (), "kills")]
    }

    fn start(&mut self) -> anyhow::Result<Counts> {
        remove(&self.torture.directory)?;
        Ok(Counts::default())
    }

    fn submit(&mut self, counts: &mut Counts, _: (), random: &mut Random) -> anyhow::Result<()> {
        let command = self.victim(random.next())?;
        let life = Life::new(command, random.below(self.torture.acknowledgements));
        Ok(life.end(counts, random)?)
    }

    fn recover(&mut self, random: &mut Random) -> anyhow::Result<Option<Command>> {
        let mut command = self.victim(random.next())?;
        command.arg("--recover-only");
        Ok(Some(command))
    }

    fn observe(&mut self, counts: &mut Counts, _: bool, random: &mut Random) -> anyhow::Result<()> {
        let MultilevelTorture {
            directory,
            strategy,
            ..
        } = self.torture;
        let (life, workers) = (random.next(), WORKERS_MAX);
        let met = &mut self.met;
        self.journaled = check(directory, life, *strategy, (counts, workers), met)?;
        Ok(())
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "transactions";

    fn acknowledged(&self) -> u64 {
        self.journaled
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        vec![
            (
                "unfinished transactions undone",
                self.met.undone_transactions,
            ),
            ("compensations", self.met.undone_operations),
        ]
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged transaction is there once and whole, and no other has left a trace"
    }
}

/// Checks everything, for so many workers. Returns the number of transactions. From then on the found ones count as
/// acknowledged: each worker continues after its last.
pub fn check(
    directory: &Path,
    life: u64,
    strategy: Option<StrategyName>,
    (counts, workers): (&mut Counts, u64),
    met: &mut Met,
) -> anyhow::Result<u64> {
    // A process killed while it created the database has left less than one.
    if counts.total() > 0 {
        verify_sound(directory)?;
    }
    let opened = open(directory, life, strategy)?;
    met.undone_transactions += opened.database.undone().transactions;
    met.undone_operations += opened.database.undone().operations;
    let (mut balances, mut stock) = (vec![0; ACCOUNTS as usize], 0);
    let mut journaled = 0;
    for worker in 0..workers {
        let journal = opened.journal(worker)?;
        check_journal(worker, &journal, counts)?;
        for &(number, change) in &journal {
            for (from, to, amount) in Plan::of(worker, number).transfers {
                balances[from as usize] -= amount;
                balances[to as usize] += amount;
            }
            stock += change;
        }
        journaled += journal.len() as u64;
    }
    let found = opened.balances()?;
    ensure!(
        found == (balances, stock),
        "not what the journaled transactions make of the accounts and the stock: {found:?}"
    );
    let Opened { database, .. } = opened;
    database.close()?;
    Ok(journaled)
}

/// `verify` finds nothing.
pub fn verify_sound(directory: &Path) -> anyhow::Result<()> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory)?);
    let found = verify(&disk, 1 << 30, 1)?;
    ensure!(found.is_sound(), "verify: {:?}", found.findings);
    Ok(())
}

/// A journal has all transactions that commit, up to the last acknowledged one or the one after.
fn check_journal(worker: u64, journal: &[(u64, i64)], counts: &mut Counts) -> anyhow::Result<()> {
    let commit = (1..).filter(|number| !Plan::of(worker, *number).aborts);
    let mut commit = commit.peekable();
    for (nth, (number, change)) in journal.iter().enumerate() {
        let expected = commit.next().expect("without end");
        ensure!(
            *number == expected,
            "worker {worker}: entry {nth} is of transaction {number}, not {expected}"
        );
        let stock = Plan::of(worker, *number).stock;
        ensure!(*change == stock || *change == 0, "{number}: {change}");
    }
    let last = journal.last().map_or(0, |(number, _)| *number);
    let acknowledged = counts.of(worker);
    let after = (acknowledged + 1..).find(|number| !Plan::of(worker, *number).aborts);
    let open = after.map_or(0, |after| after - acknowledged);
    Ok(counts.settle(worker, last, open)?)
}
