//! Inserting, and splitting the nodes that are full.

use super::inner::InnerMut;
use super::leaf::LeafMut;
use super::node::{MAX_LEVELS, Shape};
use super::space::{self, ROOT, Reserved, bytes_mut};
use super::{BPlusTree, Path};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::PagesMut;

impl<S: PagesMut, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// Inserts a key with its value, or replaces the value of an existing key. Returns the previous value.
    ///
    /// # Errors
    /// [`Error::Full`] before anything is changed; [`Error::TooLarge`] beyond 2^32 pages;
    /// [`Error::Damaged`].
    pub fn insert(&mut self, key: K, value: &[u8; V]) -> Result<Option<[u8; V]>, Error> {
        let (page, leaf) = self.leaf_of(key)?;
        let at = match leaf.find(key)? {
            Ok(at) => {
                let old = leaf.entry(at)?.1;
                self.leaf_mut(page)?.replace(at, value)?;
                return Ok(Some(old));
            }
            Err(at) => at,
        };
        if leaf.count() < Shape::<K, V, FAN_OUT>::LEAF {
            self.leaf_mut(page)?.insert(at, key, value)?;
        } else {
            self.split(at, key, value)?;
        }
        Ok(None)
    }

    pub(super) fn leaf_mut(&mut self, page: usize) -> Result<LeafMut<'_, K, V, FAN_OUT>, Error> {
        Ok(LeafMut::new(bytes_mut(&mut self.pages, page)?, page))
    }

    pub(super) fn inner_mut(&mut self, page: usize) -> Result<InnerMut<'_, K, V, FAN_OUT>, Error> {
        Ok(InnerMut::new(bytes_mut(&mut self.pages, page)?, page))
    }

    /// Splits the full leaf and all full nodes above it, and inserts.
    fn split(&mut self, at: usize, key: K, value: &[u8; V]) -> Result<(), Error> {
        let mut path = self.descend(key)?;
        let full = self.full_levels(&path)?;
        let root_splits = full > path.top;
        let mut reserved = space::reserve(&self.pages, full + usize::from(root_splits))?;
        if root_splits && path.top + 1 == MAX_LEVELS {
            return damaged(ROOT, "the tree has the greatest number of levels already");
        }
        for step in &path.steps[..=path.top] {
            if reserved.contains(step.page) {
                return damaged(step.page, "it is in the tree and counted as free");
            }
        }
        let at_the_end = self.at_the_end(&path, at)?;
        space::take(&mut self.pages, &reserved)?;
        if root_splits {
            self.deepen(&mut path, &mut reserved)?;
        }
        let mut right = reserved.next()?;
        let mut separator =
            self.split_leaf(path.steps[0].page, right, at, (key, value), at_the_end)?;
        for level in 1..full {
            let fresh = reserved.next()?;
            separator = self.split_inner(&path, level, fresh, (separator, right), at_the_end)?;
            right = fresh;
        }
        let parent = path.steps[full];
        self.inner_mut(parent.page)?
            .insert(parent.index, separator, right);
        Ok(())
    }

    /// The number of full nodes of the path, from the leaf up without a gap.
    fn full_levels(&self, path: &Path) -> Result<usize, Error> {
        let mut full = 1;
        while full <= path.top {
            let count = self.header(path.steps[full].page)?.1.count;
            if count < Shape::<K, V, FAN_OUT>::INNER {
                break;
            }
            full += 1;
        }
        Ok(full)
    }

    /// Returns true if a position is after the last entry of the tree.
    fn at_the_end(&self, path: &Path, at: usize) -> Result<bool, Error> {
        if at != self.header(path.steps[0].page)?.1.count {
            return Ok(false);
        }
        for step in &path.steps[1..=path.top] {
            if step.index != self.header(step.page)?.1.count {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves the root's content into a fresh page, the only child of a new root in the old place.
    fn deepen(&mut self, path: &mut Path, reserved: &mut Reserved) -> Result<(), Error> {
        let moved = reserved.next()?;
        let content = *self.header(ROOT)?.0;
        *bytes_mut(&mut self.pages, moved)? = content;
        let root = bytes_mut(&mut self.pages, ROOT)?;
        InnerMut::<K, V, FAN_OUT>::begin(root, ROOT, path.top + 1, moved);
        path.steps[path.top].page = moved;
        path.top += 1;
        path.steps[path.top].page = ROOT;
        path.steps[path.top].index = 0;
        Ok(())
    }

    /// Splits a full leaf into itself and a fresh page, and inserts the entry into one of them.
    /// Returns the least key of the fresh one.
    fn split_leaf(
        &mut self,
        page: usize,
        fresh: usize,
        at: usize,
        (key, value): (K, &[u8; V]),
        at_the_end: bool,
    ) -> Result<K, Error> {
        let (bytes, header) = self.header(page)?;
        let copy = *bytes;
        let kept = if at_the_end {
            header.count
        } else {
            header.count / 2
        };
        let mut right = LeafMut::<K, V, FAN_OUT>::begin(bytes_mut(&mut self.pages, fresh)?, fresh);
        right.append(
            &super::Leaf::new(&copy, page, header.count),
            kept..header.count,
        )?;
        if at >= kept {
            right.insert(at - kept, key, value)?;
        }
        let mut left = self.leaf_mut(page)?;
        left.truncate(kept);
        if at < kept {
            left.insert(at, key, value)?;
        }
        let (bytes, header) = self.header(fresh)?;
        self.leaf(bytes, fresh, header).key(0)
    }

    /// Splits a full inner node of the path into itself and a fresh page, after inserting a
    /// separator and the child to its right. Returns the separator of the two.
    fn split_inner(
        &mut self,
        path: &Path,
        level: usize,
        fresh: usize,
        (separator, child): (K, usize),
        at_the_end: bool,
    ) -> Result<K, Error> {
        let step = path.steps[level];
        let (bytes, header) = self.header(step.page)?;
        let mut content = self.inner(bytes, header).content();
        content.insert(step.index, separator, child);
        let keys = content.keys.len();
        let kept = if at_the_end { keys - 2 } else { keys / 2 };
        let Some((up, beyond)) = content.split(kept) else {
            return damaged(step.page, "it has too few keys to be split");
        };
        self.inner_mut(step.page)?.fill(&content)?;
        InnerMut::<K, V, FAN_OUT>::begin(bytes_mut(&mut self.pages, fresh)?, fresh, level, 0)
            .fill(&beyond)?;
        Ok(up)
    }
}
