//! The size of the database, and the places of its subobjects.

use super::{ComplexObjectError, within};

pub const PAGE_BYTES: usize = 4_096;

/// The bytes of a subobject, with its identity.
pub const SUBOBJECT_BYTES: usize = 32;

/// The bytes of an entry of a header's directory of own subobjects.
pub const DIRECTORY_ENTRY_BYTES: usize = 2;

/// The bytes of a reference to a foreign subobject.
pub const REFERENCE_BYTES: usize = 8;

/// The bytes of a header page before its directory.
pub const HEADER_BYTES: usize = 16;

/// The most complex objects.
pub const COMPLEX_OBJECTS_MAX: u64 = 1 << 20;

/// The most pages of a complex object.
pub const PAGES_MAX: u64 = 255;

/// Subobjects that fit into a page.
const SUBOBJECTS_OF_PAGE_MAX: u64 = (PAGE_BYTES / SUBOBJECT_BYTES) as u64;

/// A subobject: its complex object and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
pub struct Subobject {
    /// The complex object that owns it, from 0.
    pub complex_object: u32,
    /// Its number there, from 0.
    pub number: u16,
}

/// The place of a subobject within its owner's cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The page of the cluster, from 1: page 0 is the header.
    pub page: u8,
    /// The slot of the page, from 0.
    pub slot: u8,
}

/// The number of complex objects, and the parts of each. Always valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Scale {
    complex_objects: u32,
    subobjects: u32,
    references: u32,
    pages: u32,
}

impl Scale {
    /// A database of `complex_objects`, each with `subobjects` own subobjects and `references` to foreign ones, in
    /// `pages` pages with the header.
    ///
    /// # Errors
    /// [`ComplexObjectError::Count`] or [`ComplexObjectError::Header`] if something does not fit.
    pub fn new(
        complex_objects: u32,
        subobjects: u32,
        references: u32,
        pages: u32,
    ) -> Result<Self, ComplexObjectError> {
        // A reference is to another complex object.
        let least = if references > 0 { 2 } else { 1 };
        within(
            "complex objects",
            complex_objects.into(),
            least,
            COMPLEX_OBJECTS_MAX,
        )?;
        within("pages of a complex object", pages.into(), 2, PAGES_MAX)?;
        let most = u64::from(pages - 1) * SUBOBJECTS_OF_PAGE_MAX;
        within("own subobjects", subobjects.into(), 1, most)?;
        let bytes = HEADER_BYTES
            + subobjects as usize * DIRECTORY_ENTRY_BYTES
            + references as usize * REFERENCE_BYTES;
        if bytes > PAGE_BYTES {
            return Err(ComplexObjectError::Header {
                subobjects,
                references,
                bytes,
            });
        }
        Ok(Scale {
            complex_objects,
            subobjects,
            references,
            pages,
        })
    }

    /// The DASDBS paper's: 1,000 complex objects, each with 1,000 own subobjects and 100 references to
    /// foreign ones, in 10 pages. (Pages are of 4 KiB here and of 2 KByte there.)
    pub fn paper() -> Self {
        Scale {
            complex_objects: 1_000,
            subobjects: 1_000,
            references: 100,
            pages: 10,
        }
    }

    pub fn complex_objects(&self) -> u32 {
        self.complex_objects
    }

    pub fn subobjects(&self) -> u32 {
        self.subobjects
    }

    /// References of each to foreign subobjects.
    pub fn references(&self) -> u32 {
        self.references
    }

    /// Pages of each, with the header.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Pages of the whole database.
    pub fn all_pages(&self) -> u64 {
        u64::from(self.complex_objects) * u64::from(self.pages)
    }

    /// Subobjects of the whole database.
    pub fn all_subobjects(&self) -> u64 {
        u64::from(self.complex_objects) * u64::from(self.subobjects)
    }

    /// The header's page, counted from the database's first.
    pub fn header_page(&self, complex_object: u32) -> u64 {
        u64::from(complex_object) * u64::from(self.pages)
    }

    /// The place of an own subobject: they fill the pages after the header evenly, in their order.
    pub fn place(&self, number: u16) -> Place {
        let of_page = self.subobjects.div_ceil(self.pages - 1);
        let number = u32::from(number);
        Place {
            page: (1 + number / of_page) as u8,
            slot: (number % of_page) as u8,
        }
    }

    /// A subobject's identity, dense from 0 to [`Scale::all_subobjects`].
    pub fn identity(&self, subobject: Subobject) -> u64 {
        u64::from(subobject.complex_object) * u64::from(self.subobjects)
            + u64::from(subobject.number)
    }

    pub fn subobject(&self, identity: u64) -> Subobject {
        Subobject {
            complex_object: (identity / u64::from(self.subobjects)) as u32,
            number: (identity % u64::from(self.subobjects)) as u16,
        }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Scale::paper()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_papers_database_has_10000_pages_and_a_million_subobjects() {
        let scale = Scale::paper();
        assert_eq!(Scale::new(1_000, 1_000, 100, 10), Ok(scale));
        assert_eq!(scale.all_pages(), 10_000);
        assert_eq!(scale.all_subobjects(), 1_000_000);
        assert_eq!(scale.header_page(7), 70);
    }

    #[test]
    fn every_subobject_has_a_place_of_its_own_behind_the_header() {
        for (subobjects, pages) in [(1_000, 10), (1, 2), (5, 10), (128, 2), (19, 4)] {
            let scale = Scale::new(3, subobjects, 2, pages).unwrap();
            let mut seen = HashSet::new();
            for number in 0..subobjects as u16 {
                let Place { page, slot } = scale.place(number);
                assert!((1..pages).contains(&u32::from(page)), "{number}: {page}");
                assert!(u64::from(slot) < SUBOBJECTS_OF_PAGE_MAX);
                assert!(seen.insert((page, slot)), "{number}");
            }
        }
    }

    #[test]
    fn identities_are_dense_and_lead_back() {
        let scale = Scale::new(4, 7, 2, 3).unwrap();
        for identity in 0..scale.all_subobjects() {
            assert_eq!(scale.identity(scale.subobject(identity)), identity);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (complex_objects, subobjects, references, pages) in [
            (0, 10, 0, 10),
            (1, 10, 1, 10),
            (2, 0, 1, 10),
            (2, 10, 1, 1),
            (2, 10, 1, 256),
            (2, 129, 1, 2),
            (u32::MAX, 10, 1, 10),
            (2, u32::MAX, 1, 10),
            (2, 10, 1 << 20, 10),
        ] {
            let refused = Scale::new(complex_objects, subobjects, references, pages);
            assert!(refused.is_err(), "{refused:?}");
        }
        assert!(matches!(
            Scale::new(2, 1_000, 1_000, 10),
            Err(ComplexObjectError::Header { bytes: 10_016, .. })
        ));
    }
}
