//! Reading rows, wherever they are kept: in main memory, in a snapshot.
//!
//! - [`ReadRows`]: a state of tables, which a store of rows implements, with its indexes ([`Index`]);
//! - [`ReadRow`]: a row of it.
//!
//! The row types are associated, so that code over these traits is compiled for each store by itself.

use crate::catalogue::Relations;
use crate::error::TableError;
use crate::index::{Index, IndexEntries};
use crate::key::KeyValues;
use crate::row::RowRef;
use crate::schema::{Schema, Value, ValueRef};
use sardonyx_base::error::Error;
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::ops::Range;
use std::sync::Arc;

/// A state of tables, to read. Tables are named by their numbers in the catalogue.
pub trait ReadRows {
    /// A row of a table.
    type Row<'r>: ReadRow
    where
        Self: 'r;
    /// All rows of a table.
    type Scan<'r>: ScanRows<Row = Self::Row<'r>>
    where
        Self: 'r;
    /// The entries of an ordered index of a table.
    type Entries<'r>: IndexEntries<Row = Self::Row<'r>>
    where
        Self: 'r;

    /// The tables, journals and areas.
    fn definitions(&self) -> &Definitions;

    /// The name of a table, for errors.
    #[doc(hidden)]
    #[cold]
    fn name_of(&self, table: u16) -> String {
        let definition = self.definitions().get(usize::from(table));
        definition.map_or_else(|| format!("number {table}"), |there| there.name.clone())
    }

    /// The references between the tables, and the names of their indexes.
    fn relations(&self) -> &Relations;

    /// The tables that refer to one, in the order of their numbers.
    #[inline]
    fn referring(&self, table: u16) -> Vec<u16> {
        self.relations().referring(table).to_vec()
    }

    /// The tables that may have an index of a name, in the order of their numbers.
    #[inline]
    fn indexed(&self, name: &str) -> Vec<u16> {
        self.relations().indexed(name)
    }

    /// The schema of a table; `None` if there is no such table.
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>>;

    /// The number of rows of a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    fn count_rows(&self, table: u16) -> Result<u64, Error>;

    /// Returns true if the number of a table's rows is known without reading them.
    fn knows_counts(&self) -> bool {
        true
    }

    /// About how many rows a table has, where that is known without looking at them: to ask for it is no read of the state,
    /// on which the outcome of a transaction may hang.
    fn rows_about(&self, _table: u16) -> Option<u64> {
        None
    }

    /// About how many bytes the rows of a table take, under the same conditions.
    fn bytes_about(&self, _table: u16) -> Option<u64> {
        None
    }

    /// True if reads are noted, and compared with the changes of others later: to read a whole table then conflicts with
    /// each change of it.
    fn notes_reads(&self) -> bool {
        false
    }

    /// The row with this key: the values of the primary key's columns, in its order.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or these are no values of the key's columns; [`Error::Limit`] if
    /// the snapshot was ended; [`Error::Damaged`].
    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<Self::Row<'_>>, Error>;

    /// The same of a key of values that are borrowed, such as bytes.
    ///
    /// # Errors
    /// As [`ReadRows::get_row`].
    fn row_by_key(
        &self,
        table: u16,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Self::Row<'_>>, Error> {
        let mut values = Vec::new();
        key.each(&mut |value| values.push(value.to_value()));
        self.get_row(table, &values)
    }

    /// All rows, in no particular order, from a place on to which another scan of the same state had come. Places other
    /// than the first one are a snapshot's.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<Self::Scan<'_>, Error>;

    /// An ordered index of a table: one of its schema's, or that of its primary key, `primary`, if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or no such index.
    fn row_index(&self, table: u16, name: &str) -> Result<Index<Self::Entries<'_>>, Error>;

    /// Calls a function whose reads need not hold at the commit, in a store that compares reads then.
    fn unnoted(&self, act: &mut dyn FnMut()) {
        act();
    }
}

impl<S: ReadRows + ?Sized> ReadRows for &mut S {
    type Row<'r>
        = S::Row<'r>
    where
        Self: 'r;
    type Scan<'r>
        = S::Scan<'r>
    where
        Self: 'r;
    type Entries<'r>
        = S::Entries<'r>
    where
        Self: 'r;

    #[inline]
    fn definitions(&self) -> &Definitions {
        (**self).definitions()
    }

    #[inline]
    fn relations(&self) -> &Relations {
        (**self).relations()
    }

    #[inline]
    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        (**self).row_schema(table)
    }

    #[inline]
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        (**self).count_rows(table)
    }

    #[inline]
    fn knows_counts(&self) -> bool {
        (**self).knows_counts()
    }

    #[inline]
    fn rows_about(&self, table: u16) -> Option<u64> {
        (**self).rows_about(table)
    }

    #[inline]
    fn bytes_about(&self, table: u16) -> Option<u64> {
        (**self).bytes_about(table)
    }

    #[inline]
    fn notes_reads(&self) -> bool {
        (**self).notes_reads()
    }

    #[inline]
    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<Self::Row<'_>>, Error> {
        (**self).get_row(table, key)
    }

    #[inline]
    fn row_by_key(
        &self,
        table: u16,
        key: &(impl KeyValues + ?Sized),
    ) -> Result<Option<Self::Row<'_>>, Error> {
        (**self).row_by_key(table, key)
    }

    #[inline]
    fn scan_rows(&self, table: u16, from: ScanPlace) -> Result<Self::Scan<'_>, Error> {
        (**self).scan_rows(table, from)
    }

    #[inline]
    fn row_index(&self, table: u16, name: &str) -> Result<Index<Self::Entries<'_>>, Error> {
        (**self).row_index(table, name)
    }

    #[inline]
    fn unnoted(&self, act: &mut dyn FnMut()) {
        (**self).unnoted(act);
    }
}

/// A row, to read column by column.
pub trait ReadRow {
    /// The value of the column with this number; null if there is no such column, or it was dropped.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`]; [`TableError::SnapshotEnded`] of a snapshot.
    fn value_at(&self, column: usize) -> Result<ValueRef<'_>, TableError>;

    /// The bytes of a column where they stand: a value of a fixed width as a row has it, or a whole text or bytes. `None` if
    /// it is null, or not borrowed in one piece; then use [`ReadRow::value_at`].
    #[inline]
    fn bytes_at(&self, _column: usize) -> Option<&[u8]> {
        None
    }

    /// The number of bytes of a text or bytes, which is not put together for it; 0 of other values.
    ///
    /// # Errors
    /// As [`ReadRow::value_at`].
    fn length_at(&self, column: usize) -> Result<usize, TableError> {
        Ok(bytes_of(self.value_at(column)?).len())
    }

    /// Appends the bytes of a range of a text or bytes, as far as it has them. Other parts are not copied.
    ///
    /// # Errors
    /// As [`ReadRow::value_at`].
    fn part_at(
        &self,
        column: usize,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), TableError> {
        out.extend_from_slice(part_of(self.value_at(column)?, range));
        Ok(())
    }

    /// Its fixed part, in which columns have their places ([`Placed`](crate::Placed)). `None` if the row is older than a
    /// column, or its store does not lend it.
    #[inline]
    fn newest_fixed(&self) -> Option<&[u8]> {
        None
    }

    /// The value of the column with this name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such column; [`Error::Damaged`]; of a snapshot, that it was ended.
    fn value_of(&self, column: &str) -> Result<ValueRef<'_>, Error>;

    /// Its place in its store, valid until the transaction that found it changes the store; `None` if rows have no
    /// place by which they can be changed.
    fn address(&self) -> Option<Address> {
        None
    }
}

/// The bytes of a text or bytes; of another value, none.
fn bytes_of(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(text) => text.as_bytes(),
        ValueRef::Bytes(bytes) => bytes,
        _ => &[],
    }
}

fn part_of(value: ValueRef<'_>, range: Range<usize>) -> &[u8] {
    let bytes = bytes_of(value);
    let end = range.end.min(bytes.len());
    &bytes[range.start.min(end)..end]
}

impl<P: PageRead + ?Sized> ReadRow for RowRef<'_, P>
where
    TableError: From<P::Error>,
{
    #[inline]
    fn value_at(&self, column: usize) -> Result<ValueRef<'_>, TableError> {
        self.get_at(column)
    }

    #[inline]
    fn bytes_at(&self, column: usize) -> Option<&[u8]> {
        self.borrowed_at(column)
    }

    fn length_at(&self, column: usize) -> Result<usize, TableError> {
        match self.reference_at(column) {
            Some(reference) => Ok(reference.len()),
            // It may be older than the column, whose default it has then.
            None => Ok(bytes_of(self.get_at(column)?).len()),
        }
    }

    fn part_at(
        &self,
        column: usize,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), TableError> {
        if let Some(read) = self.read_part_at(column, range.clone(), out) {
            return read;
        }
        out.extend_from_slice(part_of(self.get_at(column)?, range));
        Ok(())
    }

    #[inline]
    fn newest_fixed(&self) -> Option<&[u8]> {
        (self.shape() == self.schema().shape()).then(|| self.fixed())
    }

    #[inline]
    fn value_of(&self, column: &str) -> Result<ValueRef<'_>, Error> {
        self.get(column)
    }

    #[inline]
    fn address(&self) -> Option<Address> {
        Some(RowRef::address(self))
    }
}

/// The rows of a table, in no particular order. The first error ends the scan.
pub trait ScanRows: Iterator<Item = Result<Self::Row, Error>> {
    /// The form in which the store lends one.
    type Row;

    /// The place to go on from with another scan; `None` if the state cannot be read in parts.
    fn place(&self) -> Option<ScanPlace>;

    /// Passes rows to `each` until it wants no more, and keeps none beyond its turn. Where pages are copied to be
    /// read, rows are borrowed from the copy. Returns true if it came to the end.
    ///
    /// # Errors
    /// The errors of the rows, and the error that `each` returns.
    fn walk<E: From<Error>>(&mut self, each: &mut impl EachRow<E>) -> Result<bool, E>
    where
        Self::Row: ReadRow,
        Self: Sized,
    {
        for row in self.by_ref() {
            if !each.take(&row?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The consumer of a scan's rows, whose type depends on the store.
pub trait EachRow<E> {
    /// Takes a row. Returns true if more are wanted.
    ///
    /// # Errors
    /// The consumer's error.
    fn take(&mut self, row: &impl ReadRow) -> Result<bool, E>;
}

/// The place of a scan: the pages that it has finished, and the rows of the current page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScanPlace {
    pages: u64,
    rows: usize,
}

impl ScanPlace {
    /// A place by its page's number among the used ones, and rows of it that were given.
    #[inline]
    pub fn new(pages: u64, rows: usize) -> Self {
        ScanPlace { pages, rows }
    }

    /// The beginning of a page, by its number among the used ones.
    pub fn at_page(pages: u64) -> Self {
        ScanPlace::new(pages, 0)
    }

    /// The page of the row that was given last.
    #[inline]
    pub fn page(self) -> u64 {
        self.pages
    }

    /// Rows of that page that were given.
    #[inline]
    pub fn rows(self) -> usize {
        self.rows
    }
}
