//! Errors of a structure in plain memory.

/// A failed operation on a structure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The area has too few pages for this operation. Nothing was changed: make the area at least `pages_needed` pages
    /// large and repeat the operation.
    #[error("the area is full: enlarge it to {pages_needed} pages and repeat the operation")]
    Full {
        /// The number of pages that the area must have in all.
        pages_needed: usize,
    },
    /// The structure cannot grow any further, however large the area is. Nothing was changed.
    #[error("the structure needs {pages_needed} pages, and can have {limit} at most")]
    TooLarge {
        /// The number of pages that the operation needs in all.
        pages_needed: usize,
        /// The most pages that this kind of structure can have.
        limit: usize,
    },
    /// A page holds bytes that this structure never writes. See the crate's page for the possible effects of an
    /// operation that changes the structure.
    #[error(
        "page {page} of the area is damaged: {reason}; abort the transaction or recover the area"
    )]
    Damaged {
        /// The page's number within the area.
        page: usize,
        /// The fault of the page.
        reason: &'static str,
    },
    /// The area holds this kind of structure, but made with another parameter.
    #[error("the structure in this area has {what} {found}, but it is opened with {declared}")]
    LayoutDiffers {
        /// The parameter.
        what: &'static str,
        /// The area's value.
        found: u64,
        /// The program's value.
        declared: u64,
    },
    /// Bytes cannot be seen as pages.
    #[error(
        "{length} bytes at an address that is {excess} bytes beyond a multiple of 4096 are not \
         whole pages: give page-aligned memory with a length that is a multiple of 4096"
    )]
    NotPages {
        /// The length of the bytes.
        length: usize,
        /// The distance of the first byte from the page boundary before it, in bytes.
        excess: usize,
    },
}

/// A shorthand for damage.
pub(crate) fn damaged<T>(page: usize, reason: &'static str) -> Result<T, Error> {
    Err(Error::Damaged { page, reason })
}
