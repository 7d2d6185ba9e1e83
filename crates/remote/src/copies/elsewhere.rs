//! An entry or object that the last copy of the chain has damaged, or lacks: another copy of the set has it.
//!
//! Readers ask the last copy alone. A reader that finds an entry damaged, or one missing before a later one, asks here next.
//! Entries and objects never change, so the answer of any copy of the set is as good.
//!
//! **Invariant:** only entries that are on all copies are given. The last copy has this one or a later one, so by the chain
//! ([`super`], rule 1) all copies had it.
//!
//! The last copy then leaves the set, if it is shown to be the faulty one. It comes back when all of it is compared
//! ([`joining`](super::joining)). With keys, entries are encrypted above the copies. Then a lack can be shown, and damage
//! cannot: a warning names both copies.

use super::Copies;
use super::chain::Broken;
use super::keeper::View;
use super::life::Life;
use super::members::Wait;
use super::planted::{self, Planted};
use sardonyx_base::events;
use sardonyx_storage::remote_log::entry::{ENTRY_HEAD_BYTES, Entry};
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::sync::Arc;

/// True if these bytes were an entry of this number once, or nothing, and are damaged. Of encrypted bytes that is not known.
pub(super) fn is_damaged(number: u64, bytes: &[u8]) -> bool {
    let is_this = |entry: Entry| entry.head().number == number;
    let is_lost = bytes.iter().take(ENTRY_HEAD_BYTES).all(|byte| *byte == 0);
    is_lost || Entry::begins(bytes) && !Entry::decode(bytes.to_vec()).is_ok_and(is_this)
}

impl Copies {
    /// An entry as a copy before the last one has it.
    pub(super) fn entry_elsewhere(
        &self,
        number: u64,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self.is_at_tail(attempt)? || self.list(number)?.is_empty() {
            return Ok(None);
        }
        let ask = |member: &Life| Ok((member.place(), member.read(number)?));
        let (place, found) = self.ask_copy(attempt as usize, ask, Wait::Short)?;
        if let Some(bytes) = &found
            && let Err(error) = self.doubt_tail(number, &place, bytes)
        {
            events::warn!(%error, number, "a copy of the log that lacks an entry, or has it damaged, stays in the set");
        }
        Ok(found)
    }

    /// An object as a copy before the last one has it.
    pub(super) fn object_elsewhere(
        &self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self.is_at_tail(attempt)? {
            return Ok(None);
        }
        let ask = |member: &Life| Ok((member.place(), member.read_object(name)?));
        let (place, found) = self.ask_copy(attempt as usize, ask, Wait::Long)?;
        if found.is_some() {
            events::warn!(object = name, %place, "an object of the log is read from another copy");
        }
        Ok(found)
    }

    /// True if this attempt would ask the last copy again.
    fn is_at_tail(&self, attempt: u32) -> Result<bool, StoreError> {
        let copies = self.view()?.record.in_sync().count().max(1);
        Ok((attempt as usize).is_multiple_of(copies) || planted::is(Planted::TailAlone))
    }

    /// Leaves out the last copy if it lacks this entry, of which another one has these bytes, or has it damaged.
    fn doubt_tail(&self, number: u64, at: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let view = self.look()?;
        let Some(tail) = view.record.tail() else {
            return Ok(());
        };
        let place = tail.place.clone();
        let member = self.members.get(&view.record, tail, Wait::Short)?;
        let reason = match member.read(number)? {
            // An answer was damaged, and the copy is not.
            Some(theirs) if theirs == bytes => return Ok(()),
            None => format!("it lacks entry {number}, which {at} has"),
            Some(theirs) if is_damaged(number, &theirs) && !is_damaged(number, bytes) => {
                format!("its entry {number} is damaged, and {at} has it whole")
            }
            Some(_) => {
                events::warn!(copy = %place, other = at, number, "two copies of the log have different bytes of an entry");
                return Ok(());
            }
        };
        events::warn!(copy = %place, reason, "an entry of the log is read from another copy");
        if !self.changes_copies {
            return Ok(());
        }
        self.leave_out_faulty(&view, &place, reason)
    }

    /// Leaves out a copy of the set that lost or damaged what it had. It is compared with the log from the beginning.
    pub(super) fn leave_out_faulty(
        &self,
        view: &Arc<View>,
        place: &str,
        reason: String,
    ) -> Result<(), StoreError> {
        let broken = Broken {
            place: place.into(),
            error: StoreError::NotNow {
                what: "count as a copy of the log".into(),
                place: place.into(),
                reason,
            },
            differs: true,
        };
        let without = self.without(view, &broken, 0)?;
        self.leave_out(view, &without, &broken)?;
        Ok(())
    }
}
