//! The costs of closely coupled nodes:
//!
//! ```text
//! cargo run --release -p sardonyx-lab --example node_cost -- [TRANSACTIONS [DIRECTORY]]
//! ```
//!
//! The database is in DIRECTORY. By default that is a temporary one in a memory file system: then a sync costs next to
//! nothing, and the rest is the program's own time. The program times
//!
//! - a transaction on one node whose pages no other node uses: read eight bytes; change eight bytes of each of four
//!   pages (debit-credit's size), with one thread and with two, which share syncs;
//! - the same four changes by the serial way, as a closure on records;
//! - a page that alternates between two nodes: of one process, and of two; by FORCE (from the stored pages) and by
//!   NOFORCE (across GEM from its owner).
//!
//! The third column is processor time, of all threads of the process, for each call.

use rustix::time::{ClockId, clock_gettime};
use sardonyx::{Tables, record};
use sardonyx_sharing::node::{Node, NodeError, NodeOptions, Nodes};
use sardonyx_sharing::protocol::UpdateStrategy;
use sardonyx_storage::engine::StorageOptions;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const CHILD: &str = "SARDONYX_NODE_COST_CHILD";

/// The page that alternates.
const SHARED: u64 = 100;

fn options(update: UpdateStrategy, memory: &Path) -> NodeOptions {
    NodeOptions {
        pages: 1024,
        slots: 8,
        update,
        buffer_pages: 256,
        shared_memory: memory.into(),
        storage: StorageOptions {
            identity: Some(5),
            memory_bytes_max: 1 << 30,
            ..StorageOptions::default()
        },
        ..NodeOptions::default()
    }
}

fn show(what: &str, (mut times, processor): (Vec<f64>, f64)) {
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{what:<66} {least:>9.2} us {median:>9.2} us {processor:>9.2} us");
}

/// Processor time of this process so far, in microseconds.
fn processor_time() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 * 1e6 + used.tv_nsec as f64 / 1e3
}

/// The time of each of so many calls, and the processor time of one, in microseconds.
fn timed<E>(calls: u64, mut call: impl FnMut(u64) -> Result<(), E>) -> Result<(Vec<f64>, f64), E> {
    let mut times = Vec::new();
    let used = processor_time();
    for n in 0..calls {
        let start = Instant::now();
        call(n)?;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    Ok((times, (processor_time() - used) / calls.max(1) as f64))
}

fn count(node: &Node, page: u64) -> Result<(), NodeError> {
    node.run(|tx| {
        let before = tx.read_to_change(page, 0..8)?;
        let before = u64::from_le_bytes(before.try_into().unwrap_or_default());
        tx.write(page, 0, &(before + 1).to_le_bytes())
    })
}

fn change_four(node: &Node, n: u64) -> Result<(), NodeError> {
    node.run(|tx| {
        for page in 0..4 {
            let page = 16 * page + n % 16;
            let before = tx.read_to_change(page, 64..72)?;
            let before = u64::from_le_bytes(before.try_into().unwrap_or_default());
            tx.write(page, 64, &(before + 1).to_le_bytes())?;
        }
        Ok(())
    })
}

/// The other process: a change of the shared page for each line.
fn child(directory: &Path, memory: &Path) -> Result<(), Box<dyn Error>> {
    let update = match std::env::var("SARDONYX_NODE_COST_UPDATE")?.as_str() {
        "Force" => UpdateStrategy::Force,
        _ => UpdateStrategy::NoForce,
    };
    let nodes = Nodes::open(directory, options(update, memory))?;
    let node = nodes.join()?;
    for line in std::io::stdin().lines() {
        line?;
        count(&node, SHARED)?;
        println!();
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn nodes_alone(
    directory: &Path,
    memory: &Path,
    update: UpdateStrategy,
    transactions: u64,
) -> Result<(), Box<dyn Error>> {
    let nodes = Nodes::open(directory, options(update, memory))?;
    let node = nodes.join()?;
    let name = format!("{update:?}");
    for n in 0..64 {
        change_four(&node, n)?;
    }
    show(
        &format!("{name}: one node, read eight bytes"),
        timed(transactions, |_| node.run(|tx| tx.read(3, 0..8)).map(drop))?,
    );
    show(
        &format!("{name}: one node, change four pages"),
        timed(transactions, |n| change_four(&node, n))?,
    );
    let (start, used) = (Instant::now(), processor_time());
    std::thread::scope(|scope| {
        let run = |first: u64| {
            let node = &node;
            move || (0..transactions).try_for_each(|n| change_four(node, first + n % 8))
        };
        let both = [scope.spawn(run(0)), scope.spawn(run(8))];
        both.map(|thread| thread.join())
            .into_iter()
            .all(|done| matches!(done, Ok(Ok(()))))
    });
    let each = start.elapsed().as_nanos() as f64 / 1000.0 / (2 * transactions) as f64;
    show(
        &format!("{name}: the same by two threads, each"),
        (
            vec![each],
            (processor_time() - used) / (2 * transactions) as f64,
        ),
    );
    let other = nodes.join()?;
    let times = timed(transactions, |n| match n % 2 {
        0 => count(&node, SHARED),
        _ => count(&other, SHARED),
    })?;
    show(&format!("{name}: a page to and fro, one process"), times);
    drop(other);
    let mut process = Command::new(std::env::current_exe()?)
        .args([directory, memory])
        .env(CHILD, "")
        .env("SARDONYX_NODE_COST_UPDATE", &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ask = process.stdin.take().ok_or("no input")?;
    let mut answers = BufReader::new(process.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    // The other process changes it, and then this one, which is timed.
    let (mut times, mut used) = (Vec::new(), 0.0);
    for _ in 0..transactions {
        writeln!(ask, "go")?;
        answers.read_line(&mut line)?;
        let (time, processor) = timed(1, |_| count(&node, SHARED))?;
        times.extend(time);
        used += processor / transactions as f64;
    }
    show(
        &format!("{name}: a page from the other process"),
        (times, used),
    );
    drop(ask);
    process.wait()?;
    let statistics = node.statistics();
    println!(
        "    {} committed, {} run again, {} pages in the buffer, {} fetched",
        statistics.committed, statistics.rerun, statistics.hits, statistics.misses
    );
    Ok(())
}

record! {
    /// Eight bytes and their key.
    #[table("cells", key = number)]
    struct Cell {
        number: u64,
        value: u64,
    }
}

/// The same four changes by the serial way.
fn serial(directory: &Path, transactions: u64) -> Result<(), Box<dyn Error>> {
    let database = Tables::open(directory)?;
    let cells = database.table::<Cell>()?;
    database.run(|tx| {
        for number in 0..64 {
            tx.insert(cells, &Cell { number, value: 0 })?;
        }
        Ok::<(), sardonyx::Error>(())
    })?;
    let change = |n: u64| {
        database.run(|tx| {
            for page in 0..4 {
                let number = 16 * page + n % 16;
                tx.update(cells, number, |cell| cell.value += 1)?;
            }
            Ok::<(), sardonyx::Error>(())
        })
    };
    for n in 0..64 {
        change(n)?;
    }
    show(
        "serial: change four records by a closure",
        timed(transactions, change)?,
    );
    Ok(database.close()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    if std::env::var_os(CHILD).is_some() {
        let (directory, memory) = (arguments.next(), arguments.next());
        let both = directory.zip(memory).ok_or("two directories")?;
        return child(Path::new(&both.0), Path::new(&both.1));
    }
    let transactions = match arguments.next() {
        Some(number) => number.to_string_lossy().parse()?,
        None => 2000,
    };
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let place = match arguments.next() {
        Some(place) => tempfile::tempdir_in(place)?,
        None => tempfile::tempdir_in("/dev/shm")?,
    };
    println!(
        "{transactions} transactions: {:>46} {:>12} {:>12}",
        "least", "median", "processor"
    );
    for update in [UpdateStrategy::Force, UpdateStrategy::NoForce] {
        let directory = place.path().join(format!("{update:?}"));
        nodes_alone(&directory, memory.path(), update, transactions)?;
    }
    serial(&place.path().join("serial"), transactions)
}
