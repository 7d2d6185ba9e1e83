//! A stock of items and parts, and steps on it that an open transaction and a closure run alike.

use crate::support::{STORE_BYTES, World};
use sardonyx_base::error::Error;
use sardonyx_base::random::Random;
use sardonyx_rows::Rows;
use sardonyx_rows::constraints::ConstrainedRows;
use sardonyx_rows::read::ReadRow;
use sardonyx_rows::schema::{PRIMARY, Schema, Type, Value};
use sardonyx_table::{LeftRows, OpenRows};

/// Items by an ordered or a hashed key, with a unique code and an index; parts that refer to items.
pub struct Stock {
    pub world: World,
    pub items: u16,
    pub parts: u16,
}

pub const ITEMS: &str = "items";
pub const PARTS: &str = "parts";

impl Stock {
    pub fn new(is_ordered: bool) -> Stock {
        let mut world = World::with_memory(STORE_BYTES);
        let (items, parts) = world.commit(|tx| {
            let items = Schema::new()
                .column("id", Type::I64)
                .column("amount", Type::I64)
                .column("code", Type::Text)
                .nullable()
                .primary_key(["id"]);
            let items = match is_ordered {
                true => items.ordered(),
                false => items,
            };
            let items = items
                .index("by_amount", ["amount"])
                .ordered()
                .index("by_code", ["code"])
                .ordered()
                .unique()
                .check("not_negative", "amount >= 0");
            let items = tx.create_table(ITEMS, items).expect("created");
            let parts = Schema::new()
                .column("id", Type::I64)
                .column("item", Type::I64)
                .primary_key(["id"])
                .ordered()
                .index("by_item", ["item"])
                .ordered()
                .foreign_key("item_fkey", ["item"], ITEMS, ["id"]);
            let parts = tx.create_table(PARTS, parts).expect("created");
            (items, parts)
        });
        let mut stock = Stock {
            world,
            items,
            parts,
        };
        for id in 0..8 {
            stock.closure(&[Step::Insert(id, id % 3, Some(id))]);
        }
        stock
    }

    pub fn begin(&mut self) -> OpenRows {
        OpenRows::begin(self.world.space.snapshot().expect("a snapshot"))
    }

    /// Runs steps as a transaction of the stage.
    pub fn closure(&mut self, steps: &[Step]) -> Vec<String> {
        let (items, parts) = (self.items, self.parts);
        self.world.commit(|tx| {
            let steps = steps.iter();
            steps.map(|step| step.run(tx, items, parts)).collect()
        })
    }

    /// Ends an open transaction.
    pub fn install(&mut self, open: OpenRows) -> Result<(), Error> {
        let mut tx = self.world.space.begin(&mut self.world.log);
        let mut left = LeftRows::default();
        let done = open.install(&mut tx, &mut left);
        match done.is_ok() {
            true => drop(tx.commit()),
            false => tx.abort(),
        }
        self.world.redo();
        done
    }

    pub fn conflicts(&mut self, open: OpenRows) -> bool {
        match self.install(open) {
            Ok(()) => false,
            Err(Error::Conflict(_)) => true,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn all(&mut self) -> String {
        self.closure(&[Step::Scan, Step::Parts]).join("; ")
    }
}

/// A step of a transaction.
#[derive(Clone, Debug)]
pub enum Step {
    Get(i64),
    Insert(i64, i64, Option<i64>),
    SetAmount(i64, i64),
    Add(i64, i64),
    SetCode(i64, Option<i64>),
    Delete(i64),
    /// By the primary key, so many from the lower or from the upper end.
    Range(i64, i64, usize, bool),
    ByAmount(i64),
    ByCode(i64),
    CountAmounts(i64, i64),
    Count,
    Scan,
    InsertPart(i64, i64),
    DeletePart(i64),
    Parts,
}

pub fn shown(row: &dyn ReadRow) -> String {
    let value = |column| format!("{:?}", row.value_at(column).expect("a value"));
    format!("({} {} {})", value(0), value(1), value(2))
}

pub fn told<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error}"),
    }
}

impl Step {
    /// Runs it, and returns its result.
    pub fn run<S: ConstrainedRows>(&self, store: &mut S, items: u16, parts: u16) -> String {
        let table = match self {
            Step::InsertPart(..) | Step::DeletePart(_) | Step::Parts => parts,
            _ => items,
        };
        let code = |code: &Option<i64>| match code {
            Some(code) => Value::from(format!(
                "code {code} of a text that is longer than its place"
            )),
            None => Value::Null,
        };
        let mut rows = Rows::numbered(store, table).expect("a table");
        match self {
            Step::Get(id) => match rows.get(&[Value::from(*id)]).expect("read") {
                Some(row) => shown(&row),
                None => "none".into(),
            },
            Step::Insert(id, amount, given) => told(rows.insert(&[
                ("id", Value::from(*id)),
                ("amount", Value::from(*amount)),
                ("code", code(given)),
            ])),
            Step::SetAmount(id, amount) => {
                told(rows.update(&[Value::from(*id)], &[("amount", Value::from(*amount))]))
            }
            Step::Add(id, more) => {
                let key = [Value::from(*id)];
                let there = rows.get(&key).expect("read").map(|row| {
                    let value = row.value_at(1).expect("a value");
                    match value {
                        sardonyx_rows::schema::ValueRef::Int(value) => value as i64,
                        _ => 0,
                    }
                });
                let Some(there) = there else {
                    return "none".into();
                };
                told(rows.update(&key, &[("amount", Value::from(there + more))]))
            }
            Step::SetCode(id, given) => {
                told(rows.update(&[Value::from(*id)], &[("code", code(given))]))
            }
            Step::Delete(id) | Step::DeletePart(id) => told(rows.delete(&[Value::from(*id)])),
            Step::Range(from, to, most, from_back) => {
                let Ok(index) = rows.index(PRIMARY) else {
                    return "no order".into();
                };
                let range = index.range_or_none((*from,)..(*to,)).expect("a range");
                let found: Vec<String> = match from_back {
                    true => (range.rev().take(*most))
                        .map(|row| shown(&row.expect("a row")))
                        .collect(),
                    false => (range.take(*most))
                        .map(|row| shown(&row.expect("a row")))
                        .collect(),
                };
                found.join(" ")
            }
            Step::ByAmount(amount) => {
                let index = rows.index("by_amount").expect("an index");
                let found = index.prefix((*amount,)).expect("a range");
                let mut found: Vec<_> = found.map(|row| shown(&row.expect("a row"))).collect();
                found.sort();
                found.join(" ")
            }
            Step::ByCode(given) => {
                let index = rows.index("by_code").expect("an index");
                let key = [code(&Some(*given))];
                match index.get_by(&key[..]).expect("read") {
                    Some(row) => shown(&row),
                    None => "none".into(),
                }
            }
            Step::CountAmounts(from, to) => {
                let index = rows.index("by_amount").expect("an index");
                told(index.count_range_or_none((*from,)..(*to,)))
            }
            Step::Count => rows.count().expect("counted").to_string(),
            Step::Scan => {
                let mut found: Vec<_> =
                    rows.scan().map(|row| shown(&row.expect("a row"))).collect();
                found.sort();
                found.join(" ")
            }
            Step::InsertPart(id, item) => {
                told(rows.insert(&[("id", Value::from(*id)), ("item", Value::from(*item))]))
            }
            Step::Parts => {
                let mut found: Vec<_> = rows
                    .scan()
                    .map(|row| {
                        let row = row.expect("a row");
                        let value =
                            |column| format!("{:?}", row.value_at(column).expect("a value"));
                        format!("({} {})", value(0), value(1))
                    })
                    .collect();
                found.sort();
                found.join(" ")
            }
        }
    }

    pub fn random(random: &mut Random) -> Step {
        let id = random.below(12) as i64;
        let amount = random.below(5) as i64;
        match random.below(22) {
            0..=2 => Step::Get(id),
            3..=4 => Step::Insert(id, amount, (amount > 1).then_some(id)),
            5..=6 => Step::SetAmount(id, amount - 1),
            7..=8 => Step::Add(id, 1),
            9 => Step::SetCode(id, Some(amount)),
            10 => Step::SetCode(id, None),
            11..=12 => Step::Delete(id),
            13 => Step::Range(id, id + 4, random.below(4) as usize, false),
            14 => Step::Range(id, id + 4, random.below(4) as usize, true),
            15 => Step::ByAmount(amount),
            16 => Step::ByCode(id),
            17 => Step::CountAmounts(amount, amount + 2),
            18 => Step::Count,
            19 => Step::Scan,
            20 => Step::InsertPart(id, amount),
            _ => match amount {
                0 => Step::Parts,
                _ => Step::DeletePart(id),
            },
        }
    }
}
