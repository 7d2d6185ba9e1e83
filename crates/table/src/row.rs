//! The token of a record that was found.

use sardonyx_rows::Plain;
use sardonyx_storage::page::Address;
use std::fmt;

/// A record that was found: a token to read and change it without looking it up again. It outlives transactions. If
/// the record was deleted since, that is noticed, with one exception: a record of the same key that was then put into
/// the very place becomes the token's.
pub struct Row<R: Plain> {
    pub(crate) address: Address,
    pub(crate) table: u16,
    /// The space's epoch when the row was found; it changes with every removal, and differs
    /// between databases.
    pub(crate) epoch: u64,
    /// Its key, to know it again after other records were removed.
    pub(crate) key: R::Key,
}

impl<R: Plain> Row<R> {
    #[inline]
    pub(crate) fn new(address: Address, table: u16, epoch: u64, key: R::Key) -> Self {
        Row {
            address,
            table,
            epoch,
            key,
        }
    }
}

impl<R: Plain> Clone for Row<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Plain> Copy for Row<R> {}

impl<R: Plain> fmt::Debug for Row<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row at {}", self.address)
    }
}
