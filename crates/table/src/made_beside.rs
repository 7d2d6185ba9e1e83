//! Structures that are built beside a table: its next content, and an index that it does not have yet.

use crate::secondary::Secondary;
use crate::table::TableState;
use std::sync::Weak;

/// The part of a replacement table's state that names the table, and the owner.
#[derive(Clone, Debug)]
pub(crate) struct MadeBeside {
    /// The table, which its pages name.
    pub of: u16,
    /// Once the owner is dropped, the work is abandoned.
    pub owner: Weak<()>,
}

/// An index that is being built: see [`IndexBeside`](crate::IndexBeside).
#[derive(Debug)]
pub(crate) struct MadeIndex {
    /// Once the owner is dropped, the work is abandoned.
    pub owner: Weak<()>,
    pub index: Secondary,
}

impl TableState {
    /// The number that the pages of the table with this number name.
    #[inline]
    pub fn number_in_pages(&self, number: u16) -> u16 {
        self.beside.as_ref().map_or(number, |beside| beside.of)
    }
}
