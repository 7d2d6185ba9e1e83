//! The program's signals are the program's: no thread that the library starts, in any way and in any
//! shape, takes one. The kernel is asked, for every thread of this process that was not there before.
//!
//! The test is alone in its process: others' threads would be taken for the library's.

use crate::alone::alone;
use crate::common::{SHAPES, options};
use sardonyx::{Error, Tables};
use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use {sardonyx_mapped as mapped, sardonyx_multilevel as multilevel};

/// Signals that programs are sent: HUP, INT, QUIT, USR1, USR2, PIPE, ALRM, TERM, CHLD, TSTP, URG, VTALRM,
/// PROF, WINCH, IO. Those of faults are not blocked; a thread that just starts blocks all for a moment.
const SIGNALS: [u32; 15] = [1, 2, 3, 10, 12, 13, 14, 15, 17, 20, 23, 26, 27, 28, 29];

/// The threads of this process, with their names and the signals that they block.
fn threads() -> BTreeMap<u64, (String, u64)> {
    let mut found = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = thread.unwrap().path();
        let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        // A thread that has just ended has no status any more.
        let Ok(status) = std::fs::read_to_string(path.join("status")) else {
            continue;
        };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let blocked = u64::from_str_radix(&field("SigBlk:"), 16).unwrap();
        found.insert(number, (field("Name:"), blocked));
    }
    found
}

/// The number of new threads; they must take no signals.
fn new_threads(before: &BTreeMap<u64, (String, u64)>) -> usize {
    let mut new = 0;
    for (number, (name, blocked)) in threads() {
        if before.contains_key(&number) {
            continue;
        }
        for signal in SIGNALS {
            assert!(
                blocked & 1 << (signal - 1) != 0,
                "signal {signal} of the thread {name}, which blocks {blocked:#x}"
            );
        }
        new += 1;
    }
    new
}

#[test]
fn no_thread_of_the_library_takes_the_programs_signals() {
    alone(|| {
        let own = threads();
        for shape in SHAPES {
            let directory = tempfile::tempdir().unwrap();
            let bank: Tables = options(shape).open_tables(directory.path()).unwrap();
            bank.run(|_| Ok::<_, Error>(())).unwrap();
            // Threadless, only the checkpointer has some.
            let at_least = if shape == sardonyx::Shape::Threadless {
                0
            } else {
                3
            };
            assert!(new_threads(&own) >= at_least);
            bank.close().unwrap();
        }
        {
            let directory = tempfile::tempdir().unwrap();
            let database = multilevel::Options::new().open(directory.path()).unwrap();
            assert!(new_threads(&own) > 0);
            database.close().unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let segment = mapped::Segment::open(directory.path()).unwrap();
        let (_, ticket) = segment
            .run_later(|tx| mapped::Memory::grow_to(tx, 8192))
            .unwrap();
        let mut waiting = pin!(ticket);
        let mut context = Context::from_waker(Waker::noop());
        while matches!(waiting.as_mut().poll(&mut context), Poll::Pending) {
            std::thread::yield_now();
        }
        // The version keeper, the driver and its threads, the one that waits for tickets.
        assert!(new_threads(&own) >= 3);
    });
}
