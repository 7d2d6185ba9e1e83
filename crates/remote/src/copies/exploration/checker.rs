//! The checker: acknowledged and read entries, compared with the result of each process. The exploration of a log over TCP has
//! it, too.

use sardonyx_base::crc32c::crc32c;
use sardonyx_storage::remote_log::entry::Entry;
use sardonyx_storage::remote_log::position::EntryPosition;
use std::collections::BTreeMap;

/// The events of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Seen {
    pub acknowledged: u64,
    pub claims: u64,
    pub fenced: u64,
    pub left_out: u64,
    pub joined: u64,
    pub lives: u64,
    pub emptied: u64,
    pub damaged: u64,
    pub late: u64,
    pub killed: u64,
    pub writers: u64,
    pub gave_up: u64,
    pub changed: u64,
}

impl Seen {
    pub fn counts(&self) -> [u64; 13] {
        [
            self.acknowledged,
            self.claims,
            self.fenced,
            self.left_out,
            self.joined,
            self.lives,
            self.emptied,
            self.damaged,
            self.late,
            self.killed,
            self.writers,
            self.gave_up,
            self.changed,
        ]
    }

    pub fn add(&mut self, other: &Seen) {
        self.acknowledged += other.acknowledged;
        self.claims += other.claims;
        self.fenced += other.fenced;
        self.left_out += other.left_out;
        self.joined += other.joined;
        self.lives += other.lives;
        self.emptied += other.emptied;
        self.damaged += other.damaged;
        self.late += other.late;
        self.killed += other.killed;
        self.writers += other.writers;
        self.gave_up += other.gave_up;
        self.changed += other.changed;
    }
}

/// The texts of the checker for a run that is wrong. A run that ends otherwise shows nothing of the copies.
const SAYS: [&str; 5] = [
    "has not entry",
    "has two owners",
    "was read as another one",
    "was acknowledged",
    "was read otherwise",
];

/// True if it is the checker that ended a run with this text.
pub(crate) fn has_found(text: &str) -> bool {
    SAYS.iter().any(|says| text.contains(says))
}

/// The log as a process has it: the transaction of each entry, by its number; none for a fence.
pub(crate) type Applied = BTreeMap<u64, Option<u64>>;

pub(crate) fn transaction_of(entry: &Entry) -> Option<u64> {
    transaction_of_payload(entry.payload())
}

/// The transaction of this payload: a number, or the sum of groups.
pub(crate) fn transaction_of_payload(payload: &[u8]) -> Option<u64> {
    match <[u8; 8]>::try_from(payload) {
        Ok(number) => Some(u64::from_le_bytes(number)),
        Err(_) if payload.is_empty() => None,
        Err(_) => Some(u64::from(crc32c(payload))),
    }
}

#[derive(Debug)]
struct Claimed {
    epoch: u64,
    applied: Applied,
}

/// A witness outside of all processes.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    /// The entry that was read first under each number.
    read: BTreeMap<u64, Vec<u8>>,
    /// The transaction and the epoch of each acknowledged entry.
    acknowledged: BTreeMap<u64, (u64, u64)>,
    claimed: Vec<Claimed>,
    pub seen: Seen,
}

impl Checker {
    pub fn read(&mut self, entry: &Entry) {
        let number = entry.head().number;
        let first = self.read.entry(number);
        let first = first.or_insert_with(|| entry.bytes().to_vec());
        assert!(entry.is(first), "entry {number} was read as another one");
        if let Some((transaction, _)) = self.acknowledged.get(&number) {
            let is_it = transaction_of(entry) == Some(*transaction);
            assert!(is_it, "entry {number} is not what was acknowledged");
        }
    }

    /// An owner acknowledges the entry before this place.
    pub fn acknowledge(&mut self, at: EntryPosition, transaction: u64) {
        let number = at.next - 1;
        self.seen.acknowledged += 1;
        for later in self.claimed.iter().filter(|later| later.epoch > at.epoch.0) {
            assert!(
                later.applied.get(&number) == Some(&Some(transaction)),
                "epoch {} has not entry {number}, which epoch {} acknowledges",
                later.epoch,
                at.epoch
            );
        }
        let before = self.acknowledged.insert(number, (transaction, at.epoch.0));
        assert_eq!(before, None, "entry {number} was acknowledged twice");
        if let Some(read) = self.read.get(&number) {
            let read = Entry::decode(read.clone()).expect("an entry");
            let is_it = transaction_of(&read) == Some(transaction);
            assert!(is_it, "entry {number} was read otherwise");
        }
    }

    /// A process that has claimed the log, with a fence before this place, has all that was acknowledged or read.
    pub fn claim(&mut self, at: EntryPosition, applied: Applied) {
        self.seen.claims += 1;
        let epoch = at.epoch.0;
        let is_first = self.claimed.iter().all(|other| other.epoch != epoch);
        assert!(is_first, "epoch {epoch} has two owners");
        for (number, (transaction, before)) in &self.acknowledged {
            assert!(
                *before > epoch || applied.get(number) == Some(&Some(*transaction)),
                "epoch {epoch} has not entry {number}, which epoch {before} acknowledged"
            );
        }
        for (number, read) in self.read.range(at.next - 1..) {
            let read = Entry::decode(read.clone()).expect("an entry");
            assert!(
                read.head().epoch.0 >= epoch,
                "epoch {epoch} has not entry {number}, which was read"
            );
        }
        self.claimed.push(Claimed { epoch, applied });
    }

    /// At the end, every acknowledged entry is on some copy.
    pub fn has_all(&self, who: &str, applied: &Applied) {
        for (number, (transaction, _)) in &self.acknowledged {
            assert!(
                applied.get(number) == Some(&Some(*transaction)),
                "{who} has not entry {number}, which was acknowledged"
            );
        }
    }
}
