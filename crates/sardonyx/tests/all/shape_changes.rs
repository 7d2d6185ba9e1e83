//! Crashes at every step of the disk while tables change their shape: created, adopted, dropped, renamed, emptied;
//! their columns, indexes and references added, dropped, renamed and widened. Each is tried by itself and among
//! changes of rows in the same transaction, with checkpoints between. The database opens, and is wholly before or
//! wholly after each transaction. Acknowledged transactions are there, and every index agrees with the rows. The rest
//! of the run then has the effects that it would have had.

pub mod cases;
pub mod contents;

use cases::{CASES, Change, base, more_orders, rows};
use contents::{check_indexes, contents, open};
use sardonyx::Tables;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx_base::random::stride;

#[derive(Clone, Copy)]
enum Step {
    Run(Change),
    Checkpoint,
}
use Step::{Checkpoint, Run};

/// Runs the rest of a script, as far as the disk lets it. Returns the numbers of acknowledged and of begun
/// transactions.
fn run(database: &Tables, script: &[Step], done: usize) -> (usize, usize) {
    let (mut at, mut acknowledged) = (0, done);
    for step in script {
        match step {
            Run(_) if at < done => at += 1,
            Run(change) => {
                at += 1;
                if database.run(*change).is_err() {
                    return (acknowledged, at);
                }
                acknowledged = at;
            }
            Checkpoint if at < done => {}
            Checkpoint => {
                if database.checkpoint().is_err() {
                    return (acknowledged, at);
                }
            }
        }
    }
    (acknowledged, at)
}

/// Crashes at every step of a script. Returns how many there are.
fn explore(name: &str, base: &SimulatedDisk, script: &[Step]) -> u64 {
    // The expected content after each transaction.
    let disk = base.restart(Faults::default());
    let database = open(disk.clone()).expect("opens");
    let opened = disk.steps();
    let mut states = vec![contents(&database)];
    for step in script {
        match step {
            Run(change) => {
                let done = database.run(*change);
                done.unwrap_or_else(|error| panic!("{name}: {error}"));
                let state = contents(&database);
                check_indexes(&database, &state);
                assert!(contents(&database) == state, "{name}: undone");
                states.push(state);
            }
            Checkpoint => database.checkpoint().expect("a checkpoint"),
        }
    }
    drop(database);
    let mut seeds = base.clone();
    for step in (opened + 1..).step_by(stride(11)) {
        seeds = seeds.restart(Faults::default());
        let disk = seeds.restart(Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        });
        let (mut acknowledged, mut begun) = (0, 0);
        if let Ok(database) = open(disk.clone()) {
            (acknowledged, begun) = run(&database, script, 0);
        }
        let has_crashed = disk.has_crashed();
        let disk = disk.restart(Faults::default());
        let database = open(disk.clone());
        let database = database.unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
        let found = contents(&database);
        let possible = &states[acknowledged..=begun];
        let at = possible.iter().position(|state| *state == found);
        let Some(at) = at else {
            panic!("{name}, step {step}: {acknowledged} to {begun}\n{found:?}\n{possible:?}");
        };
        check_indexes(&database, &found);
        // It goes on.
        let (done, _) = run(&database, script, acknowledged + at);
        assert_eq!(done + 1, states.len(), "{name}, step {step}");
        drop(database);
        // To open it once more takes a third of the time.
        if has_crashed && step % 4 != 0 {
            continue;
        }
        let database = open(disk.restart(Faults::default())).expect("opens");
        let found = contents(&database);
        assert!(
            found == *states.last().expect("one"),
            "{name}, step {step}: the end"
        );
        if !has_crashed {
            return step - opened;
        }
    }
    unreachable!("a script ends")
}

#[test]
fn each_change_alone_is_whole_after_a_crash_at_any_step() {
    let base = base();
    let mut crashes = 0;
    for case in &CASES {
        let script = [
            Run(case.before),
            Run(case.change),
            Checkpoint,
            Run(case.after),
        ];
        crashes += explore(case.name, &base, &script);
    }
    println!("{crashes} crashes");
    assert!(crashes > 300, "{crashes}");
}

#[test]
fn each_change_among_changes_of_rows_is_whole_after_a_crash_at_any_step() {
    /// The three parts of a case in one transaction, for each case.
    macro_rules! whole {
        ($($case:literal)*) => {
            [$((
                CASES[$case].name,
                (|tx| {
                    (CASES[$case].before)(tx)?;
                    (CASES[$case].change)(tx)?;
                    (CASES[$case].after)(tx)
                }) as Change,
            )),*]
        };
    }
    let base = base();
    let mut crashes = 0;
    for (name, whole) in whole!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) {
        crashes += explore(name, &base, &[Run(whole)]);
    }
    println!("{crashes} crashes");
    assert!(crashes > 100, "{crashes}");
}

/// One change after the other on the same tables.
#[test]
fn many_changes_are_whole_after_a_crash_at_any_step() {
    let script = [
        Run(CASES[1].change),
        Run(more_orders),
        Checkpoint,
        Run(CASES[2].change),
        Run(CASES[5].change),
        Run(more_orders),
        Run(CASES[11].change),
        Checkpoint,
        Run(CASES[9].change),
        Run(more_orders),
        Run(|tx| tx.drop_column("people", "points")),
        Run(rows),
        Checkpoint,
        Run(CASES[6].change),
        Run(CASES[6].after),
        Run(|tx| tx.rename_table("people", "orders")),
    ];
    let crashes = explore("many", &base(), &script);
    println!("{crashes} crashes");
    assert!(crashes > 60, "{crashes}");
}
