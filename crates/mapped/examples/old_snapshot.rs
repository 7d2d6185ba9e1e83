//! The cost of an old reader for a writer. The same transactions run alternately on two segments. One has no reader.
//! The other one has a reader from before the first transaction until after the last: a snapshot of this process, or an
//! idle transaction of another process.
//!
//! ```text
//! old_snapshot [PAGES] [WORDS] [COMMITS] [snapshot|idle|sessions] [asynchronous|signal|explicit]
//! ```
//!
//! Each transaction changes `WORDS` scattered words in each of `PAGES` pages. `sessions`: as `snapshot`, and two
//! sessions commit in turn, so that each sees the pages that the other changed. At the end the reader closes, and the
//! cost of the commits after it is shown. Times are of this thread's processor, so that other programs on the machine
//! matter little.

use sardonyx_mapped::{Begin, MechanismKind, Memory, Options, Segment, Session, Transaction};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error>>;

const PAGE: u64 = 4096;

struct Load {
    pages: u64,
    words: u64,
}

impl Load {
    /// One transaction; the milliseconds of processor time that all of it took, and its commit alone.
    fn commit(&self, session: &mut Session, round: u64) -> Fallible<(f64, f64)> {
        let began = processor_ms();
        let mut transaction = Transaction::begin(session, Begin::default())?;
        for page in 1..=self.pages {
            for word in 0..self.words {
                let offset = page * PAGE + word * (512 / self.words).max(1) * 8;
                let place = sardonyx_mapped::P::<u64>::from_offset(offset);
                sardonyx_mapped::MemoryAccess::write(&mut transaction, place, round)?;
            }
        }
        let committing = processor_ms();
        transaction.commit()?;
        let ended = processor_ms();
        Ok((ended - began, ended - committing))
    }
}

fn open(name: &str, kind: MechanismKind, pages: u64) -> Fallible<Segment> {
    let segment = Options::new()
        .mechanism(kind)
        .address_space_bytes(1 << 30)
        .open_volatile(name)?;
    segment.run(|tx| tx.grow_to((pages + 1) * PAGE))?;
    Ok(segment)
}

fn main() -> Fallible {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |n: usize, default: &'static str| {
        arguments.get(n).cloned().unwrap_or_else(|| default.into())
    };
    let kind = match text(4, "best").as_str() {
        "asynchronous" => MechanismKind::Asynchronous,
        "signal" => MechanismKind::Signal,
        "explicit" => MechanismKind::Explicit,
        _ => MechanismKind::Best,
    };
    if text(3, "") == "child" {
        return idle(&arguments[5], kind);
    }
    let load = Load {
        pages: text(0, "512").parse()?,
        words: text(1, "16").parse()?,
    };
    let commits: u64 = text(2, "64").parse()?;
    let reader = text(3, "snapshot");
    let names =
        ["without", "with"].map(|name| format!("old-snapshot-{name}-{}", std::process::id()));
    let segments = [
        open(&names[0], kind, load.pages)?,
        open(&names[1], kind, load.pages)?,
    ];
    let several = if reader == "sessions" { 2 } else { 1 };
    let mut sessions = Vec::new();
    for segment in &segments {
        let mut some = Vec::new();
        for _ in 0..several {
            some.push(segment.session()?);
        }
        for round in 0..4 {
            load.commit(&mut some[round as usize % several], round)?;
        }
        sessions.push(some);
    }
    let mut child = None;
    let mut snapshot = None;
    match reader.as_str() {
        "idle" => child = Some(another(&arguments, &names[1])?),
        _ => snapshot = Some(segments[1].snapshot()?),
    }
    println!(
        "{} pages x {} words; ms for a transaction (its commit)",
        load.pages, load.words
    );
    println!(
        "{:>8} {:>18} {:>18} {:>7}",
        "commits", "without", "with the reader", "ratio"
    );
    let show = (commits / 8).max(1);
    let mut sums = [(0.0, 0.0); 2];
    for round in 1..=commits {
        for (n, sessions) in sessions.iter_mut().enumerate() {
            let (all, commit) =
                load.commit(&mut sessions[round as usize % several], 100 + round)?;
            sums[n].0 += all;
            sums[n].1 += commit;
        }
        if round % show == 0 {
            let mean = |n: usize| (sums[n].0 / show as f64, sums[n].1 / show as f64);
            let ((a, ac), (b, bc)) = (mean(0), mean(1));
            let ratio = b / a;
            println!("{round:>8} {a:>9.3} ({ac:>6.3}) {b:>9.3} ({bc:>6.3}) {ratio:>7.2}");
            sums = [(0.0, 0.0); 2];
        }
    }
    if let Some(reader) = segments[1].slowest_reader() {
        println!(
            "kept for the reader: {} KiB of redo records",
            reader.bytes >> 10
        );
    }
    println!("memory of this process: {} MiB", resident_bytes()? >> 20);
    drop(snapshot);
    if let Some(mut child) = child {
        child.kill()?;
        child.wait()?;
    }
    for after in 1..=4 {
        let (all, commit) = load.commit(&mut sessions[1][after as usize % several], 7)?;
        println!("{after} after the reader: {all:.3} ms ({commit:.3})");
    }
    Ok(())
}

/// Starts a process in which a transaction has begun and does nothing.
fn another(arguments: &[String], name: &str) -> Fallible<std::process::Child> {
    let mechanism = arguments.get(4).map_or("best", String::as_str);
    let mut child = Command::new(std::env::current_exe()?)
        .args(["0", "0", "0", "child", mechanism, name])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let told = child.stdout.as_mut().ok_or("a pipe")?;
    BufReader::new(told).read_line(&mut line)?;
    Ok(child)
}

fn idle(name: &str, kind: MechanismKind) -> Fallible {
    let segment = open(name, kind, 1)?;
    let mut session = segment.session()?;
    let transaction = Transaction::begin(&mut session, Begin::default())?;
    println!("begun");
    loop {
        std::thread::park();
        std::hint::black_box(&transaction);
    }
}

/// This thread's time on a processor.
fn processor_ms() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is valid; the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn resident_bytes() -> Fallible<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).ok_or("statm")?.parse()?;
    Ok(pages * PAGE)
}
