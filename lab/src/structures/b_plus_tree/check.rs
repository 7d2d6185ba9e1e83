//! Proving every invariant of a tree, by reading all of it.

use super::node::{HEADER, MAX_LEVELS, Shape};
use super::space::{self, ROOT};
use super::{BPlusTree, Bytes, Header};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::Pages;

/// The parts of a valid tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures {
    pub entries: usize,
    /// Levels, the leaves' one included.
    pub levels: usize,
    pub leaves: usize,
    pub inner_nodes: usize,
    /// Pages that were used and are free.
    pub free_pages: usize,
}

/// One check, with its findings so far.
struct Check<'a, S, K, const V: usize, const FAN_OUT: usize> {
    tree: &'a BPlusTree<S, K, V, FAN_OUT>,
    used: usize,
    seen: Vec<bool>,
    figures: Figures,
}

/// The bounds that a parent sets for a child.
#[derive(Clone, Copy)]
struct Expected<K> {
    /// All keys are at least this.
    least: Option<K>,
    /// All keys are less than this.
    beyond: Option<K>,
    at_right_edge: bool,
}

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// Reads the whole tree and its free pages, and proves each invariant that the module's page
    /// lists.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the first page that breaks one.
    pub fn check(&self) -> Result<Figures, Error> {
        let used = space::read(&self.pages)?.used;
        let mut check = Check {
            tree: self,
            used,
            seen: vec![false; used],
            figures: Figures::default(),
        };
        check.see(space::SPACE)?;
        let root = self.header(ROOT)?.1;
        check.figures.levels = root.level + 1;
        check.node(
            ROOT,
            Expected {
                least: None,
                beyond: None,
                at_right_edge: true,
            },
        )?;
        check.free_pages()?;
        match check.seen.iter().position(|seen| !seen) {
            Some(lost) => damaged(lost, "it is neither in the tree nor free"),
            None => Ok(check.figures),
        }
    }
}

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> Check<'_, S, K, V, FAN_OUT> {
    fn see(&mut self, page: usize) -> Result<(), Error> {
        match self.seen.get_mut(page) {
            None => damaged(page, "it is referred to, but was never used"),
            Some(true) => damaged(page, "it is referred to twice"),
            Some(seen) => {
                *seen = true;
                Ok(())
            }
        }
    }

    /// Checks a node and all below it. The recursion is as deep as the tree, 32 levels at most,
    /// because each level is its parent's less one.
    fn node(&mut self, page: usize, expected: Expected<K>) -> Result<(), Error> {
        self.see(page)?;
        let tree = self.tree;
        let (bytes, header) = tree.header(page)?;
        Shape::<K, V, FAN_OUT>::compare(bytes, page)?;
        debug_assert!(header.level < MAX_LEVELS);
        self.fill(page, header, expected.at_right_edge)?;
        if header.level == 0 {
            return self.leaf(page, bytes, header, expected);
        }
        self.figures.inner_nodes += 1;
        let inner = tree.inner(bytes, header);
        let mut least = expected.least;
        for index in 0..=inner.count() {
            let last = index == inner.count();
            let beyond = if last {
                expected.beyond
            } else {
                Some(inner.key(index))
            };
            if let (Some(least), Some(beyond)) = (least, beyond)
                && least >= beyond
            {
                return damaged(page, "its keys are out of order");
            }
            tree.below(inner.child(index), header.level)?;
            let at_right_edge = expected.at_right_edge && last;
            self.node(
                inner.child(index),
                Expected {
                    least,
                    beyond,
                    at_right_edge,
                },
            )?;
            least = beyond;
        }
        Ok(())
    }

    fn fill(&self, page: usize, header: Header, at_right_edge: bool) -> Result<(), Error> {
        let least = match (page, at_right_edge) {
            (ROOT, _) => usize::from(header.level > 0),
            (_, true) => 1,
            (_, false) => BPlusTree::<S, K, V, FAN_OUT>::least(header.level),
        };
        if header.count < least {
            return damaged(page, "it has too few entries");
        }
        Ok(())
    }

    fn leaf(
        &mut self,
        page: usize,
        bytes: &Bytes,
        header: Header,
        expected: Expected<K>,
    ) -> Result<(), Error> {
        let leaf = self.tree.leaf(bytes, page, header);
        let mut slots = [false; 256];
        for position in 0..Shape::<K, V, FAN_OUT>::LEAF {
            let slot = usize::from(bytes[HEADER + position]);
            if slot >= Shape::<K, V, FAN_OUT>::LEAF || slots[slot] {
                return damaged(page, "the order of its entries is no permutation");
            }
            slots[slot] = true;
        }
        let mut before: Option<K> = None;
        for position in 0..leaf.count() {
            let key = leaf.key(position)?;
            if before.is_some_and(|before| before >= key) {
                return damaged(page, "its keys are out of order");
            }
            if expected.least.is_some_and(|least| key < least)
                || expected.beyond.is_some_and(|beyond| key >= beyond)
            {
                return damaged(page, "it has a key that belongs into another leaf");
            }
            before = Some(key);
        }
        self.figures.leaves += 1;
        self.figures.entries += leaf.count();
        Ok(())
    }

    fn free_pages(&mut self) -> Result<(), Error> {
        let mut page = space::read(&self.tree.pages)?.first;
        while page != 0 {
            let next = space::following(&self.tree.pages, page, self.used)?;
            self.see(page)?;
            self.figures.free_pages += 1;
            page = next;
        }
        Ok(())
    }
}
