//! The operation on a complex object, and the operation that undoes it.
//!
//! L1: a lock on each subobject that is accessed, shared if it is only read, exclusive if it is changed, as in the
//! DASDBS paper. Locks are requested in the order of the subobjects' identities. As an option, and beyond the DASDBS
//! paper, a change takes a lock of its own mode, which is compatible with itself: additions commute.
//!
//! L0: the header page is read, then each subobject's page; a change converts the shared lock on the
//! page into an exclusive one, as in the DASDBS paper. Each access works on a simulated processor while its
//! page is locked.

use super::layout;
use super::processors::Processors;
use crate::complex_objects::workload::{Access, ObjectOperation, Owner, Place, Scale, Subobject};
use sardonyx_multilevel::{
    Area, Inverse, LockRequests, LockSpace, Mode, Operation, Page, PageId, Pages, Recorded, Stop,
};
use std::time::Duration;

/// Others may read.
pub(super) const SHARED: Mode = Mode(0);
/// No other access.
pub(super) const EXCLUSIVE: Mode = Mode(1);
/// Others may add, too.
pub(super) const ADD: Mode = Mode(2);

/// The subobjects' locks: shared, exclusive, add.
pub(super) static SUBOBJECTS: LockSpace = LockSpace::new(
    "subobjects",
    &[
        &[true, false, false],
        &[false, false, false],
        &[false, false, true],
    ],
);

/// The common part of all operations of a run.
#[derive(Debug)]
pub struct Surroundings {
    /// The database's dimensions.
    pub scale: Scale,
    /// The area of the pages.
    pub area: Area,
    /// True if changes commute at L1.
    pub semantic: bool,
    /// The simulated processors.
    pub processors: Processors,
    /// The time that each access works.
    pub access_time: Duration,
}

/// The reason why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VisitError {
    /// An error of the engine.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// A page does not hold the expected bytes.
    #[error("page {page} of the complex objects: {what}")]
    Damaged {
        /// The page, counted from the area's first.
        page: u64,
        /// The fault.
        what: String,
    },
}

/// An operation on a complex object: accesses some of its own and of its foreign subobjects.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The common part of the run.
    pub surroundings: &'a Surroundings,
    /// The accesses.
    pub request: &'a ObjectOperation,
}

/// The results of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Visited {
    /// The sum of the values that were only read.
    pub sum: i64,
    /// The additions and their places.
    pub changed: Vec<Changed>,
}

/// An addition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed {
    /// The subobject's identity.
    pub identity: u64,
    /// Its page, counted from the area's first.
    pub page: u64,
    pub slot: u8,
    /// The amount added.
    pub change: i64,
}

impl Visit<'_> {
    /// The place of an accessed subobject, from the header.
    fn place(&self, header: &Page, access: &Access) -> Result<Place, VisitError> {
        let scale = &self.surroundings.scale;
        match access.owner {
            Owner::Own => Ok(layout::directory_entry(header, access.subobject.number)),
            Owner::Foreign { reference } => {
                let (subobject, place) = layout::reference(scale, header, reference);
                if subobject == access.subobject {
                    return Ok(place);
                }
                let page = scale.header_page(self.request.complex_object);
                let expected = access.subobject;
                let what = format!("reference {reference} is {subobject:?}, not {expected:?}");
                Err(VisitError::Damaged { page, what })
            }
        }
    }

    fn header(&self, pages: &dyn Pages) -> Result<Page, VisitError> {
        let Surroundings { scale, area, .. } = self.surroundings;
        let complex_object = self.request.complex_object;
        let page = scale.header_page(complex_object);
        let header = pages.read(pages.page(*area, page)?)?;
        if layout::is_header_of(scale, header, complex_object) {
            return Ok(*header);
        }
        let what = format!("no header of complex object {complex_object}");
        Err(VisitError::Damaged { page, what })
    }

    fn access(
        &self,
        pages: &mut dyn Pages,
        header: &Page,
        access: &Access,
        visited: &mut Visited,
    ) -> Result<(), VisitError> {
        let surroundings = self.surroundings;
        let subobject = access.subobject;
        let place = self.place(header, access)?;
        let page = surroundings.scale.header_page(subobject.complex_object) + u64::from(place.page);
        let id = pages.page(surroundings.area, page)?;
        let value = value_in(pages, (id, page), place.slot, subobject)?;
        surroundings.processors.work(surroundings.access_time);
        let Some(change) = access.change else {
            visited.sum = visited.sum.wrapping_add(value);
            return Ok(());
        };
        let sum = value.wrapping_add(change).to_le_bytes();
        let range = layout::value_range(place.slot);
        pages.write(id, range)?.copy_from_slice(&sum);
        visited.changed.push(Changed {
            identity: surroundings.scale.identity(subobject),
            page,
            slot: place.slot,
            change,
        });
        Ok(())
    }
}

fn value_in(
    pages: &dyn Pages,
    (id, page): (PageId, u64),
    slot: u8,
    subobject: Subobject,
) -> Result<i64, VisitError> {
    let value = layout::value(pages.read(id)?, slot, subobject);
    value.ok_or_else(|| VisitError::Damaged {
        page,
        what: format!("slot {slot} does not hold {subobject:?}"),
    })
}

impl Operation for Visit<'_> {
    type Output = Visited;
    type Error = VisitError;

    fn locks(&self, locks: &mut LockRequests) {
        let Surroundings {
            scale, semantic, ..
        } = self.surroundings;
        let mode = |access: &Access| match (access.change, semantic) {
            (None, _) => SHARED,
            (Some(_), false) => EXCLUSIVE,
            (Some(_), true) => ADD,
        };
        let accesses = self.request.accesses.iter();
        let mut all: Vec<(u64, Mode)> = accesses
            .map(|access| (scale.identity(access.subobject), mode(access)))
            .collect();
        // The strongest of an object's modes first: of shared and exclusive one is enough.
        all.sort_unstable_by_key(|&(identity, mode)| (identity, std::cmp::Reverse(mode.0)));
        all.dedup();
        all.dedup_by(|later, earlier| later.0 == earlier.0 && earlier.1 == EXCLUSIVE);
        for (identity, mode) in all {
            locks.request(&SUBOBJECTS, identity, mode);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Visited, VisitError> {
        let mut visited = Visited {
            sum: 0,
            changed: Vec::new(),
        };
        let header = self.header(pages)?;
        for access in &self.request.accesses {
            self.access(pages, &header, access, &mut visited)?;
        }
        Ok(visited)
    }

    fn inverse(&self, visited: &Visited) -> Option<Inverse> {
        if visited.changed.is_empty() {
            return None;
        }
        Some(Inverse::of(&TakeBack {
            area: self.surroundings.area,
            mode: if self.surroundings.semantic {
                ADD
            } else {
                EXCLUSIVE
            },
            changed: visited.changed.clone(),
        }))
    }
}

/// Undoes the additions of an operation. It does no timed work: it may run after a crash, when there are no simulated
/// processors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakeBack {
    area: Area,
    mode: Mode,
    changed: Vec<Changed>,
}

impl Operation for TakeBack {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        for changed in &self.changed {
            locks.request(&SUBOBJECTS, changed.identity, self.mode);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for changed in self.changed.iter().rev() {
            let page = pages.page(self.area, changed.page)?;
            let bytes = pages.write(page, layout::value_range(changed.slot))?;
            let value = i64::from_le_bytes((&*bytes).try_into().expect("8 bytes"));
            bytes.copy_from_slice(&value.wrapping_sub(changed.change).to_le_bytes());
        }
        Ok(())
    }
}

/// The bytes of a recorded addition.
const CHANGED_BYTES: usize = 25;

impl Recorded for TakeBack {
    const NAME: &str = "complex-objects.take-back";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.push(self.mode.0);
        for changed in &self.changed {
            into.extend(changed.identity.to_le_bytes());
            into.extend(changed.page.to_le_bytes());
            into.push(changed.slot);
            into.extend(changed.change.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[a, b, mode], rest) = bytes.split_first_chunk()?;
        let known = [EXCLUSIVE, ADD].into_iter().find(|known| known.0 == mode)?;
        let (all, []) = rest.as_chunks::<CHANGED_BYTES>() else {
            return None;
        };
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let changed = all.iter().map(|bytes| Changed {
            identity: word(&bytes[..8]),
            page: word(&bytes[8..16]),
            slot: bytes[16],
            change: word(&bytes[17..]) as i64,
        });
        Some(TakeBack {
            area: Area(u16::from_le_bytes([a, b])),
            mode: known,
            changed: changed.collect(),
        })
    }
}

#[cfg(test)]
#[path = "operation_tests.rs"]
mod tests;
