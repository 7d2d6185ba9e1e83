//! The ordered index under the engine: threads, aborts and crashes, under every strategy.

use crate::common::{self, ways};
use sardonyx_base::random::stride;
use sardonyx_multilevel::index::{Entry, IndexError, OrderedIndex};
use sardonyx_multilevel::{
    CallError, CommitError, Database, DatabaseError, Options, PageLog, Strategy, Transaction,
};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

type Way = (Strategy, PageLog);
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(way: Way, disk: &SimulatedDisk) -> Result<(Database, OrderedIndex), DatabaseError> {
    let options = Options::new().strategy(way.0).page_log(way.1);
    let database = options
        .storage(common::small())
        .open_on(Arc::new(disk.clone()))?;
    let index = OrderedIndex::of(database.area("index", 1)?);
    Ok((database, index))
}

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

/// An amount as a value so long that a leaf has five.
fn amount(amount: u64) -> Vec<u8> {
    let mut bytes = amount.to_le_bytes().to_vec();
    bytes.resize(700, 0);
    bytes
}

fn amount_of(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().expect("8 bytes"))
}

fn sum(entries: &[Entry]) -> u64 {
    entries.iter().map(|(_, value)| amount_of(value)).sum()
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Call(#[from] CallError<IndexError>),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("changed its mind")]
    Aborted,
}

/// Moves the amount of one key to another: an entry goes, and comes or grows elsewhere.
fn transfer(
    tx: &Transaction<'_>,
    index: OrderedIndex,
    from: &[u8],
    to: &[u8],
) -> Result<(), Failure> {
    let Some(moved) = tx.call(&index.delete(from))? else {
        return Ok(());
    };
    match tx.call(&index.insert(to, &moved)) {
        Err(CallError::Failed(IndexError::Duplicate)) => {
            let there = tx.call(&index.get(to))?.expect("it is locked");
            let both = amount(amount_of(&there) + amount_of(&moved));
            tx.call(&index.put(to, &both))?;
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Everything, in pieces, in one transaction.
fn in_pieces(tx: &Transaction<'_>, index: OrderedIndex, down: bool) -> Result<Vec<Entry>, Failure> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let last = all.last().map(|(key, _)| key.clone());
        let bound = last
            .as_ref()
            .map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
        let piece = if down {
            tx.call(&index.scan((Bound::Unbounded, bound)).descending().limit(3))?
        } else {
            tx.call(&index.scan((bound, Bound::Unbounded)).limit(3))?
        };
        let ended = piece.len() < 3;
        all.extend(piece);
        if ended {
            return Ok(all);
        }
    }
}

const KEYS: u64 = 40;
const TOTAL: u64 = 20 * 100;

/// A thread's transactions: most move amounts, some of these abort; some read everything twice.
fn work(database: &Database, index: OrderedIndex, seed: u64, transactions: u64) {
    let mut random = Random(seed);
    for _ in 0..transactions {
        let (from, to) = (
            random.below(KEYS).to_be_bytes(),
            random.below(KEYS).to_be_bytes(),
        );
        let (kind, down) = (random.below(8), random.below(2) == 0);
        let ended: Result<(), Failure> = database.run(|tx| {
            if kind < 2 {
                let first = tx.call(&index.scan(..))?;
                assert_eq!(sum(&first), TOTAL, "seed {seed}");
                let mut again = in_pieces(tx, index, down)?;
                if down {
                    again.reverse();
                }
                assert!(first == again, "a phantom; seed {seed}");
                return Ok(());
            }
            transfer(tx, index, &from, &to)?;
            transfer(tx, index, &to, &from)?;
            transfer(tx, index, &from, &to)?;
            if kind == 2 {
                Err(Failure::Aborted)
            } else {
                Ok(())
            }
        });
        assert!(
            matches!(ended, Ok(()) | Err(Failure::Aborted)),
            "seed {seed}: {ended:?}"
        );
    }
}

#[test]
fn whoever_scans_sees_the_same_sum_whatever_is_moved_meanwhile() {
    for (n, way) in ways().into_iter().enumerate() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, index) = open(way, &disk).unwrap();
        let filled: Result<(), Failure> = database.run(|tx| {
            for key in (0..KEYS).step_by(2) {
                tx.call(&index.insert(&key.to_be_bytes(), &amount(100)))?;
            }
            Ok(())
        });
        filled.unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let database = &database;
                let rounds = crate::seeds().unwrap_or(15);
                scope.spawn(move || work(database, index, n as u64 * 100 + thread, rounds));
            }
        });
        let expected = database
            .run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))
            .unwrap();
        assert_eq!(sum(&expected), TOTAL, "{way:?}");
        database.close().unwrap();
        let (database, index) = open(way, &disk).unwrap();
        let found = database
            .run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))
            .unwrap();
        assert!(found == expected, "{way:?}");
        let checked = database
            .run(|tx| Ok::<_, Failure>(tx.call(&Check(index))?))
            .unwrap();
        assert_eq!(checked, expected.len() as u64, "{way:?}");
    }
}

/// Checks the whole structure; gives back the number of entries.
struct Check(OrderedIndex);

impl sardonyx_multilevel::Operation for Check {
    type Output = u64;
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn sardonyx_multilevel::Pages) -> Result<u64, IndexError> {
        Ok(self.0.check(pages)?.entries)
    }
}

/// The possible contents after a crash: the acknowledged one, or that and the commit in progress.
struct Expected {
    acknowledged: Model,
    perhaps: Option<Model>,
}

/// Keys of a region of its own for each of the transactions that run at once: they share leaves,
/// and no two of them wait for each other.
const REGIONS: u8 = 3;

fn key_in(region: u8, number: u8) -> Vec<u8> {
    let mut key = vec![region, number];
    key.resize(120, 7);
    key
}

/// A key at a region's end that is never deleted.
fn end_of(region: u8) -> Vec<u8> {
    vec![region, 255]
}

/// Runs transactions until the disk fails or the script ends, which is the same to it.
fn live(way: Way, disk: &SimulatedDisk, seed: u64, expected: &mut Expected) -> Option<()> {
    let (database, index) = open(way, disk).ok()?;
    let mut random = Random(seed);
    let mut committed = Model::new();
    for region in 0..REGIONS {
        committed.insert(end_of(region), vec![region]);
    }
    expected.perhaps = Some(committed.clone());
    let ends: Result<(), Failure> = database.run(|tx| {
        for (key, value) in &committed {
            tx.call(&index.insert(key, value))?;
        }
        Ok(())
    });
    ends.ok()?;
    expected.acknowledged = committed;
    expected.perhaps = None;
    // The content of each region as its transaction sees it.
    let regions = || {
        (0..REGIONS)
            .map(|_| None)
            .collect::<Vec<Option<(Transaction<'_>, Model)>>>()
    };
    let mut running = regions();
    for _ in 0..150 {
        // In single-level transactions they would wait for each other's pages.
        let single = way.0 == Strategy::SingleLevel;
        let region = if single {
            0
        } else {
            random.below(u64::from(REGIONS)) as u8
        };
        let slot = &mut running[usize::from(region)];
        let seen = || expected.acknowledged.clone();
        let (tx, model) = slot.get_or_insert_with(|| (database.begin(), seen()));
        let key = key_in(region, random.below(40) as u8);
        let value = vec![random.below(256) as u8; [0, 20, 600][random.below(3) as usize]];
        match random.below(12) {
            0 => {
                let (tx, model) = slot.take().expect("it runs");
                let prefix = |key: &Vec<u8>| key[0] == region;
                let mut after = expected.acknowledged.clone();
                after.retain(|key, _| !prefix(key));
                after.extend(model.into_iter().filter(|(key, _)| prefix(key)));
                expected.perhaps = Some(after.clone());
                tx.commit().ok()?;
                expected.acknowledged = after;
                expected.perhaps = None;
            }
            1 => slot.take().expect("it runs").0.abort().ok()?,
            2..=4 => {
                let old = tx.call(&index.delete(&key)).ok()?;
                assert_eq!(old, model.remove(&key), "seed {seed}");
            }
            5..=6 => {
                let old = tx.call(&index.put(&key, &value)).ok()?;
                assert_eq!(old, model.insert(key, value), "seed {seed}");
            }
            _ => match tx.call(&index.insert(&key, &value)) {
                Ok(()) => assert_eq!(model.insert(key, value), None, "seed {seed}"),
                Err(CallError::Failed(IndexError::Duplicate)) => {
                    assert!(model.contains_key(&key), "seed {seed}");
                }
                Err(_) => return None,
            },
        }
    }
    // The running transactions are unfinished in the log.
    database.flush().ok()?;
    disk.crash();
    Some(())
}

/// Opens the database after a crash and compares. Returns the number of operations that were undone.
fn judge(way: Way, disk: &SimulatedDisk, expected: &Expected, what: &str) -> u64 {
    let (database, index) = open(way, disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = database
        .run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))
        .unwrap();
    let found: Model = found.into_iter().collect();
    let known = found == expected.acknowledged || Some(&found) == expected.perhaps.as_ref();
    assert!(
        known,
        "{what}: neither what was acknowledged nor that and one more"
    );
    let checked = database
        .run(|tx| Ok::<_, Failure>(tx.call(&Check(index))?))
        .unwrap();
    assert_eq!(checked, found.len() as u64, "{what}");
    let undone = database.undone().operations;
    database.close().unwrap();
    undone
}

#[test]
fn crashes_at_every_step_leave_what_was_acknowledged() {
    for (n, way) in ways().into_iter().enumerate() {
        let (seed, mut undone) = (n as u64, 0);
        // Other steps under each way.
        for crash in (1 + n as u64 % 4..).step_by(stride(17)) {
            let faults = End::Crash(crash).faults();
            let disk = SimulatedDisk::new(crash, faults);
            let (acknowledged, perhaps) = (Model::new(), None);
            let mut expected = Expected {
                acknowledged,
                perhaps,
            };
            let ended = live(way, &disk, seed, &mut expected);
            let what = format!("{way:?}, crash at step {crash}");
            let again = disk.restart(Faults::default());
            if crash % 17 == 0 {
                crash_again(way, &again, &expected, &what);
            }
            undone += judge(way, &again.restart(Faults::default()), &expected, &what);
            if ended.is_some() {
                assert!(expected.acknowledged.len() > 8, "a script that does little");
                assert_eq!(
                    undone > 0,
                    way.0 != Strategy::SingleLevel,
                    "{undone} undone"
                );
                break;
            }
        }
    }
}

/// Crashes at every step of the recovery, too.
fn crash_again(way: Way, disk: &SimulatedDisk, expected: &Expected, what: &str) {
    for crash in 1.. {
        let faults = End::Crash(crash).faults();
        let disk = disk.restart(faults);
        let opened = open(way, &disk);
        let crashed = disk.has_crashed();
        disk.crash();
        drop(opened);
        let what = format!("{what}, again at step {crash} of its recovery");
        judge(way, &disk.restart(Faults::default()), expected, &what);
        if !crashed {
            return;
        }
    }
}

#[test]
fn what_is_inserted_side_by_side_does_not_wait() {
    // One thread has all the transactions: were one to wait for another, it would for ever.
    for strategy in [
        Strategy::ForcedSubtransactions,
        Strategy::SPHERES,
        Strategy::OrderedLog,
    ] {
        let way = (strategy, PageLog::ByteRanges);
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, index) = open(way, &disk).unwrap();
        let transactions: Vec<_> = (0..3).map(|_| database.begin()).collect();
        // Up from the middle and down from it, among uncommitted entries.
        for number in 0..300_u64 {
            let key = if number % 2 == 0 {
                1_000 + number
            } else {
                1_000 - number
            };
            let (key, value) = (key.to_be_bytes(), [number as u8; 100]);
            let transaction = &transactions[number as usize % 3];
            transaction.call(&index.insert(&key, &value)).unwrap();
        }
        let locks = database.statistics().locks;
        assert_eq!(
            (locks.objects.waits, locks.pages.waits),
            (0, 0),
            "{locks:?}"
        );
        let mut transactions = transactions.into_iter();
        transactions.next().unwrap().commit().unwrap();
        transactions.next().unwrap().abort().unwrap();
        transactions.next().unwrap().commit().unwrap();
        drop(transactions);
        let left = database
            .run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))
            .unwrap();
        let mut numbers: Vec<_> = left.iter().map(|(_, value)| u64::from(value[0])).collect();
        numbers.sort_unstable();
        let expected = (0..300)
            .filter(|number| number % 3 != 1)
            .map(|number| number % 256);
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        assert_eq!(numbers, expected, "{strategy:?}");
        database
            .run(|tx| Ok::<_, Failure>(tx.call(&Check(index))?))
            .unwrap();
        database.close().unwrap();
    }
}

#[test]
fn a_full_database_says_so_and_a_transaction_can_still_abort() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut storage = common::small();
    storage.memory_bytes_max = 4 << 20;
    let database = Options::new()
        .storage(storage)
        .open_on(Arc::new(disk))
        .unwrap();
    let index = OrderedIndex::of(database.area("index", 1).unwrap());
    let kept: Result<(), Failure> = database.run(|tx| Ok(tx.call(&index.insert(b"kept", b""))?));
    kept.unwrap();
    let greedy = database.begin();
    let refused = (0..10_000_u64).find_map(|number| {
        let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        greedy.call(&index.insert(&key, &[0; 900])).err()
    });
    // Either the index or the undo area found no page.
    let reason = refused.expect("it is full some day").to_string();
    assert!(reason.contains("page store is full"), "{reason}");
    // The refused insertion left nothing behind, and all of it can be undone.
    greedy.call(&Check(index)).unwrap();
    greedy.abort().unwrap();
    // The freed room is there for others, in any order.
    let deleted = database.run(|tx| Ok::<_, Failure>(tx.call(&index.delete(b"kept"))?));
    assert_eq!(deleted.unwrap(), Some(Vec::new()));
    let kept: Result<(), Failure> = database.run(|tx| Ok(tx.call(&index.insert(b"kept", b""))?));
    kept.unwrap();
    let left = database
        .run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))
        .unwrap();
    assert_eq!(left, [(b"kept".to_vec(), Vec::new())]);
}

#[test]
fn threads_of_one_transaction_insert_and_are_undone_together() {
    for (n, way) in ways().into_iter().enumerate() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, index) = open(way, &disk).unwrap();
        let key = |thread: u64, number: u64| (number * 4 + thread).to_be_bytes();
        let tx = database.begin();
        tx.scope(|scope| {
            for thread in 0..4 {
                let tx = &tx;
                scope.spawn(move || {
                    for number in 0..60 {
                        tx.call(&index.insert(&key(thread, number), &[1; 150]))
                            .unwrap();
                    }
                    for number in (0..60).step_by(3) {
                        let old = tx.call(&index.delete(&key(thread, number))).unwrap();
                        assert!(old.is_some());
                    }
                });
            }
        });
        assert_eq!(tx.call(&Check(index)).unwrap(), 160, "{way:?}");
        let commit = n % 2 == 0;
        if commit {
            tx.commit().unwrap()
        } else {
            tx.abort().unwrap()
        }
        let left = database
            .run(|tx| Ok::<_, Failure>(tx.call(&Check(index))?))
            .unwrap();
        assert_eq!(left, if commit { 160 } else { 0 }, "{way:?}");
        database.close().unwrap();
    }
}
