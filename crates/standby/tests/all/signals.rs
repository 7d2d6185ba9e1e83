//! No thread of a standby, or of a primary that ships to one, takes the program's signals.
//!
//! In a process of its own: others' threads would be taken for the standby's.

use crate::alone::alone;
use crate::common::bank::Bank;
use crate::common::{LONG, at, disk, serve};
use std::collections::BTreeMap;

/// SIGHUP, SIGINT, SIGUSR1, SIGALRM, SIGTERM, SIGCHLD, SIGPROF: what programs are sent.
const SIGNALS: [u32; 7] = [1, 2, 10, 14, 15, 17, 27];

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

#[test]
fn no_thread_of_a_standby_takes_the_programs_signals() {
    alone(|| {
        let own = threads();
        let (here, there) = (disk(1), disk(2));
        let server = serve(&there);
        let standby = at(server.address());
        let mut bank = Bank::at(&here, standby.clone()).unwrap();
        bank.transact_patiently(10);
        assert!(standby.wait_until_caught_up(LONG), "{:?}", standby.status());
        let mut theirs = 0;
        for (number, (name, blocked)) in threads() {
            if own.contains_key(&number) {
                continue;
            }
            theirs += 1;
            for signal in SIGNALS {
                assert!(
                    blocked & 1 << (signal - 1) != 0,
                    "signal {signal} of the thread {name}, which blocks {blocked:#x}"
                );
            }
        }
        assert!(theirs > 3, "{theirs}");
        bank.database.close().unwrap();
        server.stop();
    });
}
