//! Open transactions that create, change, rename, empty and drop tables: what they see, what is undone, and what the stage
//! makes of it at their end.

use crate::support::{STORE_BYTES, World};
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sardonyx_rows::{DefineRows, ReadRow, ReadRows, Rows};
use sardonyx_table::{LeftRows, OpenRows};

/// A database with a table of items.
struct Shop {
    world: World,
}

fn items() -> impl sardonyx_rows::schema::IntoSchema {
    Schema::new()
        .column("id", Type::I64)
        .column("amount", Type::I64)
        .primary_key(["id"])
        .ordered()
        .index("by_amount", ["amount"])
        .ordered()
}

fn parts() -> impl sardonyx_rows::schema::IntoSchema {
    Schema::new()
        .column("id", Type::I64)
        .column("item", Type::I64)
        .column("code", Type::Text)
        .nullable()
        .primary_key(["id"])
        .index("by_item", ["item"])
        .ordered()
        .index("by_code", ["code"])
        .unique()
        .foreign_key("item_fkey", ["item"], "items", ["id"])
}

impl Shop {
    fn new(rows: i64) -> Shop {
        let mut world = World::with_memory(STORE_BYTES);
        world.commit(|tx| {
            tx.create_table("items", items()).expect("created");
            let mut table = tx.rows("items").expect("a table");
            for id in 0..rows {
                table
                    .insert(&[("id", id.into()), ("amount", (id % 3).into())])
                    .expect("inserted");
            }
        });
        Shop { world }
    }

    fn begin(&mut self) -> OpenRows {
        OpenRows::begin(self.world.space.snapshot().expect("a snapshot"))
    }

    fn install(&mut self, open: OpenRows) -> Result<(), Error> {
        let mut tx = self.world.space.begin(&mut self.world.log);
        let mut left = LeftRows::default();
        let done = open.install(&mut tx, &mut left);
        match done.is_ok() {
            true => drop(tx.commit()),
            false => tx.abort(),
        }
        self.world.redo();
        self.world.check_redone();
        done
    }

    /// All rows of a table by its name, in the order of an index.
    fn all(&mut self, table: &str, index: &str) -> Vec<String> {
        let snapshot = self.world.space.snapshot().expect("a snapshot");
        in_order(&mut OpenRows::begin(snapshot), table, index)
    }
}

fn insert(open: &mut OpenRows, table: &str, values: &[(&str, Value)]) -> Result<(), Error> {
    Rows::named(open, table)?.insert(values)
}

fn in_order(open: &mut OpenRows, table: &str, index: &str) -> Vec<String> {
    let rows = Rows::named(open, table).expect("a table");
    let columns = rows.schema().columns.len();
    let index = rows.index(index).expect("an index");
    let shown = index.all().expect("walked").map(|row| {
        let row = row.expect("a row");
        let values =
            (0..columns).map(|column| format!("{:?}", row.value_at(column).expect("a value")));
        values.collect::<Vec<_>>().join(" ")
    });
    shown.collect()
}

fn index(name: &str, column: usize, unique: bool) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        key: vec![KeyPart {
            column,
            descending: false,
        }],
        kind: IndexKind::Ordered,
        unique,
        deferrable: false,
        nulls_equal: false,
    }
}

fn names(open: &OpenRows) -> Vec<String> {
    open.snapshot()
        .definitions()
        .iter()
        .map(|there| there.name.clone())
        .collect()
}

/// Creates a table that refers to another one, with rows.
fn create_parts(open: &mut OpenRows) {
    open.create_table("parts", parts()).expect("created");
    for (id, item, code) in [(1, 2, "b"), (2, 2, "a"), (3, 0, "c")] {
        let row = [
            ("id", id.into()),
            ("item", item.into()),
            ("code", Value::Text(code.into())),
        ];
        insert(open, "parts", &row).expect("inserted");
    }
}

#[test]
fn created_tables_are_installed_with_their_rows_and_indexes() {
    let mut shop = Shop::new(4);
    let mut open = shop.begin();
    create_parts(&mut open);
    let row = |id: i64, item: i64, code: &str| {
        [
            ("id", id.into()),
            ("item", item.into()),
            ("code", Value::Text(code.into())),
        ]
    };
    assert!(matches!(
        insert(&mut open, "parts", &row(4, 9, "d")),
        Err(Error::Refused(_))
    ));
    assert!(matches!(
        insert(&mut open, "parts", &row(4, 1, "a")),
        Err(Error::Duplicate(_))
    ));
    assert!(matches!(
        insert(&mut open, "parts", &row(1, 1, "d")),
        Err(Error::Duplicate(_))
    ));
    assert!(matches!(open.drop_table("items"), Err(Error::Refused(_))));
    let deleted = Rows::named(&mut open, "items")
        .expect("a table")
        .delete(&[Value::Int(2)]);
    assert!(matches!(deleted, Err(Error::Refused(_))));
    let codes = [
        "Int(2) Int(2) Text(\"a\")",
        "Int(1) Int(2) Text(\"b\")",
        "Int(3) Int(0) Text(\"c\")",
    ];
    assert_eq!(in_order(&mut open, "parts", "by_code"), codes);
    // A change of others that it did not read is no conflict.
    shop.world.commit(|tx| {
        let mut items = tx.rows("items").expect("a table");
        items
            .update(&[Value::Int(3)], &[("amount", 77.into())])
            .expect("updated");
    });
    assert!(
        shop.world
            .space
            .snapshot()
            .expect("a snapshot")
            .rows("parts")
            .is_err()
    );
    shop.install(open).expect("installed");
    assert_eq!(shop.all("parts", "by_code"), codes);
    shop.world.reopen(1);
    assert_eq!(shop.all("parts", "by_code"), codes);
    let refused = shop
        .world
        .commit(|tx| tx.rows("items").expect("a table").delete(&[Value::Int(2)]));
    assert!(matches!(refused, Err(Error::Refused(_))));
}

#[test]
fn another_catalogue_or_a_changed_table_of_others_is_a_conflict() {
    let conflicts = |change: &dyn Fn(&mut OpenRows), other: &dyn Fn(&mut Shop)| {
        let mut shop = Shop::new(4);
        let mut open = shop.begin();
        change(&mut open);
        other(&mut shop);
        match shop.install(open) {
            Ok(()) => None,
            Err(Error::Conflict(conflict)) => Some(conflict.to_string()),
            Err(error) => panic!("{error}"),
        }
    };
    let nothing = |_: &mut Shop| {};
    let define = |shop: &mut Shop| {
        let created = shop.world.commit(|tx| tx.create_table("others", items()));
        created.expect("created");
    };
    let delete = |shop: &mut Shop| {
        let deleted = shop
            .world
            .commit(|tx| tx.rows("items").expect("a table").delete(&[Value::Int(2)]));
        deleted.expect("deleted");
    };
    assert_eq!(conflicts(&create_parts, &nothing), None);
    let conflict = conflicts(&create_parts, &define).expect("the catalogue is another one");
    assert!(conflict.contains("others"), "{conflict}");
    let conflict = conflicts(&create_parts, &delete).expect("a row to which it refers is deleted");
    assert!(conflict.contains("items"), "{conflict}");
    let changes: [&dyn Fn(&mut OpenRows); 4] = [
        &|open| open.drop_table("items").expect("dropped"),
        &|open| open.truncate("items").expect("emptied"),
        &|open| open.rename_table("items", "goods").expect("renamed"),
        &|open| {
            let column = ("note", Type::Text);
            open.add_column("items", column.0, column.1, true, Value::Null)
                .expect("added");
        },
    ];
    for change in changes {
        let conflict = conflicts(change, &nothing).expect("a table of others has changed");
        assert!(conflict.contains("items"), "{conflict}");
    }
    // All of it undone is nothing.
    let undone = |open: &mut OpenRows| {
        let mark = open.savepoint();
        create_parts(open);
        open.drop_table("parts").expect("dropped");
        open.drop_table("items").expect("dropped");
        open.rollback_to(mark).expect("undone");
        assert!(!open.has_definitions() && !open.has_changes());
    };
    assert_eq!(conflicts(&undone, &define), None);
}

#[test]
fn marks_take_back_definitions_with_their_rows() {
    let mut shop = Shop::new(6);
    let mut open = shop.begin();
    create_parts(&mut open);
    let state = |open: &mut OpenRows| {
        let items = [
            in_order(open, "items", "primary"),
            in_order(open, "items", "by_amount"),
        ];
        let parts = [
            in_order(open, "parts", "by_item"),
            in_order(open, "parts", "by_code"),
        ];
        (items, parts, names(open))
    };
    let before = state(&mut open);
    let mark = open.savepoint();
    let (items, parts) = (
        0,
        Rows::named(&mut open, "parts").expect("a table").number(),
    );
    open.create_index(items, index("unique_amount", 1, true))
        .expect_err("amounts are equal");
    assert_eq!(state(&mut open), before);
    let changes: [&dyn Fn(&mut OpenRows); 9] = [
        &|open| {
            open.create_index(items, index("more", 0, false))
                .expect("created")
        },
        &|open| {
            open.add_column(
                "items",
                "note",
                Type::Text,
                false,
                Value::Text("new".into()),
            )
            .expect("added")
        },
        &|open| {
            insert(
                open,
                "items",
                &[
                    ("id", 50.into()),
                    ("amount", 1.into()),
                    ("note", Value::Text("own".into())),
                ],
            )
            .expect("inserted")
        },
        &|open| {
            open.add_column("parts", "count", Type::I64, false, 7.into())
                .expect("added")
        },
        &|open| {
            insert(
                open,
                "parts",
                &[("id", 9.into()), ("item", 50.into()), ("count", 3.into())],
            )
            .expect("inserted")
        },
        &|open| DefineRows::allow_nulls(open, "parts", "count").expect("changed"),
        &|open| DefineRows::drop_index(open, parts, "by_item").expect("dropped"),
        &|open| open.rename_table("parts", "pieces").expect("renamed"),
        &|open| open.drop_table("pieces").expect("dropped"),
    ];
    for (count, change) in changes.iter().enumerate() {
        change(&mut open);
        if count == 4 {
            assert_eq!(in_order(&mut open, "items", "more").len(), 7);
            assert_eq!(open.count_rows(items).expect("counted"), 7);
            let items = in_order(&mut open, "items", "primary");
            assert_eq!(items[0], "Int(0) Int(0) Text(\"new\")");
            assert_eq!(items[6], "Int(50) Int(1) Text(\"own\")");
            let parts = in_order(&mut open, "parts", "by_item");
            assert_eq!(parts[0], "Int(3) Int(0) Text(\"c\") Int(7)");
            assert_eq!(parts[3], "Int(9) Int(50) Null Int(3)");
        }
    }
    let bytes = open.bytes();
    open.rollback_to(mark).expect("undone");
    assert_eq!(state(&mut open), before);
    assert!(open.bytes() < bytes);
    open.release(mark).expect("released");
    // The changed table of others is as it was.
    shop.install(open).expect("installed");
    assert_eq!(shop.all("parts", "by_code"), before.1[1]);
}

#[test]
fn a_table_of_others_is_copied_within_the_transactions_memory() {
    let mut shop = Shop::new(10_001);
    let mut open = shop.begin();
    open.create_index(0, index("more", 0, false))
        .expect("copied");
    assert_eq!(in_order(&mut open, "items", "more").len(), 10_001);
    let mut open = shop.begin().with_bytes_max(1 << 20);
    open.add_column("items", "note", Type::Text, true, Value::Null)
        .expect("no row is copied");
    assert_eq!(open.refused_definition(), None);
    let refused = open.create_index(0, index("more", 0, false));
    assert!(matches!(refused, Err(Error::Limit(_))), "{refused:?}");
    assert_eq!(open.refused_definition(), Some(10_001));
    assert_eq!(open.count_rows(0).expect("as it was"), 10_001);
    assert!(open.bytes() < 1 << 16);
}

/// Rows that are undone leave nothing that has the indexes of another schema.
#[test]
fn rows_come_after_an_index_came_or_went_and_rows_were_undone() {
    let row = |id: i64, amount: i64| [("id", id.into()), ("amount", amount.into())];
    let by = |open: &mut OpenRows, name: &str| in_order(open, "items", name).len();
    // An index comes back with the schema, behind rows that were there without it.
    let mut shop = Shop::new(4);
    let mut open = shop.begin();
    let mark = open.savepoint();
    DefineRows::drop_index(&mut open, 0, "by_amount").expect("dropped");
    insert(&mut open, "items", &row(10, 1)).expect("inserted");
    open.rollback_to(mark).expect("undone");
    insert(&mut open, "items", &row(11, 4)).expect("inserted");
    assert_eq!(by(&mut open, "by_amount"), 5);
    open.release(mark).expect("released");
    shop.install(open).expect("installed");
    assert_eq!(shop.all("items", "by_amount")[4], "Int(11) Int(4)");
    // Another index of the same key, of which no row is copied, comes behind rows that were undone.
    let mut open = shop.begin();
    let mark = open.savepoint();
    insert(&mut open, "items", &row(12, 1)).expect("inserted");
    open.rollback_to(mark).expect("undone");
    open.create_index(0, index("again", 1, false))
        .expect("created");
    insert(&mut open, "items", &row(13, 5)).expect("inserted");
    assert_eq!([by(&mut open, "by_amount"), by(&mut open, "again")], [6, 6]);
}

/// A table that the transaction created and dropped again takes no number from the others.
#[test]
fn tables_are_created_behind_one_that_was_dropped_again() {
    let mut shop = Shop::new(2);
    let mut open = shop.begin();
    for name in ["first", "second", "third", "fourth"] {
        open.create_table(name, items()).expect("created");
    }
    open.drop_table("first").expect("dropped");
    open.drop_table("third").expect("dropped");
    for name in ["second", "fourth"] {
        let row = [("id", 7.into()), ("amount", 8.into())];
        insert(&mut open, name, &row).expect("inserted");
    }
    shop.install(open).expect("installed");
    assert_eq!(shop.all("second", "by_amount"), ["Int(7) Int(8)"]);
    assert_eq!(shop.all("fourth", "primary"), ["Int(7) Int(8)"]);
    let definitions = shop.world.space.definitions().iter();
    let kept: Vec<&str> = definitions
        .filter(|there| there.kind != sardonyx_storage::catalogue::Kind::Dropped)
        .map(|there| &*there.name)
        .collect();
    assert!(!kept.iter().any(|name| name.contains("passed")), "{kept:?}");
    assert!(!kept.contains(&"first"), "{kept:?}");
    shop.world.reopen(2);
    assert_eq!(shop.all("fourth", "by_amount"), ["Int(7) Int(8)"]);
}

/// Catalogues that are kept to go back to are counted, and bounded.
#[test]
fn definitions_that_can_be_undone_take_memory_of_the_bound() {
    let mut shop = Shop::new(2);
    let mut open = shop.begin().with_bytes_max(64 << 10);
    open.create_table("made", items()).expect("created");
    let before = open.bytes();
    let mark = open.savepoint();
    let names = ["made", "other"];
    let refused = (0..10_000).find_map(|count: usize| {
        let renamed = open.rename_table(names[count % 2], names[(count + 1) % 2]);
        renamed.err()
    });
    let error = refused.expect("the bound is reached");
    assert!(matches!(error, Error::Limit(_)), "{error}");
    open.rollback_to(mark).expect("undone");
    assert_eq!(open.bytes(), before);
    open.release(mark).expect("released");
    // Without a mark none is kept.
    for count in 0..1000 {
        open.rename_table(names[count % 2], names[(count + 1) % 2])
            .expect("renamed");
    }
    shop.install(open).expect("installed");
}
