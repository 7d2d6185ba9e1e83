//! A process is killed whose transactions are acknowledged when the store has them. All of them are found in its own
//! directory when that is opened with the store, and in another one.

use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx::{Options, Tables, record};
use sardonyx_base::victims::{Counts, Witness, acknowledge, test_program};
use sardonyx_remote::{RemoteOptions, open};
use std::path::{Path, PathBuf};
use std::time::Duration;

record! {
    #[table("numbers", key = id)]
    struct Number {
        id: u64,
    }
}

/// The directory of the process that is killed.
const MACHINE: &str = "SARDONYX_TEST_STORE_KILLED";

fn open_in(machine: &Path, directory: &str) -> Tables {
    let place = format!("file:{}", machine.join("store").display());
    let store = open(&place, &RemoteOptions::default()).unwrap();
    let remote = RemoteLog {
        durable_at: DurableAt::Remote,
        ..RemoteLog::new(store)
    };
    let options = Options::new().log_bytes_prepared(0).store(remote);
    options.open_tables(machine.join(directory)).unwrap()
}

/// Not a test: the body of the process that is killed. It reports each number that was acknowledged.
#[test]
fn acknowledge_until_killed() {
    let Some(machine) = std::env::var_os(MACHINE).map(PathBuf::from) else {
        return;
    };
    let database = open_in(&machine, "bank.sdx");
    let numbers = database.table::<Number>().unwrap();
    for id in 1.. {
        database
            .run(|tx| tx.insert(numbers, &Number { id }).map(|_| ()))
            .unwrap();
        acknowledge(0, id).unwrap();
    }
}

/// Kills the process when it has acknowledged so many. Returns its last number.
fn kill_after(machine: &Path, count: u64) -> u64 {
    let witness = Witness::new(Counts::of_each());
    let mut command = test_program(&acknowledge_until_killed).unwrap();
    let mut victim = witness.start(command.env(MACHINE, machine)).unwrap();
    let goes_on = witness.goes_on(&victim, [0], count, Duration::from_secs(600));
    goes_on.unwrap();
    victim.end().unwrap();
    witness.verdict().unwrap();
    witness.with(|counts| counts.of(0))
}

#[test]
fn i1_what_a_killed_process_acknowledged_is_in_the_store_and_in_its_directory() {
    for (count, directory) in [(1, "other.sdx"), (60, "bank.sdx"), (150, "other.sdx")] {
        let machine = tempfile::tempdir().unwrap();
        let last = kill_after(machine.path(), count);
        assert!(last >= count);
        let database = open_in(machine.path(), directory);
        let numbers = database.table::<Number>().unwrap();
        for id in 1..=last {
            let found = database.read(|view| Ok(view.get(numbers, id)?.is_some()));
            assert!(found.unwrap(), "{id} of {last} in {directory}");
        }
        database.close().unwrap();
    }
}
