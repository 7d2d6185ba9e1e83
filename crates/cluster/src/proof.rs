//! The two proofs of a load: the bank's sums are equal, and HISTORY has every acknowledged transaction.
//!
//! Each slot has ends of HISTORY of its own, so the count is compared slot by slot. A node whose process was killed
//! cannot say how many transactions it acknowledged. The count that it reported last is then the least that HISTORY
//! must have.

use crate::bank::Sums;
use serde::Serialize;
use std::collections::BTreeMap;

/// The bank as it is at an instant at which no node changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Compared with the acknowledged transactions.
    pub sums: Sums,
    /// The transactions that HISTORY counts, of each slot.
    pub by_slot: Vec<u64>,
}

/// The transactions that a node acknowledged in a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// So many, by its own account at the load's end.
    Exactly(u64),
    /// The node was lost; it had reported so many before.
    AtLeast(u64),
}

/// The outcome of the two proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The bank's sums afterwards.
    pub sums: Sums,
    /// True if the sums of accounts, tellers and branches are equal.
    pub sums_are_equal: bool,
    /// True if HISTORY counts the acknowledged transactions.
    pub history_counts_all: bool,
    /// The slots where it does not, in words.
    pub faults: Vec<String>,
}

impl Proof {
    /// Compares the bank before and after a load with the transactions that each slot acknowledged.
    pub fn of(before: &Look, after: &Look, acknowledged: &BTreeMap<usize, Acknowledged>) -> Self {
        let mut faults = Vec::new();
        for (slot, &now) in after.by_slot.iter().enumerate() {
            let then = before.by_slot.get(slot).copied().unwrap_or_default();
            let told = acknowledged.get(&slot).copied();
            let told = told.unwrap_or(Acknowledged::Exactly(0));
            faults.extend(fault(slot, then, now, told));
        }
        Proof {
            sums: after.sums,
            sums_are_equal: after.sums.are_equal(),
            history_counts_all: faults.is_empty(),
            faults,
        }
    }

    /// True if both hold.
    pub fn holds(&self) -> bool {
        self.sums_are_equal && self.history_counts_all
    }
}

fn fault(slot: usize, then: u64, now: u64, told: Acknowledged) -> Option<String> {
    let Some(found) = now.checked_sub(then) else {
        return Some(format!(
            "node {slot}: HISTORY had {then} of its transactions before the load, and has {now} after it"
        ));
    };
    match told {
        Acknowledged::Exactly(count) if found != count => Some(format!(
            "node {slot} acknowledged {count} transactions, and HISTORY has {found} of them"
        )),
        Acknowledged::AtLeast(count) if found < count => Some(format!(
            "node {slot} had acknowledged {count} transactions before it was lost, and HISTORY has {found} of them"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(by_slot: &[u64]) -> Look {
        let sums = Sums {
            accounts: 5,
            tellers: 5,
            branches: 5,
            transactions: by_slot.iter().sum(),
        };
        let by_slot = by_slot.to_vec();
        Look { sums, by_slot }
    }

    fn proof(before: &[u64], after: &[u64], told: &[(usize, Acknowledged)]) -> Proof {
        Proof::of(&look(before), &look(after), &told.iter().copied().collect())
    }

    #[test]
    fn each_slot_must_have_in_history_what_its_node_acknowledged() {
        use Acknowledged::{AtLeast, Exactly};
        let told = [(0, Exactly(30)), (1, Exactly(20))];
        assert!(proof(&[10, 0], &[40, 20], &told).holds());
        // The same total, but not in each slot.
        let moved = proof(&[10, 0], &[41, 19], &told);
        assert_eq!((moved.holds(), moved.faults.len()), (false, 2));
        assert!(moved.sums_are_equal && !moved.history_counts_all);
        // A node that was killed may have done more than it last reported, but no less.
        let lost = [(0, Exactly(30)), (1, AtLeast(20))];
        assert!(proof(&[10, 0], &[40, 25], &lost).holds());
        assert!(!proof(&[10, 0], &[40, 19], &lost).holds());
        // A slot without a load has done nothing, and no record disappears.
        assert!(!proof(&[0, 7], &[30, 8], &[(0, Exactly(30))]).holds());
        let gone = proof(&[0, 7], &[30, 6], &[(0, Exactly(30))]);
        assert!(gone.faults[0].contains("had 7"), "{gone:?}");
    }

    #[test]
    fn unequal_sums_are_told_apart_from_a_history_that_lacks_some() {
        let mut after = look(&[3]);
        after.sums.tellers = 4;
        let told = [(0, Acknowledged::Exactly(3))].into();
        let proof = Proof::of(&look(&[0]), &after, &told);
        assert!(!proof.sums_are_equal && proof.history_counts_all && !proof.holds());
    }
}
