//! How long an entry takes to be durable in a store, one after the other:
//!
//! ```text
//! cargo run --release -p sardonyx-remote --example put_latency -- s3://bank/latency 200 4096 1048576
//! ```
//!
//! The place, below which it makes a log of its own; how many entries of each size; the sizes in bytes. Endpoint and
//! credentials are in the environment. What is written is deleted at the end, but for the boundary and a fence for each
//! size.

use sardonyx_base::random::system_random;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::EntryBuilder;
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Patience, RemoteWriter, trim};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().ok_or("the place is missing")?;
    let place = format!("{place}/{:016x}", system_random());
    let entries: usize = arguments.next().unwrap_or("200".into()).parse()?;
    let mut sizes: Vec<usize> = arguments
        .map(|size| size.parse())
        .collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![4 << 10, 1 << 20];
    }
    let started = Instant::now();
    let store = open(&place, &RemoteOptions::default())?;
    println!("opened and probed in {:?}", started.elapsed());
    let mut at = EntryPosition::START;
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>10}",
        "bytes", "p50", "p99", "most", "MiB/s"
    );
    for size in sizes {
        let apply = |_: &_| Ok::<_, RemoteLogError>(());
        let mut log = RemoteWriter::claim(store.clone(), 1, at, Patience::default(), apply)?;
        let block = vec![0x5A; size];
        let mut times = Vec::new();
        for _ in 0..entries {
            let mut entry = EntryBuilder::new();
            entry.push(&block);
            let started = Instant::now();
            at = log.append(entry)?;
            times.push(started.elapsed());
        }
        times.sort();
        let total: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
        let [p50, p99, most] = [0.5, 0.99, 1.0]
            .map(|part| times[((times.len() as f64 * part).ceil() as usize).max(1) - 1]);
        let rate = (size * entries) as f64 / total / f64::from(1 << 20);
        println!("{size:>10} {p50:>10.2?} {p99:>10.2?} {most:>10.2?} {rate:>10.1}");
    }
    trim(&*store, 1, at, &Patience::default())?;
    Ok(())
}
