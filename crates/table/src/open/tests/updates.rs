//! An update of a row by its key, as SQL makes it: the key is looked up once.

use super::begun;
use crate::open::OpenRows;
use crate::open::keys::looked_up;
use sardonyx_rows::schema::Value;
use sardonyx_rows::{ReadRows, RowWriter};

/// The keys of the snapshot that are looked up while a row is updated.
fn looks(open: &mut OpenRows, items: u16, id: i64, kind: i64) -> usize {
    let kind = Value::from(kind);
    let mut change = RowWriter::new(3);
    change.set(2, kind.as_ref());
    let before = looked_up::KEYS.get();
    let done = open.update_with_key(items, &[id.into()], &change);
    assert!(done.expect("updated"));
    looked_up::KEYS.get() - before
}

#[test]
fn an_update_by_key_looks_its_row_up_once() {
    let (_space, mut open, [items, _]) = begun(20);
    for id in 0..20 {
        // SQL reads the row before.
        let there = open.get_row(items, &[id.into()]);
        assert!(there.expect("read").is_some());
        // Nothing changes, so no constraint is checked.
        assert_eq!(looks(&mut open, items, id, id), 1);
        looks(&mut open, items, id, 100 + id);
        // It is one of the transaction's own rows.
        assert_eq!(looks(&mut open, items, id, 100 + id), 0);
    }
    let gone = open.update_with_key(items, &[999.into()], &RowWriter::new(3));
    assert!(!gone.expect("there is no such row"));
}
