//! Pages of a view as they were committed in the snapshot: base pages, and the records of the ring that
//! they lack.
//!
//! Others fold base pages forward while a transaction runs. So the view keeps a list of their missing
//! records ([`Lagging`]) and brings a page up to date from it before any thread sees it. The list and the
//! scratch page belong to the holder of the [turn](super::super::turn).

use super::View;
use crate::view::lagging::Lagging;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use sardonyx_storage::page::PAGE_SIZE;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::Ordering;

/// Committed contents.
impl View {
    /// True if the transaction that begins has something to [`follow`](View::follow).
    pub fn must_follow(&self) -> bool {
        let (folded, snapshot) = self.unfolded();
        folded < snapshot || self.lags.load(Ordering::Relaxed)
    }

    /// Brings the notes on lagging base pages forward to the snapshot of the transaction that begins. The session's
    /// slot pins the ring from `folded` on, and is registered at `snapshot`. The caller has the turn.
    pub fn follow(&self) {
        let (folded, snapshot) = self.unfolded();
        // SAFETY: the caller has the turn.
        unsafe { self.lagging() }.follow(&self.region, folded, snapshot);
        self.lags.store(folded < snapshot, Ordering::Relaxed);
    }

    /// The changes that base pages lack.
    ///
    /// # Safety
    /// The caller has the turn, and uses nothing that this returned before any more.
    #[expect(clippy::mut_from_ref, reason = "who has the turn is alone")]
    unsafe fn lagging(&self) -> &mut Lagging {
        self.check_turn();
        // SAFETY: one thread at a time has the turn.
        unsafe { &mut *self.lagging.get() }
    }

    /// The pages whose base pages may lack records of the snapshot. The caller has the turn.
    pub fn lagging_pages(&self) -> Vec<u64> {
        let mut pages = Vec::new();
        if self.lags.load(Ordering::Relaxed) {
            // SAFETY: the caller has the turn.
            unsafe { self.lagging() }.for_each(|_, page| pages.push(page));
        }
        pages
    }

    /// Brings all lagging pages up to date that no thread has touched (`Signal`), and returns them.
    /// Everything may be written, and the caller has the turn. Usable in the fault handler.
    pub(in crate::view) fn apply_lagging(&self, made_right: impl Fn(u64)) {
        let (folded, snapshot) = self.unfolded();
        if folded >= snapshot {
            return;
        }
        // SAFETY: the caller has the turn.
        unsafe { self.lagging() }.for_each(|lagging, page| {
            if !self.readable.has(page) {
                let made = lagging.committed(&self.region, page, self.scratch.cast().as_ptr());
                // SAFETY: as in `made_aside`.
                self.apply(page, 0, unsafe { &*made.cast::<[u8; PAGE_SIZE]>() });
                made_right(page);
            }
        });
    }

    /// Puts a page's committed content in the snapshot into the page (`Explicit`). The caller has the turn.
    pub fn show_committed(&self, page: u64) {
        self.apply(page, 0, self.made_aside(page));
    }

    /// Brings a page up to date that no thread may touch yet (`Signal`), before any may: the memory may be
    /// lent to other threads. If the kernel does not allow that, it is made writable first. The caller has
    /// the turn. Usable in the fault handler.
    pub(in crate::view) fn make_right(&self, page: u64) -> std::io::Result<()> {
        let made = self.made_aside(page);
        let Some(memory) = &self.memory else {
            self.protect(page, 1, MprotectFlags::READ | MprotectFlags::WRITE)?;
            self.apply(page, 0, made);
            return Ok(());
        };
        rustix::io::pwrite(memory, made, self.page(page).addr() as u64)?;
        self.private.set(page);
        Ok(())
    }

    /// The part of the ring that the snapshot has and base pages may lack.
    #[inline]
    pub fn unfolded(&self) -> (u64, u64) {
        let folded = self.folded.load(Ordering::Relaxed);
        (folded, self.snapshot.load(Ordering::Relaxed))
    }

    /// No record of the snapshot need be applied any more.
    pub(crate) fn forget_unfolded(&self) {
        let snapshot = self.snapshot.load(Ordering::Relaxed);
        self.folded.store(snapshot, Ordering::Relaxed);
    }

    /// True if such records exist on a page. May be wrongly true. The caller has the turn.
    #[inline]
    pub fn is_unfolded(&self, page: u64) -> bool {
        let (folded, snapshot) = self.unfolded();
        // SAFETY: the caller has the turn.
        folded < snapshot && unsafe { self.lagging() }.has(page)
    }

    /// A page as it was committed in the snapshot: the base page, a copy that stays as it is until the
    /// transaction is over, or `scratch`. A caller that asks for many pages takes the turn before, where
    /// base pages [lag](View::must_follow).
    pub fn committed(&self, page: u64, scratch: &mut [u8; PAGE_SIZE]) -> *const u8 {
        let _turn = (self.must_follow() && !self.turns.is_mine()).then(|| self.turn());
        self.committed_in_turn(page, scratch)
    }

    /// As [`View::committed`]. The caller has the turn.
    fn committed_in_turn(&self, page: u64, scratch: *mut [u8; PAGE_SIZE]) -> *const u8 {
        match self.is_unfolded(page) {
            // SAFETY: the caller has the turn.
            true => unsafe { self.lagging() }.committed(&self.region, page, scratch),
            // The base page must not be touched.
            false if self.is_unbacked(page) => Self::zeroes(),
            false => self.region.base(page),
        }
    }

    /// A page as committed in the snapshot, made at a hidden place. The caller has the turn, and has put
    /// it in its place before it makes another.
    pub(in crate::view) fn made_aside(&self, page: u64) -> &[u8; PAGE_SIZE] {
        let made = self.committed_in_turn(page, self.scratch.cast().as_ptr());
        // SAFETY: a whole page. Base pages may lack such records. So it is a copy or the scratch page, both
        // of which the holder of the turn uses. Or it is a base page that does not change while this
        // snapshot runs.
        unsafe { &*made.cast() }
    }
}

/// This process' memory as a file, if a page that may not be touched can be written through it.
pub(super) fn own_memory() -> Option<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let memory = rustix::fs::open("/proc/self/mem", flags, Mode::empty()).ok()?;
    let flags = MapFlags::PRIVATE;
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let page = unsafe {
        rustix::mm::mmap_anonymous(ptr::null_mut(), PAGE_SIZE, ProtFlags::empty(), flags)
    }
    .ok()?;
    let tried = rustix::io::pwrite(&memory, &[1], page.addr() as u64);
    // SAFETY: mapped just above, and without another user.
    let _ = unsafe { rustix::mm::munmap(page, PAGE_SIZE) };
    tried.is_ok().then_some(memory)
}
