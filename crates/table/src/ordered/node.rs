//! Nodes of an ordered index, in the layout of the index store.
//!
//! An entry is 8 bytes of a key's encoding, read as a number, and the address of its row. They are the bytes behind the
//! `skip` first ones, which the keys of all entries of the node have in common: keys that begin alike differ there. A
//! leaf has entries and the leaves on both sides. An inner node has children and, for each but the first, the first
//! entry below it. The parts of entries are in arrays of their own, so that a search reads few cache lines. The places
//! behind the last prefix have the largest prefix. So a search does not depend on the number of entries. It takes the same
//! steps in every node, without a branch that would be mispredicted.

mod inner;

use super::keyed::{Keys, common};
use sardonyx_base::resident::Resident;
use sardonyx_rows::key::{KeyBytes, prefix};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::Words;
use std::mem::offset_of;
use std::ops::Range;

/// Entries of a leaf. With 15, which are half the cache lines, there are so many nodes above leaves that these fall
/// out of the caches: a point read took longer.
pub(crate) const LEAF_ENTRIES: usize = 31;
/// Children of an inner node.
pub(crate) const INNER_ENTRIES: usize = 42;
/// Bytes of nodes.
pub(crate) const LEAF_BYTES: usize = size_of::<Leaf>();
pub(crate) const INNER_BYTES: usize = size_of::<Inner>();

/// Children but the first.
const INNER_OTHERS: usize = INNER_ENTRIES - 1;

/// The offsets of the parts of nodes, in words.
const LEAF_PREVIOUS: usize = offset_of!(Leaf, previous) / 8;
const LEAF_PREFIXES: usize = offset_of!(Leaf, prefixes) / 8;
const LEAF_ADDRESSES: usize = offset_of!(Leaf, addresses) / 8;
const INNER_SKIP: usize = offset_of!(Inner, skip) / 8;
const INNER_PREFIXES: usize = offset_of!(Inner, prefixes) / 8;
const INNER_CHILDREN: usize = offset_of!(Inner, children) / 8;
const INNER_ADDRESSES: usize = offset_of!(Inner, addresses) / 8;

/// The most bytes that heads skip: a leaf has a byte for their number.
const SKIP_MAX: usize = u8::MAX as usize;

/// The bytes of an inner node that a search reads if no rows must be read.
pub(crate) const INNER_SEARCHED_BYTES: usize = offset_of!(Inner, addresses);

const _: () = assert!(LEAF_BYTES.is_power_of_two() && INNER_BYTES.is_power_of_two());
// A snapshot's copy of a node is at any address.
const _: () = assert!(align_of::<Leaf>() == 1 && align_of::<Inner>() == 1);

/// Bytes of a key and its row. Outside of nodes they are the key's first bytes; see the node's `skip` there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub prefix: u64,
    pub address: Address,
}

/// A number in a node, in the order of bytes of the files. It has no alignment: snapshots copy nodes into vectors of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Resident)]
#[repr(transparent)]
struct U64([u8; 8]);

impl U64 {
    #[inline(always)]
    const fn new(number: u64) -> Self {
        U64(number.to_le_bytes())
    }

    #[inline(always)]
    const fn get(self) -> u64 {
        u64::from_le_bytes(self.0)
    }
}

#[derive(Clone, Copy, Resident)]
#[repr(C)]
pub(crate) struct Leaf {
    /// Entries (8 bits), and the next leaf's address shifted over them; leaves are at multiples of 256 at least.
    head: U64,
    /// The bytes that heads skip (8 bits), and the previous leaf's address shifted over them.
    previous: U64,
    prefixes: [U64; LEAF_ENTRIES],
    addresses: [U64; LEAF_ENTRIES],
}

/// An inner node.
#[derive(Clone, Copy, Resident)]
#[repr(C)]
pub(crate) struct Inner {
    count: U64,
    /// The bytes that heads skip: of all entries but the first child's.
    skip: U64,
    prefixes: [U64; INNER_ENTRIES],
    children: [U64; INNER_ENTRIES],
    addresses: [U64; INNER_ENTRIES],
}

/// The value of an unused place for a prefix.
const UNUSED: U64 = U64::new(u64::MAX);

/// Numbers that are compared at once, in the second of a search's two steps.
const LEAF_GROUP: usize = 8;
const INNER_GROUP: usize = 7;

/// The number of the first of `N` numbers, which are in order, that are `before`. The last number of each group but
/// the last one is compared first, then the others of the group in question. The comparisons of a step do not wait for
/// one another, and none is a branch. Halving, in which each waits for the one before, takes twice the time.
#[inline(always)]
fn partition<const N: usize, const GROUP: usize>(
    number: impl Fn(usize) -> u64,
    before: impl Fn(u64) -> bool,
) -> usize {
    const { assert!((N + 1).is_multiple_of(GROUP)) };
    let count = |from: usize, step: usize, many: usize| {
        (0..many).fold(0, |sum, n| {
            sum + usize::from(before(number(from + n * step)))
        })
    };
    let group = count(GROUP - 1, GROUP, N / GROUP);
    group * GROUP + count(group * GROUP, 1, GROUP - 1)
}

/// The number of entries before the place that is looked for. Of the entries with this head, those are before it for
/// whose rows `is_before` holds.
#[inline(always)]
fn position<const N: usize, const GROUP: usize, E>(
    prefixes: &[U64],
    addresses: &[U64],
    count: usize,
    prefix: u64,
    mut is_before: impl FnMut(Address) -> Result<bool, E>,
) -> Result<usize, E> {
    let number = |at: usize| prefixes[at].get();
    let mut low = partition::<N, GROUP>(number, |other| other < prefix);
    if low >= count || prefixes[low].get() != prefix {
        return Ok(low.min(count));
    }
    let mut high = partition::<N, GROUP>(number, |other| other <= prefix).min(count);
    while low < high {
        let middle = low.midpoint(high);
        match is_before(Address(addresses[middle].get()))? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// The bytes that the keys of a node's first and last rows have in common, and so all between them.
fn skip_of(keys: &impl Keys, first: Address, last: Address) -> usize {
    let (mut one, mut other) = (KeyBytes::default(), KeyBytes::default());
    keys.of_row(first, &mut one);
    keys.of_row(last, &mut other);
    common(&one, &other).min(SKIP_MAX)
}

/// True if two entries have one head: then the node may skip more bytes, and tell them apart.
fn is_tied(heads: &[U64]) -> bool {
    heads.windows(2).any(|two| two[0] == two[1])
}

fn head_of(keys: &impl Keys, row: Address, skip: usize) -> u64 {
    let mut key = KeyBytes::default();
    keys.of_row(row, &mut key);
    prefix(key.get(skip..).unwrap_or_default())
}

impl Leaf {
    fn empty() -> Self {
        Leaf {
            prefixes: [UNUSED; LEAF_ENTRIES],
            ..Leaf::new_zeroed()
        }
    }

    pub fn new(entries: &[Entry]) -> Self {
        let mut leaf = Leaf::empty();
        leaf.set_count(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            leaf.set(at, *entry);
        }
        leaf
    }

    #[inline]
    pub fn count(&self) -> usize {
        Self::count_of(self.head.get())
    }

    fn set_count(&mut self, count: usize) {
        self.head = U64::new(self.head.get() & !0xff | count as u64);
    }

    /// The leaf behind it; address 0 if it is the last.
    #[inline]
    pub fn next(&self) -> Address {
        Self::next_of(self.head.get())
    }

    pub fn set_next(&mut self, next: Address) {
        self.head = U64::new(next.0 | self.count() as u64);
    }

    /// The leaf before it; address 0 if it is the first.
    pub fn previous(&self) -> Address {
        Address(self.previous.get() & !0xff)
    }

    pub fn set_previous(&mut self, previous: Address) {
        self.previous = U64::new(previous.0 | self.skip() as u64);
    }

    /// The bytes that heads skip.
    #[inline]
    pub fn skip(&self) -> usize {
        self.previous.get() as u8 as usize
    }

    fn set_skip(&mut self, skip: usize) {
        self.previous = U64::new(self.previous.get() & !0xff | skip as u64);
    }

    /// Makes the heads anew behind the bytes that all keys have in common, if these heads do not tell all entries apart: a
    /// node that skips nothing reads no row. Returns true if they are others now.
    pub fn fit(&mut self, keys: &impl Keys) -> bool {
        let last = self.count().saturating_sub(1);
        if keys.is_exact() || !is_tied(&self.prefixes[..self.count()]) {
            return false;
        }
        let skip = skip_of(keys, self.entry(0).address, self.entry(last).address);
        let is_other = skip != self.skip();
        if is_other {
            self.skip_only(keys, skip);
        }
        is_other
    }

    /// Makes the heads anew behind so many bytes.
    pub fn skip_only(&mut self, keys: &impl Keys, skip: usize) {
        self.set_skip(skip);
        for at in 0..self.count() {
            self.prefixes[at] = U64::new(head_of(keys, self.entry(at).address, skip));
        }
    }

    /// Appends another's entries; there is room.
    pub fn join(&mut self, keys: &impl Keys, other: &Leaf) {
        let skips = (self.skip(), other.skip());
        self.append(other, 0);
        if keys.is_exact() {
            return;
        }
        if skips != (0, 0) {
            let skip = skip_of(
                keys,
                self.entry(0).address,
                self.entry(self.count() - 1).address,
            );
            if skips.0 != skips.1 || skip < skips.0 {
                return self.skip_only(keys, skip);
            }
        }
        self.fit(keys);
    }

    /// True if the keys of this leaf and of the one behind it may be in one leaf with these heads.
    pub fn shares_heads_with(&self, keys: &impl Keys, behind: &Leaf) -> bool {
        let skips = (self.skip(), behind.skip());
        if keys.is_exact() || skips == (0, 0) {
            return true;
        }
        let last = behind.count() - 1;
        skips.0 == skips.1
            && skip_of(keys, self.entry(0).address, behind.entry(last).address) >= skips.0
    }

    /// Moves entries to the leaf behind it, or from there, so that this leaf has `count`; there is room.
    pub fn balance(&mut self, behind: &mut Leaf, count: usize) {
        let (here, there) = (self.count(), behind.count());
        if let Some(more) = here.checked_sub(count) {
            behind.prefixes.copy_within(..there, more);
            behind.addresses.copy_within(..there, more);
            behind.prefixes[..more].copy_from_slice(&self.prefixes[count..here]);
            behind.addresses[..more].copy_from_slice(&self.addresses[count..here]);
            self.prefixes[count..].fill(UNUSED);
            behind.set_count(there + more);
        } else {
            let more = count - here;
            self.prefixes[here..count].copy_from_slice(&behind.prefixes[..more]);
            self.addresses[here..count].copy_from_slice(&behind.addresses[..more]);
            behind.prefixes.copy_within(more..there, 0);
            behind.addresses.copy_within(more..there, 0);
            behind.prefixes[there - more..].fill(UNUSED);
            behind.set_count(there - more);
        }
        self.set_count(count);
    }

    /// A leaf of the one entry that comes behind this leaf's, which has this key. It skips as many bytes, if they are the
    /// key's: keys that come in order then find it as they would find this one.
    pub fn appended(&self, keys: &impl Keys, key: &[u8], row: Address) -> Leaf {
        let skip = match key.get(..self.skip()) {
            Some(shared) if !keys.is_exact() && keys.shares(self.entry(0).address, shared) => {
                self.skip()
            }
            _ => 0,
        };
        let mut leaf = Leaf::new(&[Entry {
            prefix: prefix(key.get(skip..).unwrap_or_default()),
            address: row,
        }]);
        leaf.set_skip(skip);
        leaf
    }

    pub fn entry(&self, at: usize) -> Entry {
        Entry {
            prefix: self.prefixes[at].get(),
            address: Address(self.addresses[at].get()),
        }
    }

    fn set(&mut self, at: usize, entry: Entry) {
        self.prefixes[at] = U64::new(entry.prefix);
        self.addresses[at] = U64::new(entry.address.0);
    }

    #[inline(always)]
    pub fn position<E>(
        &self,
        prefix: u64,
        is_before: impl FnMut(Address) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let (prefixes, addresses) = (&self.prefixes, &self.addresses);
        let count = self.count();
        position::<LEAF_ENTRIES, LEAF_GROUP, E>(prefixes, addresses, count, prefix, is_before)
    }

    /// The position, in a leaf given its words, of the first entry with at least this prefix, or, if `behind`, with a
    /// greater one.
    #[inline(always)]
    pub fn position_in<W: Words>(leaf: W, prefix: u64, behind: bool) -> usize {
        let of = |at| leaf.word(LEAF_PREFIXES + at);
        match behind {
            true => {
                let at = partition::<LEAF_ENTRIES, LEAF_GROUP>(of, |other| other <= prefix);
                // An unused place is not greater than the largest prefix.
                at.min(Self::count_of(leaf.word(0)))
            }
            false => partition::<LEAF_ENTRIES, LEAF_GROUP>(of, |other| other < prefix),
        }
    }

    /// The same for the first entry, with its row if it has the prefix.
    #[inline(always)]
    pub fn first_in<W: Words>(leaf: W, prefix: u64) -> (usize, Option<Address>) {
        let at = Self::position_in(leaf, prefix, false);
        let is_there = at < Self::count_in(leaf).min(LEAF_ENTRIES);
        let is_it = is_there && leaf.word(LEAF_PREFIXES + at) == prefix;
        (at, is_it.then(|| Address(leaf.word(LEAF_ADDRESSES + at))))
    }

    /// An entry of a leaf, given its words.
    #[inline(always)]
    pub fn entry_in<W: Words>(leaf: W, at: usize) -> Entry {
        Entry {
            prefix: leaf.word(LEAF_PREFIXES + at),
            address: Address(leaf.word(LEAF_ADDRESSES + at)),
        }
    }

    /// The addresses of a leaf's rows, given its words.
    #[inline(always)]
    pub fn addresses_in<W: Words>(leaf: W, addresses: &mut [u64; LEAF_ENTRIES]) {
        for (at, address) in addresses.iter_mut().enumerate() {
            *address = leaf.word(LEAF_ADDRESSES + at);
        }
    }

    /// The leaf before a leaf, given its words; address 0 if it is the first.
    #[inline(always)]
    pub fn previous_in<W: Words>(leaf: W) -> Address {
        Address(leaf.word(LEAF_PREVIOUS) & !0xff)
    }

    /// The bytes that a leaf's heads skip, given its words.
    #[inline(always)]
    pub fn skip_in<W: Words>(leaf: W) -> usize {
        leaf.word(LEAF_PREVIOUS) as u8 as usize
    }

    /// Entries of a leaf, given its words.
    #[inline(always)]
    pub fn count_in<W: Words>(leaf: W) -> usize {
        Self::count_of(leaf.word(0))
    }

    /// Entries of a leaf, and the leaf behind it, given its first word.
    #[inline(always)]
    pub fn count_of(head: u64) -> usize {
        head as u8 as usize
    }

    /// The leaf behind it; see [`Leaf::count_of`].
    #[inline(always)]
    pub fn next_of(head: u64) -> Address {
        Address(head & !0xff)
    }

    /// Inserts an entry; there is room. Returns the bytes that may have changed: ranges of them.
    pub fn insert(&mut self, at: usize, entry: Entry) -> [Range<usize>; 3] {
        let count = self.count();
        self.prefixes.copy_within(at..count, at + 1);
        self.addresses.copy_within(at..count, at + 1);
        self.set(at, entry);
        self.set_count(count + 1);
        let changed = |part: usize| (part + at) * 8..(part + count + 1) * 8;
        [0..8, changed(LEAF_PREFIXES), changed(LEAF_ADDRESSES)]
    }

    /// The words that change when an entry is appended, with their offsets in bytes; there is room.
    #[inline]
    pub fn appending(&self, entry: Entry) -> [(usize, u64); 3] {
        let count = self.count();
        [
            (0, self.head.get() + 1),
            ((LEAF_PREFIXES + count) * 8, entry.prefix),
            ((LEAF_ADDRESSES + count) * 8, entry.address.0),
        ]
    }

    pub fn remove(&mut self, at: usize) {
        let count = self.count();
        self.prefixes.copy_within(at + 1..count, at);
        self.addresses.copy_within(at + 1..count, at);
        self.prefixes[count - 1] = UNUSED;
        self.set_count(count - 1);
    }

    /// Takes the entries from `at` on to a leaf of their own, without neighbours.
    pub fn split(&mut self, at: usize) -> Leaf {
        let mut right = Leaf::empty();
        right.set_skip(self.skip());
        right.append(self, at);
        self.prefixes[at..].fill(UNUSED);
        self.set_count(at);
        right
    }

    /// Appends another's entries from `from` on, whose heads skip as many bytes; there is room.
    fn append(&mut self, other: &Leaf, from: usize) {
        let (count, more) = (self.count(), other.count() - from);
        self.prefixes[count..count + more].copy_from_slice(&other.prefixes[from..from + more]);
        self.addresses[count..count + more].copy_from_slice(&other.addresses[from..from + more]);
        self.set_count(count + more);
    }
}
