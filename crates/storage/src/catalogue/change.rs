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
    CATALOGUE_PAGES, Catalogue, DEFINITIONS_MAX, Definition, EXTENT_PAGES_MAX, EXTENT_PAGES_MIN,
    EXTENTS_MAX, Extent, ExtentBytes, Kind,
};
use crate::page::{Address, PAGE_SIZE, PageId};
use zerocopy::{Immutable, IntoBytes};

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
        let dropped = self
            .definitions
            .iter()
            .position(|d| d.kind == Kind::Dropped);
        dropped.unwrap_or(self.definitions.len())
    }

    /// Declares a definition that is not declared yet. Returns its number, and the writes. It has no pages yet. The
    /// store must have all [`Catalogue::pages`] before the writes are stored: at least [`CATALOGUE_PAGES`].
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if something has its name, or one of [`Definition::check`], or
    /// [`CatalogueError::Limit`] if there is no room for a definition. The catalogue is then as before.
    pub fn declare(&mut self, definition: Definition) -> Result<(u16, Vec<Write>), CatalogueError> {
        definition.check()?;
        let is_named = |d: &&Definition| d.kind != Kind::Dropped && d.name == definition.name;
        if let Some(found) = self.definitions.iter().find(is_named) {
            return Err(differs(found, &definition));
        }
        let number = self.next_number();
        let dropped = Some(number).filter(|number| *number < self.definitions.len());
        let what = "the number of tables, journals and areas";
        check_limit(what, number as u64 + 1, DEFINITIONS_MAX as u64)?;
        let life = match definition.kind {
            Kind::Table { .. } if self.is_newer => self.next_life()?,
            _ => 0,
        };
        let entry = definition.encode(life);
        match dropped {
            Some(number) => {
                self.definitions[number] = definition;
                self.lives[number] = life;
            }
            None => {
                self.definitions.push(definition);
                self.lives.push(life);
            }
        }
        self.pages = self.pages.max(CATALOGUE_PAGES);
        let writes = vec![
            Write::new(Self::definition_address(number), &entry),
            Write::new(Self::ROOT, &self.root()),
        ];
        Ok((number as u16, writes))
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
        let usual = so_far.clamp(EXTENT_PAGES_MIN, EXTENT_PAGES_MAX);
        let there_is = pages_max.saturating_sub(self.pages);
        self.place_of_extent(usual.min(there_is).max(pages_at_least))
    }

    /// Gives an area its next extent. Returns it, and the writes. The extent has as many pages as the area has so far,
    /// between [`EXTENT_PAGES_MIN`] and [`EXTENT_PAGES_MAX`], but at least `pages_at_least`. They are zeroes: never
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
        let writes = self.push_extent(number, extent);
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
        let writes = self.push_extent(number, extent);
        Ok((extent, writes))
    }

    pub(super) fn push_extent(&mut self, number: u16, extent: Extent) -> Vec<Write> {
        let at = Self::extent_address(self.extents.len());
        let entry = ExtentBytes::of(self, number, extent);
        self.extents.push((number, extent));
        self.pages = extent.end();
        vec![Write::new(at, &entry), Write::new(Self::ROOT, &self.root())]
    }

    /// The extents of a table or area, in the order in which it got them.
    pub fn extents_of(&self, number: u16) -> impl Iterator<Item = Extent> + '_ {
        let mine = self.extents.iter().filter(move |(of, _)| *of == number);
        mine.map(|&(_, extent)| extent)
    }

    /// The number of a definition that is declared already.
    ///
    /// # Errors
    /// [`CatalogueError::LayoutDiffers`] if another one has its name.
    pub fn number_of(&self, declared: &Definition) -> Result<Option<u16>, CatalogueError> {
        let mut found = self.definitions.iter();
        let is_named =
            |found: &Definition| found.kind != Kind::Dropped && found.name == declared.name;
        let Some(number) = found.position(is_named) else {
            return Ok(None);
        };
        let found = &self.definitions[number];
        if found != declared {
            return Err(differs(found, declared));
        }
        Ok(Some(number as u16))
    }

    /// The next extent, for any table.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`].
    pub fn place_of_extent(&self, pages: u64) -> Result<Extent, CatalogueError> {
        check_limit(
            "the number of extents",
            self.extents.len() as u64 + 1,
            EXTENTS_MAX as u64,
        )?;
        let end_address = self
            .pages
            .saturating_add(pages)
            .saturating_mul(PAGE_SIZE as u64);
        check_limit("the size of all pages in bytes", end_address, ADDRESS_END)?;
        let first_page = PageId(self.pages);
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
