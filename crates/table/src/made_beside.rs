//! Structures that are built beside a table: its next content, and an index that it does not have yet.

use crate::secondary::Secondary;
use crate::table::TableState;
use sardonyx_storage::catalogue::Definition;
use std::sync::Weak;

/// The part of a replacement table's state that names the table, and the owner.
#[derive(Clone, Debug)]
pub(crate) struct MadeBeside {
    /// The table, which its pages name.
    pub of: u16,
    /// Once the owner is dropped, the work is abandoned.
    pub owner: Weak<()>,
}

/// A table to be created with the rows of a content. Only the call that creates it has this.
#[derive(Debug)]
pub(crate) struct Adopting {
    pub definition: Definition,
    /// The number of the content, and of the table.
    pub number: u16,
    /// The life that the content's pages name.
    pub life: u32,
    /// Once the owner is dropped, as by a panic, no table gets the content.
    pub owner: Weak<()>,
}

impl Adopting {
    /// True if the table is the one that is declared so.
    #[inline]
    pub fn is_of(&self, definition: &Definition) -> bool {
        self.definition == *definition && self.owner.strong_count() > 0
    }
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
