//! Reading a tree: places, ranges, and rows by keys that entries have whole.
//!
//! A reader takes the words of a node that it needs from its live or frozen page, and holds nothing.

use super::keyed::{Ask, Found, Search, Sought};
use super::node::{LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::{exact_child, exact_in_leaf, inner, leaf, prefetch};
use super::{AT_ONCE, NEAR_ENTRIES, Place, Tree};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, Words};
use std::cmp::Ordering;

impl Tree {
    /// The place that is sought.
    #[inline]
    pub fn seek<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        sought: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
    ) -> Result<Place, E> {
        let Some((leaf, found)) = self.found(nodes, sought)? else {
            return Ok(Place::END);
        };
        Ok(match found.position < found.count {
            true => Place {
                leaf,
                position: found.position,
            },
            false => Place {
                leaf: found.next,
                position: 0,
            },
        })
    }

    /// The place that is sought, which is not before another, if it is a few entries behind that in the same leaf: of
    /// most ranges that are read to their ends, whose first rows are then looked at anyway.
    #[inline]
    pub fn seek_near<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        from: Place,
        mut sought: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
    ) -> Result<Option<Place>, E> {
        if from.leaf.0 == 0 {
            return Ok(Some(from));
        }
        let mut buffer = Vec::new();
        let leaf = leaf(nodes, from.leaf, &mut buffer)?;
        let skip = leaf.skip();
        let head = match &mut sought {
            Sought::Exact { key, .. } => *key,
            Sought::ByRow { edge, ask } => {
                let shares = skip <= edge.bytes.len()
                    && (skip == 0 || ask(leaf.entry(0).address, Ask::Shares(skip))?);
                if !shares {
                    return Ok(None);
                }
                edge.head(skip)
            }
        };
        for position in from.position..leaf.count().min(from.position + NEAR_ENTRIES) {
            let entry = leaf.entry(position);
            let is_before = match (entry.prefix.cmp(&head), &mut sought) {
                (Ordering::Equal, Sought::Exact { behind, .. }) => *behind,
                (Ordering::Equal, Sought::ByRow { edge, ask }) => {
                    let known = edge.bytes.len().min(skip + 8);
                    ask(entry.address, Ask::Before(known))?
                }
                (order, _) => order == Ordering::Less,
            };
            if !is_before {
                let leaf = from.leaf;
                return Ok(Some(Place { leaf, position }));
            }
        }
        Ok(None)
    }

    /// The leaf that has the place which is sought, and the place in it.
    #[inline(always)]
    pub(super) fn found<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        sought: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
    ) -> Result<Option<(Address, Found)>, E> {
        let mut at = self.root;
        if at.0 == 0 {
            return Ok(None);
        }
        match sought {
            Sought::Exact { key, behind } => {
                for level in (0..self.height).rev() {
                    at = exact_child(nodes, at, key, behind)?;
                    prefetch(nodes, at, level);
                }
                let found = nodes.look(at, LEAF_BYTES, |leaf| {
                    let position = Leaf::position_in(leaf, key, behind);
                    Found {
                        position,
                        count: Leaf::count_in(leaf),
                        next: Leaf::next_of(leaf.word(0)),
                        entry: Leaf::entry_in(leaf, position.min(LEAF_ENTRIES - 1)),
                        head: Some((key, 0)),
                    }
                })?;
                Ok(Some((at, found)))
            }
            Sought::ByRow { edge, mut ask } => {
                let mut search = Search::new(edge, &mut ask);
                for level in (0..self.height).rev() {
                    (_, at) = search.child(nodes, at)?;
                    prefetch(nodes, at, level);
                }
                Ok(Some((at, search.leaf(nodes, at)?)))
            }
        }
    }

    /// The first entry with this prefix: the row of a key that an entry has whole. If no two entries have one prefix,
    /// as `is_unique` says, no leaf is read needlessly.
    #[inline]
    pub fn find_exact<P: PageRead + ?Sized>(
        &self,
        nodes: &P,
        prefix: u64,
        is_unique: bool,
    ) -> Result<Option<Address>, P::Error> {
        let mut at = self.root;
        if at.0 == 0 {
            return Ok(None);
        }
        for level in (0..self.height).rev() {
            at = exact_child(nodes, at, prefix, is_unique)?;
            prefetch(nodes, at, level);
        }
        exact_in_leaf(nodes, at, prefix, is_unique)
    }

    /// The same of up to [`AT_ONCE`] prefixes, into `found`: level by level, so that the processor waits for the nodes
    /// of all at once.
    ///
    /// # Panics
    /// If there are more prefixes, or fewer places for the results.
    #[inline]
    pub fn find_exact_many<P: PageRead + ?Sized>(
        &self,
        nodes: &P,
        prefixes: &[u64],
        is_unique: bool,
        found: &mut [Option<Address>],
    ) -> Result<(), P::Error> {
        assert_eq!(prefixes.len(), found.len(), "a place for each prefix");
        if self.root.0 == 0 {
            found.fill(None);
            return Ok(());
        }
        let mut at = [self.root; AT_ONCE];
        let at = &mut at[..prefixes.len()];
        for level in (0..self.height).rev() {
            for (at, &prefix) in at.iter_mut().zip(prefixes) {
                *at = exact_child(nodes, *at, prefix, is_unique)?;
                prefetch(nodes, *at, level);
            }
        }
        for ((found, &at), &prefix) in found.iter_mut().zip(&*at).zip(prefixes) {
            *found = exact_in_leaf(nodes, at, prefix, is_unique)?;
        }
        Ok(())
    }

    /// The place before the first entry.
    pub fn start<P: PageRead + ?Sized>(&self, nodes: &P) -> Result<Place, P::Error> {
        let mut buffer = Vec::new();
        let mut at = self.root;
        for _ in 0..self.height {
            at = inner(nodes, at, &mut buffer)?.child(0);
        }
        Ok(Place {
            leaf: at,
            position: 0,
        })
    }

    /// The last leaf; address 0 if there is none.
    pub(super) fn last_leaf<P: PageRead + ?Sized>(&self, nodes: &P) -> Result<Address, P::Error> {
        let mut buffer = Vec::new();
        let mut at = self.root;
        for _ in 0..self.height {
            let inner = inner(nodes, at, &mut buffer)?;
            at = inner.child(inner.count() - 1);
        }
        Ok(at)
    }

    /// The row of the first entry that is not before the place that is sought, if its key may begin with the sought one,
    /// of so many bytes.
    #[inline]
    pub fn first_from<P: PageRead + ?Sized, E: From<P::Error>>(
        &self,
        nodes: &P,
        sought: Sought<'_, impl FnMut(Address, Ask) -> Result<bool, E>>,
        bytes: usize,
    ) -> Result<Option<Address>, E> {
        let Some((_, found)) = self.found(nodes, sought)? else {
            return Ok(None);
        };
        if found.position < found.count {
            let may_begin = found.may_begin(bytes);
            return Ok(may_begin.then_some(found.entry.address));
        }
        if found.next.0 == 0 {
            return Ok(None);
        }
        let (entry, skip) = nodes.look(found.next, LEAF_BYTES, |leaf| {
            (Leaf::entry_in(leaf, 0), Leaf::skip_in(leaf))
        })?;
        // Heads of other bytes do not tell.
        let same = found.head.filter(|(_, of)| *of == skip);
        let may_begin = same.is_none() || Found { entry, ..found }.may_begin(bytes);
        Ok(may_begin.then_some(entry.address))
    }

    /// Entries between two places.
    pub fn count<P: PageRead + ?Sized>(
        &self,
        nodes: &P,
        from: Place,
        to: Place,
    ) -> Result<u64, P::Error> {
        let mut buffer = Vec::new();
        let (mut at, mut count) = (from, 0);
        while at.leaf != to.leaf {
            let leaf = leaf(nodes, at.leaf, &mut buffer)?;
            count += (leaf.count() - at.position) as u64;
            at = Place {
                leaf: leaf.next(),
                position: 0,
            };
        }
        Ok(count + (to.position - at.position) as u64)
    }
}
