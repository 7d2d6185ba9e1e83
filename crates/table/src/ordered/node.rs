//! Nodes of an ordered index, as they stand in the index store.
//!
//! An entry is the first 8 bytes of a key's encoding, read as a number, and the address of its row. A leaf has
//! entries and the leaves on both sides. An inner node has children and, for each but the first, the first entry
//! below it. The parts of entries stand in arrays of their own, so that a search reads few cache lines.

use sardonyx_storage::page::Address;
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Entries of a leaf.
pub(crate) const LEAF_ENTRIES: usize = 31;
/// Children of an inner node.
pub(crate) const INNER_ENTRIES: usize = 42;
/// Bytes of nodes.
pub(crate) const LEAF_BYTES: usize = size_of::<Leaf>();
pub(crate) const INNER_BYTES: usize = size_of::<Inner>();

const _: () = assert!(LEAF_BYTES.is_power_of_two() && INNER_BYTES.is_power_of_two());

/// A key's first bytes and its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub prefix: u64,
    pub address: Address,
}

/// A leaf.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Leaf {
    /// Entries (8 bits), and the next leaf's address shifted over them; leaves stand at multiples of 256 at least.
    head: U64,
    previous: U64,
    prefixes: [U64; LEAF_ENTRIES],
    addresses: [U64; LEAF_ENTRIES],
}

/// An inner node.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Inner {
    count: U64,
    unused: U64,
    prefixes: [U64; INNER_ENTRIES],
    addresses: [U64; INNER_ENTRIES],
    children: [U64; INNER_ENTRIES],
}

/// How many of the numbers, which are in order, come first that are `before`: by halving without branches.
#[inline(always)]
fn partition(prefixes: &[U64], before: impl Fn(u64) -> bool) -> usize {
    let (mut base, mut length) = (0, prefixes.len());
    while length > 1 {
        let half = length / 2;
        base += if before(prefixes[base + half - 1].get()) {
            half
        } else {
            0
        };
        length -= half;
    }
    base + usize::from(length == 1 && before(prefixes[base].get()))
}

/// How many of the entries come before the place that is looked for: those with a lower prefix, and of those with
/// this prefix the ones for whose rows `before` says so.
#[inline(always)]
fn position<E>(
    prefixes: &[U64],
    addresses: &[U64],
    prefix: u64,
    before: &mut impl FnMut(Address) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut low = partition(prefixes, |other| other < prefix);
    if prefixes.get(low).is_none_or(|other| other.get() != prefix) {
        return Ok(low);
    }
    let mut high = low + partition(&prefixes[low..], |other| other == prefix);
    while low < high {
        let middle = low.midpoint(high);
        match before(Address(addresses[middle].get()))? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

impl Leaf {
    /// A leaf with these entries.
    pub fn new(entries: &[Entry]) -> Self {
        let mut leaf = Leaf::new_zeroed();
        leaf.set_count(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            leaf.set(at, *entry);
        }
        leaf
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.head.get() as u8 as usize
    }

    fn set_count(&mut self, count: usize) {
        self.head = U64::new(self.head.get() & !0xff | count as u64);
    }

    /// The leaf behind it; address 0 if it is the last.
    #[inline]
    pub fn next(&self) -> Address {
        Address(self.head.get() & !0xff)
    }

    pub fn set_next(&mut self, next: Address) {
        self.head = U64::new(next.0 | self.count() as u64);
    }

    /// The leaf before it; address 0 if it is the first.
    pub fn previous(&self) -> Address {
        Address(self.previous.get())
    }

    pub fn set_previous(&mut self, previous: Address) {
        self.previous = U64::new(previous.0);
    }

    pub fn entry(&self, at: usize) -> Entry {
        Entry {
            prefix: self.prefixes[at].get(),
            address: Address(self.addresses[at].get()),
        }
    }

    /// The addresses of its rows.
    pub fn addresses(&self) -> &[U64; LEAF_ENTRIES] {
        &self.addresses
    }

    fn set(&mut self, at: usize, entry: Entry) {
        self.prefixes[at] = U64::new(entry.prefix);
        self.addresses[at] = U64::new(entry.address.0);
    }

    #[inline(always)]
    pub fn position<E>(
        &self,
        prefix: u64,
        before: &mut impl FnMut(Address) -> Result<bool, E>,
    ) -> Result<usize, E> {
        position(
            &self.prefixes[..self.count()],
            &self.addresses,
            prefix,
            before,
        )
    }

    /// Inserts an entry; there is room.
    pub fn insert(&mut self, at: usize, entry: Entry) {
        let count = self.count();
        self.prefixes.copy_within(at..count, at + 1);
        self.addresses.copy_within(at..count, at + 1);
        self.set(at, entry);
        self.set_count(count + 1);
    }

    pub fn remove(&mut self, at: usize) {
        let count = self.count();
        self.prefixes.copy_within(at + 1..count, at);
        self.addresses.copy_within(at + 1..count, at);
        self.set_count(count - 1);
    }

    /// Takes the entries from `at` on to a leaf of their own, without neighbours.
    pub fn split(&mut self, at: usize) -> Leaf {
        let mut right = Leaf::new_zeroed();
        right.append(self, at);
        self.set_count(at);
        right
    }

    /// Appends another's entries from `from` on; there is room.
    pub fn append(&mut self, other: &Leaf, from: usize) {
        let (count, more) = (self.count(), other.count() - from);
        self.prefixes[count..count + more].copy_from_slice(&other.prefixes[from..from + more]);
        self.addresses[count..count + more].copy_from_slice(&other.addresses[from..from + more]);
        self.set_count(count + more);
    }
}

impl Inner {
    /// An inner node with these children and the first entries below them.
    pub fn new(children: &[(Entry, Address)]) -> Self {
        let mut inner = Inner::new_zeroed();
        inner.count = U64::new(children.len() as u64);
        for (at, (first, child)) in children.iter().enumerate() {
            inner.set_first(at, *first);
            inner.children[at] = U64::new(child.0);
        }
        inner
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.count.get() as usize
    }

    #[inline]
    pub fn child(&self, at: usize) -> Address {
        Address(self.children[at].get())
    }

    /// The first entry below a child; not known of the first child.
    pub fn first(&self, at: usize) -> Entry {
        Entry {
            prefix: self.prefixes[at].get(),
            address: Address(self.addresses[at].get()),
        }
    }

    pub fn set_first(&mut self, at: usize, first: Entry) {
        self.prefixes[at] = U64::new(first.prefix);
        self.addresses[at] = U64::new(first.address.0);
    }

    /// The number of the child in which the place is that is looked for.
    #[inline(always)]
    pub fn position<E>(
        &self,
        prefix: u64,
        before: &mut impl FnMut(Address) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let count = self.count();
        position(
            &self.prefixes[1..count],
            &self.addresses[1..count],
            prefix,
            before,
        )
    }

    /// Inserts a child; there is room.
    pub fn insert(&mut self, at: usize, first: Entry, child: Address) {
        let count = self.count();
        self.prefixes.copy_within(at..count, at + 1);
        self.addresses.copy_within(at..count, at + 1);
        self.children.copy_within(at..count, at + 1);
        self.set_first(at, first);
        self.children[at] = U64::new(child.0);
        self.count = U64::new(count as u64 + 1);
    }

    pub fn remove(&mut self, at: usize) {
        let count = self.count();
        self.prefixes.copy_within(at + 1..count, at);
        self.addresses.copy_within(at + 1..count, at);
        self.children.copy_within(at + 1..count, at);
        self.count = U64::new(count as u64 - 1);
    }

    /// Takes the children from `at` on to a node of their own.
    pub fn split(&mut self, at: usize) -> Inner {
        let mut right = Inner::new_zeroed();
        right.append(self, at, self.first(at));
        self.count = U64::new(at as u64);
        right
    }

    /// Appends another's children from `from` on; there is room. `first` is the first entry below them.
    pub fn append(&mut self, other: &Inner, from: usize, first: Entry) {
        let (count, more) = (self.count(), other.count() - from);
        self.prefixes[count..count + more].copy_from_slice(&other.prefixes[from..from + more]);
        self.addresses[count..count + more].copy_from_slice(&other.addresses[from..from + more]);
        self.children[count..count + more].copy_from_slice(&other.children[from..from + more]);
        self.set_first(count, first);
        self.count = U64::new((count + more) as u64);
    }
}
