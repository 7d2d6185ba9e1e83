//! Ordered indexes against sorted maps: random transactions that insert, change and delete rows, create and drop
//! indexes, and are undone or not; what ranges, prefixes and counts say; and that what is rebuilt from the pages alone
//! is what was kept.

use crate::support::{STORE_BYTES, World, hash, in_detail, store_of};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{
    Column, IndexDefinition, IndexKind, KeyPart, NullBit, Schema, Type, Value,
};
use sardonyx_rows::{AnyRow, ReadIndex, Record as _, RowRef, Table, TableError, field, record};
use sardonyx_storage::store::PageRead;
use sardonyx_table::{Index, SpaceSnapshot, TableSpace, Transaction, View};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, PartialEq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Person {
    id: u64,
    group: u32,
    score: i32,
    /// A short text, as a row has it.
    name: [u8; 16],
    /// Bit 0: without a score.
    nulls: u64,
}

record!(Person { table: "people", key: id: u64 });

fn text(text: &str) -> [u8; 16] {
    let mut reference = [0; 16];
    reference[0] = text.len() as u8;
    reference[4..4 + text.len()].copy_from_slice(text.as_bytes());
    reference
}

/// Names with the same first bytes, and some with others.
fn name(number: u8) -> String {
    match number % 4 {
        0 => format!("the name {:02}", number % 40),
        1 => format!("n{}", number % 10),
        2 => "the name".to_string(),
        _ => String::new(),
    }
}

fn person(id: u64, value: u32) -> Person {
    Person {
        id,
        group: value % 5,
        score: (value % 7) as i32 - 3,
        name: text(&name((value >> 8) as u8)),
        nulls: u64::from(value.is_multiple_of(7)),
    }
}

impl Person {
    fn name(&self) -> String {
        let bytes = &self.name[4..4 + usize::from(self.name[0])];
        String::from_utf8(bytes.to_vec()).expect("UTF-8")
    }

    fn score(&self) -> Option<i32> {
        (self.nulls & 1 == 0).then_some(self.score)
    }
}

fn column(name: &str, kind: Type, offset: usize) -> Column {
    Column {
        name: name.to_string(),
        kind,
        default: Value::Null,
        offset,
        null: None,
        dropped: false,
        since_shape: 0,
    }
}

fn index(name: &str, unique: bool, key: &[(usize, bool)]) -> IndexDefinition {
    let key = key
        .iter()
        .map(|&(column, descending)| KeyPart { column, descending });
    IndexDefinition {
        name: name.to_string(),
        kind: IndexKind::Ordered,
        unique,
        key: key.collect(),
    }
}

const BY_GROUP: &str = "by_group";
const BY_SCORE: &str = "by_score";
const BY_NAME: &str = "by_name";
const NAME_IN_GROUP: &str = "name_in_group";

fn by_score() -> IndexDefinition {
    index(BY_SCORE, false, &[(2, true), (0, false)])
}

fn schema() -> Schema {
    let mut schema = Schema::default();
    schema.columns = vec![
        column("id", Type::U64, 0),
        column("group", Type::U32, 8),
        column("score", Type::I32, 12),
        column("name", Type::Text, 16),
    ];
    schema.columns[2].null = Some(NullBit { byte: 32, bit: 0 });
    schema.row_bytes = size_of::<Person>();
    schema.primary = index("primary", true, &[(0, false)]);
    schema.primary.kind = IndexKind::Hash;
    schema.indexes = vec![
        index(BY_GROUP, false, &[(1, false)]),
        by_score(),
        index(BY_NAME, false, &[(3, false)]),
        index(NAME_IN_GROUP, true, &[(1, false), (3, false)]),
    ];
    schema
}

type People = BTreeMap<u64, Person>;

fn create(world: &mut World, schema: Schema) -> Table<Person> {
    world.commit(|tx| tx.create_table(Person::TABLE, schema).expect("created"));
    (world.space.table().expect("as declared")).expect("declared")
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u64, u32),
    Put(u64, u32),
    Update(u64, u32),
    SetGroup(u64, u32),
    Delete(u64),
    Retain(u32),
    Fill(u64, u32),
    SwapIndex,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0u64..80;
    prop_oneof![
        6 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Insert(id, value)),
        3 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Put(id, value)),
        4 => (id.clone(), any::<u32>()).prop_map(|(id, value)| Step::Update(id, value)),
        3 => (id.clone(), 0u32..5).prop_map(|(id, group)| Step::SetGroup(id, group)),
        3 => id.prop_map(Step::Delete),
        1 => (2u32..5).prop_map(Step::Retain),
        1 => (100u64..400, any::<u32>()).prop_map(|(id, value)| Step::Fill(id, value)),
        1 => Just(Step::SwapIndex),
    ]
}

/// Whether a person may be there beside the others.
fn is_unique(people: &People, person: &Person) -> bool {
    let same = |other: &Person| other.group == person.group && other.name == person.name;
    !(people.values()).any(|other| other.id != person.id && same(other))
}

fn expect(said: Result<(), sardonyx_base::error::Error>, unique: bool) {
    match in_detail(said) {
        Ok(()) => assert!(unique, "a duplicate was accepted"),
        Err(TableError::DuplicateValue { index, table, .. }) => {
            assert!(!unique && index == NAME_IN_GROUP && table == "people");
        }
        Err(error) => panic!("{error}"),
    }
}

fn run(tx: &mut Transaction<'_>, table: Table<Person>, people: &mut People, step: Step) {
    match step {
        Step::Insert(id, value) => {
            let person = person(id, value);
            if !people.contains_key(&id) {
                let unique = is_unique(people, &person);
                expect(tx.insert(table, &person).map(drop), unique);
                if unique {
                    people.insert(id, person);
                }
            }
        }
        Step::Put(id, value) => {
            let person = person(id, value);
            let unique = is_unique(people, &person);
            expect(tx.put(table, &person).map(drop), unique);
            if unique {
                people.insert(id, person);
            }
        }
        Step::Update(id, value) => {
            let person = person(id, value);
            if people.contains_key(&id) {
                let unique = is_unique(people, &person);
                expect(
                    tx.update(table, id, |there| *there = person).map(drop),
                    unique,
                );
                if unique {
                    people.insert(id, person);
                }
            }
        }
        Step::SetGroup(id, group) => {
            if let Some(row) = tx.find(table, id) {
                let mut person = people[&id];
                person.group = group;
                let unique = is_unique(people, &person);
                expect(tx.set(row, field!(Person.group: u32), group), unique);
                if unique {
                    people.insert(id, person);
                }
            }
        }
        Step::Delete(id) => {
            let deleted = tx.delete(table, id).expect("deleted");
            assert_eq!(deleted, people.remove(&id).is_some());
        }
        Step::Retain(of) => {
            let keep = |person: &Person| !person.id.is_multiple_of(u64::from(of));
            tx.retain(table, keep).expect("retained");
            people.retain(|_, person| keep(person));
        }
        Step::Fill(first, value) => {
            for id in first..first + 60 {
                let mut person = person(id, value.wrapping_add(id as u32 * 77));
                person.name = text(&format!("filled {id}"));
                tx.put(table, &person).expect("no other has the name");
                people.insert(id, person);
            }
        }
        Step::SwapIndex => {
            tx.drop_index(table.number(), BY_SCORE).expect("dropped");
            tx.index(table, BY_SCORE).expect_err("dropped");
            tx.create_index(table.number(), by_score())
                .expect("created");
        }
    }
}

/// People in an order, and among equals by nothing that is known.
fn sorted<K: Ord>(people: &People, key: impl Fn(&Person) -> K) -> Vec<Person> {
    let mut people: Vec<_> = people.values().copied().collect();
    people.sort_by_key(key);
    people
}

/// Compares the keys of what a walk met, forward and backward, and what it met with the people.
fn same<'a, K: Ord + std::fmt::Debug>(
    range: impl DoubleEndedIterator<Item = Result<&'a Person, Error>>,
    back: impl DoubleEndedIterator<Item = Result<&'a Person, Error>>,
    expected: Vec<Person>,
    key: impl Fn(&Person) -> K,
) {
    let person = |met: Result<&Person, Error>| *met.expect("a person");
    let met: Vec<_> = range.map(person).collect();
    let keys = |people: &[Person]| people.iter().map(&key).collect::<Vec<_>>();
    assert_eq!(keys(&met), keys(&expected));
    let mut backward: Vec<_> = back.rev().map(person).collect();
    backward.reverse();
    assert_eq!(met, backward);
    let ids = |people: &[Person]| {
        let mut ids: Vec<_> = people.iter().map(|person| person.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&met), ids(&expected));
    assert!(met.iter().all(|person| expected.contains(person)));
}

/// Rows by their columns are the same records in the same order, from both ends.
fn same_rows<P: PageRead + ?Sized>(index: &Index<'_, AnyRow, P>, expected: &[Person])
where
    TableError: From<P::Error>,
{
    let id = |row: Result<RowRef<'_, P>, _>| {
        let row: RowRef<'_, P> = row.expect("a row");
        let id = row.get("id").expect("a column");
        let Value::Int(id) = id.to_value() else {
            panic!("{id:?} is no id");
        };
        id as u64
    };
    let ids: Vec<u64> = expected.iter().map(|person| person.id).collect();
    let met: Vec<u64> = index.all().expect("all").map(id).collect();
    assert_eq!(met, ids);
    for group in 0..5u32 {
        let of = expected.iter().filter(|person| person.group == group);
        let ids: Vec<u64> = of.clone().map(|person| person.id).collect();
        let key = vec![Value::Int(group.into())];
        let range = || index.range(key.clone()..=key.clone()).expect("a range");
        assert_eq!(range().map(id).collect::<Vec<_>>(), ids);
        let mut backward: Vec<_> = range().rev().map(id).collect();
        backward.reverse();
        assert_eq!(backward, ids);
        assert_eq!(
            index.prefix(group).expect("good").map(id).count(),
            ids.len()
        );
        assert_eq!(
            index.count_range(group..=group).expect("good"),
            ids.len() as u64
        );
        let the = of.clone().filter(|person| person.name().starts_with("the"));
        let met = index.starts_with((group, "the")).expect("good");
        assert_eq!(met.map(id).count(), the.count());
        for person in of {
            let found = index.get_by((group, person.name())).expect("good");
            assert_eq!(found.map(Ok).map(id), Some(person.id));
        }
    }
    assert!(matches!(index.prefix("no number"), Err(Error::Refused(_))));
}

fn check(view: View<'_>, table: Table<Person>, people: &People) {
    assert_eq!(view.count(table).expect("read"), people.len() as u64);
    let rows = view.rows(Person::TABLE).expect("a table");
    let in_order = sorted(people, |person| (person.group, person.name()));
    same_rows(&rows.index(NAME_IN_GROUP).expect("there"), &in_order);
    assert!(matches!(rows.index("none"), Err(Error::Refused(_))));
    let index = |name| view.index(table, name).expect("there");
    let (groups, scores) = (index(BY_GROUP), index(BY_SCORE));
    let (names, unique) = (index(BY_NAME), index(NAME_IN_GROUP));
    let of_score = |person: &Person| {
        (
            person
                .score()
                .map_or((0, Reverse(0)), |score| (1, Reverse(score))),
            person.id,
        )
    };
    let by_group = sorted(people, |person| person.group);
    let by_name = sorted(people, Person::name);
    let by_both = sorted(people, |person| (person.group, person.name()));
    same(
        groups.all().expect("read"),
        groups.all().expect("read"),
        by_group.clone(),
        |person| person.group,
    );
    same(
        scores.all().expect("read"),
        scores.all().expect("read"),
        sorted(people, of_score),
        of_score,
    );
    same(
        names.all().expect("read"),
        names.all().expect("read"),
        by_name.clone(),
        Person::name,
    );
    same(
        unique.all().expect("read"),
        unique.all().expect("read"),
        by_both.clone(),
        |person| (person.group, person.name()),
    );
    assert_eq!(
        names.first().expect("read").map(Person::name),
        by_name.first().map(Person::name)
    );
    assert_eq!(unique.last().expect("read"), by_both.last());
    let only = |people: &[Person], keep: &dyn Fn(&Person) -> bool| {
        people
            .iter()
            .copied()
            .filter(|person| keep(person))
            .collect::<Vec<_>>()
    };
    for group in 0..6u32 {
        let of = only(&by_both, &|person| person.group == group);
        assert_eq!(
            groups.count_range(group..=group).expect("good"),
            of.len() as u64
        );
        let prefix = || unique.prefix(group).expect("good");
        same(prefix(), prefix(), of.clone(), Person::name);
        let to = group + 2;
        let of = only(&by_group, &|person| (group..to).contains(&person.group));
        same(
            groups.range(group..to).expect("good"),
            groups.range(group..to).expect("good"),
            of,
            |p| p.group,
        );
        let of = only(&by_both, &|person| {
            (person.group, person.name()) > (group, "the name".to_string())
        });
        let range = || {
            use std::ops::Bound::{Excluded, Unbounded};
            unique
                .range((Excluded((group, "the name")), Unbounded))
                .expect("good")
        };
        same(range(), range(), of, |person| (person.group, person.name()));
        for beginning in ["", "the", "the name", "the name 0", "x"] {
            let of = only(&by_both, &|person| {
                person.group == group && person.name().starts_with(beginning)
            });
            let range = || unique.starts_with((group, beginning)).expect("good");
            same(range(), range(), of.clone(), Person::name);
            let one = of.iter().find(|person| person.name() == beginning);
            assert_eq!(unique.get_by((group, beginning)).expect("good"), one);
        }
    }
    // More keys than are looked for at once; some are not there, some twice, some are no keys.
    let keys = (0..40).map(|n| n * 3 % 8u32);
    for (key, found) in keys.clone().zip(groups.get_many(keys)) {
        let one = groups.get_by(key).expect("good");
        assert_eq!(found.expect("good"), one, "group {key}");
        assert_eq!(
            one.is_some(),
            people.values().any(|person| person.group == key)
        );
    }
    let keys = || {
        people
            .values()
            .map(|person| (person.group % 4, person.name()))
    };
    for (key, found) in keys().zip(unique.get_many(keys())) {
        let one = by_both
            .iter()
            .find(|person| (person.group, person.name()) == key);
        assert_eq!(found.expect("good"), one, "{key:?}");
    }
    let mixed = (0..20).map(|n| match n % 3 {
        0 => vec![Value::Text("no group".to_string())],
        _ => vec![Value::Int(n % 5)],
    });
    for (n, found) in groups.get_many(mixed).enumerate() {
        assert_eq!(found.is_err(), n % 3 == 0);
        if let Ok(found) = found {
            assert_eq!(found, groups.get_by(n as u32 % 5).expect("good"));
        }
    }
    let range = || names.range("n1".."the name 0").expect("good");
    let of = only(&by_name, &|person| {
        ("n1".to_string().."the name 0".to_string()).contains(&person.name())
    });
    assert_eq!(
        names.count_range("n1".."the name 0").expect("good"),
        of.len() as u64
    );
    same(range(), range(), of, Person::name);
    let of = only(&sorted(people, of_score), &|person| {
        person.score().is_none()
    });
    let range = || scores.prefix(None::<i32>).expect("good");
    same(range(), range(), of, of_score);
    let (high, low) = (3u32, 1);
    let reversed = groups.range(high..low).map(|_| ());
    assert!(matches!(reversed, Err(Error::Refused(_))), "{reversed:?}");
    let of_languages = ReadIndex::range(&groups, high..low);
    assert!(of_languages.expect("good").next().is_none());
}

/// What a snapshot says of all of it, and of parts, from both ends.
fn check_snapshot(snapshot: &SpaceSnapshot, table: Table<Person>, people: &People) {
    assert_eq!(snapshot.count(table).expect("read"), people.len() as u64);
    let index = snapshot.index(table, NAME_IN_GROUP).expect("there");
    let key = |person: &Person| (person.group, person.name());
    let expected = sorted(people, key);
    let rows = snapshot.rows(Person::TABLE).expect("a table");
    same_rows(&rows.index(NAME_IN_GROUP).expect("there"), &expected);
    let records = |range: &mut dyn Iterator<Item = Result<Person, _>>| -> Vec<Person> {
        let read: Result<Vec<Person>, sardonyx_base::error::Error> = range.collect();
        read.expect("it was not ended")
    };
    assert_eq!(records(&mut index.all().expect("good")), expected);
    let groups = snapshot.index(table, BY_GROUP).expect("there");
    let numbers = (0..40).map(|n| n * 3 % 8u32);
    let by_rows = rows.index(BY_GROUP).expect("there");
    let of_rows = by_rows.get_many(numbers.clone());
    for ((key, found), row) in numbers.clone().zip(groups.get_many(numbers)).zip(of_rows) {
        let one = groups.get_by(key).expect("good");
        assert_eq!(found.expect("good"), one, "group {key}");
        assert_eq!(
            one.is_some(),
            people.values().any(|person| person.group == key)
        );
        assert_eq!(row.expect("good").is_some(), one.is_some());
    }
    for group in 0..5 {
        let of: Vec<_> = expected
            .iter()
            .copied()
            .filter(|person| person.group == group)
            .collect();
        assert_eq!(records(&mut index.prefix(group).expect("good")), of);
        let mut backward = records(&mut index.range(group..=group).expect("good").rev());
        backward.reverse();
        assert_eq!(backward, of);
        assert_eq!(
            index.count_range(group..=group).expect("good"),
            of.len() as u64
        );
        for person in of {
            let found = index.get_by((person.group, person.name())).expect("good");
            assert_eq!(found, Some(person));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn indexes_agree_with_sorted_maps(
        transactions in prop::collection::vec(
            (prop::collection::vec(step(), 0..12), prop::bool::weighted(0.7), prop::bool::weighted(0.15)), 1..14)
    ) {
        let mut world = World::with_memory(STORE_BYTES);
        let table = create(&mut world, schema());
        let mut people = People::new();
        for (steps, commits, reopens) in transactions {
            let snapshot = world.space.snapshot().expect("address space");
            let before = people.clone();
            let mut changed = people.clone();
            let mut tx = world.space.begin(&mut world.log);
            for step in steps {
                run(&mut tx, table, &mut changed, step);
            }
            if commits {
                tx.commit();
                people = changed;
                world.redo();
                // After a crash, from what was logged.
                let store = store_of(&world.redone);
                let (again, _) = TableSpace::open_with(store, 2, hash()).expect("open");
                check(again.view(), table, &people);
            } else {
                tx.abort();
            }
            check(world.space.view(), table, &people);
            check_snapshot(&snapshot, table, &before);
            drop(snapshot);
            if reopens {
                world.reopen(2);
                check(world.space.view(), table, &people);
            }
        }
    }
}

#[test]
fn an_index_is_created_of_the_rows_that_are_there_or_not_at_all() {
    let mut world = World::with_memory(STORE_BYTES);
    let mut without = schema();
    let indexes = std::mem::take(&mut without.indexes);
    let table = create(&mut world, without);
    let mut people = People::new();
    world.commit(|tx| {
        for id in 0..2000 {
            let mut person = person(id, id as u32 * 7919);
            person.name = text(&format!("the {id}"));
            tx.insert(table, &person).expect("inserted");
            people.insert(id, person);
        }
    });
    world.commit(|tx| {
        let unique = index("unique", true, &[(1, false)]);
        match in_detail(tx.create_index(table.number(), unique)) {
            Err(TableError::DuplicateValue {
                table, index, key, ..
            }) => {
                assert_eq!((&*table, &*index), ("people", "unique"));
                assert_eq!(key, "(0)");
            }
            other => panic!("{other:?}"),
        }
        for index in &indexes {
            tx.create_index(table.number(), index.clone())
                .expect("created");
        }
    });
    check(world.space.view(), table, &people);
    let before = world.space.index_bytes();
    world.commit(|tx| tx.drop_index(table.number(), BY_NAME).expect("dropped"));
    assert!(world.space.index_bytes() < before);
    let view = world.space.view();
    let gone = view.index(table, BY_NAME).map(drop);
    assert!(matches!(
        in_detail(gone),
        Err(TableError::UnknownIndex { .. })
    ));
    let wrong = view
        .index(table, BY_GROUP)
        .expect("there")
        .get_by("a")
        .map(drop);
    match in_detail(wrong) {
        Err(TableError::KeyValue {
            table,
            column,
            expected,
            ..
        }) => {
            assert_eq!((&*table, &*column, &*expected), ("people", "group", "u32"));
        }
        other => panic!("{other:?}"),
    }
}
