//! Schedules that have names, because databases let them happen: here each ends in a conflict.

use super::{conflict, key_of, open};
use crate::common::{Item, Opened, in_every_shape};
use sardonyx::errors::ConflictWith;
use sardonyx::rows::ReadRow;
use sardonyx::schema::{Schema, Type};
use sardonyx::{Error, OpenTransaction};

fn value(tx: &OpenTransaction, opened: &Opened, id: u64) -> u64 {
    let found = tx.get(opened.items, id).unwrap();
    found.map_or(0, |item| item.value)
}

fn set(tx: &mut OpenTransaction, opened: &Opened, id: u64, value: u64) {
    tx.put(opened.items, &Item::new(id, value)).unwrap();
}

#[test]
fn lost_update() {
    in_every_shape(|shape| {
        let opened = open(shape);
        opened.put(1, 100).unwrap();
        let [mut one, mut other] = [(); 2].map(|()| opened.database.begin().unwrap());
        let (of_one, of_other) = (value(&one, &opened, 1), value(&other, &opened, 1));
        set(&mut one, &opened, 1, of_one + 10);
        set(&mut other, &opened, 1, of_other + 20);
        one.commit().unwrap();
        conflict(&other.commit().unwrap_err());
        assert_eq!(opened.get(1), Some(110));
    });
}

#[test]
fn write_skew() {
    in_every_shape(|shape| {
        let opened = open(shape);
        // At least one of two is on call.
        (1..=2).for_each(|id| opened.put(id, 1).unwrap());
        let mut both = [1, 2].map(|id| {
            let mut tx = opened.database.begin().unwrap();
            if value(&tx, &opened, 1) + value(&tx, &opened, 2) == 2 {
                set(&mut tx, &opened, id, 0);
            }
            Some(tx)
        });
        both[0].take().unwrap().commit().unwrap();
        let error = both[1].take().unwrap().commit().unwrap_err();
        assert_eq!(conflict(&error).key(), Some(&*key_of(1)));
        assert_eq!((opened.get(1), opened.get(2)), (Some(0), Some(1)));
    });
}

#[test]
fn phantoms() {
    type Read = fn(&mut OpenTransaction, &Opened) -> u64;
    let reads: [(Read, ConflictWith); 4] = [
        (
            |tx, opened| tx.count(opened.items).unwrap(),
            ConflictWith::Count,
        ),
        (
            |tx, opened| tx.scan(opened.items).unwrap().count() as u64,
            ConflictWith::Scan,
        ),
        (
            |tx, _| {
                let rows = tx.rows("ordered").unwrap();
                let index = rows.index("primary").unwrap();
                index.range((3,)..(9,)).unwrap().count() as u64
            },
            ConflictWith::Range {
                index: "primary".into(),
            },
        ),
        (
            |tx, opened| value(tx, opened, 7),
            ConflictWith::Row(key_of(7)),
        ),
    ];
    in_every_shape(|shape| {
        for (read, with) in &reads {
            let opened = open(shape);
            let schema = Schema::new()
                .column("id", Type::I64)
                .primary_key(["id"])
                .ordered();
            opened.database.create_table("ordered", schema).unwrap();
            let mut tx = opened.database.begin().unwrap();
            assert_eq!(read(&mut tx, &opened), 0);
            set(&mut tx, &opened, 1000, 1);
            opened
                .database
                .run(|tx| {
                    tx.insert(opened.items, &Item::new(7, 1))?;
                    tx.rows("ordered")?.insert(&[("id", 7.into())])
                })
                .unwrap();
            assert_eq!(conflict(&tx.commit().unwrap_err()).with, *with);
            assert_eq!(opened.get(1000), None);
        }
    });
}

/// Fekete, O'Neil, O'Neil: A Read-Only Transaction Anomaly Under Snapshot Isolation (2004).
#[test]
fn read_only_anomaly() {
    in_every_shape(|shape| {
        let opened = open(shape);
        const CHECKING: u64 = 1;
        const SAVINGS: u64 = 2;
        (1..=2).for_each(|id| opened.put(id, 100).unwrap());
        // Takes 110 of both together, and a fee of one if that is more than there is.
        let mut takes = opened.database.begin().unwrap();
        let there = value(&takes, &opened, CHECKING) + value(&takes, &opened, SAVINGS);
        set(&mut takes, &opened, CHECKING, there - 190);
        let mut puts = opened.database.begin().unwrap();
        set(&mut puts, &opened, SAVINGS, 120);
        puts.commit().unwrap();
        let reads = opened.database.begin().unwrap();
        assert_eq!(value(&reads, &opened, SAVINGS), 120);
        assert_eq!(value(&reads, &opened, CHECKING), 100);
        reads.commit().unwrap();
        // It would have to be before the one that the reader saw, and behind the reader.
        conflict(&takes.commit().unwrap_err());
    });
}

#[test]
fn a_reader_sees_one_state_and_never_conflicts() {
    in_every_shape(|shape| {
        let opened = open(shape);
        (0..50).for_each(|id| opened.put(id, 1).unwrap());
        let tx = opened.database.begin().unwrap();
        for id in 0..50 {
            opened.put(id, 2).unwrap();
            assert_eq!(value(&tx, &opened, id), 1);
        }
        tx.commit().unwrap();
    });
}

/// Customers with a unique name, and orders that refer to them; an order has at least one piece.
fn shop(opened: &Opened) {
    let customers = Schema::new()
        .column("id", Type::I64)
        .column("name", Type::Text)
        .primary_key(["id"])
        .index("by_name", ["name"])
        .ordered()
        .unique();
    opened
        .database
        .create_table("customers", customers)
        .unwrap();
    let orders = Schema::new()
        .column("id", Type::I64)
        .column("customer", Type::I64)
        .column("pieces", Type::I64)
        .primary_key(["id"])
        .index("by_customer", ["customer"])
        .ordered()
        .foreign_key("of_customer", ["customer"], "customers", ["id"])
        .check("some", "pieces > 0");
    opened.database.create_table("orders", orders).unwrap();
    let insert = |tx: &mut sardonyx::Transaction<'_>| {
        let mut customers = tx.rows("customers")?;
        customers.insert(&[("id", 1.into()), ("name", "Ada".into())])?;
        customers.insert(&[("id", 2.into()), ("name", "Bo".into())])
    };
    opened.database.run(insert).unwrap();
}

fn order(tx: &mut OpenTransaction, id: i64, customer: i64, pieces: i64) -> Result<(), Error> {
    tx.rows("orders")?.insert(&[
        ("id", id.into()),
        ("customer", customer.into()),
        ("pieces", pieces.into()),
    ])
}

#[test]
fn constraints_hold_at_once_and_at_the_commit() {
    in_every_shape(|shape| {
        let opened = open(shape);
        shop(&opened);
        let mut tx = opened.database.begin().unwrap();
        assert!(matches!(order(&mut tx, 1, 9, 1), Err(Error::Refused(_))));
        assert!(matches!(order(&mut tx, 1, 1, 0), Err(Error::Refused(_))));
        let twice = [("id", 3.into()), ("name", "Ada".into())];
        assert!(matches!(
            tx.rows("customers").unwrap().insert(&twice),
            Err(Error::Duplicate(_))
        ));
        // A key that no index takes is refused at once, as in a closure.
        let long = [("id", 3.into()), ("name", "n".repeat(100_000).into())];
        assert!(matches!(
            tx.rows("customers").unwrap().insert(&long),
            Err(Error::Limit(_))
        ));
        // The failed statement has done nothing.
        order(&mut tx, 1, 2, 1).unwrap();
        tx.commit().unwrap();
        let rows = |table: &str| {
            opened
                .database
                .read(|view| view.rows(table)?.count())
                .unwrap()
        };
        assert_eq!((rows("customers"), rows("orders")), (2, 1));

        // An order, and the end of its customer.
        let mut orders = opened.database.begin().unwrap();
        order(&mut orders, 2, 1, 1).unwrap();
        let mut ends = opened.database.begin().unwrap();
        assert!(ends.rows("customers").unwrap().delete(&[1.into()]).unwrap());
        orders.commit().unwrap();
        conflict(&ends.commit().unwrap_err());
        let mut ends = opened.database.begin().unwrap();
        let deleted = ends.rows("customers").unwrap().delete(&[1.into()]);
        assert!(matches!(deleted, Err(Error::Refused(_))));

        // A name that two take.
        let mut both = [3, 4].map(|id: i64| {
            let mut tx = opened.database.begin().unwrap();
            let row = [("id", id.into()), ("name", "Cy".into())];
            tx.rows("customers").unwrap().insert(&row).unwrap();
            Some(tx)
        });
        both[1].take().unwrap().commit().unwrap();
        conflict(&both[0].take().unwrap().commit().unwrap_err());

        // Names that are exchanged.
        let mut tx = opened.database.begin().unwrap();
        let mut customers = tx.rows("customers").unwrap();
        for (id, name) in [(1, "nobody"), (2, "Ada"), (1, "Bo")] {
            assert!(
                customers
                    .update(&[id.into()], &[("name", name.into())])
                    .unwrap()
            );
        }
        tx.commit().unwrap();
        let name = opened.database.read(|view| {
            let rows = view.rows("customers")?;
            let row = rows.get(&[1.into()])?.expect("a row");
            Ok(format!("{:?}", row.value_of("name")?))
        });
        assert_eq!(name.unwrap(), "Text(\"Bo\")");
    });
}

#[test]
fn what_is_not_in_the_way_is_no_conflict() {
    in_every_shape(|shape| {
        let opened = open(shape);
        (0..10).for_each(|id| opened.put(id, 1).unwrap());
        // In one page.
        let mut tx = opened.database.begin().unwrap();
        set(&mut tx, &opened, 1, 2);
        set(&mut tx, &opened, 100, 2);
        opened.put(2, 3).unwrap();
        opened.put(101, 3).unwrap();
        tx.commit().unwrap();
        // A value that came back.
        let mut tx = opened.database.begin().unwrap();
        assert_eq!(value(&tx, &opened, 5), 1);
        set(&mut tx, &opened, 6, 2);
        opened.put(5, 9).unwrap();
        opened.put(5, 1).unwrap();
        tx.commit().unwrap();
        assert_eq!(
            (opened.get(1), opened.get(100), opened.get(6)),
            (Some(2), Some(2), Some(2))
        );
    });
}
