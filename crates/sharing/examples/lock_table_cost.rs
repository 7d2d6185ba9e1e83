//! The cost of locking and unlocking a page in the global lock table that processes share:
//!
//! ```text
//! cargo run --release -p sardonyx-sharing --example lock_table_cost -- [PAGES [ROUNDS]]
//! ```
//!
//! Two processes have the table. In each round, one after the other locks and unlocks all pages. That is four accesses
//! for each: read and swap to lock, read and swap to unlock. So with two processes the entry was last changed, and its
//! cell last written, by the other one, on any processor. Three things are timed: the machine of GEM locking with the
//! table, as a node runs it; the table's accesses alone; and the machine with entries in its own memory. The least time
//! of all rounds counts, and the median.

use sardonyx_sharing::lock_table::{Segment, SegmentOptions};
use sardonyx_sharing::protocol::{
    Entry, EntryStore, GemLocking, GemOptions, Input, LockMode, MemoryEntries, NodeId, Outcome,
    Output, PageId, PageTransfer, TransactionId, UpdateStrategy,
};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const CHILD: &str = "SARDONYX_LOCK_TABLE_CHILD";

fn options(pages: u64) -> SegmentOptions {
    SegmentOptions {
        identity: 1,
        page_bytes: 4096,
        entries: pages as usize,
        overflow: 0,
    }
}

/// The machine of a node, with its entries.
struct Shell<S> {
    machine: GemLocking,
    node: NodeId,
    store: S,
    outputs: Vec<Output>,
    number: u64,
}

impl<S: EntryStore<Error: std::fmt::Debug>> Shell<S> {
    fn new(node: NodeId, store: S) -> Self {
        let options = GemOptions {
            update: UpdateStrategy::Force,
            read_authorisation: false,
            page_transfer: PageTransfer::Message,
            remembered_entries: false,
        };
        Shell {
            machine: GemLocking::new(node, options),
            node,
            store,
            outputs: Vec::new(),
            number: 0,
        }
    }

    fn feed(&mut self, input: Input) {
        let handled = self
            .machine
            .handle_with(&mut self.store, input, &mut self.outputs);
        handled.map_err(drop).expect("one protocol, and room");
        self.outputs.clear();
    }

    fn lock(&mut self, page: PageId) -> TransactionId {
        self.number += 1;
        let transaction = TransactionId::new(self.node, self.number);
        self.feed(Input::Lock {
            transaction,
            page,
            mode: LockMode::Write,
            cached: None,
        });
        transaction
    }

    fn unlock(&mut self, transaction: TransactionId) {
        self.feed(Input::End {
            transaction,
            outcome: Outcome::Committed,
        });
    }

    /// Locks and unlocks all pages; nanoseconds each.
    fn round(&mut self, pages: u64) -> f64 {
        let start = Instant::now();
        for page in 0..pages {
            let transaction = self.lock(PageId(page));
            self.unlock(transaction);
        }
        start.elapsed().as_nanos() as f64 / pages as f64
    }
}

/// The same accesses without a machine: the entries as it makes them for a lock and its release.
fn accesses<S: EntryStore<Error: std::fmt::Debug>>(
    store: &mut S,
    entries: &mut [(Entry, Entry)],
) -> f64 {
    let pages = entries.len() as f64;
    let start = Instant::now();
    for (page, (locked, free)) in entries.iter_mut().enumerate() {
        for entry in [locked, free] {
            let page = PageId(page as u64);
            let before = store.read(page).expect("it can be read");
            let next = entry.clone().after(&before);
            let swapped = store.swap(page, before.version(), next);
            assert!(swapped.expect("there is room"));
        }
    }
    start.elapsed().as_nanos() as f64 / pages
}

fn show(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{what:<62} {least:>8.0} ns {median:>8.0} ns");
}

/// The other process: a round for each line.
fn child(path: &Path, pages: u64) -> Result<(), Box<dyn Error>> {
    let segment = Segment::join(path, options(pages))?;
    let node = segment.join_node(1)?;
    let mut shell = Shell::new(node.node(), node);
    for line in std::io::stdin().lines() {
        line?;
        let time = shell.round(pages);
        println!("{time}");
        std::io::stdout().flush()?;
    }
    Ok(shell.store.leave()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |word| word.parse());
    let (pages, rounds) = (number(1000)?, number(300)?);
    if let Some(path) = std::env::var_os(CHILD) {
        return child(Path::new(&path), pages);
    }
    let directory = tempfile::tempdir_in("/dev/shm")?;
    let path = directory.path().join("table");
    let segment = Segment::create(Some(&path), options(pages))?;
    let node = segment.join_node(0)?;
    let mut shell = Shell::new(node.node(), node);
    let mut other = Command::new(std::env::current_exe()?)
        .args([pages.to_string(), rounds.to_string()])
        .env(CHILD, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ask = other.stdin.take().ok_or("no input")?;
    let mut answers = BufReader::new(other.stdout.take().ok_or("no output")?).lines();
    let (mut handed_over, mut own) = (Vec::new(), Vec::new());
    shell.round(pages);
    for _ in 0..rounds {
        writeln!(ask, "go")?;
        answers.next().ok_or("the other process is gone")??;
        handed_over.push(shell.round(pages));
        own.push(shell.round(pages));
    }
    let mut alone = Shell::new(NodeId(0), MemoryEntries::default());
    alone.round(pages);
    let in_memory = (0..rounds).map(|_| alone.round(pages)).collect();
    let mut entries: Vec<_> = (0..pages)
        .map(|_| {
            let (page, mut maker) = (PageId(0), Shell::new(shell.node, MemoryEntries::default()));
            let transaction = maker.lock(page);
            let locked = maker.store.read(page).unwrap_or_default();
            maker.unlock(transaction);
            (locked, maker.store.read(page).unwrap_or_default())
        })
        .collect();
    let four = (0..rounds)
        .map(|_| accesses(&mut shell.store, &mut entries))
        .collect();
    println!("{pages} pages, {rounds} rounds; lock and unlock one page:       least     median");
    show(
        "machine and table, last used by the other process",
        handed_over,
    );
    show("machine and table, last used by the same process", own);
    show("the four accesses alone, same process", four);
    show("machine, entries in its own memory", in_memory);
    println!(
        "GEM paper: 2 us for an access (table 4.1), two for each request and release (section 2): \
         4 us to lock, 4 us to unlock"
    );
    drop(ask);
    other.wait()?;
    Ok(shell.store.leave()?)
}
