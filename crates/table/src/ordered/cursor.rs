//! Walking over a part of an ordered index, from both ends. For a caller that reads the rows, they are prefetched.

use super::Tree;
use super::node::{LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::prefetch_leaf;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, Words};

/// Entries for which rows are asked ahead.
const AHEAD: usize = 16;

/// A place in an ordered index, before an entry or at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
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
pub struct Cursor {
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
    pub(crate) fn new(tree: Tree, from: Place, to: Place) -> Self {
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
        let addresses = &mut self.addresses;
        let head = nodes.look(self.front.leaf, LEAF_BYTES, |leaf| {
            Leaf::addresses_in(leaf, addresses);
            leaf.word(0)
        })?;
        self.count = Leaf::count_of(head);
        self.next = Leaf::next_of(head);
        self.wanted = match self.front.leaf == self.back.leaf {
            true => self.back.position.max(self.front.position),
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
        if self.back.position == 0 {
            self.step_back(nodes, &ask)?;
        }
        self.back.position -= 1;
        let at = self.back.position;
        let (found, ahead) = nodes.look(self.back.leaf, LEAF_BYTES, |leaf| {
            let address = |at| Leaf::entry_in(leaf, at).address;
            (address(at), at.checked_sub(AHEAD).map(address))
        })?;
        if let Some(ahead) = ahead {
            ask(ahead);
        }
        Ok(Some(found))
    }

    /// Goes to the end of the leaf before the one at the back.
    fn step_back<P: PageRead + ?Sized>(
        &mut self,
        nodes: &P,
        ask: &impl Fn(Address),
    ) -> Result<(), P::Error> {
        let before = match self.back.leaf.0 {
            0 => self.tree.last_leaf(nodes)?,
            _ => nodes.look(self.back.leaf, LEAF_BYTES, Leaf::previous_in)?,
        };
        let mut addresses = [0; LEAF_ENTRIES];
        let (count, previous) = nodes.look(before, LEAF_BYTES, |leaf| {
            Leaf::addresses_in(leaf, &mut addresses);
            (Leaf::count_in(leaf), Leaf::previous_in(leaf))
        })?;
        self.back = Place {
            leaf: before,
            position: count,
        };
        for &address in &addresses[count.saturating_sub(AHEAD)..count] {
            ask(Address(address));
        }
        prefetch_leaf(nodes, previous);
        Ok(())
    }
}
