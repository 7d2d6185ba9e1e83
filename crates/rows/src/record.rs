//! Records: structs of a program's own that are rows of a table; handles of tables.
//!
//! There are two kinds, with the same verbs. [`record!`](crate::record!) makes one of a struct of plain data
//! ([`Plain`]), which is stored as it is. `#[derive(Record)]` makes one of a struct with fields of any length. The
//! latter's fields are found by the columns' names. So its table may have the columns in another order, dropped ones
//! among them, and more columns that are nullable or have a default.
//!
//! Invariant: each verb looks up the fields' columns in the schema that a row is read or written by. So a handle never
//! reads one column for another, even after the table was changed.

use crate::error::TableError;
use crate::plain::{Plain, PlainLayout};
use crate::row::{RowRef, RowWriter};
use crate::schema::{Schema, SchemaBuilder, Type, ValueRef};
use sardonyx_storage::catalogue::{Definition, Kind};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

/// A struct that is a row of a table: `#[derive(Record)]`, or [`record!`](crate::record!) for one of plain data, which is
/// stored as it is.
///
/// Undocumented items are for stores of rows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no record of Sardonyx",
    note = "declare it with `#[derive(Record)]` and `#[record(table = \"…\", key = …)]`, or, of plain data, with `record!`"
)]
pub trait Record: Sized + 'static {
    /// The type of the primary key, as verbs take it: a number, a text as `&str`, several columns as a tuple.
    type Key<'k>: Copy;
    /// A row of a live state: a reference to a record of plain data, otherwise a struct of its own.
    type Ref<'a>: Borrow<Self>;
    /// The fields' columns in a table; nothing for plain data.
    #[doc(hidden)]
    type Columns: Copy;
    /// The table's name, unique in a database.
    const TABLE: &'static str;
    /// Its layout in the row, if it is plain data: known at compile time, so that verbs have one way each.
    #[doc(hidden)]
    const PLAIN: Option<PlainLayout>;
    /// The fields' columns in order, unless it is plain data.
    #[doc(hidden)]
    const FIELDS: &'static [FieldColumn];

    /// The schema of a new table, unless it is plain data.
    #[doc(hidden)]
    fn declared() -> SchemaBuilder;

    /// The columns of a table of this schema that are the fields.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`]; [`TableError::UnknownTable`] if the table has another name.
    #[doc(hidden)]
    fn columns_in(schema: &Schema, table: &str) -> Result<Self::Columns, TableError>;

    /// All bytes of plain data.
    #[doc(hidden)]
    fn plain_bytes(&self) -> &[u8];

    /// The key's bytes as the record has them, of plain data.
    #[doc(hidden)]
    fn plain_key<'k>(key: &'k Self::Key<'_>) -> &'k [u8];

    /// Calls `each` with the values of the key's columns, unless it is plain data.
    #[doc(hidden)]
    fn key_values(key: &Self::Key<'_>, each: &mut dyn FnMut(ValueRef<'_>));

    /// Sets the values of the fields' columns, unless it is plain data.
    #[doc(hidden)]
    fn write_row<'v>(&'v self, columns: &Self::Columns, row: &mut RowWriter<'v>);

    /// The record of a live row.
    ///
    /// # Errors
    /// [`TableError::Field`] if a value is not of its field's type, and the errors of reading a row.
    #[doc(hidden)]
    fn borrow_row<'a>(
        found: Found<'a>,
        columns: &Self::Columns,
    ) -> Result<Self::Ref<'a>, TableError>;

    /// A copy of a row's record.
    ///
    /// # Errors
    /// The errors of [`Record::borrow_row`].
    #[doc(hidden)]
    #[inline]
    fn copy_row<P: PageRead + ?Sized>(
        found: Found<'_, P>,
        columns: &Self::Columns,
    ) -> Result<Self, TableError>
    where
        TableError: From<P::Error>,
    {
        Self::read_row(columns, &found.row()?)
    }

    /// The record of a row by its columns.
    ///
    /// # Errors
    /// The errors of [`Record::borrow_row`].
    #[doc(hidden)]
    fn read_row<P: PageRead + ?Sized>(
        columns: &Self::Columns,
        row: &RowRef<'_, P>,
    ) -> Result<Self, TableError>
    where
        TableError: From<P::Error>;
}

/// A field's column: its name, its type, and whether there may be no value.
pub type FieldColumn = (&'static str, Type, bool);

/// A row that was found: its place, schema and pages.
#[derive(Debug)]
pub struct Found<'a, P: ?Sized = [u8]> {
    /// The store, or a snapshot of it.
    pub pages: &'a P,
    /// The schema of its table.
    pub schema: &'a Schema,
    /// The table's name.
    pub table: &'a str,
    /// Its place.
    pub at: Address,
}

impl<'a, P: PageRead + ?Sized> Found<'a, P>
where
    TableError: From<P::Error>,
{
    /// The row, to read column by column.
    ///
    /// # Errors
    /// The errors of [`RowRef::new`].
    #[inline]
    pub fn row(&self) -> Result<RowRef<'a, P>, TableError> {
        RowRef::new(self.pages, self.schema, self.table, self.at)
    }
}

impl<P: ?Sized> Clone for Found<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Found<'_, P> {}

/// A row of any table, read by its columns' names: the type of handles and indexes of tables whose rows are no
/// [`Record`].
#[derive(Clone, Copy, Debug)]
pub enum AnyRow {}

/// The form in which a verb returns a row of pages: a [record](Record::Ref) borrowed from live ones, a copy from a
/// snapshot's, or the row by its columns for [`AnyRow`].
pub trait RowForm<'a, P: PageRead + ?Sized> {
    /// The form's type.
    type Item;
    /// The fields' columns in a table.
    #[doc(hidden)]
    type Columns: Copy;

    /// The columns of a table of this schema that are its fields.
    ///
    /// # Errors
    /// The errors of [`Record::columns_in`].
    #[doc(hidden)]
    fn columns_of(schema: &Schema, table: &str) -> Result<Self::Columns, TableError>;

    /// Makes it.
    ///
    /// # Errors
    /// [`TableError::Field`] if a value is not of its field's type, and the errors of reading a row.
    #[doc(hidden)]
    fn give(found: Found<'a, P>, columns: &Self::Columns) -> Result<Self::Item, TableError>;

    /// The same, of a row whose page was read: plain data is taken from that page.
    ///
    /// # Errors
    /// The errors of [`RowForm::give`].
    #[doc(hidden)]
    #[inline(always)]
    fn give_of_page(
        found: Found<'a, P>,
        _page: &[u8],
        columns: &Self::Columns,
    ) -> Result<Self::Item, TableError> {
        Self::give(found, columns)
    }

    /// The bytes of a row that will be read, as far as they are known at compile time.
    #[doc(hidden)]
    const BYTES: usize;
}

impl<'a, R: Record> RowForm<'a, [u8]> for R {
    type Item = R::Ref<'a>;
    type Columns = R::Columns;
    const BYTES: usize = bytes_read::<R>();

    #[inline(always)]
    fn columns_of(schema: &Schema, table: &str) -> Result<R::Columns, TableError> {
        R::columns_in(schema, table)
    }

    #[inline(always)]
    fn give(found: Found<'a>, columns: &R::Columns) -> Result<R::Ref<'a>, TableError> {
        R::borrow_row(found, columns)
    }
}

impl<'a, R: Record> RowForm<'a, PageSnapshot> for R {
    type Item = R;
    type Columns = R::Columns;
    const BYTES: usize = bytes_read::<R>();

    #[inline(always)]
    fn columns_of(schema: &Schema, table: &str) -> Result<R::Columns, TableError> {
        R::columns_in(schema, table)
    }

    #[inline(always)]
    fn give(found: Found<'a, PageSnapshot>, columns: &R::Columns) -> Result<R, TableError> {
        R::copy_row(found, columns)
    }

    #[inline(always)]
    fn give_of_page(
        found: Found<'a, PageSnapshot>,
        page: &[u8],
        columns: &R::Columns,
    ) -> Result<R, TableError> {
        if R::PLAIN.is_none() {
            return R::copy_row(found, columns);
        }
        let Found { schema, table, .. } = found;
        let at = Address(found.at.offset_in_page() as u64);
        let pages = page;
        R::copy_row(
            Found {
                pages,
                schema,
                table,
                at,
            },
            columns,
        )
    }
}

impl<'a, P: PageRead + ?Sized + 'a> RowForm<'a, P> for AnyRow
where
    TableError: From<P::Error>,
{
    type Item = RowRef<'a, P>;
    type Columns = ();
    const BYTES: usize = 1;

    #[inline(always)]
    fn columns_of(_: &Schema, _: &str) -> Result<(), TableError> {
        Ok(())
    }

    #[inline(always)]
    fn give(found: Found<'a, P>, (): &()) -> Result<RowRef<'a, P>, TableError> {
        found.row()
    }
}

const fn bytes_read<R: Record>() -> usize {
    match R::PLAIN {
        Some(plain) => plain.bytes,
        None => 1,
    }
}

/// A handle of a table; valid for the database that gave it.
pub struct Table<R> {
    number: u16,
    origin: u32,
    of: PhantomData<fn() -> R>,
}

impl<R> Table<R> {
    /// The table with this number in the catalogue, for stores of rows, which know the catalogue.
    #[doc(hidden)]
    #[inline]
    pub fn new(number: u16) -> Self {
        Table::of(number, 0)
    }

    /// The same of a store that distinguishes its databases by a number.
    #[doc(hidden)]
    #[inline]
    pub fn of(number: u16, origin: u32) -> Self {
        Table {
            number,
            origin,
            of: PhantomData,
        }
    }

    /// Its number in the catalogue.
    #[inline]
    pub fn number(self) -> u16 {
        self.number
    }

    /// The number of its database, if its store has one.
    #[doc(hidden)]
    #[inline]
    pub fn origin(self) -> u32 {
        self.origin
    }
}

macro_rules! handles {
    ($($name:ident),*) => {$(
        impl<R> Clone for $name<R> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<R> Copy for $name<R> {}

        impl<R> fmt::Debug for $name<R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), " {}"), self.number)
            }
        }
    )*};
}

handles!(Table);
pub(crate) use handles;

/// The definition that a plain record's type declares.
pub fn definition_of_table<R: Plain>() -> Definition {
    definition_of_plain(R::NAME, &PlainLayout::of::<R>())
}

/// The definition of a table of plain records that lie so.
pub fn definition_of_plain(name: &str, plain: &PlainLayout) -> Definition {
    let kind = Kind::Table {
        key_offset: plain.key_offset,
        key_bytes: plain.key_bytes,
    };
    Definition {
        name: name.to_string(),
        record_bytes: plain.bytes,
        kind,
    }
}
