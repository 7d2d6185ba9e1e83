//! The next content of a table: before it is taken over nothing of it is in the table, now or after a crash; afterwards it
//! is the table.

use crate::support::{STORE_BYTES, World, hash, in_detail, store_of};
use sardonyx_base::error::Error;
use sardonyx_rows::define::DefineRows;
use sardonyx_rows::read::{ReadRow, ReadRows};
use sardonyx_rows::schema::{IntoSchema, Schema, Type, Value, ValueRef};
use sardonyx_rows::{RowWriter, Rows, TableError};
use sardonyx_table::{Beside, TableSpace, Transaction};
use std::collections::BTreeMap;

pub type Content = BTreeMap<i64, (i64, String)>;

const ITEMS: &str = "items";

pub fn long(text: &str, n: i64) -> String {
    format!("{text}, which is too long to stand in its row: {n}")
}

fn schema(is_ordered: bool) -> impl IntoSchema {
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("amount", Type::I64)
        .column("name", Type::Text)
        .primary_key(["id"]);
    let schema = match is_ordered {
        true => schema.ordered(),
        false => schema,
    };
    let schema = schema.index("by_amount", ["amount"]).ordered();
    let schema = schema.index("by_name", ["name"]).ordered().unique();
    schema.check("not_negative", "amount >= 0")
}

pub fn row<'v>(id: i64, amount: i64, name: &'v str) -> RowWriter<'v> {
    let mut row = RowWriter::new(3);
    row.set(0, ValueRef::Int(id.into()));
    row.set(1, ValueRef::Int(amount.into()));
    row.set(2, ValueRef::Text(name));
    row
}

fn insert(tx: &mut Transaction<'_>, table: u16, id: i64, amount: i64, name: &str) {
    let mut rows = Rows::numbered(&mut *tx, table).expect("it is there");
    rows.insert_row(&row(id, amount, name)).expect("inserted");
}

pub fn stock(is_ordered: bool) -> (World, u16, Content) {
    let mut world = World::with_memory(STORE_BYTES);
    let table = world.commit(|tx| {
        let table = tx.create_table(ITEMS, schema(is_ordered)).expect("created");
        // For free extents, and another table's pages.
        let other = tx
            .create_table("other", schema(is_ordered))
            .expect("created");
        for id in 0..300 {
            insert(tx, other, id, id, &long("another", id));
        }
        table
    });
    world.commit(|tx| tx.drop_table("other").expect("dropped"));
    let mut content = Content::new();
    world.commit(|tx| {
        for id in 0..40 {
            let name = long("an item", id);
            insert(tx, table, id, id % 7, &name);
            content.insert(id, (id % 7, name));
        }
    });
    (world, table, content)
}

fn next_of(content: &Content) -> Content {
    let kept = content.iter().filter(|(id, _)| *id % 3 != 0);
    kept.map(|(id, (amount, name))| (id + 1000, (amount + 1, format!("{name}, changed"))))
        .collect()
}

/// Compares everything that can be seen of the table, by scans and indexes.
fn check(space: &TableSpace, table: u16, content: &Content) {
    let view = space.view();
    let rows = Rows::numbered(view, table).expect("it is there");
    assert_eq!(rows.count().expect("counted"), content.len() as u64);
    let read = |row: &dyn ReadRow| {
        let int = |column| match row.value_at(column).expect("read") {
            ValueRef::Int(value) => value as i64,
            other => panic!("a number: {other:?}"),
        };
        let name = match row.value_at(2).expect("read") {
            ValueRef::Text(name) => name.to_string(),
            other => panic!("a text: {other:?}"),
        };
        (int(0), (int(1), name))
    };
    let mut found = Content::new();
    for row in rows.scan() {
        let (id, rest) = read(&row.expect("a row"));
        assert!(found.insert(id, rest).is_none());
    }
    assert_eq!(found, *content);
    for index in ["by_amount", "by_name"] {
        let index = view.row_index(table, index).expect("it is there");
        let range: Vec<_> = index
            .range::<&Vec<Value>>(..)
            .expect("a range")
            .map(|row| read(&row.expect("a row")))
            .collect();
        assert_eq!(range.len(), content.len());
        assert_eq!(range.into_iter().collect::<Content>(), *content);
    }
    for (id, there) in content {
        let found = rows.get(&[Value::Int((*id).into())]).expect("found");
        assert_eq!(read(&found.expect("it is there")).1, *there);
    }
    assert!(rows.get(&[Value::Int(-1)]).expect("found").is_none());
}

/// The space that recovery opens from the redo records alone.
fn after_crash(world: &World) -> TableSpace {
    TableSpace::open_with(store_of(&world.redone), 1, hash())
        .expect("it opens")
        .0
}

fn fill(world: &mut World, table: u16, beside: &Beside, before: &Content, next: &Content) {
    for (number, (id, (amount, name))) in next.iter().enumerate() {
        // One that is undone leaves nothing.
        let mut tx = world.space.begin(&mut world.log);
        tx.insert_beside(beside, row(id + 5000, 1, "undone"))
            .expect("inserted");
        tx.abort();
        world.commit(|tx| {
            tx.insert_beside(beside, row(*id, *amount, name))
                .expect("inserted")
        });
        if number % 5 == 0 {
            check(&world.space, table, before);
            check(&after_crash(world), table, before);
        }
    }
    // One that comes and goes again.
    world.commit(|tx| {
        tx.insert_beside(beside, row(-5, 1, &long("a guest", 1)))
            .expect("inserted");
        let key = [ValueRef::Int(-5)];
        assert!(tx.delete_beside(beside, &key).expect("deleted"));
        assert!(!tx.delete_beside(beside, &key).expect("looked for"));
    });
}

#[test]
fn a_content_is_the_tables_once_it_is_taken_over_and_nothing_of_it_shows_before() {
    for is_ordered in [false, true] {
        let (mut world, table, before) = stock(is_ordered);
        let next = next_of(&before);
        let snapshot = world.space.snapshot().expect("a snapshot");
        let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
        fill(&mut world, table, &beside, &before, &next);
        // Taken over, and undone: the content has no owner.
        let mut tx = world.space.begin(&mut world.log);
        tx.insert_beside(&beside, row(-7, 1, "in the last call"))
            .expect("inserted");
        tx.take_over(beside).expect("taken over");
        insert(&mut tx, table, -8, 1, "behind it");
        tx.abort();
        check(&world.space, table, &before);
        let beside = world.commit(|tx| tx.begin_beside(table).expect("begun again"));
        fill(&mut world, table, &beside, &before, &next);
        world.commit(|tx| tx.take_over(beside).expect("taken over"));
        check(&world.space, table, &next);
        check(&after_crash(&world), table, &next);
        assert_eq!(
            Rows::numbered(&*snapshot, table)
                .expect("there")
                .count()
                .expect("counted"),
            before.len() as u64
        );
        let names = world
            .space
            .definitions()
            .iter()
            .map(|one| one.name.as_str());
        assert_eq!(
            names
                .filter(|name| name.starts_with("sardonyx.next"))
                .count(),
            0
        );
        // And it goes on being a table.
        let mut now = next.clone();
        world.commit(|tx| {
            for id in 1..90 {
                let name = long("later", id);
                insert(tx, table, id, 3, &name);
                now.insert(id, (3, name));
            }
            for id in [1001, 1004, 7] {
                let mut rows = Rows::numbered(&mut *tx, table).expect("it is there");
                assert!(rows.delete(&[Value::Int(id.into())]).expect("deleted"));
                now.remove(&id);
            }
        });
        check(&world.space, table, &now);
        check(&after_crash(&world), table, &now);
        world.reopen(2);
        check(&world.space, table, &now);
        world.commit(|tx| tx.truncate(ITEMS).expect("emptied"));
        check(&world.space, table, &Content::new());
        check(&after_crash(&world), table, &Content::new());
    }
}

/// A definition that no row of the table meets as it is.
fn define(tx: &mut Transaction<'_>, table: u16) -> Result<(), Error> {
    DefineRows::add_column(tx, ITEMS, "more", Type::I64, true, Value::Int(7))?;
    DefineRows::add_check(tx, table, "more_is_high", "more > 1000")
}

fn row_with_more(id: i64, amount: i64, name: &str) -> RowWriter<'_> {
    let mut row = RowWriter::new(4);
    row.set(0, ValueRef::Int(id.into()));
    row.set(1, ValueRef::Int(amount.into()));
    row.set(2, ValueRef::Text(name));
    row.set(3, ValueRef::Int((id + 2000).into()));
    row
}

fn check_more(space: &TableSpace, table: u16, content: &Content) {
    check(space, table, content);
    for row in Rows::numbered(space.view(), table).expect("there").scan() {
        let row = row.expect("a row");
        let (id, more) = (
            row.value_at(0).expect("read"),
            row.value_at(3).expect("read"),
        );
        let (ValueRef::Int(id), ValueRef::Int(more)) = (id, more) else {
            panic!("numbers: {id:?}, {more:?}");
        };
        assert_eq!(more, id + 2000);
    }
}

#[test]
fn a_content_of_another_schema_is_taken_over_with_its_definition_or_not_at_all() {
    for is_ordered in [false, true] {
        let (mut world, table, before) = stock(is_ordered);
        let next = next_of(&before);
        // With its rows, the table cannot be defined so.
        let mut tx = world.space.begin(&mut world.log);
        assert!(define(&mut tx, table).is_err());
        tx.abort();
        let begin = |world: &mut World| {
            world.commit(|tx| {
                let tried = tx.try_redefine(table, |tx| define(tx, table));
                let redefined = tried.expect("without its rows it can");
                assert_eq!(redefined.schema().columns.len(), 4);
                tx.begin_redefined(&redefined).expect("begun")
            })
        };
        let put = |world: &mut World, beside: &Beside| {
            for (id, (amount, name)) in &next {
                world.commit(|tx| {
                    let row = row_with_more(*id, *amount, name);
                    tx.insert_beside(beside, row).expect("inserted");
                });
                check(&world.space, table, &before);
            }
            check(&after_crash(world), table, &before);
        };
        let snapshot = world.space.snapshot().expect("a snapshot");
        // Undone after the table has taken it over, or since the definition fails: the table is as before.
        for fails in [false, true] {
            let beside = begin(&mut world);
            put(&mut world, &beside);
            let mut tx = world.space.begin(&mut world.log);
            let taken = tx.take_over_redefined(beside, |tx| match fails {
                false => define(tx, table),
                true => define(tx, table).and(Err(Error::Refused("it fails".into()))),
            });
            assert_eq!(taken.is_err(), fails);
            tx.abort();
            check(&world.space, table, &before);
            let columns = world
                .space
                .view()
                .schema(table)
                .expect("there")
                .columns
                .len();
            assert_eq!(columns, 3);
            world.reopen(1);
            check(&world.space, table, &before);
        }
        // Another definition than the one that was tried.
        let beside = begin(&mut world);
        let mut tx = world.space.begin(&mut world.log);
        let taken = tx.take_over_redefined(beside, |tx| {
            DefineRows::add_column(tx, ITEMS, "less", Type::I64, true, Value::Null)
        });
        assert!(matches!(taken, Err(Error::Conflict(_))), "{taken:?}");
        tx.abort();
        // A content of another schema is not taken over without its definition.
        let beside = begin(&mut world);
        let mut tx = world.space.begin(&mut world.log);
        assert!(is_conflict(tx.take_over(beside)));
        tx.abort();
        let beside = begin(&mut world);
        put(&mut world, &beside);
        world.commit(|tx| {
            let taken = tx.take_over_redefined(beside, |tx| define(tx, table));
            taken.expect("taken over");
        });
        check_more(&world.space, table, &next);
        check_more(&after_crash(&world), table, &next);
        drop(snapshot);
        world.reopen(2);
        check_more(&world.space, table, &next);
        // The new condition holds.
        world.commit(|tx| {
            let mut rows = Rows::numbered(&mut *tx, table).expect("it is there");
            assert!(rows.insert_row(&row(-1, 1, "with the default")).is_err());
            rows.insert_row(&row_with_more(-1, 1, "with its own"))
                .expect("inserted");
        });
    }
}

const MADE: &str = "made";

fn create(tx: &mut Transaction<'_>) -> Result<u16, Error> {
    tx.create_table(MADE, schema(true))
}

#[test]
fn a_content_is_the_table_that_a_definition_creates_or_nothing() {
    let (mut world, table, before) = stock(true);
    let next = next_of(&before);
    let begin = |world: &mut World| {
        world.commit(|tx| {
            let redefined = tx.try_create(create).expect("tried");
            tx.begin_redefined(&redefined).expect("begun")
        })
    };
    let put = |world: &mut World, beside: &Beside| {
        for (id, (amount, name)) in &next {
            world.commit(|tx| {
                tx.insert_beside(beside, row(*id, *amount, name))
                    .expect("inserted")
            });
        }
    };
    let is_absent = |space: &TableSpace| {
        check(space, table, &before);
        assert!(space.view().definitions().named(MADE).is_none());
    };
    // It fails, is undone, or creates another table: there is no such table then.
    for way in 0..3 {
        let beside = begin(&mut world);
        // Others take the numbers that were free meanwhile.
        world.commit(|tx| {
            let other = tx.create_table(&format!("other{way}"), schema(false));
            insert(tx, other.expect("created"), 1, 1, "another's");
        });
        put(&mut world, &beside);
        is_absent(&world.space);
        is_absent(&after_crash(&world));
        let number = beside.table();
        let mut tx = world.space.begin(&mut world.log);
        let taken = tx.take_over_redefined(beside, |tx| match way {
            0 => create(tx),
            1 => create(tx).and(Err(Error::Refused("it fails".into()))),
            _ => tx.create_table("less", schema(true)),
        });
        assert_eq!(taken.is_ok(), way == 0);
        tx.abort();
        is_absent(&world.space);
        // The abandoned content goes, and its number is free.
        world.commit(|tx| tx.forget_beside(number).expect("dropped"));
        assert!(!world.space.view().has_next_contents());
        world.reopen(1);
        is_absent(&world.space);
    }
    let beside = begin(&mut world);
    put(&mut world, &beside);
    let number = world.commit(|tx| {
        let taken = tx.take_over_redefined(beside, create);
        taken.expect("taken over")
    });
    check(&world.space, number, &next);
    check(&after_crash(&world), number, &next);
    world.reopen(2);
    check(&world.space, number, &next);
    check(&world.space, table, &before);
    assert!(!world.space.view().has_next_contents());
    // It is a table as others are.
    world.commit(|tx| {
        insert(tx, number, -7, 3, "one more");
        tx.truncate(MADE).expect("emptied");
        insert(tx, number, -8, 3, "the only one");
    });
    let only = Content::from([(-8, (3, "the only one".into()))]);
    check(&after_crash(&world), number, &only);
}

#[test]
fn a_table_that_is_defined_anew_meanwhile_keeps_that() {
    let (mut world, table, before) = stock(true);
    let redefined = world.commit(|tx| {
        let tried = tx.try_redefine(table, |tx| define(tx, table));
        tried.expect("tried")
    });
    world
        .commit(|tx| DefineRows::add_column(tx, ITEMS, "less", Type::I64, true, Value::Null))
        .expect("added");
    world.commit(|tx| assert!(is_conflict(tx.begin_redefined(&redefined))));
    check(&world.space, table, &before);
}

#[test]
fn what_a_crash_left_is_dropped_by_the_next_one() {
    let (mut world, table, before) = stock(true);
    let next = next_of(&before);
    let definitions = world.space.definitions().len();
    for _ in 0..3 {
        let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
        fill(&mut world, table, &beside, &before, &next);
        drop(beside);
        world.reopen(1);
        check(&world.space, table, &before);
        assert!(world.space.definitions().len() <= definitions + 1);
    }
    let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
    fill(&mut world, table, &beside, &before, &next);
    world.commit(|tx| tx.take_over(beside).expect("taken over"));
    check(&after_crash(&world), table, &next);
}

#[test]
fn an_abandoned_content_is_dropped_by_the_next_one_of_any_table() {
    let (mut world, table, before) = stock(true);
    let abandoned = world.commit(|tx| {
        let redefined = tx.try_create(create).expect("tried");
        let made = tx.begin_redefined(&redefined).expect("begun");
        let other = tx.begin_beside(table).expect("begun");
        [made, other]
    });
    let there = world.space.definitions().len();
    let number = abandoned[0].table();
    drop(abandoned);
    let again = world.commit(|tx| {
        let other = tx.create_table("third", schema(true)).expect("created");
        tx.begin_beside(other).expect("begun")
    });
    // The new table has a number of its own, and its content that of an abandoned one.
    assert_eq!(world.space.definitions().len(), there + 1);
    world.commit(|tx| assert!(tx.forget_beside(number).is_ok()));
    check(&world.space, table, &before);
    drop(again);
    world.commit(|tx| tx.forget_all_beside().expect("dropped"));
    assert!(!world.space.view().has_next_contents());
}

#[test]
fn what_a_crash_left_goes_with_its_table_and_when_it_is_asked_for() {
    for is_dropped in [false, true] {
        let (mut world, table, before) = stock(true);
        let next = next_of(&before);
        let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
        fill(&mut world, table, &beside, &before, &next);
        // It is made: it stays.
        world.commit(|tx| tx.forget_all_beside().expect("looked at"));
        assert!(world.space.view().has_next_contents());
        drop(beside);
        world.reopen(1);
        assert!(world.space.view().has_next_contents());
        let free = |world: &World| {
            world
                .space
                .definitions()
                .iter()
                .filter(|one| one.name.is_empty())
                .count()
        };
        let free_before = free(&world);
        let forget = |tx: &mut Transaction<'_>| match is_dropped {
            true => tx.drop_table(ITEMS).expect("dropped"),
            false => tx.forget_all_beside().expect("forgotten"),
        };
        // An abort leaves the content as it was.
        let mut tx = world.space.begin(&mut world.log);
        forget(&mut tx);
        tx.abort();
        assert!(world.space.view().has_next_contents());
        check(&world.space, table, &before);
        world.commit(forget);
        for space in [&world.space, &after_crash(&world)] {
            assert!(!space.view().has_next_contents());
            if !is_dropped {
                check(space, table, &before);
            }
        }
        assert_eq!(free(&world), free_before + 1 + usize::from(is_dropped));
    }
}

#[test]
fn a_table_that_is_dropped_while_its_next_content_is_made_takes_that_with_it() {
    let (mut world, table, before) = stock(true);
    let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
    fill(&mut world, table, &beside, &before, &next_of(&before));
    world.commit(|tx| tx.drop_table(ITEMS).expect("dropped"));
    assert!(!world.space.view().has_next_contents());
    let inserted = world.commit(|tx| tx.insert_beside(&beside, row(1, 1, "one")));
    assert!(is_conflict(inserted));
}

fn is_conflict<T: std::fmt::Debug>(said: Result<T, Error>) -> bool {
    matches!(in_detail(said), Err(TableError::Conflict { .. }))
}

#[test]
fn a_table_that_changed_otherwise_takes_nothing_over() {
    for changed in 0..4 {
        let (mut world, table, _) = stock(false);
        let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
        world.commit(|tx| {
            assert!(is_conflict(tx.begin_beside(table)), "one is being made");
            match changed {
                0 => tx.truncate(ITEMS).expect("emptied"),
                1 => tx.drop_table(ITEMS).expect("dropped"),
                2 => tx.drop_index(table, "by_amount").expect("dropped"),
                _ => tx
                    .add_column(ITEMS, "more", Type::I64, true, Value::Null)
                    .expect("added"),
            }
        });
        world.commit(|tx| {
            assert!(
                is_conflict(tx.insert_beside(&beside, row(1, 1, "one"))),
                "{changed}"
            );
            assert!(is_conflict(tx.take_over(beside)), "{changed}");
            tx.forget_beside(table).expect("forgotten");
        });
        let names = world
            .space
            .definitions()
            .iter()
            .map(|one| one.name.as_str());
        assert_eq!(
            names
                .filter(|name| name.starts_with("sardonyx.next"))
                .count(),
            0
        );
    }
}

#[test]
fn a_renamed_table_keeps_its_name_and_its_conditions_hold() {
    let (mut world, table, before) = stock(false);
    let beside = world.commit(|tx| tx.begin_beside(table).expect("begun"));
    world.commit(|tx| {
        let refused = tx.insert_beside(&beside, row(1, -1, "negative"));
        assert!(matches!(
            in_detail(refused),
            Err(TableError::Condition(_) | TableError::Row(_))
        ));
        for (id, (amount, name)) in &before {
            tx.insert_beside(&beside, row(*id, *amount, name))
                .expect("inserted");
        }
        let twice = tx.insert_beside(&beside, row(7, 1, "another name"));
        assert!(matches!(
            in_detail(twice),
            Err(TableError::DuplicateKey { .. })
        ));
        let same_name = tx.insert_beside(&beside, row(99, 1, &long("an item", 5)));
        assert!(matches!(
            in_detail(same_name),
            Err(TableError::DuplicateValue { .. })
        ));
        tx.rename_table(ITEMS, "things").expect("renamed");
    });
    world.commit(|tx| tx.take_over(beside).expect("taken over"));
    check(&world.space, table, &before);
    assert!(Rows::named(world.space.view(), "things").is_ok());
}
