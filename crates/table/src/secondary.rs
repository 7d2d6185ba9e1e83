//! The ordered indexes of a table: its secondary indexes, and the index of a primary key that is ordered.
//!
//! All of them are trees ([`crate::ordered`]). A secondary one that is declared as a hash is a tree, too: it answers the
//! same questions, and more. A tree costs about 20 bytes of memory for a row where a hash costs 11 to 21. In a table much
//! larger than the processor's caches, a point read by it reads three or four nodes. It takes two to three times as
//! long as by the hash of a primary key. Keys of several rows, which most secondary indexes have, need no chains in
//! it, and a change of one is undone as all others. A table that has none costs one look at an empty list.
//!
//! Invariant: an index has an entry for every existing row, made of the row's key, at every moment at which its rows are
//! compared or nodes are made of their keys. So an entry is removed before its row's key changes, and inserted after.

use crate::index_store::IndexStore;
use crate::ordered::{
    Ask, Cursor, ENTRY_BYTES_MAX, INSERT_BYTES_MAX, Keys, Place, Sought, Tree, Vacant,
};
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, Edge, KeyBytes, KeyShape};
use sardonyx_rows::schema::{IndexDefinition, Schema};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::cmp::Ordering;
use std::convert::Infallible;
use std::sync::Arc;

/// An index of a table.
#[derive(Clone, Debug)]
pub(crate) struct Secondary {
    pub what: Arc<What>,
    pub tree: Tree,
}

/// A key that no row of a unique index has, and its place there until the index changes.
pub(crate) struct VacantKey {
    key: KeyBytes,
    place: Vacant,
}

/// The definition of an index.
#[derive(Debug, PartialEq)]
pub(crate) struct What {
    pub definition: IndexDefinition,
    pub shape: KeyShape,
}

/// The indexes that a table with this schema has as trees; `is_hashed` if its primary key is found by a hash.
pub(crate) fn wanted(schema: &Schema, is_hashed: bool) -> Vec<What> {
    use sardonyx_rows::schema::IndexKind::Ordered;
    let primary = Some(&schema.primary);
    let primary = primary.filter(|index| index.kind == Ordered || !is_hashed);
    primary
        .into_iter()
        .chain(&schema.indexes)
        .map(|definition| What {
            definition: definition.clone(),
            shape: KeyShape::new(schema, definition),
        })
        .collect()
}

/// The keys of an index's rows.
pub(crate) struct RowKeys<'a, P: ?Sized> {
    pub shape: &'a KeyShape,
    pub rows: &'a P,
}

impl What {
    /// True if this is the same index with another name, so that the tree of one is that of the other.
    pub fn renames(&self, other: &What) -> bool {
        let name = self.definition.name.clone();
        let other_definition = IndexDefinition {
            name,
            ..other.definition.clone()
        };
        self.definition == other_definition && self.shape == other.shape
    }
}

impl<P> Keys for RowKeys<'_, P>
where
    P: PageRead + ?Sized,
    TableError: From<P::Error>,
{
    #[inline]
    fn is_exact(&self) -> bool {
        self.shape.is_exact()
    }

    fn of_row(&self, row: Address, key: &mut KeyBytes) {
        // Opening found that the rows' values are sound. After reading a snapshot one looks whether it was ended.
        let _ = self.shape.of_row(self.rows, row, key);
    }

    #[inline]
    fn shares(&self, row: Address, beginning: &[u8]) -> bool {
        (self.shape.shares(self.rows, row, beginning)).unwrap_or(true)
    }

    #[inline]
    fn compare(&self, row: Address, key: &[u8], known: usize) -> Ordering {
        match self.shape.is_exact() {
            true => Ordering::Equal,
            false => {
                (self.shape.compare_behind(self.rows, row, key, known)).unwrap_or(Ordering::Equal)
            }
        }
    }
}

impl Secondary {
    /// An index without entries.
    pub fn new(what: What) -> Self {
        Secondary {
            what: Arc::new(what),
            tree: Tree::default(),
        }
    }

    #[inline]
    fn shape(&self) -> &KeyShape {
        &self.what.shape
    }

    /// Inserts an entry for an existing row.
    ///
    /// # Errors
    /// [`TableError::DuplicateValue`] if the index is unique and there is a row with its key, [`TableError::KeyTooLong`],
    /// [`TableError::Store`] if there is no memory. Nothing has changed then.
    pub fn insert<P>(
        &mut self,
        store: &mut IndexStore,
        rows: &P,
        row: Address,
        table: &dyn Fn() -> String,
    ) -> Result<(), TableError>
    where
        P: PageRead + ?Sized,
        TableError: From<P::Error> + From<Infallible>,
    {
        if let (true, Some(key)) = (
            self.what.definition.unique,
            self.shape().word_of_row(rows, row)?,
        ) && self.tree.append_exact(store, key, row)
        {
            return Ok(());
        }
        let mut key = KeyBytes::default();
        let has_null = self.shape().of_row(rows, row, &mut key)?;
        if let Err(bad) = self.shape().check_length(&key) {
            return Err(self.bad_key(bad, &table(), None));
        }
        let (what, shape) = (&*self.what, &self.what.shape);
        let keys = RowKeys { shape, rows };
        if what.definition.unique && !has_null {
            // One way down finds both the place and a row that has the key.
            return match self.tree.insert_unique(store, &keys, &key, row)? {
                None => Ok(()),
                Some(there) => Err(self.duplicate(&table(), rows, there)),
            };
        }
        Ok(self.tree.insert(store, &keys, &key, row)?)
    }

    /// The place of a key that no row has, in a unique index.
    ///
    /// # Errors
    /// The row that has the key.
    pub fn vacant(
        &self,
        store: &IndexStore,
        rows: &[u8],
        key: KeyBytes,
    ) -> Result<VacantKey, Address> {
        let shape = self.shape();
        let place = self
            .tree
            .vacant(store.bytes(), &RowKeys { shape, rows }, &key)?;
        Ok(VacantKey { key, place })
    }

    /// Inserts an entry for an existing row with a key whose place was found before. The index has not changed since.
    ///
    /// # Errors
    /// [`TableError::Store`] if there is no memory. Nothing has changed then.
    pub fn insert_vacant(
        &mut self,
        store: &mut IndexStore,
        rows: &[u8],
        vacant: &VacantKey,
        row: Address,
    ) -> Result<(), TableError> {
        let shape = &self.what.shape;
        let keys = RowKeys { shape, rows };
        let VacantKey { key, place } = vacant;
        Ok(self.tree.insert_vacant(store, &keys, place, key, row)?)
    }

    /// Removes the entry of an existing row.
    pub fn remove(
        &mut self,
        store: &mut IndexStore,
        rows: &[u8],
        row: Address,
    ) -> Result<(), TableError> {
        let removed = self.take_out(store, rows, row)?;
        debug_assert!(removed, "every row is indexed");
        Ok(())
    }

    /// Removes the entry of a row. Returns false if there is none.
    pub fn take_out<P>(
        &mut self,
        store: &mut IndexStore,
        rows: &P,
        row: Address,
    ) -> Result<bool, TableError>
    where
        P: PageRead + ?Sized,
        TableError: From<P::Error>,
    {
        let mut key = KeyBytes::default();
        self.shape().of_row(rows, row, &mut key)?;
        let shape = &self.what.shape;
        let keys = RowKeys { shape, rows };
        Ok(self.tree.remove(store, &keys, &key, row))
    }

    /// A row with this whole key.
    #[inline]
    pub fn find<N, P>(&self, nodes: &N, rows: &P, key: &[u8]) -> Result<Option<Address>, TableError>
    where
        N: PageRead + ?Sized,
        P: PageRead + ?Sized,
        TableError: From<N::Error> + From<P::Error>,
    {
        let edge = Edge {
            bytes: key,
            behind: false,
        };
        let sought = self.sought(rows, edge);
        let Some(found) = self.tree.first_from(nodes, sought, key.len())? else {
            return Ok(None);
        };
        let is_it = self.shape().is_exact() || self.shape().shares(rows, found, key)?;
        Ok(is_it.then_some(found))
    }

    /// The place of an edge between keys.
    #[inline]
    pub fn place<N, P>(&self, nodes: &N, rows: &P, edge: Edge<'_>) -> Result<Place, TableError>
    where
        N: PageRead + ?Sized,
        P: PageRead + ?Sized,
        TableError: From<N::Error> + From<P::Error>,
    {
        self.tree.seek(nodes, self.sought(rows, edge))
    }

    /// One of the rows between two edges, all alike likely by the numbers that `below` draws; see [`Tree::draw`].
    pub fn draw<N, P>(
        &self,
        nodes: &N,
        rows: &P,
        (from, to): (Edge<'_>, Edge<'_>),
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<Address>, TableError>
    where
        N: PageRead + ?Sized,
        P: PageRead + ?Sized,
        TableError: From<N::Error> + From<P::Error>,
    {
        let (from, to) = (self.sought(rows, from), self.sought(rows, to));
        self.tree.draw(nodes, from, to, below)
    }

    /// An edge between keys as the tree seeks it.
    #[inline]
    fn sought<'k, P: PageRead + ?Sized>(
        &'k self,
        rows: &'k P,
        edge: Edge<'k>,
    ) -> Sought<'k, impl FnMut(Address, Ask) -> Result<bool, TableError> + use<'k, P>>
    where
        TableError: From<P::Error>,
    {
        let shape = self.shape();
        match shape.is_exact() {
            true => Sought::Exact {
                key: edge.prefix(),
                behind: edge.behind,
            },
            false => Sought::ByRow {
                edge,
                ask: move |row, ask| match ask {
                    Ask::Shares(bytes) => shape.shares(rows, row, &edge.bytes[..bytes]),
                    Ask::Before(known) => shape.is_before(rows, row, edge, known),
                },
            },
        }
    }

    /// The first row with the key of which an entry has these bytes and no more: where keys are
    /// [exact](KeyShape::is_exact).
    #[inline]
    pub fn find_exact<N: PageRead + ?Sized>(
        &self,
        nodes: &N,
        key: u64,
    ) -> Result<Option<Address>, N::Error> {
        let is_unique = self.what.definition.unique;
        self.tree.find_exact(nodes, key, is_unique)
    }

    /// The same of several keys, at most [`AT_ONCE`](crate::ordered::AT_ONCE).
    #[inline]
    pub fn find_exact_many<N: PageRead + ?Sized>(
        &self,
        nodes: &N,
        keys: &[u64],
        found: &mut [Option<Address>],
    ) -> Result<(), N::Error> {
        let is_unique = self.what.definition.unique;
        self.tree.find_exact_many(nodes, keys, is_unique, found)
    }

    /// A walk between two edges; without an edge to the end.
    #[inline]
    pub fn walk<N, P>(
        &self,
        nodes: &N,
        rows: &P,
        from: Option<Edge<'_>>,
        to: Option<Edge<'_>>,
    ) -> Result<(Place, Place), TableError>
    where
        N: PageRead + ?Sized,
        P: PageRead + ?Sized,
        TableError: From<N::Error> + From<P::Error>,
    {
        if let (Some(from), Some(to)) = (from, to) {
            // Before and behind the same bytes, or the edges in the wrong order.
            let is_empty = match from.bytes == to.bytes {
                true => from.behind || !to.behind,
                false => !from.is_before(to),
            };
            if is_empty {
                return Ok((Place::END, Place::END));
            }
        }
        let start = match from {
            Some(edge) => self.place(nodes, rows, edge)?,
            None => self.tree.start(nodes)?,
        };
        let end = match to {
            Some(edge) => {
                let near = self.tree.seek_near(nodes, start, self.sought(rows, edge))?;
                near.map_or_else(|| self.place(nodes, rows, edge), Ok)?
            }
            None => Place::END,
        };
        Ok((start, end))
    }

    /// A cursor between two places.
    #[inline]
    pub fn cursor(&self, (from, to): (Place, Place)) -> Cursor {
        Cursor::new(self.tree, from, to)
    }

    /// The error of another row that has the key of an existing one.
    #[cold]
    pub fn duplicate<P: PageRead + ?Sized>(
        &self,
        table: &str,
        rows: &P,
        there: Address,
    ) -> TableError
    where
        TableError: From<P::Error>,
    {
        TableError::DuplicateValue {
            table: table.to_string(),
            index: self.what.definition.name.clone(),
            key: self.shape().describe(rows, there),
            values: self.shape().values_of_row(rows, there).into(),
        }
    }

    /// Turns the fault of a key into an error with all names.
    #[cold]
    pub fn bad_key(&self, bad: BadKey, table: &str, schema: Option<&Schema>) -> TableError {
        let columns = self.shape().width();
        bad.into_error(table, &self.what.definition.name, columns, schema)
    }
}

/// Sees to it that the index store has room for so many changes of indexes, and for undoing them.
pub(crate) fn ensure_room(store: &mut IndexStore, changes: usize) -> Result<(), TableError> {
    Ok(store.ensure_room(changes * ENTRY_BYTES_MAX + INSERT_BYTES_MAX)?)
}
