//! Going back: to a savepoint, or to the transaction's beginning.

use super::Session;
use crate::difference::PageBytes;
use crate::error::SegmentError;
use crate::mechanism::Access;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

/// A place in a transaction to which it can go back.
#[derive(Debug)]
pub struct Savepoint {
    mark: usize,
    written: usize,
    /// Pages written before, as they were.
    saved: Vec<(u64, Box<PageBytes>)>,
}

impl Session {
    /// Puts everything back as it was when the transaction began.
    pub(super) fn undo(&mut self) -> Result<(), SegmentError> {
        if self.slot().immune.load(Ordering::SeqCst) != 0 {
            // The commits in the snapshot are not kept.
            self.view.mark_stale();
            return Ok(());
        }
        self.mechanism.roll_back(&self.view, 0);
        self.mechanism.written(&self.view, &mut self.written)?;
        let written = std::mem::take(&mut self.written);
        for &page in &written {
            self.restore(page, None)?;
        }
        self.protect_again(written)
    }

    /// A place to go back to.
    pub fn savepoint(&mut self) -> Result<Savepoint, SegmentError> {
        self.running()?;
        self.steadily(Self::take_savepoint)
    }

    pub(super) fn take_savepoint(&mut self) -> Result<Savepoint, SegmentError> {
        self.mechanism.written(&self.view, &mut self.written)?;
        let mut pages = self.written.clone();
        pages.sort_unstable();
        pages.dedup();
        let copy = |page: u64| {
            let mut copy = Vec::with_capacity(PAGE_SIZE);
            self.view
                .append_to(page * PAGE_SIZE as u64, PAGE_SIZE, &mut copy);
            let copy: Box<PageBytes> = copy.try_into().expect("a page's bytes");
            (page, copy)
        };
        Ok(Savepoint {
            mark: self.mechanism.mark(),
            written: self.written.len(),
            saved: pages.into_iter().map(copy).collect(),
        })
    }

    /// Goes back to a savepoint of the running transaction. Savepoints made since are void.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), SegmentError> {
        self.running()?;
        self.steadily(|session| session.go_back_to(savepoint))
    }

    pub(super) fn go_back_to(&mut self, savepoint: &Savepoint) -> Result<(), SegmentError> {
        if self.is_doomed() {
            // The commits in the snapshot are not known any more.
            return Err(SegmentError::Conflict { page: 0 });
        }
        self.mechanism.roll_back(&self.view, savepoint.mark);
        self.mechanism.written(&self.view, &mut self.written)?;
        let since = self
            .written
            .split_off(savepoint.written.min(self.written.len()));
        for &page in &since {
            let saved = savepoint
                .saved
                .binary_search_by_key(&page, |(page, _)| *page);
            let saved = saved.ok().map(|n| &*savepoint.saved[n].1);
            self.restore(page, saved)?;
        }
        self.protect_again(since)
    }

    /// Puts a page back: as it was saved, or as it was committed.
    pub(super) fn restore(
        &mut self,
        page: u64,
        saved: Option<&PageBytes>,
    ) -> Result<(), SegmentError> {
        if self.view.kind() == crate::view::ViewKind::Signal {
            self.mechanism
                .advise(&self.view, page..page + 1, Access::Write)?;
        }
        let content = match saved {
            Some(saved) => saved.as_ptr(),
            None => self.view.committed(page, &mut self.scratch),
        };
        // SAFETY: a whole page that does not change: see `gather`.
        let content = unsafe { &*content.cast::<PageBytes>() };
        self.view.apply(page, 0, content);
        Ok(())
    }

    /// Restored bytes do not count as written. The list's memory is used again.
    pub(super) fn protect_again(&mut self, mut list: Vec<u64>) -> Result<(), SegmentError> {
        list.clear();
        self.mechanism.written(&self.view, &mut list)?;
        if self.written.is_empty() {
            list.clear();
            self.written = list;
        }
        Ok(())
    }
}
