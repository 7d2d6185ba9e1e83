//! Groups in flight, and what is durable in order (I1).
//!
//! Several groups may be on their way to the disk at once and may arrive in any order; a
//! transaction may be acknowledged only when its group *and all earlier ones* are there. This is
//! that rule as a state machine: no clock, no thread, no disk.

use super::LogPosition;
use std::collections::BTreeMap;

/// Tells which prefix of the log is durable.
#[derive(Debug)]
pub struct DurablePrefix<T> {
    durable: LogPosition,
    /// Groups that arrived before an earlier one did: number → what goes with it.
    early: BTreeMap<u64, (LogPosition, T)>,
}

impl<T> DurablePrefix<T> {
    /// Everything before `durable` is durable.
    pub fn new(durable: LogPosition) -> Self {
        DurablePrefix {
            durable,
            early: BTreeMap::new(),
        }
    }

    /// The end of what is durable.
    pub fn durable(&self) -> LogPosition {
        self.durable
    }

    /// Group `number`, after which the log is at `after`, is on stable storage. `release` is called
    /// in order for each group that is thereby durable together with all earlier ones.
    ///
    /// # Panics
    /// If the group had arrived before: two groups of one number would be two truths.
    pub fn arrived(
        &mut self,
        number: u64,
        after: LogPosition,
        item: T,
        mut release: impl FnMut(T),
    ) -> LogPosition {
        assert!(number >= self.durable.group, "group {number} arrived twice");
        let before = self.early.insert(number, (after, item));
        assert!(before.is_none(), "group {number} arrived twice");
        while let Some((after, item)) = self.early.remove(&self.durable.group) {
            self.durable = after;
            release(item);
        }
        self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Lsn;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn i1_groups_are_released_in_order_whatever_order_they_arrive_in(
            order in Just((1u64..=20).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let mut prefix = DurablePrefix::new(LogPosition::START);
            let mut released = Vec::new();
            let mut arrived = Vec::new();
            for number in order {
                let after = LogPosition {
                    lsn: Lsn(number * 4096), group: number + 1, transactions: number, incarnation: 1,
                };
                arrived.push(number);
                prefix.arrived(number, after, number, |n| released.push(n));
                let whole = (1..).take_while(|n| arrived.contains(n)).count() as u64;
                prop_assert_eq!(prefix.durable().group, whole + 1);
                prop_assert_eq!(&released, &(1..=whole).collect::<Vec<_>>());
            }
        }
    }
}
