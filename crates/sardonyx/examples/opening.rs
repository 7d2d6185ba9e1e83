//! The time of opening a large database after a clean close and after a kill, and of closing it.
//!
//! The table has rows of about 100 bytes, a hashed primary key, a text of 20 bytes and two ordered indexes. A second
//! table is small.
//!
//! `cargo run --release -p sardonyx --example opening DIRECTORY fill [rows]` makes the database; `open [rounds]` opens
//! and closes it; `crash` changes some rows and kills the process, so that the next `open` recovers from a crash.

use sardonyx::schema::{Schema, Type};
use sardonyx::{Error, Tables, Value};
use std::time::{Duration, Instant};

/// Rows of a transaction.
const AT_ONCE: u64 = 1000;

/// Processor time of all threads so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the time, which the call fills in.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Different numbers in an order that looks random.
fn scattered(number: u64) -> u64 {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ state >> 27
}

fn fill(db: &Tables, rows: u64) -> Result<(), Error> {
    let orders = Schema::new()
        .column("id", Type::U64)
        .column("customer", Type::U64)
        .column("at", Type::I64)
        .column("amount", Type::I64)
        .column("state", Type::I64)
        .column("note", Type::Text)
        .column("a", Type::I64)
        .column("b", Type::I64)
        .column("c", Type::I64)
        .primary_key(["id"])
        .index("by_customer", ["customer"])
        .ordered()
        .index("by_time", ["at"])
        .ordered();
    db.create_table("orders", orders)?;
    let small = Schema::new().column("id", Type::U64).primary_key(["id"]);
    db.create_table("small", small)?;
    db.run(|tx| {
        let mut small = tx.rows("small")?;
        (0..1000u64).try_for_each(|id| small.insert(&[("id", Value::from(id))]).map(drop))?;
        Ok(())
    })?;
    let mut number = 0;
    while number < rows {
        db.transaction()
            .durability(sardonyx::Durability::Deferred)
            .run(|tx| {
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
                        ("c", Value::from(1i64)),
                    ])?;
                }
                Ok::<_, Error>(())
            })?;
        number += AT_ONCE;
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory");
    let mode = arguments.next().expect("fill, open or crash");
    let number: u64 = arguments
        .next()
        .map_or(10_000_000, |text| text.parse().expect("a number"));
    let rounds = if mode == "open" { number.min(1000) } else { 1 };
    for _ in 0..rounds {
        let (started, before) = (Instant::now(), processor_time());
        let db = Tables::open(&directory)?;
        let (opened, used) = (started.elapsed(), processor_time() - before);
        let recovery = db.recovery();
        println!(
            "opened in {opened:.2?} ({used:.2?} of processors): load {:.2?}, redo {:.2?} of {} transactions, end {:.2?}, \
             stable {:.2?}, copy {:.2?}; tables {:.2?}, indexes of {} rows",
            recovery.load_time,
            recovery.redo_time,
            recovery.transactions,
            recovery.end_check_time,
            recovery.stable_time,
            recovery.copy_time.unwrap_or_default(),
            db.rebuild().time,
            db.rebuild().records,
        );
        match &*mode {
            "fill" => fill(&db, number)?,
            "crash" => {
                db.run(|tx| {
                    let mut orders = tx.rows("orders")?;
                    orders.update(&[Value::from(7u64)], &[("state", Value::from(1i64))])?;
                    Ok(())
                })?;
                std::process::abort();
            }
            _ => {}
        }
        let started = Instant::now();
        db.close()?;
        println!("closed in {:.2?}", started.elapsed());
    }
    Ok(())
}
