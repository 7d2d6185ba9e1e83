//! The ends of the copies in the set, compared before a process becomes the writer. If a copy was
//! restored from a backup and the register was not, the copy ends before the others. A process that takes its log for the
//! whole would continue there.
//!
//! ```text
//!   a: 1 2 3          lacks 4, which was on all copies before b had 5: it was restored
//!   b: 1 2 3 4 5      knows more, and stays
//!   c: 1 2 3          the same as a; a reader that asks it takes 3 for the end
//! ```
//!
//! Copies that were never restored keep three rules ([`super`], rules 1 and 3):
//!
//! 1. Each has the entry before the last one that any of them has, and the last one that the process has read. A writer
//!    begins an entry when the one before is on all.
//! 2. Each has what a later one of the chain has.
//! 3. Each has the entry up to which the register has it as complete. A process that becomes the writer records that, so
//!    the register knows the log's end at each takeover.
//!
//! A copy that breaks a rule leaves the set, if another one that answers keeps them. It is then compared with the log from the
//! beginning, and filled. If there is no other one, the process does not become the writer.
//!
//! **Invariants:** entries that another writer appends meanwhile raise no alarm. The copies are asked from the last one of
//! the chain on. A copy that seems to lack an entry is asked for it once more, after that entry was seen elsewhere. The
//! register is then the same as before.
//! The beginning of the log may be deleted, on some copies before others. So a copy that has a later entry lacks none. Once
//! there is a boundary, a copy whose entries all have a fence's length is not judged.
//!
//! A copy that gives no answer is not compared. If it is excluded, and knows more, it is left as it is when it comes back
//! ([`joining`](super::joining)).

use super::Copies;
use super::chain::Broken;
use super::entries::ATTEMPTS;
use super::keeper::View;
use super::life::{FENCE_BYTES_MAX, Life};
use super::members::Wait;
use super::planted::{self, Planted};
use super::record::{CopyRecord, SetRecord};
use sardonyx_storage::remote_log::store::{Register, RemoteStore, StoreError};
use std::sync::Arc;

#[cfg(test)]
std::thread_local! {
    /// The number of times that this thread found a copy to be restored.
    pub(super) static ALARMS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The result of a comparison.
#[derive(Debug)]
pub(super) enum Ends {
    /// No copy that answers lacks an entry. All copies of the set have the log up to this number; 0: it is not known.
    Agree { complete: u64 },
    /// This copy has lost entries, and another one has them. All copies of the set once had the log up to this number.
    Lacks(Broken, u64),
    /// The register has changed meanwhile: a copy that was excluded lacks later entries.
    Changed,
}

/// A copy, and its last entries.
struct End<'a> {
    copy: &'a CopyRecord,
    member: Arc<Life>,
    has: Vec<u64>,
}

impl End<'_> {
    fn lacks(&self, number: u64) -> Result<bool, StoreError> {
        let lacks = !self.has.contains(&number);
        Ok(lacks && self.member.read(number)?.is_none())
    }

    /// True if the copy ends before this entry. One that has a later entry was not restored: the entry was deleted with the
    /// log's beginning. So were all of a copy that has possible fences alone, if a log's beginning `is_deleted`.
    fn ends_before(&self, number: u64, is_deleted: bool) -> Result<bool, StoreError> {
        let has_later = self.has.iter().any(|has| *has > number);
        if has_later || !self.lacks(number)? || !self.member.list(number)?.is_empty() {
            return Ok(false);
        }
        Ok(!is_deleted || self.has_log()?)
    }

    /// True if one of its entries is no fence.
    fn has_log(&self) -> Result<bool, StoreError> {
        let mut from = 0;
        loop {
            let listed = self.member.list(from)?;
            if listed.iter().any(|listed| listed.bytes > FENCE_BYTES_MAX) {
                return Ok(true);
            }
            match listed.last() {
                Some(last) => from = last.number + 1,
                None => return Ok(false),
            }
        }
    }
}

impl Copies {
    /// Compares the ends of the copies in this set, of which the process knows the log before this number.
    ///
    /// # Errors
    /// [`StoreError::Setup`]: all copies that answer have lost entries. The keeper's.
    pub(super) fn compare_ends(&self, view: &View, number: u64) -> Result<Ends, StoreError> {
        if planted::is(Planted::EndsNotCompared) || planted::is(Planted::TakenWithoutAsking) {
            return Ok(Ends::Agree { complete: 0 });
        }
        let before = number.saturating_sub(1);
        let record = &view.record;
        let chain: Vec<&CopyRecord> = record.in_sync().collect();
        let mut ends: Vec<End<'_>> = Vec::new();
        for copy in chain.into_iter().rev() {
            // One that gives no answer says nothing.
            let Ok(member) = self.members.get(record, copy, Wait::Short) else {
                continue;
            };
            let Ok(listed) = member.list(before) else {
                continue;
            };
            let has = listed.iter().map(|entry| entry.number).collect();
            ends.push(End { copy, member, has });
        }
        let last = ends.iter().filter_map(|end| end.has.last().copied()).max();
        let last = last.unwrap_or(0);
        // The boundary moves before anything is deleted.
        let boundary = self.read_register(Register::Boundary)?;
        let (mut lacking, mut sound) = (Vec::new(), 0);
        for (nth, end) in ends.iter().enumerate() {
            match lost_by(nth, &ends, (number, last), boundary.is_some()) {
                Ok(None) => sound += 1,
                Ok(Some(lost)) => lacking.push((end.copy, lost)),
                Err(_) => {}
            }
        }
        let Some((copy, lost)) = lacking.first() else {
            let tail = record.tail().map(|tail| &tail.place);
            let mut tails = ends.iter().filter(|end| Some(&end.copy.place) == tail);
            let is_there = tails.any(|end| end.has.contains(&before));
            return Ok(Ends::Agree {
                complete: if is_there { before } else { 0 },
            });
        };
        let is_same = self.read_register(Register::Boundary)? == boundary;
        if !is_same || self.look()?.version != view.version {
            return Ok(Ends::Changed);
        }
        #[cfg(test)]
        ALARMS.set(ALARMS.get() + 1);
        if sound == 0 {
            let silent = record.in_sync().map(|copy| copy.place.as_str());
            let silent = silent.filter(|place| !ends.iter().any(|end| end.copy.place == *place));
            return Err(self.all_lack(&lacking, &silent.collect::<Vec<_>>()));
        }
        let lacking = Broken {
            place: copy.place.clone(),
            error: StoreError::NotNow {
                what: "count as a copy of the log".into(),
                place: copy.place.clone(),
                reason: format!(
                    "it lacks entry {lost}, which it had: it was restored from a backup, or has lost data"
                ),
            },
            differs: true,
        };
        Ok(Ends::Lacks(lacking, last.saturating_sub(1)))
    }

    /// Leaves out the copies that lack the last entry which this host has read, before the number `next`. A reader that asks
    /// such a copy would take the log for a shorter one.
    ///
    /// # Errors
    /// As [`Copies::compare_ends`]; the keeper's.
    pub(super) fn leave_out_restored(&self, next: u64) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let view = self.look()?;
            // Recorded ends are for takeovers: entries before them may be deleted.
            let complete = view.record.in_sync().map(|copy| copy.complete).max();
            let next = next.max(complete.unwrap_or(0) + 1);
            let (broken, complete) = match self.compare_ends(&view, next)? {
                Ends::Agree { .. } => return Ok(()),
                Ends::Changed => continue,
                Ends::Lacks(broken, complete) => (broken, complete),
            };
            let without = self.without(&view, &broken, complete)?;
            self.leave_out(&view, &without, &broken)?;
        }
        Err(self.changes("leave out restored copies"))
    }

    /// True if this copy answers, and has the log up to the end that the register records.
    pub(super) fn has_recorded(
        &self,
        record: &SetRecord,
        copy: &CopyRecord,
    ) -> Result<bool, StoreError> {
        let member = self.members.get(record, copy, Wait::Short)?;
        member.read(1)?;
        if copy.complete == 0 {
            return Ok(true);
        }
        let is_deleted = self.read_register(Register::Boundary)?.is_some();
        let has = Vec::new();
        let end = End { copy, member, has };
        Ok(!end.ends_before(copy.complete, is_deleted)?)
    }

    fn all_lack(&self, lacking: &[(&CopyRecord, u64)], silent: &[&str]) -> StoreError {
        let lost = lacking.iter().map(|(_, lost)| *lost).max().unwrap_or(0);
        let places: Vec<&str> = lacking
            .iter()
            .map(|(copy, _)| copy.place.as_str())
            .collect();
        let others = match silent.is_empty() {
            true => "No other copy is in sync.".into(),
            false => format!("Have {silent:?} answer, which may have the entry."),
        };
        StoreError::Setup {
            place: self.place.clone(),
            reason: format!(
                "the copies {places:?} lack entry {lost}, which they had: they were restored from a backup, or have lost \
                 data. {others} If the entry is lost for ever, make a database for a new set: of the directory of the \
                 host that served last (sardonyx backup), or of the rest of the log (sardonyx store clone)"
            ),
        }
    }
}

/// An entry that the copy of this index has lost. The copies after it in the chain are before it here. The process
/// knows the log before this number, and `last` is the last number that any copy has.
fn lost_by(
    nth: usize,
    ends: &[End<'_>],
    (number, last): (u64, u64),
    is_deleted: bool,
) -> Result<Option<u64>, StoreError> {
    let Some(end) = ends.get(nth) else {
        return Ok(None);
    };
    let before = number.saturating_sub(1);
    let is_at = |ends: &[End<'_>], number| ends.iter().any(|end| end.has.contains(&number));
    let later = ends.get(..nth).unwrap_or_default();
    for (wanted, is_wanted) in [
        (last.saturating_sub(1), last > number),
        (before, is_at(ends, before)),
        (last, is_at(later, last)),
    ] {
        if is_wanted && end.ends_before(wanted, is_deleted)? {
            return Ok(Some(wanted));
        }
    }
    let complete = end.copy.complete;
    let is_lost = complete >= number && end.ends_before(complete, is_deleted)?;
    Ok(is_lost.then_some(complete))
}
