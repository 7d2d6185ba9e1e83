//! Iterating over a range of keys, from either end.
//!
//! Both structures give the same iterator. It keeps the remaining bounds and, for each end, a place. The bounds shrink
//! with every returned entry, so the two ends meet by themselves and no key comes twice. On damaged memory this also
//! bounds the work: keys that do not continue in the direction of the walk are damage, which is reported once, and the
//! iterator ends.

use std::ops::Bound;

use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;

/// The direction of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards greater keys.
    Forward,
    /// Towards smaller keys.
    Backward,
}

/// A structure that can be walked in the order of its keys. Only this crate implements it.
pub trait Ordered {
    type Key: Key;
    type Value;
    /// The place of an entry.
    type Place;

    /// The first entry, in this direction, that is within the bound.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    fn seek(
        &self,
        bound: Bound<Self::Key>,
        direction: Direction,
    ) -> Result<Option<Self::Place>, Error>;

    /// Moves on to the next entry in this direction; false if there is none.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    fn step(&self, place: &mut Self::Place, direction: Direction) -> Result<bool, Error>;

    /// The entry at a place, and the page that holds it.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    fn entry(&self, place: &Self::Place) -> Result<(Self::Key, Self::Value, usize), Error>;
}

/// A key and its value.
type Entry<T> = (<T as Ordered>::Key, <T as Ordered>::Value);

/// An iterator over the entries of a range of keys, in the order of the keys; `rev` and
/// `next_back` walk from the other end. Ends after the first error.
pub struct Range<'a, T: Ordered> {
    structure: &'a T,
    lower: Bound<T::Key>,
    upper: Bound<T::Key>,
    front: Option<T::Place>,
    back: Option<T::Place>,
    ended: bool,
}

impl<'a, T: Ordered> Range<'a, T> {
    pub(crate) fn new(structure: &'a T, lower: Bound<T::Key>, upper: Bound<T::Key>) -> Self {
        Self {
            structure,
            lower,
            upper,
            front: None,
            back: None,
            ended: false,
        }
    }

    fn advance(&mut self, direction: Direction) -> Result<Option<Entry<T>>, Error> {
        let (place, from) = match direction {
            Direction::Forward => (&mut self.front, self.lower),
            Direction::Backward => (&mut self.back, self.upper),
        };
        let there = match place {
            Some(place) => self.structure.step(place, direction)?,
            None => {
                *place = self.structure.seek(from, direction)?;
                place.is_some()
            }
        };
        let Some(place) = place.as_ref().filter(|_| there) else {
            return Ok(None);
        };
        let (key, value, page) = self.structure.entry(place)?;
        let (goes_on, within) = match direction {
            Direction::Forward => (above(key, self.lower), below(key, self.upper)),
            Direction::Backward => (below(key, self.upper), above(key, self.lower)),
        };
        if !goes_on {
            return damaged(page, "its keys are out of order");
        }
        if !within {
            return Ok(None);
        }
        match direction {
            Direction::Forward => self.lower = Bound::Excluded(key),
            Direction::Backward => self.upper = Bound::Excluded(key),
        }
        Ok(Some((key, value)))
    }

    fn give(&mut self, direction: Direction) -> Option<Result<Entry<T>, Error>> {
        if self.ended {
            return None;
        }
        let given = self.advance(direction).transpose();
        self.ended = !matches!(given, Some(Ok(_)));
        given
    }
}

impl<T: Ordered> Iterator for Range<'_, T> {
    type Item = Result<Entry<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.give(Direction::Forward)
    }
}

impl<T: Ordered> DoubleEndedIterator for Range<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.give(Direction::Backward)
    }
}

impl<T: Ordered> std::iter::FusedIterator for Range<'_, T> {}

impl<T: Ordered> std::fmt::Debug for Range<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Range")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

fn above<K: Ord>(key: K, bound: Bound<K>) -> bool {
    match bound {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

fn below<K: Ord>(key: K, bound: Bound<K>) -> bool {
    match bound {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}
