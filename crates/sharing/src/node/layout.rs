//! The layout of the area behind the global lock table, in words of 8 bytes:
//!
//! ```text
//! head            magic, version, sizes, check
//! log state       what the nodes know of the common log (storage::log::LogState)
//! common words    locks, positions of the redo ring, and what is waited for, each in lines of its own
//! slots           for each node: what wakes it, who has written to it, of which failures it knows
//! mailboxes       a ring of words for each pair of nodes
//! transfer        claims, and frames in which a node puts pages for another one
//! PSNs            of the stored pages, a word each
//! redo ring       committed redo on its way to the log and to the stored pages
//! stored pages    the newest version that the redo up to `APPLIED` gives (DB')
//! ```
//!
//! All zero is the state of a new area but for the head and the pages. Source: GEM paper, section 2 (entries
//! and pages in GEM, messages across it).

use super::NodeError;
use crate::lock_table::layout::{NODES, checksum};
use sardonyx_storage::log::LogState;
use sardonyx_storage::page::PAGE_SIZE;

pub(super) const PAGE_WORDS: usize = PAGE_SIZE / 8;
/// Words that a processor fetches together: data written by different nodes is apart by so much.
const LINE: usize = 16;

const MAGIC: u64 = u64::from_le_bytes(*b"SdxNodes");
const VERSION: u64 = 1;
pub(super) const HEAD_WORDS: usize = 7;
const LOG_STATE_AT: usize = LINE;
const COMMON_AT: usize = (LOG_STATE_AT + LogState::WORDS).next_multiple_of(LINE);

/// A word that all nodes use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Common {
    /// The node that appends to the redo ring.
    Publishing,
    /// The place of the next frame of the redo ring: storing it is the commit point.
    Tail,
    /// The node that writes the log.
    Writing,
    /// The redo before it is on stable storage.
    Durable,
    /// Counts commit groups: a thread that waits for one waits for it to change.
    Groups,
    /// Nonzero if a thread may wait for that.
    GroupsWaited,
    /// The node that applies redo to the stored pages.
    Applying,
    /// The redo before it is in the stored pages.
    Applied,
    /// The node that recovers failed nodes.
    Recovering,
    /// Counts failures and recoveries, so that every node looks.
    Failures,
    /// The time of the last group's write, in nanoseconds. The next words have the number of groups that do
    /// not wait, and the last such number.
    WriteTime,
    /// The clients in the last group: [`WRITER_WORDS`] words with a bit for each.
    LastWriters,
}

const COMMON_WORDS: usize = 12 * LINE;

/// Clients of a node that are distinguished.
pub(super) const CLIENTS: usize = 16;
/// Words with a bit for each client of each node.
pub(super) const WRITER_WORDS: usize = NODES * CLIENTS / 64;
const _: () = assert!(WRITER_WORDS <= LINE);

/// Words of a slot: its node's wake-up, and then, for each slot, the failure that the node knows.
pub(super) const SLOT_WAKE: usize = 0;
pub(super) const SLOT_WAITS: usize = LINE;
pub(super) const SLOT_MAIL: usize = 2 * LINE;
pub(super) const SLOT_TOLD: usize = 3 * LINE;
const SLOT_WORDS: usize = SLOT_TOLD + NODES;

/// Words of a mailbox: where the writer is, where the reader is, and the ring.
pub(super) const MAIL_TAIL: usize = 0;
pub(super) const MAIL_HEAD: usize = LINE / 2;
pub(super) const MAIL_DATA: usize = LINE;
/// Words in the ring of a mailbox: a power of two.
pub(super) const MAIL_RING: usize = 256;
const MAIL_WORDS: usize = MAIL_DATA + MAIL_RING;
/// Words of a message at most.
pub(super) const MESSAGE_WORDS_MAX: usize = MAIL_RING / 2;

/// Pages that a node can have in GEM for others at once.
pub(super) const TRANSFERS: usize = 8;

/// The most bytes of redo under way, unless an option gives another number.
pub(super) const RING_BYTES: usize = 1 << 20;

/// The size of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AreaShape {
    /// Stored pages.
    pub pages: usize,
    /// Slots: nodes at once.
    pub slots: usize,
    /// Words of the redo ring, a power of two.
    pub ring: usize,
}

impl AreaShape {
    /// Room for so many pages, nodes and bytes of redo.
    pub fn new(pages: u64, slots: usize, ring_bytes: usize) -> Result<Self, NodeError> {
        let shape = AreaShape {
            pages: usize::try_from(pages).unwrap_or(usize::MAX),
            slots,
            ring: (ring_bytes / 8).next_power_of_two(),
        };
        match shape.is_sound() {
            true => Ok(shape),
            false => Err(NodeError::Shape { pages, slots }),
        }
    }

    fn is_sound(self) -> bool {
        (1..=1 << 30).contains(&self.pages)
            && (1..=NODES).contains(&self.slots)
            && self.ring.is_power_of_two()
            && (4 * PAGE_WORDS..=1 << 30).contains(&self.ring)
    }

    pub fn head(self) -> [u64; HEAD_WORDS] {
        let (pages, slots, ring) = (self.pages as u64, self.slots as u64, self.ring as u64);
        let sum = checksum(VERSION, &[pages, slots, ring]);
        [MAGIC, VERSION, pages, slots, ring, PAGE_WORDS as u64, sum]
    }

    /// The shape that a head says, if it says one.
    pub fn read(head: &[u64]) -> Option<Self> {
        let shape = AreaShape {
            pages: *head.get(2)? as usize,
            slots: *head.get(3)? as usize,
            ring: *head.get(4)? as usize,
        };
        (shape.is_sound() && shape.head() == head).then_some(shape)
    }

    pub fn log_state(self) -> std::ops::Range<usize> {
        LOG_STATE_AT..COMMON_AT
    }

    pub fn common(self, word: Common) -> usize {
        COMMON_AT + word as usize * LINE
    }

    pub fn slot(self, slot: usize) -> usize {
        COMMON_AT + COMMON_WORDS + slot * SLOT_WORDS
    }

    pub fn mailbox(self, from: usize, to: usize) -> usize {
        self.slot(self.slots) + (to * self.slots + from) * MAIL_WORDS
    }

    fn claims(self) -> usize {
        self.mailbox(0, self.slots)
    }

    /// The claim of a transfer frame.
    pub fn claim(self, frame: usize) -> usize {
        self.claims() + frame
    }

    /// The first word of a transfer frame.
    pub fn transfer(self, frame: usize) -> usize {
        let first = self.claim(self.slots * TRANSFERS);
        first.next_multiple_of(PAGE_WORDS) + frame * PAGE_WORDS
    }

    /// The PSN of a stored page.
    pub fn psn(self, page: usize) -> usize {
        self.transfer(self.slots * TRANSFERS) + page
    }

    pub fn ring_at(self) -> usize {
        self.psn(self.pages).next_multiple_of(PAGE_WORDS)
    }

    /// The first word of a stored page.
    pub fn page(self, page: usize) -> usize {
        (self.ring_at() + self.ring).next_multiple_of(PAGE_WORDS) + page * PAGE_WORDS
    }

    /// Words of the whole area.
    pub fn words(self) -> usize {
        self.page(self.pages)
    }
}
