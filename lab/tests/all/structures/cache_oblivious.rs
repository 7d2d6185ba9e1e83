//! The cache-oblivious B-tree beside the standard library's, with `check` after every step.

use std::collections::{BTreeMap, VecDeque};

use crate::structures::common::{bound, grow, inside, step::Step, steps};
use proptest::prelude::*;
use sardonyx_lab::structures::{CacheObliviousTree, Error, Key, Page};

type Narrow<K, const V: usize> = CacheObliviousTree<Vec<Page>, K, V, 4>;
type Model<K, const V: usize> = BTreeMap<K, [u8; V]>;

fn narrow<K: Key, const V: usize>() -> Narrow<K, V> {
    Narrow::create_with_segment(vec![Page::zeroed(); 2]).unwrap()
}

fn insert<K: Key, const V: usize, const F: usize>(
    tree: &mut CacheObliviousTree<Vec<Page>, K, V, F>,
    key: K,
    value: [u8; V],
) -> Option<[u8; V]> {
    loop {
        match tree.insert(key, &value) {
            Err(Error::Full { pages_needed }) => grow(tree.pages_mut(), pages_needed),
            other => return other.unwrap(),
        }
    }
}

fn same<K: Key + std::fmt::Debug, const V: usize, const F: usize>(
    tree: &CacheObliviousTree<Vec<Page>, K, V, F>,
    model: &Model<K, V>,
) {
    let forward: Vec<_> = tree.range(..).map(Result::unwrap).collect();
    assert!(
        forward
            .iter()
            .copied()
            .eq(model.iter().map(|(k, v)| (*k, *v)))
    );
    let mut backward: Vec<_> = tree.range(..).rev().map(Result::unwrap).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(tree.len().unwrap(), model.len());
    assert_eq!(tree.is_empty().unwrap(), model.is_empty());
    assert_eq!(
        tree.first().unwrap(),
        model.first_key_value().map(|(k, v)| (*k, *v))
    );
    assert_eq!(
        tree.last().unwrap(),
        model.last_key_value().map(|(k, v)| (*k, *v))
    );
}

proptest! {
    #![proptest_config(crate::structures::common::configuration())]

    #[test]
    fn every_step_is_as_in_the_model(steps in steps(400)) {
        let mut tree = narrow::<u64, 8>();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    let value = value.to_le_bytes();
                    prop_assert_eq!(insert(&mut tree, key, value), model.insert(key, value));
                }
                Step::Remove(key) => {
                    prop_assert_eq!(tree.remove(key).unwrap(), model.remove(&key));
                }
                Step::Get(key) => {
                    prop_assert_eq!(tree.get(key).unwrap(), model.get(&key).copied());
                }
            }
            prop_assert_eq!(tree.check().unwrap().entries, model.len());
        }
        same(&tree, &model);
    }

    #[test]
    fn ranges_from_both_ends_are_as_in_the_model(
        keys in proptest::collection::btree_set(0u64..400, 0..200),
        lower in bound(), upper in bound(), turns in proptest::collection::vec(any::<bool>(), 220),
    ) {
        let mut tree = narrow::<u64, 8>();
        for key in &keys {
            insert(&mut tree, *key, key.to_le_bytes());
        }
        let mut expected: VecDeque<u64> =
            keys.iter().copied().filter(|key| inside(*key, lower, upper)).collect();
        let mut range = tree.range((lower, upper));
        for front in turns {
            let (found, wanted) = if front {
                (range.next(), expected.pop_front())
            } else {
                (range.next_back(), expected.pop_back())
            };
            prop_assert_eq!(found.transpose().unwrap().map(|entry| entry.0), wanted);
        }
    }

    #[test]
    fn byte_keys_and_long_values_are_as_in_the_model(
        steps in proptest::collection::vec((any::<[u8; 3]>(), any::<bool>()), 0..300)
    ) {
        let area = vec![Page::zeroed(); 2];
        let mut tree = CacheObliviousTree::<_, [u8; 3], 200>::create(area).unwrap();
        let mut model = Model::new();
        for (mut key, remove) in steps {
            key[0] %= 4;
            key[1] %= 4;
            if remove {
                prop_assert_eq!(tree.remove(key).unwrap(), model.remove(&key));
            } else {
                let value = [key[2]; 200];
                prop_assert_eq!(insert(&mut tree, key, value), model.insert(key, value));
            }
            tree.check().unwrap();
        }
        same(&tree, &model);
    }
}

#[test]
fn known_sequences_grow_and_shrink_to_nothing() {
    for (name, keys) in crate::structures::common::sequences(3_000) {
        let mut tree = narrow::<u64, 8>();
        let mut model = Model::new();
        for (turn, key) in keys.iter().enumerate() {
            let value = (turn as u64).to_le_bytes();
            assert_eq!(
                insert(&mut tree, *key, value),
                model.insert(*key, value),
                "{name}"
            );
            if turn % 97 == 0 {
                tree.check()
                    .unwrap_or_else(|error| panic!("{name}, insert {turn}: {error}"));
            }
        }
        same(&tree, &model);
        let figures = tree.check().unwrap();
        assert!(figures.levels >= 10, "{name}");
        assert!(figures.entries * 4 > figures.slots, "{name}: {figures:?}");
        for (turn, key) in keys.iter().enumerate() {
            assert_eq!(tree.remove(*key).unwrap(), model.remove(key), "{name}");
            if turn % 97 == 0 {
                tree.check()
                    .unwrap_or_else(|error| panic!("{name}, remove {turn}: {error}"));
            }
        }
        let figures = tree.check().unwrap();
        assert_eq!((figures.entries, figures.levels), (0, 0), "{name}");
    }
}

#[test]
fn whole_segments_are_a_quarter_full_or_more() {
    for (name, keys) in crate::structures::common::sequences(20_000) {
        let mut tree = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
        for key in keys {
            insert(&mut tree, key, [1; 8]);
        }
        let figures = tree.check().unwrap();
        assert!(figures.entries * 3 > figures.slots, "{name}: {figures:?}");
    }
}

#[test]
fn inserts_move_few_bytes_on_average() {
    for (name, keys) in crate::structures::common::sequences(1_200) {
        let mut tree = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
        let (mut pages, mut bytes) = (0, 0);
        for key in &keys {
            let before = tree.clone().into_pages();
            insert(&mut tree, *key, key.to_le_bytes());
            let difference = crate::structures::common::difference(&before, tree.pages_mut());
            pages += difference.0;
            bytes += difference.1;
        }
        let (pages, bytes) = (
            pages as f64 / keys.len() as f64,
            bytes as f64 / keys.len() as f64,
        );
        assert!(
            pages < 3.0 && bytes < 1_000.0,
            "{name}: {pages} pages, {bytes} bytes"
        );
    }
}

#[test]
fn full_comes_before_any_change() {
    let mut tree = narrow::<u64, 64>();
    let mut fulls = 0;
    for key in crate::structures::common::random(7).take(500) {
        let before = tree.clone().into_pages();
        match tree.insert(key, &[0; 64]) {
            Err(Error::Full { pages_needed }) => {
                fulls += 1;
                assert!(crate::structures::common::equal(&before, tree.pages_mut()));
                // One page less than needed is still too few, and gives the same error.
                grow(tree.pages_mut(), pages_needed - 1);
                assert_eq!(
                    tree.insert(key, &[0; 64]),
                    Err(Error::Full { pages_needed })
                );
                grow(tree.pages_mut(), pages_needed);
                assert_eq!(tree.insert(key, &[0; 64]), Ok(None));
            }
            other => assert_eq!(other, Ok(None)),
        }
    }
    assert!(fulls >= 5, "{fulls}");
    assert_eq!(tree.check().unwrap().entries, 500);
    let small = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed()]).map(|_| ());
    assert_eq!(small, Err(Error::Full { pages_needed: 2 }));
}

#[test]
fn page_0_changes_only_when_the_array_doubles() {
    let mut tree = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
    let mut doubled = 0;
    for key in crate::structures::common::random(9).take(5_000) {
        let levels = tree.check().unwrap().levels;
        let before = tree.pages_mut()[0];
        insert(&mut tree, key, [1; 8]);
        let changed = before.bytes != tree.pages_mut()[0].bytes;
        assert_eq!(changed, tree.check().unwrap().levels != levels);
        doubled += usize::from(changed);
    }
    assert!(doubled >= 7, "{doubled}");
}

#[test]
fn another_layout_is_refused() {
    let pages = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed(); 2])
        .unwrap()
        .into_pages();
    let values = CacheObliviousTree::<_, u64, 16>::open(&pages).map(|_| ());
    assert!(matches!(
        values,
        Err(Error::LayoutDiffers {
            found: 8,
            declared: 16,
            ..
        })
    ));
    let narrow = CacheObliviousTree::<_, u64, 8, 4>::open_with_segment(&pages).map(|_| ());
    assert!(matches!(
        narrow,
        Err(Error::LayoutDiffers {
            found: 31,
            declared: 4,
            ..
        })
    ));
    let nothing = CacheObliviousTree::<_, u64, 8>::open(vec![Page::zeroed(); 2]).map(|_| ());
    assert!(matches!(nothing, Err(Error::Damaged { page: 0, .. })));
}
