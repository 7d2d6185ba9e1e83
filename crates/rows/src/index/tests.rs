//! The verbs of an index over a store that has nothing but entries, beside a list of its keys.

use super::*;
use crate::key::Span;
use crate::row::RowFormat;
use crate::schema::{Type, Value, ValueRef};
use sardonyx_base::random::Random;
use std::collections::{BTreeMap, VecDeque};

/// Entries with the numbers of their rows, of which one may be unreadable.
#[derive(Clone, Copy)]
struct Entries<'e> {
    format: &'e RowFormat,
    entries: &'e BTreeMap<Vec<u8>, usize>,
    broken: Option<usize>,
}

/// A row by its number.
struct There(usize);

impl FoundRow for There {
    type Row = There;

    fn into_row(self) -> Result<There, TableError> {
        Ok(self)
    }
}

impl ReadRow for There {
    fn value_at(&self, _: usize) -> Result<ValueRef<'_>, TableError> {
        Ok(ValueRef::Int(self.0 as i128))
    }

    fn value_of(&self, _: &str) -> Result<ValueRef<'_>, Error> {
        Ok(self.value_at(0)?)
    }
}

impl Entries<'_> {
    fn read(&self, number: Option<usize>) -> Result<Option<There>, Error> {
        match number.is_some() && number == self.broken {
            true => Err(TableError::NoSavepoint.into()),
            false => Ok(number.map(There)),
        }
    }
}

impl IndexEntries for Entries<'_> {
    type Row = There;
    type Found = There;
    type Cursor = VecDeque<usize>;

    fn indexed(&self) -> Indexed<'_> {
        self.format.indexed(None)
    }

    fn between(
        &self,
        from: Option<Edge<'_>>,
        to: Option<Edge<'_>>,
    ) -> Result<VecDeque<usize>, Error> {
        let Some((from, to)) = Span::of(from, to).keys() else {
            return Ok(VecDeque::new());
        };
        let to = to.map_or(Bound::Unbounded, Bound::Excluded);
        let found = self.entries.range((Bound::Included(from), to));
        Ok(found.map(|(_, number)| *number).collect())
    }

    fn next<T: RowForm<There>>(
        &self,
        cursor: &mut VecDeque<usize>,
    ) -> Result<Option<There>, Error> {
        self.read(cursor.pop_front())
    }

    fn next_back<T: RowForm<There>>(
        &self,
        cursor: &mut VecDeque<usize>,
    ) -> Result<Option<There>, Error> {
        self.read(cursor.pop_back())
    }

    fn finish(&self, cursor: &mut VecDeque<usize>) {
        cursor.clear();
    }

    fn count(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<u64, Error> {
        Ok(self.between(from, to)?.len() as u64)
    }
}

type Key = (String, u64);

/// Keys in their order; the number of a row is its key's place.
struct Store {
    format: RowFormat,
    keys: Vec<Key>,
    entries: BTreeMap<Vec<u8>, usize>,
}

fn values(key: &Key) -> Vec<Value> {
    vec![key.0.as_str().into(), key.1.into()]
}

fn store(random: &mut Random) -> Store {
    let schema = Schema::new()
        .column("name", Type::Text)
        .column("number", Type::U64)
        .primary_key(["name", "number"])
        .ordered();
    let format = RowFormat::new("things", schema.build().expect("a schema")).expect("a format");
    let mut keys: Vec<Key> = (0..random.below(40)).map(|_| key(random)).collect();
    keys.sort_unstable();
    keys.dedup();
    let numbered = keys.iter().enumerate();
    let entries = numbered.map(|(number, key)| {
        let bytes = format.key(&values(key)[..]).expect("a key");
        (bytes, number)
    });
    Store {
        entries: entries.collect(),
        keys,
        format,
    }
}

fn key(random: &mut Random) -> Key {
    let name = ["", "a", "ab", "b", "ba", "c"][random.below(6) as usize];
    (name.to_string(), random.below(4))
}

impl Store {
    fn index(&self, broken: Option<usize>) -> Index<Entries<'_>> {
        let (format, entries) = (&self.format, &self.entries);
        let entries = Entries {
            format,
            entries,
            broken,
        };
        Index::new(entries).expect("an index")
    }

    fn places(&self, is_in: impl Fn(&[Value]) -> bool) -> Vec<usize> {
        let keys = self.keys.iter().enumerate();
        let found = keys.filter(|(_, key)| is_in(&values(key)));
        found.map(|(place, _)| place).collect()
    }
}

/// The first values of a key, as a bound.
fn bound(random: &mut Random) -> Bound<Vec<Value>> {
    let mut values = values(&key(random));
    values.truncate(1 + random.below(2) as usize);
    match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(values),
        _ => Bound::Excluded(values),
    }
}

/// Compares the first values of a key with a bound of as many.
fn compared(key: &[Value], bound: &[Value]) -> std::cmp::Ordering {
    let texts = |values: &[Value]| match values {
        [Value::Text(name), rest @ ..] => (name.to_string(), rest.first().cloned()),
        _ => unreachable!("keys begin with a text"),
    };
    let ((a, key), (b, bound)) = (texts(key), texts(bound));
    let number = |value: Option<Value>| match value {
        Some(Value::Int(number)) => Some(number),
        _ => None,
    };
    let numbers = bound.map(|bound| number(key).cmp(&number(Some(bound))));
    a.cmp(&b).then(numbers.unwrap_or(std::cmp::Ordering::Equal))
}

fn is_in(key: &[Value], range: &(Bound<Vec<Value>>, Bound<Vec<Value>>)) -> bool {
    let begins = match &range.0 {
        Bound::Unbounded => true,
        Bound::Included(from) => compared(key, from).is_ge(),
        Bound::Excluded(from) => compared(key, from).is_gt(),
    };
    let ends = match &range.1 {
        Bound::Unbounded => true,
        Bound::Included(to) => compared(key, to).is_le(),
        Bound::Excluded(to) => compared(key, to).is_lt(),
    };
    begins && ends
}

fn numbers(rows: impl Iterator<Item = Result<There, Error>>) -> Vec<usize> {
    rows.map(|row| row.expect("a row").0).collect()
}

#[test]
fn ranges_have_the_rows_between_their_bounds_from_both_ends() {
    let mut random = Random::new(31);
    let (mut reversed, mut empty) = (0, 0);
    for _ in 0..3000 {
        let store = store(&mut random);
        let index = store.index(None);
        let range = (bound(&mut random), bound(&mut random));
        let wanted = store.places(|key| is_in(key, &range));
        let found = index.range_or_none(range.clone()).expect("a range");
        assert_eq!(numbers(found), wanted, "{range:?} of {:?}", store.keys);
        let mut found = index.range_or_none(range.clone()).expect("a range");
        let mut left: VecDeque<usize> = wanted.iter().copied().collect();
        while !left.is_empty() {
            let (found, wanted) = match random.below(2) {
                0 => (found.next(), left.pop_front()),
                _ => (found.next_back(), left.pop_back()),
            };
            assert_eq!(found.map(|row| row.expect("a row").0), wanted);
        }
        assert!(found.next().is_none() && found.next_back().is_none());
        let count = index.count_range_or_none(range.clone()).expect("a count");
        assert_eq!(count, wanted.len() as u64);
        match (index.range(range.clone()), index.count_range(range.clone())) {
            (Ok(found), Ok(count)) => {
                assert_eq!(numbers(found), wanted);
                assert_eq!(count, wanted.len() as u64);
                empty += usize::from(wanted.is_empty());
            }
            (Err(error), Err(_)) => {
                assert_eq!(wanted, [0; 0], "{range:?}");
                assert!(error.to_string().contains("\"things\""), "{error}");
                reversed += 1;
            }
            _ => panic!("one of {range:?} is refused"),
        }
    }
    assert!(reversed > 100 && empty > 100, "{reversed} {empty}");
}

#[test]
fn rows_are_found_by_the_first_values_of_their_keys() {
    let mut random = Random::new(32);
    for _ in 0..1000 {
        let store = store(&mut random);
        let index = store.index(None);
        let mut wanted = values(&key(&mut random));
        wanted.truncate(1 + random.below(2) as usize);
        let begin = store.places(|key| compared(key, &wanted).is_eq());
        assert_eq!(numbers(index.prefix(&wanted).expect("a prefix")), begin);
        let first = index.get_by(&wanted).expect("a row");
        assert_eq!(first.map(|row| row.0), begin.first().copied());
        let many: Vec<_> = index.get_many([&wanted, &wanted]).collect();
        let many = many.into_iter().map(|found| found.expect("a row"));
        let many: Vec<_> = many.map(|row| row.map(|row| row.0)).collect();
        assert_eq!(many, [begin.first().copied(); 2]);
        let Value::Text(name) = &wanted[0] else {
            unreachable!("keys begin with a text");
        };
        let longer =
            store.places(|key| matches!(&key[0], Value::Text(text) if text.starts_with(&**name)));
        let found = index.starts_with(&wanted[..1]).expect("a prefix");
        assert_eq!(numbers(found), longer);
        let (first, last) = (index.first().expect("a row"), index.last().expect("a row"));
        let keys = store.keys.len();
        assert_eq!(first.map(|row| row.0), (keys > 0).then_some(0));
        assert_eq!(last.map(|row| row.0), keys.checked_sub(1));
        assert_eq!(
            numbers(index.all().expect("all")),
            (0..keys).collect::<Vec<_>>()
        );
        let drawn = index.draw(&wanted, &mut |_| 0).expect("no row");
        assert!(drawn.is_none(), "the store draws none");
    }
}

#[test]
fn an_error_is_returned_once_and_ends_a_range() {
    let mut random = Random::new(33);
    let store = std::iter::repeat_with(|| store(&mut random)).find(|store| store.keys.len() > 5);
    let store = store.expect("a store");
    let index = store.index(Some(2));
    let mut rows = index.all().expect("all");
    assert!(rows.next_back().expect("a row").is_ok());
    assert!(rows.next().expect("a row").is_ok() && rows.next().expect("a row").is_ok());
    assert!(rows.next().expect("an error").is_err());
    assert!(rows.next().is_none() && rows.next_back().is_none());
    let mut rows = index.all().expect("all").rev();
    assert!(rows.any(|row| row.is_err()));
    assert!(rows.next().is_none());
    assert!(index.get_by(values(&store.keys[2])).is_err());
}

#[test]
fn keys_that_the_index_cannot_have_are_refused_by_every_verb() {
    let store = store(&mut Random::new(34));
    let index = store.index(None);
    let wrong = || vec![Value::from(7)];
    let refusals = [
        index.get_by(wrong()).err(),
        index.range(wrong()..).err(),
        index.range_or_none(..wrong()).err(),
        index.prefix(wrong()).err(),
        index.starts_with(wrong()).err(),
        index.count_range(wrong()..).err(),
        index.draw(wrong(), &mut |_| 0).err(),
        index.get_many([wrong()]).next().and_then(Result::err),
    ];
    for refusal in refusals {
        let refusal = refusal.expect("a refusal").to_string();
        assert!(
            refusal.contains("\"name\"") && refusal.contains("\"things\""),
            "{refusal}"
        );
    }
}
