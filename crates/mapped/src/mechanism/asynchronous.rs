//! The asynchronous mechanism. Pages are write-protected, and a write removes the protection without a signal. At the
//! end one scan of the page tables finds the pages that lost it, and protects them again. Mapped pages count as read.
//! Signals come only for pages that others changed (guarded pages), and for the first write to a chunk of 2 MiB. The
//! scan looks at such chunks only.
//!
//! Mapped pages stay mapped in the next transaction, so that reading them again costs nothing. Then the
//! set of pages read is larger than the pages really read. When that causes a conflict, the session
//! forgets after each transaction for a while (`forget`), and the set is exact.

use super::{Access, Mechanism};
use crate::error::SegmentError;
use crate::shared::ring::Change;
use crate::view::linux::{Kernel, kernel, pages_may_vanish};
use crate::view::{CHUNK_PAGES, View};
use rustix::mm::Advice;
use sardonyx_storage::page::PAGE_SIZE;
use std::ops::Range;

/// Chunks that stay open for writing from one transaction to the next: scanning one costs about as
/// much as a third of opening one.
const OPEN_KEPT: usize = 12;

/// The asynchronous mechanism. See the [module](self).
#[derive(Debug, Default)]
pub struct Asynchronous {
    /// Transactions since chunks were closed.
    since_closed: u32,
}

fn the_kernel() -> Result<&'static Kernel, SegmentError> {
    kernel().map_err(|reason| SegmentError::MechanismUnavailable {
        mechanism: "asynchronous",
        reason: reason.into(),
    })
}

fn refused(operation: &'static str) -> impl Fn(std::io::Error) -> SegmentError {
    move |source| SegmentError::System { operation, source }
}

impl Asynchronous {
    fn guard(view: &View, page: u64) -> Result<(), SegmentError> {
        let protected = view.protected.clear(page);
        the_kernel()?
            .guard(view.page(page), PAGE_SIZE, protected)
            .map_err(refused("guard a page"))?;
        view.private.clear(page);
        view.note_guarded(page);
        Ok(())
    }

    /// A page that others changed shows its base page, if that is right, and else is guarded. It counts as
    /// read only when it is read again.
    fn renew(view: &View, page: u64) -> Result<(), SegmentError> {
        if view.is_unfolded(page) {
            return Self::guard(view, page);
        }
        if view.protected.clear(page) {
            the_kernel()?
                .unprotect(view.page(page), PAGE_SIZE)
                .map_err(refused("free a page of its protection"))?;
        }
        view.drop_pages(page, 1)?;
        view.private.clear(page);
        Ok(())
    }
}

impl Mechanism for Asynchronous {
    fn name(&self) -> &'static str {
        "asynchronous"
    }

    fn mapped(&mut self, view: &View, pages: Range<u64>) -> Result<(), SegmentError> {
        let bytes = (pages.end - pages.start) as usize * PAGE_SIZE;
        the_kernel()?.register(view.page(pages.start), bytes)?;
        // A page's mapping shows that it was read, so it must stay mapped.
        if pages_may_vanish() || view.region().is_locked() {
            view.region().keep(pages.end)?;
        }
        // A chunk that was open and is longer now.
        if view.is_open(pages.start) {
            let end = pages.end.min((pages.start / CHUNK_PAGES + 1) * CHUNK_PAGES);
            use rustix::mm::MprotectFlags;
            let rights = MprotectFlags::READ | MprotectFlags::WRITE;
            view.protect(pages.start, end - pages.start, rights)
                .map_err(refused("open more pages for writing"))?;
        }
        Ok(())
    }

    fn refresh(&mut self, view: &View, change: Change<'_>, end: u64) -> Result<(), SegmentError> {
        let page = change.page;
        if view.is_guarded(page) {
            return Ok(());
        }
        // Folded records are in the base page, which the view shows unless it has its own.
        if view.private.has(page) || end > view.unfolded().0 {
            Self::renew(view, page)?;
        }
        Ok(())
    }

    fn lagging(&mut self, view: &View, page: u64) -> Result<(), SegmentError> {
        match view.is_guarded(page) {
            true => Ok(()),
            false => Self::guard(view, page),
        }
    }

    fn settle(&mut self, view: &View, read_only: bool, ready: bool) -> Result<(), SegmentError> {
        if (read_only || ready) && view.guarded_count() > 0 {
            let _turn = view.turn();
            view.make_all_right().map_err(refused("make pages right"))?;
        }
        Ok(())
    }

    fn rest(&mut self, view: &View) -> Result<bool, SegmentError> {
        if view.guarded_count() == 0 {
            return Ok(false);
        }
        let _turn = view.turn();
        view.show_base_pages()
            .map_err(refused("free guarded pages"))?;
        Ok(true)
    }

    fn reset(&mut self, view: &View) -> Result<(), SegmentError> {
        let bytes = view.mapped() as usize * PAGE_SIZE;
        if bytes == 0 {
            return Ok(());
        }
        the_kernel()?
            .unguard(view.page(0), bytes)
            .map_err(refused("free guarded pages"))?;
        view.drop_pages(0, view.mapped())?;
        view.forget_guarded();
        view.private.clear_first(view.mapped());
        // Dropped pages may still be protected; that is only forgotten page by page.
        Ok(())
    }

    fn advise(
        &mut self,
        view: &View,
        pages: Range<u64>,
        access: Access,
    ) -> Result<(), SegmentError> {
        let mut turn = None;
        for page in pages.clone() {
            if view.is_guarded(page) {
                turn.get_or_insert_with(|| view.turn());
            }
            // Asked again in the turn: the fault handler may have been faster.
            if view.is_guarded(page) {
                view.unguard(page).map_err(refused("make a page right"))?;
            }
            let new_chunk = page == pages.start || page % CHUNK_PAGES == 0;
            if access == Access::Write && new_chunk && !view.is_open(page) {
                turn.get_or_insert_with(|| view.turn());
                view.open_chunk(page)
                    .map_err(refused("open pages for writing"))?;
            }
        }
        drop(turn);
        // One page of the session's own is there: at most its protection is to be taken away, and a fault
        // costs less than asking for that.
        if pages.end - pages.start == 1 && view.private.has(pages.start) {
            return Ok(());
        }
        let advice = match access {
            Access::Read => Advice::LinuxPopulateRead,
            Access::Write => Advice::LinuxPopulateWrite,
        };
        let bytes = (pages.end - pages.start) as usize * PAGE_SIZE;
        // SAFETY: the range is in the view; it is mapped now rather than when it is touched.
        unsafe { rustix::mm::madvise(view.page(pages.start).cast(), bytes, advice) }
            .map_err(SegmentError::system("map pages ahead"))
    }

    fn written(&mut self, view: &View, pages: &mut Vec<u64>) -> Result<(), SegmentError> {
        let kernel = the_kernel()?;
        let base = view.base().addr() as u64;
        let mut outcome = Ok(());
        view.for_open(|first, count| {
            if outcome.is_ok() {
                let bytes = count as usize * PAGE_SIZE;
                outcome = kernel.written(view.page(first), bytes, |from, to| {
                    let page = |address: u64| (address - base) / PAGE_SIZE as u64;
                    for page in page(from)..page(to) {
                        view.protected.set(page);
                        // The scan finds guards, too, which hold nothing.
                        if !view.is_guarded(page) {
                            view.private.set(page);
                            pages.push(page);
                        }
                    }
                });
            }
        });
        outcome
    }

    fn was_read(&self, view: &View, page: u64) -> Result<bool, SegmentError> {
        if view.is_guarded(page) || page >= view.mapped() {
            return Ok(false);
        }
        if view.private.has(page) {
            return Ok(true);
        }
        let mut present = false;
        the_kernel()?.present(view.page(page), PAGE_SIZE, |_, _| present = true)?;
        Ok(present)
    }

    fn invalidate(&mut self, view: &View, page: u64) -> Result<(), SegmentError> {
        let _turn = view.turn();
        match view.is_guarded(page) {
            true => Ok(()),
            false => Self::renew(view, page),
        }
    }

    fn end(&mut self, view: &View, forget: bool) -> Result<bool, SegmentError> {
        self.since_closed += 1;
        let many = view.open_count().is_none_or(|count| count > OPEN_KEPT);
        if many && self.since_closed >= 16 {
            let _turn = view.turn();
            view.close_chunks()
                .map_err(refused("close pages for writing"))?;
            self.since_closed = 0;
        }
        if forget {
            let _turn = view.turn();
            view.drop_pages(0, view.mapped())?;
            view.private.clear_first(view.mapped());
        }
        Ok(forget)
    }
}
