//! Giving extents back, and taking those that are free: tables dropped, emptied at once, renamed.
//!
//! Free extents are entries like others, without an owner. Neighbours become one as soon as they are free. A table
//! that needs pages takes as many as it needs from the smallest free extent that has them. If none has, it takes
//! the largest, unless that is far too small and pages can be added behind all others. Entries stay in their order,
//! so the entries behind a removed one move up. In a large catalogue they do not: a removed one becomes zeroes, and
//! another one's later ([`Unused`]).
//!
//! As in `change`, a call that fails has changed nothing, and the writes that a call returns are one transaction.

use super::change::check_limit;
use super::{
    Catalogue, CatalogueError, Definition, Extent, FREE, Kind, LIFE_MAX, Placed, Write,
    sort_by_place,
};
use crate::page::PageId;
use sardonyx_base::parts::Parts;
use std::sync::Arc;

/// A free extent is taken, though it has fewer pages than asked for, if it has this part of them.
const PART_TAKEN: u64 = 4;

/// The free extents of a large catalogue, and the places of its entries that are zeroes. It follows from the entries.
///
/// Each change of a shared one copies it: 20 bytes for each free extent, which are few, since neighbours are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    /// First page, pages, place; in the order of the pages.
    free: Vec<(u64, u64, u32)>,
    vacant: Vec<u32>,
}

impl Unused {
    pub fn of(extents: &Parts<Option<Placed>>) -> Self {
        let mut unused = Unused::default();
        for (place, placed) in extents.iter().enumerate() {
            match placed {
                None => unused.vacant.push(place as u32),
                Some(Placed { owner, extent, .. }) if *owner == FREE => {
                    let (first, pages) = (extent.first_page.0, extent.pages);
                    unused.free.push((first, pages, place as u32));
                }
                Some(_) => {}
            }
        }
        unused.free.sort_unstable();
        unused.vacant.reverse();
        unused
    }

    pub fn has_place(&self) -> bool {
        !self.vacant.is_empty()
    }

    pub fn take_place(&mut self) -> Option<u32> {
        self.vacant.pop()
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.free) + size_of_val(&*self.vacant)
    }
}

impl Catalogue {
    /// The number of the table of this name.
    ///
    /// # Errors
    /// [`CatalogueError::UnknownTable`] if there is none, or it is a journal or an area.
    #[inline]
    pub fn table_named(&self, name: &str) -> Result<u16, CatalogueError> {
        let number = self.definitions.named(name);
        let number = number.filter(|number| self.check_table(*number).is_ok());
        number.ok_or_else(|| CatalogueError::UnknownTable {
            name: name.to_string(),
        })
    }

    /// Raises the version, since programs of version 0.1 would misread the database. Returns the writes.
    pub fn require_newer(&mut self) -> Vec<Write> {
        if self.is_newer {
            return Vec::new();
        }
        self.is_newer = true;
        vec![self.root_write()]
    }

    /// Gives a table's extents back, and the table a new life: it has no pages and no records then. Returns the
    /// bytes to write.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`]; [`CatalogueError::Limit`] if there are no more lives: `compact` gives new ones.
    #[inline]
    pub fn truncate_table(&mut self, number: u16) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        let emptied = self.changed(|new| {
            new.is_newer = true;
            let life = new.next_life()?;
            new.set_life(usize::from(number), life);
            new.free_extents(number);
            Ok(())
        });
        emptied.map(|((), writes)| writes)
    }

    /// Drops a table: its extents are free, and its number can be another one's. Returns the bytes to write.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`].
    #[inline]
    pub fn drop_table(&mut self, number: u16) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        let dropped = self.changed(|new| {
            new.is_newer = true;
            new.free_extents(number);
            new.forget_definition(number);
            Ok(())
        });
        dropped.map(|((), writes)| writes)
    }

    /// The number of a table without extents is free.
    pub(super) fn forget_definition(&mut self, number: u16) {
        let dropped = Definition {
            name: String::new(),
            record_bytes: 0,
            kind: Kind::Dropped,
        };
        self.definitions.set(usize::from(number), dropped);
        self.set_life(usize::from(number), 0);
    }

    /// Gives a table another name. Returns the writes.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`], [`CatalogueError::LayoutDiffers`] if something has the name,
    /// [`CatalogueError::Limit`] if it is too long.
    #[inline]
    pub fn rename_table(&mut self, number: u16, name: &str) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        let place = usize::from(number);
        let mut renamed = self.definitions[place].clone();
        renamed.name = name.to_string();
        renamed.check()?;
        if let Some(found) = self.definitions.named(name) {
            return Err(CatalogueError::LayoutDiffers {
                name: name.to_string(),
                found: self.definitions[usize::from(found)].describe(),
                declared: renamed.describe(),
            });
        }
        let renaming = self.changed(|new| {
            new.definitions.set(place, renamed);
            Ok(())
        });
        renaming.map(|((), writes)| writes)
    }

    /// Gives a table free pages as its next extent, at most so many. Returns the extent, and the bytes to write;
    /// `None` if no free pages are worth taking. If pages beyond all others cannot be had (`is_last_resort`), any are.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`].
    pub fn extend_table_by_free(
        &mut self,
        number: u16,
        pages: u64,
        is_last_resort: bool,
    ) -> Result<Option<(Extent, Vec<Write>)>, CatalogueError> {
        self.check_table(number)?;
        let free = self.free_extents_there();
        let enough = free.iter().filter(|(_, whole)| whole.pages >= pages);
        let smallest = enough.min_by_key(|(_, whole)| whole.pages);
        let largest = || free.iter().max_by_key(|(_, whole)| whole.pages);
        let Some(&(place, whole)) = smallest.or_else(largest) else {
            return Ok(None);
        };
        let is_worth_it = whole.pages >= pages.div_ceil(PART_TAKEN).max(self.extent_pages_min());
        if !is_worth_it && !is_last_resort {
            return Ok(None);
        }
        let taking = self.changed(|new| {
            // Without room for one more entry all of it is taken; also if the entry would take pages that there may not be.
            let mut with_room = new.clone();
            let has_room = with_room.make_room_for_extent().is_ok()
                && (!is_last_resort || with_room.pages == new.pages);
            let pages = match has_room {
                true => whole.pages.min(pages),
                false => whole.pages,
            };
            let rest = whole.pages - pages;
            if rest > 0 {
                *new = with_room;
            }
            new.take_free(place, pages);
            let taken = Extent { pages, ..whole };
            new.place_extent(number, taken);
            Ok(taken)
        });
        taking.map(Some)
    }

    /// Extents that are free, with the places of their entries.
    fn free_extents_there(&self) -> Vec<(usize, Extent)> {
        let mut free = Vec::new();
        match self.is_large {
            true => {
                for &(first, pages, place) in &self.unused.free {
                    free.push((place as usize, free_extent(first, pages)));
                }
            }
            false => {
                for (place, placed) in self.extents.iter().enumerate() {
                    if let Some(placed) = placed.filter(|placed| placed.owner == FREE) {
                        free.push((place, placed.extent));
                    }
                }
            }
        }
        free
    }

    /// Pages in extents that are free.
    pub fn free_pages(&self) -> u64 {
        let free = self.free_extents_there();
        free.iter().map(|(_, free)| free.pages).sum()
    }

    /// Takes so many of the first pages of a free extent.
    fn take_free(&mut self, place: usize, pages: u64) {
        let Some(Some(whole)) = self.extents.get(place).copied() else {
            return;
        };
        let rest = (whole.extent.pages > pages).then(|| Placed {
            extent: free_extent(
                whole.extent.first_page.0 + pages,
                whole.extent.pages - pages,
            ),
            ..whole
        });
        if self.is_large {
            let unused = Arc::make_mut(&mut self.unused);
            let mut there = unused.free.iter();
            let at = there.position(|(_, _, of)| *of as usize == place);
            match (at, rest) {
                (Some(at), Some(rest)) => {
                    let extent = rest.extent;
                    unused.free[at] = (extent.first_page.0, extent.pages, place as u32);
                }
                (Some(at), None) => {
                    unused.free.remove(at);
                    unused.vacant.push(place as u32);
                }
                (None, _) => {}
            }
        }
        match (rest, self.is_large) {
            (None, false) => {
                let others = self.extents.iter().enumerate();
                let others = others.filter(|(other, _)| *other != place);
                self.extents = others.map(|(_, placed)| *placed).collect();
            }
            (rest, _) => self.set_extent(place as u32, rest),
        }
    }

    /// The next life; see [`Catalogue::life`].
    pub(super) fn next_life(&mut self) -> Result<u32, CatalogueError> {
        let life = u64::from(self.last_life) + 1;
        check_limit(
            "the number of tables that were emptied or declared",
            life,
            LIFE_MAX.into(),
        )?;
        self.last_life = life as u32;
        Ok(self.last_life)
    }

    pub(super) fn check_table(&self, number: u16) -> Result<(), CatalogueError> {
        match self.definitions.get(usize::from(number)).map(|d| d.kind) {
            Some(Kind::Table { .. }) => Ok(()),
            _ => Err(CatalogueError::NoTable { number }),
        }
    }

    /// The places of the extents of a table or area, in the order in which it got them.
    #[inline]
    pub(super) fn places_of(&self, number: u16) -> Vec<u32> {
        if self.is_large {
            let places = self.places.get(usize::from(number));
            return places.map(|places| places.to_vec()).unwrap_or_default();
        }
        let all = self.extents.iter().enumerate();
        let mine = all.filter(|(_, placed)| placed.is_some_and(|placed| placed.owner == number));
        mine.map(|(place, _)| place as u32).collect()
    }

    /// Frees a table's extents; free neighbours become one.
    #[inline]
    pub(super) fn free_extents(&mut self, number: u16) {
        let places = self.places_of(number);
        if self.is_large {
            if let Some(of) = self.places.get_mut(usize::from(number)) {
                *of = Arc::default();
            }
            return places.into_iter().for_each(|place| self.free_place(place));
        }
        for place in places {
            if let Some(placed) = self.extents[place as usize] {
                let (owner, mut extent) = (FREE, placed.extent);
                extent.reused = true;
                let free = Placed {
                    owner,
                    extent,
                    ..placed
                };
                self.set_extent(place, Some(free));
            }
        }
        let free = self.free_extents_there();
        let mut free: Vec<Extent> = free.into_iter().map(|(_, free)| free).collect();
        sort_by_place(&mut free);
        let mut merged: Vec<Extent> = Vec::with_capacity(free.len());
        for extent in free {
            match merged.last_mut() {
                Some(last) if last.end() == extent.first_page.0 => last.pages += extent.pages,
                _ => merged.push(extent),
            }
        }
        // Each stays in the place of the first of its parts.
        let kept = self.extents.iter().filter_map(|placed| match placed {
            Some(free) if free.owner == FREE => {
                let mut merged = merged.iter();
                let merged = merged.find(|merged| merged.first_page == free.extent.first_page)?;
                let extent = *merged;
                Some(Some(Placed { extent, ..*free }))
            }
            other => Some(*other),
        });
        self.extents = kept.collect();
    }

    /// Frees the extent at a place of a large catalogue. It becomes one with free neighbours.
    #[inline]
    fn free_place(&mut self, place: u32) {
        let Some(placed) = self.extents[place as usize] else {
            return;
        };
        let (mut first, mut end) = (placed.extent.first_page.0, placed.extent.end());
        let (mut kept, mut left_over) = (place, Vec::new());
        let unused = Arc::make_mut(&mut self.unused);
        let mut at = unused.free.partition_point(|(other, ..)| *other < first);
        if let Some(&(after, pages, other)) = unused.free.get(at)
            && after == end
        {
            unused.free.remove(at);
            end += pages;
            left_over.push(other);
        }
        if let Some(before) = at.checked_sub(1)
            && let (other_first, pages, other) = unused.free[before]
            && other_first + pages == first
        {
            unused.free.remove(before);
            left_over.push(kept);
            (at, first, kept) = (before, other_first, other);
        }
        unused.free.insert(at, (first, end - first, kept));
        unused.vacant.extend(&left_over);
        for place in left_over {
            self.set_extent(place, None);
        }
        let free = Placed {
            owner: FREE,
            order: 0,
            extent: free_extent(first, end - first),
        };
        self.set_extent(kept, Some(free));
    }
}

fn free_extent(first_page: u64, pages: u64) -> Extent {
    Extent {
        first_page: PageId(first_page),
        pages,
        reused: true,
    }
}
