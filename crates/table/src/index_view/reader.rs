//! Looking into an ordered index, whose nodes and rows are live or of a snapshot.

use crate::ordered::Place;
use crate::secondary::Secondary;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, Edge, KeyValues, SearchKey};
use sardonyx_rows::schema::Schema;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::ops::{Bound, RangeBounds};

/// An index with the parts that reading it needs.
pub(crate) struct Reader<'a, P: ?Sized> {
    pub nodes: &'a P,
    pub rows: &'a P,
    pub index: &'a Secondary,
    pub schema: &'a Schema,
    pub table: &'a str,
}

impl<P: ?Sized> Clone for Reader<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Reader<'_, P> {}

impl<P: PageRead + ?Sized> Reader<'_, P>
where
    TableError: From<P::Error>,
{
    #[cold]
    fn bad_key(&self, bad: BadKey) -> Error {
        (self.index.bad_key(bad, self.table, Some(self.schema))).into()
    }

    #[inline]
    fn key(&self, values: &(impl KeyValues + ?Sized)) -> Result<SearchKey, Error> {
        let key = self.index.what.shape.of_values(values);
        key.map_err(|bad| self.bad_key(bad))
    }

    /// The first row with this key.
    #[inline]
    pub fn find(&self, values: &(impl KeyValues + ?Sized)) -> Result<Option<Address>, Error> {
        if let Some(key) = self.index.what.shape.word_of(values) {
            let found = self.index.find_exact(self.nodes, key);
            return Ok(found.map_err(TableError::from)?);
        }
        self.find_by_bytes(values)
    }

    fn find_by_bytes(&self, values: &(impl KeyValues + ?Sized)) -> Result<Option<Address>, Error> {
        let key = self.key(values)?;
        Ok(self.index.find(self.nodes, self.rows, &key.bytes)?)
    }

    /// The places around a range of keys. One that ends before it begins has none, or is refused.
    #[inline]
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
        refuses_reversed: bool,
    ) -> Result<(Place, Place), Error> {
        let key = |bound: Bound<&K>| match bound {
            Bound::Unbounded => Ok(None),
            Bound::Included(values) => Ok(Some((self.key(values)?, true))),
            Bound::Excluded(values) => Ok::<_, Error>(Some((self.key(values)?, false))),
        };
        let (start, end) = (key(range.start_bound())?, key(range.end_bound())?);
        let from = start.as_ref().map(|(key, included)| (key, !included));
        let to = end.as_ref().map(|(key, included)| (key, *included));
        if refuses_reversed
            && let (Some(from), Some(to)) = (from, to)
            && edge(from).is_reversed(edge(to))
        {
            return Err(self.reversed());
        }
        self.between(from, to)
    }

    /// The places around the keys that begin with these values.
    pub fn prefix(&self, values: &(impl KeyValues + ?Sized)) -> Result<(Place, Place), Error> {
        let key = self.key(values)?;
        self.between(Some((&key, false)), Some((&key, true)))
    }

    /// One of the rows whose keys begin with these values, if one is found in a bounded time.
    pub fn draw(
        &self,
        values: &(impl KeyValues + ?Sized),
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<Address>, Error> {
        let key = self.key(values)?;
        let edges = (edge((&key, false)), edge((&key, true)));
        Ok(self.index.draw(self.nodes, self.rows, edges, below)?)
    }

    /// The same, where the last value, a text or bytes, may go on.
    pub fn starts_with(&self, values: &(impl KeyValues + ?Sized)) -> Result<(Place, Place), Error> {
        let key = self.index.what.shape.of_beginning(values);
        let key = key.map_err(|bad| self.bad_key(bad))?;
        self.between(Some((&key, false)), Some((&key, true)))
    }

    /// The places around all keys.
    #[inline]
    pub fn all(&self) -> Result<(Place, Place), Error> {
        let start = self
            .index
            .tree
            .start(self.nodes)
            .map_err(TableError::from)?;
        Ok((start, Place::END))
    }

    /// Rows between two places.
    #[inline]
    pub fn count(&self, (from, to): (Place, Place)) -> Result<u64, Error> {
        let count = self.index.tree.count(self.nodes, from, to);
        Ok(count.map_err(TableError::from)?)
    }

    /// The places of two edges: before a key, or behind it.
    #[inline]
    fn between(
        &self,
        from: Option<(&SearchKey, bool)>,
        to: Option<(&SearchKey, bool)>,
    ) -> Result<(Place, Place), Error> {
        let (from, to) = (from.map(edge), to.map(edge));
        Ok(self.index.walk(self.nodes, self.rows, from, to)?)
    }

    #[cold]
    fn reversed(&self) -> Error {
        TableError::ReversedRange {
            table: self.table.to_string(),
            index: self.index.what.definition.name.clone(),
        }
        .into()
    }
}

/// Before a key, or behind it.
#[inline]
fn edge((key, behind): (&SearchKey, bool)) -> Edge<'_> {
    Edge {
        bytes: &key.bytes,
        behind,
    }
}
