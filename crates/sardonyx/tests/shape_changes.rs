//! Crashes at every step of the disk while tables change their shape: created, adopted, dropped, renamed, emptied; their
//! columns, indexes and references added, dropped, renamed and widened; each by itself and among changes of rows in the
//! same transaction, with checkpoints between. The database opens, is wholly before or wholly after each transaction, what
//! was acknowledged is there, every index agrees with the rows, and the rest of the run then does what it would have done.

mod common;

use common::{Item, options};
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::schema::{
    ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, Type, Value,
};
use sardonyx::{Error, GroupLimits, Shape, Tables, Transaction, record, zerocopy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Change = fn(&mut Transaction<'_>) -> Result<(), Error>;

#[derive(Clone, Copy)]
enum Step {
    Run(Change),
    Checkpoint,
}
use Step::{Checkpoint, Run};

/// By name: the schema, and the rows.
type Contents = BTreeMap<String, (String, BTreeSet<String>)>;

fn open(disk: SimulatedDisk) -> Result<Tables, Error> {
    let limits = GroupLimits {
        group_bytes: 64 << 10,
        transaction_bytes: 128 << 10,
        depth: 2,
        buffers: 6,
    };
    let options = options(Shape::Threadless).segment_bytes(256 << 10);
    let options = options.log_bytes_max(2 << 20).group_limits(limits);
    options.open_tables_on(Arc::new(disk))
}

fn contents(database: &Tables) -> Contents {
    let read = database.read(|view| {
        let names = view.definitions().iter().map(|definition| &definition.name);
        let mut contents = Contents::new();
        for name in names.filter(|name| !name.is_empty() && !name.starts_with("sardonyx.")) {
            let rows = view.rows(name)?;
            let mut all = BTreeSet::new();
            for row in rows.scan() {
                let row = row?;
                let values = row.to_values()?;
                let key: Vec<_> = key_of(rows.schema(), &values);
                let found = rows.get(&key)?.map(|found| found.address());
                assert_eq!(found, Some(row.address()), "{name}: {key:?}");
                all.insert(format!("{values:?}"));
            }
            assert_eq!(rows.count(), all.len() as u64, "{name}");
            contents.insert(name.clone(), (format!("{:?}", rows.schema()), all));
        }
        Ok::<_, Error>(contents)
    });
    read.expect("reads").expect("readable")
}

/// The values of the key among those of the columns that are not dropped.
fn key_of(schema: &Schema, values: &[Value]) -> Vec<Value> {
    let parts = schema.primary.key.iter();
    let place = |column| {
        schema
            .live_columns()
            .position(|(number, _)| number == column)
    };
    parts
        .map(|part| values[place(part.column).expect("not dropped")].clone())
        .collect()
}

/// Takes every row out of every index and puts it in again, in a transaction that is undone: a row that an index did not
/// have, or has without a row, is noticed by the checks of the engine.
fn check_indexes(database: &Tables, contents: &Contents) {
    let undone = database.run(|tx| {
        let mut taken = Vec::new();
        // Those that refer to others first.
        for pass in 0..2 {
            for name in contents.keys() {
                let refers = !tx.rows(name)?.schema().foreign_keys.is_empty();
                if refers != (pass == 0) {
                    continue;
                }
                let schema = tx.rows(name)?.schema().clone();
                let there = tx.rows(name)?;
                let rows = there.scan().map(|row| row?.to_values());
                let rows = rows.collect::<Result<Vec<_>, Error>>()?;
                for values in &rows {
                    assert!(tx.rows(name)?.delete(&key_of(&schema, values))?, "{name}");
                }
                taken.push((name, rows));
            }
        }
        for (name, rows) in taken.iter().rev() {
            for values in rows {
                tx.rows(name)?.insert_values(values)?;
            }
        }
        Err::<(), _>(Error::other("as planned"))
    });
    assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
}

/// Runs what is left of a script, as far as the disk lets it: how many transactions were acknowledged and begun.
fn run(database: &Tables, script: &[Step], done: usize) -> (usize, usize) {
    let (mut at, mut acknowledged) = (0, done);
    for step in script {
        match step {
            Run(_) if at < done => at += 1,
            Run(change) => {
                at += 1;
                if database.run(*change).is_err() {
                    return (acknowledged, at);
                }
                acknowledged = at;
            }
            Checkpoint if at < done => {}
            Checkpoint => {
                if database.checkpoint().is_err() {
                    return (acknowledged, at);
                }
            }
        }
    }
    (acknowledged, at)
}

/// Crashes at every step of a script. Returns how many there are.
fn explore(name: &str, base: &SimulatedDisk, script: &[Step]) -> u64 {
    // What it should be after each transaction.
    let disk = base.restart(Faults::default());
    let database = open(disk.clone()).expect("opens");
    let opened = disk.steps();
    let mut states = vec![contents(&database)];
    for step in script {
        match step {
            Run(change) => {
                let done = database.run(*change);
                done.unwrap_or_else(|error| panic!("{name}: {error}"));
                let state = contents(&database);
                check_indexes(&database, &state);
                assert!(contents(&database) == state, "{name}: undone");
                states.push(state);
            }
            Checkpoint => database.checkpoint().expect("a checkpoint"),
        }
    }
    drop(database);
    let mut seeds = base.clone();
    for step in opened + 1.. {
        seeds = seeds.restart(Faults::default());
        let disk = seeds.restart(Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        });
        let (mut acknowledged, mut begun) = (0, 0);
        if let Ok(database) = open(disk.clone()) {
            (acknowledged, begun) = run(&database, script, 0);
        }
        let has_crashed = disk.has_crashed();
        let disk = disk.restart(Faults::default());
        let database = open(disk.clone());
        let database = database.unwrap_or_else(|error| panic!("{name}, step {step}: {error}"));
        let found = contents(&database);
        let possible = &states[acknowledged..=begun];
        let at = possible.iter().position(|state| *state == found);
        let Some(at) = at else {
            panic!("{name}, step {step}: {acknowledged} to {begun}\n{found:?}\n{possible:?}");
        };
        check_indexes(&database, &found);
        // It goes on.
        let (done, _) = run(&database, script, acknowledged + at);
        assert_eq!(done + 1, states.len(), "{name}, step {step}");
        drop(database);
        // To open it once more takes a third of the time.
        if has_crashed && step % 4 != 0 {
            continue;
        }
        let database = open(disk.restart(Faults::default())).expect("opens");
        let found = contents(&database);
        assert!(
            found == *states.last().expect("one"),
            "{name}, step {step}: the end"
        );
        if !has_crashed {
            return step - opened;
        }
    }
    unreachable!("a script ends")
}

fn text(seed: u64) -> String {
    "abcdefghij".repeat((seed * 37 % 60) as usize)
}

/// People, their orders, and plain records.
fn base() -> SimulatedDisk {
    let disk = SimulatedDisk::new(3, Faults::default());
    let database = open(disk.clone()).expect("opens");
    let people = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .column("age", Type::I16)
        .column("code", Type::U32)
        .column("team", Type::I16)
        .nullable()
        .primary_key(["id"])
        .index("by_code", ["code"])
        .ordered()
        .unique()
        .index("by_team", ["team desc", "name"])
        .ordered();
    let orders = Schema::new()
        .column("id", Type::U64)
        .column("person", Type::U64)
        .nullable()
        .column("note", Type::Text)
        .primary_key(["id"])
        .ordered()
        .index("by_person", ["person"])
        .ordered()
        .foreign_key("of", ["person"], "people", ["id"])
        .cascade();
    database.create_table("people", people).expect("created");
    database.create_table("orders", orders).expect("created");
    let items = database.table::<Item>().expect("declared");
    let filled = database.run(|tx| {
        for id in 0..12 {
            person(tx, id)?;
            order(tx, id, id % 5)?;
            tx.insert(items, &Item::new(id, id))?;
        }
        Ok(())
    });
    filled.expect("filled");
    database.close().expect("closes");
    disk
}

fn person(tx: &mut Transaction<'_>, id: u64) -> Result<(), Error> {
    let team = match id % 4 {
        0 => Value::Null,
        team => team.into(),
    };
    tx.rows("people")?.insert(&[
        ("id", id.into()),
        ("name", text(id).as_str().into()),
        ("age", id.into()),
        ("code", (1000 - id).into()),
        ("team", team),
    ])
}

fn order(tx: &mut Transaction<'_>, id: u64, person: u64) -> Result<(), Error> {
    tx.rows("orders")?.insert(&[
        ("id", id.into()),
        ("person", person.into()),
        ("note", text(id + 1).as_str().into()),
    ])
}

fn next_id(tx: &mut Transaction<'_>, table: &str) -> Result<u64, Error> {
    let mut next = 20;
    for row in tx.rows(table)?.scan() {
        if let Value::Int(id) = row?.get("id")?.to_value() {
            next = next.max(id as u64 + 1);
        }
    }
    Ok(next)
}

/// Changes of rows that the tables of the base take in every shape, but for columns that may have gone.
fn rows(tx: &mut Transaction<'_>) -> Result<(), Error> {
    let some = next_id(tx, "people")?;
    tx.rows("people")?.insert(&[
        ("id", some.into()),
        ("name", text(some).as_str().into()),
        ("age", 9.into()),
        ("code", (2000 + some).into()),
    ])?;
    let longer = text(some * 7);
    let longer = [
        ("name", longer.as_str().into()),
        ("code", (5000 + some).into()),
    ];
    tx.rows("people")?.update(&[7.into()], &longer)?;
    tx.rows("people")?.delete(&[(some % 7).into()])?;
    Ok(())
}

fn more_orders(tx: &mut Transaction<'_>) -> Result<(), Error> {
    let some = next_id(tx, "orders")?;
    for id in some..some + 3 {
        order(tx, id, 7)?;
    }
    tx.rows("orders")?.delete(&[(some % 12).into()])?;
    rows(tx)
}

fn number(tx: &mut Transaction<'_>, table: &str) -> Result<u16, Error> {
    Ok(tx.rows(table)?.number())
}

fn by(name: &str, column: usize, unique: bool) -> IndexDefinition {
    IndexDefinition {
        name: name.to_string(),
        kind: IndexKind::Ordered,
        unique,
        key: vec![KeyPart {
            column,
            descending: false,
        }],
    }
}

/// A change, and changes of rows that go with it: before, and after.
struct Case {
    name: &'static str,
    before: Change,
    change: Change,
    after: Change,
}

const CASES: [Case; 17] = [
    Case {
        name: "create a table",
        before: rows,
        change: |tx| {
            let schema = Schema::new()
                .column("id", Type::U64)
                .column("text", Type::Text)
                .primary_key(["id"])
                .index("by_text", ["text"])
                .ordered();
            tx.create_table("fresh", schema).map(drop)
        },
        after: |tx| {
            for id in 0..9_u64 {
                let text = text(id * 5);
                let row = [("id", id.into()), ("text", text.as_str().into())];
                tx.rows("fresh")?.insert(&row)?;
            }
            tx.rows("fresh")?.delete(&[4.into()]).map(drop)
        },
    },
    Case {
        name: "add a column with a default",
        before: rows,
        change: |tx| tx.add_column("people", "points", Type::I64, false, 5.into()),
        after: |tx| {
            rows(tx)?;
            let row = [("points", 6.into())];
            tx.rows("people")?.update(&[8.into()], &row)?;
            tx.rows("people")?.delete(&[9.into()]).map(drop)
        },
    },
    Case {
        name: "add a column of text",
        before: rows,
        change: |tx| tx.add_column("people", "more", Type::Text, true, Value::Null),
        after: |tx| {
            rows(tx)?;
            let more = text(41);
            for id in 7..10 {
                let row = [("more", more.as_str().into())];
                tx.rows("people")?.update(&[id.into()], &row)?;
            }
            tx.rows("people")?.delete(&[9.into()]).map(drop)
        },
    },
    Case {
        name: "drop a column",
        before: more_orders,
        change: |tx| tx.drop_column("orders", "note"),
        after: |tx| {
            let row = [("id", 77.into()), ("person", 7.into())];
            tx.rows("orders")?.insert(&row)?;
            tx.rows("orders")?.delete(&[3.into()]).map(drop)
        },
    },
    Case {
        name: "rename a column",
        before: more_orders,
        change: |tx| tx.rename_column("orders", "note", "remark"),
        after: |tx| {
            let row = [("remark", "changed".into())];
            tx.rows("orders")?.update(&[4.into()], &row).map(drop)
        },
    },
    Case {
        name: "widen a column",
        before: rows,
        change: |tx| tx.widen_column("people", "age", Type::I64),
        after: |tx| {
            rows(tx)?;
            let row = [("age", (1_i64 << 40).into())];
            tx.rows("people")?.update(&[8.into()], &row).map(drop)
        },
    },
    Case {
        name: "drop a table",
        before: more_orders,
        change: |tx| tx.drop_table("orders"),
        // Its pages are used again.
        after: |tx| {
            let items = tx.declare_table::<Item>()?;
            for id in 100..200 {
                tx.insert(items, &Item::new(id, 3))?;
            }
            rows(tx)
        },
    },
    Case {
        name: "drop a table and create one of its name",
        before: more_orders,
        change: |tx| {
            tx.drop_table("orders")?;
            let schema = Schema::new()
                .column("id", Type::U64)
                .column("note", Type::Text)
                .column("person", Type::U64)
                .primary_key(["id"]);
            tx.create_table("orders", schema).map(drop)
        },
        after: more_orders,
    },
    Case {
        name: "rename a table",
        before: more_orders,
        change: |tx| tx.rename_table("people", "persons"),
        after: |tx| {
            let row = [("age", 3.into())];
            tx.rows("persons")?.update(&[8.into()], &row)?;
            order(tx, 300, 8)
        },
    },
    Case {
        name: "empty a table",
        before: more_orders,
        change: |tx| tx.truncate("orders"),
        after: more_orders,
    },
    Case {
        name: "empty a table of several shapes",
        before: |tx| {
            more_orders(tx)?;
            tx.add_column("orders", "rest", Type::Uuid, true, Value::Null)?;
            tx.add_column("orders", "parts", Type::I32, false, 3.into())?;
            more_orders(tx)
        },
        change: |tx| tx.truncate("orders"),
        after: |tx| {
            more_orders(tx)?;
            let row = [("rest", Value::Uuid([7; 16])), ("parts", 1.into())];
            tx.rows("orders")?.update(&[22.into()], &row).map(drop)
        },
    },
    Case {
        name: "create an index",
        before: more_orders,
        change: |tx| {
            let orders = number(tx, "orders")?;
            tx.create_index(orders, by("by_note", 2, false))
        },
        after: more_orders,
    },
    Case {
        name: "create an index of an added column",
        before: |tx| {
            rows(tx)?;
            tx.add_column("people", "points", Type::I64, true, 5.into())
        },
        change: |tx| {
            let people = number(tx, "people")?;
            tx.create_index(people, by("by_points", 5, false))
        },
        after: rows,
    },
    Case {
        name: "drop an index",
        before: rows,
        change: |tx| {
            let people = number(tx, "people")?;
            tx.drop_index(people, "by_code")
        },
        after: |tx| {
            rows(tx)?;
            let row = [("code", 1.into())];
            tx.rows("people")?.update(&[8.into()], &row)?;
            tx.rows("people")?.update(&[9.into()], &row).map(drop)
        },
    },
    Case {
        name: "add a reference",
        before: |tx| {
            tx.declare_table::<Known>()?;
            rows(tx)
        },
        change: |tx| {
            let orders = number(tx, "orders")?;
            let items = tx.declare_table::<Item>()?.number();
            let reference = ForeignKey {
                name: "item".to_string(),
                columns: vec![0],
                table: items,
                referenced: vec![0],
                on_delete: OnDelete::Restrict,
            };
            tx.add_reference(orders, reference)
        },
        after: |tx| {
            let items = tx.declare_table::<Item>()?;
            assert!(tx.delete(items, &11).is_err());
            assert!(order(tx, 100, 7).is_err());
            tx.insert(items, &Item::new(100, 100))?;
            order(tx, 100, 7)
        },
    },
    Case {
        name: "drop a reference",
        before: rows,
        change: |tx| {
            let orders = number(tx, "orders")?;
            tx.drop_reference(orders, "of")
        },
        after: |tx| {
            tx.rows("people")?.delete(&[9.into()])?;
            order(tx, 100, 9)
        },
    },
    Case {
        name: "adopt a table of an older database",
        before: |tx| {
            let items = tx.declare_table::<Item>()?;
            tx.insert(items, &Item::new(50, 1)).map(drop)
        },
        change: |tx| tx.declare_table::<Known>().map(drop),
        after: |tx| tx.add_column("items", "more", Type::Text, false, "no".into()),
    },
];

#[derive(
    Clone,
    Copy,
    zerocopy::FromBytes,
    zerocopy::IntoBytes,
    zerocopy::Immutable,
    zerocopy::KnownLayout,
)]
#[repr(C)]
struct Known {
    id: u64,
    value: u64,
    filler: [u8; 112],
}
record!(Known { table: "items", key: id: u64, fields: { id: u64, value: u64, filler: [u8; 112] } });

#[test]
fn each_change_alone_is_whole_after_a_crash_at_any_step() {
    let base = base();
    let mut crashes = 0;
    for case in &CASES {
        let script = [
            Run(case.before),
            Run(case.change),
            Checkpoint,
            Run(case.after),
        ];
        crashes += explore(case.name, &base, &script);
    }
    println!("{crashes} crashes");
    assert!(crashes > 300, "{crashes}");
}

#[test]
fn each_change_among_changes_of_rows_is_whole_after_a_crash_at_any_step() {
    /// The three parts of a case in one transaction, for each case.
    macro_rules! whole {
        ($($case:literal)*) => {
            [$((
                CASES[$case].name,
                (|tx| {
                    (CASES[$case].before)(tx)?;
                    (CASES[$case].change)(tx)?;
                    (CASES[$case].after)(tx)
                }) as Change,
            )),*]
        };
    }
    let base = base();
    let mut crashes = 0;
    for (name, whole) in whole!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) {
        crashes += explore(name, &base, &[Run(whole)]);
    }
    println!("{crashes} crashes");
    assert!(crashes > 100, "{crashes}");
}

/// One change after the other on the same tables.
#[test]
fn many_changes_are_whole_after_a_crash_at_any_step() {
    let script = [
        Run(CASES[1].change),
        Run(more_orders),
        Checkpoint,
        Run(CASES[2].change),
        Run(CASES[5].change),
        Run(more_orders),
        Run(CASES[11].change),
        Checkpoint,
        Run(CASES[9].change),
        Run(more_orders),
        Run(|tx| tx.drop_column("people", "points")),
        Run(rows),
        Checkpoint,
        Run(CASES[6].change),
        Run(CASES[6].after),
        Run(|tx| tx.rename_table("people", "orders")),
    ];
    let crashes = explore("many", &base(), &script);
    println!("{crashes} crashes");
    assert!(crashes > 60, "{crashes}");
}
