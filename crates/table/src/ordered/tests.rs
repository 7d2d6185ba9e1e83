use super::node::{INNER_BYTES, INNER_ENTRIES, LEAF_BYTES};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Rows have keys of more than 8 bytes: the address determines the rest of the key, in an order that is not its own.
fn rest(address: Address) -> u64 {
    address.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn order(entry: Entry) -> (u64, u64) {
    (entry.prefix, rest(entry.address))
}

/// The place before the first entry that is not less.
fn sought(limit: (u64, u64)) -> Sought<impl FnMut(Address) -> Result<bool, Infallible>> {
    Sought {
        prefix: limit.0,
        ties: Ties::ByRow(move |address| Ok(rest(address) < limit.1)),
    }
}

struct Pair {
    store: IndexStore,
    tree: Tree,
    model: BTreeSet<(u64, u64)>,
}

impl Pair {
    fn new() -> Self {
        Pair {
            store: IndexStore::reserve(0).expect("address space"),
            tree: Tree::default(),
            model: BTreeSet::new(),
        }
    }

    fn insert(&mut self, entry: Entry) -> bool {
        let is_new = self.model.insert(order(entry));
        if is_new {
            let before = |address| rest(address) < rest(entry.address);
            self.tree
                .insert(&mut self.store, entry, before)
                .expect("memory");
        }
        is_new
    }

    fn remove(&mut self, entry: Entry) -> bool {
        let was = self.model.remove(&order(entry));
        let up_to = |address| rest(address) <= rest(entry.address);
        assert_eq!(self.tree.remove(&mut self.store, entry, up_to), was);
        was
    }

    fn seek(&self, (prefix, limit): (u64, u64)) -> Place {
        let Ok(place) = self.tree.seek(self.store.bytes(), sought((prefix, limit)));
        place
    }

    /// Compares everything between two places, by every way.
    fn compare(&self, from: (u64, u64), to: (u64, u64)) {
        let expected: Vec<_> = match from <= to {
            true => self.model.range(from..to).map(|(_, rest)| *rest).collect(),
            false => return,
        };
        let (nodes, tree) = (self.store.bytes(), self.tree);
        let (start, end) = (self.seek(from), self.seek(to));
        let mut cursor = Cursor::new(tree, start, end);
        let forward = std::iter::from_fn(|| cursor.next(nodes, |_| {}).expect("live"));
        assert!(forward.map(rest).eq(expected.iter().copied()));
        let mut cursor = Cursor::new(tree, start, end);
        let backward = std::iter::from_fn(|| cursor.next_back(nodes, |_| {}).expect("live"));
        assert!(backward.map(rest).eq(expected.iter().rev().copied()));
        let mut cursor = Cursor::new(tree, start, end);
        let mut both = Vec::new();
        let (mut ends, mut forward) = (0, true);
        while ends < 2 {
            let Ok(next) = match forward {
                true => cursor.next(nodes, |_| {}),
                false => cursor.next_back(nodes, |_| {}),
            };
            forward = !forward;
            match next {
                Some(address) => both.push(rest(address)),
                None => ends += 1,
            }
        }
        both.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(both, sorted);
        assert_eq!(tree.count(nodes, start, end), Ok(expected.len() as u64));
        let Ok(first) = tree.first_from(nodes, sought(from));
        assert_eq!(first.map(order), self.model.range(from..).next().copied());
        // Without reading rows: before all entries with a prefix, and behind them.
        let of_prefix = (from.0, 0)..=(from.0, u64::MAX);
        let [before, behind] = [false, true].map(|are_before| {
            let ties: Ties<fn(Address) -> Result<bool, Infallible>> = Ties::Before(are_before);
            let prefix = from.0;
            let Ok(place) = tree.seek(nodes, Sought { prefix, ties });
            place
        });
        let expected = self.model.range(of_prefix.clone()).count() as u64;
        assert_eq!(tree.count(nodes, before, behind), Ok(expected));
        let Ok(found) = tree.find_exact(nodes, from.0, false);
        let expected = self.model.range(of_prefix).next();
        assert_eq!(found.map(rest), expected.map(|(_, rest)| *rest));
    }

    fn check(&self) {
        let (nodes, tree) = (self.store.bytes(), self.tree);
        assert_eq!(tree.len(), self.model.len() as u64);
        assert_eq!(tree.bytes(), self.store.bytes_used());
        let Ok(start) = tree.start(nodes);
        let mut cursor = Cursor::new(tree, start, Place::END);
        let all = std::iter::from_fn(|| cursor.next(nodes, |_| {}).expect("live"));
        assert!(all.map(rest).eq(self.model.iter().map(|(_, rest)| *rest)));
        if tree.root.0 != 0 {
            self.check_below(tree.root, tree.height, None);
        }
    }

    /// The first entry below a node equals its entry in the node above.
    fn check_below(&self, at: Address, height: u8, first: Option<Entry>) {
        let nodes = self.store.bytes();
        if height == 0 {
            let leaf = live_leaf(nodes, at);
            assert!(leaf.count() > 0);
            assert!(first.is_none_or(|first| first == leaf.entry(0)));
            return;
        }
        let inner = live_inner(nodes, at);
        assert!((1..=INNER_ENTRIES).contains(&inner.count()));
        self.check_below(inner.child(0), height - 1, first);
        for child in 1..inner.count() {
            self.check_below(inner.child(child), height - 1, Some(inner.first(child)));
        }
    }
}

fn entry() -> impl Strategy<Value = Entry> {
    // Many entries with one prefix, and few.
    let prefix = prop_oneof![0u64..4, 0u64..4000, Just(u64::MAX)];
    (prefix, 1u64..400).prop_map(|(prefix, row)| Entry {
        prefix,
        address: Address((prefix.wrapping_mul(1000).wrapping_add(row) & 0xff_ffff) * 8),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(16)))]

    #[test]
    fn it_agrees_with_a_set_in_order(
        first in prop::collection::btree_set(entry(), 0..3000),
        steps in prop::collection::vec((entry(), any::<bool>()), 0..600),
        ranges in prop::collection::vec((entry(), entry()), 8),
        // In order, in parts of so many entries, if not at once.
        bulk in prop::option::of(0usize..200),
        keep in 1usize..40,
    ) {
        let mut pair = Pair::new();
        if let Some(part) = bulk {
            let mut entries: Vec<_> = first.iter().copied().collect();
            entries.sort_by_key(|entry| order(*entry));
            match part {
                0 => pair.tree = build(&mut pair.store, &entries).expect("memory"),
                _ => {
                    for part in entries.chunks(part) {
                        pair.tree.append(&mut pair.store, part).expect("memory");
                    }
                }
            }
            pair.model = entries.iter().map(|entry| order(*entry)).collect();
        } else {
            // Not in order.
            let mut entries: Vec<_> = first.iter().copied().collect();
            entries.sort_by_key(|entry| rest(entry.address));
            for entry in entries {
                pair.insert(entry);
            }
        }
        pair.check();
        // A transaction, and its undo.
        let before = pair.model.clone();
        let mut done = Vec::new();
        for (entry, inserts) in &steps {
            let changed = match inserts {
                true => pair.insert(*entry),
                false => pair.remove(*entry),
            };
            if changed {
                done.push((*entry, *inserts));
            }
        }
        pair.check();
        for (from, to) in &ranges {
            pair.compare(order(*from), order(*to));
            pair.compare((from.prefix, 0), (to.prefix, u64::MAX));
        }
        for (entry, inserted) in done.into_iter().rev() {
            match inserted {
                true => prop_assert!(pair.remove(entry)),
                false => prop_assert!(pair.insert(entry)),
            }
        }
        prop_assert_eq!(&pair.model, &before);
        pair.check();
        // Most entries are removed, in several orders; the rest is in few nodes.
        for (number, entry) in first.iter().enumerate() {
            if number % 40 >= keep {
                pair.remove(*entry);
            }
        }
        pair.check();
        for entry in first.iter().rev() {
            pair.remove(*entry);
        }
        prop_assert_eq!(pair.tree, Tree::default());
        prop_assert_eq!(pair.store.bytes_used(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn keys_that_entries_have_whole_are_found_live_and_frozen(
        there in prop::collection::btree_set(key(), 0..2500),
        changed in prop::collection::vec((key(), any::<bool>()), 0..300),
        asked in prop::collection::vec(key(), 50),
    ) {
        let mut store = IndexStore::reserve(0).expect("address space");
        let entry = |prefix: u64| Entry { prefix, address: Address(prefix % 1000 * 8 + 8) };
        let entries: Vec<_> = there.iter().map(|prefix| entry(*prefix)).collect();
        let mut tree = build(&mut store, &entries).expect("memory");
        let (frozen, snapshot) = (tree, store.pages_mut().snapshot().expect("address space"));
        let mut now = there.clone();
        for (prefix, inserts) in changed {
            if inserts && now.insert(prefix) {
                tree.insert(&mut store, entry(prefix), |_| unreachable!("no two have one prefix"))
                    .expect("memory");
            } else if !inserts && now.remove(&prefix) {
                prop_assert!(tree.remove(&mut store, entry(prefix), |_| true));
            }
        }
        for prefix in asked.iter().chain(&there).chain(&now) {
            for is_unique in [true, false] {
                let expected = |keys: &BTreeSet<u64>| keys.contains(prefix).then(|| entry(*prefix).address);
                prop_assert_eq!(tree.find_exact(store.bytes(), *prefix, is_unique), Ok(expected(&now)));
                prop_assert_eq!(frozen.find_exact(&*snapshot, *prefix, is_unique), Ok(expected(&there)));
            }
        }
    }
}

fn key() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..4000, any::<u64>(), Just(u64::MAX), Just(0)]
}

#[test]
fn what_comes_in_order_fills_the_leaves() {
    let mut pair = Pair::new();
    let count = 10_000;
    for number in 0..count {
        pair.insert(Entry {
            prefix: number,
            address: Address(number * 8),
        });
    }
    pair.check();
    assert!(pair.tree.bytes() < count * 18, "{}", pair.tree.bytes());
    let mut leaving = Leaving::default();
    leaving.push(pair.tree);
    while !leaving.is_empty() {
        leaving.step(&mut pair.store);
    }
    assert_eq!(pair.store.bytes_used(), 0);
}

#[test]
fn trees_that_leave_give_their_nodes_back_a_few_at_a_time() {
    let mut pair = Pair::new();
    for number in 0..40_000 {
        pair.insert(Entry {
            prefix: number,
            address: Address(number * 8),
        });
    }
    let leaves = pair.store.bytes_used() / LEAF_BYTES as u64;
    let mut leaving = Leaving::default();
    leaving.push(std::mem::take(&mut pair.tree));
    pair.model.clear();
    let (mut steps, mut before) = (0, pair.store.bytes_used());
    while !leaving.is_empty() {
        leaving.step(&mut pair.store);
        // Others take blocks meanwhile, also such as were given back.
        pair.insert(Entry {
            prefix: steps,
            address: Address(steps * 8),
        });
        let given = before.saturating_sub(pair.store.bytes_used());
        let most = (leaves / 16).clamp(64, 2000) * INNER_BYTES as u64;
        assert!(given <= most, "{given} bytes in one step");
        before = pair.store.bytes_used();
        steps += 1;
    }
    assert!((16..leaves / 32).contains(&steps), "{steps} steps");
    pair.check();
}
