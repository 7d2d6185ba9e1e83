//! Ordered indexes of a table with an ordered primary key and a secondary index. Measures the time of opening, and the
//! rows a second that are found by key, in random order, and read by ranges. Reads are of live pages and of a
//! snapshot, by one thread. Arguments: records (default 1,000,000) and threads of opening (default 2).
//!
//! Run it with `cargo run --release -p sardonyx-table --example ordered`.

use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{Column, IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sardonyx_rows::{Record as _, record};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Runs that are timed, and reads and ranges in one.
const RUNS: u64 = 1001;
const READS: u64 = 500;
const SCANS: u64 = 200;
/// Rows of a range.
const LENGTH: usize = 100;

/// 104 bytes.
#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Customer {
    id: u64,
    balance: i64,
    filler: [u64; 11],
}
record!(Customer { table: "customers", key: id: u64 });

fn index(name: &str, column: usize, unique: bool) -> IndexDefinition {
    let descending = false;
    IndexDefinition {
        name: name.to_string(),
        kind: IndexKind::Ordered,
        unique,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart { column, descending }],
    }
}

fn schema() -> Schema {
    let (bytes, align, fingerprint) = (88, 8, 0);
    let filler = Type::Plain {
        bytes,
        align,
        fingerprint,
    };
    let columns = [
        ("id", Type::U64, 0),
        ("balance", Type::I64, 8),
        ("filler", filler, 16),
    ];
    let mut schema = Schema::default();
    schema
        .columns
        .extend(columns.map(|(name, kind, offset)| Column {
            name: name.to_string(),
            kind,
            default: Value::Null,
            offset,
            null: None,
            dropped: false,
            since_shape: 0,
        }));
    schema.primary = index("primary", 0, true);
    schema.primary.kind = IndexKind::Hash;
    schema.row_bytes = size_of::<Customer>();
    schema.indexes = vec![index("by_id", 0, true), index("by_balance", 1, false)];
    schema
}

/// Different numbers in an order that looks random.
fn scattered(number: u64, records: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % records
}

/// Keys in random order (splitmix64).
fn random(number: u64, records: u64) -> u64 {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ state >> 31) % records
}

/// The median time of a run of many that are short: other programs disturb few of them.
fn median(mut run: impl FnMut(u64)) -> f64 {
    let time = |number| {
        let started = Instant::now();
        run(number);
        started.elapsed()
    };
    let mut times: Vec<_> = (0..RUNS).map(time).collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let records: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let workers: usize = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let bytes = (records * 512).next_multiple_of(1 << 30);
    let (mut space, _) = TableSpace::open(PageStore::reserve(bytes)?, workers)?;
    let mut inserting = Duration::ZERO;
    let mut number = 0;
    while number < records {
        let mut log = GroupBuilder::with_capacity(1 << 20);
        let started = Instant::now();
        let mut tx = space.begin(&mut log);
        if number == 0 {
            tx.create_table(Customer::TABLE, schema())?;
        }
        let customers = tx.declare_table::<Customer>()?;
        for _ in 0..1000.min(records - number) {
            // The last ones come in an order that is not theirs.
            let id = number ^ 0x2aa;
            let balance = scattered(number, records) as i64;
            let filler = [number; 11];
            tx.insert(
                customers,
                &Customer {
                    id,
                    balance,
                    filler,
                },
            )?;
            number += 1;
        }
        tx.commit();
        inserting += started.elapsed();
    }
    let rate = |count: u64, seconds: f64| count as f64 / seconds / 1e6;
    println!(
        "{records} rows inserted, with two ordered indexes: {:.2} million/s",
        rate(records, inserting.as_secs_f64())
    );
    let mut opening = Duration::MAX;
    let mut processor = f64::MAX;
    for _ in 0..3 {
        let store = space.into_store();
        let (started, before) = (Instant::now(), processor_time());
        space = TableSpace::open(store, workers)?.0;
        processor = processor.min(processor_time() - before);
        opening = opening.min(started.elapsed());
    }
    println!(
        "opened by {workers} threads in {:.2} s ({processor:.2} s of processors), indexes {:.1} bytes for a row",
        opening.as_secs_f64(),
        space.index_bytes() as f64 / records as f64
    );
    let customers = space.table::<Customer>()?.ok_or("declared")?;
    let snapshot = space.snapshot()?;
    let view = space.view();
    let show = |what: &str, [points, many, ranges]: [f64; 3]| {
        println!(
            "{what}: {:.1} million point reads/s, {:.1} of many keys at once, {:.1} million rows/s in ranges of {LENGTH}",
            rate(READS, points),
            rate(READS, many),
            rate(SCANS * LENGTH as u64, ranges)
        );
    };
    let key = |run: u64, number: u64| random(run * READS + number, records);
    let hashed = median(|run| {
        for number in 0..READS {
            black_box(
                view.get(customers, key(run, number))
                    .expect("no error")
                    .map(|row| row.filler[10]),
            );
        }
    });
    let frozen = median(|run| {
        for number in 0..READS {
            let found = snapshot.get(customers, key(run, number));
            black_box(found.expect("not ended").map(|row| row.filler[10]));
        }
    });
    println!(
        "by hash: {:.1} million point reads/s, in a snapshot {:.1}",
        rate(READS, hashed),
        rate(READS, frozen)
    );
    // A macro, since live and frozen indexes are of different types.
    macro_rules! measured {
        ($index:expr, $key:ty, $row:ident => $value:expr) => {{
            let index = $index;
            let points = median(|run| {
                for number in 0..READS {
                    let found = index.get_by(key(run, number) as $key);
                    black_box(found.expect("a good key").map(|$row| $row.filler[10]));
                }
            });
            let many = median(|run| {
                let keys = (0..READS).map(|number| key(run, number) as $key);
                for found in index.get_many(keys) {
                    black_box(found.expect("a good key").map(|$row| $row.filler[10]));
                }
            });
            let ranges = median(|run| {
                for number in 0..SCANS {
                    let range = index.range(key(run, number) as $key..);
                    let rows = range.expect("a good key").take(LENGTH);
                    black_box(rows.map(|$row| $value).sum::<u64>());
                }
            });
            [points, many, ranges]
        }};
    }
    for name in ["by_id", "by_balance"] {
        let live = view.index(customers, name)?;
        let frozen = snapshot.index(customers, name)?;
        let (live, frozen) = match name {
            "by_id" => (
                measured!(live, u64, row => row.expect("no error").filler[10]),
                measured!(frozen, u64, row => row.expect("not ended").filler[10]),
            ),
            _ => (
                measured!(live, i64, row => row.expect("no error").filler[10]),
                measured!(frozen, i64, row => row.expect("not ended").filler[10]),
            ),
        };
        show(name, live);
        show(&format!("{name}, in a snapshot"), frozen);
    }
    Ok(())
}
