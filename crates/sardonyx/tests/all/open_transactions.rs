//! Transactions that are begun and ended by hand, in every shape. Their verbs are those of closures, and they delay no
//! other. Their commits are as if they had run at that moment. At their bounds they are ended by a typed error.

mod anomalies;
mod bounds;
mod crashes;
mod ends;
mod histories;

use crate::common::{Item, Opened, block_on, in_every_shape, options};
use sardonyx::errors::{Conflict, TransactionEnded};
use sardonyx::schema::Value;
use sardonyx::{Durability, Error, OpenTransaction, Record, Shape, Table, Tables};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn open(shape: Shape) -> Opened {
    let disk = SimulatedDisk::new(1, Faults::default());
    Opened::on(&disk, options(shape)).expect("opens")
}

fn bump(tx: &mut OpenTransaction, items: Table<Item>, id: u64) -> Result<Option<()>, Error> {
    tx.update(items, id, |item| item.value += 1)
}

fn conflict(error: &Error) -> &Conflict {
    assert!(error.is_conflict(), "{error:?}");
    error.downcast_ref().expect("a conflict")
}

/// The key of an item, whose columns the type does not declare.
fn key_of(id: u64) -> Vec<Value> {
    vec![Value::Bytes(id.to_le_bytes().to_vec())]
}

/// The reason why a transaction was ended.
fn ended(error: &Error) -> TransactionEnded {
    *error.downcast_ref().unwrap_or_else(|| panic!("{error:?}"))
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "customers", key = id, index("by_city", city, name), unique("by_mail", mail))]
struct Customer {
    id: u64,
    name: String,
    city: Option<String>,
    mail: String,
}

fn customer(id: u64, name: &str, city: Option<&str>) -> Customer {
    Customer {
        id,
        name: name.to_string(),
        city: city.map(str::to_string),
        mail: format!("{name}@{id}"),
    }
}

#[test]
fn it_is_sent_between_threads_and_its_commit_is_awaited() {
    fn sent<T: Send + 'static>(value: T) -> T {
        value
    }
    in_every_shape(|shape| {
        let opened = open(shape);
        opened.put(1, 10).unwrap();
        let items = opened.items;
        let mut tx = sent(opened.database.begin().unwrap());
        bump(&mut tx, items, 1).unwrap();
        let tx = std::thread::spawn(move || {
            bump(&mut tx, items, 1).unwrap();
            tx
        });
        let mut tx = tx.join().unwrap();
        // Awaited by a task that may be moved between threads while the transaction is open.
        block_on(sent(async move {
            bump(&mut tx, items, 1).unwrap();
            std::future::ready(()).await;
            bump(&mut tx, items, 1).unwrap();
            tx.commit_later().await
        }))
        .unwrap();
        assert_eq!(opened.get(1), Some(14));
    });
}

#[test]
fn others_go_on_while_it_is_open_and_it_sees_its_begin() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        (0..20).for_each(|id| opened.put(id, 1).unwrap());
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 3).unwrap();
        // On the same thread, too.
        opened.put(4, 5).unwrap();
        opened.put(30, 1).unwrap();
        opened.database.checkpoint().unwrap();
        assert_eq!(tx.count(items).unwrap(), 20);
        assert_eq!(tx.get(items, 4).unwrap().unwrap().value, 1);
        assert_eq!(tx.get(items, 3).unwrap().unwrap().value, 2);
        assert_eq!(opened.get(3), Some(1));
        let sum: u64 = (tx.scan(items).unwrap())
            .map(|item| item.unwrap().value)
            .sum();
        assert_eq!(sum, 21);
        // It read a row and a number that were changed.
        let error = tx.commit().unwrap_err();
        assert_eq!(conflict(&error).table, "items");
        assert_eq!(opened.get(3), Some(1));
    });
}

#[test]
fn a_thread_that_takes_turn_after_turn_lets_those_go_first_that_wait() {
    let opened = open(Shape::Coalesced);
    let tables = &opened.database;
    let others = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for round in 1..=20 {
            let turn = tables.turn().expect("a turn");
            scope.spawn(|| {
                let turn = tables.turn().expect("a turn");
                others.fetch_add(1, Ordering::SeqCst);
                drop(turn);
            });
            while !tables.has_waiting() {
                std::thread::yield_now();
            }
            drop(turn);
            tables.let_others_go_first(Duration::MAX);
            drop(tables.turn().expect("a turn"));
            assert_eq!(others.load(Ordering::SeqCst), round);
        }
    });
}

#[test]
fn a_thread_that_has_the_stage_does_not_let_others_run_first() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let tables = &opened.database;
        // A new thread lets others run at its first call that may.
        let work = || {
            let turn = tables.turn().expect("a turn");
            assert!(!tables.let_others_run());
            drop(turn);
            let ran = tables.run(|_| Ok::<_, Error>(tables.let_others_run()));
            assert!(!ran.expect("it ran"));
            assert!(tables.let_others_run());
        };
        std::thread::scope(|scope| scope.spawn(work).join().expect("it holds"));
    });
}

#[test]
fn a_conflict_names_the_table_and_the_key() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        opened.put(7, 1).unwrap();
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 7).unwrap();
        opened.put(7, 2).unwrap();
        let error = tx.commit().unwrap_err();
        let found = conflict(&error);
        assert_eq!(found.table, "items");
        assert_eq!(found.key(), Some(&*key_of(7)));
        let text = error.to_string();
        assert!(
            text.contains("items") && text.contains("row with key"),
            "{text}"
        );
        assert!(text.contains("run this one again"), "{text}");
        // The same by a ticket.
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 7).unwrap();
        opened.put(7, 3).unwrap();
        conflict(&tx.commit_later().wait().unwrap_err());
        assert_eq!(opened.get(7), Some(3));
    });
}

#[test]
fn dropped_or_rolled_back_it_has_no_effect() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        opened.put(1, 1).unwrap();
        for ending in [
            |tx: OpenTransaction| drop(tx),
            |tx: OpenTransaction| tx.rollback(),
        ] {
            let mut tx = opened.database.begin().unwrap();
            bump(&mut tx, items, 1).unwrap();
            tx.insert(items, &Item::new(2, 2)).unwrap();
            ending(tx);
        }
        assert_eq!((opened.get(1), opened.get(2)), (Some(1), None));
        // A change that panics half-way has done nothing.
        let mut tx = opened.database.begin().unwrap();
        crate::common::hide_planned_panics();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tx.update(items, 1, |item| {
                item.value = 9;
                panic!("{}", crate::common::PLANNED);
            })
        }));
        assert!(panics.is_err());
        assert_eq!(tx.get(items, 1).unwrap().unwrap().value, 1);
        tx.commit().unwrap();
    });
}

/// The same verbs, as a macro since a closure's transaction and an open one are two types.
macro_rules! all_verbs {
    ($tx:expr, $items:expr, $customers:expr) => {{
        let (tx, items, customers) = ($tx, $items, $customers);
        let mut told = Vec::new();
        let mut tell = |what: String| told.push(what);
        for id in 0..6 {
            tx.insert(items, &Item::new(id, id * 10)).unwrap();
        }
        tell(format!("{:?}", tx.insert(items, &Item::new(3, 0)).is_err()));
        tell(format!("{:?}", tx.put(items, &Item::new(3, 33)).unwrap()));
        tell(format!("{:?}", tx.put(items, &Item::new(9, 99)).unwrap()));
        tell(format!(
            "{:?}",
            tx.update(items, 2, |item| {
                item.value += 1;
                item.value
            })
            .unwrap()
        ));
        tell(format!(
            "{:?}",
            tx.update(items, 77, |item| item.value).unwrap()
        ));
        let failed: Result<Option<()>, Error> = tx.try_update(items, 2, |item| {
            item.value = 0;
            Err(Error::other("no"))
        });
        tell(failed.unwrap_err().to_string());
        tell(
            tx.update(items, 2, |item| item.id = 8)
                .unwrap_err()
                .to_string(),
        );
        tell(format!("{:?}", tx.delete(items, 5).unwrap()));
        tell(format!("{:?}", tx.delete(items, 5).unwrap()));
        tell(format!("{:?}", tx.remove(items, 4).unwrap()));
        let mut taken = tx.get_mut(items, 1).unwrap().unwrap();
        taken.value = 5;
        taken.save().unwrap();
        tell(format!(
            "{:?}",
            tx.retain(items, |item| item.id != 0).unwrap()
        ));
        tell(format!("{:?}", tx.count(items).unwrap()));
        let mut all: Vec<_> = (tx.scan(items).unwrap())
            .map(|item| format!("{:?}", item.unwrap()))
            .collect();
        all.sort();
        tell(all.join(" "));

        tx.insert(customers, &customer(1, "Ada", Some("London")))
            .unwrap();
        tx.insert(customers, &customer(2, "Bo", None)).unwrap();
        tx.insert(customers, &customer(3, "Cy", Some("London")))
            .unwrap();
        let twice = Customer {
            id: 4,
            ..customer(1, "Ada", None)
        };
        tell(tx.insert(customers, &twice).unwrap_err().to_string());
        tx.update(customers, 2, |of| of.city = Some("Paris".to_string()))
            .unwrap();
        tell(format!("{:?}", tx.get(customers, 2).unwrap()));
        let by_city = tx.index(customers, "by_city").unwrap();
        let london = by_city.prefix(("London",)).unwrap();
        tell(format!(
            "{:?}",
            london
                .rev()
                .map(|of| of.unwrap().name.clone())
                .collect::<Vec<_>>()
        ));
        let begins = by_city.starts_with(("Pa",)).unwrap();
        tell(format!(
            "{:?}",
            begins.map(|of| of.unwrap().id).collect::<Vec<_>>()
        ));
        tell(format!(
            "{:?}",
            by_city.get_by(("London", "Cy")).unwrap().map(|of| of.id)
        ));
        tell(format!(
            "{:?}",
            by_city.count_range(("A",)..("Z",)).unwrap()
        ));
        tell(by_city.range(("Z",)..("A",)).unwrap_err().to_string());
        let first_and_last = [by_city.first().unwrap(), by_city.last().unwrap()];
        tell(format!("{:?}", first_and_last.map(|of| of.map(|of| of.id))));

        let mut rows = tx.rows("customers").unwrap();
        let name = [("name", Value::from("Eve"))];
        tell(format!(
            "{:?}",
            rows.update(&[Value::from(3)], &name).unwrap()
        ));
        let unknown = rows.insert(&[("colour", Value::from("red"))]).unwrap_err();
        tell(unknown.to_string());
        tell(format!("{:?}", rows.delete(&[Value::from(1)]).unwrap()));
        tell(format!("{:?}", rows.count().expect("counted")));
        tell(tx.rows("nothing").map(drop).unwrap_err().to_string());
        tell(format!("{:?}", tx.clear(customers).unwrap()));
        told
    }};
}

#[test]
fn its_verbs_are_those_of_closures() {
    in_every_shape(|shape| {
        let verbs = |aside: bool| {
            let opened = open(shape);
            let (items, customers) = (opened.items, opened.database.table::<Customer>().unwrap());
            let told = match aside {
                true => {
                    let mut tx = opened.database.begin().unwrap();
                    let told = all_verbs!(&mut tx, items, customers);
                    tx.commit().unwrap();
                    told
                }
                false => opened
                    .database
                    .run(|tx| Ok(all_verbs!(tx, items, customers)))
                    .unwrap(),
            };
            (told, opened.contents().unwrap())
        };
        assert_eq!(verbs(true), verbs(false));
    });
}

#[test]
fn savepoints_go_back_and_are_of_one_transaction() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        opened.put(1, 1).unwrap();
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 1).unwrap();
        let one = tx.savepoint();
        bump(&mut tx, items, 1).unwrap();
        tx.insert(items, &Item::new(2, 2)).unwrap();
        let two = tx.savepoint();
        tx.delete(items, 1).unwrap();
        assert_eq!(tx.count(items).unwrap(), 1);
        tx.rollback_to(two).unwrap();
        assert_eq!(tx.count(items).unwrap(), 2);
        tx.rollback_to(one).unwrap();
        assert_eq!(tx.count(items).unwrap(), 1);
        assert_eq!(tx.get(items, 1).unwrap().unwrap().value, 2);
        assert!(matches!(tx.rollback_to(two), Err(Error::Refused(_))));
        tx.rollback_to(one).unwrap();
        let mut other = opened.database.begin().unwrap();
        other.savepoint();
        assert!(matches!(other.rollback_to(one), Err(Error::Refused(_))));
        tx.commit().unwrap();
        assert_eq!((opened.get(1), opened.get(2)), (Some(2), None));
    });
}

#[test]
fn retry_runs_again_and_ends_in_the_stage() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        opened.put(1, 0).unwrap();
        let ran = AtomicUsize::new(0);
        let value = opened.database.retry(|tx| {
            let value = tx.update(items, 1, |item| {
                item.value += 1;
                item.value
            })?;
            // There is a conflict as often as possible.
            let number = ran.fetch_add(1, Ordering::SeqCst);
            let met = opened.put(1, 100 * (number as u64 + 1));
            assert_eq!(met.is_err(), number == Tables::RETRIES_ASIDE, "{met:?}");
            Ok(value)
        });
        let tries = Tables::RETRIES_ASIDE;
        assert_eq!(ran.load(Ordering::SeqCst), tries + 1);
        assert_eq!(value.unwrap(), Some(100 * tries as u64 + 1));
        assert_eq!(opened.get(1), Some(100 * tries as u64 + 1));
        // An error of its own is returned, and undoes it.
        let failed: Result<(), _> = opened.database.retry(|tx| {
            bump(tx, items, 1)?;
            Err(Error::other("out of stock"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "out of stock");
        assert_eq!(opened.get(1), Some(100 * tries as u64 + 1));
    });
}

#[test]
fn threads_that_retry_lose_no_update() {
    in_every_shape(|shape| {
        if !shape.is_threaded() {
            return;
        }
        let opened = open(shape);
        let items = opened.items;
        opened.put(1, 0).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        opened.database.retry(|tx| bump(tx, items, 1)).unwrap();
                    }
                });
            }
        });
        assert_eq!(opened.get(1), Some(200));
    });
}

#[test]
fn inside_of_a_closure_it_is_refused() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        opened.put(1, 0).unwrap();
        let mut held = Some(opened.database.begin().unwrap());
        bump(held.as_mut().unwrap(), items, 1).unwrap();
        opened
            .database
            .run(|_| {
                assert!(matches!(opened.database.begin(), Err(Error::Nested(_))));
                let tx = held.take().unwrap();
                assert!(matches!(tx.commit(), Err(Error::Nested(_))));
                let refused = opened.database.retry(|tx| bump(tx, items, 1));
                assert!(matches!(refused, Err(Error::Nested(_))));
                Ok(())
            })
            .unwrap();
        assert_eq!(opened.get(1), Some(0));
    });
}

#[test]
fn a_reader_commits_when_what_it_saw_is_durable() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).unwrap();
        let items = opened.items;
        let put = |tx: &mut sardonyx::Transaction<'_>| tx.insert(items, &Item::new(1, 7));
        let later = opened.database.transaction();
        later.durability(Durability::Deferred).run(put).unwrap();
        let tx = opened.database.begin().unwrap();
        assert_eq!(tx.get(items, 1).unwrap().unwrap().value, 7);
        tx.commit().unwrap();
        let opened = Opened::on(&disk.restart(Faults::default()), options(shape)).unwrap();
        assert_eq!(opened.get(1), Some(7));
    });
}
