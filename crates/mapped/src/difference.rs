//! The change of a page: the byte ranges in which it differs from its before-image.
//!
//! Compared by words of 8 bytes. Two differences with less than 16 equal bytes between them are one
//! range, since a record of its own costs 8 bytes and some time.

use sardonyx_storage::page::PAGE_SIZE;

/// A page's bytes.
pub type PageBytes = [u8; PAGE_SIZE];

const WORDS: usize = PAGE_SIZE / 8;

/// Words compared at once.
const STRIDE: usize = 8;

/// Calls `found` with every range that differs: offset and bytes of `after`.
pub fn differences(before: &PageBytes, after: &PageBytes, mut found: impl FnMut(usize, &[u8])) {
    // First and last word of the range that is being gathered.
    let mut range: Option<(usize, usize)> = None;
    let mut emit =
        |(first, last): (usize, usize)| found(first * 8, &after[first * 8..last * 8 + 8]);
    for stride in (0..WORDS).step_by(STRIDE) {
        let bytes = stride * 8..(stride + STRIDE) * 8;
        if before[bytes.clone()] == after[bytes] {
            continue;
        }
        for word in stride..stride + STRIDE {
            let bytes = word * 8..word * 8 + 8;
            if before[bytes.clone()] == after[bytes] {
                continue;
            }
            range = match range {
                Some((first, last)) if word - last <= 2 => Some((first, word)),
                Some(whole) => {
                    emit(whole);
                    Some((word, word))
                }
                None => Some((word, word)),
            };
        }
    }
    if let Some(whole) = range {
        emit(whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ranges_make_the_new_page_of_the_old_one_and_are_apart(
            stores in prop::collection::vec((0..PAGE_SIZE, any::<u8>()), 0..40),
            fill in any::<u8>(),
        ) {
            let before = [fill; PAGE_SIZE];
            let mut after = before;
            for (at, byte) in stores {
                after[at] = byte;
            }
            let mut made = before;
            let mut end = None;
            differences(&before, &after, |offset, bytes| {
                assert!(offset % 8 == 0 && bytes.len() % 8 == 0 && !bytes.is_empty());
                assert!(end.is_none_or(|end| offset >= end + 16));
                assert_ne!(before[offset..offset + 8], bytes[..8]);
                made[offset..offset + bytes.len()].copy_from_slice(bytes);
                end = Some(offset + bytes.len());
            });
            prop_assert_eq!(made, after);
        }
    }

    #[test]
    fn equal_pages_have_no_difference_and_other_ones_are_one_range() {
        differences(&[1; PAGE_SIZE], &[1; PAGE_SIZE], |_, _| {
            panic!("no difference")
        });
        let mut ranges = 0;
        differences(&[1; PAGE_SIZE], &[2; PAGE_SIZE], |offset, bytes| {
            assert_eq!((offset, bytes.len()), (0, PAGE_SIZE));
            ranges += 1;
        });
        assert_eq!(ranges, 1);
    }
}
