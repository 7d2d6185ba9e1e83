//! Values of another type than their column: converted where nothing is lost, else refused with table, column and value.

use super::{declare, refused};
use crate::support::{World, in_detail};
use sardonyx_rows::schema::{VALUE_BYTES_MAX, Value, ValueRef};
use sardonyx_rows::{RowError, TableError};

#[test]
fn values_that_do_not_fit_are_refused_with_table_column_and_value() {
    let mut world = World::with_memory(1 << 30);
    declare(&mut world);
    world.commit(|tx| {
        tx.rows("things")
            .expect("things")
            .insert(&[("id", 1.into())])
            .expect("insert");
    });
    let before = world.space.pages().to_vec();
    let cases: Vec<(&str, Value, &str)> = vec![
        ("f", 300.into(), "out of range"),
        ("f", (-1).into(), "out of range"),
        ("a", 128.into(), "out of range"),
        ("k", Value::Float(1e300), "out of range"),
        ("k", (16_777_217).into(), "out of range"),
        ("l", ((1i64 << 53) + 1).into(), "out of range"),
        ("m", Value::Decimal(1, 3), "out of range"),
        ("o", Value::Time(86_400_000_000), "out of range"),
        ("r", vec![0u8; 19].into(), "out of range"),
        ("c", "one".into(), "is of type i32"),
        ("text", 1.into(), "is of type text"),
        ("text", vec![b'a', 0xff].into(), "not UTF-8 at byte 1"),
        ("bytes", vec![0u8; VALUE_BYTES_MAX + 1].into(), "too long"),
        ("note", Value::Null, "may not be null"),
        ("id", Value::Null, "may not be null"),
        (
            "absent",
            1.into(),
            "has no column \"absent\"; it has id, flag,",
        ),
    ];
    for (column, value, expected) in cases {
        let mut tx = world.space.begin(&mut world.log);
        let mut rows = tx.rows("things").expect("things");
        let changes = [("e", 5.into()), (column, value)];
        let (_, text) = refused(rows.update(&[1.into()], &changes));
        assert!(
            text.contains(expected) && text.contains("\"things\""),
            "{text}"
        );
        assert!(text.contains(&format!("{column:?}")), "{text}");
        tx.commit();
        assert!(world.space.pages() == before, "{text}");
    }
    let mut tx = world.space.begin(&mut world.log);
    let mut rows = tx.rows("things").expect("things");
    let (error, _) = refused(rows.get(&[]).map(drop));
    assert!(matches!(
        error,
        RowError::Count {
            wanted: 1,
            given: 0,
            ..
        }
    ));
    let (error, _) = refused(rows.get(&["x".into()]).map(drop));
    assert!(matches!(error, RowError::WrongType { .. }));
    let (error, _) = refused(rows.insert(&[("flag", true.into())]));
    assert!(matches!(error, RowError::Missing { .. }));
    let (error, _) = refused(rows.insert(&[("id", 1.into()), ("id", 2.into())]));
    assert!(matches!(error, RowError::Twice { .. }));
    let (error, _) = refused(rows.insert_values(&[1.into()]));
    assert!(matches!(
        error,
        RowError::Count {
            wanted: 26,
            given: 1,
            ..
        }
    ));
    let changed = in_detail(rows.update(&[1.into()], &[("id", 2.into())]));
    assert!(
        matches!(changed, Err(TableError::KeyChanged { .. })),
        "{changed:?}"
    );
    assert!(
        rows.update(&[1.into()], &[("id", 1.into())])
            .expect("the same")
    );
    let (error, _) = refused(tx.rows("nothing").map(drop));
    assert!(matches!(error, RowError::UnknownTable { .. }));
}

#[test]
fn numbers_are_converted_where_nothing_is_lost() {
    let mut world = World::with_memory(1 << 30);
    declare(&mut world);
    world.commit(|tx| {
        let mut rows = tx.rows("things").expect("things");
        let values = [
            ("id", 1.into()),
            ("l", 3.into()),
            ("m", 3.into()),
            ("j", 7.into()),
        ];
        rows.insert(&values).expect("insert");
        rows.update(
            &[1.into()],
            &[("k", 0.1.into()), ("text", b"bytes".to_vec().into())],
        )
        .expect("update");
    });
    let view = world.space.view();
    let row = view
        .rows("things")
        .expect("things")
        .get(&[1.into()])
        .expect("get")
        .expect("a row");
    let get = |column| row.get(column).expect("a value");
    assert_eq!(get("l"), ValueRef::Float(3.0));
    assert_eq!(get("m"), ValueRef::Decimal(300, 2));
    assert_eq!(get("j"), ValueRef::U128(7));
    assert_eq!(get("k"), ValueRef::Float(f64::from(0.1f32)));
    assert_eq!(get("text"), ValueRef::Text("bytes"));
}
