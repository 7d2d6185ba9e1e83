//! Times of devices that are not there, to be slept: so that nodes on one machine wait as long for
//! disks as those of the GEM paper (Table 4.1). For experiments; none are imposed unless asked for.
//!
//! The thread that would use the device sleeps. For a page's fetch, that is the thread of the transaction that was
//! granted it from storage. It sleeps behind the grant, with the node free for others. For the log's write, it is the
//! writer of the commit group, before that. For pages that FORCE writes, it is the transaction that commits: one page
//! after the other, when it is durable and before its locks are released. Loosely coupled nodes sleep in the same
//! places, behind the page server's answer or before the request. The page server itself never sleeps, as if it had a
//! disk for each waiting node.

use std::time::Duration;

/// Times of devices, slept in addition to the real ones.
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
