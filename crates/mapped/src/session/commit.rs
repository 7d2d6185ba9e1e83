//! Committing: from the pages that were written to redo records in the ring.
//!
//! Invariant: the commit lock is held from the last look at the others' commits until the store of the tail. So nothing
//! that the transaction read can change unseen.

use super::{Begin, Session};
use crate::difference::{PageBytes, differences};
use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::shared::control::IDLE;
use crate::shared::ring::{self, Frames, changes};
use crate::shared::spill;
use crate::shared::versions;
use sardonyx_storage::log::record::{RECORD_HEAD_BYTES, append_write, mark_end};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::sync::atomic::Ordering;

impl Session {
    pub(super) fn try_commit(&mut self, begin: Begin) -> Result<Option<u64>, SegmentError> {
        if let Some(source) = self.view.take_refused() {
            let operation = match source.raw_os_error() {
                Some(libc::ENOMEM) => {
                    "make a page accessible (a process may have 65,530 ranges of different \
                     protection: touch fewer scattered pages in one transaction, or use the \
                     asynchronous mechanism)"
                }
                _ => "make a page accessible",
            };
            return Err(SegmentError::System { operation, source });
        }
        if begin.read_only {
            return Ok(None);
        }
        if self.is_doomed() {
            return Err(SegmentError::Conflict { page: 0 });
        }
        self.gather()?;
        if self.redo.is_empty() {
            // Another transaction's record says that the segment is as long as requested; it may not be
            // durable yet.
            let tail = &self.shared.region.control().tail;
            let relies = self.grown > 0 && self.shared.has_log();
            return Ok(relies.then(|| tail.load(Ordering::SeqCst)));
        }
        let limit = self.shared.transaction_bytes_max();
        if self.redo.len() as u64 > limit {
            let bytes = self.redo.len() as u64;
            return Err(SegmentError::TransactionTooLarge { bytes, limit });
        }
        planted::step(Step::Gathered);
        let control = self.shared.region.control();
        let snapshot = self.view.unfolded().1;
        // Commits until now are judged before the lock is taken.
        let mut until = control.tail.load(Ordering::SeqCst);
        self.validate(snapshot, until)?;
        if !begin.exclusive {
            self.shared.wait_for_log(self.redo.len())?;
            let shared = &self.shared;
            shared.lock_commit(|| self.validate_more(&mut until))?;
        }
        let published = self.publish(begin, snapshot, until);
        if !begin.exclusive {
            self.shared.unlock_commit();
        }
        if std::mem::take(&mut self.asked_the_old) {
            self.shared.tell_of_slow_reader(self.slot);
        }
        published.map(Some)
    }

    /// The part of a commit that one does at a time.
    pub(super) fn publish(
        &mut self,
        begin: Begin,
        snapshot: u64,
        mut validated: u64,
    ) -> Result<u64, SegmentError> {
        let shared = self.shared.clone();
        let tail = &shared.region.control().tail;
        let mut waiting = None;
        loop {
            let before = tail.load(Ordering::SeqCst);
            self.validate(validated, before)?;
            validated = before;
            if shared.has_room(self.redo.len())? {
                break;
            }
            self.let_go(validated);
            if begin.exclusive {
                shared.wait_for_readers(&mut waiting, self.slot)?;
                continue;
            }
            shared.unlock_commit();
            let waited = shared.wait_for_readers(&mut waiting, self.slot);
            shared.lock_commit(|| self.validate_more(&mut validated))?;
            waited?;
        }
        if self.logs_length {
            self.redo[RECORD_HEAD_BYTES] = ring::committed_byte(&shared.region, self.last_byte());
        }
        let bytes = self.redo.len();
        let end = match spill::spills(&shared.region, bytes) {
            false => ring::publish(&shared.region, self.writer, &self.redo),
            true => {
                spill::take(&shared.region, &mut self.redo);
                ring::publish_spilled(&shared.region, self.writer, bytes)
            }
        };
        if self.logs_length {
            shared.region.note_logged_pages(self.view.mapped());
        }
        if validated == snapshot {
            self.seen = end;
        }
        // This transaction needs its snapshot no more, and should not keep itself from folding. A fault from
        // now on finds no transaction, and not what the snapshot no longer keeps.
        self.view.leave();
        self.slot().snapshot.store(IDLE, Ordering::SeqCst);
        planted::step(Step::SlotFree);
        let published = ring::room_bytes(&shared.region, bytes);
        let bytes = ring::fold_bytes(published);
        ring::fold(&shared.region, Some(self.writer), bytes);
        ring::tidy(&shared.region);
        self.asked_the_old = versions::ask_the_old(&shared.region, self.slot, published);
        Ok(end)
    }

    /// Judges later commits, and releases them. To be called again and again while the commit lock is waited
    /// for: its holder may itself wait for room, which this session's pin keeps.
    fn validate_more(&self, validated: &mut u64) -> Result<(), SegmentError> {
        let until = self.shared.region.control().tail.load(Ordering::SeqCst);
        self.validate(*validated, until)?;
        *validated = until;
        self.let_go(until);
        Ok(())
    }

    /// The data that this transaction used was unchanged up to `validated`. Before that it needs no old
    /// versions any more, for its records are made. Others may need the room. Should it not commit after
    /// all, what it wrote cannot be put back page by page.
    pub(super) fn let_go(&self, validated: u64) {
        // A fault from now on finds no transaction, and not what is no longer kept.
        self.view.leave();
        let slot = self.slot();
        slot.pin.fetch_max(validated, Ordering::SeqCst);
        slot.immune.store(IDLE, Ordering::SeqCst);
    }

    /// Checks that commits from `from` to `to` changed nothing that this transaction used.
    pub(super) fn validate(&self, from: u64, to: u64) -> Result<(), SegmentError> {
        if planted::skips_validation() {
            return Ok(());
        }
        if self.is_doomed() {
            return Err(SegmentError::Conflict { page: 0 });
        }
        let mut last = None;
        // SAFETY: the slot pins the ring from its snapshot on.
        for frame in unsafe { Frames::new(&self.shared.region, from, to) } {
            for change in changes(frame.records) {
                if last == Some(change.page) {
                    continue;
                }
                last = Some(change.page);
                if self.was_used(change.page)? {
                    self.shared.conflicts.count(change.page);
                    return Err(SegmentError::Conflict { page: change.page });
                }
            }
        }
        Ok(())
    }

    pub(super) fn was_used(&self, page: u64) -> Result<bool, SegmentError> {
        Ok(self.written.binary_search(&page).is_ok()
            || self.mechanism.was_read(&self.view, page)?)
    }

    /// The place of the view's last byte.
    fn last_byte(&self) -> Address {
        Address(self.length() - 1)
    }

    /// Makes redo records of the changes.
    ///
    /// If the log does not know yet that the segment is as long as this transaction saw it, the first record says so.
    /// It is an after-image of the last byte, which recovery cannot install without making the pages up to it. (The
    /// byte there is read at publishing: others may have written it since.) So a length is as durable as anything that
    /// relies on it. That holds also if another transaction grew the segment and has not committed, or never will.
    pub(super) fn gather(&mut self) -> Result<(), SegmentError> {
        self.redo.clear();
        let mut last = 0;
        let logged = self.shared.region.logged_pages();
        self.logs_length = self.view.mapped() > logged;
        if self.logs_length {
            let last_byte = self.last_byte();
            append_write(&mut self.redo, last_byte, &[0]);
            self.shared.region.back([last_byte.page().0])?;
        }
        let length_bytes = self.redo.len();
        let view = &self.view;
        let region = &*self.shared.region;
        let page = |address: u64| address / PAGE_SIZE as u64;
        if let Some(ranges) = self.mechanism.ranges() {
            region.back(ranges.iter().map(|range| page(range.start)))?;
            for range in ranges {
                last = self.redo.len();
                let bytes = (range.end - range.start) as usize;
                // SAFETY: the range was checked when it was noted; the view is not written now.
                let bytes = unsafe {
                    let start = view.base().add(range.start as usize);
                    std::slice::from_raw_parts(start, bytes)
                };
                append_write(&mut self.redo, Address(range.start), bytes);
            }
        } else {
            self.mechanism.written(view, &mut self.written)?;
            self.written.sort_unstable();
            self.written.dedup();
            region.back(self.written.iter().copied())?;
            // Once for all pages, and not at all where base pages are right.
            let turn = view.must_follow().then(|| view.turn());
            for &page in &self.written {
                let before = view.committed(page, &mut self.scratch);
                // SAFETY: both are whole pages. The view is private, and not written now. The base page does
                // not change while no unfolded record is on it; otherwise `before` is the scratch page.
                let (before, after) = unsafe {
                    (
                        &*before.cast::<PageBytes>(),
                        &*view.page(page).cast::<PageBytes>(),
                    )
                };
                differences(before, after, |offset, bytes| {
                    last = self.redo.len();
                    append_write(
                        &mut self.redo,
                        Address(page * PAGE_SIZE as u64 + offset as u64),
                        bytes,
                    );
                });
            }
            drop(turn);
        }
        if self.redo.len() == length_bytes && self.grown <= logged {
            // Nothing relies on the length.
            self.redo.clear();
            self.logs_length = false;
        }
        if !self.redo.is_empty() {
            mark_end(&mut self.redo, last);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MechanismKind, Memory, Options, SegmentError};

    /// Its pin follows what is committed meanwhile. Before, a session that had priority could wait with the
    /// lock for room in the ring, which one that waited for the lock kept.
    #[test]
    fn who_waits_for_the_commit_lock_keeps_nothing_that_its_holder_publishes() {
        let options = Options::new().mechanism(MechanismKind::Explicit);
        let segment = options.open_private().unwrap();
        let grown = segment.run(|tx| tx.grow_to(16 * PAGE_SIZE as u64));
        grown.unwrap();
        let mut session = segment.session().unwrap();
        let (state, slot) = (session.state().clone(), session.slot);
        let region = &*state.region;
        let slot = &region.control().slots[slot];
        let comes = |done: &dyn Fn() -> bool| {
            let began = std::time::Instant::now();
            while !done() && began.elapsed().as_secs() < 60 {
                std::thread::yield_now();
            }
            done()
        };
        std::thread::scope(|scope| {
            state.lock_commit(|| Ok(())).unwrap();
            let committing = scope.spawn(move || -> Result<_, SegmentError> {
                session.begin(Begin::default())?;
                session.note_write(0, 8);
                let place = session.address().cast::<u64>();
                // SAFETY: within the view, which is this thread's and writable.
                unsafe { place.write(7) };
                session.commit()
            });
            let waits = comes(&|| slot.immune.load(Ordering::SeqCst) == IDLE);
            let mut records = Vec::new();
            append_write(&mut records, Address(8 * PAGE_SIZE as u64), &[1; 8]);
            mark_end(&mut records, 0);
            region.back([8]).unwrap();
            let end = ring::publish(region, (u32::MAX, 0), &records);
            let lets_go = comes(&|| slot.pin.load(Ordering::SeqCst) == end);
            // Before anything is asserted: who waits could else never end.
            state.unlock_commit();
            assert!(waits && lets_go, "it waits: {waits}; it lets go: {lets_go}");
            committing.join().unwrap().unwrap();
        });
        let snapshot = segment.snapshot().unwrap();
        let bytes = snapshot.bytes();
        assert_eq!((bytes[0], bytes[8 * PAGE_SIZE]), (7, 1));
    }
}
