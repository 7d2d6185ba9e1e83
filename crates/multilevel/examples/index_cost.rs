//! The cost of an operation on the ordered index, in nanoseconds: on plain pages, without locks and log, and through
//! the engine, 2,000 operations to a transaction, with the writing of the log.
//!
//! ```text
//! cargo run --release -p sardonyx-multilevel --example index_cost
//! ```

use sardonyx_multilevel::index::{IndexError, OrderedIndex};
use sardonyx_multilevel::{CallError, Database, Operation, Options, PlainPages, Transaction};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

/// Entries of 8 bytes of key and 24 of value.
const ENTRIES: u64 = 300_000;
const VALUE: [u8; 24] = [7; 24];

/// Operations of a transaction.
const TRANSACTION: u64 = 2_000;

type Outcome = Result<(), CallError<IndexError>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{ENTRIES} entries; ns for each operation (in a scan: for each entry),");
    println!("elapsed and of the calling thread on a processor");
    plain("ascending", |number| number)?;
    plain("scattered", scattered)?;
    through_the_engine("ascending", |number| number)?;
    through_the_engine("scattered", scattered)?;
    Ok(())
}

/// Each number once, without pattern.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A start in both times.
struct Clock(Instant, u64);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now(), on_a_processor())
    }

    fn report(&self, name: &str, count: u64) {
        let elapsed = self.0.elapsed().as_nanos() as u64 / count;
        let busy = (on_a_processor() - self.1) / count;
        println!("{name:<40}{elapsed:>8}{busy:>8}");
    }
}

/// The time that this thread has had a processor, in nanoseconds, as Linux counts it.
fn on_a_processor() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = times.split(' ').next().and_then(|time| time.parse().ok());
    first.unwrap_or_default()
}

fn plain(order: &str, key: fn(u64) -> u64) -> Result<(), IndexError> {
    let mut pages = PlainPages::new();
    let index = OrderedIndex::of(pages.area(0));
    let clock = Clock::start();
    for number in 0..ENTRIES {
        let key = key(number).to_be_bytes();
        index.insert(&key, &VALUE).execute(&mut pages)?;
    }
    clock.report(&format!("plain pages, {order}: insert"), ENTRIES);
    let clock = Clock::start();
    for number in 0..ENTRIES {
        let key = key(number).to_be_bytes();
        black_box(index.get(&key).execute(&mut pages)?);
    }
    clock.report(&format!("plain pages, {order}: get"), ENTRIES);
    let clock = Clock::start();
    black_box(index.scan(..).execute(&mut pages)?);
    clock.report(&format!("plain pages, {order}: scan"), ENTRIES);
    let clock = Clock::start();
    for number in 0..ENTRIES {
        let key = key(number).to_be_bytes();
        black_box(index.delete(&key).execute(&mut pages)?);
    }
    clock.report(&format!("plain pages, {order}: delete"), ENTRIES);
    Ok(())
}

/// All numbers, in transactions.
fn transactions(
    database: &Database,
    name: &str,
    call: impl Fn(&Transaction<'_>, u64) -> Outcome,
) -> Outcome {
    let clock = Clock::start();
    for first in (0..ENTRIES).step_by(TRANSACTION as usize) {
        database.run(|tx| (first..first + TRANSACTION).try_for_each(|number| call(tx, number)))?;
    }
    clock.report(name, ENTRIES);
    Ok(())
}

fn through_the_engine(order: &str, key: fn(u64) -> u64) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let database = Options::new().open(directory.path().join("index.sdx"))?;
    let index = OrderedIndex::of(database.area("index", 1)?);
    let named = |operation| format!("engine, {order}: {operation}");
    transactions(&database, &named("insert"), |tx, number| {
        tx.call(&index.insert(&key(number).to_be_bytes(), &VALUE))
    })?;
    transactions(&database, &named("get"), |tx, number| {
        tx.call(&index.get(&key(number).to_be_bytes()))
            .map(|value| drop(black_box(value)))
    })?;
    transactions(&database, &named("put"), |tx, number| {
        tx.call(&index.put(&key(number).to_be_bytes(), &[8; 24]))
            .map(drop)
    })?;
    transactions(&database, &named("delete"), |tx, number| {
        tx.call(&index.delete(&key(number).to_be_bytes())).map(drop)
    })?;
    database.close()?;
    Ok(())
}
