//! Segments with a log: acknowledged transactions exist after any death and after a restart; each other transaction is
//! there whole or not at all (I1, I8, I9).

use crate::common::{
    self, Fallible, MECHANISMS, PAGE, acknowledge, mechanism_of, options, role, runs, sum, word,
};
use sardonyx_base::victims::{Victim, Witness};
use sardonyx_mapped::planted::{self, Step};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, P, Segment};
use sardonyx_workload::random::Random;
use std::path::Path;
use std::time::Duration;

const ACCOUNTS: std::ops::Range<u64> = 500..516;
const MONEY: u64 = 16_000;
const COUNTERS: u64 = 600;
const PAGES: u64 = 1024;
/// A worker without progress for so long hangs.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pages that one transaction of many writes whole: more than its part of the ring.
const LARGE: std::ops::Range<u64> = 700..850;

#[test]
fn child() {
    let Some(role) = role() else { return };
    let number = |n: usize| role[n].parse::<u64>().unwrap();
    let (mechanism, directory, worker) = (mechanism_of(&role[0]), &role[1], number(2));
    if let Some(step) = role.get(4) {
        planted::die_at(Step::ALL[step.parse::<usize>().unwrap()], 3);
    }
    let segment = options(mechanism).open(directory).unwrap();
    let mut random = Random::new(number(3));
    for _ in 0.. {
        acknowledge(worker, transfer(&segment, worker, &mut random).unwrap());
    }
}

/// Moves money and counts; returns the count once it is durable.
fn transfer(segment: &Segment, worker: u64, random: &mut Random) -> Fallible<u64> {
    let mut account = || ACCOUNTS.start + random.below(ACCOUNTS.end - ACCOUNTS.start);
    let (from, to) = (account(), account());
    let page = COUNTERS + worker;
    let whole = random.chance(50);
    Ok(segment.run(|tx| -> Fallible<u64> {
        *tx.get_mut(word(from, 0))? -= 1;
        *tx.get_mut(word(to, 0))? += 1;
        let count = tx.read(word(page, 0))? + 1;
        let last = if whole { 400 } else { 2 };
        for index in 0..last {
            tx.write(word(page, index), count)?;
        }
        if worker == 0 && count % 4 == 2 {
            for page in LARGE {
                let value = large_value(count);
                tx.write(P::<[u64; 512]>::from_offset(page * PAGE), [value; 512])?;
            }
        }
        Ok(count)
    })?)
}

/// The value left by the first worker's large transactions, up to this count.
fn large_value(count: u64) -> u64 {
    let times = (count + 2) / 4;
    let last = times.checked_sub(1);
    last.map_or(0, |last| (last % 255 + 1) * 0x0101_0101_0101_0101)
}

fn open(mechanism: MechanismKind, directory: &Path) -> Segment {
    let segment = options(mechanism).open(directory).unwrap();
    let each = MONEY / (ACCOUNTS.end - ACCOUNTS.start);
    segment
        .run(|tx| -> Fallible {
            tx.grow_to(PAGES * PAGE)?;
            if tx.read(word(ACCOUNTS.start, 1))? == 0 {
                for page in ACCOUNTS {
                    tx.write(word(page, 0), each)?;
                    tx.write(word(page, 1), 1)?;
                }
            }
            Ok(())
        })
        .unwrap();
    segment
}

/// The sum is right, and the count of each of so many workers is the reported one, or one more. Counting continues from
/// there.
fn check(segment: &Segment, witness: &Witness, workers: u64) {
    witness.verdict().unwrap();
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(
        sum(&snapshot, ACCOUNTS),
        MONEY,
        "money appeared or vanished"
    );
    for worker in 0..workers {
        let page = COUNTERS + worker;
        let [count, second] = [0, 1].map(|n| snapshot.read(word(page, n)).unwrap());
        assert_eq!(count, second, "a transaction is there in part");
        if worker == 0 {
            let large = LARGE.map(|page| P::<[u64; 512]>::from_offset(page * PAGE));
            for page in large {
                let page = snapshot.read(page).unwrap();
                assert!(
                    page.iter().all(|word| *word == large_value(count)),
                    "{count}"
                );
            }
        }
        let settled = witness.with(|counts| counts.settle(worker, count, 1));
        settled.unwrap();
    }
}

fn worker_of(mechanism: MechanismKind, directory: &Path, worker: u64, seed: u64) -> [String; 4] {
    [
        format!("{mechanism:?}"),
        directory.display().to_string(),
        worker.to_string(),
        seed.to_string(),
    ]
}

fn start(witness: &Witness, role: &[String]) -> Victim {
    let role = role.iter().map(String::as_str).collect::<Vec<_>>();
    let mut command = common::command(module_path!(), &role);
    witness.start(&mut command).unwrap()
}

#[test]
fn all_are_killed_at_once_and_nothing_acknowledged_is_lost() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank");
        drop(open(mechanism, &path));
        let (witness, count) = (Witness::default(), 3);
        let mut random = Random::new(11);
        for life in 0..runs(2) {
            let role = |n| worker_of(mechanism, &path, n, life * 10 + n);
            let mut workers: Vec<_> = (0..count).map(|n| start(&witness, &role(n))).collect();
            // Not by the clock: after so many acknowledgements.
            for _ in 0..1 + random.below(200) {
                let n = random.below(count);
                let goes_on = witness.goes_on(&workers[n as usize], [n], 1, PATIENCE);
                goes_on.unwrap();
            }
            workers.iter_mut().for_each(|worker| worker.kill().unwrap());
            for worker in &mut workers {
                worker.wait().unwrap();
            }
            check(&open(mechanism, &path), &witness, count);
        }
    }
}

#[test]
fn one_is_killed_the_others_go_on_and_all_is_there_after_a_restart() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank");
        let segment = open(mechanism, &path);
        let witness = Witness::default();
        for victim in 0..4 {
            let mut dead = start(&witness, &worker_of(mechanism, &path, victim, 5));
            witness.goes_on(&dead, [victim], 20, PATIENCE).unwrap();
            dead.end().unwrap();
            check(&segment, &witness, 4);
            transfer(&segment, 9, &mut Random::new(victim)).unwrap();
        }
        drop(segment);
        check(&open(mechanism, &path), &witness, 4);
    }
}

#[test]
fn one_dies_at_each_step_and_all_is_there_after_a_restart() {
    let steps = Step::ALL.iter().enumerate();
    let elsewhere = |step: &Step| {
        use Step::*;
        matches!(
            step,
            Burying
                | BeforeName
                | Left
                | GrowthLocked
                | Allocated
                | Grown
                | SlotCounted
                | SlotTaken
                | ProcessRegistered
                | Resolving
                | TurnTaken
        )
    };
    for (n, step) in steps.filter(|(_, step)| !elsewhere(step)) {
        let mechanism = MechanismKind::Asynchronous;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank");
        let segment = open(mechanism, &path);
        let mut role = worker_of(mechanism, &path, 0, 1).to_vec();
        role.push(n.to_string());
        let witness = Witness::default();
        let status = start(&witness, &role).wait().unwrap();
        assert!(!status.success(), "{step:?}: it did not die");
        // Survivors go on, and their acknowledged commits are durable.
        for _ in 0..5 {
            transfer(&segment, 1, &mut Random::new(2)).unwrap();
        }
        witness.with(|counts| counts.settle(1, 5, 5)).unwrap();
        check(&segment, &witness, 2);
        drop(segment);
        check(&open(mechanism, &path), &witness, 2);
    }
}
