//! State of a replacement table: the next content of a table.

use crate::table::TableState;
use std::sync::Weak;

/// The part of a replacement table's state that names the table, and the owner.
#[derive(Clone, Debug)]
pub(crate) struct MadeBeside {
    /// The table, which its pages name.
    pub of: u16,
    /// Without an owner nobody goes on with it.
    pub owner: Weak<()>,
}

impl TableState {
    /// The number that the pages of the table with this number name.
    #[inline]
    pub fn number_in_pages(&self, number: u16) -> u16 {
        self.beside.as_ref().map_or(number, |beside| beside.of)
    }
}
