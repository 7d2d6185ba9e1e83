//! The catalogue: the tables, journals and areas of a database, and the pages of each table and area. It is in the
//! first pages of the store and is changed by transactions like any other bytes, in every way of running them. The
//! functions that change it (`change`) return the bytes to store and log as [`Write`]s.
//!
//! | pages | content |
//! | --- | --- |
//! | 0 | the root: magic, version, allocated pages, number of definitions and of extents |
//! | 1 to 8 | definitions, 128 bytes each: 256 tables, journals and areas |
//! | 9 to 24 | extents, 32 bytes each: 2048 |
//!
//! The first entry for which these have no room makes the catalogue *large*, and the version 3: the root then names more
//! pages (`more`). Older programs refuse a large catalogue, and open all others.
//!
//! A table's extents grow with it. Each new one has as many pages as the table has so far, between
//! [`EXTENT_PAGES_MIN`] and [`EXTENT_PAGES_MAX`]. So a table of terabytes still has few. Areas grow likewise. In a large
//! catalogue the first extent has one page: there are enough entries, and small tables are many.
//!
//! A table can be dropped, renamed, or emptied at once (`free`). Its extents are then entries without an owner, which
//! other tables take. Nothing is written into their pages. So their contents may be another table's, or this one's of
//! before. A table that was declared or emptied since extents were first free has a *life*, a number that no table had
//! before. Its pages name the life beside the table's number.
//!
//! Invariants: the extents, and the catalogue's own further pages, are all pages behind the first 25, each in exactly one
//! of them. The entries of one table are in the order in which it got them, or have that order beside them if the
//! catalogue is large. Copies share their parts, so that one is kept at each change and in each snapshot.

mod beside;
mod change;
mod definition;
mod definitions;
mod entries;
mod error;
mod extents_of;
mod free;
mod more;
mod packed;
pub mod unfinished;
mod way;

pub use change::{UNDO_AREA, Write};
pub use definition::{Definition, Extent, Kind, check_record_bytes};
pub use definitions::{Definitions, DefinitionsIter};
pub use error::CatalogueError;
pub use extents_of::ExtentsOf;
pub use more::{DEFINITIONS_MAX, EXTENTS_MAX};
pub use way::{NODES_MAGIC, PAGE_SERVER_MAGIC, Way};

use crate::page::{Address, PAGE_SIZE, PageId};
use crate::store::PageStore;
use free::Unused;
use more::{LargeRootBytes, Runs};
use sardonyx_base::parts::Parts;
use sardonyx_base::resident::Resident;
use std::sync::Arc;

/// The most tables, journals and areas together before version 3.
const SHORT_DEFINITIONS: usize = 256;
/// The longest name, in bytes of UTF-8: a schema's of 40, a point, and a table's of 63.
pub const NAME_BYTES_MAX: usize = FIRST_NAME_BYTES + MORE_NAME_BYTES;
/// Bytes of a name at the beginning of its definition.
const FIRST_NAME_BYTES: usize = 48;
/// Bytes of a longer name at the end of its definition.
const MORE_NAME_BYTES: usize = 56;
/// The most extents of all tables and areas together before version 3.
const SHORT_EXTENTS: usize = 2048;
/// Pages of the first extent of a table or area before version 3.
pub const EXTENT_PAGES_MIN: u64 = 16;
/// Pages of an extent at most (1 GiB), unless more are asked for an area at once.
pub const EXTENT_PAGES_MAX: u64 = 1 << 18;
/// The largest record of a table, in bytes. Beside it a page has a word of 8 bytes that marks the present records, and
/// one with the table's number.
pub const RECORD_BYTES_MAX: usize = PAGE_SIZE - 16;
/// Pages at or above this address cannot belong to a table: its index has 43 bits for one.
pub const ADDRESS_END: u64 = 1 << 43;
/// Pages that the catalogue takes at the beginning of the store; a large one has others, too.
pub const CATALOGUE_PAGES: u64 = 25;

const FIRST_DEFINITION_PAGE: u64 = 1;
const FIRST_EXTENT_PAGE: u64 = 9;
const MAGIC: [u8; 8] = *b"SdxTable";

/// The version of a database in which nothing was ever dropped or emptied.
const VERSION: u32 = 1;
/// The version of one that programs of version 0.1 would misread.
const VERSION_NEWER: u32 = 2;
/// The version of one that has more entries than the first 25 pages have room for, or had.
const VERSION_LARGE: u32 = 3;
const KIND_TABLE: u8 = 1;
const KIND_JOURNAL: u8 = 2;
const KIND_AREA: u8 = 3;
const KIND_DROPPED: u8 = 4;
/// The number of whose extents are free.
const FREE: u16 = u16::MAX;
/// The last life; see [`Catalogue::life`].
const LIFE_MAX: u32 = (1 << 23) - 1;

#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct RootBytes {
    magic: [u8; 8],
    version: u32,
    definitions: u32,
    extents: u32,
    /// The last life that was given.
    lives: u32,
    pages: u64,
}

#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct DefinitionBytes {
    /// The first bytes of the name.
    name: [u8; FIRST_NAME_BYTES],
    /// Of the whole name.
    name_bytes: u8,
    kind: u8,
    reserved: [u8; 2],
    record_bytes: u32,
    key_offset: u32,
    key_bytes: u32,
    life: u32,
    /// All bits of the life inverted; 0 if that is 0.
    life_check: u32,
    /// The bytes of the name behind the first ones.
    more_name: [u8; MORE_NAME_BYTES],
}

#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct ExtentBytes {
    /// The number of its table or area.
    of: u32,
    /// 0 if that is a table: its pages name it too. All bits of the number inverted if it is an area: nothing in its
    /// pages would show damage of the number.
    check: u32,
    first_page: u64,
    pages: u64,
    /// See [`entries`]; 0 in a catalogue of version 1.
    flags: u32,
    /// The exclusive or of all words before; 0 in a catalogue of version 1.
    sum: u32,
}

const _: () = assert!(size_of::<DefinitionBytes>() == 128 && size_of::<ExtentBytes>() == 32);
const _: () =
    assert!(SHORT_DEFINITIONS * 128 == 8 * PAGE_SIZE && SHORT_EXTENTS * 32 == 16 * PAGE_SIZE);

/// An extent with its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Placed {
    owner: u16,
    /// Its number among those of its owner, from 1; 0 if it is free, or the catalogue was not large when it was given.
    order: u32,
    extent: Extent,
}

/// The catalogue in memory.
#[derive(Clone, Default)]
pub struct Catalogue {
    /// Tables, journals and areas; their numbers are their places here.
    pub definitions: Definitions,
    /// Pages allocated, the catalogue's own included; 0 before the first definition.
    pub pages: u64,
    /// Extents by the places of their entries; `None` where a large catalogue has an entry of zeroes.
    extents: Parts<Option<Placed>>,
    /// The definitions' lives, by number.
    lives: Parts<u32>,
    last_life: u32,
    /// True if it is of version 2 or 3.
    is_newer: bool,
    /// True if it is of version 3.
    is_large: bool,
    /// The pages of entries beyond the first ones.
    runs: Runs,
    /// If it is large: the places of each definition's extents, in the order in which it got them.
    places: Parts<Arc<Vec<u32>>>,
    /// If it is large: extents that are free, and places of entries.
    unused: Arc<Unused>,
}

impl PartialEq for Catalogue {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from these.
        self.root().as_bytes() == other.root().as_bytes()
            && self.runs == other.runs
            && self.definitions == other.definitions
            && self.lives == other.lives
            && self.extents == other.extents
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let definitions: Vec<_> = self.definitions.iter().zip(&self.lives).collect();
        f.debug_struct("Catalogue")
            .field("root", &self.root())
            .field("runs", &self.runs)
            .field("definitions", &definitions)
            .field("extents", &self.extents.iter().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Catalogue {
    /// The place of the root.
    const ROOT: Address = Address(0);

    /// Its version: 1; 2 if a program of version 0.1 would misread it; 3 if it is large.
    pub fn version(&self) -> u32 {
        match (self.is_large, self.is_newer) {
            (true, _) => VERSION_LARGE,
            (false, true) => VERSION_NEWER,
            (false, false) => VERSION,
        }
    }

    /// Pages of the first extent of a table or area.
    pub fn extent_pages_min(&self) -> u64 {
        if self.is_large { 1 } else { EXTENT_PAGES_MIN }
    }

    /// The life of a table: its pages name it beside the number. 0 for tables that were there before any
    /// extent was free.
    pub fn life(&self, number: u16) -> u32 {
        self.lives.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// The extents of all tables and areas, in the order of their entries.
    pub fn extents(&self) -> impl Iterator<Item = (u16, Extent)> + '_ {
        let there = self.extents.iter().flatten();
        there.map(|placed| (placed.owner, placed.extent))
    }

    /// The same, to be kept while the catalogue changes: without the lists that follow from the rest, since each change would
    /// copy them otherwise.
    pub fn kept(mut self) -> Self {
        self.unused = Arc::default();
        self.definitions.forget_dropped();
        self
    }

    /// A kept one, to be used again.
    pub fn restored(mut self) -> Self {
        if self.is_large {
            self.unused = Arc::new(Unused::of(&self.extents));
        }
        self.definitions.find_dropped();
        self
    }

    /// Bytes of memory that a changed copy takes beside those that it shares.
    #[inline]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.definitions.bytes_of_change()
            + size_of::<Definition>()
            + NAME_BYTES_MAX
            + self.lives.bytes_of_change()
            + self.extents.bytes_of_change()
            + self.places.bytes_of_change()
            + self.unused.bytes()
    }

    fn root(&self) -> RootBytes {
        RootBytes {
            magic: MAGIC,
            version: self.version(),
            definitions: self.definitions.len() as u32,
            extents: self.extents.len() as u32,
            lives: self.last_life,
            pages: self.pages,
        }
    }

    fn root_write(&self) -> Write {
        match self.is_large {
            false => Write::new(Self::ROOT, &self.root()),
            true => Write::new(Self::ROOT, &LargeRootBytes::new(self.root(), self.runs)),
        }
    }

    /// True if pages begin with a catalogue, sound or not.
    pub fn is_in(pages: &[u8]) -> bool {
        pages.starts_with(&MAGIC)
    }

    /// True if they begin with the heap of a segment, which the mapped way made.
    pub fn is_segment_in(pages: &[u8]) -> bool {
        Way::of(pages) == Way::Memory
    }

    /// Reads the catalogue of a store. A store without pages, or whose catalogue is all zeroes, has
    /// an empty one. The store is grown to the pages that are allocated: those never written are
    /// not in the log.
    ///
    /// # Errors
    /// [`CatalogueError::Damaged`], or an error if there is no memory for the pages.
    pub fn read(store: &mut PageStore) -> Result<Catalogue, CatalogueError> {
        if store.pages() == 0 {
            return Ok(Catalogue::default());
        }
        store.grow_to(CATALOGUE_PAGES)?;
        let bytes = &store.bytes()[..CATALOGUE_PAGES as usize * PAGE_SIZE];
        let (root, _) = RootBytes::read_from_prefix(bytes).expect("a page holds a root");
        let wrong = |reason: &str| Err(damaged(Self::ROOT, reason.to_string()));
        match Way::of(bytes) {
            Way::Empty => return Self::read_empty(store),
            Way::Tables if root.as_bytes().iter().all(|&byte| byte == 0) => {
                return wrong("the root is empty, but its definitions or extents are not");
            }
            Way::Tables if root.magic != MAGIC => return wrong("the root's mark is not there"),
            Way::Tables => {}
            way => return Err(CatalogueError::OtherWay { way }),
        }
        if !(VERSION..=VERSION_LARGE).contains(&root.version) {
            let version = root.version;
            return wrong(&format!("an unknown version of the catalogue: {version}"));
        }
        let is_large = root.version == VERSION_LARGE;
        if !is_large
            && (root.definitions as usize > SHORT_DEFINITIONS
                || root.extents as usize > SHORT_EXTENTS)
        {
            return wrong("more entries than there is room for");
        }
        if root.pages > ADDRESS_END / PAGE_SIZE as u64 {
            return wrong("an impossible number of pages");
        }
        let mut catalogue = Catalogue {
            pages: root.pages,
            is_newer: root.version > VERSION,
            is_large,
            last_life: root.lives,
            ..Catalogue::default()
        };
        if root.lives > LIFE_MAX || (root.lives != 0 && !catalogue.is_newer) {
            return wrong("an impossible number of lives");
        }
        if is_large {
            catalogue.read_runs(store, &root)?;
        }
        let bytes = store.bytes();
        catalogue.read_definitions(bytes, root.definitions as usize)?;
        catalogue.read_extents(bytes, root.extents as usize)?;
        if is_large {
            catalogue.places = catalogue.places_by_owner();
            catalogue.check_order()?;
            catalogue.unused = Arc::new(Unused::of(&catalogue.extents));
        }
        if !catalogue.extents_fit() {
            return wrong("the extents do not add up to the number of pages");
        }
        store.grow_to(root.pages)?;
        Ok(catalogue)
    }

    /// The catalogue of pages that list nothing, if there is nothing behind them either.
    fn read_empty(store: &PageStore) -> Result<Catalogue, CatalogueError> {
        match Way::of(store.bytes()) {
            Way::Empty => Ok(Catalogue::default()),
            way => Err(CatalogueError::OtherWay { way }),
        }
    }

    fn read_definitions(&mut self, bytes: &[u8], count: usize) -> Result<(), CatalogueError> {
        for number in 0..count {
            let at = self.definition_address(number);
            let entry: DefinitionBytes = read_entry(bytes, at);
            let (definition, life) = entry.decode().map_err(|reason| damaged(at, reason))?;
            if life > self.last_life {
                return Err(damaged(at, "a life that was never given".into()));
            }
            if definition.kind == Kind::Dropped {
                if !self.is_newer {
                    return Err(damaged(
                        at,
                        "something dropped, which the version has not".into(),
                    ));
                }
            } else if self.definitions.named(&definition.name).is_some() {
                return Err(damaged(at, format!("a second {:?}", definition.name)));
            }
            self.definitions.set(number, definition);
            self.lives.push(life);
        }
        let room = match self.is_large {
            // The run of the next one was perhaps not taken.
            true => count.next_power_of_two().max(SHORT_DEFINITIONS),
            false => SHORT_DEFINITIONS,
        };
        if count < room {
            let next = self.definition_address(count);
            if !is_empty::<DefinitionBytes>(bytes, next) {
                let reason = "a definition that the root does not count";
                return Err(damaged(next, reason.into()));
            }
        }
        Ok(())
    }

    fn read_extents(&mut self, bytes: &[u8], count: usize) -> Result<(), CatalogueError> {
        for place in 0..count {
            let at = self.extent_address(place);
            match self.is_large && is_empty::<ExtentBytes>(bytes, at) {
                true => self.extents.push(None),
                false => self
                    .push_read_extent(read_entry(bytes, at))
                    .map_err(|reason| damaged(at, reason.into()))?,
            }
        }
        Ok(())
    }

    /// Takes in an extent that was read.
    fn push_read_extent(&mut self, entry: ExtentBytes) -> Result<(), &'static str> {
        let (owner, order, reused) = entry.check(self)?;
        let end = entry
            .first_page
            .checked_add(entry.pages)
            .ok_or("an extent beyond the pages")?;
        // In a catalogue of version 1 they are in the order of their pages.
        let last = self.extents.last().copied().flatten();
        let after_last = last.map_or(CATALOGUE_PAGES, |last| last.extent.end());
        let is_next = self.is_newer || entry.first_page == after_last;
        if !is_next || entry.first_page < CATALOGUE_PAGES || entry.pages == 0 || end > self.pages {
            return Err("an extent that overlaps another or lies beyond the pages");
        }
        let extent = Extent {
            first_page: PageId(entry.first_page),
            pages: entry.pages,
            reused,
        };
        self.extents.push(Some(Placed {
            owner,
            order,
            extent,
        }));
        Ok(())
    }

    /// Checks that no two extents of one owner have one number.
    fn check_order(&self) -> Result<(), CatalogueError> {
        let order = |place: u32| self.extents[place as usize].map_or(0, |placed| placed.order);
        for places in &self.places {
            let mut pairs = places.windows(2);
            let same = pairs.find(|pair| order(pair[0]) == order(pair[1]) && order(pair[1]) > 0);
            if let Some(pair) = same {
                let at = self.extent_address(pair[1] as usize);
                return Err(damaged(at, "a second extent with the same order".into()));
            }
        }
        Ok(())
    }

    /// True if every page behind the first ones is in one extent, or the catalogue's own.
    fn extents_fit(&self) -> bool {
        let extents = self.extents.iter().flatten();
        let extents = extents.map(|placed| (placed.extent.first_page.0, placed.extent.end()));
        let mut runs = self.own_runs();
        runs.extend(extents);
        runs.sort_unstable();
        let mut end = CATALOGUE_PAGES;
        for (first, behind) in runs {
            if first != end {
                return false;
            }
            end = behind;
        }
        end == self.pages
    }
}

/// In the order of their pages.
#[inline]
fn sort_by_place(extents: &mut [Extent]) {
    extents.sort_unstable_by_key(|extent| extent.first_page);
}

fn read_entry<T: Resident>(bytes: &[u8], at: Address) -> T {
    let (entry, _) = T::read_from_prefix(&bytes[at.0 as usize..])
        .expect("the entries lie within the catalogue's pages");
    entry
}

fn is_empty<T>(bytes: &[u8], at: Address) -> bool {
    bytes[at.0 as usize..][..size_of::<T>()]
        .iter()
        .all(|&byte| byte == 0)
}

fn damaged(at: Address, reason: String) -> CatalogueError {
    CatalogueError::Damaged {
        page: at.page().0,
        offset: at.offset_in_page(),
        reason,
    }
}
