//! Delays of a process by another one that is stopped (SIGSTOP) at random instants: their number and duration. Two
//! processes commit all the time; one of them is stopped for a while, again and again.
//!
//! ```text
//! stopped_process [STOPS] [MILLISECONDS] [SEED] [volatile|DIRECTORY]
//! ```
//!
//! With a directory, the segment is a database there, and every commit is durable.

use sardonyx_mapped::{
    Memory, MemoryAccess, Options, P, RunError, Segment, SegmentError, StoppedProcess,
};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error>>;

const PAGE: u64 = 4096;
const PAGES: u64 = 16;

fn open(place: &str, options: Options) -> Fallible<Segment> {
    let options = options.address_space_bytes(1 << 30);
    let segment = match place.strip_prefix("name:") {
        Some(name) => options.open_volatile(name)?,
        None => options.open(place)?,
    };
    segment.run(|tx| tx.grow_to(2 * (PAGES + 1) * PAGE))?;
    Ok(segment)
}

/// A transaction on the pages of one of the two.
fn commit(segment: &Segment, who: u64, round: u64) -> Result<(), RunError<SegmentError>> {
    segment.run(|tx| {
        for page in 1..=PAGES {
            let place = P::<u64>::from_offset((who * PAGES + page) * PAGE);
            tx.write(place, round).map_err(|_| SegmentError::ReadOnly)?;
        }
        Ok(())
    })
}

fn main() -> Fallible {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "child") {
        let segment = open(&arguments[1], Options::new())?;
        for round in 0.. {
            commit(&segment, 1, round)?;
        }
    }
    let number = |n: usize, default: u64| arguments.get(n).map_or(Ok(default), |text| text.parse());
    let (stops, time) = (number(0, 600)?, Duration::from_millis(number(1, 200)?));
    let mut state = number(2, 1)?;
    let place = match arguments.get(3) {
        Some(directory) if directory != "volatile" => directory.clone(),
        _ => format!("name:stopped-process-{}", std::process::id()),
    };
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let options = Options::new()
        .stopped_process_wait(Duration::from_millis(50))
        .on_stopped_process(move |stopped: &StoppedProcess| {
            if let Ok(mut told) = tell.lock() {
                told.push(stopped.holds);
            }
        });
    let segment = open(&place, options)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["child", &place])
        .stdin(Stdio::null())
        .spawn()?;
    let (done, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let errors = AtomicU64::new(0);
    // The longest delay of this process' thread during a stop, in microseconds.
    let longest = AtomicU64::new(0);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let began = Instant::now();
                let round = done.fetch_add(1, Ordering::Relaxed);
                if commit(&segment, 0, round).is_err() {
                    errors.fetch_add(1, Ordering::Relaxed);
                }
                let took = began.elapsed().as_micros() as u64;
                longest.fetch_max(took, Ordering::Relaxed);
            }
        });
        std::thread::sleep(Duration::from_millis(200));
        let mut held_up = Vec::new();
        let mut stop_all = || -> Fallible {
            for _ in 0..stops {
                // An instant that the seed chooses.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                std::thread::sleep(Duration::from_micros(1000 + (state >> 33) % 5000));
                longest.store(0, Ordering::Relaxed);
                let before = done.load(Ordering::Relaxed);
                signal(&child, libc::SIGSTOP)?;
                std::thread::sleep(time);
                // The count of commits shows if this process is still in the same transaction.
                let after = done.load(Ordering::Relaxed);
                signal(&child, libc::SIGCONT)?;
                std::thread::sleep(Duration::from_millis(2));
                let stood = longest.load(Ordering::Relaxed);
                if stood > time.as_micros() as u64 / 4 {
                    held_up.push((stood, after - before));
                }
            }
            Ok(())
        };
        let outcome = stop_all();
        ended.store(true, Ordering::Relaxed);
        outcome.map(|()| held_up)
    });
    child.kill()?;
    child.wait()?;
    let held_up = outcome?;
    let most = held_up.iter().map(|(stood, _)| *stood).max().unwrap_or(0);
    println!(
        "{} commits; {stops} stops of {} ms, {} of which held the other up, for {:.1} ms at most",
        done.load(Ordering::Relaxed),
        time.as_millis(),
        held_up.len(),
        most as f64 / 1e3
    );
    println!("{} typed errors", errors.load(Ordering::Relaxed));
    let told = told.lock().map_err(|_| "a callback panicked")?;
    let mut kinds: Vec<_> = told.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let count = told.iter().filter(|holds| **holds == kind).count();
        println!("told {count} times that it holds {kind}");
    }
    Ok(())
}

fn signal(child: &Child, signal: i32) -> Fallible {
    // SAFETY: sends a signal to a child that was not waited for.
    match unsafe { libc::kill(child.id() as i32, signal) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}
