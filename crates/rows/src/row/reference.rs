//! An existing row, to read: live, or of a snapshot.

use super::RowError;
use super::fixed::{decode, is_null};
use super::writer::column_named;
use crate::error::TableError;
use crate::layout::{PageKind, PageLayout, PageUse};
use crate::schema::{Column, Schema, Type, Value, ValueRef};
use crate::values::{Reference, borrow_value, read_part, read_value};
use sardonyx_base::error::Error;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;

/// A row, read column by column. Text and bytes of a live row are borrowed from its page if they are in one piece.
/// Long ones, and those of a snapshot, are put together at their first read.
pub struct RowRef<'a, P: PageRead + ?Sized = [u8]> {
    pages: &'a P,
    schema: &'a Schema,
    table: &'a str,
    address: Address,
    /// Its fixed part, in the shape of its page.
    fixed: Cow<'a, [u8]>,
    shape: u8,
    /// The values that were put together of several cells.
    read: OnceCell<Together>,
}

/// A value that was put together, with the next one: few columns of a row are read.
struct Together {
    column: usize,
    bytes: Vec<u8>,
    next: OnceCell<Box<Together>>,
}

impl<'a, P: PageRead + ?Sized> RowRef<'a, P>
where
    TableError: From<P::Error>,
{
    /// The row at an address, at which there is one.
    pub fn new(
        pages: &'a P,
        schema: &'a Schema,
        table: &'a str,
        address: Address,
    ) -> Result<Self, TableError> {
        let (mut shape, mut bytes) = (0, schema.row_bytes);
        if !schema.earlier_shapes.is_empty() {
            let word = pages.word(PageLayout::table_word(address.page()))?;
            if let Some(PageKind::Rows { shape: there }) = PageUse::of_word(word).map(|of| of.kind)
            {
                shape = there;
            }
            bytes = schema.row_bytes_of_shape(shape).unwrap_or(bytes);
        }
        let fixed = match pages.borrowed(address, bytes) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let mut copy = vec![0; bytes];
                pages.read_into(address, &mut copy)?;
                Cow::Owned(copy)
            }
        };
        Ok(RowRef {
            pages,
            schema,
            table,
            address,
            fixed,
            shape,
            read: OnceCell::new(),
        })
    }

    /// The row at an address, at which there is one, given the bytes of its page: they are not read again.
    ///
    /// # Panics
    /// If the bytes are not those of a page.
    #[inline]
    pub fn in_page(
        pages: &'a P,
        schema: &'a Schema,
        table: &'a str,
        address: Address,
        page: &'a [u8],
    ) -> Self {
        let (mut shape, mut bytes) = (0, schema.row_bytes);
        if !schema.earlier_shapes.is_empty() {
            if let Some(PageKind::Rows { shape: there }) = PageUse::of(page).map(|of| of.kind) {
                shape = there;
            }
            bytes = schema.row_bytes_of_shape(shape).unwrap_or(bytes);
        }
        RowRef {
            pages,
            schema,
            table,
            address,
            fixed: Cow::Borrowed(&page[address.offset_in_page()..][..bytes]),
            shape,
            read: OnceCell::new(),
        }
    }

    /// The row whose fixed part are these bytes, of a shape.
    pub(crate) fn of_shape(
        pages: &'a P,
        schema: &'a Schema,
        table: &'a str,
        shape: u8,
        fixed: &'a [u8],
    ) -> Self {
        RowRef {
            pages,
            schema,
            table,
            address: Address(0),
            fixed: Cow::Borrowed(fixed),
            shape,
            read: OnceCell::new(),
        }
    }

    /// The schema of its table.
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// Its place.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Its fixed part, as in its page.
    pub fn fixed(&self) -> &[u8] {
        &self.fixed
    }

    /// Tells which columns the page's rows have.
    pub fn shape(&self) -> u8 {
        self.shape
    }

    /// The value of the column with this name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such column; [`Error::Damaged`]; of a snapshot, that it was ended.
    pub fn get(&self, column: &str) -> Result<ValueRef<'_>, Error> {
        let number = column_named(self.schema, self.table, column);
        Ok(self.get_at(number.map_err(<TableError as From<RowError>>::from)?)?)
    }

    /// The value of the column with this number; null if there is no such column, or it was dropped.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`]; [`TableError::SnapshotEnded`] of a snapshot.
    pub fn get_at(&self, number: usize) -> Result<ValueRef<'_>, TableError> {
        let Some(column) = self.schema.columns.get(number) else {
            return Ok(ValueRef::Null);
        };
        if column.dropped {
            return Ok(ValueRef::Null);
        }
        if column.since_shape > self.shape {
            return Ok(column.default.as_ref());
        }
        if is_null(&self.fixed, column) {
            return Ok(ValueRef::Null);
        }
        if column.kind.is_variable() {
            return self.variable(number, column);
        }
        let bytes = &self.fixed[column.offset..][..column.kind.bytes()];
        Ok(decode(column.kind, bytes))
    }

    /// The bytes of a column where they stand: a value of a fixed width, or a whole text or bytes. `None` if it is null, or
    /// not in one piece.
    #[inline]
    pub(crate) fn borrowed_at(&self, number: usize) -> Option<&[u8]> {
        let column = self.schema.columns.get(number)?;
        let is_here = !column.dropped && column.since_shape <= self.shape;
        if !is_here || is_null(&self.fixed, column) {
            return None;
        }
        let bytes = &self.fixed[column.offset..][..column.kind.bytes()];
        if !column.kind.is_variable() {
            return Some(bytes);
        }
        let reference = Reference::at(bytes, 0);
        match reference.cell() {
            None => Some(&bytes[4..][..reference.len()]),
            Some(_) => borrow_value(self.pages, &reference, self.table).unwrap_or(None),
        }
    }

    /// The reference of the column with this number; `None` if its value is not text or bytes of the row.
    pub(crate) fn reference_at(&self, number: usize) -> Option<Reference> {
        let column = self.schema.columns.get(number)?;
        let is_here = !column.dropped && column.since_shape <= self.shape;
        let is_variable = column.kind.is_variable() && is_here && !is_null(&self.fixed, column);
        is_variable.then(|| Reference::at(&self.fixed, column.offset))
    }

    /// Appends the bytes of a range of a text or bytes; `None` if the column has no [reference](RowRef::reference_at).
    pub(crate) fn read_part_at(
        &self,
        number: usize,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), TableError>> {
        let reference = self.reference_at(number)?;
        Some(read_part(self.pages, &reference, self.table, range, out))
    }

    fn variable(&self, number: usize, column: &Column) -> Result<ValueRef<'_>, TableError> {
        let bytes = self.variable_bytes(number, column)?;
        if column.kind == Type::Bytes {
            return Ok(ValueRef::Bytes(bytes));
        }
        let text = std::str::from_utf8(bytes);
        text.map(ValueRef::Text)
            .map_err(|_| self.damaged(column, "a text is not UTF-8"))
    }

    fn variable_bytes(&self, number: usize, column: &Column) -> Result<&[u8], TableError> {
        let reference = Reference::at(&self.fixed, column.offset);
        if reference.cell().is_none() {
            // Borrowed from the row itself.
            return Ok(&self.fixed[column.offset + 4..][..reference.len()]);
        }
        if let Some(bytes) = borrow_value(self.pages, &reference, self.table)? {
            return Ok(bytes);
        }
        let mut last = self.read.get();
        while let Some(there) = last {
            if there.column == number {
                return Ok(&there.bytes);
            }
            match there.next.get() {
                Some(next) => last = Some(next),
                None => break,
            }
        }
        let mut bytes = Vec::new();
        read_value(self.pages, &reference, self.table, &mut bytes)?;
        let read = Together {
            column: number,
            bytes,
            next: OnceCell::new(),
        };
        Ok(match last {
            Some(last) => &last.next.get_or_init(|| Box::new(read)).bytes,
            None => &self.read.get_or_init(|| read).bytes,
        })
    }

    #[cold]
    fn damaged(&self, column: &Column, reason: &'static str) -> TableError {
        TableError::DamagedTable {
            table: self.table.to_string(),
            page: self.address.page().0,
            offset: self.address.offset_in_page() + column.offset,
            reason,
        }
    }

    /// The values of all columns that are not dropped, in order.
    ///
    /// # Errors
    /// The errors of [`RowRef::get_at`].
    pub fn to_values(&self) -> Result<Vec<Value>, Error> {
        let columns = self.schema.live_columns();
        let values = columns.map(|(number, _)| self.get_at(number).map(ValueRef::to_value));
        Ok(values.collect::<Result<_, TableError>>()?)
    }
}

impl<P: PageRead + ?Sized> fmt::Debug for RowRef<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowRef of {:?} at {}", self.table, self.address)
    }
}
