//! A backup is a database of its own that holds one commit, journals included, taken while transactions go on, in
//! every shape. If it cannot be whole, no backup exists.

use crate::common::{Item, Note, Opened, in_every_shape, options};
use sardonyx::{Error, Shape, Tables};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn rows(database: &Tables, notes: sardonyx::Journal<Note>) -> Vec<(u64, u64)> {
    let mut rows = Vec::new();
    let each = |note: Note| {
        rows.push((note.account, note.amount));
        true
    };
    database.journal_rows(notes, each).expect("reads");
    rows
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("lists");
    let names = entries.map(|entry| entry.expect("lists").file_name().into_string());
    let mut names: Vec<_> = names.map(|name| name.expect("a name")).collect();
    names.sort();
    names
}

#[test]
fn a_backup_holds_one_commit_while_transactions_go_on() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let opened = Opened::on_real(&at("bank"), options(shape)).expect("opens");
        (0..100).for_each(|id| opened.put(id, 0).expect("put"));
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            if shape.is_threaded() {
                scope.spawn(|| {
                    // One after the other, so a commit is known by its number.
                    for n in 100u64.. {
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                        opened.put(n % 100, n).expect("put");
                    }
                });
            }
            let backup = opened.database.backup(at("copy")).expect("backs up");
            assert!(backup.pages > 4 && backup.journal_rows >= 100, "{backup:?}");
            ended.store(true, Ordering::Relaxed);
        });
        let copy = Opened::on_real(&at("copy"), options(shape)).expect("opens");
        let identities = [&opened, &copy].map(|one| one.database.engine().manifest().identity);
        assert_ne!(identities[0], identities[1]);
        assert_eq!(copy.database.recovery().transactions, 0);
        // The journal shows which commits are in it; the records must be of exactly these.
        let notes = rows(&copy.database, copy.notes);
        let mut expected: Vec<u64> = vec![0; 100];
        for (n, (account, amount)) in notes.iter().enumerate() {
            assert_eq!(
                (*account, *amount),
                (n as u64 % 100, if n < 100 { 0 } else { n as u64 })
            );
            expected[*account as usize] = *amount;
        }
        let found = copy.contents().expect("reads").items;
        assert!(found.into_iter().eq((0..100).zip(expected)));
        // Both go on.
        copy.put(7, 77).expect("put");
        opened.put(7, 78).expect("put");
        assert_eq!((copy.get(7), opened.get(7)), (Some(77), Some(78)));
        drop((opened, copy));
        assert_eq!(names(directory.path()), ["bank", "copy"]);
    });
}

#[test]
fn what_cannot_be_backed_up_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let opened = Opened::on_real(&at("bank"), options(Shape::Coalesced)).expect("opens");
    opened.put(1, 1).expect("put");
    let database = &opened.database;
    for place in [at("bank"), directory.path().to_path_buf()] {
        let refused = database.backup(&place).expect_err("not empty");
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("not empty"), "{refused}");
    }
    let nested = database.run(|_| Ok(database.backup(at("copy")).err()));
    assert!(matches!(nested, Ok(Some(Error::Nested(_)))), "{nested:?}");
    // Another process writes one to the same place, and has just begun.
    std::fs::create_dir(at("copy.unfinished")).expect("makes");
    let refused = database.backup(at("copy")).expect_err("taken");
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    assert!(refused.to_string().contains("another backup"), "{refused}");
    std::fs::remove_dir(at("copy.unfinished")).expect("it is left as it is");
    // An empty directory will do.
    std::fs::create_dir(at("empty")).expect("makes");
    database.backup(at("empty")).expect("backs up");
    database.close().expect("closes");
    assert!(matches!(database.backup(at("copy")), Err(Error::Closed(_))));
    assert_eq!(names(directory.path()), ["bank", "empty"]);
}

#[test]
fn a_backup_whose_snapshot_is_ended_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let options = options(Shape::Coalesced).snapshot_bytes_max(4096);
    let opened = Opened::on_real(&at("bank"), options).expect("opens");
    (0..5000).for_each(|id| {
        opened
            .database
            .transaction()
            .durability(sardonyx::Durability::Deferred)
            .run(|tx| tx.insert(opened.items, &Item::new(id, 0)).map(drop))
            .expect("inserts");
    });
    let backup = opened.database.backup_with(at("copy"), |done, _| {
        if done > 0 {
            (0..5000)
                .step_by(31)
                .for_each(|id| opened.put(id, done).expect("put"));
        }
    });
    assert!(matches!(backup, Err(Error::Limit(_))), "{backup:?}");
    assert_eq!(names(directory.path()), ["bank"]);
}
