//! The cost of the bookkeeping of persistence spheres, in nanoseconds for each subtransaction.
//!
//! Transactions of ten subtransactions run side by side; at the end of each its spheres are taken.
//! The median of many batches.
//!
//! ```text
//! cargo run --release -p sardonyx-multilevel --example sphere_cost
//! ```

use sardonyx_multilevel::sphere::{Spheres, SubtransactionNumber};
use sardonyx_multilevel::{PAGE_SIZE, PageId};
use sardonyx_workload::random::Random;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Subtransactions of a transaction: the DASDBS paper's.
const SUBTRANSACTIONS: usize = 10;
/// Subtransactions of a batch.
const BATCH: usize = 12_000;
const BATCHES: usize = 101;

/// The pages that the subtransactions touch.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    /// The number of transactions that run at a time.
    running: usize,
    pages: u64,
    modified: usize,
    read: usize,
    /// One more page, which every subtransaction modifies.
    hot: bool,
}

const WORKLOADS: [Workload; 6] = [
    Workload {
        name: "disjoint: 3 modified",
        running: 12,
        pages: u64::MAX,
        modified: 3,
        read: 0,
        hot: false,
    },
    Workload {
        name: "disjoint: 1 modified, 2 read",
        running: 12,
        pages: u64::MAX,
        modified: 1,
        read: 2,
        hot: false,
    },
    Workload {
        name: "10,000 pages: 3 modified",
        running: 12,
        pages: 10_000,
        modified: 3,
        read: 0,
        hot: false,
    },
    Workload {
        name: "10,000 pages: 2 modified, 9 read",
        running: 12,
        pages: 10_000,
        modified: 2,
        read: 9,
        hot: false,
    },
    Workload {
        name: "1,000 pages: 3 modified",
        running: 120,
        pages: 1_000,
        modified: 3,
        read: 0,
        hot: false,
    },
    Workload {
        name: "one hot page, 2 more of 10,000",
        running: 12,
        pages: 10_000,
        modified: 2,
        read: 0,
        hot: true,
    },
];

/// The pages of a batch, made before the clock runs.
fn pages(
    workload: Workload,
    random: &mut Random,
    next: &mut u64,
) -> Vec<(Vec<PageId>, Vec<PageId>)> {
    let mut page = || {
        if workload.pages == u64::MAX {
            *next += 1;
            return PageId(*next % (1 << 30));
        }
        PageId(1 + random.below(workload.pages))
    };
    let mut subtransaction = || {
        let mut modified: Vec<_> = (0..workload.modified).map(|_| page()).collect();
        if workload.hot {
            modified.push(PageId(0));
        }
        (modified, (0..workload.read).map(|_| page()).collect())
    };
    (0..BATCH).map(|_| subtransaction()).collect()
}

/// One batch: the time of all `complete`, and of everything.
fn batch(
    workload: Workload,
    spheres: &mut Spheres<u64>,
    transactions: &mut [Vec<SubtransactionNumber>],
    pages: &[(Vec<PageId>, Vec<PageId>)],
) -> (Duration, Duration) {
    let whole = Instant::now();
    let mut completing = Duration::ZERO;
    // Each transaction ends after ten rounds; a tenth of them in each.
    for (round, some) in pages.chunks(workload.running).enumerate() {
        let start = Instant::now();
        for (at, (modified, read)) in some.iter().enumerate() {
            let completed = spheres.complete(modified, read, &[], at as u64);
            transactions[at].push(completed.number);
        }
        completing += start.elapsed();
        for transaction in transactions
            .iter_mut()
            .skip(round % SUBTRANSACTIONS)
            .step_by(SUBTRANSACTIONS)
        {
            black_box(spheres.take(transaction.drain(..)));
        }
    }
    (completing, whole.elapsed())
}

fn measure(workload: Workload) {
    let mut random = Random::new(1);
    let mut next = 0;
    let mut spheres = Spheres::new();
    let mut transactions = vec![Vec::new(); workload.running];
    let mut times: Vec<_> = (0..BATCHES)
        .map(|_| {
            let pages = pages(workload, &mut random, &mut next);
            batch(workload, &mut spheres, &mut transactions, &pages)
        })
        .collect();
    let each = |time: Duration| time.as_secs_f64() * 1e9 / BATCH as f64;
    times.sort_by_key(|(completing, _)| *completing);
    let complete = each(times[BATCHES / 2].0);
    times.sort_by_key(|(_, whole)| *whole);
    let whole = each(times[BATCHES / 2].1);
    let statistics = spheres.statistics();
    println!(
        "{:<34} {complete:>9.1} {whole:>9.1} {:>8.2} {:>10.1}",
        workload.name,
        statistics.merges as f64 / statistics.subtransactions as f64,
        statistics.taken_pages as f64 / statistics.taken as f64,
    );
}

fn main() {
    println!("Nanoseconds for each subtransaction; pages of {PAGE_SIZE} bytes.\n");
    println!(
        "{:<34} {:>9} {:>9} {:>8} {:>10}",
        "pages of a subtransaction", "complete", "and taken", "merges", "pages/take"
    );
    WORKLOADS.into_iter().for_each(measure);
}
