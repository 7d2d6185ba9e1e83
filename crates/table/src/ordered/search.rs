//! Places searched in nodes, in place: a reader takes the few words that a search needs, live or of a snapshot.

use super::node::{INNER_BYTES, INNER_SEARCHED_BYTES, Inner, LEAF_BYTES, Leaf};
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, Words};

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
