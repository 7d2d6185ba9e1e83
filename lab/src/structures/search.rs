//! Search without branches that depend on the data, and with few waits for memory.
//!
//! A binary search of a node that is not in the cache waits for memory at each of its eight steps. Here a step reads
//! several places at once, at an equal distance. The processor loads them in parallel, so a node is searched in three
//! waits.

/// The number of places of `0..count` before the searched one; `before` is true for a first part of the places and
/// false for the rest. On damaged (unsorted) data the answer is some number up to `count`. A step divides the remaining
/// places into `PARTS`.
#[inline(always)]
pub(crate) fn partition<const PARTS: usize>(
    count: usize,
    mut before: impl FnMut(usize) -> bool,
) -> usize {
    let mut base = 0;
    let mut size = count;
    // The answer is always within base..=base + size.
    while size > PARTS {
        let distance = size / PARTS;
        let mut passed = 0;
        for part in 1..PARTS {
            passed += usize::from(before(base + part * distance - 1));
        }
        base += passed * distance;
        size -= (PARTS - 1) * distance;
    }
    let passed: usize = (base..base + size)
        .map(|place| usize::from(before(place)))
        .sum();
    base + passed
}

#[cfg(test)]
mod tests {
    use super::partition;

    #[test]
    fn every_partition_of_small_counts_is_found() {
        for count in 0..400 {
            for wanted in 0..=count {
                assert_eq!(
                    partition::<8>(count, |place| place < wanted),
                    wanted,
                    "of {count}"
                );
                assert_eq!(
                    partition::<16>(count, |place| place < wanted),
                    wanted,
                    "of {count}"
                );
            }
        }
    }

    #[test]
    fn unsorted_places_lead_nowhere_else() {
        for seed in 0..2_000_u64 {
            let count = seed as usize % 300;
            let answer = partition::<8>(count, |place| {
                assert!(place < count);
                (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (place % 64)) & 1 == 1
            });
            assert!(answer <= count);
        }
    }
}
