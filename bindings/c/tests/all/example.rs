//! The example `hash_table.c`: its output, and its contents after its processes were killed.

use crate::programs::{Program, in_directory, wait};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

fn command(program: &Program, directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program.path());
    command.current_dir(directory).arg("table.sdx").args(words);
    command.stdout(Stdio::piped());
    command
}

/// Runs it; its output if it succeeded.
fn run(program: &Program, directory: &Path, words: &[&str]) -> Option<String> {
    let outcome = command(program, directory, words).output().unwrap();
    let said = String::from_utf8(outcome.stdout).unwrap();
    assert_ne!(
        outcome.status.code(),
        None,
        "{words:?} was ended by a signal"
    );
    outcome.status.success().then(|| said.trim().to_owned())
}

#[test]
fn what_is_put_is_got_until_it_is_removed() {
    let program = Program::compile("../../examples/hash_table");
    in_directory(|directory| {
        let run = |words: &[&str]| run(&program, directory, words);
        assert_eq!(run(&["get", "5"]), None);
        assert!(run(&["put", "5", "50"]).is_some());
        assert!(run(&["put", "6", "60"]).is_some());
        assert!(run(&["put", "5", "35"]).is_some());
        assert_eq!(run(&["get", "5"]).as_deref(), Some("35"));
        assert!(run(&["remove", "6"]).is_some());
        assert_eq!((run(&["remove", "6"]), run(&["get", "6"])), (None, None));
        assert_eq!(run(&["check"]).as_deref(), Some("1"));
    });
}

/// A process that fills the table, and its output.
struct Filler(Child, BufReader<ChildStdout>);

impl Filler {
    fn start(program: &Program, directory: &Path, first: &str, count: &str) -> Filler {
        let mut child = command(program, directory, &["fill", first, count])
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Filler(child, output)
    }

    /// The next key that is durable.
    fn next(&mut self) -> Option<u64> {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        // The last line of a killed process may be cut.
        line.strip_suffix('\n')?.parse().ok()
    }
}

#[test]
fn what_was_durable_is_there_after_all_were_killed() {
    let program = Program::compile("../../examples/hash_table");
    in_directory(|directory| {
        let mut durable = BTreeSet::new();
        // Each round kills one while the other continues, and then that one, too.
        for round in 0..6 {
            let firsts = [round * 2_000_000, round * 2_000_000 + 1_000_000].map(|n| n.to_string());
            let start = |first: &String| Filler::start(&program, directory, first, "1000000");
            let [mut one, mut other] = [start(&firsts[0]), start(&firsts[1])];
            for _ in 0..20 + round * 7 {
                durable.extend([one.next().unwrap(), other.next().unwrap()]);
            }
            one.0.kill().unwrap();
            one.0.wait().unwrap();
            durable.extend(std::iter::from_fn(|| one.next()));
            for _ in 0..20 {
                durable.insert(other.next().unwrap());
            }
            other.0.kill().unwrap();
            other.0.wait().unwrap();
            durable.extend(std::iter::from_fn(|| other.next()));
            let found: usize = run(&program, directory, &["check"])
                .unwrap()
                .parse()
                .unwrap();
            // Each killed process may have one key that was not acknowledged.
            let most = durable.len() + 2 * (round as usize + 1);
            assert!(
                (durable.len()..=most).contains(&found),
                "{found} of {}",
                durable.len()
            );
        }
        for key in durable.iter().step_by(17) {
            let value = run(&program, directory, &["get", &key.to_string()]);
            assert_eq!(value, Some((7 * key).to_string()), "key {key}");
        }
    });
}

#[test]
fn several_processes_fill_it_at_once() {
    let program = Program::compile("../../examples/hash_table");
    in_directory(|directory| {
        let start = |first: &str| Filler::start(&program, directory, first, "300");
        let mut fillers = ["0", "1000", "2000"].map(start);
        for filler in &mut fillers {
            assert_eq!(std::iter::from_fn(|| filler.next()).count(), 300);
        }
        for filler in fillers {
            wait(filler.0);
        }
        assert_eq!(run(&program, directory, &["check"]).as_deref(), Some("900"));
    });
}
