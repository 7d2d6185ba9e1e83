//! A subtransaction: the pages and locks of one execution of an operation.
//!
//! Every page is locked when it is first touched (L0) and stays so until the subtransaction has ended. Every
//! change keeps the bytes that it replaces, so that all can be undone. Waiting for a page, it holds the pages
//! that it has; a cycle of such waiting is ended by taking one of them back and executing it again. Waiting for
//! an *object* it holds no page: it is taken back first and executed again when it has the object. So no page
//! is ever locked longer than an operation takes, and no cycle crosses the levels (the lock room would find one
//! that did).
//!
//! Source: DASDBS paper, section 2.

mod workspace;

pub(crate) use workspace::{Await, Purpose, Verdict, Workspace};

use crate::areas::Areas;
use crate::changes::{Changed, Mark};
use crate::page_locks::{PageLock, PageLocks};
use crate::pages::{Area, Change, Page, Pages, Stop, checked};
use crate::records::memory::TableMemory;
use crate::shared::Shared;
use crate::strategy::Protocol;
use crate::transaction::ObjectLocks;
use crate::unit_log::reserve::Growth;
use sardonyx_lock::{
    Asker, Denied, EXCLUSIVE, Granted, LockSpace, Mode, Modes, PAGES, Quantity, Reserved, Resource,
    SHARED,
};
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::PageId;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// The number of a page under which a key is locked, with a single level.
const KEYS_AS_PAGES: u64 = 1 << 63;

/// One execution of an operation.
pub(crate) struct Subtransaction<'d> {
    shared: &'d Shared,
    protocol: &'d dyn Protocol,
    purpose: Purpose,
    /// The transaction's number.
    transaction: u64,
    /// The holder has the locks on objects; the waiter, which is the subtransaction or, with a single
    /// level, its transaction, those on pages.
    asker: Asker,
    /// True if it requests locks on objects. A single-level transaction has its pages to itself; a compensation
    /// has the locks that it needs already.
    locks_objects: bool,
    locked: &'d ObjectLocks,
    areas: RefCell<Arc<Areas>>,
    held: RefCell<PageLocks>,
    workspace: Workspace,
    begin: Mark,
    inverse_pages: u64,
    verdict: Cell<Option<Verdict>>,
}

impl<'d> Subtransaction<'d> {
    pub fn new(
        shared: &'d Shared,
        protocol: &'d dyn Protocol,
        purpose: Purpose,
        transaction: u64,
        asker: Asker,
        locked: &'d ObjectLocks,
        mut workspace: Workspace,
    ) -> Self {
        Subtransaction {
            shared,
            protocol,
            purpose,
            transaction,
            asker,
            locks_objects: purpose == Purpose::Operation && asker.waiter != asker.holder,
            locked,
            areas: RefCell::new(shared.areas()),
            held: RefCell::new(std::mem::take(&mut workspace.held)),
            begin: workspace.changes.mark(),
            workspace,
            inverse_pages: 0,
            verdict: Cell::new(None),
        }
    }

    /// The reason why it cannot end well, if it cannot.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict.get()
    }

    /// The number of pages that its inverse may take.
    pub fn inverse_pages(&self) -> u64 {
        self.inverse_pages
    }

    /// True if anything was changed since the workspace was new.
    pub fn has_changed(&self) -> bool {
        !self.workspace.changes.is_empty()
    }

    /// True if it changed something, and nothing was changed since the workspace was new before.
    pub fn is_first_to_change(&self) -> bool {
        self.begin == Mark::default() && self.has_changed()
    }

    /// The changes since the workspace was new.
    pub fn changed(&mut self) -> &[Changed] {
        self.workspace.changed()
    }

    /// Keeps its pages as they were before it for snapshots; it ends, and the caller has the pen.
    pub fn keep_before(&self) {
        self.shared.frames.keep_before(&self.workspace.changes);
    }

    /// The transaction's number.
    pub fn transaction(&self) -> u64 {
        self.transaction
    }

    /// True if the locks on its pages are its own, and not its transaction's.
    fn has_own_pages(&self) -> bool {
        self.asker.waiter != self.asker.holder
    }

    /// The pages that it holds and has not changed.
    pub fn only_read(&self) -> Vec<PageId> {
        let held = self.held.borrow();
        let pages = held.iter().filter(|(_, how)| *how != PageLock::Writing);
        pages.map(|(page, _)| page).collect()
    }

    /// Takes back all that it did; its pages are still locked.
    pub fn undo(&mut self) {
        let frames = &self.shared.frames;
        self.workspace
            .changes
            .undo_to(self.begin, |page, start, old| {
                // SAFETY: right of a writer: the changed pages are locked exclusively, and no
                // reference that was given out outlives the operation's execution.
                unsafe { frames.bytes_mut(page, start..start + old.len()) }.copy_from_slice(old);
            });
        let held = self.held.borrow();
        let writing = held.iter().filter(|(_, how)| *how == PageLock::Writing);
        self.protocol
            .undone(self.shared, &mut writing.map(|(page, _)| page));
        drop(held);
        let locks = &self.shared.locks;
        for (space, object, change) in self.workspace.reserved.drain(..) {
            // The admitted change is not `i64::MIN`; otherwise its opposite is one step off for a moment.
            let back = change.saturating_neg();
            locks.adjust_reservation(self.asker.holder, space, object, back);
        }
    }

    /// A compensation has ended well, and its pages are still locked: those that were its own are good for all.
    pub fn list_grown(&mut self) {
        for (area, page) in std::mem::take(&mut self.workspace.grown) {
            if let (Some(table), Ok(bytes)) = (self.table(area), self.read_to_write(page)) {
                table.has_room(page, bytes);
            }
        }
    }

    /// Gives back the workspace; without its page locks, unless they are the transaction's.
    pub fn end(self) -> Workspace {
        let own_pages = self.has_own_pages();
        let mut workspace = self.workspace;
        workspace.held = self.held.into_inner();
        workspace.reserved.clear();
        if own_pages {
            let locks = &self.shared.locks;
            locks.release(self.asker.waiter, workspace.held.resources());
            workspace.held.clear();
            workspace.changes.clear();
        }
        workspace
    }

    /// The present areas: another subtransaction may have made one grow, and this one may have read that in a page.
    #[cold]
    fn areas_now(&self) -> Arc<Areas> {
        let areas = self.shared.areas();
        self.areas.replace(areas.clone());
        areas
    }

    fn stop(&self, verdict: Verdict) -> Stop {
        self.verdict.set(Some(verdict));
        match verdict {
            Verdict::Restart(_) => Stop::Restart,
            Verdict::Deadlock => Stop::Deadlock,
        }
    }

    #[inline]
    fn hold(&self, page: PageId, how: PageLock) -> Result<PageLock, Stop> {
        if page.0 & KEYS_AS_PAGES != 0 {
            // Such a number is that of a key; no area has it.
            self.areas.borrow().check(page)?;
        }
        self.hold_number(page, how)
    }

    /// Locks a page, or a key under the number of a page that does not exist.
    #[inline]
    fn hold_number(&self, page: PageId, how: PageLock) -> Result<PageLock, Stop> {
        let mut held = self.held.borrow_mut();
        let before = held.get(page);
        if let Some(before) = before
            && before >= how
        {
            return Ok(before);
        }
        if let Some(verdict) = self.verdict.get() {
            return Err(self.stop(verdict));
        }
        self.check_process()?;
        let mode = if how == PageLock::Shared {
            SHARED
        } else {
            EXCLUSIVE
        };
        if before != Some(PageLock::Exclusive) {
            let is_key = page.0 & KEYS_AS_PAGES != 0;
            if before.is_none() && !is_key && self.areas.borrow().check(page).is_err() {
                self.areas_now().check(page)?;
            }
            let asker = Asker {
                holder: self.asker.waiter,
                ..self.asker
            };
            match self.shared.locks.request(asker, &PAGES, page.0, mode) {
                Ok(_) => {}
                // With a single level only the transaction's end lets others go on.
                Err(Denied::Restart) if self.has_own_pages() => {
                    return Err(self.stop(Verdict::Restart(Await::Nothing)));
                }
                Err(_) => return Err(self.stop(Verdict::Deadlock)),
            }
        }
        held.set(page, how);
        Ok(how)
    }

    /// Before a lock is asked for: the operation may have forked, and this be the child.
    fn check_process(&self) -> Result<(), Stop> {
        self.shared
            .pen
            .log()
            .process()
            .check()
            .map_err(|forked| LogError::from(forked).into())
    }

    fn bytes_max(&self) -> usize {
        self.shared.pen.log().limits().transaction_bytes
    }
}

impl Pages for Subtransaction<'_> {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        let found = self.areas.borrow().page(area, index);
        found.or_else(|_| {
            self.check_process()?;
            self.areas_now().page(area, index)
        })
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        self.check_process()?;
        self.areas_now().pages_of(area)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        let growth = match self.purpose {
            Purpose::Operation => Growth::OfWork,
            Purpose::Compensation => Growth::OfInverse(self.transaction),
        };
        let areas = self.shared.grow(area, pages, growth)?;
        self.areas.replace(areas);
        Ok(())
    }

    fn inverse_may_take(&mut self, pages: u64) {
        // Compensation is never compensated; a single level keeps before-images.
        if self.locks_objects {
            self.inverse_pages += pages;
        }
    }

    #[inline]
    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        self.hold(page, PageLock::Shared)?;
        // SAFETY: right of a reader: the page is locked until this subtransaction ends. It writes itself only
        // through `&mut self`, when the reference has ended.
        Ok(unsafe { self.shared.frames.page(page) })
    }

    #[inline]
    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.hold(page, PageLock::Exclusive)?;
        // SAFETY: as in `read`.
        Ok(unsafe { self.shared.frames.page(page) })
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        let range = checked(range)?;
        if range.is_empty() {
            self.hold(page, PageLock::Exclusive)?;
            return Ok(&mut []);
        }
        let known = self.held.get_mut().get(page) == Some(PageLock::Writing);
        if !known {
            self.hold(page, PageLock::Exclusive)?;
            self.protocol.begin_to_write(self.shared, page)?;
            self.held.get_mut().set(page, PageLock::Writing);
        }
        if self.workspace.changes.bytes() + range.len() > self.bytes_max() {
            let reason = format!(
                "a subtransaction (in S1: a transaction) changes more than {} bytes",
                self.bytes_max()
            );
            return Err(Stop::Full { reason });
        }
        // SAFETY: right of a writer: the page is locked exclusively until this subtransaction ends,
        // and references into it end with the borrow of `self`.
        let bytes = unsafe { self.shared.frames.bytes_mut(page, range.clone()) };
        self.workspace.changes.note(page, range.start, bytes);
        Ok(bytes)
    }

    fn lock(&mut self, space: &'static LockSpace, object: u64, mode: Mode) -> Result<(), Stop> {
        assert!(
            usize::from(mode.0) < space.matrix().modes(),
            "the lock space {:?} has no mode {}",
            space.name(),
            mode.0
        );
        if !self.locks_objects {
            return Ok(());
        }
        self.check_process()?;
        let locks = &self.shared.locks;
        match locks.try_request(self.asker, space, object, mode) {
            Some(Granted::New) => {
                let space = space.number();
                self.locked.objects().push(Resource { space, object });
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(self.stop(Verdict::Restart(Await::Lock(space, object, mode)))),
        }
    }

    fn lock_key(
        &mut self,
        space: &'static LockSpace,
        object: u64,
        mode: Mode,
        change: bool,
    ) -> Result<(), Stop> {
        if self.has_own_pages() {
            return self.lock(space, object, mode);
        }
        // No page has such a number, so this locked object cannot be named otherwise.
        let page = PageId(object | KEYS_AS_PAGES);
        let how = match change {
            true => PageLock::Exclusive,
            false => PageLock::Shared,
        };
        self.hold_number(page, how).map(drop)
    }

    fn is_changed(&self, page: PageId) -> bool {
        self.held.borrow().get(page) == Some(PageLock::Writing)
    }

    fn table(&self, area: Area) -> Option<Arc<TableMemory>> {
        // Other threads may have had its locks when this process was forked.
        self.check_process().ok()?;
        let found = self.areas.borrow().table(area);
        found.or_else(|| self.areas_now().table(area))
    }

    fn page_for_inverse(&mut self, table: &TableMemory) -> Result<Option<PageId>, Stop> {
        if self.purpose != Purpose::Compensation {
            return Ok(None);
        }
        let held = self.held.get_mut();
        let is_spare =
            |(area, page): &&(Area, PageId)| *area == table.area && held.get(*page).is_none();
        if let Some((_, page)) = self.workspace.grown.iter().find(is_spare) {
            return Ok(Some(*page));
        }
        let (page, areas) = self.shared.grow_for_inverse(table, self.transaction)?;
        self.areas.replace(areas);
        self.workspace.grown.push((table.area, page));
        Ok(Some(page))
    }

    fn held(&self, space: &'static LockSpace, object: u64) -> Option<Modes> {
        if !self.locks_objects {
            // Nothing is protected by such a lock, or everything is already.
            return Some(Modes::NONE);
        }
        if self.shared.is_forked() {
            return None;
        }
        Some(self.shared.locks.held(self.asker.holder, space, object))
    }

    fn reserve(
        &mut self,
        space: &'static LockSpace,
        object: u64,
        change: Change,
    ) -> Result<(), Stop> {
        let Change {
            value,
            change,
            low,
            high,
        } = change;
        self.check_process()?;
        let bounds = Stop::Bounds {
            value,
            change,
            low,
            high,
        };
        let on = Resource {
            space: space.number(),
            object,
        };
        let locks = &self.shared.locks;
        if !self.has_own_pages() {
            let sum = value.checked_add(change);
            return match sum {
                Some(sum) if (low..=high).contains(&sum) => Ok(()),
                _ if self.purpose == Purpose::Compensation => Ok(()),
                _ => Err(bounds),
            };
        }
        if self.purpose == Purpose::Compensation {
            if locks.adjust_reservation(self.asker.holder, space, object, change) {
                self.locked.reservations().push(on);
            }
            return Ok(());
        }
        let quantity = Quantity {
            value,
            change,
            low,
            high,
        };
        match locks.try_reserve(self.asker.holder, space, object, quantity) {
            Reserved::Granted { first } => {
                if first {
                    self.locked.reservations().push(on);
                }
                self.workspace.reserved.push((space, object, change));
                Ok(())
            }
            Reserved::OutOfBounds => Err(bounds),
            Reserved::MustWait(token) => {
                let wait = Await::Reservation(space, object, token);
                Err(self.stop(Verdict::Restart(wait)))
            }
        }
    }
}
