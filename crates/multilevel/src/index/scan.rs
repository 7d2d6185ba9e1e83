//! Reading a range of keys, in either order.
//!
//! The scan locks as it reads: the entries returned, and the gaps between them and to the ends of
//! the range. It does not lock the gap behind the last entry if the limit ended the scan there. So
//! to go on later from behind the last entry is as serializable as to read all at once.

use super::error::{IndexError, damaged};
use super::locks::{GAP, INDEX_KEYS, READ, SCAN, object};
use super::operations::next_object;
use super::{OrderedIndex, space};
use crate::operation::Operation;
use crate::pages::Pages;
use sardonyx_storage::tree::{Intent, Place, find, find_end};
use std::cmp::Ordering;
use std::ops::Bound;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Gets the entries of a range of keys, ascending or descending. All of them are copied out, and
/// their leaves are locked to the end of the operation: read long ranges in pieces, by `limit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan<'a> {
    /// The index to read.
    pub index: OrderedIndex,
    /// The beginning of the range: its smallest keys, in either order.
    pub lower: Bound<&'a [u8]>,
    /// The end of the range.
    pub upper: Bound<&'a [u8]>,
    /// The most entries to get.
    pub limit: usize,
    /// True to begin with the greatest.
    pub descending: bool,
}

impl Scan<'_> {
    /// At most so many entries.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// From the greatest to the smallest.
    #[must_use]
    pub fn descending(mut self) -> Self {
        self.descending = true;
        self
    }

    fn is_empty(&self) -> bool {
        let range = match (self.lower, self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
            (Bound::Included(lower), Bound::Included(upper)) => lower <= upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower < upper,
        };
        self.limit == 0 || !range
    }

    fn reaches_down_to(&self, key: &[u8]) -> bool {
        match self.lower {
            Bound::Included(lower) => lower <= key,
            Bound::Excluded(lower) => lower < key,
            Bound::Unbounded => true,
        }
    }

    fn reaches_up_to(&self, key: &[u8]) -> bool {
        match self.upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        }
    }

    /// The first place of the range, or the first behind it; `None` if the index was never written.
    fn start(&self, pages: &dyn Pages, bound: Bound<&[u8]>) -> Result<Option<Place>, IndexError> {
        let area = self.index.area;
        let upper = self.descending;
        let (key, behind) = match bound {
            Bound::Included(key) => (key, upper),
            Bound::Excluded(key) => (key, !upper),
            Bound::Unbounded if upper => return find_end(pages, area),
            Bound::Unbounded => (&[][..], false),
        };
        let mut place = find(pages, area, key, Intent::Read)?;
        if let Some(place) = place.as_mut().filter(|place| place.found && behind) {
            place.slot += 1;
        }
        Ok(place)
    }

    fn ascend(&self, pages: &mut dyn Pages) -> Result<Vec<Entry>, IndexError> {
        let area = self.index.area;
        let mut entries: Vec<Entry> = Vec::new();
        let mut ahead = self.start(pages, self.lower)?;
        loop {
            let place = match ahead {
                Some(place) => place.settled(pages, area)?,
                None => None,
            };
            let entry = match &place {
                Some(place) => copied(pages, place)?.filter(|(key, _)| self.reaches_up_to(key)),
                None => None,
            };
            let Some(entry) = entry else {
                if !entries
                    .last()
                    .is_some_and(|(key, _)| self.upper == Bound::Included(key))
                {
                    let next = next_object(pages, area, place)?;
                    pages.lock(&INDEX_KEYS, next, GAP)?;
                }
                return Ok(entries);
            };
            let mut place = place.expect("an entry has a place");
            in_order(&place, entries.last(), &entry, Ordering::Less)?;
            let first = self.lower == Bound::Included(&entry.0);
            let mode = if first { READ } else { SCAN };
            pages.lock(&INDEX_KEYS, object(area, Some(&entry.0)), mode)?;
            entries.push(entry);
            if entries.len() == self.limit {
                return Ok(entries);
            }
            place.slot += 1;
            ahead = Some(place);
        }
    }

    fn descend(&self, pages: &mut dyn Pages) -> Result<Vec<Entry>, IndexError> {
        let area = self.index.area;
        let mut entries: Vec<Entry> = Vec::new();
        let behind = self.start(pages, self.upper)?;
        let next = next_object(pages, area, behind.clone())?;
        let mut ahead = behind;
        loop {
            let place = match ahead {
                Some(place) => place.before(pages, area)?,
                None => None,
            };
            let entry = match &place {
                Some(place) => copied(pages, place)?,
                None => None,
            };
            let entry = entry.filter(|(key, _)| self.reaches_down_to(key));
            if entries.is_empty()
                && !entry
                    .as_ref()
                    .is_some_and(|(key, _)| self.upper == Bound::Included(key))
            {
                pages.lock(&INDEX_KEYS, next, GAP)?;
            }
            let (Some(entry), Some(place)) = (entry, place) else {
                return Ok(entries);
            };
            in_order(&place, entries.last(), &entry, Ordering::Greater)?;
            let last = entries.len() + 1 == self.limit || self.lower == Bound::Included(&entry.0);
            let mode = if last { READ } else { SCAN };
            pages.lock(&INDEX_KEYS, object(area, Some(&entry.0)), mode)?;
            entries.push(entry);
            if last {
                return Ok(entries);
            }
            ahead = Some(place);
        }
    }
}

fn copied(pages: &dyn Pages, place: &Place) -> Result<Option<Entry>, IndexError> {
    let entry = place.entry(pages)?;
    Ok(entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
}

/// Refuses an entry that is not behind the one before: in a damaged tree one could go round for
/// ever.
fn in_order(
    place: &Place,
    last: Option<&Entry>,
    entry: &Entry,
    order: Ordering,
) -> Result<(), IndexError> {
    match last {
        Some((last, _)) if last.cmp(&entry.0) != order => {
            Err(damaged(place.leaf, 0, "keys that are not in order"))
        }
        _ => Ok(()),
    }
}

impl Operation for Scan<'_> {
    type Output = Vec<Entry>;
    type Error = IndexError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Vec<Entry>, IndexError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        space::prepare(pages, self.index.area)?;
        if self.descending {
            self.descend(pages)
        } else {
            self.ascend(pages)
        }
    }
}
