//! Open transactions: their reads and writes beside the tables, their results at the end, and their equivalence to a
//! serial order.

use crate::support::{STORE_BYTES, World};
use sardonyx_base::error::Error;
use sardonyx_base::random::Random;
use sardonyx_rows::CountedRows;
use sardonyx_rows::constraints::{ConstrainedRows, Due};
use sardonyx_rows::read::{ReadIndex, ReadRow};
use sardonyx_rows::schema::{PRIMARY, Schema, Type, Value};
use sardonyx_rows::{Rows, TableError};
use sardonyx_table::{LeftRows, OpenRows};

/// Items by an ordered or a hashed key, with a unique code and an index; parts that refer to items.
struct Stock {
    world: World,
    items: u16,
    parts: u16,
}

const ITEMS: &str = "items";
const PARTS: &str = "parts";

impl Stock {
    fn new(is_ordered: bool) -> Stock {
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

    fn begin(&mut self) -> OpenRows {
        OpenRows::begin(self.world.space.snapshot().expect("a snapshot"))
    }

    /// Runs steps as a transaction of the stage.
    fn closure(&mut self, steps: &[Step]) -> Vec<String> {
        let (items, parts) = (self.items, self.parts);
        self.world.commit(|tx| {
            let steps = steps.iter();
            steps.map(|step| step.run(tx, items, parts)).collect()
        })
    }

    /// Ends an open transaction.
    fn install(&mut self, open: OpenRows) -> Result<(), Error> {
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

    fn conflicts(&mut self, open: OpenRows) -> bool {
        match self.install(open) {
            Ok(()) => false,
            Err(Error::Conflict(_)) => true,
            Err(error) => panic!("{error}"),
        }
    }

    fn all(&mut self) -> String {
        self.closure(&[Step::Scan, Step::Parts]).join("; ")
    }
}

/// A step of a transaction.
#[derive(Clone, Debug)]
enum Step {
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

fn shown(row: &dyn ReadRow) -> String {
    let value = |column| format!("{:?}", row.value_at(column).expect("a value"));
    format!("({} {} {})", value(0), value(1), value(2))
}

fn told<T: std::fmt::Debug>(result: Result<T, sardonyx_base::error::Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error}"),
    }
}

impl Step {
    /// Runs it, and returns its result.
    fn run<S: ConstrainedRows + CountedRows>(
        &self,
        store: &mut S,
        items: u16,
        parts: u16,
    ) -> String {
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
            Step::Count => rows.count().to_string(),
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

    fn random(random: &mut Random) -> Step {
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

/// An open transaction, its steps, and its results.
struct Running {
    open: OpenRows,
    steps: Vec<Step>,
    told: Vec<String>,
}

/// Open transactions and closures, interleaved by a seed. At the end of each the same steps are run as a closure that
/// is undone: its results decide if the open one may end.
fn interleave(seed: u64, is_ordered: bool) -> (u64, u64) {
    let mut random = Random::new(seed);
    let mut stock = Stock::new(is_ordered);
    let (items, parts) = (stock.items, stock.parts);
    let mut running: Vec<Running> = Vec::new();
    let (mut ended, mut needless) = (0, 0);
    for _ in 0..120 {
        match random.below(10) {
            0..=1 if running.len() < 4 => {
                let open = stock.begin();
                running.push(Running {
                    open,
                    steps: Vec::new(),
                    told: Vec::new(),
                });
            }
            2..=3 => {
                let step = Step::random(&mut random);
                stock.closure(&[step]);
            }
            4 if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                let Running { open, steps, told } = running.swap_remove(at);
                let mut tx = stock.world.space.begin(&mut stock.world.log);
                let now: Vec<String> = (steps.iter())
                    .map(|step| step.run(&mut tx, items, parts))
                    .collect();
                let state = [Step::Scan, Step::Parts].map(|step| step.run(&mut tx, items, parts));
                tx.abort();
                stock.world.redo();
                let conflict = stock.conflicts(open);
                ended += 1;
                if now == told {
                    needless += u64::from(conflict);
                    if !conflict {
                        assert_eq!(stock.all(), state.join("; "), "seed {seed}: {steps:?}");
                    }
                } else {
                    assert!(conflict, "seed {seed}: {steps:?}\n{told:?}\n{now:?}");
                }
            }
            _ if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                let one = &mut running[at];
                let step = Step::random(&mut random);
                one.told.push(step.run(&mut one.open, items, parts));
                one.steps.push(step);
            }
            _ => {}
        }
    }
    (ended, needless)
}

#[test]
fn open_transactions_and_closures_are_as_if_run_one_after_another() {
    let (mut ended, mut needless) = (0, 0);
    let seeds = sardonyx_base::random::seeds(120);
    for seed in 0..seeds {
        let (one, other) = interleave(seed, seed % 2 == 0);
        ended += one;
        needless += other;
    }
    assert!(ended > 5 * seeds, "{ended} ended");
    // A row further than was wanted may have been looked at. A change reads its row, even if it returns nothing of it.
    assert!(
        needless * 20 < ended,
        "{needless} of {ended} conflicted without a cause"
    );
}

/// Steps of an open transaction, then of others, and whether it conflicts.
fn meets(open_steps: &[Step], others: &[Step]) -> bool {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    for step in open_steps {
        step.run(&mut open, items, parts);
    }
    stock.closure(others);
    stock.conflicts(open)
}

#[test]
fn named_anomalies_are_conflicts() {
    // Lost update.
    assert!(meets(&[Step::Add(1, 1)], &[Step::Add(1, 1)]));
    // Write skew: it read rows that the other changed.
    assert!(meets(
        &[Step::Get(1), Step::SetAmount(2, 4)],
        &[Step::SetAmount(1, 4)]
    ));
    // A row that was absent came.
    assert!(meets(
        &[Step::Get(9), Step::SetAmount(2, 4)],
        &[Step::Insert(9, 1, None)]
    ));
    // Phantoms: in a range, in an index, in a scan, in a number of rows.
    let inserted = [Step::Insert(9, 4, None)];
    for read in [
        Step::Range(8, 20, 10, false),
        Step::Range(8, 20, 10, true),
        Step::ByAmount(4),
        Step::CountAmounts(4, 5),
        Step::Count,
        Step::Scan,
    ] {
        assert!(
            meets(&[read.clone(), Step::SetAmount(2, 3)], &inserted),
            "{read:?}"
        );
    }
    // A unique code that was free is taken; a key, too.
    assert!(meets(
        &[Step::SetCode(1, Some(77))],
        &[Step::SetCode(2, Some(77))]
    ));
    assert!(meets(
        &[Step::Insert(9, 1, None)],
        &[Step::Insert(9, 1, None)]
    ));
    // The row that it refers to goes; a row comes that refers to the one that it deleted.
    assert!(meets(&[Step::InsertPart(1, 5)], &[Step::Delete(5)]));
    assert!(meets(&[Step::Delete(5)], &[Step::InsertPart(1, 5)]));
}

#[test]
fn what_is_not_in_the_way_is_no_conflict() {
    // Other keys, in the same pages.
    assert!(!meets(
        &[Step::Insert(20, 1, None)],
        &[Step::Insert(21, 1, None)]
    ));
    assert!(!meets(
        &[Step::Add(1, 1)],
        &[Step::Add(2, 1), Step::Delete(3)]
    ));
    // Rows beside a range, or behind its read part.
    assert!(!meets(
        &[Step::Range(0, 3, 10, false), Step::SetAmount(1, 4)],
        &[Step::SetAmount(5, 4), Step::Insert(30, 1, None)]
    ));
    assert!(!meets(
        &[Step::Range(0, 100, 2, false), Step::SetAmount(1, 4)],
        &[Step::Insert(30, 1, None)]
    ));
    // A value that came back.
    assert!(!meets(
        &[Step::Get(1), Step::SetAmount(2, 4)],
        &[Step::SetAmount(1, 3), Step::SetAmount(1, 1)]
    ));
    // A number that stayed, of other rows.
    assert!(!meets(
        &[Step::Count, Step::SetAmount(2, 4)],
        &[Step::Insert(40, 1, None), Step::Delete(7)]
    ));
}

#[test]
fn many_reads_are_compared_as_few_are() {
    // Each of these is more than are compared one by one.
    let keys: Vec<Step> = (0..700).map(|id| Step::Get(2 * id)).collect();
    let range = [Step::Range(100, 1100, 2000, false)];
    let codes: Vec<Step> = (0..700).map(|code| Step::ByCode(2 * code)).collect();
    let amounts: Vec<Step> = (0..700)
        .map(|amount| Step::CountAmounts(4 * amount, 4 * amount + 2))
        .collect();
    let cases: [(&[Step], Step, bool); 23] = [
        (&keys, Step::SetAmount(6, 9), true),
        (&keys, Step::Delete(1000), true),
        // A key that was absent.
        (&keys, Step::Insert(1302, 1, None), true),
        (&keys, Step::SetCode(8, Some(9999)), true),
        // Others in the same pages.
        (&keys, Step::SetAmount(7, 9), false),
        (&keys, Step::Insert(1301, 1, None), false),
        (&keys, Step::Delete(9), false),
        (&range, Step::SetAmount(101, 9), true),
        (&range, Step::Delete(1099), true),
        (&range, Step::Insert(500, 1, None), true),
        (&range, Step::SetAmount(99, 9), false),
        (&range, Step::Insert(1102, 1, None), false),
        (&range, Step::Delete(3), false),
        (&codes, Step::SetAmount(6, 9), true),
        (&codes, Step::SetCode(6, None), true),
        // A code that was absent, and the first one of another row.
        (&codes, Step::SetCode(9, Some(1000)), true),
        (&codes, Step::SetCode(9, Some(1001)), false),
        (&codes, Step::Delete(7), false),
        (&amounts, Step::SetAmount(9, 804), true),
        (&amounts, Step::Delete(10), true),
        (&amounts, Step::SetAmount(9, 806), true),
        (&amounts, Step::SetAmount(5, 804), true),
        (&amounts, Step::SetAmount(5, 806), false),
    ];
    for (reads, change, conflicts) in cases {
        for is_ordered in [false, true] {
            let mut stock = Stock::new(is_ordered);
            let (items, parts) = (stock.items, stock.parts);
            let rows = (8..1100).filter(|id| *id != 500);
            let rows: Vec<Step> = rows.map(|id| Step::Insert(id, 1, None)).collect();
            stock.closure(&rows);
            let mut open = stock.begin();
            for step in reads {
                step.run(&mut open, items, parts);
            }
            Step::SetAmount(4, 5).run(&mut open, items, parts);
            stock.closure(std::slice::from_ref(&change));
            // A key that is found by its hash has no order: then nothing is read.
            let has_read = is_ordered || reads.len() > 1;
            assert_eq!(stock.conflicts(open), conflicts && has_read, "{change:?}");
        }
    }
}

#[test]
fn a_value_outside_of_its_row_is_compared_with_the_row() {
    // Of the same length and beginning as the code before: the row's bytes do not change.
    let code = |step: &str| Value::from(format!("code 1 of a text that is {step} than its place"));
    let reads = [
        Step::Get(1),
        Step::Range(0, 100, 100, false),
        Step::ByAmount(1),
        Step::Scan,
    ];
    for read in reads {
        for (changed, conflicts) in [("larger", true), ("longer", false)] {
            let mut stock = Stock::new(true);
            let (items, parts) = (stock.items, stock.parts);
            let mut open = stock.begin();
            read.run(&mut open, items, parts);
            let change = |stock: &mut Stock, step: &str| {
                stock.world.commit(|tx| {
                    let mut rows = Rows::numbered(tx, items).expect("a table");
                    rows.update(&[Value::from(1)], &[("code", code(step))])
                        .expect("updated");
                });
            };
            change(&mut stock, "larger");
            if changed == "longer" {
                change(&mut stock, "longer");
            }
            assert_eq!(stock.conflicts(open), conflicts, "{read:?}");
        }
    }
}

#[test]
fn rows_exchange_what_is_unique() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    for step in [
        Step::SetCode(1, None),
        Step::SetCode(2, Some(1)),
        Step::SetCode(1, Some(2)),
    ] {
        assert_eq!(step.run(&mut open, items, parts), "true");
    }
    assert!(!stock.conflicts(open));
    let told = stock.closure(&[Step::ByCode(1), Step::ByCode(2)]);
    assert!(
        told[0].starts_with("(Int(2) ") && told[1].starts_with("(Int(1) "),
        "{told:?}"
    );
}

#[test]
fn marks_take_back_rows_and_entries() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    let all = |open: &mut OpenRows| {
        [Step::Scan, Step::ByAmount(4), Step::ByCode(50), Step::Count]
            .map(|step| step.run(open, items, parts))
    };
    let before = all(&mut open);
    let mark = open.mark();
    for step in [
        Step::Insert(50, 4, Some(50)),
        Step::SetAmount(1, 4),
        Step::Delete(2),
        Step::Insert(2, 4, None),
    ] {
        step.run(&mut open, items, parts);
    }
    let inner = open.mark();
    assert_ne!(all(&mut open), before);
    open.return_to(mark).expect("marked");
    assert_eq!(all(&mut open), before);
    assert!(open.return_to(inner).is_err());
    assert!(!open.has_changes());
}

#[test]
fn held_references_are_checked_when_they_are_due() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    open.hold_references(true);
    assert_eq!(Step::InsertPart(1, 99).run(&mut open, items, parts), "()");
    open.hold_references(false);
    assert_eq!(open.held_references().len(), 1);
    let error = open.check_held(|_| Due::NOW).unwrap_err();
    assert!(
        matches!(error, TableError::NoSuchReference { .. }),
        "{error}"
    );
    assert_eq!(Step::Insert(99, 1, None).run(&mut open, items, parts), "()");
    open.check_held(|_| Due::NOW).expect("it is there now");
    assert!(!stock.conflicts(open));
}

#[test]
fn one_that_only_read_is_compared_too_when_it_is_installed() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let read = |stock: &mut Stock| {
        let mut open = stock.begin();
        Step::Get(1).run(&mut open, items, parts);
        assert!(!open.has_changes());
        open
    };
    let stale = read(&mut stock);
    stock.closure(&[Step::SetAmount(1, 7)]);
    // The transaction continues behind the installation, with the reads of this one.
    assert!(stock.conflicts(stale));
    let fresh = read(&mut stock);
    assert!(!stock.conflicts(fresh));
}

#[test]
fn a_change_of_the_schema_is_a_conflict() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin();
    Step::SetAmount(1, 4).run(&mut open, items, parts);
    let number = stock.items;
    stock
        .world
        .commit(|tx| tx.drop_index(number, "by_amount").expect("dropped"));
    assert!(stock.conflicts(open));
}

#[test]
fn what_it_keeps_is_bounded() {
    let mut stock = Stock::new(true);
    let (items, parts) = (stock.items, stock.parts);
    let mut open = stock.begin().with_bytes_max(2000);
    let told: Vec<String> = (100..200)
        .map(|id| Step::Insert(id, 1, None).run(&mut open, items, parts))
        .collect();
    assert_eq!(told[0], "()");
    assert!(told[99].contains("limit"), "{}", told[99]);
    // Its changes are still there.
    assert!(!stock.conflicts(open));
    assert_eq!(
        stock.closure(&[Step::Get(100)])[0],
        "(Int(100) Int(1) Null)"
    );
}
