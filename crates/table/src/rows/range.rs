//! Rows by their columns in the order of an index, from both ends: live, or of a snapshot.

use super::RowRef;
use crate::error::TableError;
use crate::index_view::Reader;
use crate::ordered::{Cursor, Place};
use sardonyx_base::error::Error;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;

/// Rows of a table in the order of an index, from both ends. An error is told once: it is the end.
pub struct RowRange<'a, P: PageRead + ?Sized = [u8]> {
    reader: Reader<'a, P>,
    cursor: Cursor,
}

impl<'a, P: PageRead + ?Sized> RowRange<'a, P>
where
    TableError: From<P::Error>,
{
    pub(crate) fn new(reader: Reader<'a, P>, places: (Place, Place)) -> Self {
        RowRange {
            cursor: reader.index.cursor(places),
            reader,
        }
    }

    /// The row of what the cursor found.
    fn give(
        &mut self,
        found: Result<Option<Address>, P::Error>,
    ) -> Option<Result<RowRef<'a, P>, Error>> {
        let Reader {
            rows,
            schema,
            table,
            ..
        } = self.reader;
        let row = found.map_err(TableError::from).transpose()?;
        let row = row.and_then(|at| RowRef::new(rows, schema, table, at));
        Some(row.map_err(|error| {
            self.cursor.finish();
            error.into()
        }))
    }
}

impl<'a, P: PageRead + ?Sized> Iterator for RowRange<'a, P>
where
    TableError: From<P::Error>,
{
    type Item = Result<RowRef<'a, P>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.reader.rows;
        let found = self.cursor.next(self.reader.nodes, |at| rows.prefetch(at));
        self.give(found)
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for RowRange<'_, P>
where
    TableError: From<P::Error>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        let rows = self.reader.rows;
        let nodes = self.reader.nodes;
        let found = self.cursor.next_back(nodes, |at| rows.prefetch(at));
        self.give(found)
    }
}

impl<P: PageRead + ?Sized> fmt::Debug for RowRange<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowRange of table {:?}", self.reader.table)
    }
}
