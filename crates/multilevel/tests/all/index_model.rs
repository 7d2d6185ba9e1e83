//! The ordered index against a `BTreeMap`: random operations, and the inverse of each; after every
//! step the contents are compared and the whole structure is checked.

use proptest::prelude::*;
use proptest::sample::select;
use sardonyx_multilevel::index::{IndexError, OrderedIndex, Restore, Shape};
use sardonyx_multilevel::{Operation, Pages, PlainPages, Recorded, Stop};
use std::collections::BTreeMap;
use std::ops::Bound;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Get(Vec<u8>),
    Insert(Vec<u8>, Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, usize, bool),
}

struct Tested {
    pages: PlainPages,
    index: OrderedIndex,
    model: Model,
}

impl Tested {
    fn new() -> Tested {
        let mut pages = PlainPages::new();
        let area = pages.area(0);
        let (index, model) = (OrderedIndex::of(area), Model::new());
        Tested {
            pages,
            index,
            model,
        }
    }

    /// Everything in the index equals everything in the model, and the structure is sound.
    fn compare(&mut self) -> Shape {
        let all = self.index.scan(..).execute(&mut self.pages).unwrap();
        assert!(
            all.iter().map(|(k, v)| (k, v)).eq(self.model.iter()),
            "contents differ"
        );
        let shape = self.index.check(&self.pages).unwrap();
        assert_eq!(shape.entries, self.model.len() as u64);
        shape
    }

    /// Executes an operation and then, on a copy, its inverse as it would be read from the log.
    fn run<O: Operation<Error = IndexError>>(
        &mut self,
        operation: &O,
    ) -> Result<O::Output, IndexError> {
        let before = self.index.scan(..).execute(&mut self.pages).unwrap();
        let output = operation.execute(&mut self.pages)?;
        if let Some(inverse) = operation.inverse(&output) {
            assert_eq!(inverse.name(), Restore::NAME);
            let mut copy = self.pages.clone();
            let restore = Restore::decode(inverse.bytes()).unwrap();
            restore.execute(&mut copy).unwrap();
            assert!(
                self.index.scan(..).execute(&mut copy).unwrap() == before,
                "not undone"
            );
            self.index.check(&copy).unwrap();
            // Again, as if the program had forgotten: no harm.
            restore.execute(&mut copy).unwrap();
            assert!(
                self.index.scan(..).execute(&mut copy).unwrap() == before,
                "undone twice"
            );
        }
        Ok(output)
    }

    fn step(&mut self, step: &Step) {
        let index = self.index;
        match step {
            Step::Get(key) => {
                let got = self.run(&index.get(key)).unwrap();
                assert_eq!(got.as_ref(), self.model.get(key));
            }
            Step::Insert(key, value) => {
                let inserted = self.run(&index.insert(key, value));
                if self.model.contains_key(key) {
                    assert_eq!(inserted, Err(IndexError::Duplicate));
                } else {
                    inserted.unwrap();
                    self.model.insert(key.clone(), value.clone());
                }
            }
            Step::Put(key, value) => {
                let old = self.run(&index.put(key, value)).unwrap();
                assert_eq!(old, self.model.insert(key.clone(), value.clone()));
            }
            Step::Delete(key) => {
                let old = self.run(&index.delete(key)).unwrap();
                assert_eq!(old, self.model.remove(key));
            }
            Step::Scan(lower, upper, limit, descending) => {
                self.scan(lower, upper, *limit, *descending);
            }
        }
    }

    fn scan(&mut self, lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>, limit: usize, down: bool) {
        let range = (
            lower.as_ref().map(|k| &k[..]),
            upper.as_ref().map(|k| &k[..]),
        );
        let mut scan = self.index.scan(range).limit(limit);
        let inside = self
            .model
            .iter()
            .filter(|(key, _)| std::ops::RangeBounds::<[u8]>::contains(&range, &key[..]));
        let mut expected: Vec<_> = inside.map(|(k, v)| (k.clone(), v.clone())).collect();
        if down {
            scan = scan.descending();
            expected.reverse();
        }
        expected.truncate(limit);
        assert!(
            scan.execute(&mut self.pages).unwrap() == expected,
            "{scan:?}"
        );
    }
}

/// Few different keys of all lengths, so that they meet again; some with long common beginnings.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let long = select(vec![0, 1, 3, 40, 400, 998]);
    prop_oneof![
        (0..300_u16).prop_map(|n| n.to_be_bytes().to_vec()),
        (long, 0..60_u16).prop_map(|(length, n)| {
            let mut key = vec![7; length];
            key.extend(n.to_be_bytes());
            key
        }),
        prop::collection::vec(0..3_u8, 0..4),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let length = select(vec![0, 0, 1, 8, 8, 100, 500, 1000]);
    (length, any::<u8>()).prop_map(|(length, byte)| vec![byte; length])
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => key().prop_map(Step::Get),
        6 => (key(), value()).prop_map(|(key, value)| Step::Insert(key, value)),
        4 => (key(), value()).prop_map(|(key, value)| Step::Put(key, value)),
        5 => key().prop_map(Step::Delete),
        3 => (bound(), bound(), select(vec![0, 1, 3, usize::MAX]), any::<bool>())
            .prop_map(|(lower, upper, limit, down)| Step::Scan(lower, upper, limit, down)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sardonyx_base::random::cases(10), ..ProptestConfig::default() })]

    #[test]
    fn it_does_what_a_map_does_and_its_inverses_undo_it(
        steps in prop::collection::vec(step(), 1..300)
    ) {
        let mut tested = Tested::new();
        for step in &steps {
            tested.step(step);
            tested.compare();
        }
        // Down to nothing again, each level joined or given back.
        for key in tested.model.keys().cloned().collect::<Vec<_>>() {
            tested.step(&Step::Delete(key));
        }
        let shape = tested.compare();
        prop_assert!(shape.leaves <= 1, "{:?}", shape);
    }
}

/// A number without pattern from a number.
fn scattered(number: u64) -> u64 {
    number
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23)
        .wrapping_mul(0xff51_afd7_ed55_8ccd)
}

fn filled(keys: impl Iterator<Item = u64>) -> Tested {
    let mut tested = Tested::new();
    for key in keys {
        let (key, value) = (key.to_be_bytes(), [1; 40]);
        tested
            .index
            .insert(&key, &value)
            .execute(&mut tested.pages)
            .unwrap();
        tested.model.insert(key.to_vec(), value.to_vec());
    }
    tested
}

#[test]
fn ascending_and_descending_keys_fill_their_leaves_and_scattered_ones_most() {
    const COUNT: u64 = 20_000;
    let share = |shape: Shape| shape.leaf_bytes as f64 / (shape.leaves as f64 * 4080.0);
    let ascending = filled(0..COUNT).compare();
    assert!(share(ascending) > 0.97, "{ascending:?}");
    let descending = filled((0..COUNT).rev()).compare();
    assert!(share(descending) > 0.97, "{descending:?}");
    let random = filled((0..COUNT).map(scattered)).compare();
    assert!(share(random) > 0.6, "{random:?}");
}

#[test]
fn inner_nodes_of_all_levels_split_and_go_again() {
    // Keys that share all but their last bytes: four separators to a node.
    let key = |number: u64| [&[9; 990][..], &scattered(number).to_be_bytes()].concat();
    let mut tested = Tested::new();
    for number in 0..1_500 {
        let (key, value) = (key(number), vec![1; 900]);
        tested
            .index
            .insert(&key, &value)
            .execute(&mut tested.pages)
            .unwrap();
        tested.model.insert(key, value);
    }
    let full = tested.compare();
    assert!(full.height >= 5, "{full:?}");
    for number in 0..1_500 {
        let key = key(number);
        let old = tested
            .index
            .delete(&key)
            .execute(&mut tested.pages)
            .unwrap();
        assert_eq!(old, tested.model.remove(&key));
        if number % 100 == 0 {
            tested.compare();
        }
    }
    let empty = tested.compare();
    assert_eq!((empty.height, empty.leaves, empty.inner), (2, 1, 1));
    assert_eq!(empty.free, full.leaves + full.inner + full.free - 2);
}

#[test]
fn churn_needs_no_more_pages() {
    // A window that moves over the keys: all are inserted at the front and deleted at the back,
    // but for one in a hundred.
    let mut tested = filled(0..5_000);
    let mut pages = 0;
    for key in 5_000..60_000_u64 {
        let new = key.to_be_bytes();
        tested
            .index
            .insert(&new, &[1; 40])
            .execute(&mut tested.pages)
            .unwrap();
        let old = (key - 5_000).to_be_bytes();
        if !(key - 5_000).is_multiple_of(100) {
            tested
                .index
                .delete(&old)
                .execute(&mut tested.pages)
                .unwrap()
                .unwrap();
        }
        if key == 20_000 {
            pages = tested.pages.pages_of(tested.index.area()).unwrap();
        }
    }
    let shape = tested.index.check(&tested.pages).unwrap();
    let used = shape.leaves + shape.inner;
    // 5,550 entries of 54 bytes fill 74 leaves; a quarter of each is more than there has to be.
    assert!(used < 4 * 74, "{shape:?}");
    let now = tested.pages.pages_of(tested.index.area()).unwrap();
    assert!(now <= pages * 3 / 2, "{pages} pages became {now}");
}

#[test]
fn what_is_too_long_is_refused_and_the_longest_is_not() {
    let mut tested = Tested::new();
    let (longest, longer) = ([1; 1_000], [1; 1_001]);
    for byte in 0..50 {
        let key = [&[byte], &longest[1..]].concat();
        tested.step(&Step::Put(key, longest.to_vec()));
    }
    tested.compare();
    let (index, pages) = (tested.index, &mut tested.pages);
    let key = Err(IndexError::KeyLength { length: 1_001 });
    assert_eq!(index.insert(&longer, b"").execute(pages), key);
    let value = IndexError::ValueLength { length: 1_001 };
    assert_eq!(index.put(b"", &longer).execute(pages), Err(value));
    assert_eq!(
        index.get(&longer).execute(pages),
        Err(IndexError::KeyLength { length: 1_001 })
    );
    let nowhere = OrderedIndex::of(sardonyx_multilevel::Area(9));
    let expected = Err(IndexError::Stop(Stop::NoArea { number: 9 }));
    assert_eq!(nowhere.get(b"").execute(pages), expected);
}
