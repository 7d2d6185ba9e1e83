//! The cost of threads of one closely coupled node to each other:
//!
//! ```text
//! cargo run --release -p sardonyx-sharing --example node_threads -- [WORK [THREADS [TRANSACTIONS [DIRECTORY]]]]
//! ```
//!
//! WORK is `read` (eight cached pages a transaction, whole), `reread` (one cached page, eight times), or `change`; all
//! of them by default. `change` writes eight bytes of each of four pages, debit-credit's size. THREADS (1, 2 and 4,
//! unless given) share TRANSACTIONS (40,000). Each thread has pages of its own, so that locks on pages do not matter.
//! The database is in DIRECTORY, by default in a memory file system, where a sync costs next to nothing.
//!
//! Instructions of a transaction: `perf stat -e instructions:u` of one WORK and number of THREADS, with two numbers of
//! TRANSACTIONS, and the difference.

use sardonyx_sharing::node::{Node, NodeError, NodeOptions, Nodes, Transaction};
use sardonyx_storage::engine::StorageOptions;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Pages of each thread.
const PAGES: u64 = 64;
const PAGE_BYTES: usize = 4096;

fn options(memory: &Path) -> NodeOptions {
    NodeOptions {
        pages: 1024,
        slots: 2,
        buffer_pages: 512,
        shared_memory: memory.into(),
        storage: StorageOptions {
            identity: Some(7),
            memory_bytes_max: 1 << 28,
            ..StorageOptions::default()
        },
        ..NodeOptions::default()
    }
}

fn work(name: &str, tx: &mut Transaction<'_>, first: u64, n: u64) -> Result<(), NodeError> {
    let mut page = [0; PAGE_BYTES];
    let at = |step: u64| first + (n * 8 + step) % PAGES;
    match name {
        "read" => (0..8).try_for_each(|step| tx.read_into(at(step), 0, &mut page)),
        "reread" => (0..8).try_for_each(|_| tx.read_into(at(0), 0, &mut page)),
        _ => (0..4).try_for_each(|step| {
            let before = tx.read_to_change(at(step), 64..72)?;
            let before = u64::from_le_bytes(before.try_into().unwrap_or_default());
            tx.write(at(step), 64, &(before + 1).to_le_bytes())
        }),
    }
}

fn measure(node: &Node, name: &str, threads: u64, transactions: u64) -> Result<(), NodeError> {
    let all = |each: u64| {
        std::thread::scope(|scope| {
            let run = |thread: u64| {
                move || (0..each).try_for_each(|n| node.run(|tx| work(name, tx, thread * PAGES, n)))
            };
            let running: Vec<_> = (0..threads).map(|n| scope.spawn(run(n))).collect();
            let mut ended = running.into_iter().map(|thread| thread.join());
            ended.try_for_each(|ended| ended.unwrap_or(Err(NodeError::Deadlock)))
        })
    };
    // The pages come into the buffer.
    all(PAGES)?;
    let began = Instant::now();
    all(transactions / threads)?;
    let rate = transactions as f64 / began.elapsed().as_secs_f64();
    println!("{name:<8} {threads} threads {rate:>12.0} transactions/s");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |n: usize| arguments.get(n).map(String::as_str);
    let transactions = given(2).unwrap_or("40000").parse()?;
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let directory = given(3).map_or(memory.path(), Path::new).join("bank.sdx");
    let nodes = Nodes::open(directory, options(memory.path()))?;
    let node = nodes.join()?;
    for name in ["read", "reread", "change"] {
        if given(0).is_some_and(|work| work != name) {
            continue;
        }
        for threads in [1, 2, 4] {
            if given(1).is_none_or(|number| number == threads.to_string()) {
                measure(&node, name, threads, transactions)?;
            }
        }
    }
    Ok(())
}
