//! The entries of an ordered index, whose nodes and rows are live or of a snapshot.
//!
//! A walk asks the processor for rows ahead: for as many bytes as the form reads in which they are returned. Keys that an
//! entry has whole are found by a word, without a look at a row.

use crate::ordered::{Cursor, Place};
use crate::row::Row;
use crate::secondary::Secondary;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::key::{Edge, KeyValues};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{
    Found, IndexEntries, Indexed, Plain, RowForm, RowRef, TableError, TokenEntries,
};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;

/// The entries of an ordered index in main memory, with the parts that reading needs.
pub struct TreeEntries<'a, P: ?Sized = [u8]> {
    pub(crate) nodes: &'a P,
    pub(crate) rows: &'a P,
    pub(crate) index: &'a Secondary,
    pub(crate) schema: &'a Schema,
    pub(crate) table: &'a str,
    pub(crate) origin: Origin,
}

/// The table and the time of an index, for the tokens of its rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub table: u16,
    pub epoch: u64,
}

impl<P: ?Sized> Clone for TreeEntries<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for TreeEntries<'_, P> {}

impl<'a, P: PageRead + ?Sized> TreeEntries<'a, P>
where
    TableError: From<P::Error>,
{
    #[inline(always)]
    pub(super) fn found(&self, at: Address) -> Found<'a, P> {
        Found {
            pages: self.rows,
            schema: self.schema,
            table: self.table,
            at,
        }
    }

    /// The place of the first row with this key.
    #[inline]
    pub(super) fn place_of(
        &self,
        values: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Address>, Error> {
        if let Some(key) = self.index.what.shape.word_of(values) {
            let found = self.index.find_exact(self.nodes, key);
            return Ok(found.map_err(TableError::from)?);
        }
        self.place_of_bytes(values)
    }

    fn place_of_bytes(&self, values: &(impl KeyValues + ?Sized)) -> Result<Option<Address>, Error> {
        let key = self.indexed().key(values, false)?;
        Ok(self.index.find(self.nodes, self.rows, &key.bytes)?)
    }

    /// The places of two edges.
    #[inline]
    fn places(
        &self,
        from: Option<Edge<'_>>,
        to: Option<Edge<'_>>,
    ) -> Result<(Place, Place), TableError> {
        self.index.walk(self.nodes, self.rows, from, to)
    }
}

impl<'a, P: PageRead + ?Sized> IndexEntries for TreeEntries<'a, P>
where
    TableError: From<P::Error>,
{
    type Row = RowRef<'a, P>;
    type Found = Found<'a, P>;
    type Cursor = Cursor;

    #[inline]
    fn indexed(&self) -> Indexed<'_> {
        let what = &*self.index.what;
        Indexed {
            shape: &what.shape,
            index: &what.definition.name,
            table: self.table,
            schema: self.schema,
        }
    }

    // Always: the walk is large, and is made where it stays.
    #[inline(always)]
    fn between(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<Cursor, Error> {
        Ok(self.index.cursor(self.places(from, to)?))
    }

    #[inline(always)]
    fn next<T: RowForm<Found<'a, P>>>(
        &self,
        cursor: &mut Cursor,
    ) -> Result<Option<Found<'a, P>>, Error> {
        let rows = self.rows;
        let found = cursor.next(self.nodes, |at| ask(rows, at, T::BYTES));
        let found = found.map_err(TableError::from)?;
        Ok(found.map(|at| self.found(at)))
    }

    #[inline(always)]
    fn next_back<T: RowForm<Found<'a, P>>>(
        &self,
        cursor: &mut Cursor,
    ) -> Result<Option<Found<'a, P>>, Error> {
        let rows = self.rows;
        let found = cursor.next_back(self.nodes, |at| ask(rows, at, T::BYTES));
        let found = found.map_err(TableError::from)?;
        Ok(found.map(|at| self.found(at)))
    }

    fn finish(&self, cursor: &mut Cursor) {
        cursor.finish();
    }

    #[inline]
    fn count(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<u64, Error> {
        let (from, to) = self.places(from, to)?;
        let count = self.index.tree.count(self.nodes, from, to);
        Ok(count.map_err(TableError::from)?)
    }

    /// Without a walk.
    #[inline]
    fn find(&self, key: &(impl KeyValues + ?Sized)) -> Result<Option<Found<'a, P>>, Error> {
        Ok(self.place_of(key)?.map(|at| self.found(at)))
    }

    fn find_many<I, T>(self, keys: I) -> impl Iterator<Item = Result<Option<Found<'a, P>>, Error>>
    where
        I: IntoIterator<Item: KeyValues>,
        T: RowForm<Found<'a, P>>,
    {
        let places = self.places_of_many(keys, move |at| ask(self.rows, at, T::BYTES));
        places.map(move |found| Ok(found?.map(|at| self.found(at))))
    }

    fn draw(
        &self,
        from: Edge<'_>,
        to: Edge<'_>,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<Found<'a, P>>, Error> {
        let found = self.index.draw(self.nodes, self.rows, (from, to), below)?;
        Ok(found.map(|at| self.found(at)))
    }
}

impl<'a> TokenEntries for TreeEntries<'a> {
    type Token<R: Plain> = Row<R>;

    #[inline]
    fn token<R: Plain>(&self, found: Found<'a>) -> Row<R> {
        self.row_at(found.at)
    }

    #[inline]
    fn next_token<R: Plain>(&self, cursor: &mut Cursor) -> Option<Row<R>> {
        let rows = self.rows;
        let Ok(next) = cursor.next(self.nodes, |at| ask(rows, at, size_of::<R>()));
        Some(self.row_at(next?))
    }
}

impl TreeEntries<'_> {
    fn row_at<R: Plain>(&self, at: Address) -> Row<R> {
        let key = &self.rows[at.0 as usize + R::KEY_OFFSET..][..size_of::<R::Key>()];
        let key = R::Key::read_from_bytes(key).expect("the bytes of a key");
        Row::new(at, self.origin.table, self.origin.epoch, key)
    }
}

impl<P: ?Sized> fmt::Debug for TreeEntries<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeEntries of {:?}", self.index.what.definition)
    }
}

/// Bytes that come from memory at once.
const CACHE_LINE: usize = 64;

/// Bytes of a record that are prefetched: the processor fetches the following ones by itself.
const ASKED_BYTES_MAX: usize = 256;

/// Asks the processor for the cache lines of so many bytes of a row.
#[inline(always)]
fn ask(rows: &(impl PageRead + ?Sized), at: Address, bytes: usize) {
    let bytes = bytes.clamp(1, ASKED_BYTES_MAX) as u64;
    let step = (0..bytes).step_by(CACHE_LINE);
    // The record's last byte may be in one line more.
    for offset in step.chain([bytes - 1]) {
        rows.prefetch(Address(at.0 + offset));
    }
}
