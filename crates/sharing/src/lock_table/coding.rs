//! An entry as words of cells, and back.
//!
//! The first cell: claim · version · PSN · read authorisations, a bit for each slot · links and small fields ·
//! three owners. An overflow cell: claim · the chain's entry word · links · five owners. Owners are those
//! that hold, those that wait, and nodes that wait for their turn to write, each in order; read
//! authorisations have none among themselves (they all go together).

use super::LockTableError;
use super::layout::{CELLS_MAX, NODES, PLACE_BITS};
use crate::protocol::entry::LockOwner;
use crate::protocol::{Entry, NodeId, PageId, Psn, TransactionId};
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_lock::{Holder, Mode, Modes, SHARED, Waiter};
use smallvec::SmallVec;

/// Words of a first cell behind its claim.
pub(super) const VERSION: usize = 1;
pub(super) const PSN: usize = 2;
pub(super) const AUTHORISED: usize = 3;
pub(super) const FIELDS: usize = 4;
pub(super) const OWNERS: usize = 5;
/// Words of an overflow cell behind its claim.
pub(super) const CHAIN: usize = 1;
pub(super) const LINKS: usize = 2;
pub(super) const MORE_OWNERS: usize = 3;

/// Small fields and links: owner, writer (slot + 1 each), revoking, the next cell, the directory's place.
const FIELDS_BITS: u32 = 15;
const NEXT_BITS: u32 = 24;
const _: () = assert!(FIELDS_BITS + NEXT_BITS + PLACE_BITS == 64);

/// An entry without its places.
#[derive(Debug, Default)]
pub(super) struct Coded {
    pub version: u64,
    pub psn: u64,
    pub authorised: u64,
    pub fields: u64,
    pub owners: SmallVec<[u64; 8]>,
}

impl Coded {
    /// Owners as a cell has them: up to the first word that is none.
    pub(super) fn add_owners(&mut self, words: &[AtomicU64]) {
        for word in words {
            match word.load(Ordering::Acquire) {
                0 => break,
                word => self.owners.push(word),
            }
        }
    }
}

/// The word with links and fields.
pub(super) fn links(fields: u64, next: u32, place: usize) -> u64 {
    fields | u64::from(next) << FIELDS_BITS | (place as u64) << (FIELDS_BITS + NEXT_BITS)
}

/// The next cell of a chain; 0 if there is none.
pub(super) fn next(links: u64) -> u32 {
    (links >> FIELDS_BITS & CELLS_MAX as u64) as u32
}

/// The place in the directory whose entry it is.
pub(super) fn place(links: u64) -> usize {
    (links >> (FIELDS_BITS + NEXT_BITS)) as usize
}

const HOLDS: u64 = 0;
const WAITS: u64 = 1;
const CONVERTS: u64 = 2;
const WRITES_NEXT: u64 = 3;
const PRESENT: u64 = 1 << 63;

fn owner_word(slot: u64, number: u64, modes: Modes, kind: u64) -> u64 {
    let modes = modes.iter().fold(0, |all, mode| all | 1 << mode.0);
    PRESENT | kind << 56 | modes << 54 | slot << 48 | number
}

/// The slot that an owner's word names.
fn slot_of(word: u64) -> usize {
    (word >> 48 & (NODES as u64 - 1)) as usize
}

fn modes_of(word: u64) -> Modes {
    let one = |mode: u8| match word >> (54 + mode) & 1 {
        0 => Modes::NONE,
        _ => Mode(mode).into(),
    };
    one(0).union(one(1))
}

/// `slot` gives the slot of a node, and refuses one that is not there.
pub(super) fn encode(
    page: PageId,
    entry: &Entry,
    slot: impl Fn(NodeId) -> Result<usize, LockTableError>,
) -> Result<Coded, LockTableError> {
    let field = |node: Option<NodeId>| node.map_or(Ok(0), |node| Ok(slot(node)? as u64 + 1));
    let fields = field(entry.owner)? | field(entry.writing)? << 7 | u64::from(entry.revoking) << 14;
    let mut coded = Coded {
        version: entry.version,
        psn: entry.psn.0,
        fields,
        ..Coded::default()
    };
    for holder in entry.queue.holders() {
        match holder.owner {
            LockOwner::Node(node) => coded.authorised |= 1 << slot(node)?,
            LockOwner::Transaction(transaction) => {
                let slot = slot(transaction.node())? as u64;
                let word = owner_word(slot, transaction.number(), holder.modes, HOLDS);
                coded.owners.push(word);
            }
        }
    }
    for waiter in entry.queue.waiters() {
        // A node asks for an authorisation only if it is granted at once.
        let LockOwner::Transaction(transaction) = waiter.owner else {
            return Err(LockTableError::Corrupt { page });
        };
        let kind = if waiter.conversion { CONVERTS } else { WAITS };
        let slot = slot(transaction.node())? as u64;
        let word = owner_word(slot, transaction.number(), waiter.modes, kind);
        coded.owners.push(word);
    }
    for &node in &entry.next_writers {
        let word = owner_word(slot(node)? as u64, 0, Modes::NONE, WRITES_NEXT);
        coded.owners.push(word);
    }
    Ok(coded)
}

/// Decodes the words into an entry; `node` gives the node that has a slot now. True if the words are an entry.
#[inline]
pub(super) fn decode(coded: &Coded, node: impl Fn(usize) -> NodeId, entry: &mut Entry) -> bool {
    let field = |at: u32| coded.fields >> at & 0x7f;
    let (owner, writing) = (field(0), field(7));
    let named = |slot: u64| (slot != 0).then(|| node(slot as usize - 1));
    if owner.max(writing) > NODES as u64 {
        return false;
    }
    entry.version = coded.version;
    entry.psn = Psn(coded.psn);
    (entry.owner, entry.writing) = (named(owner), named(writing));
    entry.revoking = coded.fields >> 14 & 1 == 1;
    entry.queue.clear();
    entry.next_writers.clear();
    for &word in &coded.owners {
        let (kind, modes, node) = (word >> 56 & 3, modes_of(word), node(slot_of(word)));
        if kind == WRITES_NEXT {
            entry.next_writers.push(node);
            continue;
        }
        if modes.is_empty() || word & PRESENT == 0 {
            return false;
        }
        let number = word & ((1 << 48) - 1);
        let owner = LockOwner::Transaction(TransactionId::new(node, number));
        match kind {
            HOLDS => entry.queue.restore_holder(Holder { owner, modes }),
            _ => entry.queue.restore_waiter(Waiter {
                owner,
                modes,
                conversion: kind == CONVERTS,
            }),
        }
    }
    for slot in Bits(coded.authorised) {
        entry.queue.restore_holder(Holder {
            owner: LockOwner::Node(node(slot)),
            modes: SHARED.into(),
        });
    }
    true
}

/// The bits that are set, the lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let lowest = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (lowest < 64).then_some(lowest as usize)
    }
}

/// True if an entry in cells names the slot.
pub(super) fn names(coded: &Coded, slot: usize) -> bool {
    let field = |at: u32| coded.fields >> at & 0x7f == slot as u64 + 1;
    field(0)
        || field(7)
        || coded.authorised >> slot & 1 == 1
        || coded.owners.iter().any(|&word| slot_of(word) == slot)
}
