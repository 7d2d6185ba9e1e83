//! The mechanism of the LIBXAC thesis. Between transactions no page of the view may be touched. The first access to
//! one is a SIGSEGV after which it may be read, the first write another one after which it may be written. At the end
//! the touched pages are made inaccessible again.
//!
//! Differences to LIBXAC: protection is changed (`mprotect`) where that mapped another page (`mmap`),
//! which is cheaper; the copy of a page that is written is made by the kernel. The recipe as printed
//! is measured beside it by the benchmark.
//!
//! Pages differ in protection, and the kernel allows 65,530 such ranges in a process. A transaction
//! that touches more, scattered, is refused; see [`crate::SegmentError::System`].
//!
//! Source: the LIBXAC thesis, sections 4.2.1 to 4.2.3.

use super::{Access, Mechanism};
use crate::error::SegmentError;
use crate::shared::ring::Change;
use crate::view::View;
use rustix::mm::MprotectFlags;
use std::ops::Range;

/// The LIBXAC thesis' mechanism. See the [module](self).
#[derive(Debug)]
pub struct Signal;

fn refused(operation: &'static str) -> impl Fn(std::io::Error) -> SegmentError {
    move |source| SegmentError::System { operation, source }
}

impl Mechanism for Signal {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn mapped(&mut self, _: &View, _: Range<u64>) -> Result<(), SegmentError> {
        Ok(())
    }

    /// Nothing is held between transactions, so nothing can be old.
    fn refresh(&mut self, _: &View, _: Change<'_>, _: u64) -> Result<(), SegmentError> {
        Ok(())
    }

    fn lagging(&mut self, _: &View, _: u64) -> Result<(), SegmentError> {
        Ok(())
    }

    /// A transaction that only reads need not know its read pages; one that may write must.
    fn settle(&mut self, view: &View, read_only: bool, _: bool) -> Result<(), SegmentError> {
        match (read_only, view.is_all_readable()) {
            (true, _) => {
                let _turn = view.turn();
                view.let_all_be_read(true)
                    .map_err(refused("make a view readable"))
            }
            (false, true) => {
                let _turn = view.turn();
                view.let_nothing_be_read()
                    .map_err(refused("make a view inaccessible"))
            }
            (false, false) => Ok(()),
        }
    }

    fn rest(&mut self, view: &View) -> Result<bool, SegmentError> {
        let _turn = view.turn();
        view.let_all_be_read(false)
            .map_err(refused("make a view readable"))?;
        Ok(false)
    }

    fn reset(&mut self, view: &View) -> Result<(), SegmentError> {
        // All at once: page by page it could be refused. The keeper copied pages that no transaction has
        // touched.
        if view.mapped() > 0 {
            view.protect(0, view.mapped(), MprotectFlags::empty())
                .map_err(refused("make a view inaccessible"))?;
            view.drop_pages(0, view.mapped())?;
        }
        view.let_nothing_be_read()
            .map_err(refused("make a view inaccessible"))?;
        view.private.clear_first(view.mapped());
        view.forget_touched();
        Ok(())
    }

    fn advise(
        &mut self,
        view: &View,
        pages: Range<u64>,
        access: Access,
    ) -> Result<(), SegmentError> {
        let refused = refused("make pages accessible");
        let may = |page: &u64| {
            view.is_readable(*page) && (access == Access::Read || view.is_writable(*page))
        };
        let Some(first) = pages.clone().find(|page| !may(page)) else {
            return Ok(());
        };
        if access == Access::Read && view.is_all_readable() {
            return Ok(());
        }
        let _turn = view.turn();
        for page in first..pages.end {
            if !view.is_readable(page) {
                view.let_read(page).map_err(&refused)?;
            }
            if access == Access::Write && !view.is_writable(page) {
                view.let_write(page).map_err(&refused)?;
            }
        }
        Ok(())
    }

    fn written(&mut self, view: &View, pages: &mut Vec<u64>) -> Result<(), SegmentError> {
        if !view.has_touched() {
            return Ok(());
        }
        let _turn = view.turn();
        for &page in view.touched() {
            if view.is_writable(page) {
                pages.push(page);
                // The next write is to be noticed again.
                view.take_writable(page);
                view.protect(page, 1, MprotectFlags::READ)
                    .map_err(refused("protect a page from writing"))?;
            }
        }
        Ok(())
    }

    fn was_read(&self, view: &View, page: u64) -> Result<bool, SegmentError> {
        Ok(view.is_readable(page))
    }

    fn invalidate(&mut self, _: &View, _: u64) -> Result<(), SegmentError> {
        Ok(())
    }

    fn end(&mut self, view: &View, _: bool) -> Result<bool, SegmentError> {
        let all = view.is_all_readable();
        if !all && !view.has_touched() {
            return Ok(true);
        }
        let _turn = view.turn();
        view.let_nothing_be_read()
            .map_err(refused("make a view inaccessible"))?;
        for &page in view.touched() {
            if view.private.clear(page) {
                view.drop_pages(page, 1)?;
            }
            if !all {
                view.protect(page, 1, MprotectFlags::empty())
                    .map_err(refused("make a page inaccessible"))?;
            }
        }
        view.forget_touched();
        Ok(true)
    }
}
