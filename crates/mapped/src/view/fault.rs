//! The act of a view when a page of it is touched that holds nothing yet, or may not be written yet. The
//! process' [handler](super::handler) calls it, in its [turn](super::turn).
//!
//! Source: the LIBXAC thesis, section 4.2.3 ("SIGSEGV").

use super::linux::kernel;
use super::memory::{View, ViewKind};
use crate::planted::{self, Step};
use rustix::mm::MprotectFlags;
use sardonyx_base::hash::scattered;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

impl View {
    /// Handles a fault, if it is this view's.
    pub(super) fn resolve(&self, address: usize, is_write: bool) -> bool {
        let Some(page) = self.page_of(address) else {
            return false;
        };
        // The transaction's thread may have lent the memory to others, it may be at work on the view
        // itself, and so may the keeper. A thread that faults in its own turn is a fault of the
        // library's, and no wait ends it.
        let Some(turn) = self.turns.take_in_handler() else {
            return false;
        };
        planted::step(Step::Resolving);
        let outcome = match self.owner.load(Ordering::Relaxed) {
            0 => self.resolve_idle(page),
            _ if is_write && self.read_only.load(Ordering::Relaxed) => return false,
            _ => self.resolve_running(page),
        };
        let outcome = outcome.map(|handled| match handled {
            true => {
                self.note_resolved();
                true
            }
            false => self.try_again(page),
        });
        drop(turn);
        match outcome {
            Ok(handled) => handled,
            Err(error) => {
                self.refused
                    .store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
                false
            }
        }
    }

    fn resolve_running(&self, page: u64) -> std::io::Result<bool> {
        match self.kind() {
            ViewKind::Asynchronous => self.resolve_asynchronous(page),
            ViewKind::Signal => {
                self.resolve_signal(page)
                    .or_else(|error| match error.raw_os_error() {
                        // More ranges of different protection than the kernel allows.
                        Some(libc::ENOMEM) => self.open_whole().map(|()| true),
                        _ => Err(error),
                    })
            }
            ViewKind::Explicit => Ok(false),
        }
    }

    /// Another thread, or the keeper, may have been faster, so that there was nothing left to do: then
    /// the access succeeds when it is tried again. If it fails once more and nothing was resolved
    /// in between, in the same thread, it is a fault of the program.
    pub(super) fn try_again(&self, page: u64) -> bool {
        // SAFETY: always succeeds.
        let thread = unsafe { libc::gettid() } as u64;
        // The three as one word; others that are too late at the same time have other ones.
        let resolved = self.resolved.load(Ordering::Relaxed);
        let now = scattered(scattered(resolved) ^ page).wrapping_add(thread);
        self.tried_again.swap(now, Ordering::Relaxed) != now
    }

    fn resolve_asynchronous(&self, page: u64) -> std::io::Result<bool> {
        if self.is_guarded(page) {
            self.unguard(page)?;
            return Ok(true);
        }
        // A read of a closed chunk does not fault, so this is a write.
        if self.is_open(page) || self.read_only.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.open_chunk(page)?;
        Ok(true)
    }

    /// Makes a guarded page right. Usable in the fault handler; the caller has the turn.
    pub fn unguard(&self, page: u64) -> std::io::Result<()> {
        self.check_turn();
        let kernel = kernel().map_err(std::io::Error::other)?;
        if self.is_unfolded(page) {
            // Whole at once: the memory may be lent to other threads.
            kernel.place(self.page(page), self.made_aside(page))?;
            self.private.set(page);
            self.protected.set(page);
        } else {
            kernel.unguard(self.page(page), PAGE_SIZE)?;
        }
        self.note_unguarded(page);
        Ok(())
    }

    /// Outside of a transaction, the only promise is that a page can be read, as some committed state of it. A write
    /// goes to the view alone. The next transaction makes the view anew, and
    /// [`Session::begin_checked`](crate::Session::begin_checked) reports the write.
    fn resolve_idle(&self, page: u64) -> std::io::Result<bool> {
        let handled = match self.kind() {
            ViewKind::Asynchronous => self.resolve_idle_asynchronous(page)?,
            ViewKind::Signal => self.resolve_idle_signal(page)?,
            ViewKind::Explicit => false,
        };
        if handled {
            self.stale.store(true, Ordering::Relaxed);
        }
        Ok(handled)
    }

    fn resolve_idle_asynchronous(&self, page: u64) -> std::io::Result<bool> {
        if self.is_guarded(page) {
            let kernel = kernel().map_err(std::io::Error::other)?;
            kernel.unguard(self.page(page), PAGE_SIZE)?;
            self.note_unguarded(page);
            return Ok(true);
        }
        if self.is_open(page) {
            return Ok(false);
        }
        self.open_chunk(page)?;
        Ok(true)
    }

    fn resolve_idle_signal(&self, page: u64) -> std::io::Result<bool> {
        if self.writable.has(page) {
            return Ok(false);
        }
        if self.readable.has(page) {
            self.let_write(page)?;
        } else {
            // As `let_read`, but the ring is not pinned: the base page must do.
            self.protect(page, 1, MprotectFlags::READ)?;
            self.readable.set(page);
            self.note_touched(page);
        }
        Ok(true)
    }

    /// The first fault on a page lets it be read, the second lets it be written.
    fn resolve_signal(&self, page: u64) -> std::io::Result<bool> {
        if self.writable.has(page)
            || self.read_only.load(Ordering::Relaxed)
                && (self.readable.has(page) || self.all_readable.load(Ordering::Relaxed))
        {
            return Ok(false);
        }
        if self.readable.has(page) {
            self.let_write(page)?;
        } else {
            self.let_read(page)?;
        }
        Ok(true)
    }

    /// Opens everything for access (`Signal`), so that the transaction can continue. It can no longer
    /// commit, for a reason that it gets: the kernel allows no more ranges of different protection.
    fn open_whole(&self) -> std::io::Result<()> {
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        self.protect(0, self.mapped(), rights)?;
        self.apply_lagging(|_| ());
        self.refused.store(libc::ENOMEM, Ordering::Relaxed);
        self.stale.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Lets a page be read (`Signal`), as it is in the snapshot. The caller has the turn.
    pub fn let_read(&self, page: u64) -> std::io::Result<()> {
        if !self.private.has(page) && self.is_unfolded(page) {
            self.make_right(page)?;
        }
        self.protect(page, 1, MprotectFlags::READ)?;
        self.readable.set(page);
        self.note_touched(page);
        Ok(())
    }

    /// Lets a page that may be read be written, too (`Signal`). The caller has the turn.
    pub fn let_write(&self, page: u64) -> std::io::Result<()> {
        self.check_turn();
        self.protect(page, 1, MprotectFlags::READ | MprotectFlags::WRITE)?;
        self.writable.set(page);
        self.private.set(page);
        Ok(())
    }
}
