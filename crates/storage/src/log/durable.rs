//! Groups in flight, and the durable groups in order (I1).
//!
//! Several groups may be on their way to the disk at once and may arrive in any order. A transaction may be
//! acknowledged only when its group *and all earlier ones* are there. If the log has a copy elsewhere, a group is on
//! its way to both at once. It has arrived when both have it, whichever is first. This is that rule as a state
//! machine: no clock, no thread, no disk.

use super::LogPosition;
use std::collections::BTreeMap;

/// The durable prefix of the log.
#[derive(Debug)]
pub struct DurablePrefix<T> {
    durable: LogPosition,
    /// Groups that arrived before an earlier one did, or before the copy has them, by number, with their payload.
    early: BTreeMap<u64, (LogPosition, T)>,
    /// The copy elsewhere has all groups below this number. Without a copy, those of every number.
    copied_below: u64,
}

impl<T> DurablePrefix<T> {
    /// Everything before `durable` is durable.
    pub fn new(durable: LogPosition) -> Self {
        DurablePrefix {
            durable,
            early: BTreeMap::new(),
            copied_below: u64::MAX,
        }
    }

    /// Everything before `durable` is durable; later groups are when a copy elsewhere has them, too.
    pub fn with_copy(durable: LogPosition) -> Self {
        DurablePrefix {
            copied_below: durable.group,
            ..DurablePrefix::new(durable)
        }
    }

    /// The durable end.
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
        release: impl FnMut(T),
    ) -> LogPosition {
        assert!(number >= self.durable.group, "group {number} arrived twice");
        let before = self.early.insert(number, (after, item));
        assert!(before.is_none(), "group {number} arrived twice");
        self.advance(release)
    }

    /// The copy elsewhere has all groups below this number. `release` is called as by [`DurablePrefix::arrived`].
    pub fn copied(&mut self, below: u64, release: impl FnMut(T)) -> LogPosition {
        self.copied_below = self.copied_below.max(below);
        self.advance(release)
    }

    fn advance(&mut self, mut release: impl FnMut(T)) -> LogPosition {
        while self.durable.group < self.copied_below
            && let Some((after, item)) = self.early.remove(&self.durable.group)
        {
            self.durable = after;
            release(item);
        }
        self.durable
    }

    /// Gives up the groups that wait for an earlier one, or for the copy.
    pub fn abandon(&mut self) -> Vec<T> {
        let early = std::mem::take(&mut self.early);
        early.into_values().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Lsn;
    use proptest::prelude::*;

    fn after(number: u64) -> LogPosition {
        LogPosition {
            lsn: Lsn(number * 4096),
            group: number + 1,
            transactions: number,
            incarnation: 1,
        }
    }

    proptest! {
        /// An even step is a group that is written here, an odd one the next that the copy has.
        #[test]
        fn i1_with_a_copy_a_group_is_released_when_both_have_it_and_all_before(
            order in Just((1u64..=20).collect::<Vec<_>>()).prop_shuffle(),
            here_first in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let mut prefix = DurablePrefix::with_copy(LogPosition::START);
            let (mut released, mut arrived, mut copied) = (Vec::new(), Vec::new(), 0);
            let mut order = order.into_iter();
            for is_here in here_first.into_iter().chain((0..40).map(|n| n % 2 == 0)) {
                let next = if is_here { order.next() } else { None };
                if let Some(number) = next {
                    arrived.push(number);
                    prefix.arrived(number, after(number), number, |n| released.push(n));
                } else if copied < 20 {
                    copied += 1;
                    prefix.copied(copied + 1, |n| released.push(n));
                }
                let whole = (1..=copied).take_while(|n| arrived.contains(n)).count() as u64;
                prop_assert_eq!(prefix.durable().group, whole + 1);
                prop_assert_eq!(&released, &(1..=whole).collect::<Vec<_>>());
            }
            prop_assert_eq!(released.len(), 20);
        }

        #[test]
        fn i1_groups_are_released_in_order_whatever_order_they_arrive_in(
            order in Just((1u64..=20).collect::<Vec<_>>()).prop_shuffle()
        ) {
            let mut prefix = DurablePrefix::new(LogPosition::START);
            let mut released = Vec::new();
            let mut arrived = Vec::new();
            for number in order {
                arrived.push(number);
                prefix.arrived(number, after(number), number, |n| released.push(n));
                let whole = (1..).take_while(|n| arrived.contains(n)).count() as u64;
                prop_assert_eq!(prefix.durable().group, whole + 1);
                prop_assert_eq!(&released, &(1..=whole).collect::<Vec<_>>());
            }
        }
    }
}
