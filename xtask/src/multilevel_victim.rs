//! The process that torture-multilevel kills: workers that run multi-level transactions and report to the witness, over
//! the standard output, the number of each committed one.

use crate::multilevel_operations::{
    ACCOUNT_PAGES, Audit, Places, Plan, ReadJournal, Restock, Transfer, WORKERS_MAX, Write,
};
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use sardonyx_base::victims::acknowledge;
use sardonyx_multilevel::{
    CallError, CommitError, Database, Options, PageLog, Release, Stop, Strategy, Transaction,
};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_workload::random::Random;
use std::path::{Path, PathBuf};

/// Options of the process that is killed.
#[derive(Args)]
pub struct MultilevelVictim {
    path: PathBuf,
    #[arg(long)]
    workers: u64,
    /// The seed of the strategy, unless that is given, and of the other choices.
    #[arg(long)]
    life: u64,
    #[arg(long)]
    strategy: Option<StrategyName>,
    /// Only open, and close.
    #[arg(long)]
    recover_only: bool,
}

/// A strategy by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StrategyName {
    /// S1.
    SingleLevel,
    /// S2.
    ForcedSubtransactions,
    /// S2/PS.
    PersistenceSpheres,
    /// S2/PS with spheres of two pages, so that they are written all the time.
    SmallSpheres,
    /// The default.
    OrderedLog,
}

impl StrategyName {
    fn strategy(self) -> Strategy {
        match self {
            StrategyName::SingleLevel => Strategy::SingleLevel,
            StrategyName::ForcedSubtransactions => Strategy::ForcedSubtransactions,
            StrategyName::PersistenceSpheres => Strategy::SPHERES,
            StrategyName::SmallSpheres => Strategy::PersistenceSpheres { pages_max: 2 },
            StrategyName::OrderedLog => Strategy::OrderedLog,
        }
    }
}

/// Opens the database with the options of `life` and a small log, so that it is recycled all the time.
pub fn open(path: &Path, life: u64, strategy: Option<StrategyName>) -> anyhow::Result<Opened> {
    let mut random = Random::new(life);
    let all = StrategyName::value_variants();
    let any = all[random.below(all.len() as u64) as usize];
    let choose = |one: bool| if one { 0 } else { 1 };
    let storage = StorageOptions {
        segment_bytes: 320 << 10,
        block_bytes: 64 << 10,
        log_bytes_max: 3 << 20,
        log_bytes_prepared: 640 << 10,
        memory_bytes_max: 256 << 20,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 192 << 10,
            ..GroupLimits::default()
        },
        threaded: random.chance(75),
        ..StorageOptions::default()
    };
    let database = Options::new()
        .strategy(strategy.unwrap_or(any).strategy())
        .page_log([PageLog::ByteRanges, PageLog::AfterImages][choose(random.chance(65))])
        .release([Release::Appended, Release::Durable][choose(random.chance(65))])
        .register::<Transfer>()
        .register::<Restock>()
        .register::<Write>()
        .storage(storage)
        .open(path)?;
    let places = Places {
        accounts: database.area("accounts", ACCOUNT_PAGES)?,
        journals: database.area("journals", 2 * WORKERS_MAX)?,
        stock: database.area("stock", 1)?,
    };
    Ok(Opened { database, places })
}

/// A database with its areas.
pub struct Opened {
    pub database: Database,
    pub places: Places,
}

/// The reason why a transaction ended without a commit.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Call(#[from] CallError<Stop>),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("on purpose")]
    OnPurpose,
}

impl MultilevelVictim {
    /// Runs until killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let opened = open(&self.path, self.life, self.strategy)?;
        if self.recover_only {
            return opened.database.close().context("closing");
        }
        std::thread::scope(|scope| {
            let workers = (0..self.workers).map(|worker| {
                let opened = &opened;
                scope.spawn(move || opened.work(worker))
            });
            let workers: Vec<_> = workers.collect();
            for worker in workers {
                match worker.join() {
                    Ok(Ok(())) => {}
                    // The other workers run for ever, so this does not wait for them.
                    Ok(Err(error)) => die(&format!("{error:#}")),
                    Err(_) => die("a worker panicked"),
                }
            }
        });
        Ok(())
    }
}

fn die(message: &str) -> ! {
    eprintln!("the victim: {message}");
    std::process::exit(3)
}

impl Opened {
    /// The entries of a worker's journal, from an entry on.
    pub fn journal(&self, worker: u64) -> anyhow::Result<Vec<(u64, i64)>> {
        let read = ReadJournal {
            journals: self.places.journals,
            worker,
            from: 0,
        };
        let entries: Result<_, CallError<Stop>> = self.database.run(|tx| tx.call(&read));
        Ok(entries?)
    }

    fn work(&self, worker: u64) -> anyhow::Result<()> {
        let last = self
            .journal(worker)?
            .last()
            .map_or(0, |(number, _)| *number);
        for number in last + 1.. {
            let plan = Plan::of(worker, number);
            let ended = self
                .database
                .run(|tx| self.transaction(tx, worker, number, &plan));
            match ended {
                Ok(()) => acknowledge(worker, number)?,
                Err(Ended::OnPurpose) => ensure!(plan.aborts),
                Err(error) => die(&error.to_string()),
            }
        }
        Ok(())
    }

    fn transaction(
        &self,
        tx: &Transaction<'_>,
        worker: u64,
        number: u64,
        plan: &Plan,
    ) -> Result<(), Ended> {
        let change = match tx.call(&self.restock(plan.stock)) {
            Ok(_) => plan.stock,
            Err(CallError::Failed(Stop::Bounds { .. })) => 0,
            Err(error) => return Err(error.into()),
        };
        let (one, other) = plan.transfers.split_at(match plan.siblings {
            true => plan.transfers.len() / 2,
            false => plan.transfers.len(),
        });
        let (one, other) = match other.is_empty() {
            true => (self.transfers(tx, one), Ok(())),
            false => tx.scope(|scope| {
                let one = scope.spawn(|| self.transfers(tx, one));
                let other = self.transfers(tx, other);
                (one.join().expect("a sibling does not panic"), other)
            }),
        };
        one?;
        other?;
        let entry = Some((number, change));
        tx.call(&Write {
            journals: self.places.journals,
            worker,
            entry,
        })?;
        if plan.audits {
            let accounts = self.places.accounts;
            let sum: i64 = tx.call(&Audit { accounts })?.iter().sum();
            if sum != 0 {
                die(&format!("a transaction saw the sum {sum}"));
            }
        }
        match plan.aborts {
            true => Err(Ended::OnPurpose),
            false => Ok(()),
        }
    }

    fn restock(&self, change: i64) -> Restock {
        let stock = self.places.stock;
        Restock { stock, change }
    }

    fn transfers(
        &self,
        tx: &Transaction<'_>,
        transfers: &[(u64, u64, i64)],
    ) -> Result<(), CallError<Stop>> {
        for &(from, to, amount) in transfers {
            tx.call(&Transfer {
                accounts: self.places.accounts,
                from,
                to,
                amount,
            })?;
        }
        Ok(())
    }

    /// The balances and the stock.
    pub fn balances(&self) -> anyhow::Result<(Vec<i64>, i64)> {
        let accounts = self.places.accounts;
        let found: Result<_, CallError<Stop>> = self
            .database
            .run(|tx| Ok((tx.call(&Audit { accounts })?, tx.call(&self.restock(0))?)));
        Ok(found?)
    }
}
