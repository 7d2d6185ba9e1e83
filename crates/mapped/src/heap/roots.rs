//! Roots: places by name, from which everything else in a segment is found.
//!
//! The names are in a chain of pages, the first of them fixed. A page has a header of 32 bytes and
//! records without gaps: 32 bytes and the name, filled to a multiple of 8. A root records its type
//! when it is set, by the hash of a tag that the program chooses, its size and its alignment. So two
//! programs that disagree detect it at once.

use super::error::HeapError;
use super::layout::{FIRST_HEAP_PAGE, NAMES_PAGE, NAMES_TAG, PAGE, page_place};
use super::map::{self, Entry};
use super::{Heap, runs};
use crate::memory::{Memory, MemoryAccess};
use crate::place::P;
use sardonyx_base::hash::Fnv1a;
use sardonyx_base::resident::Resident;

/// The longest name of a root, in bytes of UTF-8.
pub const ROOT_NAME_BYTES_MAX: usize = 255;

/// A page of names starts with this.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct NamesHeader {
    tag: u64,
    /// The next page of the chain; 0 at the end.
    next: u64,
    /// Bytes of records behind the header.
    used_bytes: u64,
    reserved: u64,
}

/// A record starts with this; the name follows.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct Record {
    offset: u64,
    tag_hash: u64,
    type_bytes: u64,
    type_align: u32,
    name_bytes: u16,
    reserved: u16,
}

const HEADER_BYTES: usize = size_of::<NamesHeader>();
const RECORD_BYTES: usize = size_of::<Record>();
const ROOM: usize = PAGE as usize - HEADER_BYTES;

/// A root, as a listing has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// Unique in the segment.
    pub name: String,
    /// The place's offset in bytes.
    pub offset: u64,
    /// The hash of the tag of its type: FNV-1a with 64 bits of the tag's UTF-8.
    pub tag_hash: u64,
    /// Compared with the size that the program's type has.
    pub type_bytes: u64,
    /// The type's alignment in bytes.
    pub type_align: u32,
}

impl Heap {
    /// Sets the root of a name, new or not, to a place. The tag names the type for other programs
    /// and later versions of this one, such as `"ledger.account.v2"`; change it when the type's
    /// meaning changes.
    ///
    /// # Errors
    /// [`HeapError::RootName`]; [`HeapError::Grow`] if there is no room; [`HeapError::Damaged`].
    pub fn set_root<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        name: &str,
        place: P<T>,
        type_tag: &str,
    ) -> Result<(), HeapError> {
        let kind = (type_tag, size_of::<T>() as u64, align_of::<T>() as u32);
        self.set_root_as(memory, name, place.cast(), kind)
    }

    /// As [`set_root`](Self::set_root), for a type that Rust does not know: its tag, its bytes and its
    /// alignment in bytes.
    ///
    /// # Errors
    /// As for [`set_root`](Self::set_root).
    pub fn set_root_as<M: Memory + ?Sized>(
        self,
        memory: &mut M,
        name: &str,
        place: P<u8>,
        (type_tag, type_bytes, type_align): (&str, u64, u32),
    ) -> Result<(), HeapError> {
        if !(1..=ROOT_NAME_BYTES_MAX).contains(&name.len()) {
            return Err(HeapError::RootName { bytes: name.len() });
        }
        let record = Record {
            offset: place.offset(),
            tag_hash: tag_hash(type_tag),
            type_bytes,
            type_align,
            name_bytes: name.len() as u16,
            reserved: 0,
        };
        let search = search(memory, name)?;
        match search.found {
            Some((page, at, _)) => write_at(memory, page, at, record.as_bytes()),
            None => append(memory, &search, &record, name),
        }
    }

    /// The place of a root, `None` if there is no such name.
    ///
    /// # Errors
    /// [`HeapError::RootType`] if it was set as another type; [`HeapError::Damaged`].
    pub fn root<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &M,
        name: &str,
        type_tag: &str,
    ) -> Result<Option<P<T>>, HeapError> {
        let kind = (type_tag, size_of::<T>() as u64, align_of::<T>() as u32);
        let place = self.root_as(memory, name, kind)?;
        Ok(place.map(P::cast))
    }

    /// As [`root`](Self::root), for a type that Rust does not know: its tag, its bytes and its
    /// alignment in bytes.
    ///
    /// # Errors
    /// As for [`root`](Self::root).
    pub fn root_as<M: Memory + ?Sized>(
        self,
        memory: &M,
        name: &str,
        (type_tag, type_bytes, type_align): (&str, u64, u32),
    ) -> Result<Option<P<u8>>, HeapError> {
        let Some((_, _, record)) = search(memory, name)?.found else {
            return Ok(None);
        };
        let stored = (record.tag_hash, record.type_bytes, record.type_align);
        let asked = (tag_hash(type_tag), type_bytes, type_align);
        if stored != asked {
            return Err(HeapError::RootType {
                name: name.to_string(),
                stored,
                asked,
            });
        }
        Ok(Some(P::from_offset(record.offset)))
    }

    /// Removes a root, and says whether it was there. The memory that it led to stays allocated.
    ///
    /// # Errors
    /// [`HeapError::Damaged`].
    pub fn remove_root<M: Memory + ?Sized>(
        self,
        memory: &mut M,
        name: &str,
    ) -> Result<bool, HeapError> {
        let search = search(memory, name)?;
        let Some((page, at, _)) = search.found else {
            return Ok(false);
        };
        let header = names_header(memory, page)?;
        let length = record_bytes(name.len());
        let end = HEADER_BYTES + header.used_bytes as usize;
        let left = header.used_bytes - length as u64;
        if left == 0 && page != NAMES_PAGE {
            if map::entry(memory, page)? != Entry::Names {
                let at = page * PAGE;
                return Err(HeapError::damaged(
                    at,
                    "the map does not know a page of names",
                ));
            }
            let previous: P<NamesHeader> = page_place(search.previous);
            memory.get_mut(previous)?.next = header.next;
            memory.get_mut(page_place::<NamesHeader>(page))?.tag = 0;
            runs::give(memory, page, 1)?;
            return Ok(true);
        }
        memory
            .get_mut(page_place::<[u8; PAGE as usize]>(page))?
            .copy_within(at + length..end, at);
        memory.get_mut(page_place::<NamesHeader>(page))?.used_bytes = left;
        Ok(true)
    }

    /// All roots, in no order.
    ///
    /// # Errors
    /// [`HeapError::Damaged`].
    pub fn roots<M: Memory + ?Sized>(self, memory: &M) -> Result<Vec<Root>, HeapError> {
        let mut roots = Vec::new();
        for page in Chain::new(memory) {
            let page = page?;
            for record in Records::of(memory, page)? {
                let (_, record, name) = record?;
                roots.push(Root {
                    name: name.to_string(),
                    offset: record.offset,
                    tag_hash: record.tag_hash,
                    type_bytes: record.type_bytes,
                    type_align: record.type_align,
                });
            }
        }
        Ok(roots)
    }
}

/// Makes the first page of names.
pub(super) fn format<M: Memory + ?Sized>(memory: &mut M) -> Result<(), HeapError> {
    write_header(memory, NAMES_PAGE)
}

fn write_header<M: Memory + ?Sized>(memory: &mut M, page: u64) -> Result<(), HeapError> {
    let header = NamesHeader {
        tag: NAMES_TAG,
        ..Resident::new_zeroed()
    };
    memory.write(page_place(page), header)?;
    Ok(())
}

/// The pages of names but for the first, and an error instead of an endless chain.
pub(super) fn chained_pages<M: Memory + ?Sized>(memory: &M) -> Result<Vec<u64>, HeapError> {
    Chain::new(memory).skip(1).collect()
}

/// FNV-1a with 64 bits, which programs in other languages can compute too.
fn tag_hash(tag: &str) -> u64 {
    Fnv1a::of(tag.as_bytes())
}

fn record_bytes(name_bytes: usize) -> usize {
    RECORD_BYTES + name_bytes.next_multiple_of(8)
}

/// The place of a name, and a possible one.
struct Search {
    /// Page, offset in it, and record.
    found: Option<(u64, usize, Record)>,
    /// The page before the one where the name is.
    previous: u64,
    /// The first page with room for a record of this name.
    room: Option<u64>,
    /// The last page.
    last: u64,
}

fn search<M: Memory + ?Sized>(memory: &M, name: &str) -> Result<Search, HeapError> {
    let mut search = Search {
        found: None,
        previous: NAMES_PAGE,
        room: None,
        last: NAMES_PAGE,
    };
    for page in Chain::new(memory) {
        let page = page?;
        for record in Records::of(memory, page)? {
            let (at, record, found) = record?;
            if found == name {
                search.previous = search.last;
                search.found = Some((page, at, record));
                return Ok(search);
            }
        }
        let used = names_header(memory, page)?.used_bytes as usize;
        if search.room.is_none() && used + record_bytes(name.len()) <= ROOM {
            search.room = Some(page);
        }
        search.last = page;
    }
    Ok(search)
}

/// Adds a record, on a new page if no other has room.
fn append<M: Memory + ?Sized>(
    memory: &mut M,
    search: &Search,
    record: &Record,
    name: &str,
) -> Result<(), HeapError> {
    let page = match search.room {
        Some(page) => page,
        None => {
            let page = runs::take(memory, 1)?;
            map::set_entry(memory, page, Entry::Names)?;
            write_header(memory, page)?;
            memory.get_mut(page_place::<NamesHeader>(search.last))?.next = page;
            page
        }
    };
    let used = names_header(memory, page)?.used_bytes;
    let at = HEADER_BYTES + used as usize;
    let mut filled = [0; ROOT_NAME_BYTES_MAX.next_multiple_of(8)];
    filled[..name.len()].copy_from_slice(name.as_bytes());
    write_at(memory, page, at, record.as_bytes())?;
    let filled = &filled[..name.len().next_multiple_of(8)];
    write_at(memory, page, at + RECORD_BYTES, filled)?;
    memory.get_mut(page_place::<NamesHeader>(page))?.used_bytes =
        used + record_bytes(name.len()) as u64;
    Ok(())
}

fn write_at<M: Memory + ?Sized>(
    memory: &mut M,
    page: u64,
    at: usize,
    bytes: &[u8],
) -> Result<(), HeapError> {
    let room = memory.range_mut(page * PAGE + at as u64, bytes.len() as u64);
    room.ok_or(HeapError::damaged(
        page * PAGE,
        "a page of names is not within the memory",
    ))?
    .copy_from_slice(bytes);
    Ok(())
}

/// A page's header, whose length may be relied on.
fn names_header<M: Memory + ?Sized>(memory: &M, page: u64) -> Result<NamesHeader, HeapError> {
    let place: P<NamesHeader> = page_place(page);
    match memory.read(place) {
        Ok(header) if header.tag == NAMES_TAG && header.used_bytes <= ROOM as u64 => Ok(header),
        _ => Err(HeapError::damaged(
            place.offset(),
            "the chain of the roots' names leads to what is no page of names",
        )),
    }
}

/// The chain's pages. After an error it ends.
struct Chain<'a, M: Memory + ?Sized> {
    memory: &'a M,
    next: u64,
    /// Pages that may still follow before it must be a ring.
    left: u64,
}

impl<'a, M: Memory + ?Sized> Chain<'a, M> {
    fn new(memory: &'a M) -> Self {
        Chain {
            memory,
            next: NAMES_PAGE,
            left: memory.bytes().len() as u64 / PAGE,
        }
    }
}

impl<M: Memory + ?Sized> Iterator for Chain<'_, M> {
    type Item = Result<u64, HeapError>;

    fn next(&mut self) -> Option<Self::Item> {
        let page = std::mem::take(&mut self.next);
        if page == 0 {
            return None;
        }
        let at = page.saturating_mul(PAGE);
        if self.left == 0 || (page != NAMES_PAGE && page < FIRST_HEAP_PAGE) {
            return Some(Err(HeapError::damaged(
                at,
                "the chain of the roots' names leads back or astray",
            )));
        }
        self.left -= 1;
        Some(names_header(self.memory, page).map(|header| {
            self.next = header.next;
            page
        }))
    }
}

/// The records of a page: offset in the page, record and name. After an error it ends.
struct Records<'a> {
    page: u64,
    /// The page's bytes up to the end of its records.
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    fn of<M: Memory + ?Sized>(memory: &'a M, page: u64) -> Result<Self, HeapError> {
        let header = names_header(memory, page)?;
        let length = HEADER_BYTES as u64 + header.used_bytes;
        let bytes = memory.range(page * PAGE, length).unwrap_or_default();
        Ok(Records {
            page,
            bytes,
            at: HEADER_BYTES,
        })
    }

    fn record(&self) -> Option<(Record, &'a str)> {
        let record = self.bytes.get(self.at..self.at + RECORD_BYTES)?;
        let record: Record = *Record::ref_from_bytes(record)?;
        let name_bytes = usize::from(record.name_bytes);
        let name = self.at + RECORD_BYTES;
        let within = self.at + record_bytes(name_bytes) <= self.bytes.len();
        if !within || !(1..=ROOT_NAME_BYTES_MAX).contains(&name_bytes) {
            return None;
        }
        let name = std::str::from_utf8(&self.bytes[name..name + name_bytes]).ok()?;
        Some((record, name))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(usize, Record, &'a str), HeapError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let at = self.at;
        let Some((record, name)) = self.record() else {
            self.at = self.bytes.len();
            let offset = self.page * PAGE + at as u64;
            return Some(Err(HeapError::damaged(
                offset,
                "a root's record is not one",
            )));
        };
        self.at += record_bytes(name.len());
        Some(Ok((at, record, name)))
    }
}
