//! The ordered index of tables and ordered indexes of other crates, in one run: inserts in random order, building from
//! ordered entries, point reads, ranges of 100, memory. Argument: rows (default 1,000,000).
//!
//! Rows have 104 bytes; a read accesses its row, which it finds through the index, as a program would. The others'
//! entries are a key and the row's number in a vector. Ours is measured as programs use it, live and in a snapshot,
//! which the others do not have. Its inserts are the difference between those into a table with the index and those
//! into one without, so they include their undo.
//!
//! Run it with `cargo run --release -p sardonyx-indexes`.

mod ours;
mod peers;

use crossbeam_skiplist::SkipMap;
use peers::Ordered;
use sardonyx_base::resident::Resident;
use scc::TreeIndex;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Reads and ranges that are timed together, and the number of repetitions.
const READS: u64 = 500;
const SCANS: u64 = 100;
const RUNS: u64 = 501;
/// Rows of a range.
const LENGTH: usize = 100;

/// 104 bytes.
#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Row {
    id: u64,
    filler: [u64; 12],
}
sardonyx_rows::record!(Row {
    table: "rows",
    key: id: u64,
    fields: { id: u64, filler: [u64; 12] },
});

/// The measurements of an index.
struct Figures {
    name: String,
    /// Millions a second.
    inserts: f64,
    built: f64,
    points: f64,
    ranges: f64,
    /// Bytes for an entry.
    bytes: f64,
}

/// A number that looks random, of so many (splitmix64).
fn random(number: u64, of: u64) -> u64 {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ state >> 31) % of
}

/// The key of the row that is inserted as number `number` of so many: each once, in an order that looks random.
fn key_of(number: u64, rows: u64) -> u64 {
    // No power of two has a divisor in common with an odd number.
    let of = rows.next_power_of_two();
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % of
}

fn seconds(run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64()
}

/// The median time of many short runs: other programs disturb few of them.
fn median(mut run: impl FnMut(u64)) -> f64 {
    let mut times: Vec<_> = (0..RUNS).map(|number| seconds(|| run(number))).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Millions a second.
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds / 1e6
}

/// Point reads and ranges: `get` and `range` return a word of the row, or of all rows, from an existing key on.
fn reads(rows: u64, get: impl Fn(u64) -> u64, range: impl Fn(u64) -> u64) -> (f64, f64) {
    let key = |number: u64| key_of(random(number, rows), rows);
    let points = median(|run| {
        for number in 0..READS {
            black_box(get(key(run * READS + number)));
        }
    });
    let ranges = median(|run| {
        for number in 0..SCANS {
            black_box(range(key(run * SCANS + number)));
        }
    });
    let of_ranges = SCANS * LENGTH as u64;
    (rate(READS, points), rate(of_ranges, ranges))
}

/// Used memory of the process, in bytes.
fn memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.map_or(0.0, |pages: f64| pages * 4096.0)
}

fn measure<T: Ordered>(rows: &[Row]) -> Figures {
    let mut entries: Vec<_> = rows.iter().map(|row| row.id).zip(0..).collect();
    let count = rows.len() as u64;
    let before = memory();
    let mut index = T::build(&[]);
    let inserting = seconds(|| {
        entries
            .iter()
            .for_each(|(key, row)| index.insert(*key, *row))
    });
    let bytes = (memory() - before) / count as f64;
    let word = |row: u64| rows[row as usize].filler[11];
    let (points, ranges) = reads(
        count,
        |key| index.get(key).map_or(0, word),
        |key| {
            let mut sum = 0u64;
            index.range(key, LENGTH, |row| sum = sum.wrapping_add(word(row)));
            sum
        },
    );
    drop(index);
    entries.sort_unstable();
    let building = seconds(|| drop(black_box(T::build(&entries))));
    Figures {
        name: T::NAME.to_string(),
        inserts: rate(count, inserting),
        built: rate(count, building),
        points,
        ranges,
        bytes,
    }
}

/// Each in a process of its own: memory that another one freed would not be counted.
const INDEXES: [&str; 5] = ["std", "indexset", "crossbeam", "scc", "sardonyx"];

fn figures_of(index: &str, rows: &[Row]) -> Result<Vec<Figures>, Box<dyn std::error::Error>> {
    Ok(match index {
        "std" => vec![measure::<BTreeMap<u64, u64>>(rows)],
        "indexset" => vec![measure::<indexset::BTreeMap<u64, u64>>(rows)],
        "crossbeam" => vec![measure::<SkipMap<u64, u64>>(rows)],
        "scc" => vec![measure::<TreeIndex<u64, u64>>(rows)],
        "sardonyx" => ours::measure(rows)?,
        other => return Err(format!("no index is called {other}").into()),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next();
    let count: u64 = count.map_or(Ok(1_000_000), |text| text.parse())?;
    let Some(index) = arguments.next() else {
        println!("{count} rows of 104 bytes; millions a second:");
        println!(
            "index                  inserts   built  point reads  rows in ranges of {LENGTH}  bytes an entry"
        );
        for index in INDEXES {
            let mut one = Command::new(std::env::current_exe()?);
            let ended = one.args([&count.to_string(), index]).status()?;
            if !ended.success() {
                return Err(format!("{index}: {ended}").into());
            }
        }
        return Ok(());
    };
    let row = |number| Row {
        id: key_of(number, count),
        filler: [number; 12],
    };
    let rows: Vec<Row> = (0..count).map(row).collect();
    for figures in figures_of(&index, &rows)? {
        println!(
            "{:<22} {:>7.2} {:>7.2} {:>12.2} {:>22.1} {:>15.1}",
            figures.name,
            figures.inserts,
            figures.built,
            figures.points,
            figures.ranges,
            figures.bytes
        );
    }
    Ok(())
}
