//! The pages of a snapshot as an operation sees them: those that inverses changed, which are the snapshot's
//! own, and the frozen ones, copied when they are read. Only the inverses of transactions that ran when the
//! snapshot was taken may change anything; every lock is granted, since it has no other user.

use super::Frozen;
use super::copies::Copies;
use crate::pages::{Area, Change, Page, Pages, Stop, checked};
use crate::records::memory::TableMemory;
use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::{Asker, LockSpace, Mode, Modes, Owner, PAGES, Resource, SHARED};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageRead, SnapshotEnded};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// The pages that are a snapshot's own.
#[derive(Debug)]
pub(super) struct Private {
    pages: IntegerMap<u64, Box<Page>>,
    /// By area: pages that it got by inverses.
    grown: IntegerMap<u16, Vec<PageId>>,
    /// The number of the next such page, which the frozen ones do not have.
    next: u64,
}

impl Private {
    /// No copies, behind so many frozen pages.
    pub fn behind(pages: u64) -> Self {
        Private {
            pages: IntegerMap::default(),
            grown: IntegerMap::default(),
            next: pages,
        }
    }

    fn grown(&self, area: Area) -> &[PageId] {
        self.grown.get(&area.0).map_or(&[], Vec::as_slice)
    }
}

/// The kind of access to them.
enum Had<'s> {
    ToRead(&'s Private),
    ToChange(&'s mut Private),
}

impl<'s> From<&'s Private> for Had<'s> {
    fn from(private: &'s Private) -> Self {
        Had::ToRead(private)
    }
}

impl<'s> From<&'s mut Private> for Had<'s> {
    fn from(private: &'s mut Private) -> Self {
        Had::ToChange(private)
    }
}

/// The pages.
pub(super) struct View<'s> {
    frozen: &'s Frozen,
    private: Had<'s>,
    copies: Copies,
    /// The locker of pages to read, once one has to be locked.
    reader: Cell<Option<u64>>,
    ended: Cell<bool>,
}

impl<'s> View<'s> {
    #[expect(private_bounds, reason = "how they are had is this module's business")]
    pub fn of(frozen: &'s Frozen, private: impl Into<Had<'s>>) -> Self {
        View {
            frozen,
            private: private.into(),
            copies: Copies::default(),
            reader: Cell::new(None),
            ended: Cell::new(false),
        }
    }

    /// True if the snapshot was found to be ended.
    pub fn is_ended(&self) -> bool {
        self.ended.get()
    }

    /// The number of frozen pages that were copied.
    pub fn copied(&self) -> usize {
        self.copies.len()
    }

    fn private(&self) -> &Private {
        match &self.private {
            Had::ToRead(private) => private,
            Had::ToChange(private) => private,
        }
    }

    /// A page that is the snapshot's own.
    fn own(&self, page: PageId) -> Option<&Page> {
        self.private().pages.get(&page.0).map(|page| &**page)
    }

    pub fn copy(&self, page: PageId) -> Result<Box<Page>, Stop> {
        if let Some(own) = self.own(page) {
            return Ok(Box::new(*own));
        }
        self.frozen.areas.check(page)?;
        self.copy_frozen(page).map_err(|ended| {
            self.ended.set(true);
            ended.into()
        })
    }

    fn copy_frozen(&self, page: PageId) -> Result<Box<Page>, SnapshotEnded> {
        let Frozen {
            shared,
            pages,
            two_levels,
            ..
        } = self.frozen;
        let read = || {
            let mut bytes = Vec::with_capacity(PAGE_SIZE);
            pages.read(page.address(), PAGE_SIZE, &mut bytes)?;
            // All of it: the buffer is the page.
            Ok(bytes
                .into_boxed_slice()
                .try_into()
                .expect("so many bytes are a page"))
        };
        if pages.has_copy(page) {
            return read();
        }
        if !two_levels {
            return shared.frames.read_before(page, pages, read);
        }
        let number = self
            .reader
            .get()
            .unwrap_or_else(|| shared.next_transaction());
        self.reader.set(Some(number));
        let holder = Owner::transaction(number).subtransaction(1);
        let asker = Asker {
            holder,
            waiter: holder,
            age: number,
            compensation: false,
        };
        // It holds nothing, so every waiting thread can continue when it has asked in vain.
        while shared.locks.request(asker, &PAGES, page.0, SHARED).is_err() {}
        let copied = read();
        let (space, object) = (PAGES.number(), page.0);
        shared.locks.release(holder, [Resource { space, object }]);
        copied
    }
}

impl Pages for View<'_> {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        let beyond = match self.frozen.areas.page(area, index) {
            Err(beyond @ Stop::NoPage { .. }) => beyond,
            found => return found,
        };
        let frozen = self.frozen.areas.pages_of(area)?;
        let nth = index
            .checked_sub(frozen)
            .and_then(|nth| usize::try_from(nth).ok());
        let grown = nth.and_then(|nth| self.private().grown(area).get(nth));
        grown.copied().ok_or(beyond)
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        let frozen = self.frozen.areas.pages_of(area)?;
        Ok(frozen + self.private().grown(area).len() as u64)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        let missing = pages.saturating_sub(self.pages_of(area)?);
        if missing == 0 {
            return Ok(());
        }
        let Had::ToChange(private) = &mut self.private else {
            return Err(Stop::ReadOnly);
        };
        for _ in 0..missing {
            let page = PageId(private.next);
            private.next += 1;
            private.pages.insert(page.0, Box::new([0; PAGE_SIZE]));
            private.grown.entry(area.0).or_default().push(page);
        }
        Ok(())
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        match self.own(page) {
            Some(own) => Ok(own),
            None => self.copies.of(page, || self.copy(page)),
        }
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.read(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        let range = checked(range)?;
        let copy = match self.own(page) {
            Some(_) => None,
            None => Some(Box::new(*self.read(page)?)),
        };
        let Had::ToChange(private) = &mut self.private else {
            return match range.is_empty() {
                true => Ok(&mut []),
                false => Err(Stop::ReadOnly),
            };
        };
        let own = private.pages.entry(page.0);
        let own = own.or_insert_with(|| copy.expect("it was read, as it is not there"));
        Ok(&mut own[range])
    }

    fn lock(&mut self, _: &'static LockSpace, _: u64, _: Mode) -> Result<(), Stop> {
        Ok(())
    }

    /// Nothing that was changed is put back.
    fn is_changed(&self, _: PageId) -> bool {
        false
    }

    fn table(&self, area: Area) -> Option<Arc<TableMemory>> {
        self.frozen.tables.get(&area.0).cloned()
    }

    fn held(&self, _: &'static LockSpace, _: u64) -> Option<Modes> {
        Some(Modes::NONE)
    }

    fn reserve(&mut self, _: &'static LockSpace, _: u64, _: Change) -> Result<(), Stop> {
        match self.private {
            Had::ToChange(_) => Ok(()),
            Had::ToRead(_) => Err(Stop::ReadOnly),
        }
    }
}
