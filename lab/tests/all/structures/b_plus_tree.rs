//! The B+-tree beside the standard library's, with `check` after every step.

use std::collections::{BTreeMap, VecDeque};

use crate::structures::common::{bound, grow, inside, step::Step, steps};
use proptest::prelude::*;
use sardonyx_lab::structures::{BPlusTree, Error, Key, Page};

type Narrow<K, const V: usize> = BPlusTree<Vec<Page>, K, V, 4>;
type Model<K, const V: usize> = BTreeMap<K, [u8; V]>;

fn insert<K: Key, const V: usize, const F: usize>(
    tree: &mut BPlusTree<Vec<Page>, K, V, F>,
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
    tree: &BPlusTree<Vec<Page>, K, V, F>,
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
        let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 2]).unwrap();
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
            let figures = tree.check().unwrap();
            prop_assert_eq!(figures.entries, model.len());
        }
        same(&tree, &model);
    }

    #[test]
    fn ranges_from_both_ends_are_as_in_the_model(
        keys in proptest::collection::btree_set(0u64..400, 0..200),
        lower in bound(), upper in bound(), turns in proptest::collection::vec(any::<bool>(), 220),
    ) {
        let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 2]).unwrap();
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
        let mut tree = BPlusTree::<_, [u8; 3], 200>::create(vec![Page::zeroed(); 2]).unwrap();
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
        let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 2]).unwrap();
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
        assert!(tree.check().unwrap().levels > 4, "{name}");
        for (turn, key) in keys.iter().enumerate() {
            assert_eq!(tree.remove(*key).unwrap(), model.remove(key), "{name}");
            if turn % 97 == 0 {
                tree.check()
                    .unwrap_or_else(|error| panic!("{name}, remove {turn}: {error}"));
            }
        }
        let figures = tree.check().unwrap();
        assert_eq!(
            (figures.entries, figures.levels, figures.inner_nodes),
            (0, 1, 0),
            "{name}"
        );
        assert_eq!(
            figures.free_pages + 3,
            tree.pages_mut().len() + 1,
            "{name}: no page is lost"
        );
    }
}

#[test]
fn whole_pages_hold_many_entries() {
    let mut tree = BPlusTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
    for (_, keys) in crate::structures::common::sequences(20_000) {
        for key in keys {
            insert(&mut tree, key, [1; 8]);
        }
    }
    let figures = tree.check().unwrap();
    assert!(figures.levels <= 3, "{figures:?}");
    assert!(figures.entries / figures.leaves > 100, "{figures:?}");
}

#[test]
fn ascending_keys_fill_their_leaves() {
    let mut tree = BPlusTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
    for key in 0..240_000 {
        insert(&mut tree, key, [1; 8]);
    }
    let figures = tree.check().unwrap();
    assert_eq!(figures.leaves, 1_000, "240 entries fit in a leaf");
    assert_eq!(
        figures.inner_nodes, 4,
        "340 children fit in an inner node, and a root above"
    );
}

#[test]
fn full_comes_before_any_change() {
    let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 2]).unwrap();
    let mut fulls = 0;
    for key in crate::structures::common::random(7).take(500) {
        let before = tree.clone().into_pages();
        match tree.insert(key, &[0; 8]) {
            Err(Error::Full { pages_needed }) => {
                fulls += 1;
                assert!(crate::structures::common::equal(&before, tree.pages_mut()));
                // One page less than needed is still too few, and gives the same error.
                grow(tree.pages_mut(), pages_needed - 1);
                assert_eq!(tree.insert(key, &[0; 8]), Err(Error::Full { pages_needed }));
                grow(tree.pages_mut(), pages_needed);
                assert_eq!(tree.insert(key, &[0; 8]), Ok(None));
            }
            other => assert_eq!(other, Ok(None)),
        }
    }
    assert!(fulls > 50, "{fulls}");
    assert_eq!(tree.check().unwrap().entries, 500);
    assert_eq!(
        BPlusTree::<_, u64, 8>::create(vec![Page::zeroed()]).map(|_| ()),
        Err(Error::Full { pages_needed: 2 })
    );
}

#[test]
fn an_insert_changes_one_page_and_few_bytes() {
    let mut pages = vec![Page::zeroed(); 64];
    let mut tree = BPlusTree::<_, u64, 8>::create(&mut pages[..]).unwrap();
    for key in crate::structures::common::random(3).take(2_000) {
        tree.insert(key, &[0; 8]).unwrap();
    }
    let mut splits = 0;
    for key in crate::structures::common::random(4).take(500) {
        let before = pages.clone();
        let mut tree = BPlusTree::<_, u64, 8>::open(&mut pages[..]).unwrap();
        tree.insert(key, &[0xFF; 8]).unwrap();
        let (changed_pages, changed_bytes) = crate::structures::common::difference(&before, &pages);
        if changed_pages == 1 {
            assert!(changed_bytes <= 16 + 241 + 2, "{changed_bytes}");
        } else {
            assert_eq!(
                changed_pages, 4,
                "page 0, the leaf, the new leaf, their parent"
            );
            splits += 1;
        }
    }
    assert!((1..20).contains(&splits), "{splits}");
}

#[test]
fn the_same_code_runs_on_bytes_of_a_segment() {
    use sardonyx_base::resident::bytes_of_slice_mut;
    let mut memory = vec![Page::zeroed(); 40];
    let bytes = bytes_of_slice_mut(&mut memory);
    BPlusTree::<_, u64, 8>::create(Page::slice_mut(bytes).unwrap()).unwrap();
    for key in 0..1000u64 {
        let pages = Page::slice_mut(bytes).unwrap();
        let mut tree = BPlusTree::<_, u64, 8>::open(pages).unwrap();
        tree.insert(key, &key.to_le_bytes()).unwrap();
    }
    let tree = BPlusTree::<_, u64, 8>::open(Page::slice(bytes).unwrap()).unwrap();
    assert_eq!(tree.len().unwrap(), 1000);
    assert!(matches!(
        Page::slice(&bytes[8..4104]),
        Err(Error::NotPages {
            length: 4096,
            excess: 8
        })
    ));
}

#[test]
fn another_layout_is_refused() {
    let pages = BPlusTree::<_, u64, 8>::create(vec![Page::zeroed(); 2])
        .unwrap()
        .into_pages();
    let open = |pages: &Vec<Page>| BPlusTree::<_, u64, 16>::open(pages.clone()).map(|_| ());
    assert!(matches!(
        open(&pages),
        Err(Error::LayoutDiffers {
            found: 8,
            declared: 16,
            ..
        })
    ));
    let narrow = BPlusTree::<_, u64, 8, 4>::open_with_fan_out(pages.clone()).map(|_| ());
    assert!(matches!(
        narrow,
        Err(Error::LayoutDiffers {
            found: 240,
            declared: 4,
            ..
        })
    ));
    let keys = BPlusTree::<_, [u8; 4], 8>::open(pages).map(|_| ());
    assert!(matches!(
        keys,
        Err(Error::LayoutDiffers {
            found: 8,
            declared: 4,
            ..
        })
    ));
    let nothing = BPlusTree::<_, u64, 8>::open(vec![Page::zeroed(); 2]).map(|_| ());
    assert!(matches!(nothing, Err(Error::Damaged { page: 1, .. })));
}

/// A tree that is one leaf, with `keys` entries and the values 0.
fn one_leaf(keys: std::ops::Range<u64>) -> Vec<Page> {
    let mut tree = BPlusTree::<_, u64, 8>::create(vec![Page::zeroed(); 2]).unwrap();
    for key in keys {
        tree.insert(key, &[0; 8]).unwrap();
    }
    tree.into_pages()
}

fn damaged<T: std::fmt::Debug>(result: Result<T, Error>, at: usize, part: &str) {
    match result {
        Err(Error::Damaged { page, reason }) => {
            assert!(page == at && reason.contains(part), "page {page}: {reason}");
        }
        other => panic!("{other:?} instead of damage: {part}"),
    }
}

#[test]
fn a_damaged_order_is_noticed() {
    // The order of the root's entries begins after its header of 16 bytes.
    let open = |pages: &Vec<Page>| BPlusTree::<_, u64, 8>::open(pages.clone()).unwrap();
    let mut beyond = one_leaf(0..6);
    beyond[1].bytes[16 + 2] = 255;
    damaged(open(&beyond).get(5), 1, "beyond the last");
    damaged(open(&beyond).insert(7, &[0; 8]), 1, "beyond the last");
    damaged(open(&beyond).check(), 1, "no permutation");
    let mut twice = one_leaf(0..6);
    twice[1].bytes[16 + 6] = twice[1].bytes[16];
    damaged(open(&twice).check(), 1, "no permutation");
    let mut swapped = one_leaf(0..6);
    swapped[1].bytes.swap(16 + 2, 16 + 3);
    damaged(open(&swapped).check(), 1, "out of order");
    let walk: Vec<_> = open(&swapped)
        .range(..)
        .map(|entry| entry.map(|e| e.0))
        .collect();
    assert_eq!(walk[..3], [Ok(0), Ok(1), Ok(3)]);
    assert_eq!(walk.len(), 4, "the iterator ends after an error");
    damaged(walk[3].clone(), 1, "out of order");
    let back: Vec<_> = open(&swapped)
        .range(..)
        .rev()
        .map(|entry| entry.map(|e| e.0))
        .collect();
    damaged(back.last().unwrap().clone(), 1, "out of order");
}

#[test]
fn a_free_list_that_runs_in_a_circle_is_noticed() {
    let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 2]).unwrap();
    for key in 0..100 {
        insert(&mut tree, key, [0; 8]);
    }
    for key in 0..100 {
        tree.remove(key).unwrap();
    }
    for key in 0..4 {
        insert(&mut tree, key, [0; 8]);
    }
    assert_eq!(tree.check().unwrap().levels, 1);
    let first = tree.pages_mut()[0].bytes[8];
    tree.pages_mut()[usize::from(first)].bytes[4] = first;
    let before = tree.clone().into_pages();
    damaged(tree.insert(4, &[0; 8]), first.into(), "circle");
    assert!(crate::structures::common::equal(&before, tree.pages_mut()));
    damaged(tree.check(), first.into(), "twice");
}

#[test]
fn a_page_in_use_is_not_taken_as_free() {
    // The root and two leaves; page 0 claims that the second was never used.
    let mut tree = Narrow::<u64, 8>::create_with_fan_out(vec![Page::zeroed(); 4]).unwrap();
    for key in [10, 20, 30, 40, 35] {
        assert_eq!(tree.insert(key, &[0; 8]), Ok(None));
    }
    assert_eq!(tree.check().unwrap().leaves, 2);
    tree.pages_mut()[0].bytes[12] = 3;
    damaged(tree.check(), 3, "never used");
    let mut noticed = 0;
    for keys in [11..14, 41..44] {
        let mut tree = tree.clone();
        for key in keys {
            if let Err(error) = tree.insert(key, &[0; 8]) {
                damaged::<()>(Err(error), 3, "counted as free");
                noticed += 1;
                break;
            }
        }
    }
    assert_eq!(noticed, 1, "one of the two leaves is page 3");
}
