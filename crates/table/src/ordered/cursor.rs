//! Walking over a part of an ordered index, from both ends. Whoever reads the rows gets them asked for ahead.

use super::Tree;
use super::node::{LEAF_ENTRIES, Leaf};
use super::search::{leaf, prefetch_leaf};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;

/// Entries for which rows are asked ahead.
const AHEAD: usize = 16;

/// A place in an ordered index, before an entry or at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub leaf: Address,
    pub position: usize,
}

impl Place {
    /// Behind the last entry.
    pub const END: Place = Place {
        leaf: Address(0),
        position: 0,
    };
}

/// A walk over the entries between two places.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    tree: Tree,
    front: Place,
    back: Place,
    /// The leaf at the front, as it was read.
    addresses: [u64; LEAF_ENTRIES],
    /// Entries in it, how many of them come before the back, the leaf behind it; no entries before it is read.
    count: usize,
    wanted: usize,
    next: Address,
}

impl Cursor {
    /// A walk from one place to another, which is not before it.
    #[inline]
    pub fn new(tree: Tree, from: Place, to: Place) -> Self {
        Cursor {
            tree,
            front: from,
            back: to,
            addresses: [0; LEAF_ENTRIES],
            count: 0,
            wanted: 0,
            next: Address(0),
        }
    }

    /// Ends it.
    pub fn finish(&mut self) {
        self.front = self.back;
    }

    /// The next row. `ask` is called with the addresses of rows that will come soon.
    #[inline]
    pub fn next<P: PageRead + ?Sized>(
        &mut self,
        nodes: &P,
        ask: impl Fn(Address),
    ) -> Result<Option<Address>, P::Error> {
        if self.front == self.back {
            return Ok(None);
        }
        if self.count == 0 {
            self.load(nodes, &ask)?;
        }
        let at = self.front.position;
        let found = self.addresses[at];
        if at + AHEAD < self.wanted {
            ask(Address(self.addresses[at + AHEAD]));
        }
        self.front.position += 1;
        if self.front.position == self.count {
            self.front = Place {
                leaf: self.next,
                position: 0,
            };
            self.count = 0;
        }
        Ok(Some(Address(found)))
    }

    /// Reads the leaf at the front.
    fn load<P: PageRead + ?Sized>(
        &mut self,
        nodes: &P,
        ask: &impl Fn(Address),
    ) -> Result<(), P::Error> {
        let mut buffer = Vec::new();
        let leaf = leaf(nodes, self.front.leaf, &mut buffer)?;
        self.count = leaf.count();
        self.next = leaf.next();
        for (to, from) in self.addresses.iter_mut().zip(leaf.addresses()) {
            *to = from.get();
        }
        self.wanted = match self.front.leaf == self.back.leaf {
            true => self.back.position,
            false => self.count,
        };
        let ahead = self.wanted.min(self.front.position + AHEAD);
        for &address in &self.addresses[self.front.position..ahead] {
            ask(Address(address));
        }
        if self.next.0 != 0 && self.front.leaf != self.back.leaf {
            prefetch_leaf(nodes, self.next);
        }
        Ok(())
    }

    /// The next row from the other end.
    pub fn next_back<P: PageRead + ?Sized>(
        &mut self,
        nodes: &P,
        ask: impl Fn(Address),
    ) -> Result<Option<Address>, P::Error> {
        if self.front == self.back {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        if self.back.position == 0 {
            let before = match self.back.leaf.0 {
                0 => self.tree.last_leaf(nodes)?,
                _ => leaf(nodes, self.back.leaf, &mut buffer)?.previous(),
            };
            let leaf = leaf(nodes, before, &mut buffer)?;
            self.back = Place {
                leaf: before,
                position: leaf.count(),
            };
            ask_for(leaf, leaf.count().saturating_sub(AHEAD)..leaf.count(), &ask);
            prefetch_leaf(nodes, leaf.previous());
        }
        let leaf = leaf(nodes, self.back.leaf, &mut buffer)?;
        self.back.position -= 1;
        let at = self.back.position;
        if let Some(ahead) = at.checked_sub(AHEAD) {
            ask_for(leaf, ahead..ahead + 1, &ask);
        }
        Ok(Some(leaf.entry(at).address))
    }
}

fn ask_for(leaf: &Leaf, positions: std::ops::Range<usize>, ask: &impl Fn(Address)) {
    for address in &leaf.addresses()[positions] {
        ask(Address(address.get()));
    }
}
