//! Ordered indexes against sorted maps: random transactions that insert, change and delete rows, create and drop
//! indexes, and are undone or not. Compared are ranges, prefixes and counts, and the index rebuilt from the pages
//! alone with the kept one.

mod checking;

use crate::support::{STORE_BYTES, World, hash, in_detail, store_of};
use checking::{check, check_snapshot};
use proptest::prelude::*;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{
    Column, IndexDefinition, IndexKind, KeyPart, NullBit, Schema, Type, Value,
};
use sardonyx_rows::{Record as _, Table, TableError, field, record};
use sardonyx_table::{TableSpace, Transaction};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
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
        deferrable: false,
        nulls_equal: false,
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

/// Returns true if a person may be there beside the others.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(8)))]

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
                // After a crash, from the log.
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

#[test]
fn indexes_that_are_undone_do_not_pile_up() {
    let mut world = World::with_memory(STORE_BYTES);
    let mut without = schema();
    without.indexes.clear();
    let table = create(&mut world, without);
    world.commit(|tx| {
        for id in 0..6000 {
            tx.insert(table, &person(id, id as u32)).expect("inserted");
        }
    });
    let before = world.space.index_bytes();
    let mut most = 0;
    for round in 0..20 {
        let mut tx = world.space.begin(&mut world.log);
        tx.create_index(table.number(), by_score())
            .expect("created");
        tx.abort();
        let now = world.space.index_bytes();
        assert!(
            now > before,
            "it takes more than the end of one transaction gives back"
        );
        match round {
            0 => most = now,
            _ => assert!(now <= most, "{now} bytes in round {round}, {most} before"),
        }
    }
    for _ in 0..50 {
        world.space.begin(&mut world.log).abort();
    }
    assert_eq!(world.space.index_bytes(), before);
}
