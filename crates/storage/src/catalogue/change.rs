//! Changing the catalogue: declaring tables, journals and areas, and giving them pages.
//!
//! The functions here change the catalogue in memory and return the bytes to store and log, as [`Write`]s.
//! The serial way writes them in its transaction, with their before-images, the multi-level way in a unit of
//! its own.
//!
//! Invariants: a call that fails changes nothing. The writes that a call returns make, on the pages, exactly
//! the catalogue in memory. They are whole or absent there if they are one transaction of the log (I2).

use super::{ADDRESS_END, CatalogueError};
use super::{
    CATALOGUE_PAGES, Catalogue, Definition, DefinitionBytes, EXTENT_PAGES_MAX, Extent, ExtentBytes,
    Kind, Placed,
};
use crate::page::{Address, PAGE_SIZE, PageId};
use std::sync::Arc;
use zerocopy::{FromZeros, Immutable, IntoBytes};

/// The area in which the multi-level way keeps how to undo its running transactions.
pub const UNDO_AREA: &str = ".undo";

/// Bytes of the catalogue to be stored in the pages and logged. All writes that a call returned are
/// one transaction of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// Their place.
    pub address: Address,
    /// The new bytes there; within one page.
    pub bytes: Vec<u8>,
}

impl Write {
    pub(super) fn new(address: Address, value: &(impl IntoBytes + Immutable)) -> Self {
        let bytes = value.as_bytes().to_vec();
        Write { address, bytes }
    }
}

impl Catalogue {
    /// The number of an area, if it is declared.
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if a table or journal has the name.
    pub fn area(&self, name: &str) -> Result<Option<u16>, CatalogueError> {
        self.number_of(&definition(name))
    }

    /// Declares an area, unless it is declared already. Returns its number, and the writes. It has no pages yet. The
    /// store must have all [`Catalogue::pages`] before the writes are stored: at least [`CATALOGUE_PAGES`].
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if a table or journal has the name, [`CatalogueError::Limit`] if it
    /// is too long or there is no room for a definition. The catalogue is then as before.
    #[inline]
    pub fn declare_area(&mut self, name: &str) -> Result<(u16, Vec<Write>), CatalogueError> {
        let definition = definition(name);
        match self.number_of(&definition)? {
            Some(number) => Ok((number, Vec::new())),
            None => self.declare(definition),
        }
    }

    /// The number that the next table, journal or area gets: the first of a dropped one, or a new one.
    pub fn next_number(&self) -> usize {
        self.definitions.next_number()
    }

    /// Declares a definition that is not declared yet. Returns its number, and the writes. It has no pages yet. The
    /// store must have all [`Catalogue::pages`] before the writes are stored: at least [`CATALOGUE_PAGES`].
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if something has its name, or one of [`Definition::check`], or
    /// [`CatalogueError::Limit`] if there is no room for a definition. The catalogue is then as before.
    pub fn declare(&mut self, definition: Definition) -> Result<(u16, Vec<Write>), CatalogueError> {
        definition.check()?;
        if let Some(found) = self.definitions.named(&definition.name) {
            return Err(differs(&self.definitions[usize::from(found)], &definition));
        }
        self.changed(|new| {
            let number = new.next_number();
            new.make_room_for_definition(number)?;
            let life = match definition.kind {
                Kind::Table { .. } if new.is_newer => new.next_life()?,
                _ => 0,
            };
            new.definitions.set(number, definition);
            new.set_life(number, life);
            if new.is_large && new.places.len() <= number {
                new.places.resize(number + 1, Arc::default());
            }
            new.pages = new.pages.max(CATALOGUE_PAGES);
            Ok(number as u16)
        })
    }

    /// Changes the catalogue by `change`, which works on a copy: if it fails nothing has changed. Returns its result, and
    /// the writes.
    pub(super) fn changed<T>(
        &mut self,
        change: impl FnOnce(&mut Catalogue) -> Result<T, CatalogueError>,
    ) -> Result<(T, Vec<Write>), CatalogueError> {
        let mut new = self.clone();
        let result = change(&mut new)?;
        let writes = new.changes_since(self);
        *self = new;
        Ok((result, writes))
    }

    /// The entries that differ from those of the catalogue before, and the root.
    pub(super) fn changes_since(&self, before: &Catalogue) -> Vec<Write> {
        let mut writes = Vec::new();
        let mut numbers = self.definitions.unshared(&before.definitions);
        numbers.extend(self.lives.unshared(&before.lives));
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let entry = |of: &Catalogue| {
                let life = of.lives.get(number).copied().unwrap_or(0);
                of.definitions.get(number).map(|there| there.encode(life))
            };
            let bytes =
                |entry: &Option<DefinitionBytes>| entry.map(|entry| entry.as_bytes().to_vec());
            let (now, was) = (entry(self), entry(before));
            if let Some(entry) = now.filter(|_| bytes(&now) != bytes(&was)) {
                writes.push(Write::new(self.definition_address(number), &entry));
            }
        }
        for place in self.extents.unshared(&before.extents) {
            // Entries of earlier versions are valid in later ones, so only their content is compared.
            let (now, was) = (self.extents.get(place), before.extents.get(place));
            if now.copied().flatten() == was.copied().flatten() {
                continue;
            }
            let entry = match now.copied().flatten() {
                Some(placed) => ExtentBytes::of(self, placed),
                None => ExtentBytes::new_zeroed(),
            };
            writes.push(Write::new(self.extent_address(place), &entry));
        }
        let roots = (self.root(), before.root());
        if roots.0.as_bytes() != roots.1.as_bytes() || self.runs != before.runs {
            writes.push(self.root_write());
        }
        writes
    }

    pub(super) fn set_life(&mut self, number: usize, life: u32) {
        if self.lives.get(number) == Some(&life) {
            return;
        }
        match self.lives.get_mut(number) {
            Some(there) => *there = life,
            None => self.lives.push(life),
        }
    }

    /// The extent that [`Catalogue::extend`] would give, to get the memory for it first.
    ///
    /// # Errors
    /// As [`Catalogue::extend`].
    #[inline]
    pub fn next_extent(&self, number: u16, pages_at_least: u64) -> Result<Extent, CatalogueError> {
        self.next_extent_within(number, pages_at_least, u64::MAX)
    }

    #[inline]
    fn next_extent_within(
        &self,
        number: u16,
        pages_at_least: u64,
        pages_max: u64,
    ) -> Result<Extent, CatalogueError> {
        match self.definitions.get(usize::from(number)).map(|d| d.kind) {
            Some(Kind::Area) => {}
            _ => return Err(CatalogueError::NoArea { number }),
        }
        let so_far: u64 = self.extents_of(number).map(|extent| extent.pages).sum();
        let usual = so_far.clamp(self.extent_pages_min(), EXTENT_PAGES_MAX);
        let there_is = pages_max.saturating_sub(self.pages);
        self.place_of_extent(usual.min(there_is).max(pages_at_least))
    }

    /// Gives an area its next extent. Returns it, and the writes. The extent has as many pages as the area has so far,
    /// between [`Catalogue::extent_pages_min`] and [`EXTENT_PAGES_MAX`], but at least `pages_at_least`. They are zeroes: never
    /// written before. The store must be grown to [`Catalogue::pages`] before they are used.
    ///
    /// # Errors
    /// [`CatalogueError::NoArea`] if it is no area, [`CatalogueError::Limit`] if there is no room for
    /// another extent or the pages cannot be addressed. The catalogue is then as before.
    ///
    /// ```
    /// use sardonyx_storage::store::PageStore;
    /// use sardonyx_storage::catalogue::Catalogue;
    ///
    /// let mut store = PageStore::reserve(1 << 20)?;
    /// let mut catalogue = Catalogue::read(&mut store)?;
    /// let (number, mut writes) = catalogue.declare_area("stock")?;
    /// let (extent, more) = catalogue.extend(number, 20)?;
    /// assert_eq!(extent.pages, 20);
    /// writes.extend(more);
    /// // Stored, and logged as one transaction.
    /// store.grow_to(catalogue.pages)?;
    /// for write in writes {
    ///     let at = write.address.0 as usize;
    ///     store.bytes_mut()[at..][..write.bytes.len()].copy_from_slice(&write.bytes);
    /// }
    /// let read = Catalogue::read(&mut store)?;
    /// assert_eq!(read.area("stock")?, Some(number));
    /// assert!(read.extents_of(number).eq([extent]));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn extend(
        &mut self,
        number: u16,
        pages_at_least: u64,
    ) -> Result<(Extent, Vec<Write>), CatalogueError> {
        self.extend_within(number, pages_at_least, u64::MAX)
    }

    /// Like [`Catalogue::extend`], but the extent has no more pages than requested if the database would
    /// exceed `pages_max` with the usual number. Where memory is scarce, requested pages come first.
    ///
    /// # Errors
    /// As [`Catalogue::extend`].
    #[inline]
    pub fn extend_within(
        &mut self,
        number: u16,
        pages_at_least: u64,
        pages_max: u64,
    ) -> Result<(Extent, Vec<Write>), CatalogueError> {
        let extent = self.next_extent_within(number, pages_at_least, pages_max)?;
        let writes = self.push_extent(number, extent)?;
        Ok((extent, writes))
    }

    /// Gives a table its next extent, of so many pages. Returns it, and the writes. As [`Catalogue::extend`].
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`] if it is no table, or as [`Catalogue::place_of_extent`]. The catalogue
    /// is then as before.
    pub fn extend_table(
        &mut self,
        number: u16,
        pages: u64,
    ) -> Result<(Extent, Vec<Write>), CatalogueError> {
        match self.definitions.get(usize::from(number)).map(|d| d.kind) {
            Some(Kind::Table { .. }) => {}
            _ => return Err(CatalogueError::NoTable { number }),
        }
        let extent = self.place_of_extent(pages)?;
        let writes = self.push_extent(number, extent)?;
        Ok((extent, writes))
    }

    /// Gives an extent behind all pages to a table or area.
    pub(super) fn push_extent(
        &mut self,
        number: u16,
        extent: Extent,
    ) -> Result<Vec<Write>, CatalogueError> {
        let pushed = self.changed(|new| {
            new.make_room_for_extent()?;
            new.place_extent(number, extent);
            new.pages = extent.end();
            Ok(())
        });
        pushed.map(|((), writes)| writes)
    }

    /// Enters an extent for which there is room, as the last one of its owner.
    pub(super) fn place_extent(&mut self, number: u16, extent: Extent) {
        let mut placed = Placed {
            owner: number,
            order: 0,
            extent,
        };
        let of = usize::from(number);
        if !self.is_large || self.definitions.get(of).is_none() {
            self.extents.push(Some(placed));
            return;
        }
        let last = self
            .places
            .get(of)
            .and_then(|places| places.last().copied());
        let last = last.and_then(|place| self.extents[place as usize]);
        placed.order = last.map_or(0, |last| last.order) + 1;
        let place = match Arc::make_mut(&mut self.unused).take_place() {
            Some(place) => {
                self.set_extent(place, Some(placed));
                place
            }
            None => {
                self.extents.push(Some(placed));
                self.extents.len() as u32 - 1
            }
        };
        if let Some(places) = self.places.get_mut(of) {
            Arc::make_mut(places).push(place);
        }
    }

    pub(super) fn set_extent(&mut self, place: u32, placed: Option<Placed>) {
        if let Some(there) = self.extents.get_mut(place as usize) {
            *there = placed;
        }
    }

    /// The number of a definition that is declared already.
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if another one has its name.
    pub fn number_of(&self, declared: &Definition) -> Result<Option<u16>, CatalogueError> {
        let Some(number) = self.definitions.named(&declared.name) else {
            return Ok(None);
        };
        let found = &self.definitions[usize::from(number)];
        if found != declared {
            return Err(differs(found, declared));
        }
        Ok(Some(number))
    }

    /// The next extent, for any table.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`].
    pub fn place_of_extent(&self, pages: u64) -> Result<Extent, CatalogueError> {
        let mut with_room = self.clone();
        with_room.make_room_for_extent()?;
        let end_address = with_room
            .pages
            .saturating_add(pages)
            .saturating_mul(PAGE_SIZE as u64);
        check_limit("the size of all pages in bytes", end_address, ADDRESS_END)?;
        let first_page = PageId(with_room.pages);
        Ok(Extent {
            first_page,
            pages,
            reused: false,
        })
    }
}

/// The definition of an area.
fn definition(name: &str) -> Definition {
    Definition {
        name: name.to_string(),
        record_bytes: 0,
        kind: Kind::Area,
    }
}

fn differs(found: &Definition, declared: &Definition) -> CatalogueError {
    CatalogueError::LayoutDiffers {
        name: declared.name.clone(),
        found: found.describe(),
        declared: declared.describe(),
    }
}

pub(super) fn check_limit(
    what: &'static str,
    value: u64,
    limit: u64,
) -> Result<(), CatalogueError> {
    if value <= limit {
        return Ok(());
    }
    Err(CatalogueError::Limit { what, value, limit })
}
