//! An index that is built beside those of its table while rows come, change and go: once it is taken over it has each row
//! once, in its order; before, nothing of it shows; one that is abandoned gives its memory back.

use crate::support::{STORE_BYTES, World, hash, in_detail, store_of};
use sardonyx_base::random::Random;
use sardonyx_rows::read::{ReadRow, ReadRows};
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart, Schema, Type, Value, ValueRef};
use sardonyx_rows::{ConflictWith, RowWriter, Rows, ScanPlace, TableError};
use sardonyx_storage::page::Address;
use sardonyx_table::{IndexBeside, SpaceSnapshot, TableSpace, Transaction};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows by their keys: an amount, and a name or none.
type Content = BTreeMap<i64, (i64, Option<String>)>;

const NAME: &str = "by_more";

/// The columns of the index; true if descending.
const KEYS: [&[(usize, bool)]; 6] = [
    &[(1, false)],
    &[(1, true), (0, false)],
    &[(2, false)],
    &[(2, true), (1, false)],
    &[(1, false), (2, true), (0, true)],
    &[(0, false)],
];

fn definition(key: &[(usize, bool)], unique: bool) -> IndexDefinition {
    let part = |&(column, descending): &(usize, bool)| KeyPart { column, descending };
    IndexDefinition {
        name: NAME.into(),
        kind: IndexKind::Ordered,
        unique,
        deferrable: false,
        nulls_equal: false,
        key: key.iter().map(part).collect(),
    }
}

struct Stock {
    world: World,
    table: u16,
    content: Content,
    random: Random,
    /// Names of which there may be as many.
    names: u64,
}

impl Stock {
    fn new(seed: u64) -> Stock {
        let mut random = Random::new(seed);
        let mut world = World::with_memory(STORE_BYTES);
        let schema = Schema::new()
            .column("id", Type::I64)
            .column("amount", Type::I64)
            .column("name", Type::Text)
            .nullable()
            .primary_key(["id"]);
        let table = world.commit(|tx| tx.create_table("items", schema).expect("created"));
        let names = if random.below(2) == 0 {
            1_000_000_000
        } else {
            9
        };
        let mut stock = Stock {
            world,
            table,
            content: Content::new(),
            random,
            names,
        };
        for _ in 0..4 {
            stock.change(150);
        }
        stock
    }

    /// A transaction that changes so many rows at most, or changes nothing in the end.
    fn change(&mut self, most: u64) {
        let (table, random) = (self.table, &mut self.random);
        let mut next = self.content.clone();
        let mut tx = self.world.space.begin(&mut self.world.log);
        let mut rows = Rows::numbered(&mut tx, table).expect("it is there");
        for _ in 0..random.below(most + 1) {
            let id = random.below(400) as i64;
            let amount = random.below(self.names) as i64;
            // Many begin in the same way, and some are stored outside their rows.
            let name = match random.below(4) {
                0 => None,
                1 => Some(format!("name {}", random.below(self.names))),
                _ => Some(format!(
                    "a name that is as long as {}",
                    random.below(self.names)
                )),
            };
            let key = [Value::Int(id.into())];
            let mut row = RowWriter::new(3);
            row.set(0, ValueRef::Int(id.into()));
            row.set(1, ValueRef::Int(amount.into()));
            row.set(2, name.as_deref().map_or(ValueRef::Null, ValueRef::Text));
            match (next.contains_key(&id), random.below(3)) {
                (true, 0) => {
                    assert!(rows.delete(&key).expect("deleted"));
                    next.remove(&id);
                }
                (true, _) => {
                    assert!(rows.update_row(&key, &row).expect("changed"));
                    next.insert(id, (amount, name));
                }
                (false, _) => {
                    rows.insert_row(&row).expect("inserted");
                    next.insert(id, (amount, name));
                }
            }
        }
        match random.below(4) {
            0 => tx.abort(),
            _ => {
                tx.commit();
                self.content = next;
            }
        }
        self.world.redo();
    }

    fn now_and_then_change(&mut self) {
        for _ in 0..self.random.below(3) {
            self.change(6);
        }
    }

    fn snapshot(&mut self) -> Arc<SpaceSnapshot> {
        self.world.space.snapshot().expect("a snapshot")
    }

    /// Builds it up to the last call, and returns the snapshot of which it has the rows.
    fn build(&mut self, beside: &IndexBeside) -> Result<Arc<SpaceSnapshot>, TableError> {
        let mut last = self.snapshot();
        let mut place = ScanPlace::default();
        let bytes = [1, 700, 5000, 1 << 20][self.random.below(4) as usize];
        self.now_and_then_change();
        while let Some(run) =
            last.index_run(beside, &mut place, bytes, |_| Ok::<_, TableError>(()))?
        {
            let (mut loaded, most) = (0, self.random.below(150) as usize + 1);
            while loaded < run.len() {
                let part = (&run, loaded, most);
                let done = self
                    .world
                    .commit(|tx| tx.load_index_beside(beside, &last, part));
                loaded += in_detail(done)?;
                self.now_and_then_change();
            }
        }
        for _ in 0..self.random.below(4) {
            let next = self.snapshot();
            let changes = beside.changes(&last, &next, usize::MAX, |_| Ok::<_, TableError>(()))?;
            for gone in changes.gone.chunks(self.random.below(9) as usize + 1) {
                in_detail(
                    self.world
                        .commit(|tx| tx.unindex_beside(beside, &last, gone)),
                )?;
                self.now_and_then_change();
            }
            for come in changes.come.chunks(self.random.below(9) as usize + 1) {
                let come = come.iter().copied();
                in_detail(self.world.commit(|tx| tx.index_beside(beside, &next, come)))?;
                self.now_and_then_change();
            }
            last = next;
        }
        Ok(last)
    }

    /// Returns true if two rows have one key.
    fn has_duplicates(&self, key: &[(usize, bool)]) -> bool {
        let mut keys: Vec<_> = self
            .content
            .iter()
            .map(|(id, row)| key_of(key, *id, row))
            .collect();
        keys.retain(|key| !key.iter().any(|part| part.is_none()));
        keys.sort();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The parts of a row's key, in an order of texts.
fn key_of(
    key: &[(usize, bool)],
    id: i64,
    (amount, name): &(i64, Option<String>),
) -> Vec<Option<String>> {
    let part = |&(column, _): &(usize, bool)| match column {
        0 => Some(format!("{id:20}")),
        1 => Some(format!("{amount:20}")),
        _ => name.clone(),
    };
    key.iter().map(part).collect()
}

/// Reads all by the index, in its order, and compares.
fn check(space: &TableSpace, table: u16, key: &[(usize, bool)], content: &Content) {
    let index = space.view().row_index(table, NAME).expect("it is there");
    let rows = index.range::<&Vec<Value>>(..).expect("a range").map(|row| {
        let row = row.expect("a row");
        let int = |column| match row.value_at(column).expect("read") {
            ValueRef::Int(value) => value as i64,
            other => panic!("a number: {other:?}"),
        };
        let name = match row.value_at(2).expect("read") {
            ValueRef::Text(name) => Some(name.to_string()),
            _ => None,
        };
        (int(0), (int(1), name))
    });
    let rows: Vec<_> = rows.collect();
    for pair in rows.windows(2) {
        let of = |(id, row): &(i64, _)| key_of(key, *id, row);
        let (one, other) = (of(&pair[0]), of(&pair[1]));
        let order = one
            .iter()
            .zip(&other)
            .zip(key)
            .map(|((one, other), (_, descending))| {
                // Nulls come last; descending, first.
                let order = match (one, other) {
                    (Some(one), Some(other)) => one.cmp(other),
                    (one, other) => one.is_none().cmp(&other.is_none()),
                };
                if *descending { order.reverse() } else { order }
            });
        assert!(
            order
                .reduce(|one, other| one.then(other))
                .is_some_and(|order| order.is_le())
        );
    }
    assert_eq!(rows.len(), content.len());
    assert_eq!(rows.into_iter().collect::<Content>(), *content);
}

fn is_duplicate(error: &TableError) -> bool {
    matches!(error, TableError::DuplicateValue { .. })
}

fn finish(
    tx: &mut Transaction<'_>,
    (beside, last): (IndexBeside, &SpaceSnapshot),
    definition: &IndexDefinition,
) -> Result<(), TableError> {
    let table = beside.table();
    in_detail(tx.take_index_over(beside, last, usize::MAX))?;
    in_detail(tx.create_index(table, definition.clone()))
}

fn judge(seed: u64) {
    let mut stock = Stock::new(seed);
    let table = stock.table;
    let key = KEYS[stock.random.below(KEYS.len() as u64) as usize];
    let definition = definition(key, stock.random.below(3) == 0);
    let bytes = stock.world.space.index_bytes();
    // Taken over, and undone; then it is begun again.
    let mut is_undone = stock.random.below(3) == 0;
    let is_built = loop {
        let begun = stock
            .world
            .commit(|tx| tx.begin_index_beside(table, definition.clone()));
        let beside = begun.expect("begun");
        let last = match stock.build(&beside) {
            Ok(last) => last,
            Err(error) => {
                assert!(definition.unique && is_duplicate(&error), "{seed}: {error}");
                break false;
            }
        };
        assert!(stock.world.space.view().row_index(table, NAME).is_err());
        let (has_duplicates, is_ended) = (stock.has_duplicates(key), is_undone);
        let mut tx = stock.world.space.begin(&mut stock.world.log);
        let done = finish(&mut tx, (beside, &last), &definition);
        match &done {
            Ok(()) => assert!(!definition.unique || !has_duplicates, "{seed}"),
            Err(error) => assert!(is_duplicate(error) && has_duplicates, "{seed}: {error}"),
        }
        if done.is_ok() && !is_ended {
            tx.commit();
            stock.world.redo();
            break true;
        }
        tx.abort();
        stock.world.redo();
        if done.is_err() {
            break false;
        }
        is_undone = false;
    };
    if !is_built {
        assert!(stock.world.space.view().row_index(table, NAME).is_err());
        // The transactions that follow free what was built.
        stock.world.commit(|tx| tx.forget_indexes_beside());
        for _ in 0..50 {
            stock.world.commit(|_| ());
        }
        let now = stock.world.space.index_bytes();
        assert!(
            now <= bytes + (64 << 10),
            "{seed}: {now} bytes after {bytes}"
        );
        return;
    }
    check(&stock.world.space, table, key, &stock.content);
    if !definition.unique {
        for _ in 0..10 {
            stock.change(40);
        }
        check(&stock.world.space, table, key, &stock.content);
    }
    let opened = TableSpace::open_with(store_of(&stock.world.redone), 1, hash());
    check(&opened.expect("it opens").0, table, key, &stock.content);
}

#[test]
fn an_index_has_each_row_once_and_in_order_whatever_others_do_meanwhile() {
    for seed in 0..sardonyx_base::random::seeds(5) {
        judge(seed);
    }
}

#[test]
fn a_table_that_changed_otherwise_gets_no_index() {
    for changed in 0..4 {
        let mut stock = Stock::new(changed);
        let table = stock.table;
        let definition = definition(KEYS[2], false);
        let begun = stock
            .world
            .commit(|tx| tx.begin_index_beside(table, definition.clone()));
        let beside = begun.expect("begun");
        let last = stock.build(&beside).expect("built");
        stock.world.commit(|tx| match changed {
            0 => tx.truncate("items").expect("emptied"),
            1 => tx.drop_table("items").expect("dropped"),
            2 => tx
                .add_column("items", "more", Type::I64, true, Value::Null)
                .expect("added"),
            _ => {
                let content = tx.begin_beside(table).expect("begun");
                tx.take_over(content).expect("taken over");
            }
        });
        let mut tx = stock.world.space.begin(&mut stock.world.log);
        let done = finish(&mut tx, (beside, &last), &definition);
        let is_refused = matches!(
            done,
            Err(TableError::Conflict(_) | TableError::UnknownHandle { .. })
        );
        assert!(is_refused, "{changed}: {done:?}");
        tx.abort();
    }
}

#[test]
fn an_index_that_a_table_cannot_have_is_not_begun() {
    let mut stock = Stock::new(1);
    let table = stock.table;
    let twice = definition(&[(1, false), (1, false)], false);
    assert!(
        stock
            .world
            .commit(|tx| tx.begin_index_beside(table, twice))
            .is_err()
    );
    let one = definition(KEYS[0], false);
    assert!(
        stock
            .world
            .commit(|tx| tx.begin_index_beside(99, one))
            .is_err()
    );
}

#[test]
fn more_changes_than_allowed_and_an_ended_snapshot_are_said() {
    let mut stock = Stock::new(3);
    let table = stock.table;
    let definition = definition(KEYS[2], false);
    let begin = |tx: &mut Transaction<'_>| tx.begin_index_beside(table, definition.clone());
    let beside = stock.world.commit(begin).expect("begun");
    let before = stock.snapshot();
    for _ in 0..20 {
        stock.change(30);
    }
    let after = stock.snapshot();
    let mut counted = 0;
    let mut changes = |most| {
        counted = 0;
        beside.changes(&before, &after, most, |bytes| {
            counted += bytes;
            Ok::<_, TableError>(())
        })
    };
    let said = changes(3).map(drop);
    let is_of_rows = |said: &Result<(), TableError>| match said {
        Err(TableError::Conflict(conflict)) => conflict.with == ConflictWith::Scan,
        _ => false,
    };
    assert!(is_of_rows(&said), "{said:?}");
    let all = changes(usize::MAX).expect("they are few");
    let addresses = all.gone.len() + all.come.len();
    assert!(addresses > 3);
    assert_eq!(counted, addresses * size_of::<Address>());
    let said = stock
        .world
        .commit(|tx| tx.take_index_over(beside, &before, 3));
    assert!(is_of_rows(&in_detail(said)));
    // Without memory for copies a change ends the snapshots.
    let mut stock = Stock::new(4);
    let beside = stock.world.commit(begin).expect("begun");
    stock.world.space.set_snapshot_bytes_max(0);
    let before = stock.snapshot();
    for _ in 0..20 {
        stock.change(40);
    }
    assert!(before.is_ended());
    let mut place = ScanPlace::default();
    let said = before.index_run(&beside, &mut place, 1 << 20, |_| Ok::<_, TableError>(()));
    assert!(matches!(said, Err(TableError::SnapshotEnded(_))));
    let at = [Address(4096)];
    let said = stock
        .world
        .commit(|tx| tx.unindex_beside(&beside, &before, &at));
    assert!(matches!(in_detail(said), Err(TableError::SnapshotEnded(_))));
}
