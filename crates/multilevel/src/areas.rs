//! The pages that operations may name: those of the areas that users declared, those of tables that are in use,
//! and no others. The pages of the catalogue and of the undo area, and those of tables that were never used,
//! are the log's owner's. They are refused, so that the locks on pages suffice to touch a page safely.

use crate::pages::{Area, Stop};
use crate::records::memory::TableMemory;
use crate::undo::UNDO_AREA;
use sardonyx_base::hash::IntegerMap;
use sardonyx_rows::RESERVED;
use sardonyx_storage::catalogue::{Catalogue, Definition, Extent, Kind};
use sardonyx_storage::page::PageId;
use std::sync::Arc;

/// The areas at one moment. Areas only grow, so the content of an older one stays right.
#[derive(Debug, Default)]
pub(crate) struct Areas {
    /// By number in the catalogue: the extents with the place of their first page in the area.
    extents: Vec<Option<Vec<(u64, Extent)>>>,
    tables: IntegerMap<u16, Arc<TableMemory>>,
    /// All pages of users' areas, and those of tables that are in use: first and one after the last, ascending.
    runs: Vec<(u64, u64)>,
    /// Pages of the database.
    pages: u64,
}

impl Areas {
    /// The areas of the present catalogue.
    pub fn new(catalogue: &Catalogue, tables: &IntegerMap<u16, Arc<TableMemory>>) -> Areas {
        let mut areas = Areas {
            pages: catalogue.pages,
            tables: tables.clone(),
            ..Areas::default()
        };
        for Definition { name, kind, .. } in &catalogue.definitions {
            let users = match kind {
                Kind::Area => name != UNDO_AREA,
                // The engine's own are its log's owner's.
                Kind::Table { .. } => !name.starts_with(RESERVED),
                Kind::Journal | Kind::Dropped => false,
            };
            areas.extents.push(users.then(Vec::new));
        }
        let numbers = 0..areas.extents.len() as u16;
        for (number, mut extent) in numbers.flat_map(|number| {
            let extents = catalogue.extents_of(number);
            extents.map(move |extent| (number, extent))
        }) {
            let Some(Some(extents)) = areas.extents.get_mut(usize::from(number)) else {
                continue;
            };
            let first = extents
                .last()
                .map_or(0, |(first, last): &(u64, Extent)| first + last.pages);
            if let Some(table) = tables.get(&number) {
                extent.pages = extent.pages.min(table.pages_used().saturating_sub(first));
                if extent.pages == 0 {
                    continue;
                }
            }
            extents.push((first, extent));
            let (from, to) = (extent.first_page.0, extent.first_page.0 + extent.pages);
            areas.runs.push((from, to));
        }
        // Pages that were another table's before are between others.
        areas.runs.sort_unstable();
        areas.runs.dedup_by(|next, run| {
            let follows = run.1 == next.0;
            if follows {
                run.1 = next.1;
            }
            follows
        });
        areas
    }

    fn extents_of(&self, area: Area) -> Result<&[(u64, Extent)], Stop> {
        let number = area.0;
        match self.extents.get(usize::from(number)) {
            Some(Some(extents)) => Ok(extents),
            _ => Err(Stop::NoArea { number }),
        }
    }

    /// The page at a place of an area.
    pub fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        let extents = self.extents_of(area)?;
        let nth = extents.partition_point(|(first, _)| *first <= index);
        if let Some((first, extent)) = nth.checked_sub(1).map(|nth| &extents[nth])
            && index - first < extent.pages
        {
            return Ok(PageId(extent.first_page.0 + index - first));
        }
        Err(Stop::NoPage {
            page: index,
            pages: self.pages_of(area)?,
            of: "area",
        })
    }

    pub fn table(&self, area: Area) -> Option<Arc<TableMemory>> {
        self.tables.get(&area.0).cloned()
    }

    /// The memory of all tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableMemory>> {
        self.tables.values()
    }

    /// The number of an area's pages.
    pub fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        let last = self.extents_of(area)?.last();
        Ok(last.map_or(0, |(first, extent)| first + extent.pages))
    }

    /// Checks that a page belongs to a user's area.
    #[inline]
    pub fn check(&self, page: PageId) -> Result<(), Stop> {
        let nth = self.runs.partition_point(|(_, to)| *to <= page.0);
        match self.runs.get(nth) {
            Some((from, _)) if *from <= page.0 => Ok(()),
            _ => Err(Stop::NoPage {
                page: page.0,
                pages: self.pages,
                of: "database's areas",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a large catalogue an extent may have the place of one that was dropped, before those that its area had already.
    #[test]
    fn an_areas_pages_are_in_the_order_in_which_it_got_them() {
        let mut catalogue = Catalogue::default();
        let table = |number: u32| Definition {
            name: format!("t{number}"),
            record_bytes: 16,
            kind: Kind::Table {
                key_offset: 0,
                key_bytes: 8,
            },
        };
        for number in 0..300 {
            catalogue.declare(table(number)).expect("there is room");
        }
        for number in 0..10 {
            catalogue.extend_table(number, 1).expect("there is room");
        }
        let (area, _) = catalogue.declare_area("area").expect("there is room");
        catalogue.extend(area, 1).expect("there is room");
        // Neighbours, so that an entry is free.
        catalogue.drop_table(3).expect("it is there");
        catalogue.drop_table(4).expect("it is there");
        catalogue.extend(area, 1).expect("there is room");
        let pages: Vec<u64> = catalogue
            .extents_of(area)
            .map(|extent| extent.first_page.0)
            .collect();
        assert!(
            catalogue
                .extents()
                .filter(|(of, _)| *of == area)
                .map(|(_, extent)| extent.first_page.0)
                .ne(pages.clone())
        );
        let areas = Areas::new(&catalogue, &IntegerMap::default());
        let there = areas.extents[usize::from(area)]
            .as_ref()
            .expect("it is a user's");
        let places = there
            .iter()
            .map(|(first, extent)| (*first, extent.first_page.0));
        assert!(places.eq([(0, pages[0]), (1, pages[1])]));
    }
}
