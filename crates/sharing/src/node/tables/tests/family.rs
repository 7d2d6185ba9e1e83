//! Tables of which one refers to the other, changed by several nodes in every order, with deaths at any step. No row
//! remains whose parent was deleted, also if others give the parent children meanwhile.

use super::rows::{Granted, Step as RowStep, Stored};
use crate::node::NodeError;
use crate::node::tables::known::Used;
use crate::node::tables::store::NodeTables;
use crate::node::tests::world::World;
use crate::protocol::{PageId, UpdateStrategy};
use sardonyx_base::error::Error;
use sardonyx_base::random::Random;
use sardonyx_rows::schema::{Schema, Type, Value};
use sardonyx_rows::{ReadRow, ReadRows, Rows, ScanPlace, TableError};
use sardonyx_storage::tree;
use std::collections::BTreeSet;

const PARENTS: u64 = 6;
const CHILDREN: u64 = 24;

/// A row of one of the tables that changes.
#[derive(Clone, Debug)]
pub enum Step {
    Make,
    Parent(u64),
    NoParent(u64),
    Child(u64, u64),
    Moved(u64, u64),
    NoChild(u64),
}

pub fn step(random: &mut Random) -> Step {
    let (parent, child) = (random.below(PARENTS), random.below(CHILDREN));
    match random.below(10) {
        0..2 => Step::Parent(parent),
        2..4 => Step::NoParent(parent),
        4..7 => Step::Child(child, parent),
        7..9 => Step::Moved(child, parent),
        _ => Step::NoChild(child),
    }
}

/// Does it; a refused step is not done.
pub(super) fn run(access: &mut Granted<'_>, step: &Step) -> Result<(), NodeError> {
    match done(&mut NodeTables::of(access)?, step) {
        Err(NodeError::Rows(error))
            if matches!(
                *error,
                TableError::DuplicateKey { .. }
                    | TableError::NoSuchReference { .. }
                    | TableError::Referenced { .. }
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

fn done(tables: &mut NodeTables<'_>, step: &Step) -> Result<(), NodeError> {
    let rows = |tables, name| Rows::named(tables, name);
    match *step {
        Step::Make => {
            let id = Schema::new().column("id", Type::U64).primary_key(["id"]);
            tables.create_table("parents", id.clone())?;
            let children = id
                .column("parent", Type::U64)
                .index("by_parent", ["parent"])
                .column("restricts", Type::U64)
                .nullable()
                .foreign_key("of_parent", ["parent"], "parents", ["id"])
                .cascade()
                .foreign_key("restricts", ["restricts"], "parents", ["id"]);
            tables.create_table("children", children)?;
        }
        Step::Parent(id) => rows(tables, "parents")?.insert(&[("id", id.into())])?,
        Step::NoParent(id) => {
            rows(tables, "parents")?.delete(&[id.into()])?;
        }
        Step::Child(id, parent) => {
            let restricts = match id % 3 {
                0 => parent.into(),
                _ => Value::Null,
            };
            let values = [
                ("id", id.into()),
                ("parent", parent.into()),
                ("restricts", restricts),
            ];
            rows(tables, "children")?.insert(&values)?;
        }
        Step::Moved(id, parent) => {
            let moved = [("parent", parent.into())];
            rows(tables, "children")?.update(&[id.into()], &moved)?;
        }
        Step::NoChild(id) => {
            rows(tables, "children")?.delete(&[id.into()])?;
        }
    }
    Ok(())
}

fn ids(tables: &NodeTables<'_>, name: &str, columns: &[usize]) -> Result<Vec<Value>, Error> {
    let number = tables.number(name).expect("it was made");
    let mut found = Vec::new();
    for row in tables.scan_rows(number, ScanPlace::default())? {
        let row = row?;
        for &column in columns {
            found.push(row.value_at(column)?.to_value());
        }
    }
    Ok(found)
}

impl World {
    /// Checks that every row refers to one that is there. Returns how many refer.
    fn check_family(&self) -> usize {
        let read = |page: u64, into: &mut tree::Page| {
            self.gem.read_stored(PageId(page), into).unwrap();
        };
        let mut stored = Stored(read, Used::default());
        let tables = NodeTables::of(&mut stored).unwrap();
        let shown = |values: Vec<Value>| values.into_iter().map(|value| format!("{value:?}"));
        let parents: BTreeSet<String> = shown(ids(&tables, "parents", &[0]).unwrap()).collect();
        let named = ids(&tables, "children", &[1, 2]).unwrap();
        let named = named.into_iter().filter(|value| *value != Value::Null);
        let named: Vec<String> = shown(named.collect()).collect();
        for parent in &named {
            assert!(
                parents.contains(parent),
                "{}: an orphan of {parent}",
                self.what
            );
        }
        named.len()
    }
}

fn explore(seed: u64, kills: bool) -> (usize, u32, u32) {
    let update = match seed % 2 {
        0 => UpdateStrategy::Force,
        _ => UpdateStrategy::NoForce,
    };
    let mut world = World::with_rows(seed, update, !seed.is_multiple_of(3));
    let before = world.committed;
    while world.committed == before {
        world.start_rows(0, vec![RowStep::Family(Step::Make)]);
        world.come_to_rest();
    }
    world.family = true;
    world.kills = kills;
    for _ in 0..4000 {
        world.happen();
    }
    world.kills = false;
    world.come_to_rest();
    world.check_at_rest();
    world.check_rows();
    let referring = world.check_family();
    let seen = (referring, world.committed, world.victims);
    world.check_reopened();
    seen
}

#[test]
fn no_row_is_left_without_its_parent_in_any_order() {
    let (mut referring, mut committed, mut victims) = (0, 0, 0);
    for seed in 0..sardonyx_base::random::asked("SARDONYX_SEEDS").unwrap_or(16) {
        let seen = explore(seed, seed % 2 == 1);
        referring += seen.0;
        committed += seen.1;
        victims += seen.2;
    }
    println!("{referring} refer, {committed} committed, {victims} chosen");
    assert!(referring > 20 && committed > 120 && victims > 10);
}
