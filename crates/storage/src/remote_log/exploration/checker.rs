//! The checker. Each process's results are compared with the first creation under each number and with the
//! acknowledgements to clients. At the end of a run nothing is lost and the log can be used.

use super::process::{Copy, Role};
use super::world::{PROCESSES, World};
use crate::remote_log::RemoteLogError;
use crate::remote_log::entry::Entry;
use crate::remote_log::exchange::Machine;
use crate::remote_log::position::{EntryPosition, Epoch};

/// A claim that succeeded, and its owner's knowledge at that time.
#[derive(Debug)]
pub(super) struct Claimed {
    pub epoch: Epoch,
    pub applied: Vec<(u64, u64)>,
}

/// The events of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Seen {
    pub acknowledged: u64,
    pub claims: u64,
    pub fenced: u64,
    pub behind: u64,
    pub unknown: u64,
    pub trims: u64,
    pub created_again: u64,
    pub old_lists: u64,
    pub own_found: u64,
    pub kills: u64,
    pub late: u64,
    pub damaged: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.acknowledged += other.acknowledged;
        self.claims += other.claims;
        self.fenced += other.fenced;
        self.behind += other.behind;
        self.unknown += other.unknown;
        self.trims += other.trims;
        self.created_again += other.created_again;
        self.old_lists += other.old_lists;
        self.own_found += other.own_found;
        self.kills += other.kills;
        self.late += other.late;
        self.damaged += other.damaged;
    }
}

impl World {
    /// The content first created under a number.
    fn truth(&self, number: u64) -> Vec<u8> {
        let truth = self.store.truth.get(&number).cloned();
        truth.unwrap_or_else(|| panic!("entry {number} never was"))
    }

    /// An entry is read: it must be the first one created there.
    pub(super) fn take(&mut self, index: usize, entry: &Entry) {
        let number = entry.head().number;
        let is_true = entry.bytes() == self.truth(number);
        assert!(is_true, "entry {number} was read as another one");
        let process = &mut self.processes[index];
        process.memory.apply(entry);
        if self.random.chance(1, 2) {
            process.disk = process.memory.clone();
        }
    }

    pub(super) fn failed(&mut self, index: usize, error: RemoteLogError) {
        match error {
            RemoteLogError::BehindBoundary { first, .. } => {
                self.seen.behind += 1;
                let newest = self.checkpoints.iter().max_by_key(|copy| copy.at.next);
                let newest = newest.expect("a boundary has a checkpoint");
                assert!(
                    newest.at.next >= first,
                    "the log is deleted beyond the checkpoints"
                );
                self.processes[index].memory = newest.clone();
            }
            RemoteLogError::Fenced { number, .. } => {
                self.seen.fenced += 1;
                let there = Entry::decode(self.truth(number)).expect("an entry");
                let Role::Owning(owner) = &self.processes[index].role else {
                    panic!("only owners are fenced");
                };
                assert_ne!(
                    there.head().writer,
                    owner.position().writer,
                    "fenced by itself"
                );
            }
            // It was stopped for so long that its entry may have been created and deleted.
            RemoteLogError::Unknown { .. } => self.seen.unknown += 1,
            other => panic!("{other}"),
        }
        self.processes[index].follow();
    }

    /// An owner learns that its entry is durable.
    pub(super) fn acknowledge(&mut self, index: usize, at: EntryPosition) {
        let number = at.next - 1;
        let truth = Entry::decode(self.truth(number)).expect("an entry");
        let process = &mut self.processes[index];
        let sent = std::mem::take(&mut process.sending);
        assert!(!sent.is_empty());
        process.memory.at = at;
        for &transaction in &sent {
            process.memory.applied.push((number, transaction));
        }
        let payload: Vec<u8> = sent.iter().flat_map(|sent| sent.to_le_bytes()).collect();
        assert_eq!(
            truth.payload(),
            payload,
            "what is acknowledged is not in the log"
        );
        assert_eq!(truth.head().epoch, at.epoch);
        for later in self
            .claimed
            .iter()
            .filter(|claimed| claimed.epoch > at.epoch)
        {
            for &transaction in &sent {
                assert!(
                    later.applied.contains(&(number, transaction)),
                    "epoch {} acknowledges transaction {transaction}, which epoch {} has not",
                    at.epoch,
                    later.epoch
                );
            }
        }
        for transaction in sent {
            let twice = self.acknowledged.insert(transaction, (number, at.epoch));
            assert_eq!(twice, None, "acknowledged twice");
            self.seen.acknowledged += 1;
        }
        self.note(number);
    }

    /// A process that has claimed the log knows everything acknowledged, in order, once.
    pub(super) fn check_claim(&mut self, index: usize) {
        let Copy { at, applied } = self.processes[index].memory.clone();
        self.seen.claims += 1;
        assert!(applied.is_sorted(), "not in order");
        let same_epoch = self.claimed.iter().any(|claimed| claimed.epoch == at.epoch);
        assert!(!same_epoch, "epoch {} has two owners", at.epoch);
        for (transaction, (number, epoch)) in &self.acknowledged {
            let times = applied.iter().filter(|(_, applied)| applied == transaction);
            assert!(
                *epoch > at.epoch || times.clone().eq(&[(*number, *transaction)]),
                "epoch {}: transaction {transaction} of epoch {epoch} is in its log {} times",
                at.epoch,
                times.count()
            );
        }
        let epoch = at.epoch;
        self.claimed.push(Claimed { epoch, applied });
    }

    /// Nothing bad happens any more: one claims the log and appends, and all others read it.
    pub(super) fn end(&mut self) {
        self.quiet = true;
        while !self.kept.is_empty() {
            self.release(0);
        }
        while !self.requests.is_empty() || !self.answers.is_empty() {
            self.arrive();
            self.tell();
        }
        for process in &mut self.processes {
            process.die();
            process.follow();
        }
        let before = self.seen.acknowledged;
        for _ in 0..10 {
            if !matches!(self.processes[0].role, Role::Claiming(_) | Role::Owning(_)) {
                self.wish_for_log(0);
            }
            for _ in 0..3 * self.store.last() + 60 {
                self.act(0);
                self.arrive();
                self.tell();
            }
            if self.seen.acknowledged > before {
                break;
            }
        }
        assert!(
            self.seen.acknowledged > before,
            "no process can append any more"
        );
        let claims = self.seen.claims;
        self.processes[0].die();
        for index in 1..PROCESSES as usize {
            for _ in 0..4 * self.store.last() + 100 {
                self.act(index);
                self.arrive();
                self.tell();
            }
            let read = &self.processes[index].memory;
            assert_eq!(read.at.next, self.store.last() + 1, "it has not read all");
            for (transaction, (number, _)) in &self.acknowledged {
                assert!(
                    read.applied.contains(&(*number, *transaction)),
                    "{transaction} is lost"
                );
            }
        }
        assert_eq!(claims, self.seen.claims);
    }
}
