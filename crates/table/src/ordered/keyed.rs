//! Places searched by keys of which nodes have a part only.
//!
//! The heads of a node's entries are 8 bytes of keys behind `skip` bytes that all of them have in common. A search
//! compares those bytes with the row of the node's first entry, then heads, and other rows only where heads are equal.
//! A child's keys lie between two entries of the node above. So the sought key shares with them all bytes that these
//! two share, and the first comparison is left out where a node skips no more than these.
//!
//! Invariant: `shared` bytes of the sought key begin every key below the node that the search has reached.

use super::node::{Entry, INNER_BYTES, Inner, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::{inner, leaf};
use sardonyx_rows::key::{Edge, KeyBytes};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, Words};
use std::cmp::Ordering;

/// The keys of rows, by which a tree makes the heads of its nodes.
pub(crate) trait Keys {
    /// True if an entry has the whole key: then no row is read, and nodes skip no bytes.
    fn is_exact(&self) -> bool;

    /// Appends the key of a row, which exists; nothing if its snapshot was ended.
    fn of_row(&self, row: Address, key: &mut KeyBytes);

    /// True if a row's key begins with these bytes.
    fn shares(&self, row: Address, beginning: &[u8]) -> bool;

    /// Compares a row's key with a key, of which so many bytes are known to be the row's.
    fn compare(&self, row: Address, key: &[u8], known: usize) -> Ordering;
}

/// The goal of a search: the place before the first entry that is not before it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sought<'k, F> {
    /// In a tree whose entries have whole keys: the place before the entries with this key, or behind them.
    Exact { key: u64, behind: bool },
    /// Bytes of keys, and the answers of rows.
    ByRow { edge: Edge<'k>, ask: F },
}

/// A question about an entry's row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    /// Does its key begin with so many bytes of the sought key?
    Shares(usize),
    /// Is it before the place, if so many bytes of the sought key are known to be its own?
    Before(usize),
}

/// The result of searching a leaf.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub position: usize,
    pub count: usize,
    pub next: Address,
    /// The entry at the position, if there is one.
    pub entry: Entry,
    /// The head of the sought key, and its bytes before that; none if not all of these begin the leaf's keys.
    pub head: Option<(u64, usize)>,
}

impl Found {
    /// Returns true if the entry at the position may begin with the sought key, of so many bytes.
    #[inline]
    pub fn may_begin(&self, bytes: usize) -> bool {
        let Some((head, skip)) = self.head else {
            return false;
        };
        match bytes.saturating_sub(skip).min(8) {
            0 => true,
            known => (self.entry.prefix ^ head) >> (64 - 8 * known) == 0,
        }
    }
}

/// A search on its way down.
pub(super) struct Search<'s, 'k, F> {
    pub edge: Edge<'k>,
    pub ask: &'s mut F,
    /// Bytes of the sought key that begin all keys below.
    pub shared: usize,
}

/// The first look at an inner node.
enum Step {
    /// The node skips more bytes than are known to be shared; an entry's row, and the number of children.
    Unknown(usize, Address, usize),
    /// Entries there have the key's head.
    Tied,
    /// The number of the child, its address, and the bytes that the entries on both sides of it share.
    Child(usize, Address, usize),
}

/// Bytes that two keys have in common.
#[inline]
pub(crate) fn common(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(one, other)| one == other).count()
}

/// Bytes that two different heads have in common.
#[inline(always)]
fn common_of_heads(one: u64, other: u64) -> usize {
    match one ^ other {
        0 => 0,
        different => different.leading_zeros() as usize / 8,
    }
}

impl<'s, 'k, F> Search<'s, 'k, F> {
    /// A search that begins at the root.
    #[inline]
    pub fn new(edge: Edge<'k>, ask: &'s mut F) -> Self {
        let shared = 0;
        Search { edge, ask, shared }
    }

    /// The bytes of the sought key that an entry with its head has, in a node that skips so many.
    #[inline]
    fn known(&self, skip: usize) -> usize {
        self.edge.bytes.len().min(skip + 8)
    }

    /// Returns true if the keys of a node, of which one is given, begin with the sought key's bytes that it skips.
    #[inline]
    fn shares<E>(&mut self, skip: usize, row: Address) -> Result<bool, E>
    where
        F: FnMut(Address, Ask) -> Result<bool, E>,
    {
        Ok(skip <= self.edge.bytes.len() && (self.ask)(row, Ask::Shares(skip))?)
    }

    /// The child of an inner node that has the place, and its number.
    #[inline]
    pub fn child<P, E>(&mut self, nodes: &P, at: Address) -> Result<(usize, Address), E>
    where
        P: PageRead + ?Sized,
        E: From<P::Error>,
        F: FnMut(Address, Ask) -> Result<bool, E>,
    {
        let (edge, mut shared) = (self.edge, self.shared);
        loop {
            let step = nodes.look(at, INNER_BYTES, |inner| {
                let (count, skip) = (Inner::count_in(inner), Inner::skip_in(inner));
                if count == 1 {
                    return Step::Child(0, Inner::child_at(inner, 0), 0);
                }
                if skip > shared {
                    return Step::Unknown(skip, Inner::first_in(inner, 1).address, count);
                }
                let head = edge.head(skip);
                let child = Inner::position_in(inner, head).min(count - 1);
                let behind = (child + 1 < count).then(|| Inner::first_in(inner, child + 1).prefix);
                match behind {
                    Some(behind) if behind == head => Step::Tied,
                    Some(behind) if child > 0 => {
                        let before = Inner::first_in(inner, child).prefix;
                        let both = skip + common_of_heads(before, behind);
                        Step::Child(child, Inner::child_at(inner, child), both)
                    }
                    _ => Step::Child(child, Inner::child_at(inner, child), 0),
                }
            })?;
            match step {
                Step::Child(child, address, both) => {
                    self.shared = self.shared.max(both);
                    return Ok((child, address));
                }
                Step::Tied => return self.tied_child(nodes, at),
                Step::Unknown(skip, row, count) => {
                    if self.shares(skip, row)? {
                        // Of the entries here, but not of what the first and the last child have.
                        shared = skip;
                        continue;
                    }
                    let child = match (self.ask)(row, Ask::Before(0))? {
                        true => count - 1,
                        false => 0,
                    };
                    let address =
                        nodes.look(at, INNER_BYTES, |inner| Inner::child_at(inner, child))?;
                    return Ok((child, address));
                }
            }
        }
    }

    /// The same where rows have to be looked at.
    #[inline(never)]
    fn tied_child<P, E>(&mut self, nodes: &P, at: Address) -> Result<(usize, Address), E>
    where
        P: PageRead + ?Sized,
        E: From<P::Error>,
        F: FnMut(Address, Ask) -> Result<bool, E>,
    {
        let mut buffer = Vec::new();
        let inner = inner(nodes, at, &mut buffer)?;
        let (head, known) = (self.edge.head(inner.skip()), self.known(inner.skip()));
        let child = inner.position(head, |row| (self.ask)(row, Ask::Before(known)))?;
        if child > 0 && child + 1 < inner.count() {
            let between = common_of_heads(inner.first(child).prefix, inner.first(child + 1).prefix);
            self.shared = self.shared.max(inner.skip() + between);
        }
        Ok((child, inner.child(child)))
    }

    #[inline]
    pub fn leaf<P, E>(&mut self, nodes: &P, at: Address) -> Result<Found, E>
    where
        P: PageRead + ?Sized,
        E: From<P::Error>,
        F: FnMut(Address, Ask) -> Result<bool, E>,
    {
        let edge = self.edge;
        let mut shared = self.shared;
        loop {
            let (found, skip, first) = nodes.look(at, LEAF_BYTES, |leaf| {
                let (skip, count) = (Leaf::skip_in(leaf), Leaf::count_in(leaf).min(LEAF_ENTRIES));
                let head = (skip <= shared).then(|| (edge.head(skip), skip));
                let position = match head {
                    Some((head, _)) => Leaf::position_in(leaf, head, false).min(count),
                    None => 0,
                };
                let found = Found {
                    position,
                    count,
                    next: Leaf::next_of(leaf.word(0)),
                    entry: Leaf::entry_in(leaf, position.min(LEAF_ENTRIES - 1)),
                    head,
                };
                (found, skip, Leaf::entry_in(leaf, 0).address)
            })?;
            match found.head {
                Some((head, skip)) => {
                    let is_tied = found.position < found.count && found.entry.prefix == head;
                    return match is_tied {
                        true => self.tied_leaf(nodes, at, (head, skip)),
                        false => Ok(found),
                    };
                }
                None if self.shares(skip, first)? => shared = skip,
                None if (self.ask)(first, Ask::Before(0))? => {
                    let position = found.count;
                    return Ok(Found { position, ..found });
                }
                None => return Ok(found),
            }
        }
    }

    /// The same where rows have to be looked at.
    #[inline(never)]
    fn tied_leaf<P, E>(&mut self, nodes: &P, at: Address, head: (u64, usize)) -> Result<Found, E>
    where
        P: PageRead + ?Sized,
        E: From<P::Error>,
        F: FnMut(Address, Ask) -> Result<bool, E>,
    {
        let mut buffer = Vec::new();
        let leaf = leaf(nodes, at, &mut buffer)?;
        let known = self.known(head.1);
        let position = leaf.position(head.0, |row| (self.ask)(row, Ask::Before(known)))?;
        Ok(Found {
            position,
            count: leaf.count(),
            next: leaf.next(),
            entry: leaf.entry(position.min(LEAF_ENTRIES - 1)),
            head: Some(head),
        })
    }
}
