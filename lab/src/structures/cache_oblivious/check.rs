//! Proving every invariant of a tree, by reading all of it.

use super::layout::Layout;
use super::segment::place;
use super::{CacheObliviousTree, index};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::Pages;

/// The parts of a valid tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures {
    pub entries: usize,
    /// Levels of the index.
    pub levels: usize,
    pub segments: usize,
    /// The number of entries for which the segments have room.
    pub slots: usize,
    /// Pages of the header, the segments and the index.
    pub pages: usize,
}

impl<S: Pages, K: Key, const V: usize, const SEGMENT: usize> CacheObliviousTree<S, K, V, SEGMENT> {
    /// Reads the whole tree and proves each invariant that the module's page lists.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the first page that breaks one.
    pub fn check(&self) -> Result<Figures, Error> {
        let levels = Layout::<K, V, SEGMENT>::read(&self.pages)?;
        if levels != self.levels {
            return damaged(0, "its number of levels is not that of the open tree");
        }
        let mut entries = 0;
        let mut greatest: Option<K> = None;
        let mut left: Option<K> = None;
        for number in 0..self.segments() {
            let (page, _) = place::<K, V, SEGMENT>(number);
            let segment = self.segment(number)?;
            for position in 0..segment.count() {
                let key = segment.key(position);
                if greatest.is_some_and(|greatest| key <= greatest) {
                    return damaged(page, "its keys are out of order");
                }
                if left.is_some_and(|left| key <= left) {
                    return damaged(page, "it has a key that belongs into another segment");
                }
                greatest = Some(key);
            }
            entries += segment.count();
            if number + 1 < self.segments() {
                let right = index::separator::<S, K, V, SEGMENT>(&self.pages, levels, number)?;
                if greatest.is_some_and(|greatest| greatest > right)
                    || left.is_some_and(|left| left > right)
                {
                    let page = index::page_of::<K, V, SEGMENT>(levels, number);
                    return damaged(page, "a separator is less than a key to its left");
                }
                left = Some(right);
            }
        }
        Ok(Figures {
            entries,
            levels,
            segments: self.segments(),
            slots: self.segments() * Layout::<K, V, SEGMENT>::CAPACITY,
            pages: Layout::<K, V, SEGMENT>::pages(levels),
        })
    }
}
