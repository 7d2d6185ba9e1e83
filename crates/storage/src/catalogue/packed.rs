//! The catalogue of a database whose tables were packed: each table in as few pages as its rows take.
//!
//! Areas keep their places, since their content is not known here and may name pages. Tables fill the room around
//! them, one after the other; the rest between areas is free.

use super::free::Unused;
use super::{
    CATALOGUE_PAGES, Catalogue, CatalogueError, Extent, FREE, Kind, Placed, Write, sort_by_place,
};
use crate::page::PageId;
use std::sync::Arc;

impl Catalogue {
    /// The catalogue with the same tables, journals and areas, in which each table has just so many pages. Tables begin
    /// their first life.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`] if that takes more extents than there can be.
    #[inline]
    pub fn packed(&self, pages_of: &dyn Fn(u16) -> u64) -> Result<Catalogue, CatalogueError> {
        let mut packed = Catalogue {
            definitions: self.definitions.clone(),
            pages: self.pages.min(CATALOGUE_PAGES),
            is_newer: self.is_newer,
            ..Catalogue::default()
        };
        packed.lives.resize(self.definitions.len(), 0);
        let mut extents: Vec<(u16, Extent)> = Vec::new();
        let areas = || {
            self.areas().flat_map(|number| {
                let extents = self.extents_of(number);
                extents.map(move |extent| (number, extent))
            })
        };
        let mut fixed: Vec<Extent> = areas().map(|(_, extent)| extent).collect();
        sort_by_place(&mut fixed);
        let mut fixed = fixed.into_iter().peekable();
        // In the order in which each got its own.
        extents.extend(areas());
        let extent = |from: u64, pages: u64, reused: bool| Extent {
            first_page: PageId(from),
            pages,
            reused,
        };
        for (number, definition) in self.definitions.iter().enumerate() {
            let Kind::Table { .. } = definition.kind else {
                continue;
            };
            let mut left = pages_of(number as u16);
            while left > 0 {
                let at = packed.pages;
                let room = fixed.peek().map_or(u64::MAX, |area| area.first_page.0 - at);
                let taken = left.min(room);
                if taken > 0 {
                    extents.push((number as u16, extent(at, taken, false)));
                    packed.pages += taken;
                    left -= taken;
                }
                if taken == room {
                    packed.pages = fixed.next().map_or(packed.pages, |area| area.end());
                }
            }
        }
        for area in fixed {
            let room = area.first_page.0 - packed.pages;
            if room > 0 {
                extents.push((FREE, extent(packed.pages, room, true)));
                packed.is_newer = true;
            }
            packed.pages = area.end();
        }
        if !packed.is_newer {
            extents.sort_by_key(|(_, extent)| extent.first_page);
        }
        for number in 0..packed.definitions.len() {
            packed.make_room_for_definition(number)?;
        }
        for (owner, extent) in extents {
            packed.make_room_for_extent()?;
            packed.extents.push(Some(Placed {
                owner,
                order: 0,
                extent,
            }));
        }
        if packed.is_large {
            packed.places = packed.places_by_owner();
            packed.unused = Arc::new(Unused::of(&packed.extents));
        }
        Ok(packed)
    }

    /// The bytes to write into pages of zeroes, so that they hold this catalogue.
    pub fn whole(&self) -> Vec<Write> {
        self.changes_since(&Catalogue::default())
    }

    /// The numbers of the areas.
    pub fn areas(&self) -> impl Iterator<Item = u16> + '_ {
        let numbered = self.definitions.iter().enumerate();
        let areas = numbered.filter(|(_, definition)| definition.kind == Kind::Area);
        areas.map(|(number, _)| number as u16)
    }
}
