//! I14: an end cannot fail for want of room. A database whose memory is full refuses operations, with an error that
//! names the remedy. Running transactions can still be committed or undone, and deletions make room again. The
//! database opens under the same limit, after a crash at any step.
//!
//! Transactions run side by side on one index, each in groups of keys of its own, so that none waits. The groups share
//! leaves, so that one uses the room of entries that another deleted. Beside it they change records by operations
//! whose inverses are long, which fill the undo area.

use crate::common::{place, small, ways};
use sardonyx_base::random::{Random, stride};
use sardonyx_multilevel::index::OrderedIndex;
use sardonyx_multilevel::{
    Area, CallError, Database, DatabaseError, Inverse, Operation, Options, PAGE_SIZE, PageLog,
    Pages, Recorded, Stop, Strategy, Transaction,
};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

/// Adds to a record; its inverse is as long as one likes.
struct Long {
    area: Area,
    record: u64,
    amount: i64,
    length: usize,
}

impl Operation for Long {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let (page, at) = place(pages, self.area, self.record)?;
        let value = pages.write(page, at..at + 8)?;
        let sum = i64::from_le_bytes(value.try_into().expect("8 bytes")) + self.amount;
        value.copy_from_slice(&sum.to_le_bytes());
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let amount = -self.amount;
        Some(Inverse::of(&Long { amount, ..*self }))
    }
}

impl Recorded for Long {
    const NAME: &str = "long";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.record.to_le_bytes());
        into.extend(self.amount.to_le_bytes());
        into.resize(into.len() + self.length, 7);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (record, rest) = rest.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        Some(Long {
            area: Area(u16::from_le_bytes(*area)),
            record: u64::from_le_bytes(*record),
            amount: i64::from_le_bytes(*amount),
            length: rest.len(),
        })
    }
}

const GROUPS: u64 = 24;
const KEYS: u64 = 24;
const RUNNING: u64 = 4;

fn key(group: u64, n: u64) -> Vec<u8> {
    format!("{group:02}-{n:02}").into_bytes()
}

/// Behind the keys of a group, so that a lock of the gap behind one locks nothing of another group.
fn fence(group: u64) -> Vec<u8> {
    format!("{group:02}~").into_bytes()
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Model {
    index: BTreeMap<Vec<u8>, Vec<u8>>,
    records: [i64; RUNNING as usize],
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    way: (Strategy, PageLog),
    pages: u64,
    seed: u64,
}

struct Opened {
    disk: SimulatedDisk,
    database: Database,
    index: OrderedIndex,
    records: Area,
}

impl Setup {
    fn open(&self, disk: &SimulatedDisk) -> Result<Opened, DatabaseError> {
        let (strategy, page_log) = self.way;
        let storage = StorageOptions {
            memory_bytes_max: self.pages * PAGE_SIZE as u64,
            ..small()
        };
        let options = Options::new().strategy(strategy).page_log(page_log);
        let options = options.register::<Long>().storage(storage);
        let database = options.open_on(Arc::new(disk.clone()))?;
        let index = OrderedIndex::of(database.area("index", 4)?);
        let records = database.area("records", 1)?;
        Ok(Opened {
            disk: disk.clone(),
            database,
            index,
            records,
        })
    }
}

impl Opened {
    fn contents(&self) -> Model {
        let mut model = Model::default();
        let scan = self.index.scan(..);
        let found = self.database.run(|tx| tx.call(&scan)).unwrap();
        model.index = found.into_iter().collect();
        for record in 0..RUNNING {
            let area = self.records;
            let zero = Get { area, record };
            model.records[record as usize] = self.database.run(|tx| tx.call(&zero)).unwrap();
        }
        model
    }

    /// Something at random, in the groups of this transaction. `false`: there was no room.
    fn step(
        &self,
        tx: &Transaction<'_>,
        mine: u64,
        random: &mut Random,
        model: &mut Model,
    ) -> bool {
        let group = mine + RUNNING * random.below(GROUPS / RUNNING);
        let key = key(group, random.below(KEYS));
        let value = vec![group as u8; random.below(900) as usize];
        match random.below(8) {
            0..3 => match self.full(tx.call(&self.index.put(&key, &value))) {
                Some(_) => model.index.insert(key, value),
                None => return false,
            },
            3..5 => match self.full(tx.call(&self.index.delete(&key))) {
                Some(_) => model.index.remove(&key),
                None => return false,
            },
            _ => {
                let (area, record) = (self.records, mine);
                let (amount, length) = (1, random.below(6000) as usize);
                let long = Long {
                    area,
                    record,
                    amount,
                    length,
                };
                match self.full(tx.call(&long)) {
                    Some(()) => model.records[mine as usize] += 1,
                    None => return false,
                }
                return true;
            }
        };
        true
    }
}

impl Opened {
    /// The output; `None` if the machine has crashed, or the store is full and the error names that and the remedy.
    fn full<T, E: Error>(&self, outcome: Result<T, CallError<E>>) -> Option<T> {
        match outcome {
            Ok(output) => Some(output),
            Err(error) => {
                let text = error.to_string();
                let says = text.contains("page store is full") && text.contains("raise");
                assert!(says || self.disk.has_crashed(), "{error:?}: {text}");
                None
            }
        }
    }
}

struct Get {
    area: Area,
    record: u64,
}

impl Operation for Get {
    type Output = i64;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        let (page, at) = place(pages, self.area, self.record)?;
        Ok(i64::from_le_bytes(pages.read_bytes(page, at)?))
    }
}

/// Runs until the store is full and long after, and ends transactions now and then. Returns the committed content, the
/// running transactions, and the number of times that there was no room.
fn run(setup: Setup, opened: &Opened, random: &mut Random, steps: u64) -> (Model, u64) {
    let mut committed = opened.contents();
    let at_once = match setup.way.0 {
        // It keeps its pages until its end: others would wait.
        Strategy::SingleLevel => 1,
        _ => RUNNING,
    };
    let mut refused = 0;
    let mut running: BTreeMap<u64, (Transaction<'_>, Model)> = BTreeMap::new();
    for n in 0..steps {
        let mine = random.below(at_once);
        let (tx, model) = running
            .entry(mine)
            .or_insert_with(|| (opened.database.begin(), committed.clone()));
        let what = |how: &str| format!("{setup:?}, step {n}: {how}");
        match random.below(30) {
            0..2 => {
                let (tx, model) = running.remove(&mine).unwrap();
                tx.commit()
                    .unwrap_or_else(|e| panic!("{}: {e}", what("commit")));
                // Of the others' groups it knows nothing new.
                adopt(&mut committed, &model, mine);
            }
            2 => {
                let (tx, _) = running.remove(&mine).unwrap();
                tx.abort()
                    .unwrap_or_else(|e| panic!("{}: {e}", what("abort")));
            }
            _ => refused += u64::from(!opened.step(tx, mine, random, model)),
        }
    }
    for (_, (tx, _)) in running {
        // Unfinished when the machine crashes.
        std::mem::forget(tx);
    }
    (committed, refused)
}

/// The content that one transaction left in its groups and its record.
fn adopt(committed: &mut Model, left: &Model, mine: u64) {
    let is_mine = |key: &[u8]| {
        let group: u64 = std::str::from_utf8(&key[..2]).unwrap().parse().unwrap();
        group % RUNNING == mine
    };
    committed.index.retain(|key, _| !is_mine(key));
    let of_mine = left.index.iter().filter(|(key, _)| is_mine(key));
    committed
        .index
        .extend(of_mine.map(|(k, v)| (k.clone(), v.clone())));
    committed.records[mine as usize] = left.records[mine as usize];
}

fn filled(setup: Setup, disk: &SimulatedDisk, steps: u64) -> (Model, u64) {
    let opened = setup.open(disk).unwrap();
    for group in 0..GROUPS {
        let fence = fence(group);
        let insert = opened.index.insert(&fence, b"");
        opened.database.run(|tx| tx.call(&insert)).unwrap();
    }
    let mut random = Random::new(setup.seed);
    let outcome = run(setup, &opened, &mut random, steps);
    // Not closed cleanly.
    disk.crash();
    outcome
}

fn setups() -> impl Iterator<Item = Setup> {
    let ways = ways()
        .into_iter()
        .filter(|way| way.1 == PageLog::ByteRanges);
    ways.flat_map(|way| {
        [86, 100, 140]
            .into_iter()
            .flat_map(move |pages| (0..2).map(move |seed| Setup { way, pages, seed }))
    })
}

#[test]
fn i14_no_end_fails_in_a_full_store_and_it_opens_and_goes_on_under_the_same_limit() {
    let mut refused = BTreeMap::new();
    for setup in setups() {
        let disk = SimulatedDisk::new(setup.seed, Faults::default());
        let (committed, refusals) = filled(setup, &disk, 700);
        *refused.entry(format!("{:?}", setup.way.0)).or_insert(0) += refusals;
        let disk = disk.restart(Faults::default());
        let opened = setup
            .open(&disk)
            .unwrap_or_else(|error| panic!("{setup:?}: {error}"));
        assert_eq!(opened.contents(), committed, "{setup:?}");
        // After it was filled in any way, one entry after another can be deleted, and then there is room again.
        for key in committed.index.keys() {
            let delete = opened.index.delete(key);
            let deleted: Result<_, CallError<_>> = opened.database.run(|tx| tx.call(&delete));
            deleted.unwrap_or_else(|error| panic!("{setup:?}: {error}"));
        }
        assert!(opened.contents().index.is_empty());
        for group in 0..8 {
            let (key, value) = (key(group, 0), [7; 500]);
            let put = opened.index.put(&key, &value);
            let put: Result<_, CallError<_>> = opened.database.run(|tx| tx.call(&put));
            put.unwrap_or_else(|error| panic!("{setup:?}: {error}"));
        }
    }
    // One transaction at a time without undo entries does not fill it.
    refused.remove("SingleLevel");
    assert!(refused.values().all(|&n| n > 50), "{refused:?}");
}

/// Transactions that run at once until the store is full, and are aborted then.
const CROWD: u64 = 150;

#[test]
fn i14_a_store_that_was_filled_takes_a_transaction_again_when_all_were_aborted() {
    for way in ways() {
        let pages = 256;
        let seed = 1;
        let disk = SimulatedDisk::new(seed, Faults::default());
        let Opened {
            database, records, ..
        } = &Setup { way, pages, seed }.open(&disk).unwrap();
        // Areas take all the room that is left to work.
        let areas = (0..pages).map_while(|n| database.area(&format!("filling {n}"), 8).ok());
        let areas = areas.count();
        assert!(areas > 3, "{way:?}");
        let long = |record, length| Long {
            area: *records,
            record,
            amount: 1,
            length,
        };
        // In one level a page is its transaction's until the end.
        let crowd = if way.0 == Strategy::SingleLevel {
            1
        } else {
            CROWD
        };
        let (mut running, mut refused) = (Vec::new(), 0);
        for _ in 0..crowd {
            let tx = database.begin();
            for _ in 0..3 {
                refused += u64::from(tx.call(&long(0, 20)).is_err());
            }
            running.push(tx);
        }
        assert_eq!(refused > 0, crowd > 1, "{way:?}: {refused}");
        for tx in running {
            tx.abort()
                .unwrap_or_else(|error| panic!("{way:?}: {error}"));
        }
        // As many as fitted before, and one after the other.
        for _ in 0..5 {
            let tx = database.begin();
            (0..3).for_each(|_| {
                let called = tx.call(&long(0, 20));
                called.unwrap_or_else(|error| panic!("{way:?}: {error}"));
            });
            tx.abort()
                .unwrap_or_else(|error| panic!("{way:?}: {error}"));
        }
        let added = database.run(|tx| tx.call(&long(1, 20)));
        added.unwrap_or_else(|error: CallError<_>| panic!("{way:?}: {error}"));
        let area = *records;
        for (record, is) in [(0, 0), (1, 1)] {
            let found = database.run(|tx| tx.call(&Get { area, record }));
            assert_eq!(
                found.unwrap_or_else(|error| panic!("{error}")),
                is,
                "{way:?}"
            );
        }
    }
}

#[test]
fn i14_a_crash_at_any_step_of_a_full_store_is_recovered_under_the_same_limit() {
    let mut crashes = 0;
    let stride = stride(3) as u64;
    let setups = setups().filter(|setup| setup.seed == 0 && setup.pages == 100);
    for (number, setup) in setups.enumerate() {
        let full = SimulatedDisk::new(setup.seed, Faults::default());
        let (committed, _) = filled(setup, &full, 500);
        // Each strategy crashes at other steps than the one before it.
        for crash_at in (1 + number as u64 % stride..25).step_by(stride as usize) {
            let disk = full.restart(End::Crash(crash_at).faults());
            // The possible contents: the last state known, or with the transaction that was committing.
            let mut known = vec![committed.clone()];
            if let Ok(opened) = setup.open(&disk) {
                let mut random = Random::new(crash_at);
                while !disk.has_crashed() {
                    let tx = opened.database.begin();
                    let mut model = known[0].clone();
                    let mine = random.below(RUNNING);
                    for _ in 0..3 {
                        opened.step(&tx, mine, &mut random, &mut model);
                    }
                    match tx.commit() {
                        Ok(()) => known = vec![model],
                        Err(error) => {
                            assert!(
                                disk.has_crashed(),
                                "{setup:?}, crash at {crash_at}: {error}"
                            );
                            known.push(model);
                        }
                    }
                }
            }
            crashes += u64::from(disk.has_crashed());
            let disk = disk.restart(Faults::default());
            let opened = setup
                .open(&disk)
                .unwrap_or_else(|error| panic!("{setup:?}, crash at {crash_at}: {error}"));
            let found = opened.contents();
            assert!(
                known.contains(&found),
                "{setup:?}, crash at {crash_at}: {found:?}"
            );
        }
    }
    assert!(crashes > 80 / stride, "{crashes}");
}
