//! The tables by the names of their indexes: a name that may be taken is found without a look at all schemas.
//!
//! Names are known by their hashes, so a table that is found may have no index of the name. Copies share their parts
//! ([`Parts`]): a snapshot has its own.
//!
//! Invariant: each index of each present schema has its hash here, with its table's number.

use crate::schema::Schema;
use sardonyx_base::hash::Fnv1a;
use sardonyx_base::parts::Parts;
use std::sync::Arc;

/// The lists of hashes.
const LISTS: usize = 256;

/// The indexes of the tables of a space or a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexNames {
    /// By the number of a table: the hashes of its indexes, in their order.
    of: Parts<Arc<Vec<u32>>>,
    /// Hashes with the numbers of tables, each in the list of its hash.
    lists: Parts<Arc<Vec<(u32, u16)>>, 16>,
}

impl IndexNames {
    /// The tables that may have an index of a name, in their order.
    #[inline]
    pub fn tables(&self, name: &str) -> Vec<u16> {
        let hash = hash_of(name);
        let list = self.lists.get(hash as usize % LISTS);
        let found = list.into_iter().flat_map(|list| list.iter());
        let found = found.filter(|(of, _)| *of == hash);
        let mut found: Vec<u16> = found.map(|(_, table)| *table).collect();
        found.sort_unstable();
        found
    }

    /// Takes the indexes of a table's present schema, or of none.
    pub fn set(&mut self, table: u16, schema: Option<&Schema>) {
        let indexes = schema.iter().flat_map(|schema| &schema.indexes);
        let mut now: Vec<u32> = indexes.map(|index| hash_of(&index.name)).collect();
        now.sort_unstable();
        now.dedup();
        let place = usize::from(table);
        let before = self.of.get(place).cloned().unwrap_or_default();
        if *before == now {
            return;
        }
        if self.lists.is_empty() {
            self.lists.resize(LISTS, Arc::default());
        }
        for gone in before.iter().filter(|of| !now.contains(of)) {
            self.list(*gone)
                .retain(|(of, other)| of != gone || *other != table);
        }
        for new in now.iter().filter(|of| !before.contains(of)) {
            self.list(*new).push((*new, table));
        }
        if self.of.len() <= place {
            self.of.resize(place + 1, Arc::default());
        }
        *self.of.get_mut(place).expect("it is there now") = Arc::new(now);
    }

    fn list(&mut self, hash: u32) -> &mut Vec<(u32, u16)> {
        let list = self.lists.get_mut(hash as usize % LISTS);
        Arc::make_mut(list.expect("there are all lists"))
    }
}

fn hash_of(name: &str) -> u32 {
    let hash = Fnv1a::of(name.as_bytes());
    hash as u32 ^ (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{SchemaBuilder, Type};

    fn schema(indexes: &[&str]) -> Schema {
        let schema = Schema::new().column("a", Type::U64).primary_key(["a"]);
        let with = |schema: SchemaBuilder, name: &&str| schema.index(name, ["a"]);
        indexes.iter().fold(schema, with).build().expect("a schema")
    }

    #[test]
    fn tables_are_found_by_their_present_indexes() {
        let mut names = IndexNames::default();
        names.set(3, Some(&schema(&["x", "y"])));
        names.set(1, Some(&schema(&["x"])));
        let before = names.clone();
        assert_eq!(names.tables("x"), [1, 3]);
        assert_eq!(names.tables("y"), [3]);
        names.set(3, Some(&schema(&["z"])));
        names.set(1, None);
        assert_eq!(names.tables("x"), []);
        assert_eq!(names.tables("y"), []);
        assert_eq!(names.tables("z"), [3]);
        assert_eq!(before.tables("x"), [1, 3], "a copy keeps its own");
    }
}
