//! Rows whose primary key refers to another table, as those of a table that extends another one: found by that key.

use super::{begun, item};
use sardonyx_base::waiting::{Interrupt, interruptible};
use sardonyx_rows::schema::{IntoSchema, OnDelete, Schema, Type, Value};
use sardonyx_storage::log::seal::GroupBuilder;
use std::sync::Arc;

const ROWS: i64 = 1000;

/// A schema whose rows go with the items that have their keys.
fn extends_items() -> impl IntoSchema {
    Schema::new()
        .column("id", Type::I64)
        .primary_key(["id"])
        .foreign_key("of_item", ["id"], "items", ["id"])
        .on_delete(OnDelete::Cascade)
}

#[test]
fn rows_that_refer_by_their_primary_key_are_not_searched_one_by_one() {
    let (mut space, _, _) = begun(0);
    let mut log = GroupBuilder::with_capacity(1 << 20);
    let mut tx = space.begin(&mut log);
    tx.create_table("extended", extends_items())
        .expect("created");
    for id in 0..ROWS {
        let mut rows = tx.rows("items").expect("a table");
        rows.insert(&item(id)).expect("inserted");
        let mut rows = tx.rows("extended").expect("a table");
        rows.insert(&[("id", Value::from(id))]).expect("inserted");
    }
    // A walk over the referring rows for each deleted one would pass this bound.
    let bounded = |work: &mut dyn FnMut()| {
        let interrupt = Arc::new(Interrupt::default());
        interrupt.set_rows_max(ROWS as u64 * 2);
        interruptible(&interrupt, None, work);
        assert!(
            !interrupt.take_rows_max(),
            "all rows were walked over again"
        );
    };
    bounded(&mut || {
        for id in 0..20 {
            let mut rows = tx.rows("items").expect("a table");
            assert!(rows.delete(&[Value::from(id)]).expect("deleted"));
        }
    });
    tx.commit();
    let mut open = super::OpenRows::begin(space.snapshot().expect("a snapshot"));
    bounded(&mut || {
        for id in 20..40 {
            let mut rows = open.rows("items").expect("a table");
            assert!(rows.delete(&[Value::from(id)]).expect("deleted"));
        }
    });
    for id in [0, 19, 20, 39, 40] {
        let mut rows = open.rows("extended").expect("a table");
        let row = rows.delete(&[Value::from(id)]).expect("read");
        assert_eq!(row, id == 40, "{id}");
    }
}
