//! Open transactions beside changes of the schema, other databases, a close and a fork.

use super::{Customer, bump, conflict, ended, open};
use crate::alone::alone;
use crate::common::{Item, Opened, in_every_shape, options};
use crate::fork::FORKS;
use sardonyx::errors::TransactionEnded;
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Error, Shape, Tables};
use sardonyx_storage::disk::{Faults, SimulatedDisk};

#[test]
fn a_change_of_the_schema_is_a_conflict_of_its_table_alone() {
    in_every_shape(|shape| {
        let opened = open(shape);
        let items = opened.items;
        let schema = || {
            Schema::new()
                .column("id", Type::I64)
                .column("n", Type::I64)
                .primary_key(["id"])
        };
        opened.database.create_table("ones", schema()).unwrap();
        type Change = fn(&mut sardonyx::Transaction<'_>) -> Result<(), Error>;
        let changes: [Change; 5] = [
            |tx| tx.add_column("ones", "more", Type::Text, true, Value::Null),
            |tx| tx.rename_column("ones", "more", "rest"),
            |tx| tx.rename_table("ones", "others"),
            |tx| tx.truncate("others"),
            |tx| tx.drop_table("others"),
        ];
        let mut name = "ones";
        for (number, change) in changes.into_iter().enumerate() {
            opened
                .database
                .run(|tx| {
                    tx.rows(name)?
                        .put(&[("id", 1.into()), ("n", 1.into())])
                        .map(drop)
                })
                .unwrap();
            let mut tx = opened.database.begin().unwrap();
            tx.rows(name)
                .unwrap()
                .update(&[1.into()], &[("n", 2.into())])
                .unwrap();
            let mut beside = opened.database.begin().unwrap();
            beside.insert(items, &Item::new(number as u64, 1)).unwrap();
            opened.database.run(change).unwrap();
            let ended = tx.commit();
            match number {
                // A name is no key of the rows.
                2 => ended.unwrap(),
                _ => drop(conflict(&ended.unwrap_err()).clone()),
            }
            beside.commit().unwrap();
            if number >= 2 {
                name = "others";
            }
        }
        // A later table does not exist for a transaction that began before.
        let tx = opened.database.begin().unwrap();
        let customers = opened.database.table::<Customer>().unwrap();
        assert!(matches!(tx.get(customers, 1), Err(Error::Refused(_))));
    });
}

#[test]
fn what_is_of_another_database_is_refused() {
    in_every_shape(|shape| {
        let (one, other) = (open(shape), open(shape));
        let customers = one.database.table::<Customer>().unwrap();
        let tx = other.database.begin().unwrap();
        assert!(matches!(tx.get(customers, 1), Err(Error::Refused(_))));
        // The rows of two transactions, exchanged.
        let mut here = one.database.begin().unwrap();
        let mut there = other.database.begin().unwrap();
        here.insert(one.items, &Item::new(1, 1)).unwrap();
        there.insert(other.items, &Item::new(2, 2)).unwrap();
        std::mem::swap(&mut *here, &mut *there);
        for tx in [here, there] {
            assert!(matches!(tx.commit(), Err(Error::Refused(_))));
        }
        assert!(one.contents().unwrap().items.is_empty());
        assert!(other.contents().unwrap().items.is_empty());
    });
}

#[test]
fn a_closed_database_ends_it_and_is_closed_all_the_same() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).unwrap();
        let items = opened.items;
        opened.put(1, 1).unwrap();
        let began = || {
            let mut tx = opened.database.begin().unwrap();
            bump(&mut tx, items, 1).unwrap();
            tx
        };
        let (mut tx, later, reader) = (began(), began(), opened.database.begin().unwrap());
        opened.database.close().unwrap();
        let is_closed = |error: Error| {
            assert!(matches!(error, Error::Closed(_)), "{error:?}");
            assert_eq!(ended(&error), TransactionEnded::Closed);
        };
        is_closed(tx.get(items, 1).unwrap_err());
        is_closed(bump(&mut tx, items, 1).unwrap_err());
        is_closed(tx.rows("items").map(drop).unwrap_err());
        is_closed(tx.commit().unwrap_err());
        is_closed(later.commit_later().wait().unwrap_err());
        is_closed(reader.commit().unwrap_err());
        assert!(matches!(opened.database.begin(), Err(Error::Closed(_))));
        // Dropped instead of closed.
        let opened = Opened::on(&disk, options(shape)).unwrap();
        assert_eq!(opened.get(1), Some(1));
        let mut tx = opened.database.begin().unwrap();
        bump(&mut tx, items, 1).unwrap();
        drop(opened);
        is_closed(tx.commit().unwrap_err());
        assert_eq!(Opened::on(&disk, options(shape)).unwrap().get(1), Some(1));
    });
}

#[test]
fn in_a_forked_child_it_is_refused_and_the_parents_goes_on() {
    alone(|| {
        for fork in FORKS {
            let opened = open(Shape::Threadless);
            let items = opened.items;
            opened.put(1, 1).unwrap();
            let mut tx = opened.database.begin().unwrap();
            bump(&mut tx, items, 1).unwrap();
            let mut slot = Some(tx);
            let child = fork.child(|| {
                let mut tx = slot.take().unwrap();
                let refused = |error: Error| matches!(error, Error::Forked(_));
                refused(tx.get(items, 1).unwrap_err())
                    && refused(bump(&mut tx, items, 1).unwrap_err())
                    && refused(opened.database.begin().unwrap_err())
                    && refused(tx.commit().unwrap_err())
            });
            assert!(child.ends_content());
            // `slot` was taken in the child's copy of the memory alone.
            slot.unwrap().commit().unwrap();
            assert_eq!(opened.get(1), Some(2));
        }
    });
}

#[test]
fn a_database_is_shared_with_open_transactions_and_dropped_first() {
    let opened = open(Shape::Coalesced);
    let Opened {
        database, items, ..
    } = opened;
    let tables: Tables = database;
    let mut tx = tables.begin().unwrap();
    tx.insert(items, &Item::new(1, 1)).unwrap();
    drop(tables);
    assert!(matches!(tx.commit(), Err(Error::Closed(_))));
}
