//! The cost of a snapshot for writers: transfers between accounts, in turns. They run without a snapshot, beside one
//! that is open and not read, and beside one that a thread scans all the time. Each round has a turn of each, so the
//! ratios are of neighbours in time. Medians over the rounds are printed at the end.
//!
//! Of each turn: transactions a second; the processor time of the writing thread for one, which other threads and
//! programs disturb less; and the longest pause of 16 transactions, by the clock and in processor time (an upper bound
//! of one's). The excess of the clock over the processor time is the machine's scheduling.
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

/// Transactions between two looks at the clocks.
const STEP: u64 = 16;

/// The activity beside the turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Open,
    Scanned,
}

const TURNS: [(Beside, &str); 3] = [
    (Beside::Nothing, "no snapshot"),
    (Beside::Open, "one open"),
    (Beside::Scanned, "one scanned"),
];

/// The result of a turn.
#[derive(Clone, Copy)]
struct Turn {
    /// Transactions a second.
    rate: f64,
    /// Processor time of the writing thread for a transaction, in nanoseconds.
    processor: f64,
    longest: Duration,
    longest_processor: Duration,
}

/// Processor time that this thread has used.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time, which the call fills in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Transfers until the time is over.
fn transfer(
    db: &Tables,
    accounts: Table<Account>,
    count: u64,
    time: Duration,
) -> Result<Turn, Error> {
    let (started, began) = (Instant::now(), processor_time());
    let (mut before, mut used) = (started, began);
    let (mut longest, mut longest_processor) = (Duration::ZERO, Duration::ZERO);
    let (mut done, mut random) = (0, 1u64);
    while before - started < time {
        for _ in 0..STEP {
            let mut next = || {
                random = random
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (random >> 33) % count
            };
            let (from, to) = (next(), next());
            db.transaction()
                .durability(Durability::Deferred)
                .run(|tx| {
                    for (id, amount) in [(from, -1), (to, 1)] {
                        if let Some(row) = tx.find(accounts, id) {
                            let balance = tx.record(row)?.balance;
                            tx.set(row, field!(Account.balance: i64), balance + amount)?;
                        }
                    }
                    Ok(())
                })?;
        }
        done += STEP;
        let (now, using) = (Instant::now(), processor_time());
        longest = longest.max(now - before);
        longest_processor = longest_processor.max(using - used);
        (before, used) = (now, using);
    }
    Ok(Turn {
        rate: done as f64 / (before - started).as_secs_f64(),
        processor: (used - began).as_nanos() as f64 / done as f64,
        longest,
        longest_processor,
    })
}

/// One turn, and how often the snapshot was scanned.
fn turn(
    db: &Tables,
    accounts: Table<Account>,
    count: u64,
    time: Duration,
    beside: Beside,
) -> Result<(Turn, u64), Error> {
    let snapshot = match beside {
        Beside::Nothing => None,
        Beside::Open | Beside::Scanned => Some(db.snapshot()?),
    };
    let (ended, scans) = (AtomicBool::new(false), AtomicU64::new(0));
    let turn = std::thread::scope(|scope| {
        if let Some(snapshot) = snapshot.as_ref().filter(|_| beside == Beside::Scanned) {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let records = snapshot.scan(accounts).expect("scans");
                    let sum: i64 = records.map(|r| r.expect("open").balance).sum();
                    assert_eq!(sum, 0, "money was made");
                    scans.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let outcome = transfer(db, accounts, count, time);
        ended.store(true, Ordering::Relaxed);
        outcome
    })?;
    assert!(snapshot.is_none_or(|s| !s.is_ended()), "it was ended");
    Ok((turn, scans.into_inner()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse().unwrap_or(0));
    let count = arguments.next().unwrap_or(1_000_000);
    let time = Duration::from_secs(arguments.next().unwrap_or(2));
    let rounds = arguments.next().unwrap_or(3).max(1);
    let directory = tempfile::tempdir().map_err(Error::other)?;
    let db = Options::new().open_tables(directory.path())?;
    let accounts = db.table::<Account>()?;
    for first in (0..count).step_by(10_000) {
        db.transaction()
            .durability(Durability::Deferred)
            .run(|tx| {
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
    let mut turns: [Vec<Turn>; 3] = Default::default();
    for round in 0..rounds {
        // In another order each time, so that none is always after the same.
        for n in 0..TURNS.len() {
            let nth = (n + round as usize) % TURNS.len();
            let (beside, name) = TURNS[nth];
            let (turn, scans) = turn(&db, accounts, count, time, beside)?;
            println!(
                "{name:12} {:>9.0}/s, {:>6.1} ns of processor each, longest {:>9.1?} ({:>9.1?} of processor), \
                 {scans} scans",
                turn.rate, turn.processor, turn.longest, turn.longest_processor,
            );
            turns[nth].push(turn);
        }
    }
    println!(
        "\nmedians of {rounds} rounds; ratios to the turn without a snapshot in the same round"
    );
    let [nothing, ..] = &turns;
    for ((_, name), turns) in TURNS.iter().zip(&turns) {
        let of = |figure: fn(&Turn) -> f64| median(turns.iter().map(figure).collect());
        let ratio = |figure: fn(&Turn) -> f64| {
            let pairs = turns.iter().zip(nothing);
            median(
                pairs
                    .map(|(turn, without)| figure(turn) / figure(without))
                    .collect(),
            )
        };
        println!(
            "{name:12} {:>9.0}/s ({:.3}), {:>6.1} ns of processor each ({:.3}), longest {:.3} ms ({:.3} of \
             processor)",
            of(|turn| turn.rate),
            ratio(|turn| turn.rate),
            of(|turn| turn.processor),
            ratio(|turn| turn.processor),
            of(|turn| turn.longest.as_secs_f64() * 1e3),
            of(|turn| turn.longest_processor.as_secs_f64() * 1e3),
        );
    }
    db.close()
}
