//! The newest commit groups in memory, for the carrier of the log to a store that follows: new groups need not be read
//! back from disk.
//!
//! A group here may not be durable yet (I1): the carrier waits until it is. The groups are bounded in bytes (I10), the
//! oldest are dropped first; a carrier that lags reads the log from disk ([`super::follow`]). Without a carrier none
//! is kept; nor while the carrier lags, since it would be dropped before the carrier came to it. The carrier lags if a
//! group is dropped that it did not take. Groups are kept again when it asks for one of the last few that were
//! written.

use super::group::GroupHeader;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of groups that are kept.
const BYTES_MAX: usize = 16 << 20;

/// A carrier that lagged is near when it wants one of so many last groups: few enough that it reads them from disk
/// before the later ones are too many to be kept.
const NEAR_GROUPS: u64 = 8;

/// A commit group with its bytes on disk, or soon there.
pub type GroupBytes = (GroupHeader, Arc<[u8]>);

/// The newest groups, by their numbers.
#[derive(Debug, Default)]
pub struct RecentGroups {
    is_wanted: AtomicBool,
    /// The carrier takes groups from here, or will soon.
    is_near: AtomicBool,
    /// The largest number of a group that was written since it is wanted.
    newest: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: BTreeMap<u64, GroupBytes>,
    bytes: usize,
    /// The number of the group that the carrier asked for last.
    wanted: u64,
}

impl RecentGroups {
    /// Keeps groups from now on, or drops them and keeps none.
    pub fn set_wanted(&self, is_wanted: bool) {
        // Its requests show its distance.
        self.is_near.store(is_wanted, Ordering::SeqCst);
        self.is_wanted.store(is_wanted, Ordering::SeqCst);
        if !is_wanted {
            let before = std::mem::take(&mut *self.state.lock());
            drop(before);
        }
    }

    /// A group is about to be written. Groups may come out of order, if several are written at once.
    pub fn put(&self, header: &GroupHeader, bytes: &[u8]) {
        if !self.is_wanted.load(Ordering::SeqCst) {
            return;
        }
        self.newest.fetch_max(header.number, Ordering::SeqCst);
        if !self.is_near.load(Ordering::SeqCst) {
            return;
        }
        let bytes: Arc<[u8]> = bytes.into();
        let mut state = self.state.lock();
        state.bytes += bytes.len();
        state.groups.insert(header.number, (*header, bytes));
        while state.bytes > BYTES_MAX {
            let Some((number, (_, oldest))) = state.groups.pop_first() else {
                break;
            };
            state.bytes -= oldest.len();
            if number >= state.wanted {
                // It will be read from disk, and so will all that would go before it is reached.
                self.is_near.store(false, Ordering::SeqCst);
                state.bytes = 0;
                let lagged = std::mem::take(&mut state.groups);
                drop(state);
                drop(lagged);
                return;
            }
        }
    }

    /// The group of this number, if it is here.
    #[inline]
    pub fn get(&self, number: u64) -> Option<GroupBytes> {
        let mut state = self.state.lock();
        self.look(&mut state, number);
        state.groups.get(&number).cloned()
    }

    /// The carrier wants this group next.
    fn look(&self, state: &mut State, number: u64) {
        state.wanted = number;
        if self.newest.load(Ordering::SeqCst) < number.saturating_add(NEAR_GROUPS) {
            self.is_near
                .store(self.is_wanted.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::disk::AlignedBuffer;
    use crate::log::seal::{GroupBuilder, Sequencer};
    use crate::log::{LogLayout, LogPosition};

    /// Headers of groups, from 1 on.
    fn headers(count: usize) -> Vec<GroupHeader> {
        let layout = LogLayout::new(1, 64 << 10);
        let mut sequencer = Sequencer::new(layout, 1, LogPosition::START);
        let empty = || GroupBuilder::from_buffer(AlignedBuffer::with_capacity(4096));
        let mut next = || *sequencer.seal(empty()).header();
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn i10_the_oldest_go_first() {
        let recent = RecentGroups::default();
        let megabytes = vec![7; 5 << 20];
        let headers = headers(4);
        recent.put(&headers[0], &megabytes);
        assert!(recent.get(1).is_none(), "nobody wants them");
        recent.set_wanted(true);
        for header in &headers {
            // The carrier has the groups up to the third.
            assert!(recent.get(3).is_none() || header.number > 3);
            recent.put(header, &megabytes);
        }
        let kept: Vec<bool> = (1..=4).map(|number| recent.get(number).is_some()).collect();
        assert_eq!(kept, [false, true, true, true]);
        assert_eq!(recent.get(4).map(|(header, _)| header.number), Some(4));
        recent.set_wanted(false);
        assert!(recent.get(4).is_none());
    }

    #[test]
    fn for_a_carrier_that_lags_nothing_is_copied_until_it_is_near_again() {
        let recent = RecentGroups::default();
        let (megabytes, headers) = (vec![7; 5 << 20], headers(60));
        let kept = |recent: &RecentGroups| recent.state.lock().groups.len();
        recent.set_wanted(true);
        assert!(recent.get(1).is_none());
        headers[..3].iter().for_each(|h| recent.put(h, &megabytes));
        assert_eq!(kept(&recent), 3, "it may still come");
        // The first one goes, and it was not taken.
        recent.put(&headers[3], &megabytes);
        assert_eq!(kept(&recent), 0);
        headers[4..40].iter().for_each(|h| recent.put(h, &[0; 10]));
        assert_eq!(kept(&recent), 0, "nothing is copied in vain");
        // It reads from disk, group by group.
        assert!(recent.get(1).is_none() && recent.get(32).is_none());
        recent.put(&headers[40], &[0; 10]);
        assert_eq!(kept(&recent), 0, "it is nine groups behind");
        assert!(recent.get(34).is_none());
        recent.put(&headers[41], &[0; 10]);
        assert_eq!(kept(&recent), 1);
        assert!(recent.get(42).is_some(), "from memory again");
        // It waits at the end, and gets the next groups.
        assert!(recent.get(43).is_none());
        recent.put(&headers[42], &megabytes);
        assert!(recent.get(43).is_some());
        // A carrier that has left is not near.
        recent.set_wanted(false);
        assert!(recent.get(43).is_none());
        recent.put(&headers[43], &[0; 10]);
        assert_eq!(kept(&recent), 0);
    }
}
