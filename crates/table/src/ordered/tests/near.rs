//! Keys that come before and behind those of their owner, as elements of lists do: the tree is that of a map.

use super::*;
use sardonyx_base::random::Random;

/// A tree of unique keys: an owner, bytes that all keys share, and a position.
struct Lists {
    pair: Pair,
    rows: u64,
}

impl Lists {
    fn new() -> Self {
        let (pair, rows) = (Pair::new(), 0);
        Lists { pair, rows }
    }

    fn key(list: u64, position: i64) -> Vec<u8> {
        let position = (position.wrapping_sub(i64::MIN) as u64).to_be_bytes();
        [format!("a list {list} at ").as_bytes(), &position].concat()
    }

    /// Returns true if the tree found the place in the leaf of the last insertion.
    fn insert(&mut self, list: u64, position: i64) -> bool {
        self.rows += 8;
        let (key, row) = (Self::key(list, position), self.rows);
        let Pair {
            store,
            tree,
            rows,
            model,
        } = &mut self.pair;
        let is_near = tree.near_path(store.bytes(), &*rows, &key).is_some();
        rows.keys.insert(row, key.clone());
        let there = tree.insert_unique(store, &*rows, &key, Address(row));
        assert_eq!(there.expect("memory"), None);
        model.insert((key, row));
        is_near
    }

    fn remove(&mut self, number: usize) {
        let of = self.pair.model.iter().nth(number).cloned();
        assert!(self.pair.remove(&of.expect("there are as many")));
    }
}

#[test]
fn elements_before_behind_and_within_lists_are_those_of_a_map() {
    for seed in 1..=sardonyx_base::random::seeds(12) {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| random.next() % bound;
        let mut lists = Lists::new();
        let (mut near, mut ends) = (0, [(0, 0); 4]);
        for _ in 0..1000 {
            let list = below(ends.len() as u64);
            let (first, end) = &mut ends[list as usize];
            // Elements come in runs: one list, one end of it.
            let (is_front, run) = (below(2) == 0, 1 + below(20));
            for _ in 0..run {
                // Some places stay free, for an insertion between two elements.
                let step = 1 + below(2) as i64;
                let position = match is_front {
                    true => *first - step,
                    false => *end + step - 1,
                };
                (*first, *end) = ((*first).min(position), (*end).max(position + 1));
                near += u32::from(lists.insert(list, position));
            }
            let free = *first + below((*end - *first) as u64) as i64;
            let key = Lists::key(list, free);
            if below(3) == 0 && !lists.pair.model.iter().any(|(there, _)| *there == key) {
                lists.insert(list, free);
            }
            while lists.pair.model.len() > 400 {
                let number = below(lists.pair.model.len() as u64);
                lists.remove(number as usize);
            }
        }
        lists.pair.check();
        assert!(near > 1000, "{near}");
    }
}

#[test]
fn elements_before_a_list_find_their_place_without_a_way_down() {
    let mut lists = Lists::new();
    let near = (1..=1000_i64).filter(|position| lists.insert(7, -position));
    let near = near.count();
    // Each leaf has two insertions before the tree looks there first, and is full at the end.
    assert!(near > 1000 * (LEAF_ENTRIES - 5) / LEAF_ENTRIES, "{near}");
    lists.pair.check();
    // If another leaf is before or behind, the way down decides.
    let far = (0..1000_u64).filter(|number| lists.insert(10 + number * 7919 % 1009, 0));
    assert!(far.count() < 100);
    lists.pair.check();
}
