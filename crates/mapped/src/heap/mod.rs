//! A heap in a segment: allocation and roots by name, transactional by construction.
//!
//! All its state is bytes in the segment, and it is plain serial code on [`Memory`]. The
//! allocations of an aborted transaction never happened, nor did its frees. After a crash the heap
//! is as the last commit left it, without code for any of that.
//!
//! Kept true (and proved by [`Heap::check`]): every page below the high water is of exactly one
//! kind; no two things overlap; no page is lost.
//!
//! Small allocations, up to 2016 bytes, are in slabs (`class`, `slabs`). Larger ones take whole
//! pages (`runs`), so that a large array starts at a page. Sessions that work at the same time
//! should use different arenas ([`Heap::in_arena`]), because two that change one page conflict.

mod check;
mod class;
mod error;
mod layout;
mod map;
mod roots;
mod runs;
mod slabs;

pub use check::Report;
pub use error::HeapError;
pub use layout::ARENAS;
pub use roots::{ROOT_NAME_BYTES_MAX, Root};

use crate::memory::{Memory, MemoryAccess, PlainMemory};
use crate::place::{P, Slice};
use crate::shared::region::GROW_BYTES;
use class::Class;
use layout::{
    BINS, COMMONS, COMMONS_TAG, Commons, FIRST_HEAP_PAGE, Header, PAGE, PAGES_MAX, arena_place,
    commons, page_place,
};
use map::Entry;
use sardonyx_base::resident::{Resident, bytes_of_slice};
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::store::PageStore;

/// A heap: the proof that a memory's header was checked, and the arena to allocate from. It holds
/// nothing else, so it may be copied, sent, and used in every transaction on the same segment.
///
/// ```
/// use sardonyx_mapped::memory::{MemoryAccess, PlainMemory};
/// use sardonyx_mapped::{Heap, P, Resident};
///
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Item { value: u64, next: P<Item> }
///
/// let mut memory = PlainMemory::new(1 << 30)?;
/// let heap = Heap::format(&mut memory)?;
/// let mut first = P::null();
/// for value in 0..3 {
///     first = heap.allocate(&mut memory, &Item { value, next: first })?;
/// }
/// heap.set_root(&mut memory, "list", first, "Item")?;
///
/// let first: P<Item> = heap.root(&memory, "list", "Item")?.unwrap();
/// let second = memory.get(first)?.next;
/// assert_eq!(memory.get(second)?.value, 1);
/// heap.free(&mut memory, second)?;
/// assert!(heap.free(&mut memory, second).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heap {
    arena: u64,
}

/// The uses of a segment's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The memory's length.
    pub memory: u64,
    /// Everything ever handed out, also the heap's own fixed pages; the rest is untouched.
    pub high_water: u64,
    /// Free runs below the high water.
    pub free: u64,
    /// Pages of the arenas, for small things; used or not.
    pub arenas: u64,
    /// The heap's own pages: fixed ones and the map.
    pub own: u64,
    /// Large things and names.
    pub large: u64,
}

impl Heap {
    /// Makes a blank memory a heap. Grows it to 101 pages if it is shorter.
    ///
    /// # Errors
    /// [`HeapError::NotBlank`] if the place of the heap's fixed pages has content (or
    /// [`HeapError::Tables`]), [`HeapError::Grow`] without room.
    pub fn format<M: Memory + ?Sized>(memory: &mut M) -> Result<Heap, HeapError> {
        if let Err(HeapError::Tables) = Header::check(memory) {
            return Err(HeapError::Tables);
        }
        let bytes = (FIRST_HEAP_PAGE + 2) * PAGE;
        let length = bytes.min(memory.bytes().len() as u64);
        let fixed = memory.range(0, length).unwrap_or_default();
        if let Some(at) = fixed.iter().position(|byte| *byte != 0) {
            return Err(HeapError::NotBlank { offset: at as u64 });
        }
        memory.grow_to(bytes)?;
        let commons = Commons {
            tag: COMMONS_TAG,
            high_water: FIRST_HEAP_PAGE,
            free_pages: 0,
            map_pages: 0,
            bins_used: [0; BINS / 64],
            bins: [0; BINS],
        };
        memory.write(COMMONS, commons)?;
        map::ensure_leaves(memory, &[])?;
        let fixed = Entry::Fixed {
            pages: FIRST_HEAP_PAGE,
        };
        map::set_entry(memory, 0, fixed)?;
        roots::format(memory)?;
        let header = memory
            .range_mut(0, size_of::<Header>() as u64)
            .ok_or(HeapError::NotAHeap { found: [0; 8] })?;
        header.copy_from_slice(Header::CURRENT.as_bytes());
        Ok(Heap { arena: 0 })
    }

    /// Opens the heap that a memory holds: checks its header, not all of it (see
    /// [`check`](Self::check)).
    ///
    /// # Errors
    /// [`HeapError::Tables`], [`HeapError::NotAHeap`], [`HeapError::Version`],
    /// [`HeapError::Damaged`].
    pub fn open<M: Memory + ?Sized>(memory: &M) -> Result<Heap, HeapError> {
        Header::check(memory)?;
        commons(memory)?;
        Ok(Heap { arena: 0 })
    }

    /// Opens the heap that a memory holds; makes one if the memory is blank.
    ///
    /// # Errors
    /// As for [`open`](Self::open) and [`format`](Self::format).
    pub fn open_or_format<M: Memory + ?Sized>(memory: &mut M) -> Result<Heap, HeapError> {
        let start = memory.range(0, PAGE.min(memory.bytes().len() as u64));
        let blank = start.is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0));
        match blank {
            true => Heap::format(memory),
            false => Heap::open(memory),
        }
    }

    /// The same heap, allocating from the arena `hint % 64`. A session's number is a good hint.
    pub fn in_arena(self, hint: u64) -> Heap {
        Heap {
            arena: hint % ARENAS,
        }
    }

    /// Allocates a value.
    ///
    /// # Errors
    /// [`HeapError::Grow`] if there is no room, [`HeapError::Damaged`].
    pub fn allocate<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        value: &T,
    ) -> Result<P<T>, HeapError> {
        let place = self
            .allocate_bytes(memory, size_of::<T>() as u64, align_of::<T>() as u64)?
            .cast();
        memory.write(place, *value)?;
        Ok(place)
    }

    /// Allocates copies of consecutive values.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_slice<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        values: &[T],
    ) -> Result<Slice<T>, HeapError> {
        let bytes = size_of_val(values) as u64;
        let place = self.allocate_bytes(memory, bytes, align_of::<T>() as u64)?;
        let room = Slice {
            start: place,
            length: bytes,
        };
        memory
            .slice_mut(room)?
            .copy_from_slice(bytes_of_slice(values));
        Ok(Slice {
            start: place.cast(),
            length: values.len() as u64,
        })
    }

    /// Allocates `length` values of zero bytes.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate); [`HeapError::Impossible`] above 16 TiB.
    pub fn allocate_zeroed<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        length: u64,
    ) -> Result<Slice<T>, HeapError> {
        let bytes = length.saturating_mul(size_of::<T>() as u64);
        let start = self
            .allocate_bytes(memory, bytes, align_of::<T>() as u64)?
            .cast();
        let slice = Slice { start, length };
        memory.slice_mut(slice)?.fill(T::new_zeroed());
        Ok(slice)
    }

    /// Allocates bytes at an alignment, a power of two up to 4096. They hold the earlier bytes
    /// there. Zero bytes take room too, so that every place is another.
    ///
    /// # Errors
    /// [`HeapError::Impossible`] for other alignments and above 16 TiB; else as
    /// [`allocate`](Self::allocate).
    pub fn allocate_bytes<M: Memory + ?Sized>(
        self,
        memory: &mut M,
        bytes: u64,
        align: u64,
    ) -> Result<P<u8>, HeapError> {
        let offset = match Room::of(bytes, align)? {
            Room::Slot(class) => slabs::allocate(memory, self.arena, class)?,
            Room::Pages(pages) => {
                let page = runs::take(memory, pages)?;
                map::set_entry(memory, page, Entry::Run { pages })?;
                page * PAGE
            }
        };
        Ok(P::from_offset(offset))
    }

    /// Frees a value.
    ///
    /// # Errors
    /// [`HeapError::DoubleFree`], [`HeapError::NotAllocated`], [`HeapError::WrongSize`],
    /// [`HeapError::Damaged`].
    pub fn free<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        place: P<T>,
    ) -> Result<(), HeapError> {
        let (bytes, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
        self.free_bytes(memory, place.cast(), bytes, align)
    }

    /// Frees the values of a slice, which must be whole as it was allocated.
    ///
    /// # Errors
    /// As [`free`](Self::free).
    pub fn free_slice<T: Resident, M: Memory + ?Sized>(
        self,
        memory: &mut M,
        slice: Slice<T>,
    ) -> Result<(), HeapError> {
        let bytes = slice.length.saturating_mul(size_of::<T>() as u64);
        self.free_bytes(memory, slice.start.cast(), bytes, align_of::<T>() as u64)
    }

    /// Frees bytes that were allocated with this size and alignment.
    ///
    /// # Errors
    /// As [`free`](Self::free).
    pub fn free_bytes<M: Memory + ?Sized>(
        self,
        memory: &mut M,
        place: P<u8>,
        bytes: u64,
        align: u64,
    ) -> Result<(), HeapError> {
        let offset = place.offset();
        match Room::of(bytes, align)? {
            Room::Slot(class) => match slabs::free(memory, offset, class) {
                Err(HeapError::NotAllocated { offset }) => {
                    Err(large_at(memory, offset, class.slot_bytes())?)
                }
                freed => freed,
            },
            Room::Pages(pages) => {
                if !offset.is_multiple_of(PAGE) {
                    return Err(small_at(memory, offset, pages * PAGE));
                }
                match map::entry(memory, offset / PAGE)? {
                    Entry::Run { pages: run } if run == pages => {
                        runs::give(memory, offset / PAGE, pages)
                    }
                    _ => Err(large_at(memory, offset, pages * PAGE)?),
                }
            }
        }
    }

    /// The uses of its bytes. Reads the commons and the arenas' pages only.
    ///
    /// # Errors
    /// [`HeapError::Damaged`].
    pub fn usage<M: Memory + ?Sized>(self, memory: &M) -> Result<Usage, HeapError> {
        let commons = commons(memory)?;
        let mut arenas = 0u64;
        for arena in 0..ARENAS {
            arenas = arenas.saturating_add(memory.get(arena_place(arena))?.owned_pages);
        }
        let own = FIRST_HEAP_PAGE.saturating_add(commons.map_pages);
        let large = [commons.free_pages, arenas, own]
            .into_iter()
            .try_fold(commons.high_water, u64::checked_sub)
            .ok_or(HeapError::damaged(
                COMMONS.offset(),
                "more pages are used than were handed out",
            ))?;
        Ok(Usage {
            memory: memory.bytes().len() as u64,
            high_water: commons.high_water * PAGE,
            free: commons.free_pages * PAGE,
            arenas: arenas * PAGE,
            own: own * PAGE,
            large: large * PAGE,
        })
    }

    /// Walks everything and proves that each page is of exactly one kind, that nothing overlaps and that nothing is
    /// lost. Takes time and memory in proportion to the segment, and reads all of the heap's own data.
    ///
    /// # Errors
    /// [`HeapError::Damaged`] with the first contradiction; never panics, with any bytes.
    pub fn check<M: Memory + ?Sized>(self, memory: &M) -> Result<Report, HeapError> {
        Header::check(memory)?;
        check::check(memory)
    }

    /// [`check`](Self::check)s the heap in the recovered pages of a database: as many as a segment that is opened on
    /// them would have. `None` if they hold no heap.
    ///
    /// # Errors
    /// [`HeapError::Damaged`] with the first contradiction, [`HeapError::Version`].
    pub fn check_recovered(mut store: PageStore) -> Result<Option<Report>, HeapError> {
        if !Catalogue::is_segment_in(store.bytes()) {
            return Ok(None);
        }
        let opened = (store.bytes().len() as u64).next_multiple_of(GROW_BYTES);
        // Pages that cannot be added are above the high water of everything sound.
        let _ = store.grow_to(opened / PAGE);
        let memory = PlainMemory::from(store);
        Heap::open(&memory)?.check(&memory).map(Some)
    }
}

/// The kind of room of an allocation.
enum Room {
    Slot(Class),
    Pages(u64),
}

impl Room {
    fn of(bytes: u64, align: u64) -> Result<Room, HeapError> {
        let pages = bytes.div_ceil(PAGE).max(1);
        if !align.is_power_of_two() || align > PAGE || pages >= PAGES_MAX {
            return Err(HeapError::Impossible { bytes, align });
        }
        Ok(match Class::of(bytes, align) {
            Some(class) => Room::Slot(class),
            None => Room::Pages(pages),
        })
    }
}

/// Why something of another size or nothing is at a place where pages or a slot were to be freed.
fn large_at<M: Memory + ?Sized>(
    memory: &M,
    offset: u64,
    freed_bytes: u64,
) -> Result<HeapError, HeapError> {
    let at_page = offset.is_multiple_of(PAGE) && offset / PAGE >= FIRST_HEAP_PAGE;
    Ok(match map::entry(memory, offset / PAGE)? {
        Entry::Run { pages } if at_page => HeapError::WrongSize {
            offset,
            allocated_bytes: pages * PAGE,
            freed_bytes,
        },
        Entry::Free { .. } if at_page => HeapError::DoubleFree { offset },
        _ => HeapError::NotAllocated { offset },
    })
}

/// Why something small or nothing is at a place where pages were to be freed.
fn small_at<M: Memory + ?Sized>(memory: &M, offset: u64, freed_bytes: u64) -> HeapError {
    let slab = memory.read(page_place::<layout::Slab>(offset / PAGE));
    let class = slab
        .ok()
        .filter(|slab| slab.tag == layout::slab_tag(offset / PAGE))
        .and_then(|slab| Class::from_number(slab.class))
        .filter(|class| class.slot_at(offset % PAGE).is_some());
    match class {
        Some(class) => HeapError::WrongSize {
            offset,
            allocated_bytes: class.slot_bytes(),
            freed_bytes,
        },
        None => HeapError::NotAllocated { offset },
    }
}
