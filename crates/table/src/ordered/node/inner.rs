//! Inner nodes: children, and the first entries below them.

use super::{
    Entry, INNER_ADDRESSES, INNER_CHILDREN, INNER_ENTRIES, INNER_GROUP, INNER_OTHERS,
    INNER_PREFIXES, INNER_SKIP, Inner, Keys, U64, UNUSED, head_of, is_tied, partition, position,
    skip_of,
};
use sardonyx_base::resident::Resident;
use sardonyx_rows::key::{KeyBytes, prefix};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::Words;

impl Inner {
    fn empty() -> Self {
        Inner {
            prefixes: [UNUSED; INNER_ENTRIES],
            ..Inner::new_zeroed()
        }
    }

    /// An inner node with these children and the first entries below them.
    pub fn new(children: &[(Entry, Address)]) -> Self {
        let mut inner = Inner::empty();
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

    /// The bytes that heads skip.
    #[inline]
    pub fn skip(&self) -> usize {
        self.skip.get() as u8 as usize
    }

    /// The same as [`Leaf::fit`].
    pub fn fit(&mut self, keys: &impl Keys) {
        let count = self.count();
        if count < 2 || keys.is_exact() || !is_tied(&self.prefixes[1..count]) {
            return;
        }
        let skip = skip_of(keys, self.first(1).address, self.first(count - 1).address);
        if skip != self.skip() {
            self.skip_only(keys, skip);
        }
    }

    /// Makes the head of a child's first entry, which was set. If the heads skip too many bytes, or are equal to those
    /// beside them, makes the others, too.
    pub fn fit_one(&mut self, keys: &impl Keys, at: usize) {
        let count = self.count();
        if count < 2 || at == 0 || keys.is_exact() {
            return;
        }
        let mut key = KeyBytes::default();
        keys.of_row(self.first(at).address, &mut key);
        if self.skip() > 0 {
            let other = if at == 1 { 2 } else { 1 };
            let shared = key.get(..self.skip()).filter(|_| other < count);
            if shared.is_none_or(|shared| !keys.shares(self.first(other).address, shared)) {
                let skip = skip_of(keys, self.first(1).address, self.first(count - 1).address);
                return self.skip_only(keys, skip);
            }
        }
        self.prefixes[at] = U64::new(prefix(key.get(self.skip()..).unwrap_or_default()));
        if is_tied(&self.prefixes[at.max(2) - 1..count.min(at + 2)]) {
            self.fit(keys);
        }
    }

    /// Makes the heads anew behind so many bytes.
    pub fn skip_only(&mut self, keys: &impl Keys, skip: usize) {
        self.skip = U64::new(skip as u64);
        // The first child's first entry is not compared, and its row may not exist any more.
        for at in 1..self.count() {
            self.prefixes[at] = U64::new(head_of(keys, self.first(at).address, skip));
        }
    }

    /// Appends another's children and makes all heads anew; there is room. `first` is the first entry below them.
    pub fn join(&mut self, keys: &impl Keys, other: &Inner, first: Entry) {
        self.append(other, 0, first);
        if !keys.is_exact() {
            let last = self.count() - 1;
            let skip = skip_of(keys, self.first(1).address, self.first(last).address);
            self.skip_only(keys, skip);
        }
    }

    /// The number of the child in which the place is that is looked for.
    #[inline(always)]
    pub fn position<E>(
        &self,
        prefix: u64,
        is_before: impl FnMut(Address) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let (prefixes, addresses) = (&self.prefixes[1..], &self.addresses[1..]);
        let others = self.count() - 1;
        position::<INNER_OTHERS, INNER_GROUP, E>(prefixes, addresses, others, prefix, is_before)
    }

    /// The child of an inner node, given its words, that has the first entry with at least this prefix. If `last`, the
    /// child that has the last entry with at most this prefix.
    #[inline(always)]
    pub fn child_in<W: Words>(inner: W, prefix: u64, last: bool) -> Address {
        let of = |at| inner.word(INNER_PREFIXES + 1 + at);
        let at = match last {
            true => {
                let at = partition::<INNER_OTHERS, INNER_GROUP>(of, |other| other <= prefix);
                // An unused place is not less than the largest prefix, nor greater.
                at.min((inner.word(0) as usize).wrapping_sub(1))
            }
            false => partition::<INNER_OTHERS, INNER_GROUP>(of, |other| other < prefix),
        };
        Address(inner.word(INNER_CHILDREN + at))
    }

    /// Children of an inner node, given its words.
    #[inline(always)]
    pub fn count_in<W: Words>(inner: W) -> usize {
        (inner.word(0) as usize).clamp(1, INNER_ENTRIES)
    }

    /// The bytes that an inner node's heads skip, given its words.
    #[inline(always)]
    pub fn skip_in<W: Words>(inner: W) -> usize {
        inner.word(INNER_SKIP) as u8 as usize
    }

    /// A child of an inner node, given its words.
    #[inline(always)]
    pub fn child_at<W: Words>(inner: W, at: usize) -> Address {
        Address(inner.word(INNER_CHILDREN + at))
    }

    /// The head and the row of the first entry below a child, given the words of the inner node.
    #[inline(always)]
    pub fn first_in<W: Words>(inner: W, at: usize) -> Entry {
        Entry {
            prefix: inner.word(INNER_PREFIXES + at),
            address: Address(inner.word(INNER_ADDRESSES + at)),
        }
    }

    /// The number of the child, given the words of an inner node, that has the first entry with at least this head.
    #[inline(always)]
    pub fn position_in<W: Words>(inner: W, head: u64) -> usize {
        let of = |at| inner.word(INNER_PREFIXES + 1 + at);
        partition::<INNER_OTHERS, INNER_GROUP>(of, |other| other < head)
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
        self.prefixes[count - 1] = UNUSED;
        self.count = U64::new(count as u64 - 1);
    }

    /// Takes the children from `at` on to a node of their own.
    pub fn split(&mut self, at: usize) -> Inner {
        let mut right = Inner::empty();
        right.skip = self.skip;
        right.append(self, at, self.first(at));
        self.prefixes[at..].fill(UNUSED);
        self.count = U64::new(at as u64);
        right
    }

    /// Appends another's children from `from` on, whose heads skip as many bytes; there is room. `first` is the first entry
    /// below them.
    fn append(&mut self, other: &Inner, from: usize, first: Entry) {
        let (count, more) = (self.count(), other.count() - from);
        self.prefixes[count..count + more].copy_from_slice(&other.prefixes[from..from + more]);
        self.addresses[count..count + more].copy_from_slice(&other.addresses[from..from + more]);
        self.children[count..count + more].copy_from_slice(&other.children[from..from + more]);
        self.set_first(count, first);
        self.count = U64::new((count + more) as u64);
    }
}
