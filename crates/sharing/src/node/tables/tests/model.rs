//! Trees and their pages beside a `BTreeMap`: random operations of several slots, of which some are stopped at a
//! random lock. After each the contents are compared, and now and then every page is checked.

use crate::node::NodeError;
use crate::node::tables::access::{Access, Change};
use crate::node::tables::check::check;
use crate::node::tables::entries::{self, Keys};
use crate::node::tables::known::{Known, Used};
use crate::node::tables::view::View;
use crate::node::tables::{catalogue, space};
use crate::node::work::WorkPoint;
use crate::protocol::LockMode;
use sardonyx_base::random::Random;
use sardonyx_rows::RowFormat;
use sardonyx_rows::schema::{Schema, Type};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::tree::{Intent, Page};
use std::collections::BTreeMap;
use std::ops::Bound;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Pages without locks. The lock at which an operation is stopped can be chosen.
struct Plain {
    pages: Vec<Page>,
    slot: usize,
    locks: usize,
    stops_at: Option<usize>,
    used: Used,
}

impl Plain {
    fn lock(&mut self) -> Result<(), NodeError> {
        self.locks += 1;
        match self.stops_at == Some(self.locks) {
            true => Err(NodeError::Deadlock),
            false => Ok(()),
        }
    }
}

impl Access for Plain {
    fn slot(&self) -> usize {
        self.slot
    }

    fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    fn read_page(&mut self, page: u64, _: LockMode, into: &mut Page) -> Result<(), NodeError> {
        self.lock()?;
        *into = self.pages[page as usize];
        Ok(())
    }

    fn lock_to_write(&mut self, _: u64) -> Result<(), NodeError> {
        self.lock()
    }

    fn write_all(&mut self, changes: &[Change<'_>]) -> Result<(), NodeError> {
        for change in changes {
            let bytes = &mut self.pages[change.page as usize][change.offset..];
            bytes[..change.bytes.len()].copy_from_slice(change.bytes);
        }
        Ok(())
    }

    fn database(&self) -> u64 {
        0
    }

    fn known(&self) -> Option<&Known> {
        None
    }

    fn used(&mut self) -> &mut Used {
        &mut self.used
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        unreachable!("an operation on a tree has none")
    }

    fn roll_back(&mut self, _: WorkPoint) -> Result<(), NodeError> {
        unreachable!("an operation on a tree has none")
    }
}

/// A table of keys and values.
pub fn format() -> RowFormat {
    let schema = Schema::new()
        .column("key", Type::Bytes)
        .column("value", Type::Bytes)
        .primary_key(["key"])
        .build();
    RowFormat::new("things", schema.unwrap()).unwrap()
}

/// A row of the table, so that the check finds it under its key.
pub fn row(format: &RowFormat, key: &[u8], value: &[u8]) -> (Vec<u8>, Vec<u8>) {
    use sardonyx_rows::schema::Value;
    let values = [
        ("key", Value::Bytes(key.to_vec())),
        ("value", Value::Bytes(value.to_vec())),
    ];
    let row = format.new_row(&format.named(&values).unwrap()).unwrap();
    (format.key_of(&row).unwrap(), row)
}

struct Tested {
    plain: Plain,
    root: u32,
    format: RowFormat,
    model: Model,
    refused: u32,
}

impl Tested {
    fn new(pages: usize) -> Tested {
        let mut plain = Plain {
            pages: vec![[0; PAGE_SIZE]; pages],
            slot: 0,
            locks: 0,
            stops_at: None,
            used: Used::default(),
        };
        let mut view = View::new(&mut plain);
        let info = catalogue::make_table(&mut view, format(), 0).unwrap();
        view.finish().unwrap();
        Tested {
            plain,
            root: info.root,
            format: info.format,
            model: Model::new(),
            refused: 0,
        }
    }

    /// Does something; a refused operation has had no effect.
    fn run<T>(
        &mut self,
        done: impl FnOnce(&mut View<'_>, u32) -> Result<T, NodeError>,
    ) -> Option<T> {
        let before = self.plain.pages.clone();
        let mut view = View::new(&mut self.plain);
        let done = done(&mut view, self.root).and_then(|done| view.finish().map(|()| done));
        match done {
            Ok(done) => Some(done),
            Err(NodeError::Deadlock | NodeError::PagesFull { .. }) => {
                assert!(before == self.plain.pages, "what was refused had an effect");
                self.refused += 1;
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn step(&mut self, random: &mut Random, keys: u64, longest: u64) {
        self.plain.slot = random.below(3) as usize;
        self.plain.locks = 0;
        self.plain.stops_at = random.chance(1, 12).then(|| 1 + random.below(9) as usize);
        let number = random.below(keys);
        // Keys of different lengths, a few of them long.
        let mut key = number.to_be_bytes()[6..].to_vec();
        key.resize(
            2 + (number as usize * 37) % 60 * usize::from(number.is_multiple_of(7)) * 12,
            b'k',
        );
        let length = random.below(longest) * random.below(2) + random.below(40);
        let (key, value) = row(
            &self.format,
            &key,
            &vec![random.next() as u8; length as usize],
        );
        match random.below(8) {
            0..3 => {
                let there = self.model.contains_key(&key);
                let done = self.run(|view, root| entries::insert(view, root, &key, &value));
                assert!(done.is_none_or(|done| done != there));
                if done == Some(true) {
                    self.model.insert(key, value);
                }
            }
            3..5 => {
                let done = self.run(|view, root| entries::put(view, root, &key, &value));
                if let Some(there) = done {
                    assert_eq!(self.model.insert(key, value).is_some(), there);
                }
            }
            5..7 => {
                let done = self.run(|view, root| entries::remove(view, root, &key));
                if let Some(found) = done {
                    assert_eq!(self.model.remove(&key), found);
                }
            }
            _ => {
                let done = self.run(|view, root| entries::get(view, root, &key, Intent::Read));
                if let Some(found) = done {
                    assert_eq!(self.model.get(&key), found.as_ref());
                }
                let (other, _) = row(&self.format, &random.below(keys).to_be_bytes()[6..], b"");
                let keys = Keys {
                    lower: bound(random, key),
                    upper: bound(random, other),
                };
                self.scan(random, &keys);
            }
        }
        self.plain.stops_at = None;
    }

    fn scan(&mut self, random: &mut Random, keys: &Keys) {
        let (limit, descends) = (1 + random.below(30) as usize, random.chance(1, 2));
        let done = self.run(|view, root| entries::scan(view, root, keys, limit, descends));
        let counted = self.run(|view, root| entries::count(view, root, keys, limit));
        let inside = |key: &Vec<u8>| {
            let above = match &keys.lower {
                Bound::Included(lower) => lower <= key,
                Bound::Excluded(lower) => lower < key,
                Bound::Unbounded => true,
            };
            let below = match &keys.upper {
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
                Bound::Unbounded => true,
            };
            above && below
        };
        let all = self.model.iter().filter(|(key, _)| inside(key));
        let all: Vec<_> = all
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if let Some((count, _)) = counted {
            assert_eq!(count, all.len().min(limit));
        }
        let expected: Vec<_> = match descends {
            false => all.into_iter().take(limit).collect(),
            true => all.into_iter().rev().take(limit).collect(),
        };
        assert!(done.is_none_or(|found| found == expected));
    }

    fn check(&mut self) -> crate::node::PagesInUse {
        let found = check(&View::new(&mut self.plain)).unwrap();
        assert_eq!(found.rows, self.model.len() as u64);
        found
    }
}

fn bound(random: &mut Random, key: Vec<u8>) -> Bound<Vec<u8>> {
    match random.below(4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

fn explore(seed: u64, pages: usize, keys: u64, longest: u64) -> Tested {
    let mut random = Random::new(seed);
    let mut tested = Tested::new(pages);
    for step in 0..1200 {
        tested.step(&mut random, keys, longest);
        if step % 40 == 0 {
            tested.check();
        }
    }
    tested
}

#[test]
fn trees_are_as_their_model_and_every_page_is_used_once() {
    for seed in 0..sardonyx_base::random::asked("SARDONYX_SEEDS").unwrap_or(3) {
        let mut tested = explore(seed, 1500, 600, 9000);
        assert!(tested.refused > 20);
        let found = tested.check();
        assert!(found.values > 20 && found.nodes > 15, "{found:?}");
    }
}

#[test]
fn full_pages_refuse_and_lose_nothing() {
    for seed in 10..16 {
        let mut tested = explore(seed, 130, 300, 5000);
        assert!(tested.refused > 50);
        let found = tested.check();
        assert!(found.used == 130, "{found:?}");
        // All of it can be given back, and be used by another slot.
        for key in std::mem::take(&mut tested.model).into_keys() {
            let gone = tested.run(|view, root| entries::remove(view, root, &key));
            assert!(gone.flatten().is_some());
        }
        let empty = tested.check();
        assert!(empty.free > 50 && empty.values == 0, "{empty:?}");
        tested.plain.slot = 63;
        let long = vec![1; 4080 * (empty.free as usize - 2)];
        let (key, value) = row(&tested.format, b"all", &long);
        let inserted = tested.run(|view, root| entries::insert(view, root, &key, &value));
        assert_eq!(inserted, Some(true));
        tested.model.insert(key, value);
        assert!(tested.check().free <= 2);
    }
}

/// Pages of another use are refused, and damaged ones named.
#[test]
fn other_pages_are_refused_and_damage_is_named() {
    let mut tested = explore(20, 1500, 600, 9000);
    let good = tested.plain.pages.clone();
    tested.plain.pages[0][..8].copy_from_slice(b"SdxTable");
    let refused = check(&View::new(&mut tested.plain)).unwrap_err();
    assert!(matches!(refused, NodeError::OtherPages), "{refused}");
    let mut random = Random::new(3);
    let (mut named, mut harmless) = (0, 0);
    for _ in 0..300 {
        tested.plain.pages.clone_from(&good);
        let used = check(&View::new(&mut tested.plain)).unwrap().used;
        let page = random.below(used) as usize;
        let byte = random.below(16) as usize;
        tested.plain.pages[page][byte] ^= 1 << random.below(8);
        match check(&View::new(&mut tested.plain)) {
            Err(_) => named += 1,
            Ok(_) => harmless += 1,
        }
        // With any content, nothing panics and nothing goes on for ever.
        for _ in 0..4 {
            let root = tested.root;
            let (key, value) = row(
                &tested.format,
                &random.below(600).to_be_bytes()[6..],
                &vec![1; random.below(3000) as usize],
            );
            let mut view = View::new(&mut tested.plain);
            let _ = match random.below(4) {
                0 => entries::insert(&mut view, root, &key, &value).map(drop),
                1 => entries::put(&mut view, root, &key, &value).map(drop),
                2 => entries::remove(&mut view, root, &key).map(drop),
                _ => {
                    let keys = Keys {
                        lower: Bound::Included(key),
                        upper: Bound::Unbounded,
                    };
                    entries::scan(&view, root, &keys, 100, random.chance(1, 2)).map(drop)
                }
            };
            let _ = view.finish();
        }
    }
    assert!(named > 2 * harmless, "{named} named, {harmless} not");
    tested.plain.pages = vec![[0; PAGE_SIZE]; 66];
    let full = space::prepare(&mut View::new(&mut tested.plain)).unwrap_err();
    assert!(matches!(full, NodeError::PagesFull { pages: 66 }), "{full}");
}
