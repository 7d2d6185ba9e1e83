//! An entry log on a disk whose machine crashes, or whose process is killed, at each step of a random life, or whose
//! syncs fail. Acknowledged entries exist, removed ones do not, and no number has another content than its own.

use super::planted::{PLANTED, Planted};
use super::tests::open;
use super::{EntryLog, EntryLogError};
use crate::crashes::{End, Walk};
use crate::disk::{Faults, SimulatedDisk};
use crate::remote_log::received::ReceivedEntry;
use crate::remote_log::store::Appended;
use sardonyx_base::crc32c::crc32c;
use sardonyx_base::random::Random;
use sardonyx_base::seeds::{Seeds, first_failure};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// Steps of a life.
const ACTIONS: u64 = 60;

/// The contents that an entry may have: `None` is that it is not there.
type Possible = BTreeSet<Option<Vec<u8>>>;

/// The knowledge of one user of the log: for each number the possible contents. One content: it is known.
#[derive(Clone, Debug, Default)]
struct Model(BTreeMap<u64, Possible>);

impl Model {
    fn known(&self, number: u64) -> Option<Option<&[u8]>> {
        let possible = self.0.get(&number)?;
        match possible.len() {
            1 => possible.first().map(Option::as_deref),
            _ => None,
        }
    }

    fn is(&mut self, number: u64, content: Option<Vec<u8>>) {
        self.0.insert(number, BTreeSet::from([content]));
    }

    /// A request without answer may have been done.
    fn may_be(&mut self, number: u64, content: Option<Vec<u8>>) {
        let possible = self.0.entry(number).or_insert_with(|| [None].into());
        possible.insert(content);
    }

    /// The content that is read now is one of the possible ones, and from now on the only one.
    fn see(&mut self, number: u64, found: Option<Vec<u8>>, context: &str) {
        let none = Possible::from([None]);
        let possible = self.0.get(&number).unwrap_or(&none);
        assert!(
            possible.contains(&found),
            "{context}: entry {number} is {:?}, possible are {:?}",
            found.map(|bytes| bytes.len()),
            possible
                .iter()
                .map(|one| one.as_ref().map(Vec::len))
                .collect::<Vec<_>>()
        );
        self.is(number, found);
    }

    /// Reads all of a log.
    fn look(&mut self, log: &EntryLog, context: &str) {
        let listed: BTreeMap<u64, u64> = log
            .list(0)
            .iter()
            .map(|listed| (listed.number, listed.bytes))
            .collect();
        for number in self
            .0
            .keys()
            .chain(listed.keys())
            .copied()
            .collect::<BTreeSet<_>>()
        {
            let found = log
                .read(number)
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            let length = found.as_ref().map(|bytes| bytes.len() as u64);
            assert_eq!(
                length,
                listed.get(&number).copied(),
                "{context}: entry {number}"
            );
            self.see(number, found, context);
        }
    }
}

/// Puts bytes into the memory of an entry that comes from another process.
fn receive(entry: &mut ReceivedEntry, bytes: &[u8]) {
    entry.begin();
    let mut left = bytes;
    while !left.is_empty() {
        let length = left.len();
        let read = |into: &mut [u8]| {
            let (now, rest) = left.split_at(into.len());
            into.copy_from_slice(now);
            left = rest;
            Ok::<usize, Infallible>(now.len())
        };
        entry.read(length, read).expect("it cannot fail");
    }
    entry.came(bytes.len(), crc32c(bytes));
}

/// After an error: the next entry is refused, too, or else it is there like any other.
fn try_once_more(log: &EntryLog, model: &mut Model, number: u64) {
    let bytes = b"after an error".to_vec();
    match log.append(number, &bytes) {
        Ok(Appended::Ok) => model.is(number, Some(bytes)),
        Ok(Appended::Conflict) => {}
        Err(_) => model.may_be(number, Some(bytes)),
    }
}

/// A random life of a log: entries at the end, removals from the beginning, sometimes of the end, whose numbers are used
/// again; the log closed and opened again.
fn live(disk: &SimulatedDisk, model: &mut Model, random: &mut Random) -> Result<(), EntryLogError> {
    let mut log = open(disk)?;
    let mut entry = ReceivedEntry::default();
    model.look(&log, "opened");
    for action in 0..ACTIONS {
        let numbers: Vec<u64> = log.list(0).iter().map(|listed| listed.number).collect();
        match random.below(10) {
            0 => {
                if random.chance(1, 2) {
                    log.close();
                }
                drop(log);
                log = open(disk)?;
                model.look(&log, "opened again");
            }
            1 | 2 if !numbers.is_empty() => {
                let count = 1 + random.below(numbers.len() as u64) as usize;
                let removed = match random.chance(1, 4) {
                    true => &numbers[numbers.len() - count.min(2)..],
                    false => &numbers[..count],
                };
                match log.remove(removed) {
                    Ok(()) => removed.iter().for_each(|number| model.is(*number, None)),
                    Err(error) => {
                        removed
                            .iter()
                            .for_each(|number| model.may_be(*number, None));
                        try_once_more(&log, model, 1_000_000);
                        return Err(error);
                    }
                }
            }
            _ => {
                let number = numbers.last().copied().unwrap_or_default() + random.below(3);
                let length = match random.below(12) {
                    0 => 50_000 + random.below(150_000),
                    1 | 2 => random.below(40_000),
                    _ => random.below(3000),
                };
                // Another content each time.
                let bytes = [random.next(), action].map(u64::to_le_bytes).concat();
                let bytes = bytes.repeat(1 + length as usize / 16);
                let appended = match random.chance(1, 2) {
                    true => log.append(number, &bytes),
                    false => {
                        receive(&mut entry, &bytes);
                        log.append_received(number, &mut entry)
                    }
                };
                match appended {
                    Ok(Appended::Ok) => {
                        assert_eq!(model.known(number).flatten(), None);
                        model.is(number, Some(bytes));
                    }
                    Ok(Appended::Conflict) => {
                        assert_ne!(model.known(number), Some(None), "entry {number}");
                        assert_ne!(model.known(number), None, "entry {number}");
                    }
                    Err(error) => {
                        model.may_be(number, Some(bytes));
                        try_once_more(&log, model, number + 1);
                        return Err(error);
                    }
                }
            }
        }
    }
    Ok(())
}

/// A sync that fails ends the process; then the machine goes on, or crashes, too.
const ENDS: [fn(u64) -> End; 4] = [
    End::Crash,
    End::Kill,
    End::FailedSync,
    End::FailedSyncThenCut,
];

/// Three lives, each of which ends at a step, and then all is looked at. Returns whether the first life ended there.
fn explore(seed: u64, step: u64, end: fn(u64) -> End) -> bool {
    let first = end(step);
    let context = format!("seed {seed}, {first:?}");
    let mut random = Random::new(seed);
    let mut model = Model::default();
    let mut disk = SimulatedDisk::new(seed, first.faults());
    let ended = live(&disk, &mut model, &mut random).is_err();
    for _ in 0..2 {
        // The next life ends early, often while it opens.
        let faults = end(1 + random.below(25)).faults();
        disk = first.next(&disk, faults);
        // Its end may come after its life.
        let _ = live(&disk, &mut model, &mut random);
    }
    disk = first.next(&disk, Faults::default());
    let log = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    model.look(&log, &context);
    drop(log);
    // Nothing of it was only seen.
    let disk = disk.restart(Faults::default());
    let log = open(&disk).unwrap_or_else(|error| panic!("{context}, at last: {error}"));
    model.look(&log, &format!("{context}, at last"));
    ended
}

#[test]
fn i1_i4_a_life_that_ends_at_any_step_leaves_what_was_acknowledged() {
    let mut lives = 0;
    Seeds::new(0, 6).explore(|seed| {
        for end in ENDS {
            let walk = Walk::each(7).beginning(seed);
            // The last one ended by itself.
            lives += walk.explore(&format!("seed {seed}"), |step| explore(seed, step, end)) - 1;
        }
    });
    assert!(lives > 200, "{lives} lives");
}

/// True if a life that ends at any step finds the planted error.
fn is_found() -> bool {
    let ends_unharmed = |seed, end| (1..).find(|step| !explore(seed, *step, end));
    let explored = first_failure(0..20, |seed| {
        ENDS.into_iter()
            .for_each(|end| _ = ends_unharmed(seed, end));
    });
    explored.is_some()
}

#[test]
fn each_rule_that_is_left_out_is_found() {
    let all = [
        Planted::NotSynced,
        Planted::TailBelieved,
        Planted::RemovalsNotWritten,
        Planted::FreedEarly,
        Planted::GoesOn,
    ];
    let missed = all.into_iter().filter(|planted| {
        PLANTED.set(Some(*planted));
        let is_found = is_found();
        PLANTED.set(None);
        !is_found
    });
    assert_eq!(missed.collect::<Vec<_>>(), []);
}
