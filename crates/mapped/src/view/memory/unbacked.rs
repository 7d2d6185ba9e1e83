//! Pages of a view for which the file system of the shared memory has no memory. Nothing was ever committed to
//! them, so they are zeroes. The kernel, which would make the page in the file at its first touch, sends SIGBUS
//! instead. The view gets a page of zeroes of its own there, so that a full file system ends no program.
//! Readers continue, and a writer gets an error when it commits.
//!
//! Such a view is made anew before its next transaction.

use super::View;
use crate::view::linux::kernel;
use crate::view::memory::ViewKind;
use rustix::mm::{MapFlags, ProtFlags};
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

#[repr(align(4096))]
struct Zeroes([u8; PAGE_SIZE]);

static ZEROES: Zeroes = Zeroes([0; PAGE_SIZE]);

impl View {
    /// Handles a SIGBUS, if it is this view's and for want of memory.
    pub(in crate::view) fn supply(&self, address: usize) -> bool {
        let Some(page) = self.page_of(address) else {
            return false;
        };
        let Some(turn) = self.turns.take_in_handler() else {
            return false;
        };
        let supplied = match self.region.has_memory(page) {
            // Another process freed some meanwhile, or else it is damaged.
            true => self.try_again(page),
            false => self.show_zeroes(page).is_ok(),
        };
        drop(turn);
        supplied
    }

    fn show_zeroes(&self, page: u64) -> std::io::Result<()> {
        match self.kind {
            ViewKind::Asynchronous => {
                let kernel = kernel().map_err(std::io::Error::other)?;
                match kernel.place(self.page(page), &ZEROES.0) {
                    // Another thread was faster.
                    Err(error) if error.raw_os_error() == Some(libc::EEXIST) => (),
                    placed => placed?,
                }
                self.private.set(page);
                self.protected.set(page);
            }
            ViewKind::Signal if !self.writable.has(page) => {
                self.map_zeroes(page, ProtFlags::READ)?;
            }
            ViewKind::Signal | ViewKind::Explicit => {
                self.map_zeroes(page, ProtFlags::READ | ProtFlags::WRITE)?;
            }
        }
        self.unbacked.set(page);
        self.has_unbacked.store(true, Ordering::Relaxed);
        self.stale.store(true, Ordering::Relaxed);
        self.note_resolved();
        Ok(())
    }

    /// Maps a page of zeroes in the place of the file's.
    fn map_zeroes(&self, page: u64, rights: ProtFlags) -> std::io::Result<()> {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let place = self.page(page).cast();
        // SAFETY: the page is in our reservation, and stays readable, and writable if it was: no reference into it
        // becomes invalid. The replaced page held nothing but zeroes: the file has no memory for the page, so that
        // nothing was committed to it. Another thread can have got the file's page meanwhile only if memory was freed
        // since that look. It only read then: a thread that writes in a view is alone in it.
        unsafe { rustix::mm::mmap_anonymous(place, PAGE_SIZE, rights, flags) }?;
        Ok(())
    }

    /// True if a page was found to have no memory, and is unchanged since.
    pub(super) fn is_unbacked(&self, page: u64) -> bool {
        self.has_unbacked.load(Ordering::Relaxed)
            && self.unbacked.has(page)
            && self.region.sequence(page).load(Ordering::Relaxed) == 0
    }

    /// The content of a page without memory.
    pub(super) fn zeroes() -> *const u8 {
        ZEROES.0.as_ptr()
    }

    /// Maps the file again where pages had none (`Signal`, `Explicit`): part of dropping a range of pages.
    pub(super) fn map_again(&self, page: u64, pages: u64) -> rustix::io::Result<()> {
        if self.kind == ViewKind::Asynchronous || !self.has_unbacked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let rights = match self.kind {
            ViewKind::Explicit => ProtFlags::READ | ProtFlags::WRITE,
            // Dropping pages makes them inaccessible, too.
            _ => ProtFlags::empty(),
        };
        let (file, at) = self.region.backing();
        for page in self.unbacked.iter(page + pages).filter(|n| *n >= page) {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            let place = self.page(page).cast();
            let at = at + page * PAGE_SIZE as u64;
            // SAFETY: the page is in our reservation, and the caller is the session, outside of its user's
            // code.
            unsafe { rustix::mm::mmap(place, PAGE_SIZE, rights, flags, file, at) }?;
            self.unbacked.clear(page);
        }
        Ok(())
    }
}
