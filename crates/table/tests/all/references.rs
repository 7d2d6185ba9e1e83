//! References between tables: their refusals, and the rows deleted with others, for every way of changing rows. A
//! refused change leaves everything unchanged.

use crate::support::{STORE_BYTES, World, in_detail};
use sardonyx_base::resident::Resident;
use sardonyx_rows::constraints::Due;
use sardonyx_rows::schema::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit, OnDelete, Schema, Type, Value,
};
use sardonyx_rows::{Record as _, Table, TableError, field, record};

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Parent {
    id: u64,
    code: u64,
}
record!(Parent { table: "parents", key: id: u64 });

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Child {
    id: u64,
    /// The primary key of a parent.
    parent: u64,
    /// The code of a parent.
    code: u64,
    /// Another child, that it goes with, unless bit 0 of `nulls` is set.
    elder: u64,
    nulls: u64,
}
record!(Child { table: "children", key: id: u64 });

fn index(name: &str, kind: IndexKind, unique: bool, column: usize) -> IndexDefinition {
    let descending = false;
    IndexDefinition {
        name: name.to_string(),
        kind,
        unique,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart { column, descending }],
    }
}

fn schema(columns: &[&str]) -> Schema {
    let mut schema = Schema::default();
    for (number, name) in columns.iter().enumerate() {
        schema.columns.push(Column {
            name: (*name).to_string(),
            kind: Type::U64,
            default: Value::Null,
            offset: number * 8,
            null: None,
            dropped: false,
            since_shape: 0,
        });
    }
    schema.row_bytes = columns.len() * 8;
    schema.primary = index("primary", IndexKind::Hash, true, 0);
    schema
}

fn reference(name: &str, column: usize, table: u16, to: usize, on_delete: OnDelete) -> ForeignKey {
    ForeignKey {
        name: name.to_string(),
        columns: vec![column],
        table,
        referenced: vec![to],
        on_delete,
        unchecked: Default::default(),
    }
}

struct Family {
    world: World,
    parents: Table<Parent>,
    children: Table<Child>,
}

/// Parents 0 to 9 with codes 100 to 109. `is_indexed`: whether children are found by their parents.
fn family(is_indexed: bool) -> Family {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        let mut parents = schema(&["id", "code"]);
        parents.indexes = vec![index("by_code", IndexKind::Ordered, true, 1)];
        let parents = tx.create_table(Parent::TABLE, parents).expect("created");
        let mut children = schema(&["id", "parent", "code", "elder"]);
        children.row_bytes = size_of::<Child>();
        children.columns[3].null = Some(NullBit { byte: 32, bit: 0 });
        let number = tx
            .create_table(Child::TABLE, children.clone())
            .expect("created");
        if is_indexed {
            children.indexes = vec![
                index("by_parent", IndexKind::Ordered, false, 1),
                index("by_elder", IndexKind::Ordered, false, 3),
            ];
        }
        for index in children.indexes {
            tx.create_index(number, index).expect("created");
        }
        let references = [
            reference("parent", 1, parents, 0, OnDelete::Restrict),
            reference("code", 2, parents, 1, OnDelete::Cascade),
            reference("elder", 3, number, 0, OnDelete::Cascade),
        ];
        for reference in references {
            tx.add_reference(number, reference).expect("added");
        }
    });
    let parents = (world.space.table::<Parent>().expect("fits")).expect("declared");
    let children = (world.space.table::<Child>().expect("fits")).expect("declared");
    world.commit(|tx| {
        for id in 0..10 {
            tx.insert(parents, &Parent { id, code: 100 + id })
                .expect("inserted");
        }
    });
    Family {
        world,
        parents,
        children,
    }
}

fn child(id: u64, parent: u64, code: u64, elder: Option<u64>) -> Child {
    Child {
        id,
        parent,
        code,
        elder: elder.unwrap_or(0),
        nulls: u64::from(elder.is_none()),
    }
}

#[test]
fn a_reference_is_to_a_unique_key_of_the_same_types() {
    let mut family = family(true);
    let table = family.children.number();
    let parents = family.parents.number();
    family.world.commit(|tx| {
        tx.add_column(Child::TABLE, "label", Type::Text, true, Value::Null)
            .expect("added");
        let before = tx.rows(Child::TABLE).expect("there").schema().clone();
        for (column, to, said) in [
            (
                4,
                0,
                "is of type text, but \"id\", to which it refers, is of type u64",
            ),
            (1, 7, "column"),
        ] {
            let refused = tx.add_reference(
                table,
                reference("no", column, parents, to, OnDelete::Restrict),
            );
            let text = refused.expect_err("refused").to_string();
            assert!(text.contains(said), "{text}");
        }
        let refused = tx
            .drop_index(parents, "by_code")
            .expect_err("refused")
            .to_string();
        assert!(
            refused.contains("\"code\"") && refused.contains("not the key of a unique index"),
            "{refused}"
        );
        assert_eq!(tx.rows(Child::TABLE).expect("there").schema(), &before);
    });
}

#[test]
fn references_are_kept_whichever_way_rows_change() {
    for is_indexed in [false, true] {
        let Family {
            mut world,
            parents,
            children,
        } = family(is_indexed);
        for _ in 0..2 {
            let before = world.space.pages().to_vec();
            world.commit(|tx| {
                let missing = in_detail(tx.insert(children, &child(1, 77, 100, None)));
                match missing {
                    Err(TableError::NoSuchReference {
                        table,
                        referenced,
                        key,
                        ..
                    }) => {
                        assert_eq!(
                            (&*table, &*referenced, &*key),
                            ("children", "parents", "(77)")
                        );
                    }
                    other => panic!("{other:?}"),
                }
                let missing = in_detail(tx.insert(children, &child(1, 1, 100, Some(5))));
                assert!(matches!(missing, Err(TableError::NoSuchReference { .. })));
            });
            assert!(
                world.space.pages()[..before.len()] == before,
                "nothing was changed"
            );
            world.commit(|tx| {
                tx.insert(children, &child(1, 1, 102, None))
                    .expect("both are there");
                tx.insert(children, &child(2, 1, 103, Some(1)))
                    .expect("so they are");
                tx.insert(children, &child(3, 4, 104, Some(2)))
                    .expect("so they are");
                let row = tx.find(children, 3).expect("there");
                let missing = in_detail(tx.set(row, field!(Child.parent: u64), 55));
                assert!(matches!(missing, Err(TableError::NoSuchReference { .. })));
                assert_eq!(tx.get(children, 3).expect("read").expect("there").parent, 4);
                let missing = in_detail(tx.update(children, 3, |child| child.code = 5));
                assert!(matches!(missing, Err(TableError::NoSuchReference { .. })));
                let there = in_detail(tx.delete(parents, 1));
                match there {
                    Err(TableError::Referenced {
                        table, foreign_key, ..
                    }) => {
                        assert_eq!((&*table, &*foreign_key), ("children", "parent"));
                    }
                    other => panic!("{other:?}"),
                }
                let changed = in_detail(tx.update(parents, 2, |parent| parent.code = 7));
                assert!(matches!(changed, Err(TableError::Referenced { .. })));
                tx.update(parents, 9, |parent| parent.code = 999)
                    .expect("nobody refers to it");
                tx.update(parents, 9, |parent| parent.code = 109)
                    .expect("nobody refers to it");
            });
            // With the parent whose code the first has go that one, and those that go with it.
            let mut tx = world.space.begin(&mut world.log);
            assert!(tx.delete(parents, 2).expect("deleted"));
            assert_eq!(
                (
                    tx.count(parents).expect("read"),
                    tx.count(children).expect("read")
                ),
                (9, 0)
            );
            tx.abort();
            let view = world.space.view();
            assert_eq!(
                (
                    view.count(parents).expect("read"),
                    view.count(children).expect("read")
                ),
                (10, 3)
            );
            world.reopen(1);
            world.commit(|tx| {
                tx.delete(parents, 2).expect("deleted");
                assert_eq!(
                    (
                        tx.count(parents).expect("read"),
                        tx.count(children).expect("read")
                    ),
                    (9, 0)
                );
                tx.insert(parents, &Parent { id: 2, code: 102 })
                    .expect("inserted");
            });
        }
        world.commit(|tx| {
            let number = parents.number();
            let needed = in_detail(tx.drop_index(number, "by_code"));
            assert!(matches!(needed, Err(TableError::Schema { .. })));
            let wrong = reference("wrong", 1, children.number(), 2, OnDelete::Restrict);
            let wrong = in_detail(tx.add_reference(children.number(), wrong));
            assert!(matches!(wrong, Err(TableError::Schema { .. })));
        });
    }
}

#[test]
fn whole_numbers_refer_to_those_of_another_width() {
    let mut family = family(false);
    let (parents, children) = (family.parents.number(), family.children.number());
    family.world.commit(|tx| {
        for (name, kind) in [("short", Type::U8), ("long", Type::I64)] {
            tx.add_column(Child::TABLE, name, kind, true, Value::Null)
                .expect("added");
            let column = tx.rows(Child::TABLE).expect("there").schema().column(name);
            let column = column.expect("there");
            let to_parent = reference(name, column, parents, 0, OnDelete::Restrict);
            tx.add_reference(children, to_parent).expect("added");
        }
        let row = |id: i64, short: i64, long: i64| {
            [
                ("id", id),
                ("parent", 1),
                ("code", 101),
                ("short", short),
                ("long", long),
            ]
            .map(|(name, value)| (name, Value::Int(value.into())))
        };
        let mut rows = tx.rows(Child::TABLE).expect("there");
        rows.insert(&row(1, 9, 8)).expect("inserted");
        for missing in [row(2, 10, 8), row(2, 9, -1), row(2, 9, i64::MAX)] {
            let missing = in_detail(rows.insert(&missing));
            assert!(matches!(missing, Err(TableError::NoSuchReference { .. })));
        }
        let there = Parent {
            id: 256 + 9,
            code: 999,
        };
        tx.insert(family.parents, &there).expect("inserted");
        assert!(
            tx.delete(family.parents, 256 + 9)
                .expect("nobody refers to it")
        );
        for id in [8, 9] {
            let kept = in_detail(tx.delete(family.parents, id));
            assert!(matches!(kept, Err(TableError::Referenced { .. })));
        }
    });
}

#[test]
fn deferrable_keys_are_checked_as_the_rows_then_are() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        let parents = schema(&["id", "code"]);
        tx.create_table(Parent::TABLE, parents).expect("created");
    });
    let parents = (world.space.table::<Parent>().expect("fits")).expect("declared");
    let table = parents.number();
    let later = IndexDefinition {
        deferrable: true,
        nulls_equal: false,
        ..index("later", IndexKind::Ordered, false, 1)
    };
    let parent = |id, code| Parent { id, code };
    let is_taken = |result| match in_detail(result) {
        Err(TableError::DuplicateValue { index, values, .. }) => {
            index == "later" && values == Box::from([Value::Int(7)])
        }
        Ok(()) => false,
        Err(other) => panic!("{other}"),
    };
    world.commit(|tx| {
        tx.insert(parents, &parent(70, 7)).expect("inserted");
        tx.create_index(table, later.clone())
            .expect("no two have one");
        // At once, where they are not held.
        assert!(is_taken(tx.insert(parents, &parent(71, 7))));
        tx.insert(parents, &parent(71, 8)).expect("inserted");
        assert!(is_taken(tx.put(parents, &parent(71, 7)).map(drop)));
        tx.hold_references(true);
        let mark = tx.savepoint();
        for id in 72..75 {
            tx.insert(parents, &parent(id, 7)).expect("held");
        }
        assert_eq!(tx.held_references().len(), 1);
        assert!(tx.held_references()[0].is_key);
        assert!(is_taken(tx.check_held(|_| Due::NOW)));
        in_detail(tx.check_held(|_| Due::default())).expect("not due");
        // Two of the four are one too many.
        for id in [70, 72] {
            tx.delete(parents, id).expect("there");
            assert!(is_taken(tx.check_held(|_| Due::NOW)));
        }
        tx.delete(parents, 73).expect("there");
        in_detail(tx.check_held(|_| Due::NOW)).expect("one is left");
        assert!(tx.held_references().is_empty());
        tx.insert(parents, &parent(76, 7)).expect("held again");
        tx.rollback_to(mark).expect("it is marked");
        in_detail(tx.check_held(|_| Due::NOW)).expect("with the rows the note is back");
        // An index is not built of rows that it does not allow.
        tx.insert(parents, &parent(77, 7)).expect("held");
        tx.drop_index(table, "later").expect("there");
        assert!(is_taken(tx.create_index(table, later.clone())));
        tx.delete(parents, 77).expect("there");
        tx.create_index(table, later.clone())
            .expect("no two have one");
        tx.hold_references(false);
    });
    world.redo();
    world.commit(|tx| {
        assert!(is_taken(tx.insert(parents, &parent(78, 7))));
    });
}

#[test]
fn held_references_are_checked_as_the_rows_then_stand() {
    for is_indexed in [false, true] {
        let Family {
            mut world,
            parents,
            children,
        } = family(is_indexed);
        world.commit(|tx| {
            tx.hold_references(true);
            // Children before their parent, and before the elder that they go with.
            tx.insert(children, &child(1, 50, 150, Some(2)))
                .expect("held");
            tx.insert(children, &child(2, 50, 150, None)).expect("held");
            assert_eq!(tx.held_references().len(), 3);
            let mark = tx.savepoint();
            tx.insert(parents, &Parent { id: 50, code: 150 })
                .expect("inserted");
            in_detail(tx.check_held(|_| Due::NOW)).expect("all are there");
            assert!(tx.held_references().is_empty());
            // With the parent go the answers.
            tx.rollback_to(mark).expect("it is marked");
            match in_detail(tx.check_held(|held| Due {
                now: &*held.name == "parent",
                ..Due::default()
            })) {
                Err(TableError::NoSuchReference { key, values, .. }) => {
                    assert_eq!((&*key, values), ("(50)", Box::from([Value::Int(50)])));
                }
                other => panic!("{other:?}"),
            }
            in_detail(tx.check_held(|_| Due::default())).expect("nothing is due");
            tx.insert(parents, &Parent { id: 50, code: 150 })
                .expect("inserted");
            in_detail(tx.check_held(|_| Due::NOW)).expect("all are there");
            // The parent goes, and comes again.
            assert!(
                tx.rows(Parent::TABLE)
                    .expect("there")
                    .take(&[50.into()])
                    .expect("held")
            );
            let missing = in_detail(tx.check_held(|_| Due::NOW));
            assert!(matches!(missing, Err(TableError::Referenced { .. })));
            tx.insert(parents, &Parent { id: 50, code: 150 })
                .expect("inserted");
            let strict = Due {
                strict_update: true,
                ..Due::default()
            };
            let strictly = in_detail(tx.check_held(|_| strict));
            assert!(matches!(strictly, Err(TableError::Referenced { .. })));
            in_detail(tx.check_held(|_| Due::NOW)).expect("all are there");
            // No child was deleted with it, as one that is deleted takes them along.
            assert_eq!(tx.count(children).expect("read"), 2);
            assert!(tx.delete(parents, 50).expect("held"));
            assert_eq!(tx.count(children).expect("read"), 0);
            in_detail(tx.check_held(|_| Due::NOW)).expect("nobody refers to it any more");
            // At once again.
            tx.hold_references(false);
            let missing = in_detail(tx.insert(children, &child(1, 50, 150, None)));
            assert!(matches!(missing, Err(TableError::NoSuchReference { .. })));
            let kept = in_detail(tx.rows(Parent::TABLE).expect("there").take(&[1.into()]));
            assert!(kept.expect("nobody refers to it"));
        });
    }
}
