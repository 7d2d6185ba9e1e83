//! The places in a table's pages with room for a row or a cell, and the uses of its pages.

use super::memory::TableMemory;
use super::room::{PAGES_IN_TURN, Room};
use crate::pages::{Pages, Stop};
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::values::{CLASSES, layout_of};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use smallvec::SmallVec;

/// Pages that are taken into use at once, unless there are fewer to be had.
const PAGES_PER_GROWTH: u64 = 8;

impl TableMemory {
    /// The use of a page. A page that only a snapshot has may name none: it is one of rows.
    #[inline]
    fn kind_of(page: &[u8]) -> PageKind {
        PageUse::of(page).map_or(PageKind::Rows { shape: 0 }, |of| of.kind)
    }

    /// True if a page has rows, and no cells.
    #[inline]
    pub(crate) fn has_rows(page: &[u8]) -> bool {
        matches!(Self::kind_of(page), PageKind::Rows { .. })
    }

    /// The layout of a page of this use; `None` if there is no such size class.
    fn layout_in(&self, kind: PageKind) -> Option<PageLayout> {
        match kind {
            PageKind::Rows { .. } => Some(self.rows.layout),
            PageKind::Values { class } => (usize::from(class) < CLASSES).then(|| layout_of(class)),
        }
    }

    /// A page, which has these bytes, may have room.
    pub fn has_room(&self, page: PageId, bytes: &[u8]) {
        let kind = Self::kind_of(bytes);
        let Some(layout) = self.layout_in(kind) else {
            return;
        };
        let mut room = self.room.lock();
        if layout.vacant(bytes).next().is_some() {
            room.of(kind).list(page);
        }
        if self.has_values() && layout.occupied_from(bytes, 0).is_none() {
            room.empty.list(page);
        }
    }

    /// A free place for a row, or for a cell, its page locked to be written.
    pub fn allocate(&self, pages: &mut dyn Pages, kind: PageKind) -> Result<(PageId, usize), Stop> {
        let layout = self.layout_in(kind).expect("a use that there is");
        let (mut own, mut own_empty) = (0, 0);
        loop {
            let page = match own < PAGES_IN_TURN {
                true => self.room.lock().of(kind).next(),
                false => None,
            };
            if let Some(page) = page {
                let bytes = pages.read_to_write(page)?;
                let is_of_use = Self::kind_of(bytes) == kind;
                if is_of_use && let Some(slot) = layout.vacant(bytes).next() {
                    return Ok((page, slot));
                }
                let may_come_back = pages.is_changed(page);
                own += usize::from(may_come_back);
                self.room.lock().of(kind).is_full(page, may_come_back);
                if !is_of_use {
                    self.has_room(page, bytes);
                }
                continue;
            }
            let empty = match self.has_values() && own_empty < PAGES_IN_TURN {
                true => self.room.lock().empty.next(),
                false => None,
            };
            let Some(page) = empty else {
                if let Some(page) = self.take_pages_into_use(pages)? {
                    self.begin_page(pages, page, kind)?;
                    return Ok((page, 0));
                }
                (own, own_empty) = (0, 0);
                continue;
            };
            let bytes = pages.read_to_write(page)?;
            let there = self.layout_in(Self::kind_of(bytes));
            if there.is_some_and(|layout| layout.occupied_from(bytes, 0).is_none()) {
                self.begin_page(pages, page, kind)?;
                let mut room = self.room.lock();
                room.of(kind).list(page);
                if matches!(kind, PageKind::Rows { .. }) {
                    // For those that insert beside this one.
                    let others = room.empty.first(PAGES_IN_TURN);
                    others.into_iter().for_each(|page| room.of(kind).list(page));
                }
                return Ok((page, 0));
            }
            let may_come_back = pages.is_changed(page);
            own_empty += usize::from(may_come_back);
            self.room.lock().empty.is_full(page, may_come_back);
        }
    }

    /// Gives an empty page this use, unless it has it.
    fn begin_page(&self, pages: &mut dyn Pages, page: PageId, kind: PageKind) -> Result<(), Stop> {
        let bytes = pages.read_to_write(page)?;
        let was = Self::kind_of(bytes);
        if was == kind {
            return Ok(());
        }
        if matches!(was, PageKind::Rows { .. }) && !pages.is_changed(page) {
            // No row will be put into these places, so no later row would remove the entries of their former keys.
            let layout = self.layout();
            for slot in 0..layout.records {
                let place = &bytes[slot * layout.stride..][..layout.stride];
                self.forget(self.hash_that_was(place), layout.record(page, slot));
            }
        }
        let word = word_at(bytes, PAGE_SIZE - 8);
        let word = match PageUse::of_word(word) {
            Some(of) => PageUse { kind, ..of }.word(PageUse::has_sum(word)),
            None => PageUse {
                table: self.number(),
                life: 0,
                kind,
            }
            .word(false),
        };
        let layout = self.layout_in(kind).expect("a use that there is");
        let mut trailer = vec![0; PAGE_SIZE - layout.bitmap_offset];
        let word_at = trailer.len() - size_of::<u64>();
        trailer[word_at..].copy_from_slice(&word.to_le_bytes());
        pages.write_bytes(page, layout.bitmap_offset, &trailer)
    }

    /// Lists pages that were never listed, after taking some into use if none exist; or returns the one page of the
    /// table that is this inverse's. A compensation takes no more pages than it needs, and others none of them, so that
    /// the pages reserved for its transaction suffice (I14).
    fn take_pages_into_use(&self, pages: &mut dyn Pages) -> Result<Option<PageId>, Stop> {
        let known = self.room.lock().known;
        let mut used = pages.pages_of(self.area)?;
        if known >= used {
            if let Some(page) = pages.page_for_inverse(self)? {
                return Ok(Some(page));
            }
            match pages.grow(self.area, used + PAGES_PER_GROWTH) {
                // If little is left, one page suffices.
                Err(Stop::Full { .. }) => pages.grow(self.area, used + 1)?,
                grown => grown?,
            }
            used = pages.pages_of(self.area)?;
        }
        let new = (known..used).map(|index| pages.page(self.area, index));
        let new: SmallVec<[PageId; 16]> = new.collect::<Result<_, _>>()?;
        let mut room = self.room.lock();
        if room.known == known {
            self.list_new(&mut room, &new, used);
        }
        Ok(None)
    }

    /// Lists empty pages: from now on so many pages in use were listed.
    fn list_new(&self, room: &mut Room, new: &[PageId], known: u64) {
        room.known = known;
        let list = match self.has_values() {
            true => &mut room.empty,
            false => room.of(PageKind::Rows { shape: 0 }),
        };
        // The first in front.
        new.iter().rev().for_each(|page| list.list(*page));
    }

    /// Takes one more page into use, by `grow`, and does not list it; those `in_use` that were never listed are. The caller
    /// has the log, so that nothing else takes pages into use meanwhile.
    pub fn list_all_but_next(
        &self,
        in_use: u64,
        page: impl Fn(u64) -> Result<PageId, Stop>,
        grow: impl FnOnce() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut room = self.room.lock();
        let new = (room.known..in_use).map(page);
        let new: SmallVec<[PageId; 16]> = new.collect::<Result<_, _>>()?;
        // Before it exists: a search for pages that were never listed does not find it.
        self.list_new(&mut room, &new, in_use + 1);
        drop(room);
        let grown = grow();
        if grown.is_err() {
            self.room.lock().known = in_use;
        }
        grown
    }
}
