//! Complex objects: the benchmark of Hasse & Weikum, *A Performance Evaluation of Multi-Level
//! Transaction Management* (DASDBS paper), section 3.1.
//!
//! The database consists of complex objects. Each owns subobjects, in a cluster of contiguous pages after a header page
//! that is only read. It also refers to *foreign* subobjects, which others own. A transaction does a number of
//! operations, each on another complex object. An operation accesses some of its object's own subobjects and some of
//! the foreign ones, and changes each with a given probability.
//!
//! The DASDBS paper's parameters and their names here:
//!
//! | paper | here | baseline |
//! | --- | --- | ---: |
//! | c, operations of a transaction | [`Mix::operations`] | 12 |
//! | o, accesses to own subobjects of an operation | [`Mix::own_accesses`] | 10 |
//! | f, accesses to foreign ones | [`Mix::foreign_accesses`] | 0 |
//! | u, probability of a change | [`Mix::update_percent`] | 20% |
//!
//! [`Skew`] chooses complex objects and subobjects. A change is a number that is added to the subobject's value. So the
//! sum of all committed changes can be compared with the database, subobject by subobject, and a change has an inverse.
//!
//! ```
//! use sardonyx_lab::complex_objects::workload::{Generator, Mix, References, Scale};
//!
//! let scale = Scale::paper();
//! let references = References::generate(scale, 1);
//! let mut generator = Generator::new(&references, Mix::paper(), 2)?;
//! let transaction = generator.transaction();
//! assert_eq!(transaction.operations.len(), 12);
//! assert_eq!(transaction.operations[0].accesses.len(), 10);
//! # Ok::<(), sardonyx_lab::complex_objects::workload::ComplexObjectError>(())
//! ```

mod generator;
mod references;
mod scale;
mod skew;

pub use generator::{Access, CHANGE_MAX, Generator, Mix, ObjectOperation, Owner, Transaction};
pub use references::References;
pub use scale::{
    COMPLEX_OBJECTS_MAX, DIRECTORY_ENTRY_BYTES, HEADER_BYTES, PAGE_BYTES, PAGES_MAX, Place,
    REFERENCE_BYTES, SUBOBJECT_BYTES, Scale, Subobject,
};
pub use skew::Skew;

/// The fault of a scale or a mix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComplexObjectError {
    /// A number is outside its limits.
    #[error("{given} {what} are not possible: choose {least} to {most}")]
    Count {
        /// The name of the number.
        what: &'static str,
        given: u64,
        /// The least possible number.
        least: u64,
        /// The largest possible number.
        most: u64,
    },
    /// The directory and the references do not fit into the header page.
    #[error(
        "a directory of {subobjects} subobjects and {references} references takes {bytes} bytes, but \
         the header is one page of {PAGE_BYTES}"
    )]
    Header {
        subobjects: u32,
        /// Foreign references.
        references: u32,
        /// Bytes of both, with the header's own.
        bytes: usize,
    },
    /// An operation would follow references, but there are none.
    #[error(
        "foreign subobjects cannot be accessed where complex objects have no foreign references"
    )]
    NoReferences,
}

/// Checks a number against its limits.
fn within(what: &'static str, given: u64, least: u64, most: u64) -> Result<(), ComplexObjectError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(ComplexObjectError::Count {
        what,
        given,
        least,
        most,
    })
}
