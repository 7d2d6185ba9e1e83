//! The time of opening a large database after a clean close and after a kill, and of closing it.
//!
//! The table has rows of about 100 bytes, a hashed primary key, a text of 20 and two ordered indexes. A second
//! table is small.
//!
//! `cargo run --release -p sardonyx-serial --example opening DIRECTORY fill [rows]` makes the database; `open [rounds]` opens
//! and closes it; `crash` changes some rows and kills the process, so that the next `open` recovers from a crash.
//! `memory [rows]` fills a new database, whose checkpoints are taken from snapshots, and prints the use of memory: after
//! that, and after constant changes beside four checkpoints.

use sardonyx_rows::schema::{Schema, Type, Value};
use sardonyx_serial::{Durability, Kernel, SerialError, Shape};
use sardonyx_storage::checkpoint::Checkpoints;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_table::{KeyHash, RebuildReport, StoredIndexes, TableSpace, Transaction};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Error = Box<dyn std::error::Error>;

/// Bytes of a row: eight columns of 8 bytes, of which the text has a reference of 16 and 20 bytes outside.
const ROW_BYTES: u64 = 7 * 8 + 16 + 20;

/// Rows of a transaction.
const AT_ONCE: u64 = 1000;

/// Processor time of all threads so far, in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name is in parentheses, and may have spaces.
    let fields = text.rsplit(')').next().unwrap_or_default().split(' ');
    let ticks = fields
        .skip(12)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// A number of bytes that the system reports of this process.
fn reported(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// The most memory that the process had, in MB.
fn memory_most() -> u64 {
    reported("VmHWM") / 1_000_000
}

/// Prints the use of memory. `rows` have the bytes of their columns.
fn print_memory(db: &Kernel, title: &str, rows: u64) -> Result<(), Error> {
    let row_bytes = rows * ROW_BYTES;
    let line = |name: &str, bytes: u64| {
        let part = bytes as f64 / row_bytes as f64;
        println!("  {name:<34} {:>9.1} MB  {part:>5.2}", bytes as f64 / 1e6);
    };
    let (pages, indexes) = db.try_read(|space| (space.touched_bytes(), space.index_memory()))?;
    let (anonymous, files) = (reported("RssAnon"), reported("RssFile"));
    let (copy, log) = (
        db.engine().checkpoint().copy_bytes(),
        db.engine().commit().pool().bytes(),
    );
    println!("{title}; the last column is per byte of rows:");
    line("rows", row_bytes);
    line(
        "page headers and free places",
        pages.saturating_sub(row_bytes),
    );
    line("hash indexes", indexes.hashed);
    line("ordered indexes", indexes.ordered);
    line("free blocks of indexes", indexes.free);
    line("second copy", copy);
    line("buffers of the log, at most", log);
    let known = pages + indexes.hashed + indexes.ordered + indexes.free + copy + log;
    line(
        "the rest of anonymous memory",
        anonymous.saturating_sub(known),
    );
    line("resident: anonymous", anonymous);
    line("resident: the program and files", files);
    line("resident: most so far", reported("VmHWM"));
    Ok(())
}

/// Fills a new database, and changes its rows for four checkpoints.
fn measure_memory(directory: &str, rows: u64) -> Result<(), Error> {
    let options = StorageOptions {
        checkpoints: Checkpoints::FromSnapshots,
        log_bytes_max: 512 << 20,
        checkpoint_interval_bytes: Some(32 << 20),
        ..StorageOptions::default()
    };
    let (db, ..) = open_with(directory, options)?;
    fill(&db, rows)?;
    db.checkpoint()?;
    print_memory(&db, "After the load and a checkpoint", rows)?;
    let before = db.engine().checkpoint().totals().checkpoints;
    let (mut number, mut anonymous) = (0u64, 0);
    while db.engine().checkpoint().totals().checkpoints < before + 4 {
        run(&db, |tx| {
            let mut orders = tx.rows("orders")?;
            (0..100).try_for_each(|_| {
                number += 1;
                let id = Value::from(scattered(number) % rows);
                let at = Value::from((scattered(!number) >> 8) as i64);
                orders.update(&[id], &[("at", at)]).map(drop)
            })
        })?;
        if number.is_multiple_of(100_000) {
            anonymous = anonymous.max(reported("RssAnon"));
        }
    }
    print_memory(&db, "After changes beside four checkpoints", rows)?;
    println!(
        "changed {number} indexed columns; anonymous memory meanwhile at most {} MB",
        anonymous / 1_000_000
    );
    db.close()?;
    Ok(())
}

/// Opens the database, as `sardonyx::Tables` does.
fn open(directory: &str) -> Result<(Kernel, RecoveryReport, RebuildReport), Error> {
    open_with(directory, StorageOptions::default())
}

fn open_with(
    directory: &str,
    options: StorageOptions,
) -> Result<(Kernel, RecoveryReport, RebuildReport), Error> {
    let workers = options.workers;
    let opened = Engine::open_to_freeze(Arc::new(RealDisk::open(directory)?), options)?;
    let stored = opened.closed.and_then(|closed| {
        let rows_max = TableSpace::rows_max(&opened.store);
        StoredIndexes::take(&**opened.engine.disk(), closed, rows_max, None, workers)
    });
    let hash = KeyHash::random();
    let (mut space, rebuild) = TableSpace::open_stored(opened.store, workers, hash, stored)?;
    space.set_transaction_bytes_max(opened.engine.transaction_bytes_max());
    let kernel = Kernel::start(space, opened.engine, Shape::Coalesced);
    Ok((kernel, opened.report, rebuild))
}

/// Runs a transaction that is durable soon.
fn run(
    db: &Kernel,
    body: impl FnOnce(&mut Transaction<'_>) -> Result<(), sardonyx_base::error::Error>,
) -> Result<(), Error> {
    let mut outcome = Ok(());
    db.run(Durability::Deferred, |tx| {
        outcome = body(tx);
        Ok::<_, SerialError>(())
    })?;
    Ok(outcome?)
}

/// Different numbers in an order that looks random.
fn scattered(number: u64) -> u64 {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ state >> 27
}

fn fill(db: &Kernel, rows: u64) -> Result<(), Error> {
    let orders = Schema::new()
        .column("id", Type::U64)
        .column("customer", Type::U64)
        .column("at", Type::I64)
        .column("amount", Type::I64)
        .column("state", Type::I64)
        .column("note", Type::Text)
        .column("a", Type::I64)
        .column("b", Type::I64)
        .primary_key(["id"])
        .index("by_customer", ["customer"])
        .ordered()
        .index("by_time", ["at"])
        .ordered();
    run(db, |tx| tx.create_table("orders", orders).map(drop))?;
    let small = Schema::new().column("id", Type::U64).primary_key(["id"]);
    run(db, |tx| tx.create_table("small", small).map(drop))?;
    run(db, |tx| {
        let mut small = tx.rows("small")?;
        (0..1000u64).try_for_each(|id| small.insert(&[("id", Value::from(id))]))
    })?;
    let mut number = 0;
    while number < rows {
        run(db, |tx| {
            let mut orders = tx.rows("orders")?;
            for id in number..rows.min(number + AT_ONCE) {
                let random = scattered(id);
                orders.insert(&[
                    ("id", Value::from(id)),
                    ("customer", Value::from(random % (rows / 10).max(1))),
                    ("at", Value::from((random >> 8) as i64)),
                    ("amount", Value::from((random % 10_000) as i64)),
                    ("state", Value::from(0i64)),
                    ("note", Value::from(format!("order number {id:07}"))),
                    ("a", Value::from(id as i64)),
                    ("b", Value::from(0i64)),
                ])?;
            }
            Ok(())
        })?;
        number += AT_ONCE;
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("a directory is missing")?;
    let mode = arguments.next().ok_or("fill, open or crash is missing")?;
    let number = arguments.next().map(|text| text.parse()).transpose()?;
    let rounds = match &*mode {
        "open" => number.unwrap_or(1),
        _ => 1,
    };
    if mode == "memory" {
        return measure_memory(&directory, number.unwrap_or(1_000_000));
    }
    for _ in 0..rounds {
        let (started, before) = (Instant::now(), processor_time());
        let (db, recovery, rebuild) = open(&directory)?;
        let (opened, used) = (started.elapsed(), processor_time() - before);
        let started = Instant::now();
        let small = db.try_read(|space| {
            let rows = sardonyx_rows::Rows::named(space.view(), "small").ok()?;
            Some(rows.get(&[Value::from(7u64)]).ok()?.is_some())
        })?;
        let first: Duration = started.elapsed();
        println!(
            "opened in {opened:.2?} ({used:.2} s of processors): load {:.2?} ({} MB), redo {:.2?} of {} transactions, end \
             {:.2?}, stable {:.2?}, copy {:.2?}; tables {:.2?}, indexes of {} rows, stored {}; first read {first:?} \
             {small:?}; at most {} MB",
            recovery.load_time,
            recovery.bytes() / 1_000_000,
            recovery.redo_time,
            recovery.transactions,
            recovery.end_check_time,
            recovery.stable_time,
            recovery.copy_time.unwrap_or_default(),
            rebuild.time,
            rebuild.records,
            rebuild.stored,
            memory_most(),
        );
        match &*mode {
            "fill" => fill(&db, number.unwrap_or(10_000_000))?,
            "crash" => {
                run(&db, |tx| {
                    let mut orders = tx.rows("orders")?;
                    orders.update(&[Value::from(7u64)], &[("state", Value::from(1i64))])?;
                    Ok(())
                })?;
                db.flush()?;
                std::process::abort();
            }
            _ => {}
        }
        let (started, before) = (Instant::now(), processor_time());
        db.close()?;
        let used = processor_time() - before;
        println!(
            "closed in {:.2?} ({used:.2} s of processors)",
            started.elapsed()
        );
    }
    Ok(())
}
