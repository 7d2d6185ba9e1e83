//! Removing, and mending the nodes that have become less than a quarter full.
//!
//! A node and its neighbour are merged if three quarters of a node hold both; otherwise they are evened out. So a
//! merged node does not split again at the next insert.

use super::node::Shape;
use super::space::{self, ROOT, bytes_mut};
use super::{BPlusTree, Leaf, Path};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};

/// Two neighbours below one parent.
struct Neighbours {
    parent: usize,
    /// The index of the parent's key between the two.
    between: usize,
    left: usize,
    right: usize,
}

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// The least count that a node inside of the tree keeps.
    pub(super) const fn least(level: usize) -> usize {
        let most = Self::most(level);
        if most < 8 { 1 } else { most / 4 }
    }

    const fn most(level: usize) -> usize {
        if level == 0 {
            Shape::<K, V, FAN_OUT>::LEAF
        } else {
            Shape::<K, V, FAN_OUT>::INNER
        }
    }
}

impl<S: PagesMut, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// Removes a key. Returns its value, if it existed.
    ///
    /// # Errors
    /// [`Error::Damaged`]. Removing never needs more pages.
    pub fn remove(&mut self, key: K) -> Result<Option<[u8; V]>, Error> {
        let (page, leaf) = self.leaf_of(key)?;
        let Ok(at) = leaf.find(key)? else {
            return Ok(None);
        };
        let old = leaf.entry(at)?.1;
        if page == ROOT || leaf.count() > Self::least(0) {
            self.leaf_mut(page)?.remove(at);
            return Ok(Some(old));
        }
        let path = self.descend(key)?;
        self.leaf_mut(page)?.remove(at);
        for level in 0..path.top {
            let count = self.header(path.steps[level].page)?.1.count;
            if count >= Self::least(level) {
                break;
            }
            self.mend(&path, level)?;
        }
        self.shorten()?;
        Ok(Some(old))
    }

    /// Merges the node of the path on this level with a neighbour, or evens the two out.
    fn mend(&mut self, path: &Path, level: usize) -> Result<(), Error> {
        let parent = path.steps[level + 1];
        let (bytes, header) = self.header(parent.page)?;
        let inner = self.inner(bytes, header);
        if header.count == 0 {
            return damaged(parent.page, "it has one child only");
        }
        let between = parent.index.saturating_sub(1);
        let pair = Neighbours {
            parent: parent.page,
            between,
            left: inner.child(between),
            right: inner.child(between + 1),
        };
        let separator = inner.key(between);
        if pair.left == pair.right {
            return damaged(pair.parent, "it has the same child twice");
        }
        let merged = if level == 0 {
            self.mend_leaves(&pair)?
        } else {
            self.mend_inner(&pair, level, separator)?
        };
        if merged {
            self.inner_mut(pair.parent)?.remove(pair.between);
            space::free(&mut self.pages, pair.right)?;
        }
        Ok(())
    }

    /// Merges two leaves into the left one (true), or evens them out.
    fn mend_leaves(&mut self, pair: &Neighbours) -> Result<bool, Error> {
        let (left, left_header) = self.header(pair.left)?;
        let (right, right_header) = self.header(pair.right)?;
        if left_header.level != 0 || right_header.level != 0 {
            return damaged(pair.right, "it is beside a leaf, and none");
        }
        let (left_copy, right_copy) = (*left, *right);
        let lefts = Leaf::new(&left_copy, pair.left, left_header.count);
        let rights = Leaf::new(&right_copy, pair.right, right_header.count);
        let sum = lefts.count() + rights.count();
        if sum <= Self::most(0) * 3 / 4 {
            self.leaf_mut(pair.left)?
                .append(&rights, 0..rights.count())?;
            return Ok(true);
        }
        let kept = sum / 2;
        let separator = if kept > lefts.count() {
            let moved = kept - lefts.count();
            self.leaf_mut(pair.left)?.append(&rights, 0..moved)?;
            self.leaf_mut(pair.right)?.remove_first(moved);
            rights.key(moved)?
        } else {
            self.leaf_mut(pair.right)?
                .prepend(&lefts, kept..lefts.count())?;
            self.leaf_mut(pair.left)?.truncate(kept);
            lefts.key(kept)?
        };
        self.inner_mut(pair.parent)?
            .set_key(pair.between, separator);
        Ok(false)
    }

    /// Merges two inner nodes into the left one (true), or evens them out.
    fn mend_inner(&mut self, pair: &Neighbours, level: usize, separator: K) -> Result<bool, Error> {
        let (left, left_header) = self.header(pair.left)?;
        let (right, right_header) = self.header(pair.right)?;
        if left_header.level != level || right_header.level != level {
            return damaged(pair.right, "it is beside a node of another level");
        }
        let mut content = self.inner(left, left_header).content();
        content.append(separator, self.inner(right, right_header).content());
        if content.keys.len() <= Self::most(level) * 3 / 4 {
            self.inner_mut(pair.left)?.fill(&content)?;
            return Ok(true);
        }
        let Some((up, beyond)) = content.split(content.keys.len() / 2) else {
            return damaged(pair.left, "it has too few keys to be split");
        };
        self.inner_mut(pair.left)?.fill(&content)?;
        self.inner_mut(pair.right)?.fill(&beyond)?;
        self.inner_mut(pair.parent)?.set_key(pair.between, up);
        Ok(false)
    }

    /// Replaces a root that has one child only by that child.
    fn shorten(&mut self) -> Result<(), Error> {
        let (bytes, header) = self.header(ROOT)?;
        if header.level == 0 || header.count > 0 {
            return Ok(());
        }
        let child = self.inner(bytes, header).child(0);
        let content = *self.below(child, header.level)?.0;
        *bytes_mut(&mut self.pages, ROOT)? = content;
        space::free(&mut self.pages, child)
    }
}
