//! `change-figures`: the cost of kept changes for a table's writer, and the lag of a reader of the changes.
//!
//! One thread changes a row in each transaction, and waits for the disk only at the end: as fast as an embedded program
//! can. A reader in the same process continues from its last position, as a user's program would.

use crate::torture::remove;
use anyhow::{Context, ensure};
use clap::Args;
use sardonyx::{Durability, Error, Tables, record};
use sardonyx_base::random::Random;
use sardonyx_results::table::Table;
use sardonyx_results::units;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

record! {
    #[table("accounts", key = id)]
    struct Account {
        id: u64,
        balance: i64,
        owner: u64,
    }
}

/// Transactions between two reads of the clock.
const AT_ONCE: u64 = 1000;

/// Options of `change-figures`.
#[derive(Args)]
pub struct ChangeFigures {
    /// The time of the transactions of each run.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Rows of the table.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// The directory of the databases; removed before and after. It should be on a real disk.
    #[arg(long, default_value = "target/change-figures")]
    directory: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// One run.
struct Measured {
    transactions: u64,
    writing: Duration,
    /// Changes that the reader had when the writer ended, and the time until it had all.
    read: Option<(u64, Duration)>,
}

impl ChangeFigures {
    /// Measures without kept changes, with them, and with a reader of them.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.seconds > 0.0, "--seconds must be above 0");
        remove(&self.directory)?;
        std::fs::create_dir_all(&self.directory)?;
        let mut runs = Vec::new();
        for (name, keeps, reads) in [
            ("changes not kept", false, false),
            ("kept", true, false),
            ("kept, and read meanwhile", true, true),
        ] {
            eprintln!("{name}");
            let path = self.directory.join("bank.sdx");
            runs.push((name, self.measure(&path, keeps, reads)?));
            remove(&path)?;
        }
        remove(&self.directory)?;
        match self.json {
            true => println!("{}", serde_json::Value::from_iter(runs.iter().map(as_json))),
            false => print(&runs),
        }
        Ok(())
    }

    fn measure(&self, path: &Path, keeps: bool, reads: bool) -> anyhow::Result<Measured> {
        let bank = Tables::open(path)?;
        let accounts = bank.table::<Account>()?;
        for first in (0..self.rows).step_by(AT_ONCE as usize) {
            let last = (first + AT_ONCE).min(self.rows);
            bank.run(|tx| {
                (first..last).try_for_each(|id| {
                    let account = Account {
                        id,
                        balance: 0,
                        owner: id,
                    };
                    tx.insert(accounts, &account).map(drop)
                })
            })?;
        }
        if keeps {
            bank.keep_changes("accounts")?;
        }
        let over = AtomicBool::new(false);
        let measured = std::thread::scope(|scope| {
            let reader = reads.then(|| scope.spawn(|| read(&bank, &over)));
            let began = Instant::now();
            let written = self.write(&bank, accounts);
            let writing = began.elapsed();
            over.store(true, Ordering::SeqCst);
            let read = match reader {
                Some(reader) => {
                    let (meanwhile, all) = reader.join().ok().context("the reader panicked")??;
                    let transactions = *written.as_ref().unwrap_or(&0);
                    ensure!(
                        all == transactions,
                        "{all} changes of {transactions} were read"
                    );
                    Some((meanwhile, began.elapsed().saturating_sub(writing)))
                }
                None => None,
            };
            Ok(Measured {
                transactions: written?,
                writing,
                read,
            })
        })?;
        bank.close()?;
        Ok(measured)
    }

    /// Changes a row in each transaction. Returns their number, when all are durable.
    fn write(&self, bank: &Tables, accounts: sardonyx::Table<Account>) -> Result<u64, Error> {
        let until = Instant::now() + Duration::from_secs_f64(self.seconds);
        let mut random = Random::new(1);
        let mut transactions = 0;
        while Instant::now() < until {
            for _ in 0..AT_ONCE {
                let id = random.below(self.rows);
                let deferred = bank.transaction().durability(Durability::Deferred);
                deferred.run(|tx| tx.update(accounts, id, |account| account.balance += 1))?;
            }
            transactions += AT_ONCE;
        }
        bank.flush()?;
        Ok(transactions)
    }
}

/// Reads the changes until the writer has ended and no more come: returns their number when it ended, and in all.
fn read(bank: &Tables, over: &AtomicBool) -> anyhow::Result<(u64, u64)> {
    let (mut from, mut changes, mut meanwhile) = (None, 0, None);
    loop {
        let is_last = over.load(Ordering::SeqCst);
        if is_last {
            meanwhile.get_or_insert(changes);
        }
        let before = changes;
        let come = match from {
            Some(from) => bank.changes(from..)?,
            None => bank.changes(..)?,
        };
        for change in come {
            let change = change?;
            // As a user's program would.
            std::hint::black_box((change.before()?.is_some(), change.after()?.is_some()));
            from = Some(change.next());
            changes += 1;
        }
        if is_last && changes == before {
            return Ok((meanwhile.unwrap_or(changes), changes));
        }
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn as_json((name, run): &(&str, Measured)) -> serde_json::Value {
    json!({
        "run": name,
        "transactions_per_second": per_second(run.transactions, run.writing),
        "changes_read_meanwhile": run.read.map(|(meanwhile, _)| meanwhile),
        "changes_read_per_second": run.read.map(|(_, rest)| per_second(run.transactions, run.writing + rest)),
        "seconds_until_all_was_read": run.read.map(|(_, rest)| rest.as_secs_f64()),
    })
}

fn print(runs: &[(&str, Measured)]) {
    let mut table = Table::new([
        "changes",
        "#transactions/s",
        "#read meanwhile",
        "#read/s",
        "#all read after",
    ]);
    for (name, run) in runs {
        let rate = |rate: f64| units::count(rate as u64);
        table.row([
            (*name).to_string(),
            rate(per_second(run.transactions, run.writing)),
            run.read.map_or("-".into(), |(meanwhile, _)| {
                format!("{:.0}%", 100.0 * meanwhile as f64 / run.transactions as f64)
            }),
            run.read.map_or("-".into(), |(_, rest)| {
                rate(per_second(run.transactions, run.writing + rest))
            }),
            run.read.map_or("-".into(), |(_, rest)| {
                format!("{:.2} s", rest.as_secs_f64())
            }),
        ]);
    }
    print!("{table}");
}
