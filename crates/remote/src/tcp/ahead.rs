//! Groups of the next entry, sent to the server while that writes the entry before: when it is the entry's turn, its end alone is
//! left to be sent. They go on a connection of their own, whose thread at the server has nothing else to do.
//!
//! Nothing depends on it. An entry that does not begin with these groups, or whose connection has broken, is sent whole.

use super::message::{EntryRequest, Request};
use super::{Link, TcpLog};
use sardonyx_base::crc32c::{crc32c, crc32c_joined};
use sardonyx_base::greeting::{send, send_summed};
use sardonyx_base::sync::Mutex;
use sardonyx_storage::log::pool::DurableGroup;
use sardonyx_storage::log::writer::SendsAhead;
use std::io::{self, Write};
use std::sync::Arc;

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
}

impl Ahead {
    /// The groups of the entry whose turn it is, once.
    pub fn take(&self) -> Option<Sent> {
        self.ready.lock().take()
    }

    /// Gives them back.
    #[cfg(test)]
    pub fn put(&self, sent: Sent) {
        *self.ready.lock() = Some(sent);
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
    fn link_ahead(&self) -> Option<Sent> {
        let link = self.link(&Request::AppendAt(0, &[])).ok()?;
        if !link.takes_ahead {
            self.keep(link);
            return None;
        }
        Some(Sent {
            link,
            groups: Vec::new(),
            bytes: 0,
        })
    }
}

impl SendsAhead for TcpLog {
    fn send(&self, group: &Arc<DurableGroup>) {
        // Not under the lock: this takes as long as the network does.
        let next = std::mem::replace(&mut *self.ahead.next.lock(), Next::Given);
        let sent = match next {
            Next::None => self.link_ahead(),
            Next::Sent(sent) => Some(sent),
            Next::Given => None,
        };
        if let Some(mut sent) = sent
            && sent.send(group).is_ok()
        {
            *self.ahead.next.lock() = Next::Sent(sent);
        }
    }

    fn end(&self) {
        let next = std::mem::take(&mut *self.ahead.next.lock());
        *self.ahead.ready.lock() = match next {
            Next::Sent(sent) => Some(sent),
            Next::None | Next::Given => None,
        };
    }
}
