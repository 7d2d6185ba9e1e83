//! Pages without an engine: no locks, no log, no other transaction. For testing operations.

use crate::pages::{Area, Change, Page, Pages, Stop, checked};
use sardonyx_lock::{LockSpace, Mode};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use std::ops::Range;

/// Pages in memory. Every lock is granted; every change of a quantity within its bounds is admitted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlainPages {
    pages: Vec<Page>,
    areas: Vec<Vec<PageId>>,
}

impl PlainPages {
    /// No area and no page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an area of so many pages.
    ///
    /// # Panics
    /// Beyond 65,536 areas.
    pub fn area(&mut self, pages: u64) -> Area {
        let area = Area(u16::try_from(self.areas.len()).expect("at most 65,536 areas"));
        self.areas.push(Vec::new());
        self.grow(area, pages).expect("the area is there");
        area
    }

    fn pages_in(&self, area: Area) -> Result<&Vec<PageId>, Stop> {
        let number = area.0;
        let pages = self.areas.get(usize::from(number));
        pages.ok_or(Stop::NoArea { number })
    }

    fn check(&self, page: PageId) -> Result<usize, Stop> {
        let pages = self.pages.len() as u64;
        if page.0 < pages {
            return Ok(page.0 as usize);
        }
        let (page, of) = (page.0, "database");
        Err(Stop::NoPage { page, pages, of })
    }
}

impl Pages for PlainPages {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        let pages = self.pages_in(area)?;
        let found = usize::try_from(index).ok().and_then(|i| pages.get(i));
        found.copied().ok_or(Stop::NoPage {
            page: index,
            pages: pages.len() as u64,
            of: "area",
        })
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        Ok(self.pages_in(area)?.len() as u64)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        while self.pages_of(area)? < pages {
            self.areas[usize::from(area.0)].push(PageId(self.pages.len() as u64));
            self.pages.push([0; PAGE_SIZE]);
        }
        Ok(())
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        Ok(&self.pages[self.check(page)?])
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.read(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        let page = self.check(page)?;
        Ok(&mut self.pages[page][checked(range)?])
    }

    fn lock(&mut self, space: &'static LockSpace, _: u64, mode: Mode) -> Result<(), Stop> {
        assert!(
            usize::from(mode.0) < space.matrix().modes(),
            "the lock space {:?} has no mode {}",
            space.name(),
            mode.0
        );
        Ok(())
    }

    fn reserve(&mut self, _: &'static LockSpace, _: u64, change: Change) -> Result<(), Stop> {
        let Change {
            value,
            change,
            low,
            high,
        } = change;
        match value.checked_add(change) {
            Some(sum) if (low..=high).contains(&sum) => Ok(()),
            _ => Err(Stop::Bounds {
                value,
                change,
                low,
                high,
            }),
        }
    }
}
