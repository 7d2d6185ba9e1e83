//! An ordered index: a B+-tree whose keys and values are bytes, kept in an area of its own.
//!
//! Inserting, putting and deleting are operations with inverses, and the splits of the tree are a part of them.
//! An operation is undone by another operation on the key, at its place in the tree by then. Between
//! transactions the locks are on keys and gaps ([`locks`]), so that everything, scans included, is
//! serializable. Between operations they are on the touched pages, shared on inner nodes and, unless a node
//! splits or becomes empty, exclusive only on one leaf.
//!
//! The parts, each with its own page of the story: [`locks`], the waits; [`sardonyx_storage::tree`], the tree
//! itself; `space`, the used pages; `operations` and `scan`, the calls of users; `check`, the soundness of all.
//!
//! Damaged pages are [`IndexError::Damaged`], with page and offset, never a panic and never an endless loop.
//! Every offset is checked at its use, levels go down by one at each step, and the keys of a scan have to
//! ascend.
//!
//! Source: DASDBS paper, section 2 (locks on index keys, subtransactions that change several pages).

mod check;
mod error;
pub mod locks;
mod operations;
mod scan;
mod space;

pub use error::IndexError;
pub use operations::{Delete, Get, Insert, Put, Restore};
pub use sardonyx_storage::tree::{KEY_BYTES_MAX, Shape, VALUE_BYTES_MAX};
pub use scan::{Entry, Scan};

use crate::pages::{Area, Pages};
use std::ops::{Bound, RangeBounds};

/// An ordered index, by the area that it is in: nothing else may be there. An area whose pages are
/// zeroes, or that has none yet, is an empty index.
///
/// Keys are compared as bytes: a `u64` is in its numerical order as [`u64::to_be_bytes`]. Entries
/// may be up to [`KEY_BYTES_MAX`] and [`VALUE_BYTES_MAX`] long.
///
/// ```
/// use sardonyx_multilevel::index::{IndexError, OrderedIndex};
/// use sardonyx_multilevel::{Operation, PlainPages};
///
/// let mut pages = PlainPages::new();
/// let index = OrderedIndex::of(pages.area(0));
/// for (key, value) in [("pear", "green"), ("apple", "red"), ("plum", "blue")] {
///     index.insert(key.as_bytes(), value.as_bytes()).execute(&mut pages)?;
/// }
/// assert_eq!(index.get(b"apple").execute(&mut pages)?, Some(b"red".to_vec()));
/// assert_eq!(index.delete(b"quince").execute(&mut pages)?, None);
/// let again = index.insert(b"plum", b"violet").execute(&mut pages);
/// assert_eq!(again, Err(IndexError::Duplicate));
///
/// let scan = index.scan(&b"b"[..]..).descending().limit(1);
/// assert_eq!(scan.execute(&mut pages)?, [(b"plum".to_vec(), b"blue".to_vec())]);
/// # Ok::<_, IndexError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrderedIndex {
    area: Area,
}

impl OrderedIndex {
    /// The area needs no preparation: an empty one is an empty index.
    pub fn of(area: Area) -> OrderedIndex {
        OrderedIndex { area }
    }

    /// The area that holds its nodes.
    pub fn area(self) -> Area {
        self.area
    }

    /// Gets the value of a key.
    pub fn get(self, key: &[u8]) -> Get<'_> {
        Get { index: self, key }
    }

    /// Adds an entry whose key is not there.
    pub fn insert<'a>(self, key: &'a [u8], value: &'a [u8]) -> Insert<'a> {
        let index = self;
        Insert { index, key, value }
    }

    /// Sets the value of a key.
    pub fn put<'a>(self, key: &'a [u8], value: &'a [u8]) -> Put<'a> {
        let index = self;
        Put { index, key, value }
    }

    /// Deletes the entry of a key.
    pub fn delete(self, key: &[u8]) -> Delete<'_> {
        Delete { index: self, key }
    }

    /// Gets the entries of a range of keys: all of them, ascending, unless [`Scan::limit`] and [`Scan::descending`]
    /// are set. An empty range has none.
    pub fn scan<'a>(self, range: impl RangeBounds<&'a [u8]>) -> Scan<'a> {
        let bound = |bound: Bound<&&'a [u8]>| bound.map(|key| *key);
        Scan {
            index: self,
            lower: bound(range.start_bound()),
            upper: bound(range.end_bound()),
            limit: usize::MAX,
            descending: false,
        }
    }

    /// Checks every page of the index and counts its content. For tests and for doubtful databases: it reads all
    /// pages.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] with the first wrong page.
    pub fn check(self, pages: &dyn Pages) -> Result<Shape, IndexError> {
        check::check(pages, self.area)
    }
}
