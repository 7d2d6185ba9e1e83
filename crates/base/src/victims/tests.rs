//! The harness itself: victims are shells, whose reports are as the tests need them.

use super::{
    Counts, Hear, Kills, Life, Lost, Report, Reports, Subject, Victim, Witness, WitnessError,
};
use crate::random::Random;
use std::io;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(600);

/// A shell that runs this.
fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A worker that counts from here on, until it is killed.
fn counting(from: u64) -> Command {
    shell(&format!(
        "n={from}; while :; do n=$((n+1)); echo \"@acknowledged 3 $n\"; done"
    ))
}

fn acknowledged(worker: u64, count: u64) -> Report {
    Report::Acknowledged { worker, count }
}

#[test]
fn reports_are_read_between_other_lines_and_one_that_was_cut_was_not_said() {
    let output = "running 1 test\ntest a ... @begins 0 4\n@acknowledged 0 5\n\n@at 1 2\n@acknowledged 0 x\n@acknowledged 0 6";
    let begins = Report::Begins {
        worker: 0,
        count: 4,
    };
    let lines = ["at 1 2", "acknowledged 0 x"].map(|line| Report::Line(line.into()));
    let [at, other] = lines;
    let reports: Vec<Report> = Reports::new(output.as_bytes()).collect();
    assert_eq!(reports, [begins, acknowledged(0, 5), at, other]);
    for report in reports {
        assert_eq!(Report::of(&format!("@{report}")), Some(report));
    }
}

#[test]
fn found_transactions_are_the_acknowledged_ones_or_some_of_those_under_way() {
    let mut counts = Counts::default();
    counts.hear(acknowledged(2, 7)).unwrap();
    for found in [6, 10] {
        let lost = Lost {
            worker: 2,
            acknowledged: 7,
            open: 2,
            found,
        };
        assert_eq!(counts.settle(2, found, 2), Err(lost));
    }
    counts.settle(2, 9, 2).unwrap();
    assert_eq!(counts.of(2), 9, "the next life continues there");
    assert_eq!((counts.total(), counts.first(3)), (9, vec![0, 0, 9]));
    assert_eq!(counts.settle(1, 0, 0), Ok(()));
}

#[test]
fn reports_that_cannot_be_true_are_errors() {
    let begins = |count| Report::Begins { worker: 0, count };
    let hear = |mut counts: Counts, reports: &[Report]| {
        reports.iter().cloned().try_for_each(|r| counts.hear(r))
    };
    let five = acknowledged(0, 5);
    for wrong in [
        [five.clone(), acknowledged(0, 5)],
        [five.clone(), acknowledged(0, 4)],
        [five.clone(), begins(4)],
        [five.clone(), begins(7)],
    ] {
        assert!(hear(Counts::default(), &wrong).is_err(), "{wrong:?}");
    }
    let skips = [five.clone(), acknowledged(0, 7)];
    assert_eq!(hear(Counts::default(), &skips), Ok(()));
    let each = Counts::of_each;
    assert!(hear(each(), &skips).is_err() && hear(each(), &[five]).is_err());
    let whole = [
        acknowledged(0, 1),
        begins(2),
        acknowledged(0, 3),
        acknowledged(1, 1),
    ];
    assert_eq!(hear(each(), &whole), Ok(()));
}

#[test]
fn a_victim_is_heard_until_it_is_killed_and_its_last_reports_count() {
    let witness = Witness::new(Counts::of_each());
    let mut victim = witness.start(&mut counting(0)).unwrap();
    witness.goes_on(&victim, [3], 20, PATIENCE).unwrap();
    let status = victim.end().unwrap();
    assert_eq!(status.code(), None, "it was killed");
    witness.verdict().unwrap();
    let before = witness.with(|counts| counts.of(3));
    assert!(before >= 20);
    assert!(victim.is_silent());
    let more = witness.goes_on(&victim, [3], 1, PATIENCE);
    assert!(matches!(more, Err(WitnessError::Ended(..))), "{more:?}");
}

#[test]
fn a_process_that_ends_by_itself_one_that_is_silent_and_one_that_lies_are_noticed() {
    let witness: Witness = Witness::default();
    let victim = witness.start(&mut shell("echo @acknowledged 0 1")).unwrap();
    let ended = witness.goes_on(&victim, [0], 5, PATIENCE);
    assert!(matches!(ended, Err(WitnessError::Ended(..))), "{ended:?}");
    let victim = witness.start(&mut shell("exec sleep 600")).unwrap();
    let silent = witness.goes_on(&victim, [0], 1, Duration::ZERO);
    assert!(matches!(silent, Err(WitnessError::Silent(_))), "{silent:?}");
    let script = "echo @acknowledged 5 2; echo @acknowledged 5 1; exec sleep 600";
    let victim = witness.start(&mut shell(script)).unwrap();
    let lies = witness.goes_on(&victim, [5], 9, PATIENCE);
    assert!(matches!(lies, Err(WitnessError::Untrue(_))), "{lies:?}");
    assert!(witness.verdict().is_err());
}

#[test]
fn a_victim_says_lines_and_ends_with_its_handle() {
    let mut victim = Victim::start(&mut shell("echo x; echo @at 7; exec sleep 600")).unwrap();
    assert_eq!(victim.said("at ").as_deref(), Some("7"));
    let process = format!("/proc/{}/comm", victim.id());
    assert!(std::fs::exists(&process).unwrap());
    assert!(victim.ended().unwrap().is_none());
    drop(victim);
    assert!(!std::fs::exists(process).unwrap());
}

/// A worker whose database is a number that the test keeps: the acknowledged count, or what a fault leaves.
#[derive(Default)]
struct Worker {
    lives: u64,
    recoveries: u64,
    /// So many acknowledged transactions are lost in the third life.
    loses: u64,
    /// The number of databases that were judged whole.
    ended: u64,
}

/// The found transactions, and the acknowledged ones.
#[derive(Default)]
struct Database {
    found: u64,
    counts: Counts,
}

impl Subject for Worker {
    type Event = u64;
    type Database = Database;
    type Error = io::Error;

    fn events(&self) -> Vec<(u64, u64, &'static str)> {
        vec![(1, 3, "early"), (2, 9, "late")]
    }

    fn start(&mut self) -> io::Result<Database> {
        Ok(Database::default())
    }

    fn submit(
        &mut self,
        database: &mut Database,
        reports: u64,
        random: &mut Random,
    ) -> io::Result<()> {
        self.lives += 1;
        let life = Life {
            moment: Duration::from_micros(10),
            ..Life::new(counting(database.found), reports)
        };
        let ended = life.end(&mut database.counts, random);
        ended.map_err(io::Error::other)
    }

    fn recover(&mut self, _: &mut Random) -> io::Result<Option<Command>> {
        self.recoveries += 1;
        Ok(Some(shell("exec sleep 600")))
    }

    fn observe(&mut self, database: &mut Database, ends: bool, _: &mut Random) -> io::Result<()> {
        database.found = database.counts.of(3) + 1;
        if self.lives == 3 {
            database.found -= 1 + self.loses;
        }
        self.ended += u64::from(ends);
        let settled = database.counts.settle(3, database.found, 1);
        settled.map_err(io::Error::other)
    }

    fn is_full(&self, _: &Database) -> bool {
        self.lives == 6
    }
}

#[test]
fn lives_and_recoveries_are_killed_and_a_lost_transaction_is_found() {
    let kills = Kills {
        per_database: 4,
        recoveries_percent: 50,
        recovery: Duration::from_micros(10),
        ..Kills::new(11)
    };
    let (mut worker, mut judged) = (Worker::default(), 0);
    let killed = kills.run(&mut Random::new(7), &mut worker, |_| judged += 1);
    let killed = killed.unwrap();
    let [("early", early), ("late", late)] = killed.events[..] else {
        panic!("{killed:?}");
    };
    assert!(early > 0 && late > 0);
    assert_eq!((early + late, worker.lives, judged), (11, 11, 11));
    // After 4 events, when the second one is full, after 4 more, and at the end.
    assert_eq!((killed.databases, worker.ended), (4, 4));
    assert_eq!(killed.recoveries, worker.recoveries);
    assert!(killed.recoveries > 0);
    let mut loses = Worker {
        loses: 1,
        ..Worker::default()
    };
    let lost = kills.run(&mut Random::new(7), &mut loses, |_| ());
    let lost = lost.unwrap_err();
    assert!(lost.error.to_string().contains("were acknowledged"));
    assert_eq!((lost.event, loses.lives), (3, 3));
}
