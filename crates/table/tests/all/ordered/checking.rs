//! Comparing indexes with people that are sorted by other means: of the live tables and of snapshots, from both ends.

use super::*;
use sardonyx_base::error::Error;
use sardonyx_rows::{Index, RowRef};
use sardonyx_storage::store::PageRead;
use sardonyx_table::{SpaceSnapshot, TreeEntries, View};
use std::cmp::Reverse;

/// People in an order, and among equals by nothing that is known.
fn sorted<K: Ord>(people: &People, key: impl Fn(&Person) -> K) -> Vec<Person> {
    let mut people: Vec<_> = people.values().copied().collect();
    people.sort_by_key(key);
    people
}

/// Compares the keys of a walk, forward and backward, with the people.
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
fn same_rows<P: PageRead + ?Sized>(index: &Index<TreeEntries<'_, P>>, expected: &[Person])
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

pub(super) fn check(view: View<'_>, table: Table<Person>, people: &People) {
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
    let of_languages = groups.range_or_none(high..low);
    assert!(of_languages.expect("good").next().is_none());
}

/// A snapshot's answers for the whole index and for parts, from both ends.
pub(super) fn check_snapshot(snapshot: &SpaceSnapshot, table: Table<Person>, people: &People) {
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
