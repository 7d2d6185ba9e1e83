//! The machine crashes at any step of transactions that change texts, and at any step of each recovery. The content is
//! then the committed one, to the byte.

use super::model::read_serially;
use super::{Model, Note, name, note, open, read};
use crate::common::{options, ways};
use sardonyx_base::random::stride;
use sardonyx_multilevel::records::{Table, TableOperations};
use sardonyx_multilevel::{Database, PageLog, Strategy};
use sardonyx_storage::crashes::{End, History, Walk};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::Arc;

const KEYS: u64 = 12;

/// Six notes, on stable storage.
fn begin(way: (Strategy, PageLog)) -> (SimulatedDisk, Model) {
    let disk = SimulatedDisk::new(3, Faults::default());
    let (database, notes) = open(way, &disk);
    let model: Model = (0..6).map(|key| (key, note(key, key * 5 + 1))).collect();
    for note in model.values() {
        database
            .run(|tx| tx.call(&notes.insert(note)))
            .expect("inserts");
    }
    database.close().expect("closes");
    (disk, model)
}

/// Changes that belong together: every text gets another length, a note goes, one comes.
fn change(database: &Database, notes: Table<Note>, commits: bool, model: &mut Model) -> bool {
    let tx = database.begin();
    let mut after = model.clone();
    let mut done = true;
    for key in 0..5 {
        let changed = |found: &mut Note| *found = note(key, key * 3 + 4);
        done &= tx.call(&notes.update(&name(key), changed)).is_ok();
        after.entry(key).and_modify(changed);
    }
    done &= tx.call(&notes.delete(&name(5))).is_ok();
    after.remove(&5);
    done &= tx.call(&notes.insert(&note(9, 7))).is_ok();
    after.insert(9, note(9, 7));
    match (done, commits) {
        (true, true) => {
            *model = after;
            tx.commit().is_ok()
        }
        (_, false) => tx.abort().is_ok(),
        (false, true) => false,
    }
}

#[test]
fn a_crash_at_any_step_leaves_the_texts_that_were_committed() {
    let (mut crashes, mut undone) = (0, 0);
    for way in ways() {
        let (disk, model) = begin(way);
        for commits in [true, false] {
            let crash = |at| {
                let crashed = disk.restart(End::Crash(at).faults());
                let (mut after, mut history) = (model.clone(), History::default());
                let ended = options(way).open_on(Arc::new(crashed.clone()));
                let ended = ended.ok().and_then(|database| {
                    let notes = database.table::<Note>().ok()?;
                    let ended = change(&database, notes, commits, &mut after);
                    std::mem::forget(database);
                    ended.then_some(())
                });
                if after != model {
                    history.submit(after);
                }
                if ended.is_some() {
                    history.acknowledge();
                }
                let did_crash = crashed.has_crashed();
                crashes += u64::from(did_crash);
                let restarted = crashed.restart(Faults::default());
                let (database, notes) = open(way, &restarted);
                undone += database.undone().operations;
                let found = read(&database, notes, KEYS);
                history.judge(&found, |changes| changes.last().unwrap_or(&model).clone());
                database.close().expect("closes");
                assert_eq!(read_serially(&restarted, KEYS), found, "crash at {at}");
                did_crash
            };
            Walk::each(5).explore(&format!("{way:?}, commits: {commits}"), crash);
        }
    }
    assert!(crashes * stride(5) as u64 > 100, "{crashes} crashes");
    assert!(
        undone * stride(5) as u64 > 20,
        "{undone} operations undone when opening"
    );
}

/// A transaction that has changed all texts is unfinished when the machine crashes; then its undo pass crashes at each of
/// its steps, and the next one, too.
#[test]
fn a_crash_during_undo_goes_on_where_it_was() {
    let mut crashes = 0;
    for way in ways() {
        let (disk, model) = begin(way);
        let disk = disk.restart(Faults::default());
        let (database, notes) = open(way, &disk);
        let tx = database.begin();
        for key in 0..5 {
            let changed = |found: &mut Note| *found = note(key, key * 3 + 4);
            tx.call(&notes.update(&name(key), changed))
                .expect("updates");
        }
        tx.call(&notes.delete(&name(5))).expect("deletes");
        tx.call(&notes.insert(&note(9, 7))).expect("inserts");
        database.flush().expect("flushes");
        std::mem::forget(tx);
        std::mem::forget(database);
        let crash = |at| {
            let crashed = disk.restart(End::Crash(at).faults());
            let opened = options(way).open_on(Arc::new(crashed.clone()));
            std::mem::forget(opened);
            let did_crash = crashed.has_crashed();
            crashes += u64::from(did_crash);
            // The second one at a step that the first did not reach, or at its end.
            let again = crashed.restart(End::Crash(at / 2 + 1).faults());
            std::mem::forget(options(way).open_on(Arc::new(again.clone())));
            let restarted = again.restart(Faults::default());
            let (database, notes) = open(way, &restarted);
            let found = read(&database, notes, KEYS);
            assert_eq!(found, model, "crash at {at}");
            database.close().expect("closes");
            assert_eq!(read_serially(&restarted, KEYS), model, "crash at {at}");
            did_crash
        };
        Walk::each(2).explore(&format!("{way:?}"), crash);
    }
    assert!(crashes * stride(2) as u64 > 30, "{crashes} crashes");
}
