//! Classes of small things: each slab is a page with slots of one size.

use super::layout::{CLASSES_MAX, PAGE, SLAB_HEADER_BYTES};

/// The size of a slot of each class, in bytes, a multiple of 16. If few slots fit into a page, the
/// sizes are those that divide it, less its header, with little rest.
const SLOT_BYTES: [u64; 24] = [
    16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256, 288, 336, 400, 448, 496, 576, 672,
    800, 1008, 1344, 2016,
];

/// The largest alignment that a slot can have: the slots start behind a header of as many bytes.
const SLOT_ALIGN_MAX: u64 = SLAB_HEADER_BYTES;

const _: () = assert!(SLOT_BYTES.len() <= CLASSES_MAX);

/// The number of a class: below [`CLASSES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class(u16);

pub(super) const CLASSES: usize = SLOT_BYTES.len();

impl Class {
    /// The smallest class for so many bytes at such an alignment, a power of two; `None` if only
    /// whole pages will do.
    pub(super) fn of(bytes: u64, align: u64) -> Option<Class> {
        if align > SLOT_ALIGN_MAX {
            return None;
        }
        let first = SLOT_BYTES.partition_point(|slot| *slot < bytes);
        let found = SLOT_BYTES[first..]
            .iter()
            .position(|slot| slot.is_multiple_of(align))?;
        Some(Class((first + found) as u16))
    }

    /// The class of a number that was read from memory.
    pub(super) fn from_number(number: u16) -> Option<Class> {
        (usize::from(number) < CLASSES).then_some(Class(number))
    }

    pub(super) fn number(self) -> u16 {
        self.0
    }

    pub(super) fn slot_bytes(self) -> u64 {
        SLOT_BYTES[usize::from(self.0)]
    }

    /// Slots in a slab: 2 to 252.
    pub(super) fn slots(self) -> u32 {
        ((PAGE - SLAB_HEADER_BYTES) / self.slot_bytes()) as u32
    }

    /// A slot's first byte in its page.
    pub(super) fn slot_start(self, slot: u32) -> u64 {
        SLAB_HEADER_BYTES + u64::from(slot) * self.slot_bytes()
    }

    /// The slot that starts at a byte of its page, if one does.
    pub(super) fn slot_at(self, in_page: u64) -> Option<u32> {
        let behind_header = in_page.checked_sub(SLAB_HEADER_BYTES)?;
        let slot = (behind_header / self.slot_bytes()) as u32;
        (behind_header.is_multiple_of(self.slot_bytes()) && slot < self.slots()).then_some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_and_alignment_has_the_smallest_slot_that_keeps_it() {
        for align in [1, 2, 4, 8, 16, 32, 64] {
            for bytes in 0..=2016 {
                let expected = SLOT_BYTES
                    .into_iter()
                    .find(|slot| *slot >= bytes && slot.is_multiple_of(align));
                let class = Class::of(bytes, align);
                assert_eq!(class.map(Class::slot_bytes), expected, "{bytes} at {align}");
                let Some(class) = class else { continue };
                for slot in 0..class.slots() {
                    let start = class.slot_start(slot);
                    assert!(start.is_multiple_of(align) && start + bytes <= PAGE);
                    assert_eq!(class.slot_at(start), Some(slot));
                    assert_eq!(class.slot_at(start + 1), None);
                }
                assert_eq!(class.slot_at(class.slot_start(class.slots())), None);
                assert_eq!(class.slot_at(0), None);
            }
        }
        assert_eq!(Class::of(2017, 1), None);
        assert_eq!(Class::of(16, 128), None);
    }

    #[test]
    fn slots_fit_the_bitmap_and_a_full_slab_has_two_at_least() {
        for number in 0..CLASSES as u16 {
            let class = Class::from_number(number).unwrap();
            assert!((2..=256).contains(&class.slots()));
            assert_eq!(class.number(), number);
        }
        assert_eq!(Class::from_number(CLASSES as u16), None);
    }
}
