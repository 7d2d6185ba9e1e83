//! The relations of a store's tables, by their schemas. Every store keeps them for each state of its catalogue.
//!
//! Names and numbers are [`Definitions`](sardonyx_storage::catalogue::Definitions), in every store. A store has its own way
//! to keep them: main memory in the pages that recovery allocates by, nodes in a tree of names under page locks.

mod index_names;
mod references;

use crate::schema::Schema;
use index_names::IndexNames;
use references::References;

/// The relations between a store's tables, from their schemas: references, and the names of indexes. So neither is found
/// by a look at all schemas. Copies share their parts: a snapshot has its own.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    references: References,
    index_names: IndexNames,
}

impl Relations {
    /// The tables that refer to one, itself included if it does, in the order of their numbers.
    #[inline]
    pub fn referring(&self, table: u16) -> &[u16] {
        self.references.to(table)
    }

    /// The tables that may have an index of a name, in the order of their numbers.
    #[inline]
    pub fn indexed(&self, name: &str) -> Vec<u16> {
        self.index_names.tables(name)
    }

    /// Takes a table's present schema, or none. Returns the tables that are referred to by others than before.
    pub fn set(&mut self, table: u16, schema: Option<&Schema>) -> Vec<u16> {
        self.index_names.set(table, schema);
        self.references.set(table, schema)
    }
}
