//! Groups of the next entry, sent while the server writes the one before, so that only the entry's end is left to send. They go on a connection of their own, whose thread at the server has nothing else to do.
//!
//! No entry depends on it. One that does not begin with these groups, or whose connection has broken, is sent whole. The
//! connection is made before a group is given to it, and no entry waits for that. After a failure, many entries are sent whole
//! before another connection is made: the server may have no place for it. The log waits for the end of a group that is being
//! sent, so a connection that takes nothing for a second has failed, too.

use super::TcpLog;
use super::link::Link;
use super::message::EntryRequest;
use sardonyx_base::crc32c::{crc32c, crc32c_joined};
use sardonyx_base::greeting::{send, send_summed};
use sardonyx_base::sync::Mutex;
use sardonyx_storage::log::pool::DurableGroup;
use sardonyx_storage::log::writer::SendsAhead;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// So many entries are sent whole after a failure.
pub(super) const WHOLE_AFTER_FAILURE: u32 = 1000;

/// So long a connection may take to be made: the end of its log waits for it.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// So long a write may wait for room on the connection: the log waits with it.
pub(super) const SEND_MAX: Duration = Duration::from_secs(1);

/// Groups that are at the server, in order, for an entry on this connection.
#[derive(Debug)]
pub(super) struct Sent {
    pub link: Link,
    pub groups: Vec<Arc<DurableGroup>>,
    pub bytes: u64,
}

impl Sent {
    fn send(&mut self, group: &Arc<DurableGroup>) -> io::Result<()> {
        let (bytes, behind) = (group.bytes(), self.bytes);
        let head = EntryRequest::Ahead { behind }.encode(bytes.len());
        let sum = crc32c_joined(crc32c(&head), group.sum(), bytes.len());
        send_summed(&mut self.link.connection, sum, &[&head, bytes])?;
        self.bytes += bytes.len() as u64;
        self.groups.push(group.clone());
        Ok(())
    }
}

/// The next entry's groups.
#[derive(Debug, Default)]
enum Next {
    #[default]
    None,
    Sent(Sent),
    /// No more are sent for that entry.
    Given,
}

/// The groups that were sent: of the next entry, and of the one whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    next: Mutex<Next>,
    ready: Mutex<Option<Sent>>,
    /// A connection for the first group of an entry.
    link: Mutex<Option<Link>>,
    /// So many entries are sent whole first.
    pause: AtomicU32,
}

impl Ahead {
    /// A connection failed.
    pub fn failed(&self) {
        self.pause.store(WHOLE_AFTER_FAILURE, Ordering::SeqCst);
    }

    /// The groups of the entry whose turn it is, once.
    pub fn take(&self) -> Option<Sent> {
        let sent = self.ready.lock().take()?;
        let is_there = sent.link.connection.is_open();
        if !is_there {
            self.failed();
        }
        is_there.then_some(sent)
    }

    /// Gives them back.
    #[cfg(test)]
    pub fn put(&self, sent: Sent) {
        *self.ready.lock() = Some(sent);
    }

    /// The connection for the next first group.
    #[cfg(test)]
    pub fn link(&self) -> &Mutex<Option<Link>> {
        &self.link
    }
}

/// Sends the end of an entry of so many bytes, of which others are at the server: these parts are its head, and the rest.
pub(super) fn finish(
    to: &mut impl Write,
    number: u64,
    entry_bytes: usize,
    parts: Vec<&[u8]>,
) -> io::Result<()> {
    let rest: usize = parts.iter().map(|part| part.len()).sum();
    let behind = (entry_bytes - rest) as u64;
    let head = EntryRequest::Finish { number }.encode(8 + rest);
    let behind = behind.to_le_bytes();
    let mut body = vec![&head[..], &behind];
    body.extend(parts);
    send(to, &body)
}

impl TcpLog {
    /// Has a connection for the first group of an entry.
    fn has_link_ahead(&self) -> bool {
        let is_there = |link: &Link| link.connection.is_open();
        if self.ahead.link.lock().as_ref().is_some_and(is_there) {
            return true;
        }
        if self.ahead.pause.load(Ordering::SeqCst) > 0 {
            return false;
        }
        let is_limited = |link: &Link| link.connection.limit_writes(SEND_MAX).is_ok();
        match self.link_within(CONNECT_MAX, "connect") {
            Ok(link) if link.takes_ahead && is_limited(&link) => {
                *self.ahead.link.lock() = Some(link);
                return true;
            }
            // Of an earlier version, which serves the address now.
            Ok(link) => self.keep(link),
            Err(_) => {}
        }
        self.ahead.failed();
        false
    }
}

impl SendsAhead for TcpLog {
    fn prepare(&self) -> bool {
        let begins = matches!(*self.ahead.next.lock(), Next::None);
        !begins || self.has_link_ahead()
    }

    fn send(&self, group: &Arc<DurableGroup>) {
        // Not under the lock: this takes as long as the network does.
        let next = std::mem::replace(&mut *self.ahead.next.lock(), Next::Given);
        let sent = match next {
            Next::None => {
                let link = self.ahead.link.lock().take();
                link.map(|link| Sent {
                    link,
                    groups: Vec::new(),
                    bytes: 0,
                })
            }
            Next::Sent(sent) => Some(sent),
            Next::Given => None,
        };
        let Some(mut sent) = sent else { return };
        match sent.send(group) {
            Ok(()) => *self.ahead.next.lock() = Next::Sent(sent),
            Err(_) => self.ahead.failed(),
        }
    }

    fn end(&self) {
        let one_less = |entries: u32| entries.checked_sub(1);
        let _ = (self.ahead.pause).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        let next = std::mem::take(&mut *self.ahead.next.lock());
        *self.ahead.ready.lock() = match next {
            Next::Sent(sent) => Some(sent),
            Next::None | Next::Given => None,
        };
    }

    fn give_up(&self) {
        *self.ahead.next.lock() = Next::None;
        *self.ahead.ready.lock() = None;
        *self.ahead.link.lock() = None;
    }
}
