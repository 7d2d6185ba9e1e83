//! An ordered index: a B+-tree whose entries are 8 bytes of a key's encoding (`rows::key`) and the address of the row.
//! They are the first 8 bytes behind those that all keys of the entry's node have in common, so that keys that begin
//! alike differ in their entries ([`keyed`]). If the encoding is no longer than 8 bytes, no row is read. Otherwise
//! entries with the same bytes are ordered by their rows' key columns, and in the end by their addresses.
//!
//! The tree has no keys. It asks for those of rows ([`Keys`]), and a search has its key, or the beginning of one, and
//! asks for the order of rows ([`Sought`]). Readers take the few words of a node that a search needs from its live or
//! frozen page. A row's address must be right before it is followed: it comes from a look that found all its words to be
//! the snapshot's, or from a copied node.
//!
//! Invariants: leaves are linked in order in both directions. Every child but a node's first has the first entry below
//! it beside it, so every entry that is compared is of an existing row. Only the root may have no entries; then the
//! tree has no nodes. A node that becomes empty is freed. One that is less than a quarter full is joined with a
//! neighbour if both then fill three quarters at most. A full leaf is split only if it cannot share its entries with a
//! neighbour ([`sharing`]), so leaves of random keys are four fifths full.
//!
//! It is a relative of [`sardonyx_storage::tree`], not the same mechanism. That one is durable, and its nodes are
//! pages with keys and values of any length in them. It is shared by locks on pages and keys, and every split has an
//! inverse on disk. This one is in memory, belongs to one writer, has no keys, and is rebuilt or read whole at opening.
//!
//! Source: Bayer and McCreight, "Organization and Maintenance of Large Ordered Indices" (1972); Lehman and Carey, "A
//! Study of Index Structures for Main Memory Database Management Systems" (1986), for keys that only the rows have.

mod appending;
mod bulk;
mod cursor;
mod drawing;
mod keyed;
mod leaving;
mod near;
mod node;
mod reading;
mod removal;
mod search;
mod sharing;

pub(crate) use bulk::build;
pub(crate) use cursor::{Cursor, Place};
pub(crate) use keyed::{Ask, Keys, Sought};
pub(crate) use leaving::Leaving;
pub(crate) use node::Entry;

use crate::index_store::IndexStore;
use keyed::{Search, common};
use near::Near;
use node::{INNER_BYTES, INNER_ENTRIES, Inner, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use sardonyx_base::resident::Resident;
use sardonyx_rows::key::{Edge, KeyBytes, prefix};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::StoreError;
use search::{live_inner, live_leaf, prefetch};
use std::cmp::Ordering;
use std::convert::Infallible;

/// More levels than a tree can have: a root is split only when it is full, so that 12 take 21 to the power of 11
/// insertions. Places on the way down are passed on by value, so that each level costs.
const LEVELS_MAX: usize = 12;

/// The most bytes that an insertion may need in the index store: a node on every level and a new root.
pub(crate) const INSERT_BYTES_MAX: usize = LEVELS_MAX * INNER_BYTES;

/// The most bytes that inserting one of many entries needs in the index store: a leaf, and its part of inner nodes.
pub(crate) const ENTRY_BYTES_MAX: usize = LEAF_BYTES + INNER_BYTES / 8;

/// Prefixes that are looked for at once: their leaves are as many cache lines as the processor can wait for, or more.
pub(crate) const AT_ONCE: usize = 16;

/// Entries behind a place that are looked at before another place is looked for from the root.
const NEAR_ENTRIES: usize = 6;

/// The sizes of nodes and the numbers of entries in them, by which a stored tree is known to have these nodes.
pub(crate) const NODE_SIZES: [usize; 4] = [LEAF_BYTES, LEAF_ENTRIES, INNER_BYTES, INNER_ENTRIES];

/// The root of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    /// Address 0 if there are no entries.
    root: Address,
    /// Levels of inner nodes.
    height: u8,
    len: u64,
    /// Bytes of its nodes.
    bytes: u64,
    /// The last leaf, if it is known: see [`appending`].
    last: Address,
    near: Near,
}

/// The way from the root to a leaf: inner nodes, and the number of the child in each.
struct Path {
    steps: [(Address, usize); LEVELS_MAX],
    levels: usize,
    leaf: Address,
    /// The position in the leaf.
    at: usize,
    /// The head of the key in the leaf; none if the key does not begin as all keys there.
    head: Option<u64>,
}

/// The place of a key that no row has. It holds until the tree changes: a row with the key may be written meanwhile.
pub(crate) struct Vacant {
    /// `None` if the tree has no entries.
    path: Option<Path>,
    /// The entries at that time.
    len: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Tree {
            root: Address(0),
            height: 0,
            len: 0,
            bytes: 0,
            last: Address(0),
            near: Near::default(),
        }
    }
}

/// The same tree, whether its last leaf is known or not.
impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Tree {
    /// The root, for [`Tree::of_words`].
    pub fn words(&self) -> [u64; 4] {
        [self.root.0, u64::from(self.height), self.len, self.bytes]
    }

    /// The tree of a stored root, whose nodes are below `top`; `None` if there can be none.
    pub fn of_words([root, height, len, bytes]: [u64; 4], top: u64) -> Option<Self> {
        let tree = Tree {
            root: Address(root),
            height: u8::try_from(height).ok()?,
            len,
            bytes,
            last: Address(0),
            near: Near::default(),
        };
        let is_none = tree == Tree::default();
        let is_tree = root > 0 && len > 0 && usize::from(tree.height) < LEVELS_MAX;
        let is_below = root.checked_add(LEAF_BYTES.min(INNER_BYTES) as u64)? <= top;
        (is_none || is_tree && is_below).then_some(tree)
    }

    /// Entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of memory that it takes.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The way to the place before the first entry that is not before a row with a key; behind that row's own entry if
    /// `up_to`.
    fn descend(
        &self,
        nodes: &[u8],
        keys: &impl Keys,
        (key, row): (&[u8], Option<Address>),
        up_to: bool,
    ) -> Path {
        let is_before = |other: Address, known| {
            let by_row = || row.map_or(Ordering::Equal, |row| other.cmp(&row));
            match keys.compare(other, key, known).then_with(by_row) {
                Ordering::Less => true,
                Ordering::Equal => up_to,
                Ordering::Greater => false,
            }
        };
        let mut path = Path {
            steps: [(Address(0), 0); LEVELS_MAX],
            levels: usize::from(self.height),
            leaf: self.root,
            at: 0,
            head: None,
        };
        let levels = (0..self.height).rev();
        if keys.is_exact() {
            let prefix = prefix(key);
            let is_before = |other| Ok::<_, Infallible>(is_before(other, 0));
            for (step, level) in path.steps[..path.levels].iter_mut().zip(levels) {
                let inner = live_inner(nodes, path.leaf);
                let Ok(child) = inner.position(prefix, is_before);
                *step = (path.leaf, child);
                path.leaf = inner.child(child);
                prefetch(nodes, path.leaf, level);
            }
            let Ok(at) = live_leaf(nodes, path.leaf).position(prefix, is_before);
            (path.at, path.head) = (at, Some(prefix));
            return path;
        }
        let edge = Edge {
            bytes: key,
            behind: false,
        };
        let mut ask = |other, ask| {
            Ok::<_, Infallible>(match ask {
                Ask::Shares(bytes) => keys.shares(other, &key[..bytes]),
                Ask::Before(known) => is_before(other, known),
            })
        };
        let mut search = Search::new(edge, &mut ask);
        for (step, level) in path.steps[..path.levels].iter_mut().zip(levels) {
            let Ok((child, address)) = search.child(nodes, path.leaf);
            *step = (path.leaf, child);
            path.leaf = address;
            prefetch(nodes, path.leaf, level);
        }
        let Ok(found) = search.leaf(nodes, path.leaf);
        (path.at, path.head) = (found.position, found.head.map(|(head, _)| head));
        path
    }

    /// Inserts an entry for a row with this key.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    pub fn insert(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        key: &[u8],
        row: Address,
    ) -> Result<(), StoreError> {
        if self.root.0 == 0 {
            return self.plant(store, key, row);
        }
        let path = self.descend(store.bytes(), keys, (key, Some(row)), false);
        self.insert_at(store, keys, &path, key, row)
    }

    /// Inserts an entry for a row with this key, unless another row has it, which is returned.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    pub fn insert_unique(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        key: &[u8],
        row: Address,
    ) -> Result<Option<Address>, StoreError> {
        if keys.is_exact() && self.append_exact(store, prefix(key), row) {
            return Ok(None);
        }
        match self.vacant(store.bytes(), keys, key) {
            Ok(vacant) => self.insert_vacant(store, keys, &vacant, key, row)?,
            Err(there) => return Ok(Some(there)),
        }
        Ok(None)
    }

    /// The place of a key that no row has.
    ///
    /// # Errors
    /// The row that has the key.
    pub fn vacant(&self, nodes: &[u8], keys: &impl Keys, key: &[u8]) -> Result<Vacant, Address> {
        let len = self.len;
        if self.root.0 == 0 {
            return Ok(Vacant { path: None, len });
        }
        if let Some(path) = self.near_path(nodes, keys, key) {
            let path = Some(path);
            return Ok(Vacant { path, len });
        }
        let path = self.descend(nodes, keys, (key, None), false);
        // An entry with the key is not before the place, and nothing is between.
        let leaf = live_leaf(nodes, path.leaf);
        let there = match (path.at < leaf.count(), leaf.next()) {
            (true, _) if path.head != Some(leaf.entry(path.at).prefix) => None,
            (true, _) => Some((leaf.entry(path.at), leaf.skip() + 8)),
            (false, next) if next.0 != 0 => Some((live_leaf(nodes, next).entry(0), 0)),
            (false, _) => None,
        };
        if let Some((there, known)) = there
            && (!keys.is_exact() || there.prefix == prefix(key))
            && keys.compare(there.address, key, known) == Ordering::Equal
        {
            return Err(there.address);
        }
        let path = Some(path);
        Ok(Vacant { path, len })
    }

    /// Inserts an entry for a row with a key at the key's place. The tree has not changed since that was found.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    pub fn insert_vacant(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        vacant: &Vacant,
        key: &[u8],
        row: Address,
    ) -> Result<(), StoreError> {
        debug_assert_eq!(vacant.len, self.len, "the tree has not changed");
        debug_assert!(
            (vacant.path.as_ref()).is_none_or(|path| {
                let now = self.descend(store.bytes(), keys, (key, None), false);
                (now.leaf, now.at, now.head) == (path.leaf, path.at, path.head)
            }),
            "the key's place is as it was found"
        );
        match &vacant.path {
            Some(path) => self.insert_at(store, keys, path, key, row),
            None => self.plant(store, key, row),
        }
    }

    /// The first entry of all.
    fn plant(
        &mut self,
        store: &mut IndexStore,
        key: &[u8],
        row: Address,
    ) -> Result<(), StoreError> {
        self.root = store.allocate(LEAF_BYTES)?;
        self.bytes += LEAF_BYTES as u64;
        let leaf = Leaf::new(&[first_entry(key, row)]);
        self.note_last(self.root, leaf.next());
        store.write(self.root, leaf.as_bytes());
        self.len = 1;
        Ok(())
    }

    fn insert_at(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        path: &Path,
        key: &[u8],
        row: Address,
    ) -> Result<(), StoreError> {
        let mut leaf = *live_leaf(store.bytes(), path.leaf);
        let is_full = leaf.count() == LEAF_ENTRIES;
        if is_full {
            store.ensure_room((usize::from(self.height) + 2) * INNER_BYTES)?;
        }
        if path.head.is_none() {
            // The key does not begin as all others in the leaf: they have less in common now.
            let mut other = KeyBytes::default();
            keys.of_row(leaf.entry(0).address, &mut other);
            let skip = common(key, &other).min(leaf.skip());
            leaf.skip_only(keys, skip);
        }
        let prefix = match path.head {
            Some(head) => head,
            None => prefix(key.get(leaf.skip()..).unwrap_or_default()),
        };
        let entry = Entry {
            prefix,
            address: row,
        };
        match is_full {
            true => self.split(store, keys, path, leaf, entry, key)?,
            false => {
                self.note_last(path.leaf, leaf.next());
                self.near.note(path.leaf);
                let changed = leaf.insert(path.at, entry);
                // A leaf that is never split is fitted as it grows.
                let is_fitted = leaf.count().is_power_of_two() && leaf.fit(keys);
                match path.head.filter(|_| !is_fitted) {
                    Some(_) => {
                        for changed in changed {
                            let at = Address(path.leaf.0 + changed.start as u64);
                            store.write(at, &leaf.as_bytes()[changed]);
                        }
                    }
                    None => store.write(path.leaf, leaf.as_bytes()),
                }
            }
        }
        self.len += 1;
        Ok(())
    }

    /// Inserts into a full leaf. There is room for the nodes that it takes.
    #[cold]
    fn split(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        path: &Path,
        mut left: Leaf,
        entry: Entry,
        key: &[u8],
    ) -> Result<(), StoreError> {
        // Entries in ascending order fill the leaves.
        let is_appended = left.next().0 == 0 && path.at == LEAF_ENTRIES;
        // In descending order, too: each new leaf before all others begins with one entry.
        let is_prepended = left.previous().0 == 0 && path.at == 0;
        if !is_appended && !is_prepended && sharing::share(store, keys, path, &left, entry) {
            return Ok(());
        }
        let new = store.allocate(LEAF_BYTES)?;
        self.bytes += LEAF_BYTES as u64;
        let mut right = match is_appended {
            true => {
                left.fit(keys);
                left.appended(keys, key, entry.address)
            }
            false if is_prepended => left.split(0),
            false => left.split(LEAF_ENTRIES / 2),
        };
        if !is_appended {
            match path.at.checked_sub(left.count()) {
                Some(at) if at > 0 => right.insert(at, entry),
                _ => left.insert(path.at, entry),
            };
            left.fit(keys);
        }
        right.fit(keys);
        let next = left.next();
        right.set_next(next);
        right.set_previous(path.leaf);
        left.set_next(new);
        if next.0 != 0 {
            let mut behind = *live_leaf(store.bytes(), next);
            behind.set_previous(new);
            store.write(next, behind.as_bytes());
        }
        store.write(path.leaf, left.as_bytes());
        store.write(new, right.as_bytes());
        self.note_last(new, next);
        self.add_child(store, keys, path, right.entry(0), new, is_appended)
    }

    /// Hangs a new node behind the one that the path leads through, on the lowest level of inner nodes and, where
    /// that is full, above.
    fn add_child(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        path: &Path,
        mut first: Entry,
        mut child: Address,
        is_appended: bool,
    ) -> Result<(), StoreError> {
        for &(at, position) in path.steps[..path.levels].iter().rev() {
            let mut left = *live_inner(store.bytes(), at);
            if left.count() < INNER_ENTRIES {
                left.insert(position + 1, first, child);
                left.fit_one(keys, position + 1);
                store.write(at, left.as_bytes());
                return Ok(());
            }
            let new = store.allocate(INNER_BYTES)?;
            self.bytes += INNER_BYTES as u64;
            let right = if is_appended {
                Inner::new(&[(first, child)])
            } else {
                let mut right = left.split(INNER_ENTRIES / 2);
                match (position + 1).checked_sub(left.count()) {
                    Some(at) if at > 0 => {
                        right.insert(at, first, child);
                        right.fit_one(keys, at);
                    }
                    _ => {
                        left.insert(position + 1, first, child);
                        left.fit_one(keys, position + 1);
                    }
                }
                left.fit(keys);
                right.fit(keys);
                right
            };
            store.write(at, left.as_bytes());
            store.write(new, right.as_bytes());
            (first, child) = (right.first(0), new);
        }
        let root = store.allocate(INNER_BYTES)?;
        self.bytes += INNER_BYTES as u64;
        // The first child's first entry is never looked at.
        let mut inner = Inner::new(&[(first, self.root), (first, child)]);
        inner.fit_one(keys, 1);
        store.write(root, inner.as_bytes());
        self.root = root;
        self.height += 1;
        Ok(())
    }
}

/// The entry of a row with this key, outside of a node.
fn first_entry(key: &[u8], row: Address) -> Entry {
    Entry {
        prefix: prefix(key),
        address: row,
    }
}

#[cfg(test)]
mod tests;
