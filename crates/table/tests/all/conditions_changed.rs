//! Conditions that are added to a table with rows, and removed from it; a transaction's changes shown to readers on
//! its way; the rows of a snapshot by the table's number, in portions.

use crate::support::{STORE_BYTES, World, in_detail};
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_rows::{RowError, ScanPlace, TableError};

fn schema() -> sardonyx_rows::schema::SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("n", Type::I32)
        .nullable()
        .primary_key(["id"])
}

fn world(rows: i32) -> (World, u16) {
    let mut world = World::with_memory(STORE_BYTES);
    let number = world.commit(|tx| {
        let number = tx.create_table("things", schema()).expect("it is created");
        let mut things = tx.rows_of(number).expect("it is there");
        for n in 0..rows {
            let values = [Value::Int(n.into()), Value::Int(n.into())];
            things.insert_values(&values).expect("it is stored");
        }
        number
    });
    (world, number)
}

#[test]
fn a_condition_that_is_added_holds_for_all_rows() {
    let (mut world, number) = world(10);
    world.commit(|tx| {
        let refused = in_detail(tx.add_check(number, "small", "n < 5"));
        let error = refused.expect_err("rows do not meet it");
        assert!(
            matches!(&error, TableError::Row(row) if matches!(**row, RowError::Check { .. })),
            "{error}"
        );
        // Nothing has changed.
        let schema = tx.view().schema(number).cloned().expect("it is there");
        assert!(schema.checks.is_empty());
        tx.add_check(number, "small", "n < 10")
            .expect("all meet it");
        assert!(tx.add_check(number, "odd", "nothing = 1").is_err());
        let mut things = tx.rows_of(number).expect("it is there");
        assert!(things.insert_values(&[10.into(), 10.into()]).is_err());
        things
            .insert_values(&[10.into(), Value::Null])
            .expect("a null is allowed");
    });
    world.check_redone();
    world.reopen(1);
    world.commit(|tx| {
        let mut things = tx.rows_of(number).expect("it is there");
        assert!(things.insert_values(&[11.into(), 11.into()]).is_err());
        tx.drop_check(number, "small").expect("it is dropped");
        let mut things = tx.rows_of(number).expect("it is there");
        things
            .insert_values(&[11.into(), 11.into()])
            .expect("nothing is in the way");
    });
}

#[test]
fn a_transaction_shows_what_it_did() {
    let (mut world, number) = world(1);
    world.commit(|tx| {
        let mut things = tx.rows_of(number).expect("it is there");
        things
            .update(&[0.into()], &[("n", 7.into())])
            .expect("it is changed");
        let view = tx.view();
        let row = view.rows_of(number).and_then(|rows| rows.get(&[0.into()]));
        let row = row.expect("it is read").expect("it is there");
        assert_eq!(row.to_values().expect("it is read")[1], Value::Int(7));
    });
}

#[test]
fn a_snapshot_is_scanned_in_portions() {
    const ROWS: i32 = 3000;
    let (mut world, number) = world(ROWS);
    let snapshot = world.space.snapshot().expect("it is taken");
    let rows = snapshot.rows_of(number).expect("it is there");
    assert_eq!(rows.number(), number);
    assert!(snapshot.rows_of(99).is_err());
    let ids = |place: ScanPlace, most: usize| {
        let mut scan = rows.scan_from(place);
        let mut ids = Vec::new();
        for row in scan.by_ref().take(most) {
            ids.push(row.expect("it is read").to_values().expect("it is read")[0].clone());
        }
        (ids, scan.place())
    };
    let (whole, _) = ids(ScanPlace::default(), usize::MAX);
    assert_eq!(whole.len(), ROWS as usize);
    for most in [1, 7, 1000, 2999, 3000, 5000] {
        let (mut place, mut found) = (ScanPlace::default(), Vec::new());
        loop {
            let (ids, next) = ids(place, most);
            if ids.is_empty() {
                break;
            }
            found.extend(ids);
            place = next;
        }
        assert_eq!(found, whole, "{most} at a time");
    }
}

#[test]
fn a_condition_in_sql_lets_no_row_in_where_no_sql_is_spoken() {
    let (mut world, number) = world(0);
    world.commit(|tx| {
        tx.add_check(number, "even", "$sql 1:23:-1:\"n\" => n % 2 = 0")
            .expect("no row is there that is to be tested");
        for wrong in [
            "$sql 1:23:-1:n => n > 1",
            "$sql 7:23:-1:\"n\" => n > 1",
            "$sql ",
        ] {
            assert!(tx.add_check(number, "wrong", wrong).is_err(), "{wrong}");
        }
    });
    world.check_redone();
    world.reopen(1);
    world.commit(|tx| {
        let mut things = tx.rows_of(number).expect("it is there");
        let refused = in_detail(things.insert_values(&[2.into(), 2.into()]));
        let error = refused.expect_err("nothing tests the row");
        assert!(
            matches!(&error, TableError::Row(row) if matches!(**row, RowError::Untested { .. })),
            "{error}"
        );
        assert!(error.to_string().contains("sardonyx_sql"), "{error}");
        assert_eq!(things.count().expect("counted"), 0);
        // Its columns are known.
        let dropped = tx.drop_column("things", "n");
        let error = dropped.expect_err("a condition names it").to_string();
        assert!(error.contains("condition \"even\" names it"), "{error}");
        tx.rename_column("things", "n", "m").expect("it is renamed");
        tx.drop_check(number, "even").expect("it is dropped");
        let mut things = tx.rows_of(number).expect("it is there");
        things
            .insert_values(&[1.into(), 1.into()])
            .expect("nothing is to be tested");
        let added = tx.add_check(number, "even", "$sql 1:23:-1:\"m\" => m % 2 = 0");
        assert!(added.is_err(), "a row cannot be tested");
    });
    world.check_redone();
}

#[test]
fn rows_that_are_not_wanted_go() {
    const ROWS: i32 = 1000;
    let (mut world, number) = world(ROWS);
    world.commit(|tx| {
        let mut things = tx.rows_of(number).expect("it is there");
        let deleted = things.retain(|row| Ok(row.value_of("n")? != ValueRef::Int(3)));
        assert_eq!(deleted.expect("they are deleted"), 1);
        // Whole pages, and the last row.
        let deleted = things.retain(|row| match row.value_of("n")? {
            ValueRef::Int(n) => Ok(n % 7 == 0 && n < 500),
            _ => Ok(true),
        });
        assert_eq!(deleted.expect("they are deleted"), 999 - 72);
        assert_eq!(things.count().expect("counted"), 72);
        let ids = things.scan().map(|row| row.and_then(|row| row.to_values()));
        let ids: Result<Vec<_>, _> = ids.collect();
        let ids = ids
            .expect("they are read")
            .into_iter()
            .map(|row| row[0].clone());
        let expected = (0..500).step_by(7).map(|n| Value::Int(n.into()));
        assert!(ids.eq(expected));
        let refused = things.retain(|_| Err(Error::other("enough")));
        assert!(refused.is_err());
        assert_eq!(things.count().expect("counted"), 72);
    });
    world.check_redone();
}
