//! A process is killed whose transactions are acknowledged when the store has them. All of them are found in its own
//! directory when that is opened with the store, and in another one.

use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx::{Options, Tables, record};
use sardonyx_remote::{RemoteOptions, open};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Not a test: the body of the process that is killed. It prints each number that was acknowledged.
#[test]
fn acknowledge_until_killed() {
    let Some(machine) = std::env::var_os(MACHINE).map(PathBuf::from) else {
        return;
    };
    let database = open_in(&machine, "bank.sdx");
    let numbers = database.table::<Number>().unwrap();
    let mut told = std::io::stdout().lock();
    for id in 1.. {
        database
            .run(|tx| tx.insert(numbers, &Number { id }).map(|_| ()))
            .unwrap();
        writeln!(told, "acknowledged {id}").unwrap();
    }
}

/// Kills the process when it has acknowledged so many. Returns the last number that it printed.
fn kill_after(machine: &Path, count: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store_killed::acknowledge_until_killed",
            "--nocapture",
        ])
        .env(MACHINE, machine)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let (mut last, mut line) = (0, String::new());
    while last < count && told.read_line(&mut line).unwrap() > 0 {
        last = number_of(&line).unwrap_or(last);
        line.clear();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = line;
    told.read_to_string(&mut rest).unwrap();
    // The last line may have been cut, and then its number is shorter.
    let whole = rest.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(number_of).fold(last, u64::max)
}

fn number_of(line: &str) -> Option<u64> {
    line.trim_end().strip_prefix("acknowledged ")?.parse().ok()
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
