//! No verb of a program stores a text with a zero byte: PostgreSQL has none, and its clients would read a shorter text.

use sardonyx::rows::{RowWriter, Rows, WriteRows};
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Error, Record, Tables};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "people", key = id)]
struct Person {
    id: i64,
    name: String,
    picture: Vec<u8>,
}

fn person(id: i64, name: &str) -> Person {
    Person {
        id,
        name: name.to_string(),
        picture: vec![1, 0, 2],
    }
}

#[track_caller]
fn check<T: std::fmt::Debug>(done: Result<T, Error>) {
    let error = done.expect_err("it is refused");
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("zero byte"), "{error}");
}

/// The verbs by names and by numbers.
fn check_rows<S: WriteRows>(mut rows: Rows<S>) {
    let row = |name: Value| {
        [
            ("id", 7.into()),
            ("name", name),
            ("picture", Value::Bytes(vec![0])),
        ]
    };
    for name in [Value::from("a\0b"), Value::Bytes(b"a\0".to_vec())] {
        check(rows.insert(&row(name.clone())));
        check(rows.put(&row(name.clone())));
        check(rows.insert_values(&[7.into(), name.clone(), Value::Bytes(vec![0])]));
        check(rows.update(&[1.into()], &[("name", name.clone())]));
        let columns = [(0, Value::from(7)), (1, name), (2, Value::Bytes(vec![0]))];
        let columns: Vec<_> = columns
            .iter()
            .map(|(at, value)| (*at, value.as_ref()))
            .collect();
        let numbered = RowWriter::of(&columns);
        check(rows.insert_row(&numbered));
        check(rows.put_row(&numbered));
        check(rows.update_row(&[1.into()], &RowWriter::of(&columns[1..2])));
    }
    rows.put(&row(Value::from("Ada")))
        .expect("it has no zero byte");
}

#[test]
fn no_verb_stores_a_text_with_a_zero_byte() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::open(directory.path()).unwrap();
    let people = tables.table::<Person>().unwrap();
    tables
        .run(|tx| tx.insert(people, &person(1, "Ada")))
        .unwrap();
    let update = |person: &mut Person| person.name.push('\0');
    tables
        .run(|tx| {
            check(tx.insert(people, &person(2, "\0")));
            check(tx.put(people, &person(1, "a\0")));
            check(tx.update(people, 1, update));
            check_rows(tx.rows("people")?);
            Ok::<_, Error>(())
        })
        .unwrap();
    let mut tx = tables.begin().unwrap();
    check(tx.insert(people, &person(2, "\0")));
    check(tx.put(people, &person(1, "a\0")));
    check(tx.update(people, 1, update));
    check_rows(tx.rows("people").unwrap());
    tx.commit().unwrap();
    let mut tx = tables.begin().unwrap();
    assert_eq!(tx.get(people, 1).unwrap(), Some(person(1, "Ada")));
    assert_eq!(tx.rows("people").unwrap().count().unwrap(), 2);
    drop(tx);
    // Bytes may have it, also in a table made at run time.
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("data", Type::Bytes);
    tables
        .create_table("blobs", schema.primary_key(["id"]))
        .unwrap();
    let blob = [
        ("id", Value::from(1)),
        ("data", Value::Bytes(b"a\0b".to_vec())),
    ];
    tables.run(|tx| tx.rows("blobs")?.insert(&blob)).unwrap();
}
