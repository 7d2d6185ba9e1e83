//! The ordered index under the engine: threads, aborts and crashes, under every strategy.

use crate::common::{self, Numbers, ways};
use sardonyx_base::random::stride;
use sardonyx_multilevel::index::{Entry, IndexError, OrderedIndex};
use sardonyx_multilevel::{
    CallError, CommitError, Database, DatabaseError, Options, PageLog, Strategy, Transaction,
};
use sardonyx_storage::crashes::{End, History, Stopped, Subject, World};
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
    let mut random = Numbers::new(seed);
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

/// A script of transactions on the index, as a subject of the crash world: one step of a life. A change is the content after
/// a commit.
#[derive(Clone)]
struct Script {
    way: Way,
    seed: u64,
    /// The disk of the present life, which crashes when the script has ended.
    disk: SimulatedDisk,
    /// Operations that recovery has undone.
    undone: u64,
}

/// The content after the last of these commits.
fn last(contents: &[Model]) -> Model {
    contents.last().cloned().unwrap_or_default()
}

impl Subject for Script {
    type Open = (Database, OrderedIndex);
    type Change = Model;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        _: &mut History<Model>,
    ) -> Result<(Database, OrderedIndex), Stopped> {
        self.disk = disk.clone();
        Ok(open(self.way, disk)?)
    }

    fn submit(
        &mut self,
        (database, index): &mut (Database, OrderedIndex),
        history: &mut History<Model>,
    ) -> Result<(), Stopped> {
        let mut committed = Model::new();
        for region in 0..REGIONS {
            committed.insert(end_of(region), vec![region]);
        }
        history.submit(committed.clone());
        database.run(|tx| {
            for (key, value) in &committed {
                tx.call(&index.insert(key, value))?;
            }
            Ok::<_, Failure>(())
        })?;
        history.acknowledge();
        self.run(database, *index, history)
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Model>,
    ) -> Result<(), Stopped> {
        let (database, index) = open(self.way, disk)?;
        let found = database.run(|tx| Ok::<_, Failure>(tx.call(&index.scan(..))?))?;
        let found: Model = found.into_iter().collect();
        history.judge(&found, last);
        let checked = database.run(|tx| Ok::<_, Failure>(tx.call(&Check(index))?))?;
        assert_eq!(checked, found.len() as u64);
        self.undone += database.undone().operations;
        Ok(database.close()?)
    }
}

impl Script {
    /// Runs transactions until the disk fails, or until the script ends with a crash.
    fn run(
        &self,
        database: &Database,
        index: OrderedIndex,
        history: &mut History<Model>,
    ) -> Result<(), Stopped> {
        let mut random = Numbers::new(self.seed);
        // Each region's transaction, and its content as that one sees it.
        let mut running: [Option<(Transaction<'_>, Model)>; REGIONS as usize] = Default::default();
        for _ in 0..150 {
            // In single-level transactions they would wait for each other's pages.
            let region = match self.way.0 {
                Strategy::SingleLevel => 0,
                _ => random.below(u64::from(REGIONS)) as u8,
            };
            let slot = &mut running[usize::from(region)];
            let seen = || last(history.changes());
            let (tx, model) = slot.get_or_insert_with(|| (database.begin(), seen()));
            let key = key_in(region, random.below(40) as u8);
            let value = vec![random.below(256) as u8; [0, 20, 600][random.below(3) as usize]];
            match random.below(12) {
                0 => {
                    let (tx, model) = slot.take().expect("it runs");
                    let prefix = |key: &Vec<u8>| key[0] == region;
                    let mut after = last(history.changes());
                    after.retain(|key, _| !prefix(key));
                    after.extend(model.into_iter().filter(|(key, _)| prefix(key)));
                    history.submit(after);
                    tx.commit()?;
                    history.acknowledge();
                }
                1 => slot.take().expect("it runs").0.abort()?,
                2..=4 => {
                    let old = tx.call(&index.delete(&key))?;
                    assert_eq!(old, model.remove(&key));
                }
                5..=6 => {
                    let old = tx.call(&index.put(&key, &value))?;
                    assert_eq!(old, model.insert(key, value));
                }
                _ => match tx.call(&index.insert(&key, &value)) {
                    Ok(()) => assert_eq!(model.insert(key, value), None),
                    Err(CallError::Failed(IndexError::Duplicate)) => {
                        assert!(model.contains_key(&key));
                    }
                    Err(error) => return Err(error.into()),
                },
            }
        }
        // The running transactions are unfinished in the log.
        database.flush()?;
        self.disk.crash();
        Ok(())
    }
}

#[test]
fn crashes_at_every_step_leave_what_was_acknowledged() {
    for (n, way) in ways().into_iter().enumerate() {
        let (seed, mut undone) = (n as u64, 0);
        // Other steps under each way.
        for crash in (1 + n as u64 % 4..).step_by(stride(17)) {
            let disk = SimulatedDisk::new(crash, End::Crash(crash).faults());
            let script = Script {
                way,
                seed,
                disk: disk.clone(),
                undone: 0,
            };
            let mut world = World::new(format!("{way:?}, crash at step {crash}"), disk, script);
            let ended = world.live(1);
            world.restart(End::Cut);
            if crash % 17 == 0 {
                crash_again(&world);
            }
            world.check();
            undone += world.subject.undone;
            if ended {
                let content = last(world.history.changes());
                assert!(content.len() > 8, "a script that does little");
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
fn crash_again(world: &World<Script>) {
    for crash in 1.. {
        let mut again = world.clone();
        let name = format!("{}, again at step {crash} of its recovery", world.name());
        again.rename(name);
        again.restart(End::Crash(crash));
        let opened = again.open();
        let crashed = again.disk.has_crashed();
        again.restart(End::Cut);
        drop(opened);
        again.check();
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
