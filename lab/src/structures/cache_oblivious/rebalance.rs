//! Rebalancing: spreading the entries of a window evenly over its segments, doubling and halving.
//!
//! A window of level j is 2^j segments that begin at a multiple of 2^j: the segments below one node of the index. A
//! segment may be full; a window of a higher level may be less full, and the whole array at most three quarters. When a
//! segment overflows, the smallest window around it that is not too full, counted with the new entry, is spread evenly.
//! When a segment is nearly empty, it is the smallest window that is not too empty: from an eighth for a segment to a
//! quarter for the whole. If even the whole array is beyond its threshold, it doubles or halves. The thresholds tighten
//! with the level, so a window that was spread can take many entries before its parts overflow again; that bounds the
//! entries moved by O(log² n) per insert, amortised.

use super::CacheObliviousTree;
use super::index;
use super::layout::{Layout, MAX_LEVELS};
use super::segment::{Segment, SegmentMut, place};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};

/// Segments that share a node of the index.
#[derive(Clone, Copy)]
struct Window {
    first: usize,
    level: usize,
}

impl Window {
    fn around(segment: usize, level: usize) -> Self {
        Self {
            first: segment >> level << level,
            level,
        }
    }

    fn segments(self) -> std::ops::Range<usize> {
        self.first..self.first + (1 << self.level)
    }
}

/// An entry that does not fit in its segment.
pub(super) struct Overflow<'a, K, const V: usize> {
    pub(super) segment: usize,
    pub(super) index: usize,
    pub(super) key: K,
    pub(super) value: &'a [u8; V],
}

impl<S: Pages, K: Key, const V: usize, const SEGMENT: usize> CacheObliviousTree<S, K, V, SEGMENT> {
    const CAPACITY: usize = Layout::<K, V, SEGMENT>::CAPACITY;

    /// A segment with fewer entries is mended.
    pub(super) const LEAST: usize = if Self::CAPACITY < 16 {
        1
    } else {
        Self::CAPACITY / 8
    };

    /// Returns true if a window of a level may hold so many entries: full for a segment, three quarters for the whole
    /// array.
    fn not_too_full(&self, level: usize, entries: usize) -> bool {
        let slots = Self::CAPACITY << level;
        entries * 4 * self.levels <= slots * (4 * self.levels - level)
    }

    /// Returns true if a window of a level may hold so few entries: an eighth for a segment, a quarter for the whole
    /// array.
    fn not_too_empty(&self, level: usize, entries: usize) -> bool {
        let slots = Self::CAPACITY << level;
        entries * 8 * self.levels >= slots * (self.levels + level)
    }

    /// The smallest window around a segment that satisfies a threshold.
    fn window(
        &self,
        segment: usize,
        additional: usize,
        satisfied: impl Fn(usize, usize) -> bool,
    ) -> Result<Option<Window>, Error> {
        let mut entries = self.segment(segment)?.count() + additional;
        for level in 1..=self.levels {
            // The half that is not yet counted.
            for other in Window::around(segment ^ (1 << (level - 1)), level - 1).segments() {
                entries += self.segment(other)?.count();
            }
            if satisfied(level, entries) {
                return Ok(Some(Window::around(segment, level)));
            }
        }
        Ok(None)
    }

    /// The entries of a window in their order, with the one that overflows.
    fn gather(
        &self,
        window: Window,
        overflow: Option<&Overflow<'_, K, V>>,
    ) -> Result<Vec<(K, [u8; V])>, Error> {
        let mut entries = Vec::new();
        for number in window.segments() {
            let segment = self.segment(number)?;
            let begin = entries.len();
            entries.extend((0..segment.count()).map(|index| segment.entry(index)));
            if let Some(overflow) = overflow.filter(|overflow| overflow.segment == number) {
                entries.insert(begin + overflow.index, (overflow.key, *overflow.value));
            }
            let sorted_from = begin.saturating_sub(1);
            if !entries[sorted_from..].is_sorted_by(|one, next| one.0 < next.0) {
                return damaged(
                    place::<K, V, SEGMENT>(number).0,
                    "its keys are out of order",
                );
            }
        }
        Ok(entries)
    }

    pub(super) fn segment(&self, number: usize) -> Result<Segment<'_, K, V, SEGMENT>, Error> {
        Segment::read(&self.pages, number)
    }
}

impl<S: PagesMut, K: Key, const V: usize, const SEGMENT: usize>
    CacheObliviousTree<S, K, V, SEGMENT>
{
    /// Makes room for an entry whose segment is full, and inserts it.
    pub(super) fn overflow(&mut self, overflow: &Overflow<'_, K, V>) -> Result<(), Error> {
        let found = self.window(overflow.segment, 1, |level, entries| {
            self.not_too_full(level, entries)
        })?;
        match found {
            Some(window) => {
                let entries = self.gather(window, Some(overflow))?;
                self.spread(window, &entries)
            }
            None => self.resize(self.levels + 1, Some(overflow)),
        }
    }

    /// Mends a segment that has fewer than [`Self::LEAST`] entries.
    pub(super) fn underflow(&mut self, segment: usize) -> Result<(), Error> {
        let found = self.window(segment, 0, |level, entries| {
            self.not_too_empty(level, entries)
        })?;
        match found {
            Some(window) => {
                let entries = self.gather(window, None)?;
                self.spread(window, &entries)
            }
            None if self.levels == 0 => Ok(()),
            // Without an entry there are no separators to compute.
            None if self.range(..).next().is_none() => self.resize(0, None),
            None => self.resize(self.levels - 1, None),
        }
    }

    /// Doubles or halves the array and spreads all entries over it.
    fn resize(
        &mut self,
        levels: usize,
        overflow: Option<&Overflow<'_, K, V>>,
    ) -> Result<(), Error> {
        let pages_needed = Layout::<K, V, SEGMENT>::pages(levels);
        if levels > MAX_LEVELS {
            let limit = Layout::<K, V, SEGMENT>::pages(MAX_LEVELS);
            return Err(Error::TooLarge {
                pages_needed,
                limit,
            });
        }
        if pages_needed > self.pages.count() {
            return Err(Error::Full { pages_needed });
        }
        let whole = |level| Window { first: 0, level };
        let entries = self.gather(whole(self.levels), overflow)?;
        if entries.len() > Self::CAPACITY << levels {
            return damaged(0, "its segments hold more than they were counted to hold");
        }
        Layout::<K, V, SEGMENT>::write(&mut self.pages, levels)?;
        self.levels = levels;
        self.spread(whole(levels), &entries)
    }

    /// Writes entries evenly into the segments of a window, and the separators between them.
    fn spread(&mut self, window: Window, entries: &[(K, [u8; V])]) -> Result<(), Error> {
        let segments = 1_usize << window.level;
        let each = entries.len() / segments;
        let with_one_more = entries.len() % segments;
        let mut rest = entries;
        let mut greatest = None;
        for number in window.segments() {
            let count = each + usize::from(number - window.first < with_one_more);
            let (own, others) = rest.split_at(count);
            rest = others;
            SegmentMut::<K, V, SEGMENT>::new(&mut self.pages, number)?.fill(own);
            greatest = own.last().map(|entry| entry.0).or(greatest);
            if let Some(greatest) = greatest
                && number + 1 < window.segments().end
            {
                let levels = self.levels;
                index::set_separator::<S, K, V, SEGMENT>(
                    &mut self.pages,
                    levels,
                    number,
                    greatest,
                )?;
            }
        }
        Ok(())
    }
}
