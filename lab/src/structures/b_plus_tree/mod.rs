//! A B+-tree with keys and values of fixed length; a node is a page.
//!
//! The design serves owners that log changed bytes and notice conflicts by page:
//!
//! - An insert writes one page: the new entry and a piece of the leaf's small order array. It does
//!   not shift entries.
//! - The root is always page 1. There is no pointer to it that every operation would read.
//! - There is no count of all entries that every operation would write; [`BPlusTree::len`] counts.
//! - Leaves are not linked. A walk climbs to the parent to find the neighbour, so a split need not
//!   write into a third leaf.
//! - Inserting beyond the greatest key fills nodes wholly instead of halving them.
//!
//! Invariants, which [`BPlusTree::check`] proves:
//!
//! - all leaves are on level 0 and each child's level is its parent's less one;
//! - keys are in order, within nodes and between them;
//! - a leaf's order array is a permutation of its slots;
//! - each node except the root and those at the right edge is a quarter full or more; none except the root is empty;
//! - each used page is the node of one parent, or free, and never both.
//!
//! The nodes are described in the modules of this one: `node` (header), `leaf`, `inner`, and
//! `space` (page 0, the free pages).

mod check;
mod inner;
mod insert;
mod leaf;
mod node;
mod remove;
mod space;
mod walk;

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

pub use check::Figures;
use inner::Inner;
use leaf::{Leaf, LeafMut};
use node::{Bytes, Header, MAX_LEVELS, Shape};
use space::{ROOT, bytes, bytes_mut};

use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};
use crate::structures::range::Range;

/// The fan-out that uses the whole page.
pub const WHOLE_PAGE: usize = 1024;

/// A B+-tree in an area of pages.
///
/// `S` is the area: `&[Page]` to read, `&mut [Page]` or `Vec<Page>` to change, or anything else that implements
/// [`Pages`] and [`PagesMut`]. The handle keeps only the area, so opening one for each transaction is cheap. `V` is the
/// length of a value in bytes, up to 256. `FAN_OUT` bounds the entries of a node; a bound below a page's capacity is
/// for tests, so that a small tree has many levels.
#[derive(Debug, Clone)]
pub struct BPlusTree<S, K, const V: usize, const FAN_OUT: usize = WHOLE_PAGE> {
    pages: S,
    key: PhantomData<K>,
}

impl<S: Pages, K: Key, const V: usize> BPlusTree<S, K, V> {
    /// Opens the tree in an area.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is none; [`Error::LayoutDiffers`] if it has other keys, values or fan-out.
    pub fn open(pages: S) -> Result<Self, Error> {
        Self::open_with_fan_out(pages)
    }

    /// Makes an area an empty tree; its contents are overwritten.
    ///
    /// # Errors
    /// [`Error::Full`] if the area has less than two pages.
    pub fn create(pages: S) -> Result<Self, Error>
    where
        S: PagesMut,
    {
        Self::create_with_fan_out(pages)
    }
}

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// Opens a tree with the fan-out that the type names. See [`BPlusTree::open`].
    ///
    /// # Errors
    /// As [`BPlusTree::open`].
    pub fn open_with_fan_out(pages: S) -> Result<Self, Error> {
        Shape::<K, V, FAN_OUT>::compare(bytes(&pages, ROOT)?, ROOT)?;
        Ok(Self {
            pages,
            key: PhantomData,
        })
    }

    /// Makes an empty tree with the fan-out that the type names. See [`BPlusTree::create`].
    ///
    /// # Errors
    /// As [`BPlusTree::create`].
    pub fn create_with_fan_out(mut pages: S) -> Result<Self, Error>
    where
        S: PagesMut,
    {
        if pages.count() <= ROOT {
            return Err(Error::Full {
                pages_needed: ROOT + 1,
            });
        }
        space::create(&mut pages)?;
        LeafMut::<K, V, FAN_OUT>::begin(bytes_mut(&mut pages, ROOT)?, ROOT);
        Ok(Self {
            pages,
            key: PhantomData,
        })
    }

    /// The area, for instance to make it larger.
    pub fn pages_mut(&mut self) -> &mut S {
        &mut self.pages
    }

    /// Returns the area.
    pub fn into_pages(self) -> S {
        self.pages
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn get(&self, key: K) -> Result<Option<[u8; V]>, Error> {
        let (_, leaf) = self.leaf_of(key)?;
        match leaf.find(key)? {
            Ok(position) => Ok(Some(leaf.entry(position)?.1)),
            Err(_) => Ok(None),
        }
    }

    /// The least key and its value.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn first(&self) -> Result<Option<(K, [u8; V])>, Error> {
        self.range(..).next().transpose()
    }

    /// The greatest key and its value.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn last(&self) -> Result<Option<(K, [u8; V])>, Error> {
        self.range(..).next_back().transpose()
    }

    /// The entries of a range of keys, in order; from the other end with `rev`.
    ///
    /// ```
    /// use sardonyx_lab::structures::{BPlusTree, Page};
    ///
    /// # fn main() -> Result<(), sardonyx_lab::structures::Error> {
    /// let mut tree = BPlusTree::<_, u64, 1>::create(vec![Page::zeroed(); 2])?;
    /// for key in 1..=9 {
    ///     tree.insert(key, &[0])?;
    /// }
    /// let keys: Result<Vec<_>, _> = tree.range(3..7).rev().map(|e| e.map(|e| e.0)).collect();
    /// assert_eq!(keys?, [6, 5, 4, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn range(&self, keys: impl RangeBounds<K>) -> Range<'_, Self> {
        Range::new(self, keys.start_bound().cloned(), keys.end_bound().cloned())
    }

    /// The number of entries. It reads every node.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn len(&self) -> Result<usize, Error> {
        let Some(mut path) = self.seek_path(Bound::Unbounded)? else {
            return Ok(0);
        };
        let mut sum = 0;
        let mut leaves = 0;
        loop {
            let leaf = path.steps[0].page;
            sum += self.header(leaf)?.1.count;
            leaves += 1;
            if leaves > self.pages.count() {
                return damaged(leaf, "it is reached again: the tree runs in a circle");
            }
            if !self.next_leaf(&mut path)? {
                return Ok(sum);
            }
        }
    }

    /// Returns true if there is no entry.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn is_empty(&self) -> Result<bool, Error> {
        let root = self.header(ROOT)?.1;
        Ok(root.level == 0 && root.count == 0)
    }

    /// A node with its header.
    #[inline(always)]
    fn header(&self, page: usize) -> Result<(&Bytes, Header), Error> {
        let bytes = bytes(&self.pages, page)?;
        Ok((bytes, Shape::<K, V, FAN_OUT>::header(bytes, page)?))
    }

    /// A node that a parent on `level` refers to.
    #[inline(always)]
    fn below(&self, page: usize, level: usize) -> Result<(&Bytes, Header), Error> {
        let (bytes, header) = self.header(page)?;
        if header.level + 1 != level {
            return damaged(page, "its level is not its parent's less one");
        }
        if header.count == 0 {
            return damaged(page, "it is empty, and not the root");
        }
        Ok((bytes, header))
    }

    #[inline(always)]
    fn leaf<'a>(&self, bytes: &'a Bytes, page: usize, header: Header) -> Leaf<'a, K, V, FAN_OUT> {
        Leaf::new(bytes, page, header.count)
    }

    #[inline(always)]
    fn inner<'a>(&self, bytes: &'a Bytes, header: Header) -> Inner<'a, K, V, FAN_OUT> {
        Inner::new(bytes, header.count)
    }

    /// The leaf where a key belongs, and its page.
    #[inline(always)]
    fn leaf_of(&self, key: K) -> Result<(usize, Leaf<'_, K, V, FAN_OUT>), Error> {
        let mut page = ROOT;
        let (mut bytes, mut header) = self.header(page)?;
        while header.level > 0 {
            let inner = self.inner(bytes, header);
            page = inner.child(inner.search(key));
            (bytes, header) = self.below(page, header.level)?;
        }
        Ok((page, self.leaf(bytes, page, header)))
    }

    /// The path from the root to the leaf where a key belongs.
    fn descend(&self, key: K) -> Result<Path, Error> {
        let (mut bytes, mut header) = self.header(ROOT)?;
        let mut path = Path::new(header.level);
        path.steps[header.level].page = ROOT;
        while header.level > 0 {
            let inner = self.inner(bytes, header);
            let index = inner.search(key);
            let level = header.level;
            path.steps[level].index = index;
            path.steps[level - 1].page = inner.child(index);
            (bytes, header) = self.below(inner.child(index), level)?;
        }
        Ok(path)
    }
}

/// A path from the root to an entry of a leaf.
#[derive(Debug, Clone)]
pub struct Path {
    /// By level: the node, and the index of the child or, in the leaf, the position of the entry.
    steps: [Step; MAX_LEVELS],
    /// The root's level.
    top: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Step {
    page: usize,
    index: usize,
}

impl Path {
    fn new(top: usize) -> Self {
        Self {
            steps: [Step::default(); MAX_LEVELS],
            top,
        }
    }
}
