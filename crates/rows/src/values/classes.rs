//! The size classes of cells, and the choice of cells for a value.
//!
//! A cell of a class is at most a third larger than one of the class below it; from 16 to 24 bytes it is half as large
//! again. The classes are those that divide a page well. A value longer than half a page is cut in two if that takes
//! less than a page of its own. One longer than a page is cut into full pages and a rest.

use super::NEXT_BYTES;
use crate::layout::PageLayout;

/// The number of size classes.
pub const CLASSES: usize = CELL_BYTES.len();

/// The classes' cells, in bytes. They are on disk: never changed, only ever added to at the end.
const CELL_BYTES: [usize; 24] = [
    16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 288, 336, 408, 504, 680, 816,
    1016, 1360, 2040, 4080,
];

const LAYOUTS: [PageLayout; CLASSES] = {
    let mut layouts = [PageLayout::of(8); CLASSES];
    let mut class = 0;
    while class < CLASSES {
        layouts[class] = PageLayout::of(CELL_BYTES[class]);
        class += 1;
    }
    layouts
};

/// The longest cell whose class is looked up.
const LOOKED_UP_MAX: usize = 128;

/// The classes of the smallest cells for so many words.
const BY_WORDS: [u8; LOOKED_UP_MAX / 8 + 1] = {
    let mut classes = [0; LOOKED_UP_MAX / 8 + 1];
    let mut words = 1;
    while words < classes.len() {
        classes[words] = classes[words - 1];
        if CELL_BYTES[classes[words] as usize] < 8 * words {
            classes[words] += 1;
        }
        words += 1;
    }
    classes
};

/// The class of half a page, and that of a whole one.
const HALF: usize = CLASSES - 2;
const WHOLE: usize = CLASSES - 1;
/// Bytes of the smallest cell.
pub const CELL_BYTES_MIN: usize = CELL_BYTES[0];
/// Bytes of the largest cell.
pub const CLASS_BYTES_MAX: usize = CELL_BYTES[WHOLE];
/// A value that gets two cells takes no more of them than this.
const TWO_CELLS_BYTES_MAX: usize = CELL_BYTES[HALF] + CELL_BYTES[HALF - 1];

/// The layout of a class' pages.
///
/// # Panics
/// If there is no such class.
#[inline]
pub const fn layout_of(class: u8) -> PageLayout {
    LAYOUTS[class as usize]
}

/// The class of the next cell of a value of which `left` bytes, not 0, are left, and how many of them go
/// there.
#[inline]
pub fn next_cell(left: usize) -> (u8, usize) {
    if left <= LOOKED_UP_MAX {
        return (BY_WORDS[left.div_ceil(8)], left);
    }
    let smallest = |bytes: usize| CELL_BYTES.partition_point(|&cell| cell < bytes);
    if left > CELL_BYTES[WHOLE] {
        return (WHOLE as u8, CELL_BYTES[WHOLE] - NEXT_BYTES);
    }
    if left > CELL_BYTES[HALF] {
        let in_half = CELL_BYTES[HALF] - NEXT_BYTES;
        let rest = smallest(left - in_half);
        return match CELL_BYTES[HALF] + CELL_BYTES[rest] <= TWO_CELLS_BYTES_MAX {
            true => (HALF as u8, in_half),
            false => (WHOLE as u8, left),
        };
    }
    (smallest(left) as u8, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::VALUE_BYTES_MAX;
    use sardonyx_storage::page::PAGE_SIZE;

    fn cells(length: usize) -> Vec<(u8, usize)> {
        let mut left = length;
        std::iter::from_fn(|| {
            let cell = (left > 0).then(|| next_cell(left))?;
            left -= cell.1;
            Some(cell)
        })
        .collect()
    }

    #[test]
    fn the_classes_grow_and_are_what_a_page_holds() {
        for (class, bytes) in CELL_BYTES.iter().enumerate() {
            let layout = layout_of(class as u8);
            assert_eq!(layout.stride, *bytes);
            assert!(layout.records >= 1 && bytes.is_multiple_of(8));
            // A cell of 8 bytes more would be one fewer in a page, or there is a class for it.
            let more = PageLayout::of((bytes + 8).min(4080));
            assert!(more.records < layout.records || *bytes == 4080, "{bytes}");
        }
        assert!(CELL_BYTES.is_sorted());
    }

    #[test]
    fn short_values_get_the_smallest_cells_that_they_fit_into() {
        for length in 1..=LOOKED_UP_MAX + 1 {
            let smallest = CELL_BYTES.partition_point(|&cell| cell < length);
            assert_eq!(next_cell(length), (smallest as u8, length));
        }
    }

    #[test]
    fn a_value_of_any_length_gets_cells_and_wastes_little() {
        let lengths = (13..20_000).chain([VALUE_BYTES_MAX - 1, VALUE_BYTES_MAX]);
        let mut worst = (0.0f64, 0);
        for length in lengths {
            let cells = cells(length);
            let (last, rest) = cells.split_last().expect("at least one");
            for (class, bytes) in rest {
                assert_eq!(layout_of(*class).stride, bytes + NEXT_BYTES, "{length}");
            }
            assert!(last.1 <= layout_of(last.0).stride, "{length}");
            assert_eq!(cells.iter().map(|(_, bytes)| bytes).sum::<usize>(), length);
            // A cell's share of a page, its bitmap and trailer included.
            let share = |class: u8| PAGE_SIZE as f64 / layout_of(class).records as f64;
            let bytes: f64 = cells.iter().map(|(class, _)| share(*class)).sum();
            let waste = 1.0 - length as f64 / bytes;
            worst = match waste > worst.0 {
                true => (waste, length),
                false => worst,
            };
        }
        // As documented in docs/format.md.
        assert!(worst.0 < 0.34, "{worst:?}");
    }
}
