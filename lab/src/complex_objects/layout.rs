//! The bytes of a complex object's pages.
//!
//! The header page: the number of the complex object (u32), of its own subobjects (u32) and of its references (u32),
//! four bytes of zeroes. Then the directory, two bytes for each own subobject (slot, page of the cluster). Then the
//! references, eight bytes each: complex object (u32), number (u16), slot, page of *its* cluster, so that following one
//! needs no other header. All integers are little-endian.
//!
//! The other pages: subobjects of 32 bytes: the complex object (u32); the number of the subobject (u16); two bytes of
//! zeroes; its value (i64); 16 bytes for its other contents.
//!
//! Only values ever change. Every access compares all other bytes with the expected ones.

use crate::complex_objects::workload::{
    DIRECTORY_ENTRY_BYTES, HEADER_BYTES, Place, REFERENCE_BYTES, References, SUBOBJECT_BYTES,
    Scale, Subobject,
};
use sardonyx_multilevel::{PAGE_SIZE, Page};
use std::ops::Range;

const VALUE: Range<usize> = 8..16;

/// The filling of the rest of a subobject.
const FILLING: u8 = 0xa5;

/// The bytes of a page with a subobject's value.
pub(super) fn value_range(slot: u8) -> Range<usize> {
    let at = usize::from(slot) * SUBOBJECT_BYTES;
    at + VALUE.start..at + VALUE.end
}

/// Makes a header page.
pub(super) fn header(references: &References, complex_object: u32) -> Page {
    let scale = references.scale();
    let mut page = [0; PAGE_SIZE];
    page[..4].copy_from_slice(&complex_object.to_le_bytes());
    page[4..8].copy_from_slice(&scale.subobjects().to_le_bytes());
    page[8..12].copy_from_slice(&scale.references().to_le_bytes());
    for number in 0..scale.subobjects() as u16 {
        let at = HEADER_BYTES + usize::from(number) * DIRECTORY_ENTRY_BYTES;
        let place = scale.place(number);
        page[at..at + 2].copy_from_slice(&[place.slot, place.page]);
    }
    let foreign = references_at(&scale);
    for (reference, subobject) in references.of(complex_object).iter().enumerate() {
        let at = foreign + reference * REFERENCE_BYTES;
        let place = scale.place(subobject.number);
        page[at..at + 4].copy_from_slice(&subobject.complex_object.to_le_bytes());
        page[at + 4..at + 6].copy_from_slice(&subobject.number.to_le_bytes());
        page[at + 6..at + 8].copy_from_slice(&[place.slot, place.page]);
    }
    page
}

/// Makes a page of own subobjects, whose values are 0: the `page`-th of the cluster, from 1.
pub(super) fn subobjects(scale: &Scale, complex_object: u32, page: u8) -> Page {
    let mut bytes = [0; PAGE_SIZE];
    for number in 0..scale.subobjects() as u16 {
        let place = scale.place(number);
        if place.page != page {
            continue;
        }
        let at = usize::from(place.slot) * SUBOBJECT_BYTES;
        bytes[at..at + 4].copy_from_slice(&complex_object.to_le_bytes());
        bytes[at + 4..at + 6].copy_from_slice(&number.to_le_bytes());
        bytes[at + VALUE.end..at + SUBOBJECT_BYTES].fill(FILLING);
    }
    bytes
}

fn references_at(scale: &Scale) -> usize {
    HEADER_BYTES + scale.subobjects() as usize * DIRECTORY_ENTRY_BYTES
}

/// Returns true if a page begins as the header of that complex object.
pub(super) fn is_header_of(scale: &Scale, page: &Page, complex_object: u32) -> bool {
    page[..4] == complex_object.to_le_bytes()
        && page[4..8] == scale.subobjects().to_le_bytes()
        && page[8..12] == scale.references().to_le_bytes()
}

/// The place of an own subobject, from the header's directory.
pub(super) fn directory_entry(header: &Page, number: u16) -> Place {
    let at = HEADER_BYTES + usize::from(number) * DIRECTORY_ENTRY_BYTES;
    Place {
        slot: header[at],
        page: header[at + 1],
    }
}

/// The target of a reference of the header, and its place.
pub(super) fn reference(scale: &Scale, header: &Page, reference: u16) -> (Subobject, Place) {
    let at = references_at(scale) + usize::from(reference) * REFERENCE_BYTES;
    let bytes: [u8; REFERENCE_BYTES] = header[at..at + REFERENCE_BYTES]
        .try_into()
        .expect("a reference's bytes");
    let [a, b, c, d, e, f, slot, page] = bytes;
    let subobject = Subobject {
        complex_object: u32::from_le_bytes([a, b, c, d]),
        number: u16::from_le_bytes([e, f]),
    };
    (subobject, Place { page, slot })
}

/// The value of the subobject in a slot; `None` if it is not the expected one, or if anything but its value was
/// changed.
pub(super) fn value(page: &Page, slot: u8, subobject: Subobject) -> Option<i64> {
    let at = usize::from(slot) * SUBOBJECT_BYTES;
    let bytes = page.get(at..at + SUBOBJECT_BYTES)?;
    let is_it = bytes[..4] == subobject.complex_object.to_le_bytes()
        && bytes[4..6] == subobject.number.to_le_bytes()
        && bytes[6..8] == [0, 0]
        && bytes[VALUE.end..].iter().all(|&byte| byte == FILLING);
    let value = bytes[VALUE].try_into().expect("8 bytes");
    is_it.then(|| i64::from_le_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complex_objects_pages_are_read_as_they_were_made() {
        let scale = Scale::paper();
        let references = References::generate(scale, 1);
        let header = header(&references, 17);
        assert!(is_header_of(&scale, &header, 17));
        assert!(!is_header_of(&scale, &header, 18));
        for number in 0..1_000 {
            let place = directory_entry(&header, number);
            assert_eq!(place, scale.place(number));
            let page = subobjects(&scale, 17, place.page);
            let subobject = Subobject {
                complex_object: 17,
                number,
            };
            assert_eq!(value(&page, place.slot, subobject), Some(0));
            let other = Subobject {
                complex_object: 16,
                number,
            };
            assert_eq!(value(&page, place.slot, other), None);
        }
        for number in 0..100 {
            let (subobject, place) = reference(&scale, &header, number);
            assert_eq!(subobject, references.of(17)[usize::from(number)]);
            assert_eq!(place, scale.place(subobject.number));
        }
    }

    #[test]
    fn only_the_value_may_change() {
        let scale = Scale::new(3, 10, 1, 2).unwrap();
        let subobject = Subobject {
            complex_object: 2,
            number: 4,
        };
        let sound = subobjects(&scale, 2, 1);
        for byte in 4 * SUBOBJECT_BYTES..5 * SUBOBJECT_BYTES {
            let mut page = sound;
            page[byte] ^= 1;
            let in_value = value_range(4).contains(&byte);
            assert_eq!(value(&page, 4, subobject).is_some(), in_value, "{byte}");
        }
        assert_eq!(value(&sound, 200, subobject), None);
    }
}
