//! Open transactions interleaved by a seed beside a serial model: each commit is as if all of it had run then, each conflict has
//! its reason, and no reference is left without its row. Each planted error is found.

use super::{begun, item};
use crate::open::planted::{PLANTED, Planted};
use crate::open::{LeftRows, OpenRows};
use crate::space::TableSpace;
use sardonyx_base::error::Error;
use sardonyx_base::random::Random;
use sardonyx_rows::schema::Value;
use sardonyx_rows::{ReadRow, ReadRows};
use sardonyx_storage::log::seal::GroupBuilder;
use std::collections::BTreeMap;

/// Items with their codes and kinds, and parts with their items, by id.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    items: BTreeMap<i64, (i64, i64)>,
    parts: BTreeMap<i64, i64>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Get(i64),
    Insert(i64, i64),
    Delete(i64),
    Recode(i64, i64),
    SetKind(i64, i64),
    CountKinds(i64),
    InsertPart(i64, i64),
    DeletePart(i64),
}

impl Step {
    fn random(random: &mut Random) -> Step {
        let mut below = |most| i64::try_from(random.below(most)).expect("small");
        let (id, other, kind) = (below(6), below(12), below(4));
        match below(12) {
            0 | 1 => Step::Get(id),
            2 | 3 => Step::Insert(id, other),
            4 => Step::Delete(id),
            5 => Step::Recode(id, other),
            6 | 7 => Step::SetKind(id, kind),
            8 | 9 => Step::CountKinds(kind),
            10 => Step::InsertPart(other, id),
            _ => Step::DeletePart(other),
        }
    }

    /// Runs it; returns the result.
    fn run(self, open: &mut OpenRows) -> String {
        let key = |id: i64| [Value::from(id)];
        let done = |done: Result<bool, Error>| format!("{:?}", done.ok());
        match self {
            Step::Get(id) => {
                let rows = open.rows("items").expect("a table");
                let found = rows.get(&key(id)).expect("read");
                let found = found.map(|row| {
                    let at = |column| row.value_at(column).expect("read").to_value();
                    (at(1), at(2))
                });
                format!("{found:?}")
            }
            Step::Insert(id, code) => {
                let mut rows = open.rows("items").expect("a table");
                let mut row = item(id);
                row[1].1 = Value::from(code);
                row[2].1 = Value::from(0);
                done(rows.insert(&row).map(|()| true))
            }
            Step::Delete(id) => done(open.rows("items").expect("a table").delete(&key(id))),
            Step::Recode(id, code) => {
                let mut rows = open.rows("items").expect("a table");
                done(rows.update(&key(id), &[("code", Value::from(code))]))
            }
            Step::SetKind(id, kind) => {
                let mut rows = open.rows("items").expect("a table");
                done(rows.update(&key(id), &[("kind", Value::from(kind))]))
            }
            Step::CountKinds(kind) => {
                let rows = open.rows("items").expect("a table");
                let index = rows.index("by_kind").expect("an index");
                let found: Result<Vec<_>, _> = index.range((kind,)..).expect("a range").collect();
                format!("{}", found.expect("read").len())
            }
            Step::InsertPart(id, item) => {
                let mut rows = open.rows("parts").expect("a table");
                let part = [("id", Value::from(id)), ("item", Value::from(item))];
                done(rows.insert(&part).map(|()| true))
            }
            Step::DeletePart(id) => done(open.rows("parts").expect("a table").delete(&key(id))),
        }
    }

    fn model(self, model: &mut Model) -> String {
        let done = |done: Option<bool>| format!("{done:?}");
        let Model { items, parts } = model;
        let has_code = |items: &BTreeMap<_, (i64, i64)>, code: i64, but: i64| {
            items
                .iter()
                .any(|(id, (there, _))| *there == code && *id != but)
        };
        match self {
            Step::Get(id) => {
                let found = items.get(&id);
                format!(
                    "{:?}",
                    found.map(|(code, kind)| (Value::from(*code), Value::from(*kind)))
                )
            }
            Step::Insert(id, code) => {
                let is_new = !items.contains_key(&id) && !has_code(items, code, id);
                if is_new {
                    items.insert(id, (code, 0));
                }
                done(is_new.then_some(true))
            }
            Step::Delete(id) => match parts.values().any(|item| *item == id) {
                true => done(None),
                false => done(Some(items.remove(&id).is_some())),
            },
            Step::Recode(id, code) => match items.contains_key(&id) {
                false => done(Some(false)),
                true if has_code(items, code, id) => done(None),
                true => {
                    items.entry(id).and_modify(|item| item.0 = code);
                    done(Some(true))
                }
            },
            Step::SetKind(id, kind) => {
                let is_there = items.contains_key(&id);
                items.entry(id).and_modify(|item| item.1 = kind);
                done(Some(is_there))
            }
            Step::CountKinds(kind) => {
                format!(
                    "{}",
                    items.values().filter(|(_, there)| *there >= kind).count()
                )
            }
            Step::InsertPart(id, item) => {
                let is_right = !parts.contains_key(&id) && items.contains_key(&item);
                if is_right {
                    parts.insert(id, item);
                }
                done(is_right.then_some(true))
            }
            Step::DeletePart(id) => done(Some(parts.remove(&id).is_some())),
        }
    }
}

/// An open transaction, its steps with their results, and the number of commits before it.
struct Running {
    open: OpenRows,
    steps: Vec<Step>,
    told: Vec<String>,
    began: usize,
}

fn content(space: &mut TableSpace) -> Model {
    let open = OpenRows::begin(space.snapshot().expect("a snapshot"));
    let mut found = Model::default();
    for (table, columns) in [("items", 3), ("parts", 2)] {
        let table = open.definitions().iter().position(|of| of.name == table);
        let table = u16::try_from(table.expect("a table")).expect("a number");
        for row in open.scan_rows(table, Default::default()).expect("a scan") {
            let row = row.expect("read");
            let number = |column| match row.value_at(column).expect("read").to_value() {
                Value::Int(number) => i64::try_from(number).expect("small"),
                other => panic!("{other:?}"),
            };
            match columns {
                3 => drop(found.items.insert(number(0), (number(1), number(2)))),
                _ => drop(found.parts.insert(number(0), number(1))),
            }
        }
    }
    found
}

/// Ends a transaction: true if it has committed, false after a conflict.
fn ended(space: &mut TableSpace, open: OpenRows) -> Result<bool, String> {
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut tx = space.begin(&mut log);
    let mut left = LeftRows::default();
    match open.install(&mut tx, &mut left) {
        Ok(()) => {
            tx.commit();
            Ok(true)
        }
        Err(error) => {
            tx.abort();
            match error.is_conflict() {
                true => Ok(false),
                false => Err(format!("no conflict, but {error}")),
            }
        }
    }
}

/// Runs transactions among each other. Returns the first that the model does not explain, or the number of commits and of
/// conflicts.
fn judged(seed: u64) -> Result<[usize; 2], String> {
    let mut random = Random::new(seed);
    let (mut space, open, _) = begun(0);
    drop(open);
    let (mut model, mut running) = (Model::default(), Vec::<Running>::new());
    let (mut commits, mut conflicts) = (0, 0);
    for _ in 0..120 {
        if running.len() < 3 {
            running.push(Running {
                open: OpenRows::begin(space.snapshot().expect("a snapshot")),
                steps: Vec::new(),
                told: Vec::new(),
                began: commits,
            });
        }
        let at = usize::try_from(random.below(running.len() as u64)).expect("few");
        let one = &mut running[at];
        if one.steps.len() < 6 && random.below(4) > 0 {
            let step = Step::random(&mut random);
            one.told.push(step.run(&mut one.open));
            one.steps.push(step);
            continue;
        }
        let one = running.swap_remove(at);
        let mut after = model.clone();
        let now: Vec<String> = one
            .steps
            .iter()
            .map(|step| step.model(&mut after))
            .collect();
        let told = format!("{:?} told {:?}", one.steps, one.told);
        let has_changes = one.open.has_changes();
        if !has_changes {
            continue;
        }
        match ended(&mut space, one.open)? {
            true if one.told != now => return Err(format!("{told}, but now {now:?}")),
            true => {
                model = after;
                commits += 1;
            }
            false if one.began == commits => return Err(format!("{told}: nothing has changed")),
            false => conflicts += 1,
        }
        let content = content(&mut space);
        if content != model {
            return Err(format!("{told}: {content:?}, not {model:?}"));
        }
    }
    Ok([commits, conflicts])
}

#[test]
fn a_serial_model_explains_each_commit_and_finds_each_planted_error() {
    let (mut commits, mut conflicts) = (0, 0);
    for seed in 0..100 {
        let counts = judged(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        (commits, conflicts) = (commits + counts[0], conflicts + counts[1]);
    }
    assert!(
        commits > 500 && conflicts > 100,
        "{commits} and {conflicts}"
    );
    for planted in [
        Planted::RangesBelieved,
        Planted::AbsenceBelieved,
        Planted::ReferencesBelieved,
        Planted::MadeFirst,
    ] {
        PLANTED.set(Some(planted));
        let found = (0..300).find_map(|seed| judged(seed).err());
        PLANTED.set(None);
        assert!(found.is_some(), "{planted:?} is not found");
    }
}
