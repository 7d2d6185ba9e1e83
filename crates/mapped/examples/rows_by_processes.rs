//! Transactions of several processes that change rows of 40 bytes, each a row chosen at random. The layouts: packed, a
//! hundred to a page; one to a page; and in regions, a process' own rows on pages of their own.
//!
//! The mechanism detects the reads once, and the program declares them once (`Explicit`).
//!
//! `cargo run --release -p sardonyx-mapped --example rows_by_processes [ROWS [SECONDS [CHANGES [WORK [EACH]]]]]`:
//! 1,000 rows, 3 seconds, 4 changes in a transaction. A transaction works for 100 microseconds between reading and
//! changing. The process waits until every EACH-th (100th) transaction is durable. The program starts itself again for
//! each process.

use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, Options, P, Segment, Spread};
use sardonyx_workload::random::Random;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Row = [u64; 5];

/// The address of the first row.
const START: u64 = 4096;

/// The layout and the choice of rows.
#[derive(Clone, Copy)]
struct Layout {
    name: &'static str,
    per_page: u64,
    /// True if each process has rows of its own.
    regions: bool,
}

const LAYOUTS: [Layout; 3] = [
    Layout {
        name: "packed",
        per_page: u64::MAX,
        regions: false,
    },
    Layout {
        name: "one to a page",
        per_page: 1,
        regions: false,
    },
    Layout {
        name: "regions",
        per_page: u64::MAX,
        regions: true,
    },
];

impl Layout {
    /// The rows that the nth of so many processes changes.
    fn rows(&self, all: u64, process: u64, processes: u64) -> Spread<Row> {
        let place = |start, length| Spread::new(P::from_offset(start), length, self.per_page);
        if !self.regions {
            return place(START, all);
        }
        let part = all.div_ceil(processes);
        let bytes = place(START, part).bytes();
        place(START + process * bytes, part)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [worker, directory, numbers @ ..] = &arguments[..]
        && worker == "worker"
    {
        let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
        let [
            layout,
            rows,
            milliseconds,
            changes,
            work,
            each,
            explicit,
            process,
            processes,
        ] = numbers?[..]
        else {
            return Err("nine numbers".into());
        };
        let layout = LAYOUTS[layout as usize];
        let rows = layout.rows(rows, process, processes);
        let time = Duration::from_millis(milliseconds);
        let work = Duration::from_micros(work);
        return run_transactions(
            Path::new(directory),
            rows,
            time,
            (changes, work, each, explicit == 1),
            process,
        );
    }
    let number = |place: usize, usual: f64| match arguments.get(place) {
        Some(given) => given.parse::<f64>(),
        None => Ok(usual),
    };
    let (rows, seconds) = (number(0, 1e3)?, number(1, 3.0)?);
    let (changes, work, each) = (number(2, 4.0)?, number(3, 100.0)?, number(4, 100.0)?);
    println!("rows           reads      processes  transactions/s  conflicts a transaction");
    let cells = LAYOUTS
        .iter()
        .enumerate()
        .flat_map(|cell| [(cell, 0), (cell, 1)]);
    for ((layout, about), explicit) in cells {
        for processes in [1, 3] {
            let numbers = [
                layout as u64,
                rows as u64,
                (seconds * 1e3) as u64,
                changes as u64,
                work as u64,
                each as u64,
                explicit,
            ];
            let (per_second, conflicts) = run(&numbers, processes)?;
            let name = about.name;
            let reads = ["observed", "explicit"][explicit as usize];
            println!("{name:14} {reads:9} {processes:10} {per_second:15.0} {conflicts:12.2}");
        }
    }
    Ok(())
}

/// Transactions a second of all processes together, and conflicts for each.
fn run(numbers: &[u64], processes: u64) -> Result<(f64, f64), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    // Keeps the segment open from one process to the next.
    let segment = Options::new().open(directory.path())?;
    let bytes = START + (numbers[1] + processes) * 4096;
    segment.run(|tx| tx.grow_to(bytes))?;
    let start = |process| {
        let mut again = Command::new(std::env::current_exe()?);
        again.arg("worker").arg(directory.path());
        again.args(
            numbers
                .iter()
                .chain(&[process, processes])
                .map(u64::to_string),
        );
        again.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    };
    let mut workers: Vec<Child> = (0..processes).map(start).collect::<Result<_, _>>()?;
    let mut said: Vec<_> = workers
        .iter_mut()
        .map(|worker| BufReader::new(worker.stdout.take().expect("piped")))
        .collect();
    for said in &mut said {
        said.read_line(&mut String::new())?;
    }
    for worker in &mut workers {
        worker.stdin.take().expect("piped").write_all(b"go\n")?;
    }
    let (mut commits, mut conflicts, mut per_second) = (0.0, 0.0, 0.0);
    for (said, worker) in said.iter_mut().zip(&mut workers) {
        let mut line = String::new();
        said.read_line(&mut line)?;
        let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        let [committed, conflicted, seconds] = numbers?[..] else {
            return Err("a worker failed".into());
        };
        commits += committed;
        conflicts += conflicted;
        per_second += committed / seconds;
        worker.wait()?;
    }
    Ok((per_second, conflicts / commits))
}

fn run_transactions(
    directory: &Path,
    rows: Spread<Row>,
    time: Duration,
    (changes, work, each, explicit): (u64, Duration, u64, bool),
    process: u64,
) -> Result<(), Box<dyn Error>> {
    let mechanism = match explicit {
        true => MechanismKind::Explicit,
        false => MechanismKind::Best,
    };
    let segment: Segment = Options::new().mechanism(mechanism).open(directory)?;
    let mut random = Random::new(process);
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    let started = Instant::now();
    let mut commits = 0;
    while started.elapsed() < time {
        let chosen: Vec<P<Row>> = (0..changes)
            .map(|_| rows.get(random.below(rows.length())).expect("there is one"))
            .collect();
        let ((), ticket) = segment.run_later(|tx| {
            let read = chosen.iter().map(|&place| tx.read(place));
            let before: Vec<Row> = read.collect::<Result<_, _>>()?;
            let until = Instant::now() + work;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            let mut changed = chosen.iter().zip(before);
            changed.try_for_each(|(&place, row)| tx.write(place, row.map(|word| word + 1)))
        })?;
        commits += 1;
        if commits % each.max(1) == 0 {
            ticket.wait()?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let conflicts = segment.statistics().conflicts;
    println!("{commits} {conflicts} {seconds}");
    Ok(())
}
