//! Binary search without branches that depend on the data.

use std::hint::select_unpredictable;

/// How many of the places `0..count` come before the searched one, where `before` is true for a
/// first part of the places and false for the rest. On damaged (unsorted) data the answer is some
/// number up to `count`.
#[inline(always)]
pub(crate) fn partition(count: usize, mut before: impl FnMut(usize) -> bool) -> usize {
    if count == 0 {
        return 0;
    }
    let mut base = 0;
    let mut size = count;
    while size > 1 {
        let half = size / 2;
        base = select_unpredictable(before(base + half - 1), base + half, base);
        size -= half;
    }
    base + usize::from(before(base))
}

#[cfg(test)]
mod tests {
    use super::partition;

    #[test]
    fn every_partition_of_small_counts_is_found() {
        for count in 0..70 {
            for wanted in 0..=count {
                assert_eq!(
                    partition(count, |place| place < wanted),
                    wanted,
                    "of {count}"
                );
            }
        }
    }
}
