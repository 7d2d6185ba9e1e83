//! The database that changes its shape, and the changes.

use super::contents::open;
use crate::common::Item;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::low_level::Resident;
use sardonyx::schema::{
    ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, Type, Value,
};
use sardonyx::{Error, Transaction, record};

pub type Change = fn(&mut Transaction<'_>) -> Result<(), Error>;

fn text(seed: u64) -> String {
    "abcdefghij".repeat((seed * 37 % 60) as usize)
}

/// People, their orders, and plain records.
pub fn base() -> SimulatedDisk {
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

/// Changes of rows that the tables of the base take in every shape, but for columns that may have been dropped.
pub fn rows(tx: &mut Transaction<'_>) -> Result<(), Error> {
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

pub fn more_orders(tx: &mut Transaction<'_>) -> Result<(), Error> {
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
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart {
            column,
            descending: false,
        }],
    }
}

/// A change, and changes of rows that go with it: before, and after.
pub struct Case {
    pub name: &'static str,
    pub before: Change,
    pub change: Change,
    pub after: Change,
}

pub const CASES: [Case; 17] = [
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
                unchecked: Default::default(),
            };
            tx.add_reference(orders, reference)
        },
        after: |tx| {
            let items = tx.declare_table::<Item>()?;
            assert!(tx.delete(items, 11).is_err());
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

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Known {
    id: u64,
    value: u64,
    filler: [u8; 112],
}
record!(Known { table: "items", key: id: u64, fields: { id: u64, value: u64, filler: [u8; 112] } });
