//! Operations on entries for a shell whose accesses are answered at once ([`EntryStore`]). GEM "is accessed
//! synchronously, since its accesses take less time than a change of process" (GEM paper, section 2).
//!
//! Each operation is read, change and swap without a pause, in order of arrival. So none finds another one under way.
//! The parts between the accesses of a shell that answers later ([`access`](super::access)) are not needed: places for
//! accesses under way, and inputs and outputs with entries. The changes of an entry, and their effects, are the same
//! functions.

use super::GemLocking;
use super::operation::Operation;
use crate::protocol::{AccessError, EntryStore, Input, Output, PageId, Protocol};

impl GemLocking {
    /// As [`Protocol::handle`], by a shell whose accesses to entries are synchronous: they are done here, and are
    /// none of the outputs. A machine is used in the one way or in the other.
    ///
    /// # Errors
    /// [`AccessError`]: the machine is of no use any more, unless the message was foreign.
    pub fn handle_with<S: EntryStore>(
        &mut self,
        store: &mut S,
        input: Input,
        outputs: &mut Vec<Output>,
    ) -> Result<(), AccessError<S::Error>> {
        self.synchronous = true;
        self.handle(input, outputs)?;
        while let Some((page, operation)) = self.arrived.pop_front() {
            if let Some(operation) = self.prepare(page, operation) {
                self.carry_out(store, page, operation, outputs)
                    .map_err(AccessError::Store)?;
            }
        }
        Ok(())
    }

    fn carry_out<S: EntryStore>(
        &mut self,
        store: &mut S,
        page: PageId,
        mut operation: Operation,
        outputs: &mut Vec<Output>,
    ) -> Result<(), S::Error> {
        let mut effects = self.spare_effects.pop().unwrap_or_default();
        let mut entry = self.spare_entry.take().unwrap_or_default();
        let mut done = false;
        let mut swapped = false;
        if let Some(known) = self.remembered_for(page, &operation) {
            *entry = known;
            let expected = entry.version;
            let changed = self.attempt(page, &mut operation, &mut entry, &mut effects, outputs);
            swapped = changed && store.swap(page, expected, (*entry).clone())?;
            done = swapped || !changed;
            if !done {
                self.home.counters.swap_failures += 1;
            }
        }
        let (mut reads, mut swaps) = (0, 0);
        if !done {
            swapped = store.update(page, &mut entry, |entry| {
                effects.clear();
                reads += 1;
                let changed = self.attempt(page, &mut operation, entry, &mut effects, outputs);
                swaps += u64::from(changed);
                changed
            })?;
            self.home.counters.entry_reads += reads;
            self.home.counters.swap_failures += swaps - u64::from(swapped);
        }
        if swapped {
            let kept = self.is_to_be_remembered(&entry);
            let written = kept.then(|| (*entry).clone());
            self.remember(page, written);
        } else if swaps > 0 {
            self.remember(page, None);
        }
        self.spare_entry = Some(entry);
        self.conclude(page, operation, effects, outputs);
        Ok(())
    }
}
