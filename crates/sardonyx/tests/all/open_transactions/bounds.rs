//! The bounds of open transactions: at each the one that reaches it, or the oldest, gets a typed error, and no other
//! notices. A forgotten one delays no other.

use super::{bump, ended};
use crate::common::{Item, Opened, SEGMENT_BYTES, in_every_shape, options};
use sardonyx::errors::{SnapshotEnded, TableError, TransactionEnded};
use sardonyx::{Error, OpenTransaction, Options, Tables};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::log::LogError;

fn disk() -> SimulatedDisk {
    SimulatedDisk::new(1, Faults::default())
}

fn insert_until_refused(tx: &mut OpenTransaction, opened: &Opened) -> (u64, Error) {
    for id in 0.. {
        if let Err(error) = tx.insert(opened.items, &Item::new(id, 1)) {
            return (id, error);
        }
    }
    unreachable!("numbers have no end")
}

#[test]
fn what_one_keeps_is_bounded_and_what_it_did_before_stands() {
    in_every_shape(|shape| {
        let options = options(shape).open_transactions_bytes_max(64 << 10);
        let opened = Opened::on(&disk(), options).unwrap();
        let mut tx = opened.database.begin().unwrap();
        let (inserted, error) = insert_until_refused(&mut tx, &opened);
        assert!(matches!(error, Error::Limit(_)), "{error:?}");
        assert!(error.to_string().contains("limit is 16384"), "{error}");
        assert!(inserted > 10, "{inserted}");
        // Scans and numbers are refused, too, by an error and no panic.
        let is_refused = |_| tx.scan(opened.items).unwrap().any(|item| item.is_err());
        assert!((0..100).any(is_refused));
        let rows = tx.rows("items").unwrap();
        assert!(rows.scan().next().unwrap().is_err());
        assert_eq!(rows.count().expect("counted"), inserted);
        tx.commit().unwrap();
        let there = opened
            .database
            .read(|view| view.count(opened.items))
            .unwrap();
        assert_eq!(there, inserted);
        // Rolled back to a savepoint, its kept bytes are freed.
        let mut tx = opened.database.begin().unwrap();
        let savepoint = tx.savepoint();
        for _ in 0..100 {
            for id in 1000..1010 {
                tx.insert(opened.items, &Item::new(id, 1)).unwrap();
            }
            tx.rollback_to(savepoint).unwrap();
        }
        // A row that is changed again and again is kept once.
        let mut tx = opened.database.begin().unwrap();
        for _ in 0..1000 {
            bump(&mut tx, opened.items, 1).unwrap();
        }
        tx.commit().unwrap();
        assert_eq!(opened.get(1), Some(1001));
    });
}

#[test]
fn what_all_keep_is_bounded_together_and_the_oldest_is_ended() {
    in_every_shape(|shape| {
        let options = options(shape).open_transactions_bytes_max(1 << 20);
        let opened = Opened::on(&disk(), options).unwrap();
        let items = opened.items;
        let mut all = Vec::new();
        // Each transaction has a bound of its own, also if forgotten ones keep all.
        for _ in 0..6 {
            let mut tx = opened.database.begin().unwrap();
            let told = insert_until_refused(&mut tx, &opened).1.to_string();
            assert!(told.contains("limit is 262144"), "{told}");
            all.push(tx);
        }
        let outgrown = TransactionEnded::Outgrown { bytes_max: 1 << 20 };
        let is_ended = |tx: &OpenTransaction| match tx.get(items, 0) {
            Ok(_) => false,
            Err(error) => {
                assert!(matches!(error, Error::Limit(_)), "{error:?}");
                assert_eq!(ended(&error), outgrown);
                true
            }
        };
        let runs: Vec<_> = all.iter().map(|tx| !is_ended(tx)).collect();
        assert_eq!(runs, [false, false, true, true, true, true]);
        assert_eq!(ended(&all.remove(0).commit().unwrap_err()), outgrown);
        // The run in the stage ends no other one, and is not ended.
        let ran = std::cell::Cell::new(0);
        let bank = &opened.database;
        let others = std::cell::RefCell::new(all);
        let inserted = bank.retry(|tx| {
            ran.set(ran.get() + 1);
            if ran.get() <= Tables::RETRIES_ASIDE {
                bump(tx, items, 1)?;
                for _ in 0..5 {
                    // Ended ones keep their bytes until they are dropped.
                    others.borrow_mut().retain(|other| !is_ended(other));
                    let mut other = bank.begin()?;
                    insert_until_refused(&mut other, &opened);
                    others.borrow_mut().push(other);
                }
                return tx.get(items, 1).map(|_| 0);
            }
            let ids = 1_000_000..;
            let inserts = ids.map_while(|id| tx.insert(items, &Item::new(id, 1)).ok());
            Ok(inserts.count())
        });
        assert!(inserted.unwrap() > 100);
        assert_eq!(ran.get(), Tables::RETRIES_ASIDE + 1);
        let others = others.into_inner();
        assert!(others.iter().rev().take(4).all(|other| !is_ended(other)));
        // A transaction gives its bytes back at its end.
        drop(others);
        // Ended ones that are held keep at most as much as all that run.
        let mut held = Vec::new();
        let refused = loop {
            let mut tx = bank.begin().unwrap();
            let told = insert_until_refused(&mut tx, &opened).1;
            held.push(tx);
            if !told.to_string().contains("limit is 262144") || held.len() > 100 {
                break told;
            }
        };
        assert!(matches!(refused, Error::Limit(_)), "{refused:?}");
        assert!(refused.to_string().contains("not dropped"), "{refused}");
        held.pop();
        let ended = held.iter().filter(|tx| is_ended(tx)).count();
        assert_eq!((ended, held.len()), (4, 8));
        drop(held);
        let mut tx = bank.begin().unwrap();
        let told = insert_until_refused(&mut tx, &opened).1.to_string();
        assert!(told.contains("limit is 262144"), "{told}");
    });
}

#[test]
fn the_oldest_of_too_many_is_ended() {
    in_every_shape(|shape| {
        let opened = Opened::on(&disk(), options(shape).open_transactions_max(3)).unwrap();
        let items = opened.items;
        opened.put(1, 1).unwrap();
        let began = |id: u64| {
            let mut tx = opened.database.begin().unwrap();
            tx.insert(items, &Item::new(id, 1)).unwrap();
            tx
        };
        let (mut one, two, three) = (began(11), began(12), began(13));
        // One that has ended makes room.
        two.commit().unwrap();
        let four = began(14);
        assert!(one.get(items, 1).is_ok());
        let five = began(15);
        for error in [
            one.get(items, 1).unwrap_err(),
            bump(&mut one, items, 1).unwrap_err(),
            one.rows("items").map(drop).unwrap_err(),
            one.commit().unwrap_err(),
        ] {
            assert!(matches!(error, Error::Limit(_)), "{error:?}");
            assert_eq!(ended(&error), TransactionEnded::Displaced { max: 3 });
        }
        for tx in [three, four, five] {
            tx.commit().unwrap();
        }
        let there: Vec<_> = (11..16).map(|id| opened.get(id).is_some()).collect();
        assert_eq!(there, [false, true, true, true, true]);
    });
}

/// Waits until a row is there, of a transaction that was committed without waiting.
fn until_installed(opened: &Opened, id: u64) {
    while opened.get(id).is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn committed_ones_whose_tickets_are_not_answered_are_not_open() {
    in_every_shape(|shape| {
        let options = options(shape)
            .open_transactions_max(3)
            .open_transactions_bytes_max(64 << 10);
        let opened = Opened::on(&disk(), options).unwrap();
        let items = opened.items;
        let first = opened.database.begin().unwrap();
        let mut tickets = Vec::new();
        let refused = (0..100).find_map(|id| {
            let mut tx = opened.database.begin().unwrap();
            if let Err(error) = tx.insert(items, &Item::new(id, 1)) {
                return Some(error);
            }
            tickets.push(tx.commit_later());
            until_installed(&opened, id);
            None
        });
        assert!(tickets.len() > 3);
        first.check().unwrap();
        // Their memory is bounded, and the error names them.
        let refused = refused.expect("it is bounded");
        assert!(matches!(refused, Error::Limit(_)), "{refused:?}");
        assert!(refused.to_string().contains("tickets"), "{refused}");
        for ticket in tickets {
            ticket.wait().unwrap();
        }
        let mut tx = opened.database.begin().unwrap();
        tx.insert(items, &Item::new(1000, 1)).unwrap();
        tx.commit().unwrap();
    });
}

#[test]
fn changed_rows_are_bounded_and_the_stage_has_no_such_bound() {
    in_every_shape(|shape| {
        let opened = Opened::on(&disk(), options(shape).open_transaction_rows_max(3)).unwrap();
        let items = opened.items;
        opened.put(1, 1).unwrap();
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 1).unwrap();
        let savepoint = tx.savepoint();
        tx.insert(items, &Item::new(2, 1)).unwrap();
        tx.insert(items, &Item::new(3, 1)).unwrap();
        for id in 4..6 {
            let error = tx.insert(items, &Item::new(id, 1)).unwrap_err();
            assert!(matches!(error, Error::Limit(_)), "{error:?}");
            let told = error.downcast_ref::<TableError>();
            assert!(
                matches!(told, Some(TableError::TooManyRows { limit: 3 })),
                "{error:?}"
            );
        }
        // Its own rows change once more, and undone ones do not count.
        bump(&mut tx, items, 2).unwrap();
        tx.rollback_to(savepoint).unwrap();
        tx.insert(items, &Item::new(7, 1)).unwrap();
        tx.insert(items, &Item::new(8, 1)).unwrap();
        tx.insert(items, &Item::new(9, 1)).unwrap_err();
        tx.commit().unwrap();
        let there: Vec<_> = (1..10).filter(|id| opened.get(*id).is_some()).collect();
        assert_eq!(there, [1, 7, 8]);
        // Behind one attempt, a closure that changes more runs in the stage.
        let mut runs = 0;
        let ran = opened.database.retry(|tx| {
            runs += 1;
            (20..30).try_for_each(|id| tx.insert(items, &Item::new(id, 1)))
        });
        ran.unwrap();
        assert_eq!(runs, 2);
        assert!(opened.get(29).is_some());
    });
}

#[test]
fn bounds_at_which_nothing_could_be_done_are_refused() {
    let refused = |options: Options| {
        let error = Opened::on(&disk(), options).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error:?}");
        error.to_string()
    };
    in_every_shape(|shape| {
        let told = refused(options(shape).open_transactions_max(0));
        assert!(told.contains("open_transactions_max"), "{told}");
        let told = refused(options(shape).open_transaction_rows_max(0));
        assert!(told.contains("open_transaction_rows_max"), "{told}");
        for bytes in [0, 4, (64 << 10) - 1] {
            let told = refused(options(shape).open_transactions_bytes_max(bytes));
            assert!(told.contains("open_transactions_bytes_max"), "{told}");
        }
        let least = options(shape)
            .open_transactions_max(1)
            .open_transactions_bytes_max(64 << 10);
        let opened = Opened::on(&disk(), least).unwrap();
        let mut tx = opened.database.begin().unwrap();
        tx.insert(opened.items, &Item::new(1, 1)).unwrap();
        tx.commit().unwrap();
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none.sdx");
    let options = Options::new().open_transactions_max(0);
    assert!(options.open_tables(&path).is_err());
    assert!(!path.exists());
}

#[test]
fn old_pages_are_bounded_and_the_oldest_is_ended() {
    in_every_shape(|shape| {
        let options = options(shape).snapshot_bytes_max(16 << 12);
        let opened = Opened::on(&disk(), options).unwrap();
        let items = opened.items;
        (0..2000).for_each(|id| opened.put(id, 1).unwrap());
        let mut old = opened.database.begin().unwrap();
        bump(&mut old, items, 5).unwrap();
        (0..2000).for_each(|id| opened.put(id, 2).unwrap());
        let is_ended = |error: Error| {
            assert!(matches!(error, Error::Limit(_)), "{error:?}");
            assert!(error.downcast_ref::<SnapshotEnded>().is_some(), "{error:?}");
        };
        is_ended(old.get(items, 1999).unwrap_err());
        is_ended(old.update(items, 1998, |item| item.value = 7).unwrap_err());
        is_ended(old.scan(items).unwrap().find_map(Result::err).unwrap());
        assert_eq!(old.count(items).unwrap(), 2000);
        is_ended(old.commit().unwrap_err());
        assert_eq!(opened.get(5), Some(2));
        // Run again it is done, also where the bound is met at each attempt.
        let ran = std::cell::Cell::new(0);
        let tried = opened.database.retry(|tx| {
            ran.set(ran.get() + 1);
            bump(tx, items, 5)?;
            (0..2000).for_each(|id| drop(opened.put(id, 3)));
            tx.get(items, 1999).map(drop)
        });
        tried.unwrap();
        assert!(ran.get() > 1);
        assert_eq!(opened.get(5), Some(4));
    });
}

#[test]
fn forgotten_ones_hold_up_nothing() {
    in_every_shape(|shape| {
        let disk = disk();
        let opened = Opened::on(&disk, options(shape)).unwrap();
        let items = opened.items;
        (0..50).for_each(|id| opened.put(id, 0).unwrap());
        let mut forgotten = Vec::new();
        for id in 0..50 {
            let mut tx = opened.database.begin().unwrap();
            bump(&mut tx, items, id).unwrap();
            forgotten.push(tx);
        }
        std::mem::forget(opened.database.begin().unwrap());
        // Several times as much as the log takes, so that checkpoints have to free it.
        let rounds = 20 * SEGMENT_BYTES / 200;
        (0..rounds).for_each(|n| opened.put(n % 50, n).unwrap());
        opened.database.checkpoint().unwrap();
        opened.database.flush().unwrap();
        opened.database.close().unwrap();
        let opened = Opened::on(&disk, options(shape)).unwrap();
        assert_eq!(opened.get((rounds - 1) % 50), Some(rounds - 1));
        drop(forgotten);
    });
}

#[test]
fn one_that_is_too_large_for_the_log_is_refused_whole() {
    in_every_shape(|shape| {
        let opened = Opened::on(&disk(), options(shape).transaction_bytes(32 << 10)).unwrap();
        let mut tx = opened.database.begin().unwrap();
        for id in 0..2000 {
            tx.insert(opened.items, &Item::new(id, 1)).unwrap();
        }
        let error = tx.commit().unwrap_err();
        assert!(
            matches!(error, Error::Limit(_) | Error::Full(_)),
            "{error:?}"
        );
        assert!(opened.contents().unwrap().items.is_empty());
        opened.put(1, 1).unwrap();
    });
}

#[test]
fn a_full_store_refuses_the_commit_and_is_as_before() {
    in_every_shape(|shape| {
        let options = options(shape)
            .memory_bytes_max(4 << 20)
            .log_bytes_max(256 * SEGMENT_BYTES)
            .transaction_bytes(8 << 20);
        let opened = Opened::on(&disk(), options).unwrap();
        opened.put(1, 1).unwrap();
        let before = opened.contents().unwrap();
        let mut tx = opened.database.begin().unwrap();
        for id in 10..40_000 {
            tx.insert(opened.items, &Item::new(id, 1)).unwrap();
        }
        let error = tx.commit().unwrap_err();
        assert!(
            matches!(error, Error::Full(_) | Error::Limit(_)),
            "{error:?}"
        );
        assert_eq!(opened.contents().unwrap(), before);
        opened.put(2, 1).unwrap();
    });
}

#[test]
fn a_full_log_refuses_the_commit_and_it_can_be_run_again() {
    in_every_shape(|shape| {
        let full = Faults {
            capacity_bytes: Some(2 << 20),
            ..Faults::default()
        };
        let disk = disk();
        drop(Opened::on(&disk, options(shape)).unwrap());
        let disk = disk.restart(full);
        let opened = Opened::on(&disk, options(shape)).unwrap();
        let (mut acknowledged, mut refused) = (0, 0);
        for id in 0..40_000 {
            let put = |tx: &mut OpenTransaction| tx.put(opened.items, &Item::new(id, 1)).map(drop);
            match opened.database.retry(put) {
                Ok(()) => acknowledged += 1,
                Err(error) => {
                    let full = error.downcast_ref::<LogError>();
                    assert!(matches!(full, Some(LogError::Full { .. })), "{error:?}");
                    assert_eq!(opened.get(id), None);
                    refused += 1;
                }
            }
            if refused == 3 {
                break;
            }
        }
        assert!(
            acknowledged > 100 && refused == 3,
            "{acknowledged} and {refused}"
        );
        let items = opened.contents().unwrap().items;
        assert_eq!(items.len(), acknowledged);
    });
}

#[test]
fn the_memory_of_one_that_has_ended_goes_with_its_ticket() {
    in_every_shape(|shape| {
        let options = options(shape).open_transactions_bytes_max(1 << 20);
        let opened = Opened::on(&disk(), options).unwrap();
        let bank = &opened.database;
        let fill = |tx: &mut OpenTransaction, from: u64| {
            let full = (from..).find_map(|id| tx.insert(opened.items, &Item::new(id, 1)).err());
            assert!(full.unwrap().to_string().contains("limit is 262144"));
        };
        let filled = |from: u64| {
            let mut tx = bank.begin().unwrap();
            fill(&mut tx, from);
            tx
        };
        let oldest = filled(0);
        let commit = |from: u64| {
            let ticket = filled(from).commit_later();
            until_installed(&opened, from);
            ticket
        };
        let mut tickets: Vec<_> = (1..6).map(|number| commit(number * 100_000)).collect();
        // The stage frees the memory of none. They end no open transaction.
        let mut newest = bank.begin().unwrap();
        let refused = newest.insert(opened.items, &Item::new(1, 1)).unwrap_err();
        assert!(refused.to_string().contains("tickets"), "{refused}");
        oldest.check().unwrap();
        drop(oldest);
        tickets.drain(..).for_each(|ticket| ticket.wait().unwrap());
        fill(&mut newest, 0);
        let _others: Vec<_> = (0..3).map(|_| filled(1_000_000)).collect();
        assert!(newest.get(opened.items, 0).is_ok());
    });
}

#[test]
fn i14_an_install_that_began_ends_although_it_reaches_the_bound_on_snapshots() {
    in_every_shape(|shape| {
        let options = options(shape).snapshot_bytes_max(8 * 4096);
        let opened = Opened::on(&disk(), options).unwrap();
        (0..2000).for_each(|id| opened.put(id, 1).unwrap());
        let bank = &opened.database;
        let mut tx = bank.begin().unwrap();
        let other = bank.snapshot().unwrap();
        for id in 0..2000 {
            bump(&mut tx, opened.items, id).unwrap();
        }
        assert!(!other.is_ended());
        tx.commit().unwrap();
        // It was the same snapshot, and is ended by the pages that the install has changed.
        assert!(other.is_ended());
        assert_eq!((opened.get(0), opened.get(1999)), (Some(2), Some(2)));
    });
}
