//! The catalogue of a database whose tables were packed: each table in as few pages as its rows take.
//!
//! Areas keep their places, since their content is not known here and may name pages. Tables fill the room around
//! them, one after the other; the rest between areas is free.

use super::change::check_limit;
use super::{
    CATALOGUE_PAGES, Catalogue, CatalogueError, EXTENTS_MAX, Extent, FREE, Kind, Write,
    sort_by_place,
};
use crate::page::PageId;

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
            extents: Vec::new(),
            pages: self.pages.min(CATALOGUE_PAGES),
            lives: vec![0; self.definitions.len()],
            last_life: 0,
            is_newer: self.is_newer,
        };
        let is_area = |number: u16| {
            let definition = self.definitions.get(usize::from(number));
            definition.is_some_and(|definition| definition.kind == Kind::Area)
        };
        let areas = || self.extents.iter().filter(|(number, _)| is_area(*number));
        let mut fixed: Vec<Extent> = areas().map(|(_, extent)| *extent).collect();
        sort_by_place(&mut fixed);
        let mut fixed = fixed.into_iter().peekable();
        // In the order in which each got its own.
        packed.extents.extend(areas());
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
                    packed
                        .extents
                        .push((number as u16, extent(at, taken, false)));
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
                packed
                    .extents
                    .push((FREE, extent(packed.pages, room, true)));
                packed.is_newer = true;
            }
            packed.pages = area.end();
        }
        if !packed.is_newer {
            packed.extents.sort_by_key(|(_, extent)| extent.first_page);
        }
        let count = packed.extents.len() as u64;
        check_limit("the number of extents", count, EXTENTS_MAX as u64)?;
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
