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
use sardonyx_lock::{Holder, LockQueue, Mode, Modes, SHARED, Waiter};
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
    let all = (0..2u8).filter(|mode| word >> (54 + mode) & 1 == 1);
    all.fold(Modes::NONE, |modes, mode| modes.union(Mode(mode).into()))
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

/// `node` gives the node that has a slot now.
pub(super) fn decode(coded: &Coded, node: impl Fn(usize) -> NodeId) -> Option<Entry> {
    let field = |at: u32| match coded.fields >> at & 0x7f {
        0 => Some(None),
        slot => (slot <= NODES as u64).then(|| Some(node(slot as usize - 1))),
    };
    let (owner, writing) = (field(0)?, field(7)?);
    let (mut holders, mut waiters) = (SmallVec::<[_; 4]>::new(), SmallVec::<[_; 4]>::new());
    let mut next_writers = SmallVec::new();
    for &word in &coded.owners {
        let (by, modes) = (node(slot_of(word)), modes_of(word));
        let owner = LockOwner::Transaction(TransactionId::new(by, word & ((1 << 48) - 1)));
        match word >> 56 & 3 {
            WRITES_NEXT => next_writers.push(by),
            _ if modes.is_empty() || word & PRESENT == 0 => return None,
            HOLDS => holders.push(Holder { owner, modes }),
            kind => waiters.push(Waiter {
                owner,
                modes,
                conversion: kind == CONVERTS,
            }),
        }
    }
    let authorised = (0..NODES).filter(|slot| coded.authorised >> slot & 1 == 1);
    holders.extend(authorised.map(|slot| Holder {
        owner: LockOwner::Node(node(slot)),
        modes: SHARED.into(),
    }));
    Some(Entry {
        version: coded.version,
        queue: LockQueue::of(holders, waiters),
        psn: Psn(coded.psn),
        owner,
        writing,
        next_writers,
        revoking: coded.fields >> 14 & 1 == 1,
    })
}

/// Whether an entry in cells names the slot.
pub(super) fn names(coded: &Coded, slot: usize) -> bool {
    let field = |at: u32| coded.fields >> at & 0x7f == slot as u64 + 1;
    field(0)
        || field(7)
        || coded.authorised >> slot & 1 == 1
        || coded.owners.iter().any(|&word| slot_of(word) == slot)
}
