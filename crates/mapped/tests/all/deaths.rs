//! `kill -9`: when any process dies, at any time, the others go on, and the dead one's transaction is there whole or
//! not at all (I9). Processes move money between accounts on pages of their own, so that the sum stays. In the same
//! transaction, they count their transfers on a page of their own.

use crate::common::{
    self, Fallible, MECHANISMS, PAGE, Shared, acknowledge, alone, mechanism_of, options, role, sum,
    unique, word,
};
use sardonyx_base::victims::{Counts, Victim, Witness};
use sardonyx_mapped::planted::{self, Step};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, P, Segment, SegmentError, Transaction};
use sardonyx_workload::random::Random;
use std::time::Duration;

/// Pages with an account each: from the first page on, across the bound of a chunk.
const ACCOUNTS: std::ops::Range<u64> = 500..524;
/// The sum of all accounts.
const MONEY: u64 = 24_000;
/// Pages of counters follow.
const COUNTERS: u64 = 600;
const PAGES: u64 = 1024;
/// A process without progress for so long hangs.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pages that one transaction of many writes whole: more than its part of the ring.
const LARGE: std::ops::Range<u64> = 700..850;

/// The other process.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let mechanism = mechanism_of(&role[1]);
    let number = |n: usize| role[n].parse::<u64>().unwrap();
    match role[0].as_str() {
        "transfer" => forever(&role[2], mechanism, number(3), number(4)),
        "die" => die(&role[2], mechanism, number(3) as usize, number(4)),
        other => panic!("no role {other}"),
    }
}

/// Moves money until killed, and reports how often it did.
fn forever(name: &str, mechanism: MechanismKind, number: u64, seed: u64) {
    let segment = options(mechanism).open_volatile(name).unwrap();
    let mut random = Random::new(seed);
    for done in 1.. {
        transfer(&segment, number, &mut random).unwrap();
        acknowledge(number, done);
    }
}

/// As that, but dies at a step that was planted.
fn die(name: &str, mechanism: MechanismKind, step: usize, passes: u64) {
    let step = Step::ALL[step];
    planted::die_at(step, passes as u32);
    let segment = options(mechanism).open_volatile(name).unwrap();
    let mut random = Random::new(step as u64);
    for done in 1..2000 {
        transfer(&segment, 0, &mut random).unwrap();
        acknowledge(0, done);
        if done % 8 == 0 {
            // Slots are taken and freed, and the segment grows.
            let other = segment.session().unwrap();
            let bytes = segment.length() + PAGE;
            let _ = segment.run(|tx| tx.grow_to(bytes));
            drop(other);
        }
    }
}

fn transfer(segment: &Segment, number: u64, random: &mut Random) -> Fallible {
    let mut account = || ACCOUNTS.start + random.below(ACCOUNTS.end - ACCOUNTS.start);
    let (from, to) = (account(), account());
    let counter = word(COUNTERS + number, 0);
    segment.run(|tx| -> Fallible {
        *tx.get_mut(word(from, 0))? -= 1;
        *tx.get_mut(word(to, 0))? += 1;
        // Much of a page, so that the ring wraps.
        let count = tx.read(counter)? + 1;
        for index in 0..512 {
            tx.write(word(COUNTERS + number, index), count)?;
        }
        if number == 0 && count % 8 == 4 {
            let value = (count / 8 % 255 + 1) * 0x0101_0101_0101_0101;
            for page in LARGE {
                tx.write(P::<[u64; 512]>::from_offset(page * PAGE), [value; 512])?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn bank(mechanism: MechanismKind, name: &str) -> Shared {
    let shared = Shared::new(mechanism, name, PAGES);
    let each = MONEY / (ACCOUNTS.end - ACCOUNTS.start);
    let deposit = |tx: &mut Transaction<'_>| -> Fallible {
        for page in ACCOUNTS {
            tx.write(word(page, 0), each)?;
        }
        Ok(())
    };
    shared.segment.run(deposit).unwrap();
    shared
}

/// The sum is right, and a process has done the transfers that it reported, or one more.
fn check(segment: &Segment, number: u64, mut reported: Counts) {
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(
        sum(&snapshot, ACCOUNTS),
        MONEY,
        "money appeared or vanished"
    );
    let page = COUNTERS + number;
    let counts: Vec<u64> = (0..512)
        .map(|index| snapshot.read(word(page, index)).unwrap())
        .collect();
    assert!(
        counts.iter().all(|count| *count == counts[0]),
        "a transaction is there in part"
    );
    let done = counts[0];
    if number == 0 {
        let large = &snapshot.bytes()[(LARGE.start * PAGE) as usize..(LARGE.end * PAGE) as usize];
        let times = (done + 4) / 8;
        let value = times.checked_sub(1).map_or(0, |last| last % 255 + 1);
        assert!(
            large.iter().all(|byte| u64::from(*byte) == value),
            "a large transaction is there in part: {done} transactions, {value}"
        );
    }
    reported.settle(number, done, 1).unwrap();
}

/// A process that moves money, and its witness.
struct Worker {
    number: u64,
    victim: Victim,
    witness: Witness,
}

impl Worker {
    fn start(role: &[&str], number: u64) -> Self {
        let witness = Witness::default();
        let victim = witness.start(&mut common::command(module_path!(), role));
        Worker {
            number,
            victim: victim.unwrap(),
            witness,
        }
    }

    /// Returns when it has done so many more.
    fn goes_on(&mut self, more: u64) {
        let Worker {
            number,
            victim,
            witness,
        } = self;
        let done = witness.goes_on(victim, [*number], more, PATIENCE);
        done.unwrap_or_else(|error| panic!("process {number}: {error}"));
    }

    /// Returns what it reported, once it has ended.
    fn end(mut self, kill: bool) -> Counts {
        if kill {
            self.victim.kill().unwrap();
        }
        self.victim.wait().unwrap();
        self.witness.verdict().unwrap();
        self.witness.with(|counts| counts.clone())
    }
}

#[test]
fn one_of_four_processes_is_killed_again_and_again() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let shared = bank(mechanism, "killed");
        let mut random = Random::new(7);
        let mut next = 0;
        let mut start = || {
            let (number, seed) = (next.to_string(), (next + 100).to_string());
            let kind = format!("{mechanism:?}");
            next += 1;
            Worker::start(&["transfer", &kind, &shared.name, &number, &seed], next - 1)
        };
        let mut workers: Vec<Worker> = (0..4).map(|_| start()).collect();
        for _ in 0..common::runs(5) {
            let victim = random.below(4) as usize;
            // Not by the clock: after so many transactions, wherever it is then.
            workers[victim].goes_on(random.below(60));
            let victim = std::mem::replace(&mut workers[victim], start());
            let number = victim.number;
            check(&shared.segment, number, victim.end(true));
            for survivor in &mut workers {
                survivor.goes_on(1);
            }
            transfer(&shared.segment, 399, &mut random).unwrap();
        }
        for worker in workers {
            let number = worker.number;
            check(&shared.segment, number, worker.end(true));
        }
    }
}

/// Steps that a process comes to only when it makes or leaves a segment, or one with a log.
const ELSEWHERE: [Step; 4] = [
    Step::BeforeName,
    Step::Left,
    Step::Leading,
    Step::GroupWritten,
];

#[test]
fn a_process_dies_at_each_step_of_every_critical_section() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        // All steps if the environment asks for more runs. Else the mechanisms share the steps, which they have in
        // common, and one pass is enough if a process dies at its step.
        let all = common::runs(0) > 0;
        let passes: &[u64] = match mechanism {
            MechanismKind::Asynchronous => &[40, 0],
            _ => &[1],
        };
        for (n, step) in Step::ALL.iter().enumerate() {
            // No page of a view needs a fault by the explicit mechanism.
            let needless = mechanism == MechanismKind::Explicit
                && matches!(step, Step::Resolving | Step::TurnTaken);
            let left_out = match mechanism {
                _ if all => false,
                MechanismKind::Signal => n % 2 == 0,
                MechanismKind::Explicit => n % 2 == 1,
                _ => false,
            };
            if ELSEWHERE.contains(step) || needless || left_out {
                continue;
            }
            let mut died = false;
            for passes in passes {
                // A process is buried, and a place is taken, once.
                let once = matches!(step, Step::Burying | Step::ProcessRegistered);
                if died && !all {
                    break;
                }
                died |= die_and_go_on(mechanism, n, if once { 0 } else { *passes });
            }
            assert!(died, "{mechanism:?}: nobody died at {step:?}");
        }
    }
}

/// True if it died at the step, and did not just end.
fn die_and_go_on(mechanism: MechanismKind, step: usize, passes: u64) -> bool {
    let shared = bank(mechanism, "steps");
    let kind = format!("{mechanism:?}");
    let (step_number, passes) = (step.to_string(), passes.to_string());
    let start = |role: &str, number: u64, rest: [&str; 2]| {
        Worker::start(&[role, &kind, &shared.name, rest[0], rest[1]], number)
    };
    let burying = Step::ALL[step] == Step::Burying;
    if burying {
        // A process that the victim finds dead, and no survivor that may find it first.
        let mut dead = start("transfer", 2, ["2", "6"]);
        dead.goes_on(1);
        check(&shared.segment, 2, dead.end(true));
    }
    // The pages kept for a large transaction are freed by the first process that sees that they are not needed. If
    // there is no survivor yet, that is the victim.
    let alone = burying || Step::ALL[step] == Step::SpillFreed;
    let early = (!alone).then(|| start("transfer", 1, ["1", "5"]));
    let early = early.map(|mut survivor| {
        survivor.goes_on(1);
        survivor
    });
    let mut victim = start("die", 0, [&step_number, &passes]);
    let status = victim.victim.wait().unwrap();
    check(&shared.segment, 0, victim.end(false));
    let mut survivor = early.unwrap_or_else(|| start("transfer", 1, ["1", "5"]));
    survivor.goes_on(20);
    transfer(&shared.segment, 3, &mut Random::new(1)).unwrap();
    check(&shared.segment, 1, survivor.end(true));
    !status.success()
}

#[test]
fn who_dies_while_making_a_segment_leaves_none() {
    let name = unique("unnamed");
    let step = Step::ALL.iter().position(|step| *step == Step::BeforeName);
    let step = step.unwrap().to_string();
    let mechanism = MechanismKind::Asynchronous;
    let mut victim = Worker::start(&["die", "Asynchronous", &name, &step, "0"], 0);
    assert!(!victim.victim.wait().unwrap().success());
    victim.end(false);
    let mut files = std::fs::read_dir("/dev/shm").unwrap();
    let left = files.find(|file| {
        let found = file.as_ref().unwrap().file_name();
        found.to_string_lossy().contains(&name)
    });
    assert!(left.is_none(), "{left:?}");
    let segment = options(mechanism).open_volatile(&name).unwrap();
    segment.run(|tx| tx.grow_to(PAGE)).unwrap();
    drop(segment);
    let _ = std::fs::remove_file(format!("/dev/shm/{name}"));
}

#[test]
fn the_places_of_the_dead_are_given_out_again() {
    alone(|| {
        let shared = bank(MechanismKind::Asynchronous, "places");
        for n in 0..20 {
            let mut worker =
                Worker::start(&["transfer", "Asynchronous", &shared.name, "7", "1"], 7);
            worker.goes_on(1);
            worker.end(true);
            let snapshot = shared.segment.snapshot().unwrap();
            assert_eq!(sum(&snapshot, ACCOUNTS), MONEY, "life {n}");
        }
        // All but this one's own can be had.
        let mut sessions = Vec::new();
        let refused = loop {
            match shared.segment.session() {
                Ok(session) => sessions.push(session),
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, SegmentError::TooMany { limit: 1024, .. }));
        assert!(sessions.len() >= 1020, "{} sessions", sessions.len());
    });
}

#[test]
fn i9_a_process_at_the_place_of_a_dead_one_does_not_have_its_locks() {
    let shared = bank(MechanismKind::Explicit, "place");
    let start = |role: &str, number: u64, rest: [&str; 2]| {
        Worker::start(&[role, "Explicit", &shared.name, rest[0], rest[1]], number)
    };
    for step in [Step::CommitLocked, Step::GrowthLocked] {
        let step = Step::ALL.iter().position(|other| *other == step).unwrap();
        let mut victim = start("die", 0, [&step.to_string(), "1"]);
        assert!(!victim.victim.wait().unwrap().success());
        victim.end(false);
        // The first free place is the victim's, and no other process has looked at its locks.
        let mut next = start("transfer", 1, ["1", "5"]);
        next.goes_on(5);
        next.end(true);
    }
    assert_eq!(sum(&shared.segment.snapshot().unwrap(), ACCOUNTS), MONEY);
}
