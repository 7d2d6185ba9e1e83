//! Making a view right as a whole, so that nothing in it needs the fault handler to be read: system calls
//! that read from it (`write(2)`, `send(2)`) do not call the handler, but fail with `EFAULT`.
//!
//! It is done when a transaction begins that cannot conflict, since it only reads, or where the program
//! asked for it; for a page that was made right counts as read. What it costs follows how many pages
//! others changed, and not how much they changed: the ring is read once for many pages.

use super::kernel::kernel;
use super::memory::View;
use crate::shared::ring::{Frames, changes};
use rustix::mm::MprotectFlags;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

/// Pages that are made together, in memory of their own (1 MiB), before they are put in their places.
const TOGETHER: usize = 256;

impl View {
    /// Makes all guarded pages right (`Asynchronous`), as they are in the snapshot. The caller has the
    /// turn.
    pub fn make_all_right(&self) -> std::io::Result<()> {
        let kernel = kernel().map_err(std::io::Error::other)?;
        let mut unfolded = Vec::new();
        for page in self.guarded() {
            if self.is_unfolded(page) {
                unfolded.push(page);
            } else {
                kernel.unguard(self.page(page), PAGE_SIZE)?;
                self.note_unguarded(page);
            }
        }
        for pages in unfolded.chunks(TOGETHER) {
            for (page, made) in pages.iter().zip(self.made_together(pages)) {
                // Whole at once: other threads may read an array that is lent to them.
                kernel.place(self.page(*page), &made)?;
                self.private.set(*page);
                self.protected.set(*page);
                self.note_unguarded(*page);
            }
        }
        Ok(())
    }

    /// Pages as they were committed in the snapshot. They are in order.
    fn made_together(&self, pages: &[u64]) -> Vec<[u8; PAGE_SIZE]> {
        let base = |page: &u64| {
            let mut made = [0; PAGE_SIZE];
            // SAFETY: a base page exists for each mapped page. It may be changed at the same time, by
            // records that are applied to the copy anyway, as in `committed`.
            unsafe {
                let base = self.region().base(*page);
                std::ptr::copy_nonoverlapping(base, made.as_mut_ptr(), PAGE_SIZE);
            }
            made
        };
        let mut made: Vec<_> = pages.iter().map(base).collect();
        let (folded, snapshot) = self.unfolded();
        // SAFETY: the session's slot pins the ring from `folded` on while its transaction runs.
        for frame in unsafe { Frames::new(self.region(), folded, snapshot) } {
            for change in changes(frame.records) {
                if let Ok(n) = pages.binary_search(&change.page) {
                    let end = change.offset + change.bytes.len();
                    made[n][change.offset..end].copy_from_slice(change.bytes);
                }
            }
        }
        made
    }

    /// Makes all guarded pages accessible (`Asynchronous`), with what the base pages hold: outside of
    /// a transaction that is as good as any committed state. The caller has the turn.
    pub fn show_base_pages(&self) -> std::io::Result<()> {
        let kernel = kernel().map_err(std::io::Error::other)?;
        kernel.unguard(self.base(), self.mapped() as usize * PAGE_SIZE)?;
        self.forget_guarded();
        Ok(())
    }

    /// Lets all pages be read (`Signal`), as they are in the snapshot of a transaction that only reads,
    /// or outside of one as the base pages are. The caller has the turn.
    pub fn let_all_be_read(&self, in_transaction: bool) -> std::io::Result<()> {
        self.check_turn();
        if self.mapped() == 0 || self.all_readable.swap(true, Ordering::Relaxed) && !in_transaction
        {
            return Ok(());
        }
        let (folded, snapshot) = self.unfolded();
        if in_transaction && folded < snapshot {
            let rights = MprotectFlags::READ | MprotectFlags::WRITE;
            self.protect(0, self.mapped(), rights)?;
            // SAFETY: as in `made_together`.
            for frame in unsafe { Frames::new(self.region(), folded, snapshot) } {
                for change in changes(frame.records) {
                    self.apply(change.page, change.offset, change.bytes);
                    if !self.readable.set(change.page) {
                        self.note_touched(change.page);
                    }
                }
            }
        }
        self.protect(0, self.mapped(), MprotectFlags::READ)
    }

    /// Takes that back: what is touched from now on is noticed (`Signal`). The caller has the turn.
    pub fn let_nothing_be_read(&self) -> std::io::Result<()> {
        self.check_turn();
        match self.all_readable.swap(false, Ordering::Relaxed) && self.mapped() > 0 {
            true => self.protect(0, self.mapped(), MprotectFlags::empty()),
            false => Ok(()),
        }
    }

    /// Whether nothing needs a fault to be read (`Signal`).
    pub fn is_all_readable(&self) -> bool {
        self.all_readable.load(Ordering::Relaxed)
    }
}
