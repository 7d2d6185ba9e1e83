//! Why an operation on an index failed.

use super::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::pages::Stop;
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::Damage;

/// The reason why an operation on an [`OrderedIndex`](super::OrderedIndex) failed. It had no effect then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The subtransaction cannot go on.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// [`Insert`](super::Insert) found the key.
    #[error("the key is in the index already: use `Put` to replace its value")]
    Duplicate,
    /// The key is longer than [`KEY_BYTES_MAX`].
    #[error("a key of {length} bytes: an index takes at most {KEY_BYTES_MAX}")]
    KeyLength {
        /// Its length in bytes.
        length: usize,
    },
    /// The value is longer than [`VALUE_BYTES_MAX`].
    #[error(
        "a value of {length} bytes: an index takes at most {VALUE_BYTES_MAX}; \
         keep it elsewhere and its place here"
    )]
    ValueLength {
        /// Its length in bytes.
        length: usize,
    },
    /// The area's pages are not those of an index.
    #[error("byte {offset} of page {page} is not of an ordered index: {what}; restore a backup")]
    Damaged {
        /// The page's number in the database.
        page: PageId,
        /// The place in the page.
        offset: usize,
        /// The content found there.
        what: &'static str,
    },
}

/// [`IndexError::Damaged`], in few words.
pub(super) fn damaged(page: PageId, offset: usize, what: &'static str) -> IndexError {
    IndexError::Damaged { page, offset, what }
}

impl From<Damage> for IndexError {
    fn from(Damage { page, offset, what }: Damage) -> IndexError {
        damaged(page, offset, what)
    }
}
