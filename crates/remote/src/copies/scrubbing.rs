//! The entries of a copy that came back, read beside those of another one. Up to the number that the register recorded for it,
//! they were compared by length when it joined ([`joining`](super::joining)): to read the whole log first would leave the set
//! without the copy for so long. A disk that lost power may have damaged any of them.
//!
//! The writer's thread reads a few entries at each of its looks. A copy with a damaged one leaves the set, and comes back in
//! another life. Which of two is damaged shows in the entry itself; with keys, a third copy decides, or a warning names both.

use super::Copies;
use super::elsewhere::is_damaged;
use super::keeper::View;
use super::life::Life;
use super::members::Wait;
use super::record::CopyRecord;
use sardonyx_base::events;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many entries are read at one look.
const ENTRIES_AT_ONCE: usize = 64;

/// They have so many bytes, or are one.
const BYTES_AT_ONCE: u64 = 4 << 20;

/// A copy that is read.
#[derive(Debug)]
struct Scrub {
    place: String,
    life: u64,
    next: u64,
    last: u64,
}

/// The copies that came back and are read, one after the other.
#[derive(Debug, Default)]
pub(super) struct Scrubs(VecDeque<Scrub>);

impl Scrubs {
    /// A copy is read up to this number.
    pub fn begin(&mut self, place: &str, life: u64, last: u64) {
        self.0.retain(|scrub| scrub.place != place);
        if last > 0 {
            self.0.push_back(Scrub {
                place: place.into(),
                life,
                next: 1,
                last,
            });
        }
    }
}

impl Copies {
    /// Reads the next entries of a copy.
    ///
    /// # Errors
    /// A copy's, or the keeper's: they are read at a later look.
    pub(super) fn scrub(&self, view: &Arc<View>, scrubs: &mut Scrubs) -> Result<(), StoreError> {
        let Some(scrub) = scrubs.0.front_mut() else {
            return Ok(());
        };
        let record = &view.record;
        let is_it = |copy: &&CopyRecord| copy.place == scrub.place && copy.life == scrub.life;
        let Some(copy) = record.in_sync().find(is_it) else {
            // It has left the set.
            scrubs.0.pop_front();
            return Ok(());
        };
        // The first of the chain, or the next one.
        let Some(other) = record.in_sync().find(|copy| !is_it(copy)) else {
            return Ok(());
        };
        let [one, two] = [copy, other].map(|copy| self.members.get(record, copy, Wait::Long));
        let (member, beside) = (one?, two?);
        let mut bytes = 0;
        let listed = beside.list(scrub.next)?;
        let numbers: Vec<u64> = listed
            .iter()
            .take(ENTRIES_AT_ONCE)
            .take_while(|entry| {
                let is_first = bytes == 0;
                bytes += entry.bytes;
                entry.number <= scrub.last && (is_first || bytes <= BYTES_AT_ONCE)
            })
            .map(|entry| entry.number)
            .collect();
        if numbers.is_empty() {
            scrubs.0.pop_front();
            return Ok(());
        }
        let (theirs, there) = (
            member.read_several(&numbers)?,
            beside.read_several(&numbers)?,
        );
        for ((number, theirs), there) in numbers.into_iter().zip(theirs).zip(there) {
            scrub.next = number;
            // One that is lacking was deleted with the log's beginning.
            let is_unlike = theirs.is_some() && there.is_some() && theirs != there;
            let two = [(copy, &member), (other, &beside)];
            // The next look is without the copy that has left.
            if is_unlike && self.has_left_out(view, number, two)? {
                break;
            }
            scrub.next += 1;
        }
        Ok(())
    }

    /// Leaves out the one of two copies in which this entry is damaged. False: that is not known, or an answer was damaged.
    fn has_left_out(
        &self,
        view: &Arc<View>,
        number: u64,
        two: [(&CopyRecord, &Arc<Life>); 2],
    ) -> Result<bool, StoreError> {
        // Read again: answers may be damaged on their way.
        let [(one, at_one), (other, at_other)] = two;
        let (Some(first), Some(second)) = (at_one.read(number)?, at_other.read(number)?) else {
            return Ok(false);
        };
        if first == second {
            return Ok(false);
        }
        let faulty = match (is_damaged(number, &first), is_damaged(number, &second)) {
            (true, false) => Some(one),
            (false, true) => Some(other),
            _ => {
                let mut others = view.record.in_sync();
                let third =
                    others.find(|copy| copy.place != one.place && copy.place != other.place);
                let third = third.map(|copy| self.members.get(&view.record, copy, Wait::Long));
                let third = third.transpose()?;
                let third = third.map(|member| member.read(number)).transpose()?;
                match third.flatten() {
                    Some(third) if third == second => Some(one),
                    Some(third) if third == first => Some(other),
                    _ => None,
                }
            }
        };
        match faulty {
            Some(copy) => {
                let reason = format!("its entry {number} is damaged");
                self.leave_out_faulty(view, &copy.place, reason)?;
                Ok(true)
            }
            None => {
                let (copy, other) = (&one.place, &other.place);
                events::error!(
                    %copy,
                    %other,
                    number,
                    "two copies of the log have different bytes of an entry: `sardonyx store verify` of each shows the \
                     damaged one; have that one filled by `store copies PLACE --remove`, and then `--add`"
                );
                Ok(false)
            }
        }
    }
}
