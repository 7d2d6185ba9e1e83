//! The rows that changed since a snapshot: all of them, with what they were and are.

use crate::beside::{long, row, stock};
use sardonyx_base::random::Random;
use sardonyx_rows::read::ReadRow;
use sardonyx_rows::schema::{Value, ValueRef};
use sardonyx_rows::{RowWriter, Rows, TableError};
use std::collections::BTreeMap;

#[test]
fn changed_rows_are_all_that_changed_since_a_snapshot() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let (mut world, table, mut now) = stock(seed % 2 == 0);
        let before = world.space.snapshot().expect("a snapshot");
        let then = now.clone();
        for _ in 0..random.below(30) {
            let id = random.below(60) as i64;
            let what = random.below(4);
            world.commit(|tx| {
                let mut rows = Rows::numbered(&mut *tx, table).expect("it is there");
                let key = [Value::Int(id.into())];
                let is_there = now.contains_key(&id);
                let name = long("changed", id * 100 + random.below(9) as i64);
                match (what, is_there) {
                    (0, true) => {
                        assert!(rows.delete(&key).expect("deleted"));
                        now.remove(&id);
                    }
                    // Of the same length and beginning: the row's bytes do not change.
                    (1, true) => {
                        let amount = now[&id].0;
                        let name = now[&id].1.replace("in its row", "at its row");
                        let mut change = RowWriter::new(3);
                        change.set(2, ValueRef::Text(&name));
                        assert!(rows.update_row(&key, &change).expect("changed"));
                        now.insert(id, (amount, name));
                    }
                    (_, true) => {
                        let amount = random.below(3) as i64;
                        let mut change = RowWriter::new(3);
                        change.set(1, ValueRef::Int(amount.into()));
                        assert!(rows.update_row(&key, &change).expect("changed"));
                        now.get_mut(&id).expect("it is there").0 = amount;
                    }
                    (_, false) => {
                        rows.insert_row(&row(id, 1, &name)).expect("inserted");
                        now.insert(id, (1, name));
                    }
                }
            });
        }
        let later = world.space.snapshot().expect("a snapshot");
        let differ: BTreeMap<i64, (bool, bool)> = then
            .keys()
            .chain(now.keys())
            .filter(|id| then.get(id) != now.get(id))
            .map(|id| (*id, (then.contains_key(id), now.contains_key(id))))
            .collect();
        let id_of = |row: &dyn ReadRow| match row.value_at(0).expect("read") {
            ValueRef::Int(id) => id as i64,
            other => panic!("a number: {other:?}"),
        };
        let mut live: BTreeMap<i64, (bool, bool)> = BTreeMap::new();
        let said = before.changed_rows(table, world.space.view(), |was, is| {
            if let Some(row) = &was {
                live.entry(id_of(row)).or_default().0 = true;
            }
            if let Some(row) = &is {
                live.entry(id_of(row)).or_default().1 = true;
            }
            Ok::<_, TableError>(())
        });
        said.expect("compared");
        let mut frozen: BTreeMap<i64, (bool, bool)> = BTreeMap::new();
        let said = before.rows_changed_until(table, &later, |was, is| {
            if let Some(row) = &was {
                frozen.entry(id_of(row)).or_default().0 = true;
            }
            if let Some(row) = &is {
                frozen.entry(id_of(row)).or_default().1 = true;
            }
            Ok::<_, TableError>(())
        });
        said.expect("compared");
        assert_eq!(live, frozen, "{seed}");
        for (id, what) in &differ {
            assert_eq!(live.get(id), Some(what), "{seed}: {id}");
        }
        // A row that moved, or was inserted again, may be reported though it is the same.
        for (id, what) in &live {
            assert_eq!(
                *what,
                (then.contains_key(id), now.contains_key(id)),
                "{seed}: {id}"
            );
        }
    }
}

#[test]
fn a_value_that_changes_outside_of_its_row_is_a_change_of_the_row() {
    let (mut world, table, content) = stock(true);
    let before = world.space.snapshot().expect("a snapshot");
    // Of the same length and beginning: the row's bytes do not change.
    let name = content[&5].1.replace("in its row", "at its row");
    world.commit(|tx| {
        let mut rows = Rows::numbered(tx, table).expect("it is there");
        let mut change = RowWriter::new(3);
        change.set(2, ValueRef::Text(&name));
        let key = [Value::Int(5)];
        assert!(rows.update_row(&key, &change).expect("changed"));
    });
    let mut told = 0;
    let said = before.changed_rows(table, world.space.view(), |was, is| {
        told += u32::from(was.is_some() && is.is_some());
        Ok::<_, TableError>(())
    });
    said.expect("compared");
    assert_eq!(told, 1);
}
