//! Which pages operations may name: those of the areas that users declared, and no others. The pages
//! of the catalogue, of tables and of the undo area are refused, so that the locks on pages are all
//! that it takes to touch a page safely.

use crate::pages::{Area, Stop};
use crate::undo::UNDO_AREA;
use sardonyx_storage::catalogue::{Catalogue, Extent, Kind};
use sardonyx_storage::page::PageId;

/// The areas at one moment. Areas only grow, so an older one is right in what it has.
#[derive(Debug, Default)]
pub(crate) struct Areas {
    /// By number in the catalogue: the extents with the place of their first page in the area.
    extents: Vec<Option<Vec<(u64, Extent)>>>,
    /// All pages of users' areas: first and one after the last, ascending.
    runs: Vec<(u64, u64)>,
    /// Pages of the database.
    pages: u64,
}

impl Areas {
    /// What the catalogue says now.
    pub fn new(catalogue: &Catalogue) -> Areas {
        let is_users = |name: &str, kind| kind == Kind::Area && name != UNDO_AREA;
        let mut areas = Areas {
            pages: catalogue.pages,
            ..Areas::default()
        };
        for definition in &catalogue.definitions {
            let users = is_users(&definition.name, definition.kind);
            areas.extents.push(users.then(Vec::new));
        }
        for &(number, extent) in &catalogue.extents {
            let Some(extents) = &mut areas.extents[usize::from(number)] else {
                continue;
            };
            let first = extents
                .last()
                .map_or(0, |(first, last): &(u64, Extent)| first + last.pages);
            extents.push((first, extent));
            let (from, to) = (extent.first_page.0, extent.first_page.0 + extent.pages);
            match areas.runs.last_mut() {
                Some(run) if run.1 == from => run.1 = to,
                _ => areas.runs.push((from, to)),
            }
        }
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

    /// How many pages an area has.
    pub fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        let last = self.extents_of(area)?.last();
        Ok(last.map_or(0, |(first, extent)| first + extent.pages))
    }

    /// Whether a page belongs to a user's area.
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
