//! Comparison of tables that follow a log with those that an opening makes of their pages: for tests.

use super::FollowedSpace;
use crate::index_builds::build_ordered_of;
use crate::index_store::IndexStore;
use crate::rebuild::rebuild;
use crate::secondary::Secondary;
use crate::table::TableState;
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::PageStore;

impl FollowedSpace {
    /// The rows of all tables.
    #[doc(hidden)]
    pub fn rows(&self) -> u64 {
        self.space
            .tables
            .iter()
            .flatten()
            .map(TableState::len)
            .sum()
    }

    /// Compares catalogue, tables and indexes with those that are made of the pages anew.
    ///
    /// # Panics
    /// If something differs.
    #[doc(hidden)]
    pub fn check(&self) {
        let space = &self.space;
        let bytes = space.store.bytes();
        let mut copy = PageStore::reserve(bytes.len() as u64).expect("address space");
        copy.grow_to(space.store.pages()).expect("as many");
        copy.bytes_mut().copy_from_slice(bytes);
        let catalogue = Catalogue::read(&mut copy).expect("a catalogue");
        assert_eq!(catalogue, space.catalogue);
        let rows_max = space.store.pages_max().saturating_mul(PAGE_SIZE as u64);
        let rebuilt = rebuild(bytes, &catalogue, rows_max, 1, space.hash, None);
        let rebuilt = rebuilt.expect("sound pages");
        let (tables, mut indexes) = (rebuilt.tables, rebuilt.indexes);
        assert_eq!(tables.len(), space.tables.len());
        for ((state, expected), definition) in
            space.tables.iter().zip(tables).zip(&catalogue.definitions)
        {
            let (Some(state), Some(mut expected)) = (state, expected) else {
                assert!(state.is_none(), "{} is no table", definition.name);
                continue;
            };
            build_ordered_of(bytes, definition, &mut expected, &mut indexes, 1).expect("indexes");
            self.check_table(state, &expected, &indexes);
        }
    }

    fn check_table(&self, state: &TableState, expected: &TableState, indexes: &IndexStore) {
        let (space, bytes) = (&self.space, self.space.store.bytes());
        let name = &state.name;
        assert_eq!(*name, expected.name);
        assert_eq!(state.schema, expected.schema, "{name}");
        assert_eq!(state.extents, expected.extents, "{name}");
        assert_eq!(state.fresh, expected.fresh, "{name}");
        assert_eq!(state.fingerprint, expected.fingerprint, "{name}");
        assert_eq!(state.values.is_used(), expected.values.is_used(), "{name}");
        assert_eq!(
            (state.life, state.is_hashed, state.len()),
            (expected.life, expected.is_hashed, expected.len()),
            "{name}"
        );
        let rows: Vec<Address> = state.records(bytes).collect();
        for row in rows.iter().filter(|_| state.is_hashed) {
            let is_it = |there| state.key().is_same(bytes, there, *row);
            let hash = state.hash_at(bytes, *row);
            let found = state.index.find(&space.indexes, hash, is_it);
            assert_eq!(found, Some(*row), "{name}");
        }
        assert_eq!(state.secondary.len(), expected.secondary.len(), "{name}");
        for (index, expected) in state.secondary.iter().zip(&expected.secondary) {
            assert_eq!(index.what, expected.what, "{name}");
            let found = in_order(index, &space.indexes, bytes);
            assert_eq!(found, in_order(expected, indexes, bytes), "{name}");
            assert_eq!(found.len(), rows.len(), "{name}");
        }
    }
}

fn in_order(index: &Secondary, indexes: &IndexStore, rows: &[u8]) -> Vec<Address> {
    let nodes = indexes.bytes();
    let walk = index.walk(nodes, rows, None, None).expect("live pages");
    let mut cursor = index.cursor(walk);
    let mut found = Vec::new();
    while let Ok(Some(row)) = cursor.next(nodes, |_| ()) {
        found.push(row);
    }
    found
}
