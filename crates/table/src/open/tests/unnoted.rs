//! Reads that an open transaction does not note: they keep no bytes, and the same reads with notes are compared at its end.

use super::{begun, item};
use sardonyx_rows::schema::Value;
use sardonyx_rows::{ReadRows, WriteRows};
use sardonyx_storage::log::seal::GroupBuilder;

#[test]
fn reads_that_are_not_noted_keep_no_bytes() {
    let (_space, open, [items, _]) = begun(3);
    open.get_row(items, &[Value::Int(1)]).expect("read");
    let before = open.bytes.get();
    let read = |key: i128| {
        let found = open.get_row(items, &[Value::Int(key)]).expect("read");
        assert!(found.is_some(), "{key}");
    };
    open.unnoted(&mut || read(2));
    assert_eq!(open.bytes.get(), before);
    read(2);
    assert!(open.bytes.get() > before);
}

#[test]
fn rows_that_were_walked_without_notes_are_noted_when_they_are_walked_again() {
    let (mut space, open, [items, _]) = begun(3);
    let walk = || {
        let (mut place, mut found) = (None, 0);
        while let Some(behind) = open.row_behind(items, place).expect("read") {
            place = Some(behind);
            found += 1;
        }
        assert_eq!(found, 3);
    };
    open.unnoted(&mut || walk());
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut tx = space.begin(&mut log);
    let mut rows = tx.rows("items").expect("a table");
    rows.insert(&item(7)).expect("inserted");
    open.compared(&tx, &[]).expect("nothing was noted");
    walk();
    let phantom = open.compared(&tx, &[]).expect_err("it has read all rows");
    assert!(phantom.is_conflict(), "{phantom}");
}
