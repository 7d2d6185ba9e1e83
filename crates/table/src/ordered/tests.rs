mod appending;
mod drawing;
mod near;
mod walks;

use super::node::{INNER_BYTES, INNER_ENTRIES, LEAF_BYTES};
use super::*;
use proptest::prelude::*;
use sardonyx_storage::store::PageRead;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

/// Keys of any length, by their rows' addresses.
#[derive(Default)]
struct Rows {
    keys: HashMap<u64, Vec<u8>>,
    is_exact: bool,
    /// Rows whose keys were asked for.
    asked: Cell<u64>,
}

impl Rows {
    fn key(&self, row: Address) -> &[u8] {
        self.asked.set(self.asked.get() + 1);
        &self.keys[&row.0]
    }
}

impl Keys for Rows {
    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn of_row(&self, row: Address, key: &mut KeyBytes) {
        key.extend(self.key(row));
    }

    fn shares(&self, row: Address, beginning: &[u8]) -> bool {
        self.key(row).starts_with(beginning)
    }

    fn compare(&self, row: Address, key: &[u8], known: usize) -> Ordering {
        if self.is_exact {
            return Ordering::Equal;
        }
        let there = self.key(row);
        let known = known.min(key.len());
        assert_eq!(there.get(..known), key.get(..known), "bytes that are known");
        there.cmp(key)
    }
}

type Of = (Vec<u8>, u64);

struct Pair {
    store: IndexStore,
    tree: Tree,
    rows: Rows,
    model: BTreeSet<Of>,
}

impl Pair {
    fn new() -> Self {
        Pair {
            store: IndexStore::reserve(0).expect("address space"),
            tree: Tree::default(),
            rows: Rows::default(),
            model: BTreeSet::new(),
        }
    }

    /// A row may be inserted again with the key that it had.
    fn insert(&mut self, (key, row): &Of) -> bool {
        let is_new = self.model.insert((key.clone(), *row));
        if is_new {
            self.rows.keys.insert(*row, key.clone());
            self.tree
                .insert(&mut self.store, &self.rows, key, Address(*row))
                .expect("memory");
        }
        is_new
    }

    fn remove(&mut self, of: &Of) -> bool {
        let was = self.model.remove(of);
        let (key, row) = (&of.0, Address(of.1));
        let removed = self.tree.remove(&mut self.store, &self.rows, key, row);
        assert_eq!(removed, was);
        if was {
            // No row is read that has no entry any more.
            self.rows.keys.remove(&of.1);
        }
        was
    }

    fn sought<'k>(
        &'k self,
        edge: Edge<'k>,
    ) -> Sought<'k, impl FnMut(Address, Ask) -> Result<bool, Infallible>> {
        let ask = move |row, ask| {
            let key = self.rows.key(row);
            Ok(match ask {
                Ask::Shares(bytes) => key.starts_with(&edge.bytes[..bytes]),
                Ask::Before(known) => {
                    assert_eq!(key.get(..known), edge.bytes.get(..known), "known bytes");
                    is_before(key, edge)
                }
            })
        };
        Sought::ByRow { edge, ask }
    }

    fn seek(&self, edge: Edge<'_>) -> Place {
        let Ok(place) = self.tree.seek(self.store.bytes(), self.sought(edge));
        place
    }

    /// Compares everything between two edges, by every way.
    fn compare(&self, from: Edge<'_>, to: Edge<'_>) {
        let (nodes, tree) = (self.store.bytes(), self.tree);
        let before = |edge| move |(key, _): &&Of| is_before(key, edge);
        let is_before = before(from);
        let first = self.model.iter().find(|entry| !is_before(entry));
        let Ok(found) = tree.first_from(nodes, self.sought(from), from.bytes.len());
        match first {
            Some((key, row)) if key.starts_with(from.bytes) => {
                assert_eq!(found, Some(Address(*row)));
            }
            _ => assert!(found.is_none_or(|row| !self.rows.keys[&row.0].starts_with(from.bytes))),
        }
        let from_rows = self.model.iter().skip_while(before(from));
        let expected: Vec<_> = from_rows
            .take_while(before(to))
            .map(|(_, row)| *row)
            .collect();
        if self.model.iter().take_while(before(to)).count()
            < self.model.iter().take_while(before(from)).count()
        {
            return;
        }
        let (start, end) = (self.seek(from), self.seek(to));
        let Ok(near) = tree.seek_near(nodes, start, self.sought(to));
        assert!(near.is_none_or(|near| near == end), "{near:?} {end:?}");
        let mut cursor = Cursor::new(tree, start, end);
        let forward = std::iter::from_fn(|| cursor.next(nodes, |_| {}).expect("live"));
        assert!(forward.map(|row| row.0).eq(expected.iter().copied()));
        let mut cursor = Cursor::new(tree, start, end);
        let backward = std::iter::from_fn(|| cursor.next_back(nodes, |_| {}).expect("live"));
        assert!(backward.map(|row| row.0).eq(expected.iter().rev().copied()));
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
                Some(address) => both.push(address.0),
                None => ends += 1,
            }
        }
        both.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(both, sorted);
        assert_eq!(tree.count(nodes, start, end), Ok(expected.len() as u64));
    }

    fn check(&self) {
        let (nodes, tree) = (self.store.bytes(), self.tree);
        assert_eq!(tree.len(), self.model.len() as u64);
        assert_eq!(tree.bytes(), self.store.bytes_used());
        assert!(all(nodes, tree).eq(self.model.iter().map(|(_, row)| *row)));
        if tree.root.0 != 0 {
            self.check_below(tree.root, tree.height, None);
        }
    }

    /// Heads are those of the rows' keys, behind bytes that all of them have in common. The first entry below a node is
    /// the row of the node's entry in the one above.
    fn check_below(&self, at: Address, height: u8, first: Option<Address>) {
        let nodes = self.store.bytes();
        let check_heads = |entries: &[Entry], skip: usize| {
            let Some(one) = entries.first() else { return };
            let beginning = &self.rows.keys[&one.address.0][..skip];
            for entry in entries {
                let key = &self.rows.keys[&entry.address.0];
                assert!(key.starts_with(beginning));
                assert_eq!(entry.prefix, prefix(&key[skip..]));
            }
        };
        if height == 0 {
            let leaf = live_leaf(nodes, at);
            assert!(leaf.count() > 0);
            assert!(first.is_none_or(|first| first == leaf.entry(0).address));
            let entries: Vec<_> = (0..leaf.count()).map(|at| leaf.entry(at)).collect();
            return check_heads(&entries, leaf.skip());
        }
        let inner = live_inner(nodes, at);
        assert!((1..=INNER_ENTRIES).contains(&inner.count()));
        let entries: Vec<_> = (1..inner.count()).map(|at| inner.first(at)).collect();
        check_heads(&entries, inner.skip());
        self.check_below(inner.child(0), height - 1, first);
        for child in 1..inner.count() {
            let first = inner.first(child).address;
            self.check_below(inner.child(child), height - 1, Some(first));
        }
    }
}

/// The rows of a tree, in order.
fn all<P: PageRead + ?Sized>(nodes: &P, tree: Tree) -> impl Iterator<Item = u64> {
    let Ok(start) = tree.start(nodes) else {
        unreachable!("nodes are readable")
    };
    let mut cursor = Cursor::new(tree, start, Place::END);
    std::iter::from_fn(move || cursor.next(nodes, |_| {}).ok().flatten()).map(|row| row.0)
}

fn is_before(key: &[u8], edge: Edge<'_>) -> bool {
    match edge.behind {
        true => key[..key.len().min(edge.bytes.len())] <= *edge.bytes,
        false => key < edge.bytes,
    }
}

/// A key of which no other is the beginning: it has an end.
fn text(bytes: &str) -> Vec<u8> {
    let mut key = bytes.as_bytes().to_vec();
    key.extend([0, 0]);
    key
}

/// A key and a row, which has no other key.
fn of(text_of: &str, copy: u64) -> Of {
    let hash = text_of
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let row = (hash >> 8 << 4 | copy) & 0xff_ffff_ffff_fff8 | 8;
    (text(text_of), row.wrapping_add(copy * 8 * 0x1_0000_0000))
}

/// Few and many keys that begin alike, beginnings of one another, outliers at both ends, and several rows of one key.
fn keyed() -> impl Strategy<Value = Of> {
    let long = "tenant:0000000000000042:".to_string();
    let longer = format!("{long}{}", "x".repeat(300));
    let texts = prop_oneof![
        8 => (0u32..4000).prop_map(move |n| format!("{long}{n:06}")),
        2 => (0u32..50).prop_map(move |n| format!("{longer}{n:03}")),
        2 => (0usize..60).prop_map(|n| "ab".repeat(n)),
        1 => "[a-c]{0,12}",
        1 => Just(String::new()),
        1 => Just("\u{1}".to_string()),
        1 => (0u32..40).prop_map(|n| format!("\u{10ffff}{}", "z".repeat(n as usize))),
    ];
    (texts, 0u64..3).prop_map(|(text, copy)| of(&text, copy))
}

fn edges((key, _): &Of) -> Vec<(usize, bool)> {
    let lens = [0, 1, 3, 20, key.len().saturating_sub(4), key.len()];
    let lens = lens.into_iter().filter(|len| *len <= key.len());
    lens.flat_map(|len| [(len, false), (len, true)]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(8)))]

    #[test]
    fn it_agrees_with_a_set_in_order(
        first in prop::collection::btree_set(keyed(), 0..2500),
        steps in prop::collection::vec((keyed(), any::<bool>()), 0..600),
        ranges in prop::collection::vec((keyed(), keyed()), 4),
        // In order, in parts of so many entries, if not at once.
        bulk in prop::option::of(0usize..200),
        // A snapshot is taken before so many steps.
        frozen in 0usize..600,
        keep in 1usize..40,
    ) {
        let mut pair = Pair::new();
        if let Some(part) = bulk {
            pair.rows.keys = first.iter().map(|(key, row)| (*row, key.clone())).collect();
            let entries = first.iter().map(|(key, row)| first_entry(key, Address(*row)));
            let entries: Vec<_> = entries.collect();
            match part {
                0 => pair.tree = build(&mut pair.store, &pair.rows, &entries).expect("memory"),
                _ => {
                    for part in entries.chunks(part) {
                        pair.tree.append(&mut pair.store, &pair.rows, part).expect("memory");
                    }
                }
            }
            pair.model = first.clone();
        } else {
            // Not in order.
            let mut entries: Vec<_> = first.iter().cloned().collect();
            entries.sort_by_key(|(_, row)| row.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for entry in &entries {
                pair.insert(entry);
            }
        }
        pair.check();
        // A transaction, and its undo; a snapshot has the state within it.
        let before = pair.model.clone();
        let (mut done, mut snapshot) = (Vec::new(), None);
        for (number, (of, inserts)) in steps.iter().enumerate() {
            if number == frozen {
                let pages = pair.store.pages_mut().snapshot().expect("address space");
                let then = Rows { keys: pair.rows.keys.clone(), ..Rows::default() };
                snapshot = Some((pages, pair.tree, then, pair.model.clone()));
            }
            let changed = match inserts {
                true => pair.insert(of),
                false => pair.remove(of),
            };
            if changed {
                done.push((of.clone(), *inserts));
            }
        }
        pair.check();
        for (from, to) in &ranges {
            for (one, other) in edges(from).into_iter().zip(edges(to)) {
                for (one, other) in [(one, one), (one, other), (other, one)] {
                    let edge = |(key, _): &'_ Of, (len, behind): (usize, bool)| {
                        (key[..len.min(key.len())].to_vec(), behind)
                    };
                    let (from, to) = (edge(from, one), edge(to, other));
                    let edge = |(bytes, behind): &'_ (Vec<u8>, bool)| (bytes.clone(), *behind);
                    let ((from, one), (to, other)) = (edge(&from), edge(&to));
                    pair.compare(
                        Edge { bytes: &from, behind: one },
                        Edge { bytes: &to, behind: other },
                    );
                    pair.compare(
                        Edge { bytes: &from, behind: false },
                        Edge { bytes: &from, behind: true },
                    );
                }
            }
        }
        if let Some((pages, tree, rows, model)) = &snapshot {
            let there = model.iter().map(|(_, row)| *row);
            prop_assert!(all(&**pages, *tree).eq(there));
            for (key, row) in model.iter().step_by(7).chain(&first) {
                let edge = Edge { bytes: key, behind: false };
                let ask = |other: Address, ask| {
                    let there = &rows.keys[&other.0];
                    Ok::<_, sardonyx_storage::store::SnapshotEnded>(match ask {
                        Ask::Shares(bytes) => there.starts_with(&key[..bytes]),
                        Ask::Before(_) => is_before(there, edge),
                    })
                };
                let found = tree.first_from(&**pages, Sought::ByRow { edge, ask }, key.len())?;
                let found = found.filter(|found| rows.keys[&found.0] == *key);
                let expected = model.range((key.clone(), 0)..).next();
                let expected = expected.filter(|(there, _)| there == key).map(|(_, row)| *row);
                prop_assert_eq!(found.map(|row| row.0), expected, "{:?} {}", key, row);
            }
        }
        for (of, inserted) in done.into_iter().rev() {
            match inserted {
                true => prop_assert!(pair.remove(&of)),
                false => prop_assert!(pair.insert(&of)),
            }
        }
        prop_assert_eq!(&pair.model, &before);
        pair.check();
        // Most entries are removed, in several orders; the rest is in few nodes.
        for (number, of) in first.iter().enumerate() {
            if number % 40 >= keep {
                pair.remove(of);
            }
        }
        pair.check();
        for of in first.iter().rev() {
            pair.remove(of);
        }
        prop_assert_eq!(pair.tree, Tree::default());
        prop_assert_eq!(pair.store.bytes_used(), 0);
    }

    /// A unique index takes one row of each key.
    #[test]
    fn a_second_row_with_a_key_is_found(rows in prop::collection::vec(keyed(), 0..1500)) {
        let mut pair = Pair::new();
        let mut first = HashMap::new();
        for (key, row) in rows {
            if pair.rows.keys.contains_key(&row) {
                continue;
            }
            pair.rows.keys.insert(row, key.clone());
            let there = pair.tree.insert_unique(&mut pair.store, &pair.rows, &key, Address(row));
            prop_assert_eq!(there.expect("memory").map(|row| row.0), first.get(&key).copied());
            match first.contains_key(&key) {
                true => drop(pair.rows.keys.remove(&row)),
                false => {
                    pair.model.insert((key.clone(), row));
                    first.insert(key, row);
                }
            }
        }
        pair.check();
    }
}

#[test]
fn few_rows_are_read_for_keys_that_begin_alike() {
    let mut pair = Pair::new();
    let name = |number: u64| of(&format!("element:{:012}", number * 7919 % 100_003), 0);
    for number in 0..20_000 {
        pair.insert(&name(number));
    }
    pair.check();
    pair.rows.asked.set(0);
    for number in 0..1000 {
        let (key, row) = name(number * 17);
        let edge = Edge {
            bytes: &key,
            behind: false,
        };
        let Ok(found) = pair
            .tree
            .first_from(pair.store.bytes(), pair.sought(edge), key.len());
        assert_eq!(found, Some(Address(row)));
    }
    // The entry's own row, one for the root, and few for nodes that skip more than those above show.
    let asked = pair.rows.asked.get();
    assert!(asked < 4000, "{asked} rows");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(8)))]

    #[test]
    fn keys_that_entries_have_whole_are_found_live_and_frozen(
        there in prop::collection::btree_set(key(), 0..2500),
        changed in prop::collection::vec((key(), any::<bool>()), 0..300),
        asked in prop::collection::vec(key(), 50),
    ) {
        let mut store = IndexStore::reserve(0).expect("address space");
        let entry = |prefix: u64| Entry { prefix, address: Address(prefix % 1000 * 8 + 8) };
        let entries: Vec<_> = there.iter().map(|prefix| entry(*prefix)).collect();
        let rows = Rows { is_exact: true, ..Rows::default() };
        let mut tree = build(&mut store, &rows, &entries).expect("memory");
        let (frozen, snapshot) = (tree, store.pages_mut().snapshot().expect("address space"));
        let mut now = there.clone();
        for (prefix, inserts) in changed {
            if inserts && now.insert(prefix) {
                let (key, row) = (prefix.to_be_bytes(), entry(prefix).address);
                tree.insert(&mut store, &rows, &key, row).expect("memory");
            } else if !inserts && now.remove(&prefix) {
                let (key, row) = (prefix.to_be_bytes(), entry(prefix).address);
                prop_assert!(tree.remove(&mut store, &rows, &key, row));
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
    let count = 10_000;
    let ascending: Vec<u64> = (0..count).collect();
    let descending = ascending.iter().rev().copied().collect();
    for (numbers, most) in [(ascending, 18), (descending, 19)] {
        let mut pair = Pair::new();
        for number in numbers {
            pair.insert(&in_order(number));
        }
        pair.check();
        assert!(pair.tree.bytes() < count * most, "{}", pair.tree.bytes());
        assert!(fill(&pair) > 0.99, "{}", fill(&pair));
        let mut leaving = Leaving::default();
        leaving.push(pair.tree);
        while !leaving.is_empty() {
            leaving.step(&mut pair.store);
        }
        assert_eq!(pair.store.bytes_used(), 0);
    }
}

/// Rows in order, with keys that begin alike.
fn in_order(number: u64) -> Of {
    (text(&format!("2026-11-28T{number:09}")), number * 8)
}

#[test]
fn trees_that_leave_give_their_nodes_back_a_few_at_a_time() {
    let mut pair = Pair::new();
    for number in 0..40_000 {
        pair.insert(&in_order(number));
    }
    let leaves = pair.store.bytes_used() / LEAF_BYTES as u64;
    let mut leaving = Leaving::default();
    leaving.push(std::mem::take(&mut pair.tree));
    pair.model.clear();
    let (mut steps, mut before) = (0, pair.store.bytes_used());
    while !leaving.is_empty() {
        leaving.step(&mut pair.store);
        // Others take blocks meanwhile, also such as were given back.
        pair.insert(&in_order(steps));
        let given = before.saturating_sub(pair.store.bytes_used());
        let most = (leaves / 16).clamp(64, 2000) * INNER_BYTES as u64;
        assert!(given <= most, "{given} bytes in one step");
        before = pair.store.bytes_used();
        steps += 1;
    }
    assert!((16..leaves / 32).contains(&steps), "{steps} steps");
    pair.check();
}

/// The part of the leaves' places that has entries.
fn fill(pair: &Pair) -> f64 {
    let (nodes, tree) = (pair.store.bytes(), pair.tree);
    let (Ok(Place { leaf: mut at, .. }), mut leaves) = (tree.start(nodes), 0);
    while at.0 != 0 {
        leaves += 1;
        at = live_leaf(nodes, at).next();
    }
    tree.len() as f64 / (leaves * LEAF_ENTRIES) as f64
}

#[test]
fn leaves_of_keys_in_random_order_are_four_fifths_full() {
    let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
    // Exact keys, and keys that begin alike, whose heads skip the same bytes in all leaves.
    for (is_exact, begins) in [(true, &b""[..]), (false, b"tenant:00000042:")] {
        let mut pair = Pair::new();
        pair.rows.is_exact = is_exact;
        for n in 1..=20_000 {
            let bytes = (scattered(n) << 8).to_be_bytes();
            pair.insert(&([begins, &bytes].concat(), n * 8));
        }
        pair.check();
        let full = fill(&pair);
        assert!((0.78..0.84).contains(&full), "{full}, exact: {is_exact}");
    }
}
