//! The index: a static search tree over the segments, in the van Emde Boas layout.
//!
//! Between each two neighbouring segments there is a separator: no key to its left is greater, and every key to its
//! right is. The separators are the inner nodes of a complete binary tree whose leaves are the segments. The van Emde
//! Boas layout cuts the tree at half its height. It stores the upper half, then each lower half, each in the same manner.
//! So for a block of memory of any size (a cache line, a page, a disk's block), pieces of some level just fit in it. A
//! search reads O(log_B n) blocks without knowing B.
//!
//! The nodes are not linked: a node's place follows from its depth and its number in its level. Source: Brodal,
//! Fagerberg and Jacob, "Cache oblivious search trees via binary trees of small height".
//!
//! Separators need not be keys that exist. So inserts and removals within a segment leave the index
//! alone, and a rebalance writes only the separators within its window, which are one subtree.

use super::layout::{Layout, MAX_LEVELS, page, page_mut};
use crate::structures::error::Error;
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};

/// The cut of the recursion in which a depth of the tree is the top of lower halves.
#[derive(Clone, Copy)]
struct Cut {
    /// The depth at which the upper half begins.
    root: u8,
    /// The height of the upper half.
    upper: u8,
    /// The height of the lower halves.
    lower: u8,
}

/// The cuts of a tree of each height, by depth.
static CUTS: [[Cut; MAX_LEVELS]; MAX_LEVELS + 1] = {
    let mut cuts = [[Cut {
        root: 0,
        upper: 0,
        lower: 0,
    }; MAX_LEVELS]; MAX_LEVELS + 1];
    let mut height = 0;
    while height <= MAX_LEVELS {
        cuts[height] = cut(cuts[height], 0, height);
        height += 1;
    }
    cuts
};

const fn cut(mut cuts: [Cut; MAX_LEVELS], root: usize, height: usize) -> [Cut; MAX_LEVELS] {
    if height < 2 {
        return cuts;
    }
    let upper = height / 2;
    let lower = height - upper;
    cuts[root + upper] = Cut {
        root: root as u8,
        upper: upper as u8,
        lower: lower as u8,
    };
    cuts = cut(cuts, root, upper);
    cut(cuts, root + upper, lower)
}

/// The place of a node, given that of its upper half's root. `number` is the node's number in breadth-first order,
/// where the root has 1.
#[inline(always)]
fn below(cut: Cut, root_at: usize, number: usize) -> usize {
    let upper_size = (1 << cut.upper) - 1;
    let lower_size = (1 << cut.lower) - 1;
    root_at + upper_size + (number & upper_size) * lower_size
}

/// The place of the node with a number in breadth-first order, in a tree of a height.
fn position(height: usize, number: usize) -> usize {
    let mut sum = 0;
    let mut number = number;
    let mut depth = number.ilog2() as usize;
    while depth > 0 {
        let cut = CUTS[height][depth];
        sum = below(cut, sum, number);
        number >>= depth - usize::from(cut.root);
        depth = usize::from(cut.root);
    }
    sum
}

#[inline]
pub(super) fn search<S: Pages, K: Key, const V: usize, const SEGMENT: usize>(
    pages: &S,
    levels: usize,
    key: K,
) -> Result<usize, Error> {
    let mut positions = [0; MAX_LEVELS];
    let mut number = 1;
    let cuts = &CUTS[levels];
    for depth in 0..levels {
        if depth > 0 {
            let cut = cuts[depth];
            positions[depth] = below(cut, positions[usize::from(cut.root)], number);
        }
        let separator = read::<S, K, V, SEGMENT>(pages, levels, positions[depth])?;
        number = 2 * number + usize::from(key > separator);
    }
    Ok(number - (1 << levels))
}

/// The separator between a segment and the next one.
pub(super) fn separator<S: Pages, K: Key, const V: usize, const SEGMENT: usize>(
    pages: &S,
    levels: usize,
    segment: usize,
) -> Result<K, Error> {
    read::<S, K, V, SEGMENT>(pages, levels, position(levels, number(levels, segment)))
}

/// Sets the separator between a segment and the next one.
pub(super) fn set_separator<S: PagesMut, K: Key, const V: usize, const SEGMENT: usize>(
    pages: &mut S,
    levels: usize,
    segment: usize,
    key: K,
) -> Result<(), Error> {
    let position = position(levels, number(levels, segment));
    let per_page = Layout::<K, V, SEGMENT>::SEPARATORS_PER_PAGE;
    let page_number = Layout::<K, V, SEGMENT>::index(levels) + position / per_page;
    let at = position % per_page * K::LENGTH;
    key.write(&mut page_mut(pages, page_number)?.bytes[at..at + K::LENGTH]);
    Ok(())
}

/// The page of the separator between a segment and the next one.
pub(super) fn page_of<K: Key, const V: usize, const SEGMENT: usize>(
    levels: usize,
    segment: usize,
) -> usize {
    let position = position(levels, number(levels, segment));
    Layout::<K, V, SEGMENT>::index(levels) + position / Layout::<K, V, SEGMENT>::SEPARATORS_PER_PAGE
}

/// The breadth-first number of the node that separates a segment from the next one: the lowest
/// common ancestor of the two.
fn number(levels: usize, segment: usize) -> usize {
    let height = (segment + 1).trailing_zeros() as usize;
    ((1 << levels) + segment + 1) >> (height + 1)
}

#[inline(always)]
fn read<S: Pages, K: Key, const V: usize, const SEGMENT: usize>(
    pages: &S,
    levels: usize,
    position: usize,
) -> Result<K, Error> {
    let per_page = Layout::<K, V, SEGMENT>::SEPARATORS_PER_PAGE;
    let page = page(
        pages,
        Layout::<K, V, SEGMENT>::index(levels) + position / per_page,
    )?;
    let at = position % per_page * K::LENGTH;
    Ok(K::read(&page.bytes[at..at + K::LENGTH]))
}

#[cfg(test)]
mod tests {
    use super::{number, position};

    /// The layout by its definition: upper half, then the lower halves, each by the same rule.
    fn by_definition(root: usize, height: usize, out: &mut Vec<usize>) {
        if height == 1 {
            out.push(root);
        } else if height > 1 {
            let upper = height / 2;
            by_definition(root, upper, out);
            for leaf in 0..1 << upper {
                by_definition((root << upper) + leaf, height - upper, out);
            }
        }
    }

    #[test]
    fn positions_are_the_van_emde_boas_layout() {
        for height in 1..=13 {
            let mut order = Vec::new();
            by_definition(1, height, &mut order);
            for (place, node) in order.iter().enumerate() {
                assert_eq!(
                    position(height, *node),
                    place,
                    "node {node} of height {height}"
                );
            }
        }
        assert_eq!(
            (1..=7).map(|node| position(3, node)).collect::<Vec<_>>(),
            [0, 1, 4, 2, 3, 5, 6]
        );
    }

    #[test]
    fn separators_are_the_inner_nodes_in_order() {
        fn in_order(node: usize, levels: usize, out: &mut Vec<usize>) {
            if node < 1 << levels {
                in_order(2 * node, levels, out);
                out.push(node);
                in_order(2 * node + 1, levels, out);
            }
        }
        for levels in 0..10 {
            let mut order = Vec::new();
            in_order(1, levels, &mut order);
            let numbers: Vec<_> = (0..(1 << levels) - 1).map(|s| number(levels, s)).collect();
            assert_eq!(numbers, order, "{levels} levels");
        }
    }
}
