//! Segments with a log: acknowledged transactions exist after any death and after a restart; each other transaction is
//! there whole or not at all (I1, I8, I9).

use crate::common::{
    self, Fallible, MECHANISMS, PAGE, mechanism_of, options, role, runs, say, spawn, sum, word,
};
use sardonyx_mapped::planted::{self, Step};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, P, Segment};
use sardonyx_workload::random::Random;
use std::path::Path;

const ACCOUNTS: std::ops::Range<u64> = 500..516;
const MONEY: u64 = 16_000;
const COUNTERS: u64 = 600;
const PAGES: u64 = 1024;
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
        say(transfer(&segment, worker, &mut random).unwrap());
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

/// The sum is right, and each worker's count is the reported one, or one more.
fn check(segment: &Segment, said: &[u64]) {
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(
        sum(&snapshot, ACCOUNTS),
        MONEY,
        "money appeared or vanished"
    );
    for (worker, said) in said.iter().enumerate() {
        let page = COUNTERS + worker as u64;
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
        assert!(
            count == *said || count == said + 1,
            "worker {worker} was told {said}, and {count} are there"
        );
    }
}

fn worker_of(mechanism: MechanismKind, directory: &Path, worker: usize, seed: u64) -> [String; 4] {
    [
        format!("{mechanism:?}"),
        directory.display().to_string(),
        worker.to_string(),
        seed.to_string(),
    ]
}

fn start(role: &[String]) -> common::Process {
    spawn(
        module_path!(),
        &role.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

/// The last line of a process, once it has ended.
fn last_of(process: &mut common::Process, before: u64) -> u64 {
    let last = process.hear_all().pop();
    last.map_or(before, |line| line.parse().unwrap())
}

#[test]
fn all_are_killed_at_once_and_nothing_acknowledged_is_lost() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank");
        drop(open(mechanism, &path));
        let mut said = vec![0; 3];
        let mut random = Random::new(11);
        for life in 0..runs(2) {
            let mut workers: Vec<_> = (0..said.len())
                .map(|n| start(&worker_of(mechanism, &path, n, life * 10 + n as u64)))
                .collect();
            // Not by the clock: after so many acknowledgements.
            for _ in 0..1 + random.below(200) {
                let n = random.below(said.len() as u64) as usize;
                said[n] = workers[n].hear().expect("it goes on").parse().unwrap();
            }
            for worker in &mut workers {
                worker.child.kill().unwrap();
            }
            for (n, worker) in workers.iter_mut().enumerate() {
                worker.child.wait().unwrap();
                said[n] = last_of(worker, said[n]);
            }
            let segment = open(mechanism, &path);
            check(&segment, &said);
            // Existing values stay: counting goes on from them.
            let snapshot = segment.snapshot().unwrap();
            for (n, said) in said.iter_mut().enumerate() {
                *said = snapshot.read(word(COUNTERS + n as u64, 0)).unwrap();
            }
        }
    }
}

#[test]
fn one_is_killed_the_others_go_on_and_all_is_there_after_a_restart() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank");
        let segment = open(mechanism, &path);
        let mut said = vec![0; 4];
        for victim in 0..4 {
            let mut dead = start(&worker_of(mechanism, &path, victim, 5));
            for _ in 0..20 {
                said[victim] = dead.hear().expect("it goes on").parse().unwrap();
            }
            dead.child.kill().unwrap();
            dead.child.wait().unwrap();
            said[victim] = last_of(&mut dead, said[victim]);
            check(&segment, &said);
            transfer(&segment, 9, &mut Random::new(victim as u64)).unwrap();
        }
        drop(segment);
        check(&open(mechanism, &path), &said);
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
        let mut victim = start(&role);
        let said = last_of(&mut victim, 0);
        let status = victim.child.wait().unwrap();
        assert!(!status.success(), "{step:?}: it did not die");
        // Survivors go on, and their acknowledged commits are durable.
        for _ in 0..5 {
            transfer(&segment, 1, &mut Random::new(2)).unwrap();
        }
        check(&segment, &[said, 5]);
        drop(segment);
        check(&open(mechanism, &path), &[said, 5]);
    }
}
