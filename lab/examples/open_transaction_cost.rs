//! The processor time of a transaction that is begun and ended by hand:
//!
//! ```text
//! cargo run --release -p sardonyx-lab --example open_transaction_cost -- [TRANSACTIONS [ACCOUNTS]]
//! ```
//!
//! Each transaction reads ten accounts, changes five of them, and is committed without waiting for the disk, which is a
//! memory file system's. The report also has its parts, and the same reads and changes as a closure. Times are those of
//! the thread that runs them, in microseconds for each transaction.

use rustix::time::{ClockId, clock_gettime};
use sardonyx::{Durability, Error, Shape, Table, Tables, record};
use std::hint::black_box;

record! {
    #[table("accounts", key = id)]
    struct Account {
        id: u64,
        balance: i64,
        filler: [u8; 84],
        branch: u32,
    }
}

const READS: u64 = 10;
const CHANGES: u64 = 5;

/// The processor time that the calling thread has used, in microseconds.
fn processor_time() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 * 1e6 + used.tv_nsec as f64 / 1e3
}

/// Runs so many transactions and shows the time of one: the least and the median of ten parts of them.
fn timed(
    what: &str,
    transactions: u64,
    mut transaction: impl FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let part = (transactions / 10).max(1);
    let mut times = Vec::new();
    for round in 0..10 {
        let before = processor_time();
        for number in 0..part {
            transaction(round * part + number)?;
        }
        times.push((processor_time() - before) / part as f64);
    }
    times.sort_by(f64::total_cmp);
    println!("{what:<58} {:>8.2} us {:>8.2} us", times[0], times[5]);
    Ok(())
}

fn open(accounts: u64) -> Result<(tempfile::TempDir, Tables, Table<Account>), Error> {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let bank = sardonyx::Options::new()
        .shape(Shape::Coalesced)
        .open_tables(directory.path().join("bank.sdx"))?;
    let table = bank.table::<Account>()?;
    for first in (0..accounts).step_by(1000) {
        bank.transaction()
            .durability(Durability::Deferred)
            .run(|tx| {
                for id in first..(first + 1000).min(accounts) {
                    let account = Account {
                        id,
                        balance: 0,
                        filler: [7; 84],
                        branch: 1,
                    };
                    tx.insert(table, &account)?;
                }
                Ok(())
            })?;
    }
    bank.checkpoint()?;
    Ok((directory, bank, table))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (transactions, accounts) = (number(20_000)?, number(100_000)?);
    let (_directory, bank, table) = open(accounts)?;
    // Spread over the table, and different ones each time.
    let id = |number: u64, nth: u64| {
        (number * READS + nth).wrapping_mul(0x9e37_79b9_7f4a_7c15) % accounts
    };
    timed("begin, drop; nothing changes", transactions, |_| {
        let _ = black_box(bank.begin()?);
        Ok(())
    })?;
    timed("begin behind a change, drop", transactions, |n| {
        bank.transaction()
            .durability(Durability::Deferred)
            .run(|tx| tx.update(table, id(n, 0), |account| account.balance += 1))?;
        let _ = black_box(bank.begin()?);
        Ok(())
    })?;
    timed("begin, ten reads, commit", transactions, |n| {
        let tx = bank.begin()?;
        for nth in 0..READS {
            black_box(tx.get(table, id(n, nth))?);
        }
        tx.commit_with(Durability::Deferred)
    })?;
    timed(
        "begin, ten reads, five changes, commit",
        transactions,
        |n| {
            let mut tx = bank.begin()?;
            for nth in 0..READS {
                black_box(tx.get(table, id(n, nth))?);
            }
            for nth in 0..CHANGES {
                tx.update(table, id(n, nth), |account| account.balance += 1)?;
            }
            tx.commit_with(Durability::Deferred)
        },
    )?;
    timed(
        "a closure with the same reads and changes",
        transactions,
        |n| {
            bank.transaction()
                .durability(Durability::Deferred)
                .run(|tx| {
                    for nth in 0..READS {
                        black_box(tx.get(table, id(n, nth))?);
                    }
                    for nth in 0..CHANGES {
                        tx.update(table, id(n, nth), |account| account.balance += 1)?;
                    }
                    Ok(())
                })
        },
    )?;
    bank.close()?;
    Ok(())
}
