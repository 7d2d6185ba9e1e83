//! The pages that base pages lag behind on: their list in this view's snapshot, the changes in each of
//! them, and copies of those that the session has looked at.
//!
//! A snapshot, however old, keeps base pages from being brought up to date (I8). The records that they lack stay in the
//! ring, and everybody else has to apply them. No transaction may have to read the whole ring for one page (I13). So a
//! session reads the commits since its last transaction once, when the next one begins. It notes for each page the
//! places of its records. A page that was brought up to date once is kept as a copy, and brought forward at each
//! beginning. All of it costs what is new, never what is old.
//!
//! Bounds: a note of 24 bytes for each run of records on one page, which takes at least 16 in the
//! ring; copies for [`copies_max`] bytes. A page for which there is no copy left is made from the
//! base page and its own records each time.
//!
//! Invariants: the notes are of exactly the records from the ring's folded position to the snapshot, except for pages
//! with a copy. The folded position is as it was when the transaction began; it may be before the snapshot. The session's slot pins these records. A copy
//! is the page as committed in the snapshot. It may outlive the fold of its records, since it is then the same as the
//! base page.
//!
//! Making a page right allocates nothing: the fault handler does it.

use crate::error::SegmentError;
use crate::planted;
use crate::shared::region::Region;
use crate::shared::ring::{Change, Frames, Place, changes, records_at, runs};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use sardonyx_storage::page::PAGE_SIZE;
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

/// The copies of a session take at most this part of the ring's length.
const COPIES_PART: u64 = 2;

/// Copies that are kept in memory for the next time when all are given up.
const COPIES_KEPT: usize = 64;

/// Bits of a note's words that are the page's number.
const PAGE_BITS: u32 = 36;

/// The longest run in words of 8 bytes that one note can tell of.
const RUN_WORDS_MAX: usize = (1 << (64 - PAGE_BITS)) - 1;

/// Bytes of copies that one session may have.
pub(crate) fn copies_max(ring_bytes: u64) -> u64 {
    ring_bytes / COPIES_PART
}

/// Consecutive records on one page.
#[derive(Clone, Copy)]
struct Note {
    /// Their place in the ring, or that of the frame whose records are in the spill area.
    at: u64,
    /// The page; above it, how many words of 8 bytes they take.
    what: u64,
    /// The number, modulo 2³², of the next note on the page; of its first one, if this is the last.
    next: u32,
    /// Their place in the spill area ([`Place::spilled`]).
    spilled: u32,
}

impl Note {
    fn page(self) -> u64 {
        self.what & ((1 << PAGE_BITS) - 1)
    }

    fn bytes(self) -> usize {
        (self.what >> PAGE_BITS) as usize * 8
    }

    fn place(self) -> Place {
        Place {
            at: self.at,
            spilled: self.spilled,
        }
    }
}

/// The knowledge of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// The base page is right.
    Right,
    /// The number of its last note.
    Noted(u64),
    /// The place of its copy.
    Copied(usize),
}

/// The changes that base pages lack in a view's snapshot. See the [module](self).
pub(super) struct Lagging {
    /// An [`Entry`] for each page, and whether the page is in `listed`.
    entries: Words,
    /// Pages with an entry, and some that had one.
    listed: Vec<u64>,
    /// Pages with an entry.
    lagging: usize,
    /// Notes in the order of the ring. Notes on pages that have a copy now are void.
    notes: VecDeque<Note>,
    /// The number of the first note.
    first: u64,
    copies: Copies,
    /// Up to where in the ring everything is noted.
    until: u64,
}

impl Lagging {
    /// For a view of so many pages at most.
    pub fn new(region: &Region) -> Result<Self, SegmentError> {
        Ok(Lagging {
            entries: Words::new(region.pages_max())?,
            listed: Vec::new(),
            lagging: 0,
            notes: VecDeque::new(),
            first: 0,
            copies: Copies::new((copies_max(region.ring_bytes()) / PAGE_SIZE as u64) as usize)?,
            until: 0,
        })
    }

    fn entry(&self, page: u64) -> Entry {
        let word = self.entries.get(page) >> 1;
        match (word >> 1, word & 1) {
            (0, 0) => Entry::Right,
            (number, 0) => Entry::Noted(number - 1),
            (place, _) => Entry::Copied(place as usize),
        }
    }

    fn set(&mut self, page: u64, entry: Entry) {
        let word = match entry {
            Entry::Right => 0,
            Entry::Noted(number) => (number + 1) << 1,
            Entry::Copied(place) => (place as u64) << 1 | 1,
        };
        let listed = self.entries.get(page) & 1;
        self.entries.set(page, word << 1 | listed);
    }

    /// True if the base page may lack records on it.
    #[inline]
    pub fn has(&self, page: u64) -> bool {
        self.entries.get(page) > 1
    }

    /// Brings everything forward to a snapshot. `folded`: up to where base pages are right, at most the
    /// snapshot; the ring is pinned from there on.
    pub fn follow(&mut self, region: &Region, folded: u64, snapshot: u64) {
        if folded >= snapshot || self.until < folded {
            self.clear();
            self.until = folded;
        }
        while let Some(note) = self.notes.front()
            && note.at < folded
        {
            self.forget_first();
        }
        if self.copies.are_full() {
            self.give_up_copies(folded);
        }
        // SAFETY: the caller's session pins the ring from `folded` on, and registered at `snapshot`.
        for frame in unsafe { Frames::new(region, self.until, snapshot) } {
            for (page, run) in runs(frame.records, RUN_WORDS_MAX * 8) {
                let place_of_run = frame.place(run.start);
                match self.entry(page) {
                    Entry::Copied(place) => {
                        let copy = self.copies.page(place);
                        changes(&frame.records[run]).for_each(|change| apply(copy, change));
                        self.copies.changed(place, place_of_run.at);
                    }
                    entry => self.note(page, entry, place_of_run, run.len()),
                }
            }
        }
        self.until = snapshot;
        self.tidy();
    }

    fn note(&mut self, page: u64, entry: Entry, place: Place, bytes: usize) {
        let number = self.first + self.notes.len() as u64;
        let next = match entry {
            Entry::Noted(last) => {
                let last = self.index(last as u32);
                std::mem::replace(&mut self.notes[last].next, number as u32)
            }
            _ => {
                self.list(page);
                number as u32
            }
        };
        self.notes.push_back(Note {
            at: place.at,
            what: page | (bytes as u64 / 8) << PAGE_BITS,
            next,
            spilled: place.spilled,
        });
        self.set(page, Entry::Noted(number));
    }

    /// The page gets an entry.
    fn list(&mut self, page: u64) {
        self.lagging += 1;
        let word = self.entries.get(page);
        if word & 1 == 0 {
            self.entries.set(page, word | 1);
            self.listed.push(page);
        }
    }

    /// The index of a note, by the first note's number.
    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.first as u32) as usize
    }

    /// The base pages have the first note's records.
    fn forget_first(&mut self) {
        let Some(note) = self.notes.pop_front() else {
            return;
        };
        let number = self.first;
        self.first += 1;
        match self.entry(note.page()) {
            Entry::Noted(last) if last == number => {
                self.set(note.page(), Entry::Right);
                self.lagging -= 1;
            }
            Entry::Noted(last) => {
                // The first on its page, so the last one points to it.
                let last = self.index(last as u32);
                self.notes[last].next = note.next;
            }
            _ => (),
        }
    }

    fn give_up_copies(&mut self, folded: u64) {
        for place in 0..self.copies.used {
            let (page, changed) = self.copies.owner(place);
            if self.entry(page) == Entry::Copied(place) && changed < folded {
                self.set(page, Entry::Right);
                self.lagging -= 1;
                self.copies.free.push(place);
            }
        }
    }

    /// Base pages are right.
    fn clear(&mut self) {
        for page in self.listed.drain(..) {
            self.entries.set(page, 0);
        }
        self.lagging = 0;
        self.first += self.notes.len() as u64;
        self.notes.clear();
        self.notes.shrink_to(4096);
        self.copies.clear();
    }

    /// Calls `with` for each page that has an entry.
    pub fn for_each(&mut self, mut with: impl FnMut(&mut Self, u64)) {
        let mut listed = std::mem::take(&mut self.listed);
        listed.retain(|&page| {
            let lags = self.has(page);
            match lags {
                true => with(self, page),
                false => self.entries.set(page, 0),
            }
            lags
        });
        self.listed = listed;
    }

    /// Does away with pages that are listed for nothing, if they are many.
    fn tidy(&mut self) {
        if self.listed.len() > 2 * self.lagging + 1024 {
            self.for_each(|_, _| ());
        }
    }

    /// A page with an entry as it was committed in the snapshot: its copy, which stays where it is until
    /// the next [`Lagging::follow`], or `scratch`.
    pub fn committed(
        &mut self,
        region: &Region,
        page: u64,
        scratch: *mut [u8; PAGE_SIZE],
    ) -> *const u8 {
        let last = match self.entry(page) {
            Entry::Copied(place) => return self.copies.page(place).cast(),
            Entry::Noted(last) => last,
            Entry::Right => return region.base(page),
        };
        let place = self.copies.take();
        let made = place.map_or(scratch, |place| self.copies.page(place));
        // SAFETY: a base page exists for each mapped page, and `made` is a page that the caller, or this, has alone.
        // The base page may be changed at the same time, by records that are applied here anyway: with any mixture
        // copied, the result is the same.
        unsafe { ptr::copy_nonoverlapping(region.base(page), made.cast(), PAGE_SIZE) };
        let mut index = self.index(self.notes[self.index(last as u32)].next);
        loop {
            let note = self.notes[index];
            planted::look(note.bytes());
            // SAFETY: the session's slot pins the ring from where notes are on, and these bytes were
            // published.
            let run = unsafe { records_at(region, note.place(), note.bytes()) };
            changes(run).for_each(|change| apply(made, change));
            if index == self.index(last as u32) {
                if let Some(place) = place {
                    self.copies.give(place, page, note.at);
                    self.set(page, Entry::Copied(place));
                }
                return made.cast();
            }
            index = self.index(note.next);
        }
    }
}

/// Applies a change to a page that the caller has alone.
fn apply(page: *mut [u8; PAGE_SIZE], change: Change<'_>) {
    assert!(change.offset + change.bytes.len() <= PAGE_SIZE);
    // SAFETY: within the page; the caller has it alone, and the bytes are the ring's.
    unsafe {
        let to = page.cast::<u8>().add(change.offset);
        ptr::copy_nonoverlapping(change.bytes.as_ptr(), to, change.bytes.len());
    }
}

/// Memory for copies of pages, which stay where they are.
struct Copies {
    memory: Mapping,
    /// For each place: its page, and where in the ring the last change of it is.
    owners: Words,
    places: usize,
    /// Places ever given out.
    used: usize,
    /// Places given back.
    free: Vec<usize>,
}

impl Copies {
    fn new(places: usize) -> Result<Self, SegmentError> {
        Ok(Copies {
            memory: Mapping::new(places * PAGE_SIZE)?,
            owners: Words::new(2 * places as u64)?,
            places,
            used: 0,
            free: Vec::new(),
        })
    }

    fn are_full(&self) -> bool {
        self.used == self.places && self.free.is_empty()
    }

    fn take(&mut self) -> Option<usize> {
        if let Some(place) = self.free.pop() {
            return Some(place);
        }
        (self.used < self.places).then(|| {
            self.used += 1;
            self.used - 1
        })
    }

    fn page(&self, place: usize) -> *mut [u8; PAGE_SIZE] {
        assert!(place < self.places);
        // SAFETY: within the mapping.
        unsafe { self.memory.start.as_ptr().add(place * PAGE_SIZE).cast() }
    }

    fn give(&mut self, place: usize, page: u64, at: u64) {
        self.owners.set(2 * place as u64, page);
        self.changed(place, at);
    }

    fn changed(&mut self, place: usize, at: u64) {
        self.owners.set(2 * place as u64 + 1, at);
    }

    fn owner(&self, place: usize) -> (u64, u64) {
        let word = |n: usize| self.owners.get((2 * place + n) as u64);
        (word(0), word(1))
    }

    fn clear(&mut self) {
        if self.used > COPIES_KEPT {
            let bytes = (self.used - COPIES_KEPT) * PAGE_SIZE;
            // SAFETY: private memory of our own, whose content is not needed. If the kernel refuses, it
            // stays.
            let _ = unsafe {
                let start = self.memory.start.as_ptr().add(COPIES_KEPT * PAGE_SIZE);
                rustix::mm::madvise(start.cast(), bytes, Advice::LinuxDontNeed)
            };
        }
        self.used = 0;
        self.free.clear();
    }
}

/// Words of sparse memory, zero at first.
struct Words {
    memory: Mapping,
    count: u64,
}

impl Words {
    fn new(count: u64) -> Result<Self, SegmentError> {
        let memory = Mapping::new(count as usize * 8)?;
        Ok(Words { memory, count })
    }

    #[inline]
    fn get(&self, n: u64) -> u64 {
        assert!(n < self.count, "{n} has a word");
        // SAFETY: within the mapping, which is zeroed and aligned.
        unsafe { self.memory.start.cast::<u64>().add(n as usize).read() }
    }

    #[inline]
    fn set(&mut self, n: u64, word: u64) {
        assert!(n < self.count, "{n} has a word");
        // SAFETY: as in `get`; borrowed exclusively.
        unsafe { self.memory.start.cast::<u64>().add(n as usize).write(word) };
    }
}

/// Private memory that takes none before it is touched. A forked child has a copy of it.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize) -> Result<Self, SegmentError> {
        let bytes = bytes.max(PAGE_SIZE);
        let refused = SegmentError::system("reserve memory for what base pages lack");
        let (protection, flags) = (
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        );
        // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags) }
                .map_err(&refused)?;
        let start = NonNull::new(start.cast()).ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        Ok(Mapping { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this for us alone.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests;
