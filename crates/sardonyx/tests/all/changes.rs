//! The changes of tables, kept and read: replayed they give the table, after any transactions and changes of the table
//! and the process.

use crate::common::{Item, SEGMENT_BYTES, VALUE, in_every_shape, options};
use sardonyx::changes::{Change, ChangeKind};
use sardonyx::journals::{JournalPosition, Retention};
use sardonyx::rows::{OneRow, RowRef};
use sardonyx::schema::{Type, Value, ValueRef};
use sardonyx::{Error, Record, Shape, Table, Tables};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "customers", key = id, index("by_name", name))]
struct Customer {
    id: u64,
    name: String,
    note: Option<String>,
}

fn customer(id: u64, name: &str) -> Customer {
    Customer {
        id,
        name: name.into(),
        note: None,
    }
}

fn of_row(row: &RowRef<'_, OneRow>) -> Customer {
    let text = |column: &str| match row.get(column).unwrap() {
        ValueRef::Text(text) => Some(text.to_string()),
        ValueRef::Null => None,
        other => panic!("{other:?}"),
    };
    let ValueRef::Int(id) = row.get("id").unwrap() else {
        panic!("no number")
    };
    Customer {
        id: id as u64,
        name: text("name").unwrap(),
        note: text("note"),
    }
}

fn open(disk: &SimulatedDisk, options: sardonyx::Options) -> Tables {
    options.open_tables_on(Arc::new(disk.clone())).unwrap()
}

fn changes_from(tables: &Tables, from: JournalPosition) -> Vec<Change> {
    tables
        .changes(from..)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn changes(tables: &Tables) -> Vec<Change> {
    changes_from(tables, JournalPosition::START)
}

/// A change's kind, and an item's values before and after.
type OfItem = (ChangeKind, Option<Vec<u8>>, Option<Vec<u8>>);

fn of_items(changes: &[Change]) -> Vec<OfItem> {
    let bytes = |row: Option<RowRef<'_, OneRow>>| {
        row.map(|row| match row.get("after").unwrap() {
            ValueRef::Bytes(bytes) => bytes[..8].to_vec(),
            other => panic!("{other:?}"),
        })
    };
    let each = changes.iter().map(|change| {
        let (before, after) = (change.before().unwrap(), change.after().unwrap());
        (change.kind(), bytes(before), bytes(after))
    });
    each.collect()
}

#[test]
fn every_verb_of_plain_records_is_kept_and_what_is_undone_is_not() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let tables = open(&disk, options(shape));
        let items = tables.table::<Item>().unwrap();
        tables.run(|tx| tx.insert(items, &Item::new(1, 1))).unwrap();
        assert!(tables.keep_changes("items").unwrap());
        assert!(!tables.keep_changes("items").unwrap());
        assert!(tables.keep_changes("nothing").is_err());
        tables
            .run(|tx| {
                let row = tx.insert_and_find(items, &Item::new(2, 20))?;
                tx.set(row, VALUE, 21)
            })
            .unwrap();
        tables
            .run(|tx| tx.update(items, 1, |item| item.value = 2))
            .unwrap();
        // The same again is no change.
        tables
            .run(|tx| tx.update(items, 1, |item| item.value = 2))
            .unwrap();
        tables.run(|tx| tx.delete(items, 2)).unwrap();
        let failed = tables.run(|tx| {
            tx.insert(items, &Item::new(3, 3))?;
            tx.delete(items, 1)?;
            Err::<(), _>(Error::Refused("on purpose".into()))
        });
        assert!(failed.is_err());
        tables
            .run(|tx| {
                let mark = tx.savepoint();
                tx.insert(items, &Item::new(4, 4))?;
                tx.rollback_to(mark)?;
                tx.insert(items, &Item::new(5, 5))
            })
            .unwrap();
        let kept = changes(&tables);
        let value = |value: u64| Some(value.to_le_bytes().to_vec());
        let expected = vec![
            (ChangeKind::Inserted, None, value(20)),
            (ChangeKind::Updated, value(20), value(21)),
            (ChangeKind::Updated, value(1), value(2)),
            (ChangeKind::Deleted, value(21), None),
            (ChangeKind::Inserted, None, value(5)),
        ];
        assert_eq!(of_items(&kept), expected);
        assert_eq!(kept[0].transaction(), kept[1].transaction());
        assert_ne!(kept[1].transaction(), kept[2].transaction());
        for (nth, change) in kept.iter().enumerate() {
            assert_eq!(
                of_items(&changes_from(&tables, change.position())),
                expected[nth..]
            );
            assert_eq!(
                of_items(&changes_from(&tables, change.next())),
                expected[nth + 1..]
            );
        }
        assert!(tables.forget_changes("items").unwrap());
        tables.run(|tx| tx.delete(items, 5)).unwrap();
        tables.close().unwrap();
        let tables = open(&disk, options(shape));
        assert_eq!(of_items(&changes(&tables)), expected);
    });
}

#[test]
fn changes_are_told_by_the_names_and_columns_that_the_table_had_then() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = open(&disk, options(Shape::Threadless));
    let customers = tables.table::<Customer>().unwrap();
    tables.keep_changes("customers").unwrap();
    let long = "x".repeat(9000);
    let first = Customer {
        note: Some(long),
        ..customer(1, "Ada")
    };
    tables.run(|tx| tx.insert(customers, &first)).unwrap();
    let failed = tables.run(|tx| {
        tx.rename_table("customers", "nobody")?;
        tx.add_column("nobody", "lost", Type::U64, true, Value::Null)?;
        Err::<(), _>(Error::Refused("on purpose".into()))
    });
    assert!(failed.is_err());
    tables
        .run(|tx| {
            tx.add_column("customers", "city", Type::Text, false, Value::from("Bern"))?;
            tx.rename_column("customers", "note", "remark")
        })
        .unwrap();
    let change = |tables: &Tables, table: &str, key: u64, column: &str, value: &str| {
        let changed = tables.run(|tx| {
            let mut rows = tx.rows(table)?;
            rows.update(&[key.into()], &[(column, Value::from(value))])
        });
        assert!(changed.unwrap());
    };
    change(&tables, "customers", 1, "remark", "kind");
    tables
        .run(|tx| tx.rename_table("customers", "clients"))
        .unwrap();
    tables.close().unwrap();
    let tables = open(&disk, options(Shape::Threadless));
    change(&tables, "clients", 1, "city", "Chur");
    tables
        .run(|tx| tx.drop_column("clients", "remark"))
        .unwrap();
    // The row is rewritten unchanged.
    tables
        .run(|tx| {
            tx.add_column("clients", "parts", Type::U32, false, 1u32.into())?;
            tx.widen_column("clients", "parts", Type::U64)
        })
        .unwrap();
    tables
        .run(|tx| tx.rows("clients")?.delete(&[1u64.into()]))
        .unwrap();
    tables.run(|tx| tx.truncate("clients")).unwrap();
    tables.run(|tx| tx.drop_table("clients")).unwrap();
    let told: Vec<String> = changes(&tables)
        .iter()
        .map(|change| {
            let columns = |row: Option<RowRef<'_, OneRow>>| {
                row.map_or("none".to_string(), |row| {
                    let columns = row.schema().live_columns();
                    let shown = columns.map(|(number, column)| {
                        let value = row.get_at(number).unwrap().to_value().to_string();
                        let value = if value.len() > 100 {
                            "long".into()
                        } else {
                            value
                        };
                        format!("{}={value}", column.name)
                    });
                    shown.collect::<Vec<_>>().join(" ")
                })
            };
            let (before, after) = (change.before().unwrap(), change.after().unwrap());
            let word = change.kind().word();
            format!(
                "{} {word}: {} -> {}",
                change.table(),
                columns(before),
                columns(after)
            )
        })
        .collect();
    let expected = [
        "customers insert: none -> id=1 name=Ada note=long",
        "customers update: id=1 name=Ada remark=long city=Bern -> id=1 name=Ada remark=kind city=Bern",
        "clients update: id=1 name=Ada remark=kind city=Bern -> id=1 name=Ada remark=kind city=Chur",
        "clients delete: id=1 name=Ada city=Chur parts=1 -> none",
        "clients truncate: none -> none",
        "clients drop: none -> none",
    ];
    assert_eq!(told, expected);
    // One of the same name later is another table, whose changes are not kept.
    let again = tables.table::<Customer>().unwrap();
    tables
        .run(|tx| tx.insert(again, &customer(1, "new")))
        .unwrap();
    assert_eq!(changes(&tables).len(), expected.len());
}

/// A bank of customers, and its expected content.
struct World {
    random: Random,
    disk: SimulatedDisk,
    tables: Option<Tables>,
    customers: Table<Customer>,
    /// The current rows.
    rows: BTreeMap<u64, Customer>,
    /// The rows replayed so far, and the position to go on from.
    replayed: BTreeMap<u64, Customer>,
    next: JournalPosition,
    columns: usize,
    columns_max: usize,
    reads: bool,
}

fn small() -> sardonyx::Options {
    options(Shape::Threadless).log_bytes_max(4 * SEGMENT_BYTES)
}

/// Replays changes, each of which must be of the present row.
fn replay(rows: &mut BTreeMap<u64, Customer>, changes: &[Change]) {
    for change in changes {
        let before = change.before().unwrap().map(|row| of_row(&row));
        let after = change.after().unwrap().map(|row| of_row(&row));
        let id = before.as_ref().or(after.as_ref()).unwrap().id;
        assert_eq!(rows.get(&id), before.as_ref(), "{}", change.position());
        match after {
            Some(after) => rows.insert(id, after),
            None => rows.remove(&id),
        };
    }
}

impl World {
    fn new(seed: u64, options: sardonyx::Options) -> World {
        let disk = SimulatedDisk::new(seed, Faults::default());
        let tables = open(&disk, options);
        let customers = tables.table::<Customer>().unwrap();
        tables.keep_changes("customers").unwrap();
        World {
            random: Random::new(seed),
            disk,
            tables: Some(tables),
            customers,
            rows: BTreeMap::new(),
            replayed: BTreeMap::new(),
            next: JournalPosition::START,
            columns: 0,
            columns_max: 3,
            reads: true,
        }
    }

    /// A transaction of some changes, which may go back, or end in an error.
    fn transaction(&mut self) {
        let (random, customers) = (&mut self.random, self.customers);
        let mut rows = self.rows.clone();
        let fails = random.chance(1, 5);
        let tables = self.tables.as_ref().unwrap();
        let outcome = tables.run(|tx| {
            for _ in 0..1 + random.below(4) {
                let mark = tx.savepoint();
                let before = rows.clone();
                let id = random.below(30);
                let letter = char::from(b'a' + random.below(26) as u8);
                let length = [3, 20, 300, 5000][random.below(4) as usize];
                let name: String = std::iter::repeat_n(letter, length.min(300)).collect();
                let note: String = std::iter::repeat_n(letter, length).collect();
                if random.chance(1, 4) {
                    tx.delete(customers, id)?;
                    rows.remove(&id);
                } else if let Some(row) = rows.get_mut(&id) {
                    tx.update(customers, id, |customer| customer.note = Some(note.clone()))?;
                    row.note = Some(note);
                } else {
                    tx.insert(customers, &customer(id, &name))?;
                    rows.insert(id, customer(id, &name));
                }
                if random.chance(1, 6) {
                    tx.rollback_to(mark)?;
                    rows = before;
                }
            }
            match fails {
                true => Err(Error::Refused("on purpose".into())),
                false => Ok(()),
            }
        });
        assert_eq!(outcome.is_err(), fails);
        if !fails {
            self.rows = rows;
        }
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0 => {
                let tables = self.tables.take().unwrap();
                match self.random.chance(1, 2) {
                    true => tables.close().unwrap(),
                    false => {
                        self.disk = self.disk.restart(Faults::default());
                        drop(tables);
                    }
                }
                self.tables = Some(open(&self.disk, small()));
                self.customers = self.tables.as_ref().unwrap().table().unwrap();
            }
            1 if self.columns < self.columns_max => {
                let name = format!("more_{}", self.columns);
                self.columns += 1;
                let tables = self.tables.as_ref().unwrap();
                let added = tables
                    .run(|tx| tx.add_column("customers", &name, Type::U32, false, 7u32.into()));
                added.unwrap();
            }
            2 => self
                .tables
                .as_ref()
                .unwrap()
                .checkpoint()
                .map(drop)
                .unwrap(),
            3..10 if self.reads => {
                let found = changes_from(self.tables.as_ref().unwrap(), self.next);
                self.next = found.last().map_or(self.next, Change::next);
                replay(&mut self.replayed, &found);
                assert_eq!(self.replayed, self.rows);
            }
            _ => self.transaction(),
        }
    }
}

#[test]
fn what_is_replayed_of_the_changes_is_the_table_at_any_time() {
    Seeds::new(0, 6).explore(|seed| {
        let mut world = World::new(seed, small());
        for _ in 0..600 {
            world.step();
        }
        let mut all = BTreeMap::new();
        let tables = world.tables.as_ref().unwrap();
        replay(&mut all, &changes(tables));
        assert_eq!(all, world.rows);
        // It is the table, too.
        let there = tables.read(|view| view.scan(world.customers)?.collect::<Result<Vec<_>, _>>());
        let there = there.unwrap().into_iter();
        assert!(there.map(|row| (row.id, row)).collect::<BTreeMap<_, _>>() == all);
    });
}

#[test]
fn the_oldest_changes_that_are_kept_are_those_that_can_be_read() {
    let mut cut = 0;
    for seed in 0..2 {
        let few = small().journal_retention(Retention::KeepBytes(200_000));
        let mut world = World::new(seed, few);
        (world.reads, world.columns_max) = (false, 20);
        let begin = world.tables.as_ref().unwrap().changes(..);
        assert_eq!(begin.unwrap().count(), 0);
        for _ in 0..150 {
            for _ in 0..4 {
                world.step();
            }
            let tables = world.tables.as_ref().unwrap();
            let kept = changes(tables);
            let Some(first) = kept.first().map(Change::position) else {
                continue;
            };
            // Rows without an older change have the content that their oldest change shows.
            let mut rows = BTreeMap::new();
            for change in &kept {
                let before = change.before().unwrap().map(|row| of_row(&row));
                let after = change.after().unwrap().map(|row| of_row(&row));
                let id = before.as_ref().or(after.as_ref()).unwrap().id;
                let there = rows.insert(id, after);
                assert!(there.is_none_or(|there| there == before), "seed {seed}");
            }
            for (id, row) in rows {
                assert_eq!(world.rows.get(&id), row.as_ref(), "seed {seed}");
            }
            // Older changes are not kept: a position among them is an error.
            let older = JournalPosition { group: 1, row: 0 };
            if let Err(error) = tables
                .changes(older..)
                .and_then(|mut all| all.next().unwrap())
            {
                assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
                assert!(first > older);
                cut += 1;
            }
        }
    }
    assert!(cut > 10, "{cut}");
}

#[test]
fn a_database_that_keeps_no_journals_keeps_no_changes() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = open(&disk, small().journal_retention(Retention::Nothing));
    tables.table::<Customer>().unwrap();
    let error = tables.keep_changes("customers").unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
}
