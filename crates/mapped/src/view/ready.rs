//! Bringing a view up to date as a whole, so that nothing in it needs the fault handler to be read.
//! System calls that read from it (`write(2)`, `send(2)`) do not call the handler, but fail with
//! `EFAULT`.
//!
//! It is done when a transaction begins that cannot conflict, since it only reads, or where the program
//! requested it; a page brought up to date counts as read. Its cost follows the number of pages that
//! others changed: the missing records of base pages are noted (`view::lagging`).

use super::linux::kernel;
use super::memory::View;
use rustix::mm::MprotectFlags;
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::atomic::Ordering;

impl View {
    /// Makes all guarded pages right (`Asynchronous`), as they are in the snapshot. The caller has the
    /// turn.
    pub fn make_all_right(&self) -> std::io::Result<()> {
        self.guarded().try_for_each(|page| self.unguard(page))
    }

    /// Makes all guarded pages accessible (`Asynchronous`), with the base pages' content: outside of a transaction
    /// that is as good as any committed state. The caller has the turn.
    pub fn show_base_pages(&self) -> std::io::Result<()> {
        let kernel = kernel().map_err(std::io::Error::other)?;
        kernel.unguard(self.base(), self.mapped() as usize * PAGE_SIZE)?;
        self.forget_guarded();
        Ok(())
    }

    /// Lets all pages be read (`Signal`): as the snapshot of a transaction that only reads has them, or outside of one
    /// as the base pages are. The caller has the turn.
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
            self.apply_lagging(|page| {
                self.readable.set(page);
                self.note_touched(page);
            });
        }
        self.protect(0, self.mapped(), MprotectFlags::READ)
    }

    /// Takes that back: accesses from now on are noticed (`Signal`). The caller has the turn.
    pub fn let_nothing_be_read(&self) -> std::io::Result<()> {
        self.check_turn();
        match self.all_readable.swap(false, Ordering::Relaxed) && self.mapped() > 0 {
            true => self.protect(0, self.mapped(), MprotectFlags::empty()),
            false => Ok(()),
        }
    }

    /// True if nothing needs a fault to be read (`Signal`).
    pub fn is_all_readable(&self) -> bool {
        self.all_readable.load(Ordering::Relaxed)
    }
}
