//! Times of devices that are not there, to be slept: so that nodes on one machine wait as long for
//! disks as those of the GEM paper (Table 4.1). For experiments; none are imposed unless asked for.
//!
//! Slept where the device would work: a page's fetch by the thread of the transaction that was granted it from
//! storage, behind the grant and with the node free for others; the log's write by whoever writes a commit group,
//! before that; pages that FORCE writes by the transaction that commits, one after the other, when it is durable and
//! before its locks are given back. Loosely coupled nodes sleep in the same places, behind the page server's answer or
//! before it is asked: the page server itself sleeps never, as if it had a disk for everybody who waits for one.

use std::time::Duration;

/// Times of devices, slept beside what the real ones take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImposedTimes {
    /// To fetch a page from storage.
    pub page_read: Duration,
    /// To write a page at commit (FORCE only).
    pub page_write: Duration,
    /// To write a commit group.
    pub log_write: Duration,
}

/// Sleeps, if there is anything to sleep.
pub(super) fn sleep(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}
