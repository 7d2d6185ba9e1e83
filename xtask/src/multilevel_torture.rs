//! The kill loop for multi-level transactions: a process with several workers is killed at a random instant, its
//! recovery is killed a few times, and then everything is checked. The witness is outside: it knows the last
//! acknowledged transaction of each worker.
//!
//! A worker's journal must have exactly its transactions that commit, in order, up to the last one acknowledged or the
//! one after it. The accounts and the stock must be the result of exactly those transactions. So each is found once and
//! whole, and no other has left a trace. Every life has its own strategy, unless one is given: the format on disk is
//! the same for all.

use crate::multilevel_operations::{ACCOUNTS, Plan, WORKERS_MAX};
use crate::multilevel_victim::{Opened, StrategyName, open};
use crate::witness;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::verify::verify;
use sardonyx_workload::random::Random;
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
    /// The directory of the database; removed before and after. It should be on a real disk.
    #[arg(long, default_value = "target/torture-multilevel.sdx")]
    directory: PathBuf,
    /// Threads that run transactions.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=WORKERS_MAX))]
    workers: u64,
    /// A life is killed after fewer acknowledgements than this.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..))]
    acknowledgements: u64,
}

/// The counts of a run.
#[derive(Default)]
pub struct Met {
    recoveries_killed: u64,
    undone_transactions: u64,
    undone_operations: u64,
}

impl MultilevelTorture {
    /// Runs the loop; ends with an error at the first transaction that is missing, found twice, or found in part.
    pub fn run(&self) -> anyhow::Result<()> {
        remove(&self.directory)?;
        let mut random = Random::new(self.seed);
        let mut acknowledged = [0; WORKERS_MAX as usize];
        let progress = ProgressBar::new(self.kills).with_style(ProgressStyle::with_template(
            "{bar:30} {pos}/{len} kills, {msg} journaled",
        )?);
        let mut met = Met::default();
        let mut journaled = 0;
        for kill in 0..self.kills {
            self.live_and_die(random.next_u64(), &mut random, &mut acknowledged)?;
            while random.chance(35) {
                self.recover_and_die(random.next_u64(), &mut random)?;
                met.recoveries_killed += 1;
            }
            let life = random.next_u64();
            journaled = self
                .check(life, &mut acknowledged, &mut met)
                .with_context(|| format!("after kill {} of seed {}", kill + 1, self.seed))?;
            progress.inc(1);
            progress.set_message(journaled.to_string());
        }
        progress.finish_and_clear();
        remove(&self.directory)?;
        println!(
            "{} kills and {} killed recoveries; {journaled} transactions, each there once and \
             whole; {} unfinished ones undone by {} compensations",
            self.kills, met.recoveries_killed, met.undone_transactions, met.undone_operations
        );
        Ok(())
    }

    fn victim(&self, life: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("multilevel-victim").arg(&self.directory);
        command.args(["--life", &life.to_string()]);
        command.args(["--workers", &self.workers.to_string()]);
        if let Some(strategy) = self.strategy.and_then(|s| s.to_possible_value()) {
            command.args(["--strategy", strategy.get_name()]);
        }
        Ok(command)
    }

    /// Starts a process, reads its reports, and kills it after a random number of acknowledgements.
    fn live_and_die(
        &self,
        life: u64,
        random: &mut Random,
        acknowledged: &mut [u64],
    ) -> anyhow::Result<()> {
        let until_kill = random.below(self.acknowledgements);
        let mut command = self.victim(life)?;
        witness::live_and_die(&mut command, life, until_kill, random, acknowledged)
    }

    /// Starts a recovery and kills it at a random point; it may also end before.
    fn recover_and_die(&self, life: u64, random: &mut Random) -> anyhow::Result<()> {
        let mut command = self.victim(life)?;
        command.arg("--recover-only");
        witness::recover_and_die(&mut command, random)
    }

    fn check(&self, life: u64, acknowledged: &mut [u64], met: &mut Met) -> anyhow::Result<u64> {
        check(&self.directory, life, self.strategy, acknowledged, met)
    }
}

/// Checks everything. Returns the number of transactions. From then on the found ones count as acknowledged: each
/// worker continues after its last.
pub fn check(
    directory: &Path,
    life: u64,
    strategy: Option<StrategyName>,
    acknowledged: &mut [u64],
    met: &mut Met,
) -> anyhow::Result<u64> {
    // A process killed while it created the database has left less than one.
    if acknowledged.iter().any(|told| *told > 0) {
        verify_sound(directory)?;
    }
    let opened = open(directory, life, strategy)?;
    met.undone_transactions += opened.database.undone().transactions;
    met.undone_operations += opened.database.undone().operations;
    let (mut balances, mut stock) = (vec![0; ACCOUNTS as usize], 0);
    let mut journaled = 0;
    for (worker, told) in acknowledged.iter_mut().enumerate() {
        let journal = opened.journal(worker as u64)?;
        *told = check_journal(worker as u64, &journal, *told)?;
        for &(number, change) in &journal {
            for (from, to, amount) in Plan::of(worker as u64, number).transfers {
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

/// A journal has all transactions that commit, up to the last acknowledged one or the one after. Returns the last one.
fn check_journal(worker: u64, journal: &[(u64, i64)], told: u64) -> anyhow::Result<u64> {
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
    ensure!(
        told <= last,
        "{told} transactions of worker {worker} were acknowledged, but its journal ends at {last}"
    );
    let after_told = (told + 1..).find(|number| !Plan::of(worker, *number).aborts);
    ensure!(
        last == told || Some(last) == after_told,
        "only {told} transactions of worker {worker} were acknowledged, but its journal ends at {last}"
    );
    Ok(last)
}

fn remove(directory: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
