//! The newest commit groups in memory, for the carrier of the log to a standby: what was just written need
//! not be read back from disk, and a group travels while it is being written here.
//!
//! A group here may not be durable yet (I1): the carrier tells the other side when it is. The groups are bounded
//! in bytes (I10), the oldest go first; a carrier that lags reads the log from disk ([`super::follow`]). While
//! nobody is there to carry them, none is kept.

use super::group::GroupHeader;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, Ordering};
use sardonyx_base::user_code::wake;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Bytes of groups that are kept.
const BYTES_MAX: usize = 16 << 20;

/// A commit group as it stands on disk, or soon will.
pub type GroupBytes = (GroupHeader, Arc<[u8]>);

/// The newest groups, by their numbers.
#[derive(Debug, Default)]
pub struct RecentGroups {
    is_wanted: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: BTreeMap<u64, GroupBytes>,
    bytes: usize,
    carrier: Option<Waker>,
}

impl RecentGroups {
    /// Keeps groups from now on, or drops them and keeps none.
    pub fn set_wanted(&self, is_wanted: bool) {
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
        let bytes: Arc<[u8]> = bytes.into();
        let mut state = self.state.lock();
        state.bytes += bytes.len();
        state.groups.insert(header.number, (*header, bytes));
        while state.bytes > BYTES_MAX {
            let Some((_, (_, oldest))) = state.groups.pop_first() else {
                break;
            };
            state.bytes -= oldest.len();
        }
        let carrier = state.carrier.take();
        drop(state);
        carrier.into_iter().for_each(wake);
    }

    /// The group of this number, if it is here.
    pub fn get(&self, number: u64) -> Option<GroupBytes> {
        self.state.lock().groups.get(&number).cloned()
    }

    /// Ready if the group of this number is here; else the waker is woken when a group comes.
    pub fn poll(&self, number: u64, waker: &Waker) -> Poll<()> {
        // Cloned and dropped without our lock: it is not our code.
        let waker = waker.clone();
        let mut state = self.state.lock();
        if state.groups.contains_key(&number) {
            drop(state);
            return Poll::Ready(());
        }
        let before = state.carrier.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
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
        let layout = LogLayout {
            identity: 1,
            segment_bytes: 64 << 10,
        };
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
            recent.put(header, &megabytes);
        }
        let kept: Vec<bool> = (1..=4).map(|number| recent.get(number).is_some()).collect();
        assert_eq!(kept, [false, true, true, true]);
        assert_eq!(recent.get(4).map(|(header, _)| header.number), Some(4));
        recent.set_wanted(false);
        assert!(recent.get(4).is_none());
    }

    #[test]
    fn the_carrier_is_woken_by_the_next_group() {
        use std::sync::atomic::AtomicUsize;
        #[derive(Default)]
        struct Woken(AtomicUsize);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (recent, woken) = (RecentGroups::default(), Arc::new(Woken::default()));
        recent.set_wanted(true);
        let waker = Waker::from(woken.clone());
        assert!(recent.poll(1, &waker).is_pending());
        recent.put(&headers(1)[0], &[0; 10]);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(recent.poll(1, &waker).is_ready());
    }
}
