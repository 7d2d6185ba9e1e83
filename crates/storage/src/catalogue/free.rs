//! Giving extents back, and taking those that are free: tables dropped, emptied at once, renamed.
//!
//! Free extents are entries like others, without an owner. Neighbours become one as soon as they are free. A table
//! that needs pages takes as many as it needs from the smallest free extent that has them. If none has, it takes
//! the largest, unless that is far too small and pages can be added behind all others. Entries stay in their order,
//! so the entries behind a removed one move up.
//!
//! As in `change`, a call that fails has changed nothing, and the writes that a call returns are one transaction.

use super::change::check_limit;
use super::{
    Catalogue, CatalogueError, Definition, EXTENT_PAGES_MIN, EXTENTS_MAX, Extent, ExtentBytes,
    FREE, Kind, LIFE_MAX, Write, sort_by_place,
};
use crate::page::PageId;
use zerocopy::{FromZeros, IntoBytes};

/// A free extent is taken, though it has fewer pages than asked for, if it has this part of them.
const PART_TAKEN: u64 = 4;

impl Catalogue {
    /// The number of the table of this name.
    ///
    /// # Errors
    /// [`CatalogueError::UnknownTable`] if there is none, or it is a journal or an area.
    #[inline]
    pub fn table_named(&self, name: &str) -> Result<u16, CatalogueError> {
        let is_named = |d: &Definition| matches!(d.kind, Kind::Table { .. }) && d.name == name;
        let number = self.definitions.iter().position(is_named);
        let number = number.ok_or_else(|| CatalogueError::UnknownTable {
            name: name.to_string(),
        })?;
        Ok(number as u16)
    }

    /// Raises the version, since programs of version 0.1 would misread the database. Returns the writes.
    pub fn require_newer(&mut self) -> Vec<Write> {
        if self.is_newer {
            return Vec::new();
        }
        self.is_newer = true;
        vec![Write::new(Self::ROOT, &self.root())]
    }

    /// Gives a table's extents back, and the table a new life: it has no pages and no records then. Returns the
    /// bytes to write.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`]; [`CatalogueError::Limit`] if there are no more lives: `compact` gives new ones.
    #[inline]
    pub fn truncate_table(&mut self, number: u16) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        let before = self.clone();
        self.is_newer = true;
        let life = match self.next_life() {
            Ok(life) => life,
            Err(error) => {
                *self = before;
                return Err(error);
            }
        };
        self.lives[usize::from(number)] = life;
        self.free_extents(number);
        Ok(self.changes_since(&before))
    }

    /// Drops a table: its extents are free, and its number can be another one's. Returns the bytes to write.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`].
    #[inline]
    pub fn drop_table(&mut self, number: u16) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        let before = self.clone();
        self.is_newer = true;
        self.free_extents(number);
        let place = usize::from(number);
        self.lives[place] = 0;
        self.definitions[place] = Definition {
            name: String::new(),
            record_bytes: 0,
            kind: Kind::Dropped,
        };
        Ok(self.changes_since(&before))
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
        let is_named = |d: &&Definition| d.kind != Kind::Dropped && d.name == name;
        if let Some(found) = self.definitions.iter().find(is_named) {
            return Err(CatalogueError::LayoutDiffers {
                name: name.to_string(),
                found: found.describe(),
                declared: renamed.describe(),
            });
        }
        let before = self.clone();
        self.definitions[place] = renamed;
        Ok(self.changes_since(&before))
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
        let free = || {
            self.extents
                .iter()
                .enumerate()
                .filter(|(_, (of, _))| *of == FREE)
        };
        let enough = free().filter(|(_, (_, extent))| extent.pages >= pages);
        let smallest = enough.min_by_key(|(_, (_, extent))| extent.pages);
        let found = smallest.or_else(|| free().max_by_key(|(_, (_, extent))| extent.pages));
        let Some((place, &(_, whole))) = found else {
            return Ok(None);
        };
        let is_worth_it = whole.pages >= pages.div_ceil(PART_TAKEN).max(EXTENT_PAGES_MIN);
        if !is_worth_it && !is_last_resort {
            return Ok(None);
        }
        // Without room for one more entry all of it is taken.
        let pages = match self.extents.len() < EXTENTS_MAX {
            true => whole.pages.min(pages),
            false => whole.pages,
        };
        let before = self.clone();
        let taken = Extent { pages, ..whole };
        match whole.pages - pages {
            0 => drop(self.extents.remove(place)),
            rest => {
                let first_page = PageId(whole.first_page.0 + pages);
                self.extents[place].1 = Extent {
                    first_page,
                    pages: rest,
                    reused: true,
                };
            }
        }
        self.extents.push((number, taken));
        Ok(Some((taken, self.changes_since(&before))))
    }

    /// Undoes the last [`Catalogue::declare`], unless it took the place of something dropped.
    pub fn forget_last(&mut self) {
        self.definitions.pop();
        // A transaction that is undone has given no life.
        if let Some(life) = self.lives.pop().filter(|life| *life > 0) {
            self.last_life = life - 1;
        }
        if self.definitions.is_empty() {
            self.pages = 0;
        }
    }

    /// Pages in extents that are free.
    pub fn free_pages(&self) -> u64 {
        let free = self.extents.iter().filter(|(of, _)| *of == FREE);
        free.map(|(_, extent)| extent.pages).sum()
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

    /// Frees a table's extents; free neighbours become one.
    #[inline]
    pub(super) fn free_extents(&mut self, number: u16) {
        for (of, extent) in &mut self.extents {
            if *of == number {
                *of = FREE;
                extent.reused = true;
            }
        }
        let is_free = |(of, _): &&(u16, Extent)| *of == FREE;
        let mut free: Vec<Extent> = self
            .extents
            .iter()
            .filter(is_free)
            .map(|&(_, extent)| extent)
            .collect();
        sort_by_place(&mut free);
        let mut merged: Vec<Extent> = Vec::with_capacity(free.len());
        for extent in free {
            match merged.last_mut() {
                Some(last) if last.end() == extent.first_page.0 => last.pages += extent.pages,
                _ => merged.push(extent),
            }
        }
        // Each stays in the place of the first of its parts.
        self.extents.retain_mut(|(of, extent)| {
            if *of != FREE {
                return true;
            }
            let merged = merged
                .iter()
                .find(|merged| merged.first_page == extent.first_page);
            merged.inspect(|merged| *extent = **merged).is_some()
        });
    }

    /// The entries that differ from those of the catalogue before.
    pub(super) fn changes_since(&self, before: &Catalogue) -> Vec<Write> {
        let mut writes = Vec::new();
        for number in 0..self.definitions.len() {
            let entry = self.definitions[number].encode(self.lives[number]);
            let same = before
                .definitions
                .get(number)
                .is_some_and(|was| was.encode(before.lives[number]).as_bytes() == entry.as_bytes());
            if !same {
                writes.push(Write::new(Self::definition_address(number), &entry));
            }
        }
        for place in 0..self.extents.len().max(before.extents.len()) {
            // Entries of version 1 are valid in version 2, so only their content is compared.
            if self.extents.get(place) == before.extents.get(place) {
                continue;
            }
            let entry = match self.extents.get(place) {
                Some(&(number, extent)) => ExtentBytes::of(self, number, extent),
                None => ExtentBytes::new_zeroed(),
            };
            writes.push(Write::new(Self::extent_address(place), &entry));
        }
        if self.root().as_bytes() != before.root().as_bytes() {
            writes.push(Write::new(Self::ROOT, &self.root()));
        }
        writes
    }
}
