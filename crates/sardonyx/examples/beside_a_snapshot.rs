//! What a snapshot costs those who write: transfers between accounts in runs of equal length, without a
//! snapshot, beside one that is open over the whole run, and with a reader that scans it besides. Prints the
//! throughput of each, and the longest transaction.
//!
//! `cargo run --release -p sardonyx --example beside_a_snapshot [accounts] [seconds] [rounds]`

use sardonyx::{Durability, Error, Options, Table, Tables, field, record};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

record! {
    /// An account, as large as those of debit-credit.
    #[table("accounts", key = id)]
    struct Account {
        id: u64,
        balance: i64,
        filler: [u8; 112],
    }
}

/// Transfers until the time is over. Returns how many, and the longest.
fn transfer(
    db: &Tables,
    accounts: Table<Account>,
    count: u64,
    time: Duration,
) -> Result<(u64, Duration), Error> {
    let (started, mut random) = (Instant::now(), 1u64);
    let (mut done, mut longest, mut before) = (0, Duration::ZERO, started);
    while before - started < time {
        let mut next = || {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % count
        };
        let (from, to) = (next(), next());
        db.run_with(Durability::Deferred, |tx| {
            for (id, amount) in [(from, -1), (to, 1)] {
                if let Some(row) = tx.find(accounts, &id) {
                    let balance = tx.record(row)?.balance;
                    tx.set(row, field!(Account.balance: i64), balance + amount)?;
                }
            }
            Ok(())
        })?;
        done += 1;
        let now = Instant::now();
        longest = longest.max(now - before);
        before = now;
    }
    Ok((done, longest))
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse().unwrap_or(0));
    let count = arguments.next().unwrap_or(1_000_000);
    let time = Duration::from_secs(arguments.next().unwrap_or(2));
    let rounds = arguments.next().unwrap_or(3);
    let directory = tempfile::tempdir().map_err(Error::other)?;
    let db = Options::new().open_tables(directory.path())?;
    let accounts = db.table::<Account>()?;
    for first in (0..count).step_by(10_000) {
        db.run_with(Durability::Deferred, |tx| {
            for id in first..count.min(first + 10_000) {
                let filler = [0; 112];
                tx.insert(
                    accounts,
                    &Account {
                        id,
                        balance: 0,
                        filler,
                    },
                )?;
            }
            Ok(())
        })?;
    }
    db.checkpoint()?;
    transfer(&db, accounts, count, time)?;
    for _ in 0..rounds {
        for kind in ["none", "snapshot", "scanned"] {
            let snapshot = match kind {
                "none" => None,
                _ => Some(db.snapshot()?),
            };
            let (ended, scans) = (AtomicBool::new(false), AtomicU64::new(0));
            let (done, longest) = std::thread::scope(|scope| {
                if let Some(snapshot) = snapshot.as_ref().filter(|_| kind == "scanned") {
                    let scan = || {
                        while !ended.load(Ordering::Relaxed) {
                            let records = snapshot.scan(accounts).expect("scans");
                            let sum: i64 = records.map(|r| r.expect("open").balance).sum();
                            assert_eq!(sum, 0, "money was made");
                            scans.fetch_add(1, Ordering::Relaxed);
                        }
                    };
                    scope.spawn(scan);
                }
                let outcome = transfer(&db, accounts, count, time);
                ended.store(true, Ordering::Relaxed);
                outcome
            })?;
            println!(
                "{kind:9} {:>9.0} transactions/s, longest {longest:?}, {} scans{}",
                done as f64 / time.as_secs_f64(),
                scans.into_inner(),
                if snapshot.is_some_and(|s| s.is_ended()) {
                    ", ENDED"
                } else {
                    ""
                },
            );
        }
    }
    db.close()
}
