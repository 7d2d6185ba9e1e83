//! Crashes at every step of the disk while open transactions are committed, and processes that are killed with
//! transactions open. Acknowledged transactions are there, whole, and nothing of uncommitted ones.

use super::bump;
use crate::common::{Item, Opened, SHAPES, options};
use sardonyx::low_level::Inside;
use sardonyx::{Durability, Error, Shape, Tables};
use sardonyx_base::random::stride;
use sardonyx_base::victims::{Counts, Witness, acknowledge, test_program};
use sardonyx_storage::crashes::{End, History};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::collections::BTreeMap;
use std::time::Duration;

/// Moves one from an item to another, by a transaction that is open while others commit.
fn transfer(opened: &Opened, from: u64, to: u64) -> Result<(), Error> {
    let items = opened.items;
    let mut tx = opened.database.begin()?;
    tx.update(items, from, |item| item.value -= 1)?;
    let mut beside = opened.database.begin()?;
    tx.update(items, to, |item| item.value += 1)?;
    // One more that never ends.
    bump(&mut beside, items, 0)?;
    tx.commit()
}

/// The items' values after these transfers.
fn values_after(transfers: &[(u64, u64)]) -> BTreeMap<u64, u64> {
    let mut values: BTreeMap<u64, u64> = (0..4).map(|id| (id, 1000)).collect();
    for (from, to) in transfers {
        *values.get_mut(from).unwrap() -= 1;
        *values.get_mut(to).unwrap() += 1;
    }
    values
}

/// Returns whether a transfer was not acknowledged.
fn crash(shape: Shape, at: u64) -> bool {
    let what = format!("{shape:?}, crash at step {at}");
    let disk = SimulatedDisk::new(at, Faults::default());
    let opened = Opened::on(&disk, options(shape)).unwrap();
    (0..4).for_each(|id| opened.put(id, 1000).unwrap());
    opened.database.close().unwrap();
    drop(opened);
    let disk = disk.restart(End::Crash(at).faults());
    let mut history = History::default();
    if let Ok(opened) = Opened::on(&disk, options(shape)) {
        for n in 0..24 {
            let (from, to) = (n % 4, (n + 1) % 4);
            history.submit((from, to));
            if transfer(&opened, from, to).is_err() {
                break;
            }
            history.acknowledge();
        }
        let _ = opened.database.close();
    }
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, options(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    history.judge(&opened.contents().unwrap().items, values_after);
    history.acknowledged() < history.changes().len()
}

#[test]
fn i1_a_crash_at_any_step_of_commits_keeps_what_was_acknowledged() {
    for shape in SHAPES {
        let steps = (1..90).step_by(stride(7));
        let crashed = steps.filter(|at| crash(shape, *at)).count();
        assert!(crashed * stride(7) > 24, "{shape:?}: {crashed} crashes");
    }
}

/// Ends one that read data that a failed sync did not make durable. True if a sync failed so.
fn read_what_is_not_durable(shape: Shape, fail_sync_at: u64) -> bool {
    let disk = SimulatedDisk::new(1, End::FailedSync(fail_sync_at).faults());
    let Ok(opened) = Opened::on(&disk, options(shape)) else {
        return false;
    };
    let bank = &opened.database;
    for n in 0..20 {
        let deferred = bank.transaction().durability(Durability::Deferred);
        let put = deferred.run(|tx| tx.put(opened.items, &Item::new(1, n)).map(drop));
        let (Ok(()), Ok(one), Ok(two)) = (put, bank.begin(), bank.begin()) else {
            return false;
        };
        let read = one.get(opened.items, 1).unwrap();
        assert_eq!(read.map(|item| item.value), Some(n));
        let flushed = bank.flush();
        let ended = [
            one.commit_while(bank, &Inside::default(), || true),
            two.commit().map(Some),
        ];
        match flushed {
            Ok(()) => assert!(ended.iter().all(|ended| matches!(ended, Ok(Some(()))))),
            Err(Error::Poisoned(_)) => {
                let is_told = |ended| matches!(ended, &Err(Error::Poisoned(_)));
                assert!(ended.iter().all(is_told), "{shape:?}: {ended:?}");
                return true;
            }
            Err(_) => return false,
        }
    }
    false
}

#[test]
fn i7_one_that_only_read_is_told_that_the_log_is_poisoned() {
    for shape in SHAPES {
        let told = (1..60).filter(|at| read_what_is_not_durable(shape, *at));
        assert!(told.count() > 3, "{shape:?}");
    }
}

const DIRECTORY: &str = "SARDONYX_TEST_KILLED_OPEN";

/// The process that is killed: reports the number of each acknowledged transaction.
fn commit_for_ever(directory: &str) -> Result<(), Error> {
    let bank = Tables::open(directory)?;
    let items = bank.table::<Item>()?;
    bank.run(|tx| {
        tx.put(items, &Item::new(1, 0))?;
        tx.put(items, &Item::new(2, 0)).map(drop)
    })?;
    let mut open = Vec::new();
    for number in 1.. {
        let mut never = bank.begin()?;
        never.insert(items, &Item::new(1000 + number, 1))?;
        open.push(never);
        let mut tx = bank.begin()?;
        for id in [1, 2] {
            tx.update(items, id, |item| item.value = number)?;
        }
        tx.commit()?;
        acknowledge(1, number).map_err(Error::other)?;
    }
    Ok(())
}

#[test]
fn i1_killed_with_transactions_open_it_keeps_what_was_acknowledged() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        commit_for_ever(&directory).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    for kill in 1..4 {
        let path = directory.path().join(format!("{kill}.sdx"));
        let witness = Witness::new(Counts::of_each());
        let test = i1_killed_with_transactions_open_it_keeps_what_was_acknowledged;
        let mut command = test_program(&test).unwrap();
        let mut victim = witness.start(command.env(DIRECTORY, &path)).unwrap();
        let goes_on = witness.goes_on(&victim, [1], 7 * kill, Duration::from_secs(600));
        goes_on.unwrap();
        victim.end().unwrap();
        witness.verdict().unwrap();
        let bank = Tables::open(&path).unwrap();
        let items = bank.table::<Item>().unwrap();
        let (values, count) = bank
            .read(|view| {
                let value = |id| Ok::<_, Error>(view.get(items, id)?.map(|item| item.value));
                Ok(([value(1)?, value(2)?], view.count(items)?))
            })
            .unwrap();
        assert_eq!(values[0], values[1]);
        assert_eq!(count, 2, "nothing of those that were open");
        let there = values[0].unwrap();
        witness.with(|counts| counts.settle(1, there, 1)).unwrap();
    }
}
