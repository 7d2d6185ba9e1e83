//! A session: one private view of the segment and the transactions that run on it, one after another.
//!
//! ```text
//! begin:   register at the ring's tail (the snapshot) · guard the pages that others changed since
//! run:     ordinary loads and stores
//! commit:  pages written → byte ranges that differ → redo records
//!          under the commit lock: was anything read changed since the snapshot? → publish · fold
//!          (durable: wait for the group)
//! ```
//!
//! Invariants: a transaction sees the state at its snapshot, which does not change, also if it is doomed
//! (I8). A transaction that commits has read nothing that others changed since (serializable, in the
//! order of the ring). Storing the tail is the commit point (I9).

mod commit;
mod savepoint;

pub use savepoint::Savepoint;

use crate::difference::PageBytes;
use crate::error::SegmentError;
use crate::mechanism::{Access, Mechanism, MechanismKind};
use crate::planted::{self, Step};
use crate::process_state::ProcessState;
use crate::shared::control::{IDLE, Slot};
use crate::shared::ring::{Frames, changes};
use crate::shared::spill;
use crate::shared::versions;
use crate::view::{View, ViewKind};
use sardonyx_base::process::Process;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::PAGE_SIZE;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// After so many conflicts in a row the sets of pages read are to be exact,
const CONFLICTS_BEFORE_EXACT: u32 = 2;

/// for so many transactions.
const EXACT_AFTER_CONFLICTS: u32 = 8;

/// The parameters of a transaction's begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Begin {
    /// No other transaction commits while it runs, so it cannot conflict. The thread that begins it ends
    /// it.
    pub exclusive: bool,
    /// It only reads: it never conflicts and delays no other.
    pub read_only: bool,
}

/// One private view of the segment, and the transactions that run on it, one after another.
#[derive(Debug)]
pub struct Session {
    shared: Arc<ProcessState>,
    view: Arc<View>,
    mechanism: Box<dyn Mechanism>,
    slot: usize,
    writer: (u32, u32),
    /// Up to here the view is right, but for its guarded pages.
    seen: u64,
    /// Private pages were dropped: unfolded records of this session's own matter, too.
    dropped: bool,
    /// Guarded pages show base pages since: unfolded records matter that the session has seen, too, of
    /// whomever they are.
    shown: bool,
    running: Option<Begin>,
    /// Pages written, as far as they were asked for.
    written: Vec<u64>,
    redo: Vec<u8>,
    /// Pages that this transaction made the segment have at least.
    grown: u64,
    /// The first of the redo records says how long the segment is.
    logs_length: bool,
    scratch: Box<PageBytes>,
    /// The transaction that was just published asked old readers to let go of versions.
    asked_the_old: bool,
    /// Nothing that the program may read needs a fault to be read, as far as that is possible.
    ready: bool,
    /// Conflicts since a transaction of this session committed.
    conflicts: u32,
    /// Transactions that are to have exact sets.
    exact: u32,
    /// The transaction was begun checked: its writes left in the view are found until the next one.
    lent: bool,
    /// The mechanism learns of the last transaction's end when the next one begins.
    unended: bool,
}

impl Session {
    /// A session with a mechanism that was [resolved](MechanismKind::resolve).
    pub(crate) fn new(
        shared: Arc<ProcessState>,
        kind: MechanismKind,
        ready: bool,
    ) -> Result<Self, SegmentError> {
        if shared.region.was_forked() {
            return Err(SegmentError::Forked);
        }
        let (view_kind, mechanism) = kind.make();
        let view = View::new(shared.region.clone(), view_kind)?;
        let slot = shared.region.take_slot()?;
        shared.keeper.watch(slot, &view);
        let generation = shared.region.control().slots[slot]
            .generation
            .load(Ordering::Relaxed);
        let mut session = Session {
            shared,
            view,
            mechanism,
            slot,
            writer: (slot as u32, generation),
            seen: 0,
            dropped: true,
            shown: false,
            running: None,
            written: Vec::new(),
            redo: Vec::new(),
            grown: 0,
            logs_length: false,
            scratch: Box::new([0; PAGE_SIZE]),
            asked_the_old: false,
            ready,
            conflicts: 0,
            exact: 0,
            lent: false,
            unended: false,
        };
        session.steadily(Self::map_more)?;
        Ok(session)
    }

    /// Does something during which the keeper must not change the view.
    #[inline]
    fn steadily<R>(&mut self, something: impl FnOnce(&mut Self) -> R) -> R {
        self.view.steady.lock();
        let result = something(self);
        // SAFETY: locked above, by this thread. If something panicked, it stays locked, and only the
        // keeper would ever notice.
        unsafe { self.view.steady.unlock() };
        result
    }

    fn slot(&self) -> &Slot {
        &self.shared.region.control().slots[self.slot]
    }

    /// The mechanism's name.
    pub fn mechanism(&self) -> &'static str {
        self.mechanism.name()
    }

    /// The state of its segment.
    pub(crate) fn state(&self) -> &Arc<ProcessState> {
        &self.shared
    }

    /// True if a transaction is running.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// True if a read-only transaction is running.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.running.is_some_and(|begin| begin.read_only)
    }

    /// The view's first byte: the address of offset 0 of the segment, for as long as the session lives.
    /// [`crate::Transaction`] documents the allowed accesses.
    pub fn address(&self) -> *mut u8 {
        self.view.base()
    }

    /// Bytes of the view.
    pub fn length(&self) -> u64 {
        self.view.mapped() * PAGE_SIZE as u64
    }

    /// The next so many transactions know exactly which pages they read. The reads of the transaction before are
    /// forgotten, and so have to be detected again, page by page. Otherwise pages that were read once stay known as
    /// read until others change them, which costs nothing and may make a transaction run again needlessly. After a
    /// conflict a session does this by itself for a while. Only the asynchronous mechanism makes a difference; the
    /// others are always exact.
    pub fn read_exactly(&mut self, transactions: u32) {
        self.exact = transactions;
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`SegmentError::InsideTransaction`] if one is running, or if this thread runs an exclusive one
    /// and this would be another; [`SegmentError::Forked`]; errors of the operating system.
    pub fn begin(&mut self, begin: Begin) -> Result<(), SegmentError> {
        if self.shared.region.was_forked() {
            return Err(SegmentError::Forked);
        }
        if self.running.is_some() {
            return Err(SegmentError::InsideTransaction);
        }
        if begin.exclusive {
            self.shared.lock_commit(|| Ok(()))?;
        }
        self.lent = false;
        let begun = self.steadily(|session| session.try_begin(begin));
        if begun.is_err() {
            self.view.leave();
            self.slot().snapshot.store(IDLE, Ordering::SeqCst);
            if begin.exclusive {
                self.shared.unlock_commit();
            }
        }
        begun
    }

    /// As [`begin`](Self::begin), for a session whose memory was lent to code that the borrow checker
    /// does not watch (C, NumPy). It first looks for pages that were written while no transaction was
    /// running. Costs a scan of the chunks that are open for writing. And until the next transaction the
    /// view goes on showing what this one had read and written.
    ///
    /// # Errors
    /// As `begin`; [`SegmentError::WrittenOutside`] if there were such pages. They are committed
    /// ones again then, no transaction is running, and the next call begins one.
    pub fn begin_checked(&mut self, begin: Begin) -> Result<(), SegmentError> {
        if self.shared.region.was_forked() {
            return Err(SegmentError::Forked);
        }
        // After a transaction for which pages were copied into the view, it is made anew anyway.
        let copied = self.slot().immune.load(Ordering::SeqCst) != 0;
        if self.running.is_none() && !copied {
            self.mechanism.written(&self.view, &mut self.written)?;
            let first = self.written.iter().copied().min();
            self.written.clear();
            if let Some(page) = first {
                let _turn = self.view.turn();
                self.mechanism.reset(&self.view)?;
                self.dropped = true;
                return Err(SegmentError::WrittenOutside { page });
            }
        }
        self.begin(begin)?;
        self.lent = true;
        Ok(())
    }

    fn try_begin(&mut self, begin: Begin) -> Result<(), SegmentError> {
        if std::mem::take(&mut self.unended) {
            let ended = self.mechanism.end(&self.view, self.exact > 0);
            self.dropped |= ended.inspect_err(|_| self.view.mark_stale())?;
        }
        let (pin, snapshot) = self.register(begin.read_only);
        let folded = self.shared.region.control().folded.load(Ordering::SeqCst);
        self.view
            .enter(current_thread(), snapshot, folded, begin.read_only);
        self.map_more()?;
        self.refresh(pin, snapshot)?;
        self.mechanism
            .settle(&self.view, begin.read_only, self.ready)?;
        self.slot().pin.store(folded, Ordering::SeqCst);
        self.grown = 0;
        self.running = Some(begin);
        Ok(())
    }

    /// Makes the snapshot known, so that the ring is kept for it and base pages do not overtake it.
    fn register(&self, read_only: bool) -> (u64, u64) {
        let control = self.shared.region.control();
        let slot = self.slot();
        slot.immune.store(0, Ordering::Relaxed);
        slot.copy_until.store(0, Ordering::Relaxed);
        slot.doomed.store(0, Ordering::Relaxed);
        slot.read_only
            .store(u32::from(read_only), Ordering::Relaxed);
        slot.began
            .store(versions::now_milliseconds(), Ordering::Relaxed);
        loop {
            let pin = control.reclaim_limit.load(Ordering::SeqCst);
            slot.pin.store(pin, Ordering::SeqCst);
            planted::step(Step::Pinned);
            let snapshot = control.tail.load(Ordering::SeqCst);
            slot.snapshot.store(snapshot, Ordering::SeqCst);
            planted::step(Step::Registered);
            fence(Ordering::SeqCst);
            let kept = control.reclaim_limit.load(Ordering::SeqCst) <= pin;
            if kept && control.fold_limit.load(Ordering::SeqCst) <= snapshot {
                return (pin, snapshot);
            }
        }
    }

    /// Makes the view right for the snapshot.
    fn refresh(&mut self, pin: u64, snapshot: u64) -> Result<(), SegmentError> {
        let stale = self.view.take_stale();
        let anew = stale || self.seen < pin;
        // Signals wait as long as this takes: they must not see a page half changed.
        let changed = self.view.kind() == ViewKind::Asynchronous && self.seen < snapshot;
        let turn = (anew || changed || self.view.must_follow()).then(|| self.view.turn());
        if anew {
            self.mechanism.reset(&self.view)?;
            self.dropped = true;
        }
        if self.view.must_follow() {
            self.view.follow();
        }
        if !self.dropped {
            // SAFETY: the slot pins the ring from `pin` on, and `seen` is not before it.
            for frame in unsafe { Frames::new(&self.shared.region, self.seen, snapshot) } {
                if frame.writer == self.writer {
                    continue;
                }
                for change in changes(frame.records) {
                    self.mechanism.refresh(&self.view, change, frame.end)?;
                }
            }
        }
        if (self.dropped || self.shown) && self.view.kind() != ViewKind::Signal {
            for page in self.view.lagging_pages() {
                self.mechanism.lagging(&self.view, page)?;
            }
        }
        drop(turn);
        self.seen = snapshot;
        self.dropped = false;
        self.shown = false;
        Ok(())
    }

    /// Maps the pages by which the segment has grown.
    fn map_more(&mut self) -> Result<(), SegmentError> {
        if self.view.mapped() == self.shared.region.pages() {
            return Ok(());
        }
        let _turn = self.view.turn();
        let added = self.view.map_more()?;
        match added.is_empty() {
            true => Ok(()),
            false => self.mechanism.mapped(&self.view, added),
        }
    }

    pub(crate) fn running(&self) -> Result<Begin, SegmentError> {
        if self.shared.region.was_forked() {
            return Err(SegmentError::Forked);
        }
        self.running.ok_or(SegmentError::NoTransaction)
    }

    /// Gives the segment at least so many bytes and maps them into the view. If the transaction commits,
    /// the segment has them from then on, with or without content. If it does not, they are room that
    /// the next opening drops, unless another transaction that saw it has committed.
    ///
    /// # Errors
    /// [`SegmentError::ReadOnly`] if the transaction only reads and there are not so many;
    /// [`SegmentError::AddressSpaceFull`], [`SegmentError::SharedMemoryFull`].
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), SegmentError> {
        let begin = self.running()?;
        if begin.read_only {
            return match bytes <= self.length() {
                true => Ok(()),
                false => Err(SegmentError::ReadOnly),
            };
        }
        let pages = bytes.div_ceil(PAGE_SIZE as u64);
        self.shared.region.grow(pages)?;
        self.grown = self.grown.max(pages);
        self.steadily(Self::map_more)
    }

    /// Says that a range is going to be touched: cheaper than finding out page by page.
    pub fn touch(&mut self, range: Range<u64>, access: Access) -> Result<(), SegmentError> {
        let begin = self.running()?;
        if access == Access::Write && begin.read_only {
            return Err(SegmentError::ReadOnly);
        }
        self.check(range.start, range.end.saturating_sub(range.start))?;
        let page = PAGE_SIZE as u64;
        let pages = range.start / page..range.end.div_ceil(page);
        match pages.is_empty() {
            true => Ok(()),
            false => {
                self.steadily(|session| session.mechanism.advise(&session.view, pages, access))
            }
        }
    }

    /// Checks that a range is in the view.
    pub fn check(&self, offset: u64, length: u64) -> Result<(), SegmentError> {
        let bytes = self.length();
        match offset.checked_add(length) {
            Some(end) if end <= bytes => Ok(()),
            _ => Err(SegmentError::Outside {
                offset,
                length,
                bytes,
            }),
        }
    }

    /// Says to the mechanism that a range is read.
    #[inline]
    pub(crate) fn note_read(&self, offset: u64, length: usize) {
        self.mechanism.note_read(offset, length);
    }

    /// Says to the mechanism that a range is going to be written.
    #[inline]
    pub(crate) fn note_write(&mut self, offset: u64, length: usize) {
        self.mechanism.note_write(&self.view, offset, length);
    }

    /// Ends the transaction and makes its changes visible to all. Returns the end of its records in the ring, the
    /// position to wait for if it is to be durable. `None` if it changed nothing, and did not request a length that a
    /// log has to know.
    ///
    /// # Errors
    /// With any error, the transaction is over and has no effect. [`SegmentError::Conflict`]: run it again.
    pub fn commit(&mut self) -> Result<Option<u64>, SegmentError> {
        let begin = self.running()?;
        self.steadily(|session| {
            let committed = session.try_commit(begin);
            let mut ended = Ok(());
            if committed.is_ok() {
                session.exact = session.exact.saturating_sub(1);
            } else {
                ended = session.undo();
            }
            if let Err(SegmentError::Conflict { page }) = committed {
                session.conflicts += 1;
                ended = ended.and_then(|()| session.mechanism.invalidate(&session.view, page));
            } else {
                session.conflicts = 0;
            }
            session.end(begin, ended);
            committed
        })
    }

    /// The end of a transaction, however it ended. An error here does not change its outcome; the view
    /// is then made anew.
    fn end(&mut self, begin: Begin, ended: Result<(), SegmentError>) {
        // Published transactions have done so already. First the view, since a fault in it is handled by the slot's
        // pins.
        self.view.leave();
        self.slot().snapshot.store(IDLE, Ordering::SeqCst);
        if begin.exclusive {
            self.shared.unlock_commit();
        }
        // Only this snapshot may have kept a large transaction's records.
        spill::try_tidy(&self.shared.region);
        self.running = None;
        self.written.clear();
        if self.conflicts >= CONFLICTS_BEFORE_EXACT {
            self.exact = self.exact.max(EXACT_AFTER_CONFLICTS);
        }
        self.unended = self.lent;
        let ended = ended.and_then(|()| match self.lent {
            true => Ok(false),
            false => self.mechanism.end(&self.view, self.exact > 0),
        });
        let ended = ended.and_then(|dropped| {
            if self.ready {
                self.shown |= self.mechanism.rest(&self.view)?;
            }
            Ok(dropped)
        });
        match ended {
            Ok(dropped) => self.dropped |= dropped,
            Err(error) => {
                tracing::warn!(%error, "a view is made anew");
                self.view.mark_stale();
            }
        }
    }

    /// Ends the transaction without effect.
    ///
    /// # Errors
    /// [`SegmentError::NoTransaction`].
    pub fn abort(&mut self) -> Result<(), SegmentError> {
        let begin = self.running()?;
        self.steadily(|session| {
            let undone = session.undo();
            session.end(begin, undone);
        });
        Ok(())
    }

    /// True if the transaction can no longer commit in any case: its snapshot kept versions for too long.
    pub fn is_doomed(&self) -> bool {
        self.slot().doomed.load(Ordering::SeqCst) != 0
    }

    /// The most bytes of redo records that a transaction with these changes can have: a bound for programs that choose
    /// the size of their transactions.
    pub fn redo_bytes(ranges: u64, bytes: u64) -> u64 {
        let heads = ranges.saturating_mul(encoded_bytes(0) as u64);
        heads.saturating_add(bytes.checked_next_multiple_of(8).unwrap_or(u64::MAX))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.shared.region.was_forked() {
            return;
        }
        if self.running.is_some() && self.abort().is_err() {
            tracing::error!("a session's last transaction could not be undone in its view");
        }
        self.shared.region.free_slot(self.slot);
    }
}

/// The calling thread, as the kernel numbers it.
fn current_thread() -> i32 {
    thread_local! {
        /// The process and its number: a child's thread has another one.
        static THREAD: Cell<(u32, i32)> = const { Cell::new((0, 0)) };
    }
    let process = Process::current().number();
    match THREAD.get() {
        (asked, thread) if thread != 0 && asked == process => thread,
        _ => {
            // SAFETY: always succeeds.
            let thread = unsafe { libc::gettid() };
            THREAD.set((process, thread));
            thread
        }
    }
}
