//! Plain records of tables that have more than records: columns that were added, and conditions. Rows of every shape
//! begin with records; all changes by them are compared with a map, beside rows, indexes and snapshots.

use crate::support::{STORE_BYTES, World, hash, store_of};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sardonyx_rows::{RowWriter, Table, field, record};
use sardonyx_table::{TableSpace, Transaction};
use std::collections::BTreeMap;

/// The types of added columns.
const TYPES: [Type; 3] = [Type::Text, Type::I16, Type::F64];

fn value_of(kind: Type, seed: u16) -> Value {
    match kind {
        Type::Text => Value::Text("ü".repeat(usize::from(seed) % 3000)),
        Type::F64 => Value::Float(f64::from(seed) / 4.0),
        _ => Value::Int(i128::from(seed as i16)),
    }
}

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Plain {
    id: u64,
    value: i64,
}
record!(Plain { table: "plain", key: id: u64, fields: { id: u64, value: i64 } });

/// A record and the columns that were added beside it.
type Beside = BTreeMap<u64, (i64, Vec<Value>)>;

#[derive(Clone, Debug)]
enum RecordChange {
    Put(u64, i64),
    Insert(u64, i64),
    Set(u64, i64),
    Save(u64, i64),
    Delete(u64),
    /// A column that was added, by rows.
    Added(u64, u8, u16),
    AddColumn(u8, u16),
    DropAdded(u8),
    /// The index of the last added column.
    Index,
}

fn any_record_change() -> impl Strategy<Value = RecordChange> {
    let id = 0..40_u64;
    prop_oneof![
        3 => (id.clone(), any::<i64>()).prop_map(|(id, value)| RecordChange::Put(id, value)),
        3 => (id.clone(), any::<i64>()).prop_map(|(id, value)| RecordChange::Insert(id, value)),
        1 => (id.clone(), any::<i64>()).prop_map(|(id, value)| RecordChange::Set(id, value)),
        1 => (id.clone(), any::<i64>()).prop_map(|(id, value)| RecordChange::Save(id, value)),
        2 => id.clone().prop_map(RecordChange::Delete),
        3 => (id, any::<u8>(), any::<u16>()).prop_map(|(id, which, seed)| RecordChange::Added(id, which, seed)),
        1 => (any::<u8>(), any::<u16>()).prop_map(|(kind, seed)| RecordChange::AddColumn(kind, seed)),
        1 => any::<u8>().prop_map(RecordChange::DropAdded),
        1 => Just(RecordChange::Index),
    ]
}

/// The columns that were added: number, type, default.
type Columns = Vec<(usize, Type, Value)>;

fn apply_by_records(
    tx: &mut Transaction<'_>,
    table: Table<Plain>,
    columns: &mut Columns,
    model: &mut Beside,
    change: &RecordChange,
    number: usize,
) {
    let defaults = |columns: &Columns| {
        columns
            .iter()
            .map(|(.., default)| default.clone())
            .collect()
    };
    match *change {
        RecordChange::Put(id, value) => {
            let before = tx.put(table, &Plain { id, value }).expect("put");
            assert_eq!(before, model.contains_key(&id));
            let row = model.entry(id).or_insert_with(|| (0, defaults(columns)));
            row.0 = value;
        }
        RecordChange::Insert(id, value) => {
            let inserted = tx.insert(table, &Plain { id, value });
            assert_eq!(inserted.is_ok(), !model.contains_key(&id));
            model
                .entry(id)
                .or_insert_with(|| (value, defaults(columns)));
        }
        RecordChange::Set(id, value) => {
            let row = tx.find(table, id);
            assert_eq!(row.is_some(), model.contains_key(&id));
            if let (Some(row), Some(there)) = (row, model.get_mut(&id)) {
                tx.set(row, field!(Plain.value: i64), value).expect("set");
                there.0 = value;
            }
        }
        RecordChange::Save(id, value) => {
            let record = tx.get_mut(table, id).expect("the handle fits");
            if let (Some(mut record), Some(there)) = (record, model.get_mut(&id)) {
                record.value = value;
                record.save().expect("saved");
                there.0 = value;
            }
        }
        RecordChange::Delete(id) => {
            let deleted = tx.delete(table, id).expect("deleted");
            assert_eq!(deleted, model.remove(&id).is_some());
        }
        RecordChange::Added(id, which, seed) => {
            let Some(which) = usize::from(which).checked_rem(columns.len()) else {
                return;
            };
            let (column, kind, _) = columns[which];
            let value = value_of(kind, seed);
            let mut row = RowWriter::new(column);
            row.set(column, value.as_ref());
            let mut rows = tx.rows("plain").expect("the table");
            let updated = rows.update_row(&[id.into()], &row).expect("updated");
            assert_eq!(updated, model.contains_key(&id));
            if let Some(there) = model.get_mut(&id) {
                there.1[which] = value;
            }
        }
        RecordChange::AddColumn(kind, seed) => {
            let kind = TYPES[usize::from(kind) % TYPES.len()];
            let default = value_of(kind, seed % 200);
            let name = format!("added {number}");
            let column = tx.rows("plain").expect("the table").schema().columns.len();
            tx.add_column("plain", &name, kind, true, default.clone())
                .expect("added");
            model
                .values_mut()
                .for_each(|row| row.1.push(default.clone()));
            columns.push((column, kind, default));
        }
        RecordChange::DropAdded(which) => {
            let Some(which) = usize::from(which).checked_rem(columns.len()) else {
                return;
            };
            let column = columns[which].0;
            let name = tx.rows("plain").expect("the table").schema().columns[column]
                .name
                .clone();
            if tx.drop_column("plain", &name).is_ok() {
                columns.remove(which);
                model.values_mut().for_each(|row| drop(row.1.remove(which)));
            }
        }
        RecordChange::Index => {
            let Some(&(column, kind, _)) = columns.last() else {
                return;
            };
            // Long texts are no keys.
            if kind == Type::Text || number.is_multiple_of(2) {
                return;
            }
            let key = vec![KeyPart {
                column,
                descending: false,
            }];
            let index = IndexDefinition {
                name: format!("index {number}"),
                kind: IndexKind::Ordered,
                unique: false,
                deferrable: false,
                nulls_equal: false,
                key,
            };
            tx.create_index(table.number(), index).expect("created");
        }
    }
}

fn check_by_records(space: &mut TableSpace, columns: &Columns, model: &Beside) {
    let snapshot = space.snapshot().expect("a snapshot");
    let table = space
        .table::<Plain>()
        .expect("it fits")
        .expect("it is there");
    let view = space.view();
    let record = |id: &u64| model.get(id).map(|row| row.0);
    assert_eq!(view.count(table).expect("read"), model.len() as u64);
    let scanned: BTreeMap<_, _> = view
        .scan(table)
        .expect("read")
        .map(|record| record.expect("a record"))
        .map(|row| (row.id, row.value))
        .collect();
    let expected: BTreeMap<_, _> = model.iter().map(|(id, row)| (*id, row.0)).collect();
    assert_eq!(scanned, expected);
    let of_snapshot = snapshot
        .scan(table)
        .expect("read")
        .map(|row| row.expect("a record"));
    assert_eq!(
        of_snapshot
            .map(|row| (row.id, row.value))
            .collect::<BTreeMap<_, _>>(),
        expected
    );
    assert_eq!(
        snapshot
            .table::<Plain>()
            .expect("it fits")
            .map(Table::number),
        Some(table.number())
    );
    for id in 0..40 {
        assert_eq!(
            view.get(table, id).expect("read").map(|row| row.value),
            record(&id)
        );
        let in_snapshot = snapshot.get(table, id).expect("it is open");
        assert_eq!(in_snapshot.map(|row| row.value), record(&id));
    }
    let rows = view.rows("plain").expect("the table");
    for (id, (value, added)) in model {
        let row = rows.get(&[(*id).into()]).expect("a key").expect("a row");
        assert_eq!(
            row.get_at(1).expect("a value").to_value(),
            Value::Int((*value).into())
        );
        for ((column, ..), value) in columns.iter().zip(added) {
            assert_eq!(
                &row.get_at(*column).expect("a value").to_value(),
                value,
                "{id}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(30)))]

    #[test]
    fn records_are_what_rows_with_added_columns_begin_with(
        transactions in proptest::collection::vec(
            (proptest::collection::vec(any_record_change(), 1..14), any::<bool>(), any::<u8>()), 1..14),
    ) {
        let mut world = World::with_memory(STORE_BYTES);
        let table = world.commit(|tx| tx.declare_table::<Plain>().expect("declared"));
        let (mut columns, mut model) = (Columns::new(), Beside::new());
        let mut number = 0;
        for (changes, aborts, then) in transactions {
            let (mut columns_after, mut after) = (columns.clone(), model.clone());
            let mut tx = world.space.begin(&mut world.log);
            for change in &changes {
                number += 1;
                apply_by_records(&mut tx, table, &mut columns_after, &mut after, change, number);
            }
            match aborts {
                true => tx.abort(),
                false => {
                    tx.commit();
                    (columns, model) = (columns_after, after);
                }
            }
            world.redo();
            check_by_records(&mut world.space, &columns, &model);
            if then % 3 == 0 {
                world.reopen(2);
                check_by_records(&mut world.space, &columns, &model);
            }
        }
        let (mut space, _) = TableSpace::open_with(store_of(&world.redone), 1, hash()).expect("open");
        check_by_records(&mut space, &columns, &model);
    }
}

#[test]
fn a_plain_record_of_other_columns_than_the_first_is_refused_and_both_sides_are_shown() {
    let refused = |change: fn(&mut Transaction<'_>) -> Result<(), sardonyx_base::error::Error>| {
        let mut world = World::with_memory(STORE_BYTES);
        let table = world.commit(|tx| tx.declare_table::<Plain>().expect("declared"));
        world.commit(|tx| {
            tx.insert(table, &Plain { id: 1, value: 2 })
                .map(drop)
                .expect("inserted");
        });
        world.commit(|tx| {
            tx.add_column("plain", "more", Type::I64, false, 3.into())
                .expect("added");
            change(tx).expect("changed");
        });
        let mut texts = Vec::new();
        for _ in 0..2 {
            let snapshot = world.space.snapshot().expect("a snapshot");
            let error = world
                .space
                .table::<Plain>()
                .expect_err("refused")
                .to_string();
            assert_eq!(
                snapshot.table::<Plain>().expect_err("refused").to_string(),
                error
            );
            assert!(
                world.space.table::<Opaque>().is_err() || !error.contains("value"),
                "{error}"
            );
            texts.push(error);
            world.reopen(1);
        }
        assert_eq!(texts[0], texts[1]);
        (world, table, texts.remove(0))
    };
    let (world, table, text) = refused(|tx| tx.widen_column("plain", "value", Type::I128));
    assert!(
        text.contains("* value") && text.contains("i128 at 24, added") && text.contains("i64 at 8"),
        "{text}"
    );
    // The old bytes are never read, not even by a holder of the former table.
    assert!(world.space.view().get(table, 1).is_err());
    let (_, _, text) = refused(|tx| tx.drop_column("plain", "value"));
    assert!(
        text.contains("* value") && text.contains("derive(Record)"),
        "{text}"
    );
    let mut world = World::with_memory(STORE_BYTES);
    let table = world.commit(|tx| tx.declare_table::<Plain>().expect("declared"));
    world.commit(|tx| {
        tx.insert(table, &Plain { id: 1, value: 2 })
            .map(drop)
            .expect("inserted");
        tx.add_column("plain", "more", Type::I64, false, 3.into())
            .expect("added");
        tx.rename_column("plain", "value", "amount")
            .expect("renamed");
    });
    let text = world
        .space
        .table::<Plain>()
        .expect_err("refused")
        .to_string();
    assert!(
        text.contains("* amount") && text.contains("* value"),
        "{text}"
    );
    // Its bytes have not changed.
    assert_eq!(
        world
            .space
            .view()
            .get(table, 1)
            .expect("read")
            .map(|row| row.value),
        Some(2)
    );
    let text = world
        .space
        .table::<Longer>()
        .expect_err("refused")
        .to_string();
    assert!(
        text.contains("* more") && text.contains("i64 at 16, added"),
        "{text}"
    );
}

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Longer {
    id: u64,
    amount: i64,
    more: i64,
}
record!(Longer { table: "plain", key: id: u64, fields: { id: u64, amount: i64, more: i64 } });

/// It does not declare its fields.
#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Opaque {
    id: u64,
    value: i64,
}
record!(Opaque { table: "plain", key: id: u64 });

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Limited {
    id: u64,
    balance: i64,
    least: i64,
}
record!(Limited {
    table: "limited",
    key: id: u64,
    fields: { id: u64, balance: i64, least: i64 },
});

/// However they are changed: also as records, and beside a column that was added.
#[test]
fn conditions_are_met_by_every_record() {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = || {
        let schema = Schema::new()
            .column("id", Type::U64)
            .column("balance", Type::I64);
        let schema = schema.column("least", Type::I64).primary_key(["id"]);
        schema.check("within", "balance >= least")
    };
    let refused = |said: Result<(), Error>| {
        let error = said.expect_err("refused").to_string();
        assert!(error.contains("within"), "{error}");
    };
    for added in [false, true] {
        let record = |id, balance| Limited {
            id,
            balance,
            least: -5,
        };
        world.commit(|tx| {
            if added {
                let default = 4.into();
                tx.add_column("limited", "more", Type::I8, false, default)
                    .expect("added");
                tx.truncate("limited").expect("emptied");
            } else {
                tx.create_table("limited", schema()).expect("declare");
            }
            let table = tx.declare_table::<Limited>().expect("the same columns");
            tx.insert(table, &record(1, 7)).expect("within");
            let row = tx.find(table, 1).expect("there");
            let balance = field!(Limited.balance: i64);
            refused(tx.insert(table, &record(2, -6)).map(drop));
            refused(tx.put(table, &record(1, -6)).map(drop));
            refused(tx.set(row, balance, -6));
            refused(tx.update(table, 1, |record| record.least = 8).map(drop));
            assert_eq!(tx.get(table, 1).expect("read"), Some(&record(1, 7)));
            assert_eq!(tx.count(table).expect("read"), 1);
            tx.set(row, balance, -5).expect("within");
        });
        world.reopen(1);
    }
}
