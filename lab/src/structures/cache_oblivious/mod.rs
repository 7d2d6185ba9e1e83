//! A cache-oblivious B-tree: a packed-memory array under a static index in the van Emde Boas
//! layout (Bender, Demaine, Farach-Colton, "Cache-oblivious B-trees"; the form without indirection
//! of Bender, Duan, Iacono and Wu, "A locality-preserving cache-oblivious dynamic dictionary").
//!
//! All entries are in one array, in the order of their keys, with gaps. So a range of keys is a range of memory, which
//! a B+-tree loses after random inserts. The array is cut into segments; `segment` describes one, `index` finds one,
//! and `rebalance` keeps the gaps where they are needed. The structure is not tuned for a size of a cache, page or
//! block, and is good for each.
//!
//! An insert moves the entries after it within one segment: it writes one page. When the segment is full, the entries
//! of a window of segments are spread again, and the separators between them. When the array is three quarters full it
//! doubles, and everything in it is written. Amortised that is little, but that one insert makes a transaction as large
//! as the array.
//!
//! Invariants, which [`CacheObliviousTree::check`] proves:
//!
//! - there are 2^levels segments, and the area has their pages and those of their separators;
//! - each segment's header has its number, and a count of at most its capacity;
//! - keys are in order, within segments and between them;
//! - a separator is at least each key in the segments to its left, and less than each to its right.

mod check;
mod index;
mod layout;
mod rebalance;
mod segment;

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

pub use check::Figures;
use layout::Layout;
use rebalance::Overflow;
use segment::{Segment, SegmentMut, place};

use crate::structures::error::Error;
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};
use crate::structures::range::{Direction, Ordered, Range};

/// The bound on entries that uses the whole segment.
pub const WHOLE_SEGMENT: usize = 4096;

/// A cache-oblivious B-tree in an area of pages.
///
/// `S` is the area: `&[Page]` to read, `&mut [Page]` or `Vec<Page>` to change, or anything else that implements
/// [`Pages`] and [`PagesMut`]. The handle keeps the area and the number of levels; opening one reads page 0. `V` is the
/// length of a value in bytes, up to 256. `SEGMENT` bounds the entries of a segment; a bound below its capacity is for
/// tests, so that a small tree rebalances often.
#[derive(Debug, Clone)]
pub struct CacheObliviousTree<S, K, const V: usize, const SEGMENT: usize = WHOLE_SEGMENT> {
    pages: S,
    levels: usize,
    key: PhantomData<K>,
}

impl<S: Pages, K: Key, const V: usize> CacheObliviousTree<S, K, V> {
    /// Opens the tree in an area.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is none; [`Error::LayoutDiffers`] if it has other keys, values
    /// or segments.
    pub fn open(pages: S) -> Result<Self, Error> {
        Self::open_with_segment(pages)
    }

    /// Makes an area an empty tree; its contents are overwritten.
    ///
    /// # Errors
    /// [`Error::Full`] if the area has less than two pages.
    ///
    /// ```
    /// use sardonyx_lab::structures::{CacheObliviousTree, Error, Page};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let mut tree = CacheObliviousTree::<_, u64, 8>::create(vec![Page::zeroed(); 2])?;
    /// for key in 0..10_000u64 {
    ///     while let Err(Error::Full { pages_needed }) = tree.insert(key, &[7; 8]) {
    ///         tree.pages_mut().resize(pages_needed, Page::zeroed());
    ///     }
    /// }
    /// assert_eq!(tree.get(77)?, Some([7; 8]));
    /// assert_eq!(tree.range(50..).count(), 9_950);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create(pages: S) -> Result<Self, Error>
    where
        S: PagesMut,
    {
        Self::create_with_segment(pages)
    }
}

impl<S: Pages, K: Key, const V: usize, const SEGMENT: usize> CacheObliviousTree<S, K, V, SEGMENT> {
    /// Opens a tree with the segments that the type names. See [`CacheObliviousTree::open`].
    ///
    /// # Errors
    /// As [`CacheObliviousTree::open`].
    pub fn open_with_segment(pages: S) -> Result<Self, Error> {
        let levels = Layout::<K, V, SEGMENT>::read(&pages)?;
        Ok(Self {
            pages,
            levels,
            key: PhantomData,
        })
    }

    /// Makes an empty tree with the segments that the type names. See
    /// [`CacheObliviousTree::create`].
    ///
    /// # Errors
    /// As [`CacheObliviousTree::create`].
    pub fn create_with_segment(mut pages: S) -> Result<Self, Error>
    where
        S: PagesMut,
    {
        let pages_needed = Layout::<K, V, SEGMENT>::pages(0);
        if pages.count() < pages_needed {
            return Err(Error::Full { pages_needed });
        }
        Layout::<K, V, SEGMENT>::write(&mut pages, 0)?;
        SegmentMut::<K, V, SEGMENT>::new(&mut pages, 0)?.fill(&[]);
        Ok(Self {
            pages,
            levels: 0,
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
        let segment = self.segment(self.search(key)?)?;
        Ok(segment.find(key).ok().map(|index| segment.entry(index).1))
    }

    /// Inserts a key with its value, or replaces the value of an existing key. Returns the previous value.
    ///
    /// # Errors
    /// [`Error::Full`] before anything is changed; [`Error::TooLarge`] beyond 2^40 segments;
    /// [`Error::Damaged`].
    pub fn insert(&mut self, key: K, value: &[u8; V]) -> Result<Option<[u8; V]>, Error>
    where
        S: PagesMut,
    {
        let number = self.search(key)?;
        let segment = self.segment(number)?;
        let count = segment.count();
        match segment.find(key) {
            Ok(index) => {
                let old = segment.entry(index).1;
                self.segment_mut(number)?.replace(index, value);
                return Ok(Some(old));
            }
            Err(index) if count < Layout::<K, V, SEGMENT>::CAPACITY => {
                self.segment_mut(number)?.insert(index, count, key, value);
            }
            Err(index) => self.overflow(&Overflow {
                segment: number,
                index,
                key,
                value,
            })?,
        }
        Ok(None)
    }

    /// Removes a key. Returns its value, if it existed.
    ///
    /// # Errors
    /// [`Error::Damaged`]. Removing never needs more pages.
    pub fn remove(&mut self, key: K) -> Result<Option<[u8; V]>, Error>
    where
        S: PagesMut,
    {
        let number = self.search(key)?;
        let segment = self.segment(number)?;
        let count = segment.count();
        let Ok(index) = segment.find(key) else {
            return Ok(None);
        };
        let old = segment.entry(index).1;
        self.segment_mut(number)?.remove(index, count);
        if count <= Self::LEAST {
            self.underflow(number)?;
        }
        Ok(Some(old))
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
    pub fn range(&self, keys: impl RangeBounds<K>) -> Range<'_, Self> {
        Range::new(self, keys.start_bound().cloned(), keys.end_bound().cloned())
    }

    /// The number of entries. It reads every segment's header.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn len(&self) -> Result<usize, Error> {
        let mut sum = 0;
        for number in 0..self.segments() {
            sum += self.segment(number)?.count();
        }
        Ok(sum)
    }

    /// Returns true if there is no entry.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.first()?.is_none())
    }

    fn segments(&self) -> usize {
        1 << self.levels
    }

    #[inline(always)]
    fn search(&self, key: K) -> Result<usize, Error> {
        index::search::<S, K, V, SEGMENT>(&self.pages, self.levels, key)
    }

    fn segment_mut(&mut self, number: usize) -> Result<SegmentMut<'_, K, V, SEGMENT>, Error>
    where
        S: PagesMut,
    {
        SegmentMut::new(&mut self.pages, number)
    }

    /// The nearest entry in the segments beyond one, in a direction.
    fn beyond(&self, segment: usize, direction: Direction) -> Result<Option<Place>, Error> {
        let mut number = segment;
        loop {
            number = match direction {
                Direction::Forward if number + 1 < self.segments() => number + 1,
                Direction::Backward if number > 0 => number - 1,
                _ => return Ok(None),
            };
            let count = self.segment(number)?.count();
            if count > 0 {
                let index = if direction == Direction::Forward {
                    0
                } else {
                    count - 1
                };
                return Ok(Some(Place {
                    segment: number,
                    index,
                }));
            }
        }
    }
}

/// The place of an entry.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    segment: usize,
    index: usize,
}

impl<S: Pages, K: Key, const V: usize, const SEGMENT: usize> Ordered
    for CacheObliviousTree<S, K, V, SEGMENT>
{
    type Key = K;
    type Value = [u8; V];
    type Place = Place;

    fn seek(&self, bound: Bound<K>, direction: Direction) -> Result<Option<Place>, Error> {
        let forward = direction == Direction::Forward;
        let (segment, before) = match bound {
            Bound::Unbounded if forward => (0, 0),
            Bound::Unbounded => {
                let last = self.segments() - 1;
                (last, self.segment(last)?.count())
            }
            Bound::Included(key) | Bound::Excluded(key) => {
                let number = self.search(key)?;
                let before_key = matches!(bound, Bound::Included(_)) == forward;
                let segment = self.segment(number)?;
                (
                    number,
                    segment.partition(|k| k < key || (!before_key && k == key)),
                )
            }
        };
        let count = self.segment(segment)?.count();
        let index = if forward {
            (before < count).then_some(before)
        } else {
            before.checked_sub(1)
        };
        match index {
            Some(index) => Ok(Some(Place { segment, index })),
            None => self.beyond(segment, direction),
        }
    }

    fn step(&self, at: &mut Place, direction: Direction) -> Result<bool, Error> {
        match direction {
            Direction::Forward if at.index + 1 < self.segment(at.segment)?.count() => at.index += 1,
            Direction::Backward if at.index > 0 => at.index -= 1,
            _ => match self.beyond(at.segment, direction)? {
                Some(next) => *at = next,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn entry(&self, at: &Place) -> Result<(K, [u8; V], usize), Error> {
        let segment: Segment<'_, K, V, SEGMENT> = self.segment(at.segment)?;
        let (key, value) = segment.entry(at.index);
        Ok((key, value, place::<K, V, SEGMENT>(at.segment).0))
    }
}
