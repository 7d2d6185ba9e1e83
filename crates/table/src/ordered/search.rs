//! Places searched in nodes, in place: a reader takes the few words that a search needs, live or of a snapshot.

use super::node::{INNER_BYTES, INNER_SEARCHED_BYTES, Inner, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::{Entry, Sought, Ties};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, Words};
use zerocopy::FromBytes;

/// Asks the processor for a node with so many levels of nodes below it: for a leaf, or one above leaves. Those above
/// are few and often read.
#[inline(always)]
pub(super) fn prefetch<P: PageRead + ?Sized>(nodes: &P, at: Address, levels: u8) {
    match levels {
        0 => prefetch_leaf(nodes, at),
        1 => prefetch_lines(nodes, at, INNER_SEARCHED_BYTES),
        _ => {}
    }
}

/// Asks the processor for a leaf.
#[inline(always)]
pub(super) fn prefetch_leaf<P: PageRead + ?Sized>(nodes: &P, at: Address) {
    prefetch_lines(nodes, at, LEAF_BYTES);
}

#[inline(always)]
pub(super) fn prefetch_lines<P: PageRead + ?Sized>(nodes: &P, at: Address, bytes: usize) {
    for line in (0..bytes as u64).step_by(64) {
        nodes.prefetch(Address(at.0 + line));
    }
}

/// The result of searching a leaf.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub position: usize,
    /// The leaf's first word.
    head: u64,
    /// The entry at the position, if there is one.
    pub entry: Entry,
}

impl Found {
    #[inline(always)]
    pub fn count(&self) -> usize {
        Leaf::count_of(self.head)
    }

    #[inline(always)]
    pub fn next(&self) -> Address {
        Leaf::next_of(self.head)
    }
}

/// The child of an inner node that has the place which is sought.
#[inline(always)]
pub(super) fn child<P: PageRead + ?Sized, E: From<P::Error>>(
    nodes: &P,
    at: Address,
    sought: &mut Sought<impl FnMut(Address) -> Result<bool, E>>,
) -> Result<Address, E> {
    let prefix = sought.prefix;
    if let Ties::Before(are_before) = sought.ties {
        return Ok(nodes.look(at, INNER_BYTES, |inner| {
            Inner::child_in(inner, prefix, are_before)
        })?);
    }
    match nodes.look(at, INNER_BYTES, |inner| {
        Inner::untied_child_in(inner, prefix)
    })? {
        Some(child) => Ok(child),
        None => tied_child(nodes, at, sought),
    }
}

/// The same where rows have to be looked at.
#[inline(never)]
pub(super) fn tied_child<P: PageRead + ?Sized, E: From<P::Error>>(
    nodes: &P,
    at: Address,
    sought: &mut Sought<impl FnMut(Address) -> Result<bool, E>>,
) -> Result<Address, E> {
    let mut buffer = Vec::new();
    let inner = inner(nodes, at, &mut buffer)?;
    Ok(inner.child(inner.position(sought)?))
}

/// The child of an inner node that has the first entry with a prefix; see [`Tree::find_exact`](super::Tree).
#[inline(always)]
pub(super) fn exact_child<P: PageRead + ?Sized>(
    nodes: &P,
    at: Address,
    prefix: u64,
    is_unique: bool,
) -> Result<Address, P::Error> {
    nodes.look(at, INNER_BYTES, |inner| {
        Inner::child_in(inner, prefix, is_unique)
    })
}

/// The row of the first entry with a prefix, in the leaf to which [`exact_child`] led.
#[inline(always)]
pub(super) fn exact_in_leaf<P: PageRead + ?Sized>(
    nodes: &P,
    at: Address,
    prefix: u64,
    is_unique: bool,
) -> Result<Option<Address>, P::Error> {
    let (found, behind) = nodes.look(at, LEAF_BYTES, |leaf| {
        let (position, found) = Leaf::first_in(leaf, prefix);
        let is_behind = position == Leaf::count_in(leaf);
        (found, is_behind.then(|| Leaf::next_of(leaf.word(0))))
    })?;
    match behind {
        Some(next) if !is_unique && next.0 != 0 => {
            nodes.look(next, LEAF_BYTES, |leaf| Leaf::first_in(leaf, prefix).1)
        }
        _ => Ok(found),
    }
}

/// Searches a leaf.
#[inline(always)]
pub(super) fn look_into<P: PageRead + ?Sized, E: From<P::Error>>(
    nodes: &P,
    at: Address,
    sought: &mut Sought<impl FnMut(Address) -> Result<bool, E>>,
) -> Result<Found, E> {
    let (prefix, ties) = (
        sought.prefix,
        match sought.ties {
            Ties::Before(are_before) => Some(are_before),
            Ties::ByRow(_) => None,
        },
    );
    let (found, is_tied) = nodes.look(at, LEAF_BYTES, |leaf| {
        let position = Leaf::position_in(leaf, prefix, ties == Some(true));
        let head = leaf.word(0);
        let entry = Leaf::entry_in(leaf, position.min(LEAF_ENTRIES - 1));
        let found = Found {
            position,
            head,
            entry,
        };
        let is_tied = ties.is_none() && position < found.count() && entry.prefix == prefix;
        (found, is_tied)
    })?;
    match is_tied {
        true => look_into_tied(nodes, at, sought),
        false => Ok(found),
    }
}

/// The same where rows have to be looked at.
#[inline(never)]
pub(super) fn look_into_tied<P: PageRead + ?Sized, E: From<P::Error>>(
    nodes: &P,
    at: Address,
    sought: &mut Sought<impl FnMut(Address) -> Result<bool, E>>,
) -> Result<Found, E> {
    let mut buffer = Vec::new();
    let leaf = leaf(nodes, at, &mut buffer)?;
    let position = leaf.position(sought)?;
    Ok(Found {
        position,
        head: leaf.head(),
        entry: leaf.entry(position.min(LEAF_ENTRIES - 1)),
    })
}

#[inline(always)]
pub(super) fn leaf<'a, P: PageRead + ?Sized>(
    nodes: &'a P,
    at: Address,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a Leaf, P::Error> {
    let bytes = nodes.read(at, LEAF_BYTES, buffer)?;
    Ok(Leaf::ref_from_bytes(bytes).expect("as many bytes as were asked for"))
}

#[inline(always)]
pub(super) fn inner<'a, P: PageRead + ?Sized>(
    nodes: &'a P,
    at: Address,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a Inner, P::Error> {
    let bytes = nodes.read(at, INNER_BYTES, buffer)?;
    Ok(Inner::ref_from_bytes(bytes).expect("as many bytes as were asked for"))
}

#[inline(always)]
pub(super) fn live_leaf(nodes: &[u8], at: Address) -> &Leaf {
    let bytes = &nodes[at.0 as usize..][..LEAF_BYTES];
    Leaf::ref_from_bytes(bytes).expect("so many bytes")
}

#[inline(always)]
pub(super) fn live_inner(nodes: &[u8], at: Address) -> &Inner {
    let bytes = &nodes[at.0 as usize..][..INNER_BYTES];
    Inner::ref_from_bytes(bytes).expect("so many bytes")
}
