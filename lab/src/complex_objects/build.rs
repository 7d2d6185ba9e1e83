//! Making the database, and comparing it with its expected contents.

use super::layout;
use super::operation::{Surroundings, VisitError};
use crate::complex_objects::workload::{References, Subobject};
use sardonyx_multilevel::{Operation, Pages};

/// Writes all pages of a complex object, with every value 0. It has no inverse: a database that was not finished is
/// made again.
#[derive(Clone, Debug)]
pub(super) struct Build<'a> {
    pub(super) surroundings: &'a Surroundings,
    pub(super) references: &'a References,
    pub(super) complex_object: u32,
}

impl Operation for Build<'_> {
    type Output = ();
    type Error = VisitError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), VisitError> {
        let Surroundings { scale, area, .. } = self.surroundings;
        let first = scale.header_page(self.complex_object);
        for page in 0..scale.pages() as u8 {
            let content = match page {
                0 => layout::header(self.references, self.complex_object),
                _ => layout::subobjects(scale, self.complex_object, page),
            };
            let id = pages.page(*area, first + u64::from(page))?;
            pages.write(id, 0..content.len())?.copy_from_slice(&content);
        }
        Ok(())
    }
}

/// Reads every value of a complex object, and compares all other bytes with the original ones.
#[derive(Clone, Debug)]
pub(super) struct Audit<'a> {
    pub(super) surroundings: &'a Surroundings,
    pub(super) references: &'a References,
    pub(super) complex_object: u32,
}

impl Operation for Audit<'_> {
    type Output = Vec<i64>;
    type Error = VisitError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<Vec<i64>, VisitError> {
        let Surroundings { scale, area, .. } = self.surroundings;
        let complex_object = self.complex_object;
        let first = scale.header_page(complex_object);
        let header = pages.read(pages.page(*area, first)?)?;
        if *header != layout::header(self.references, complex_object) {
            let what = format!("not the header of complex object {complex_object}");
            return Err(VisitError::Damaged { page: first, what });
        }
        let value = |number: u16| {
            let place = scale.place(number);
            let page = first + u64::from(place.page);
            let subobject = Subobject {
                complex_object,
                number,
            };
            let bytes = pages.read(pages.page(*area, page)?)?;
            layout::value(bytes, place.slot, subobject).ok_or_else(|| VisitError::Damaged {
                page,
                what: format!("slot {} does not hold {subobject:?}", place.slot),
            })
        };
        (0..scale.subobjects() as u16).map(value).collect()
    }
}
