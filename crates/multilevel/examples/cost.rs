//! The cost of a subtransaction: calls of an operation that changes a record on each of three pages, in one thread, in
//! nanoseconds. The figures are without the transactions' commits, and so without the waits for the log; but S2 waits
//! for the log in each call.
//!
//! The rows of the second table add one thing each, so that their differences are the costs of the parts.
//!
//! ```text
//! cargo run --release -p sardonyx-multilevel --example cost
//! ```

use sardonyx_multilevel::{
    Area, Database, Inverse, LockRequests, LockSpace, Mode, Operation, Options, PageLog, Pages,
    Recorded, Stop, Strategy,
};
use sardonyx_workload::random::Random;
use std::hint::black_box;
use std::time::Instant;

const CALLS: usize = 64;
const TRANSACTIONS: usize = 2_000;
/// With S2, which waits for the disk in each call.
const TRANSACTIONS_FORCED: usize = 10;
const PAGES: u64 = 4096;

static RECORDS: LockSpace = LockSpace::new("records", &[&[true]]);

/// The parts that the operation executes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parts {
    Nothing,
    ReadPages,
    WritePages,
    WithInverse,
    WithLocks,
}

/// Adds to a record on each of three pages.
struct Add {
    area: Area,
    pages: [u64; 3],
    amount: i64,
    parts: Parts,
}

impl Operation for Add {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        if self.parts >= Parts::WithLocks {
            for page in self.pages {
                locks.request(&RECORDS, page, Mode(0));
            }
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        if self.parts == Parts::Nothing {
            return Ok(());
        }
        for page in self.pages {
            let page = pages.page(self.area, page)?;
            if self.parts == Parts::ReadPages {
                black_box(pages.read(page)?[64]);
                continue;
            }
            let value = pages.write(page, 64..72)?;
            let sum = i64::from_le_bytes(value.try_into().expect("8 bytes")) + self.amount;
            value.copy_from_slice(&sum.to_le_bytes());
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let amount = -self.amount;
        (self.parts >= Parts::WithInverse).then(|| Inverse::of(&Add { amount, ..*self }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.amount.to_le_bytes());
        for page in self.pages {
            into.extend(page.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        let (pages, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let pages: [[u8; 8]; 3] = pages.try_into().ok()?;
        Some(Add {
            area: Area(u16::from_le_bytes(*area)),
            amount: i64::from_le_bytes(*amount),
            pages: pages.map(u64::from_le_bytes),
            parts: Parts::WithLocks,
        })
    }
}

fn main() {
    println!(
        "{CALLS} calls in a transaction, three of {PAGES} pages in a call; median (fastest)\n"
    );
    for strategy in [
        Strategy::SingleLevel,
        Strategy::ForcedSubtransactions,
        Strategy::SPHERES,
        Strategy::OrderedLog,
    ] {
        for page_log in [PageLog::ByteRanges, PageLog::AfterImages] {
            let name = format!("{}, {page_log:?}", strategy.name());
            measure(&name, strategy, page_log, Parts::WithLocks, PAGES);
        }
    }
    println!();
    for (name, parts) in [
        ("nothing at all", Parts::Nothing),
        ("three pages locked and read", Parts::ReadPages),
        ("... and written, to the log", Parts::WritePages),
        ("... with an inverse", Parts::WithInverse),
        ("... and locks on three objects", Parts::WithLocks),
    ] {
        let strategy = Strategy::OrderedLog;
        measure(name, strategy, PageLog::ByteRanges, parts, PAGES);
    }
    let name = "the same, always the same pages";
    let (strategy, page_log) = (Strategy::OrderedLog, PageLog::ByteRanges);
    measure(name, strategy, page_log, Parts::WithLocks, 3);
}

/// Measures a call.
fn measure(name: &str, strategy: Strategy, page_log: PageLog, parts: Parts, pages: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().strategy(strategy).page_log(page_log);
    let database = options.register::<Add>().open(directory.path());
    let database = database.expect("a new database");
    let area = database.area("records", PAGES).expect("room");
    let forced = strategy == Strategy::ForcedSubtransactions;
    let transactions = if forced {
        TRANSACTIONS_FORCED
    } else {
        TRANSACTIONS
    };
    let mut random = Random::new(1);
    let mut batches: Vec<f64> = Vec::with_capacity(transactions);
    for _ in 0..transactions {
        let operations: [Add; CALLS] = std::array::from_fn(|_| Add {
            area,
            pages: distinct(&mut random, pages),
            amount: 1,
            parts,
        });
        batches.push(calls(&database, &operations));
    }
    batches.sort_by(f64::total_cmp);
    let (fastest, median) = (batches[0], batches[batches.len() / 2]);
    let waits = if forced { ", waiting for the log" } else { "" };
    println!("{name:<34} {median:8.0} ns ({fastest:.0}){waits}");
    database.close().expect("a sound log");
}

/// A transaction; how long each of its calls took.
fn calls(database: &Database, operations: &[Add]) -> f64 {
    let transaction = database.begin();
    let begun = Instant::now();
    for operation in operations {
        transaction.call(operation).expect("nobody else is there");
    }
    let took = begun.elapsed();
    transaction.commit().expect("a sound log");
    took.as_nanos() as f64 / operations.len() as f64
}

/// Three pages of so many.
fn distinct(random: &mut Random, pages: u64) -> [u64; 3] {
    let first = random.below(pages);
    let step = pages / 3;
    [first, (first + step) % pages, (first + 2 * step) % pages]
}
