//! The cost of kept changes for a table's writer, and the lag of a reader of the changes.
//!
//! One thread changes a row in each transaction, and waits for the disk only at the end: as fast as an embedded program
//! can. A reader in the same process continues from its last position, as a user's program would.
//!
//! `cargo run --release -p sardonyx --example change_figures [seconds] [rows] [--json]`

use sardonyx::{Durability, Error, Tables, record};
use sardonyx_base::random::Random;
use serde_json::{Value, json};
use std::path::Path;
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

/// One run.
struct Measured {
    transactions: u64,
    writing: Duration,
    /// Changes that the reader had when the writer ended, and the time until it had all.
    read: Option<(u64, Duration)>,
}

/// The writer's work.
#[derive(Clone, Copy)]
struct Work {
    time: Duration,
    rows: u64,
}

impl Work {
    fn measure(&self, path: &Path, keeps: bool, reads: bool) -> Result<Measured, Error> {
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
                    let (meanwhile, all) = reader.join().expect("no panic")?;
                    let transactions = *written.as_ref().unwrap_or(&0);
                    assert_eq!(all, transactions, "each change is read once");
                    Some((meanwhile, began.elapsed().saturating_sub(writing)))
                }
                None => None,
            };
            Ok::<_, Error>(Measured {
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
        let until = Instant::now() + self.time;
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
fn read(bank: &Tables, over: &AtomicBool) -> Result<(u64, u64), Error> {
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

fn as_json((name, run): &(&str, Measured)) -> Value {
    json!({
        "run": name,
        "transactions_per_second": per_second(run.transactions, run.writing),
        "changes_read_meanwhile": run.read.map(|(meanwhile, _)| meanwhile),
        "changes_read_per_second": run.read.map(|(_, rest)| per_second(run.transactions, run.writing + rest)),
        "seconds_until_all_was_read": run.read.map(|(_, rest)| rest.as_secs_f64()),
    })
}

fn show((name, run): &(&str, Measured)) {
    let rate = per_second(run.transactions, run.writing);
    print!("{name:<24} {rate:>10.0} transactions/s");
    if let Some((meanwhile, rest)) = run.read {
        let share = 100.0 * meanwhile as f64 / run.transactions as f64;
        let read = per_second(run.transactions, run.writing + rest);
        let rest = rest.as_secs_f64();
        print!(", {share:.0}% read meanwhile, all after {rest:.2} s: {read:.0} changes/s");
    }
    println!();
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_json = arguments.iter().any(|argument| argument == "--json");
    let mut numbers = arguments
        .iter()
        .filter_map(|argument| argument.parse().ok());
    let work = Work {
        time: Duration::from_secs(numbers.next().unwrap_or(5).max(1)),
        rows: numbers.next().unwrap_or(100_000).max(1),
    };
    // In the working directory, since the system's for temporary files may be in memory.
    let directory = tempfile::tempdir_in(".").map_err(Error::other)?;
    let mut runs = Vec::new();
    for (name, keeps, reads) in [
        ("changes not kept", false, false),
        ("kept", true, false),
        ("kept, and read meanwhile", true, true),
    ] {
        let path = directory.path().join(name.replace([' ', ','], "-"));
        let run = (name, work.measure(&path, keeps, reads)?);
        if !is_json {
            show(&run);
        }
        runs.push(run);
    }
    if is_json {
        println!("{}", Value::from_iter(runs.iter().map(as_json)));
    }
    Ok(())
}
