//! Drawing an entry between two places by chance, each with the same probability.
//!
//! The part of the tree between two places consists of whole subtrees beside the two ways down, and of entries in the two
//! leaves. One of them is drawn in proportion to the entries that it can have, then a place in it. If the place is unused,
//! all is drawn again. So each entry is as likely as any other, however full the nodes are, and no entry is counted.
//!
//! Invariant: a drawn place is between the two places. The number of attempts is bounded.

use super::keyed::{Search, Sought};
use super::node::{INNER_ENTRIES, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::{inner, leaf};
use super::{Ask, LEVELS_MAX, Tree};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;

/// Attempts before the caller has to walk. Most nodes are more than half full, so that few of a hundred draws need ten.
const ATTEMPTS_MAX: usize = 200;

/// The way to a place: inner nodes with the number of the child, then the leaf with the position.
struct Way {
    steps: [(Address, usize); LEVELS_MAX + 1],
}

/// Neighbouring children of an inner node, or entries of a leaf.
#[derive(Clone, Copy)]
struct Part {
    node: Address,
    from: usize,
    to: usize,
    /// Levels of inner nodes below each child; `None` of a leaf.
    below: Option<u32>,
}

/// The most entries of a subtree with so many levels of inner nodes.
fn capacity(levels: u32) -> Option<u64> {
    (INNER_ENTRIES as u64)
        .checked_pow(levels)?
        .checked_mul(LEAF_ENTRIES as u64)
}

impl Part {
    /// The most entries in it.
    fn weight(&self) -> Option<u64> {
        let many = self.to.saturating_sub(self.from) as u64;
        match self.below {
            Some(levels) => many.checked_mul(capacity(levels)?),
            None => Some(many),
        }
    }
}

impl Tree {
    /// The row of an entry between two places that are sought. `below` returns numbers below a bound, all alike likely.
    /// `None` if there is no entry, or if none was found in a bounded time.
    pub fn draw<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        from: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
        to: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<Address>, E> {
        if self.root.0 == 0 {
            return Ok(None);
        }
        let (from, to) = (self.way(nodes, from)?, self.way(nodes, to)?);
        let parts = self.parts(nodes, &from, &to)?;
        let weights: Option<Vec<u64>> = parts.iter().map(Part::weight).collect();
        let all = weights.and_then(|weights| {
            let all = weights.iter().try_fold(0_u64, |sum, w| sum.checked_add(*w));
            Some((all?, weights))
        });
        let Some((all, weights)) = all.filter(|(all, _)| *all > 0) else {
            return Ok(None);
        };
        for _ in 0..ATTEMPTS_MAX {
            let mut number = below(all);
            let mut part = 0;
            while number >= weights[part] {
                number -= weights[part];
                part += 1;
            }
            if let Some(row) = self.drawn(nodes, parts[part], number)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The row at one of a part's possible places, by its number; `None` if the place is unused.
    fn drawn<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        part: Part,
        number: u64,
    ) -> Result<Option<Address>, E> {
        let mut buffer = Vec::new();
        let Some(mut levels) = part.below else {
            let at = part.from + number as usize;
            let entry = nodes.look(part.node, LEAF_BYTES, |leaf| Leaf::entry_in(leaf, at))?;
            return Ok(Some(entry.address));
        };
        let (mut at, mut first, mut number) = (part.node, part.from, number);
        loop {
            let each = capacity(levels).unwrap_or(u64::MAX);
            let child = first + (number / each) as usize;
            let node = inner(nodes, at, &mut buffer)?;
            if child >= node.count() {
                return Ok(None);
            }
            (at, first, number) = (node.child(child), 0, number % each);
            match levels {
                0 => break,
                _ => levels -= 1,
            }
        }
        let found = nodes.look(at, LEAF_BYTES, |leaf| {
            let is_used = (number as usize) < Leaf::count_in(leaf);
            is_used.then(|| Leaf::entry_in(leaf, number as usize).address)
        })?;
        Ok(found)
    }

    /// The parts between two ways.
    fn parts<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        from: &Way,
        to: &Way,
    ) -> Result<Vec<Part>, E> {
        let (mut parts, mut buffer) = (Vec::new(), Vec::new());
        let height = usize::from(self.height);
        let mut are_one = true;
        for level in 0..=height {
            let below = (level < height).then(|| (height - level - 1) as u32);
            let ((start, first), (end, last)) = (from.steps[level], to.steps[level]);
            // Of inner nodes, the child on the way is divided further below.
            let behind = first + usize::from(below.is_some());
            let part = |node, from, to| Part {
                node,
                from,
                to,
                below,
            };
            if are_one {
                are_one = first == last && below.is_some();
                if !are_one {
                    parts.push(part(start, behind, last));
                }
                continue;
            }
            let count = match below {
                Some(_) => inner(nodes, start, &mut buffer)?.count(),
                None => leaf(nodes, start, &mut buffer)?.count(),
            };
            parts.push(part(start, behind, count));
            parts.push(part(end, 0, last));
        }
        Ok(parts)
    }

    /// The way to the place that is sought.
    fn way<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        sought: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
    ) -> Result<Way, E> {
        let mut way = Way {
            steps: [(Address(0), 0); LEVELS_MAX + 1],
        };
        let height = usize::from(self.height);
        let mut at = self.root;
        match sought {
            Sought::Exact { key, behind } => {
                let mut buffer = Vec::new();
                for step in &mut way.steps[..height] {
                    let node = inner(nodes, at, &mut buffer)?;
                    let child = node.position(key, |_| Ok::<_, E>(behind))?;
                    *step = (at, child);
                    at = node.child(child);
                }
                let position = nodes.look(at, LEAF_BYTES, |leaf| {
                    Leaf::position_in(leaf, key, behind).min(Leaf::count_in(leaf))
                })?;
                way.steps[height] = (at, position);
            }
            Sought::ByRow { edge, mut ask } => {
                let mut search = Search::new(edge, &mut ask);
                for step in &mut way.steps[..height] {
                    let (child, address) = search.child(nodes, at)?;
                    *step = (at, child);
                    at = address;
                }
                way.steps[height] = (at, search.leaf(nodes, at)?.position);
            }
        }
        Ok(way)
    }
}
