//! What a table's state is that will be another table's: its next content.

use crate::table::TableState;
use std::sync::Weak;

/// What a state is that will be another table's.
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
