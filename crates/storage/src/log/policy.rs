//! When a commit group is closed, and how much may be on its way.

use super::group::GROUP_ALIGNMENT;
use std::time::Duration;

/// The longest TimePerGroup with more than one transaction in a group: so long a transaction waits for
/// company that may never come.
pub const TIME_PER_GROUP_MAX: Duration = Duration::from_secs(3600);

/// The rule by which a commit group is closed, and handed to the logging stage to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupPolicy {
    /// As soon as the disk is free to take it. The next group fills while one is being written. So the group's size
    /// follows from the load and the disk, in both directions, with nothing to tune. A lone transaction never waits
    /// for company.
    #[default]
    Adaptive,
    /// The TPK paper's two parameters (TPK paper, section 2, "Logging").
    Fixed {
        /// TransactionsPerGroup: close the group when it holds so many transactions.
        transactions: u32,
        /// TimePerGroup: close it when so much time has passed since its first transaction. At most
        /// [`TIME_PER_GROUP_MAX`], unless a group has one transaction only.
        time: Duration,
    },
}

/// Without threads, groups without a waiter would stay unwritten. So a caller whose transaction leaves more than this
/// unwritten writes it: so many bytes of records, or [`DEFERRED_TRANSACTIONS_MAX`]. Counted and not timed, so that a
/// run without threads is a function of its calls alone (I11).
pub const DEFERRED_BYTES_MAX: usize = 1 << 20;

/// See [`DEFERRED_BYTES_MAX`]; so many that a write costs each of them little.
pub const DEFERRED_TRANSACTIONS_MAX: u32 = 4096;

/// With threads, a group is put off if all of its transactions are deferred: a logging thread writes it so long after
/// the first of them, or when the disk is free then. So a stream of them wakes that thread once in this time, and not
/// for each. A transaction whose caller waits, or hands it on, ends that.
pub const DEFERRED_TIME_MAX: Duration = Duration::from_millis(1);

/// The bounds of group commit (I10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupLimits {
    /// A group is closed when its records reach so many bytes.
    pub group_bytes: usize,
    /// The most bytes of records of a transaction that shares its group with others. One of tables that has more
    /// has a group for itself, up to [`large_bytes_max`](super::room::large_bytes_max); one of operations may not
    /// have more.
    pub transaction_bytes: usize,
    /// Groups being written at once.
    pub depth: usize,
    /// Groups in memory at once: being filled, being written, waiting for the checkpointer.
    pub buffers: usize,
}

impl GroupLimits {
    /// Bounds that fit into segments of so many bytes: the defaults, unless the segments are small.
    pub fn for_segments(segment_bytes: u64) -> Self {
        let defaults = GroupLimits::default();
        let segment_bytes = usize::try_from(segment_bytes).unwrap_or(usize::MAX);
        GroupLimits {
            group_bytes: defaults.group_bytes.min(segment_bytes / 8),
            transaction_bytes: defaults.transaction_bytes.min(segment_bytes / 2),
            ..defaults
        }
    }

    /// These limits, or smaller ones if existing segments of so many bytes are too small for them.
    pub fn within(self, segment_bytes: u64) -> Self {
        if self.group_bytes_most() <= segment_bytes {
            return self;
        }
        let most = Self::for_segments(segment_bytes);
        GroupLimits {
            group_bytes: self.group_bytes.min(most.group_bytes),
            transaction_bytes: self.transaction_bytes.min(most.transaction_bytes),
            ..self
        }
    }

    /// The most bytes of a group on disk. A program may give any number, so that no overflowing sum may be taken for
    /// one that fits.
    pub(crate) fn group_bytes_most(&self) -> u64 {
        (self.group_bytes as u64)
            .saturating_add(self.transaction_bytes as u64)
            .saturating_add(2 * GROUP_ALIGNMENT as u64)
    }
}

impl Default for GroupLimits {
    fn default() -> Self {
        GroupLimits {
            group_bytes: 4 << 20,
            // The longest value of a row, with its framing.
            transaction_bytes: 17 << 20,
            depth: 2,
            buffers: 12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_segments_that_are_too_small_for_them_and_no_others() {
        let defaults = GroupLimits::default();
        assert_eq!(defaults.within(64 << 20), defaults);
        assert_eq!(defaults.within(22 << 20), defaults);
        for segment_bytes in [16 << 10, 64 << 10, 512 << 10, 4 << 20, 20 << 20] {
            let within = defaults.within(segment_bytes);
            let fits = within.group_bytes_most() <= segment_bytes;
            assert_eq!(fits, segment_bytes > 16 << 10, "{segment_bytes}");
            assert_eq!(within.depth, defaults.depth);
        }
        // A limit that was chosen smaller stays.
        let chosen = GroupLimits {
            transaction_bytes: 1 << 10,
            ..defaults
        };
        assert_eq!(chosen.within(512 << 10).transaction_bytes, 1 << 10);
    }
}
