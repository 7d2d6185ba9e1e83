//! A process of the exploration: follows the log, claims it, owns it; has a disk that outlives it.

use super::store::Sent;
use crate::remote_log::claim::Claim;
use crate::remote_log::entry::Entry;
use crate::remote_log::exchange::{Machine, Ticket};
use crate::remote_log::owner::Owner;
use crate::remote_log::position::EntryPosition;
use crate::remote_log::reader::Reader;
use crate::remote_log::trim::Trim;

/// The database of all.
pub(super) const IDENTITY: u64 = 77;

/// A copy of the database: how far, and the transactions in it, each with its entry.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub at: EntryPosition,
    pub applied: Vec<(u64, u64)>,
}

impl Copy {
    pub fn empty() -> Self {
        Copy {
            at: EntryPosition::START,
            applied: Vec::new(),
        }
    }

    pub fn apply(&mut self, entry: &Entry) {
        self.at = entry.head().position_after();
        let number = entry.head().number;
        let transactions = entry.payload().chunks_exact(8);
        self.applied.extend(transactions.map(|bytes| {
            (
                number,
                u64::from_le_bytes(bytes.try_into().expect("8 bytes")),
            )
        }));
    }
}

#[derive(Debug)]
pub(super) enum Role {
    Dead,
    Following(Reader),
    Claiming(Claim),
    Owning(Owner),
}

/// One of a process' two conversations with the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Channel {
    Log,
    Trim,
}

/// A conversation's request that waits for an answer.
pub(super) type Waiting = Option<Ticket>;

#[derive(Debug)]
pub(super) struct Process {
    pub role: Role,
    pub trim: Option<Trim>,
    /// Counts the machines of each conversation: messages of an earlier one have no receiver.
    pub lives: [u64; 2],
    pub memory: Copy,
    pub disk: Copy,
    pub waiting: [Waiting; 2],
    /// Until this step it does nothing.
    pub stopped_until: u64,
    /// The transactions of the entry on its way.
    pub sending: Vec<u64>,
    /// So many answers are whole before another one may be damaged.
    pub whole: u64,
}

impl Process {
    pub fn new() -> Self {
        let mut process = Process {
            role: Role::Dead,
            trim: None,
            lives: [0; 2],
            memory: Copy::empty(),
            disk: Copy::empty(),
            waiting: [None; 2],
            stopped_until: 0,
            sending: Vec::new(),
            whole: 0,
        };
        process.follow();
        process
    }

    /// A new conversation about the log, in which nothing that was sent before counts.
    pub fn take_role(&mut self, role: Role) {
        self.role = role;
        self.lives[Channel::Log as usize] += 1;
        self.waiting = [None; 2];
        self.take_trim(None);
        self.sending.clear();
    }

    pub fn take_trim(&mut self, trim: Option<Trim>) {
        self.trim = trim;
        self.lives[Channel::Trim as usize] += 1;
        self.waiting[Channel::Trim as usize] = None;
    }

    pub fn follow(&mut self) {
        let reader = Reader::new(IDENTITY, self.memory.at);
        self.take_role(Role::Following(reader));
    }

    pub fn die(&mut self) {
        self.take_role(Role::Dead);
        self.memory = self.disk.clone();
    }

    /// A conversation's request, if any, and its ticket.
    pub fn request(&self, channel: Channel) -> Option<(Ticket, Sent)> {
        let (ticket, request) = match (channel, &self.role, &self.trim) {
            (Channel::Trim, _, trim) => trim.as_ref()?.request(),
            (_, Role::Following(reader), _) => reader.request(),
            (_, Role::Claiming(claim), _) => claim.request(),
            (_, Role::Owning(owner), _) if owner.is_appending() => owner.request(),
            _ => return None,
        };
        Some((ticket, request.into()))
    }
}
