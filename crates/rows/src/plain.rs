//! Records of plain data: structs of a fixed size that are stored as they are, with a primary key in them; tokens of their
//! fields.

use crate::columns::RecordColumn;
use crate::error::TableError;
use crate::record::{FieldColumn, Found, Record};
use crate::row::{RowRef, RowWriter};
use crate::schema::{Schema, SchemaBuilder, ValueRef};
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A primary key of plain data, which is compared byte by byte.
pub trait RecordKey: Resident + Eq {}

impl<T: Resident + Eq> RecordKey for T {}

/// A [`Record`] of plain data: of a fixed size, stored as it is, and read in place. Implement it with
/// [`record!`](crate::record!).
pub trait Plain: Resident {
    /// The type of the primary key.
    type Key: RecordKey;
    /// The table's name, unique in a database.
    const NAME: &'static str;
    /// The key's offset in the record, in bytes.
    const KEY_OFFSET: usize;

    /// Its fields as columns, in their order; `None` if the type does not declare its fields. They are compared with
    /// the database's when the table is opened.
    fn columns() -> Option<Vec<RecordColumn>> {
        None
    }
}

/// The layout of a record of plain data in its row.
#[derive(Clone, Copy, Debug)]
pub struct PlainLayout {
    /// The size of the struct, a multiple of 8.
    pub bytes: usize,
    /// In bytes from the record's begin.
    pub key_offset: usize,
    /// The length of the key in the record.
    pub key_bytes: usize,
    /// Its fields, if it declares them.
    pub columns: fn() -> Option<Vec<RecordColumn>>,
}

impl PlainLayout {
    /// The layout of a record's type.
    pub const fn of<R: Plain>() -> Self {
        PlainLayout {
            bytes: size_of::<R>(),
            key_offset: R::KEY_OFFSET,
            key_bytes: size_of::<R::Key>(),
            columns: R::columns,
        }
    }

    /// The place of the key in a record.
    #[inline]
    pub const fn key(&self) -> Range<usize> {
        self.key_offset..self.key_offset + self.key_bytes
    }
}

impl<R: Plain> Record for R {
    type Key<'k> = R::Key;
    type Ref<'a> = &'a R;
    type Columns = ();
    const TABLE: &'static str = R::NAME;
    const PLAIN: Option<PlainLayout> = Some(PlainLayout::of::<R>());
    const FIELDS: &'static [FieldColumn] = &[];

    fn declared() -> SchemaBuilder {
        SchemaBuilder::default()
    }

    #[inline(always)]
    fn columns_in(_: &Schema, _: &str) -> Result<(), TableError> {
        Ok(())
    }

    #[inline(always)]
    fn plain_bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    #[inline(always)]
    fn plain_key(key: &R::Key) -> &[u8] {
        key.as_bytes()
    }

    #[inline(always)]
    fn key_values(_: &R::Key, _: &mut dyn FnMut(ValueRef<'_>)) {}

    #[inline(always)]
    fn write_row<'v>(&'v self, (): &(), _: &mut RowWriter<'v>) {}

    #[inline(always)]
    fn borrow_row<'a>(found: Found<'a>, (): &()) -> Result<&'a R, TableError> {
        Ok(plain_at(found.pages, found.at))
    }

    #[inline(always)]
    fn copy_row<P: PageRead + ?Sized>(found: Found<'_, P>, (): &()) -> Result<R, TableError>
    where
        TableError: From<P::Error>,
    {
        let mut record = R::new_zeroed();
        found.pages.read_into(found.at, record.as_mut_bytes())?;
        Ok(record)
    }

    fn read_row<P: PageRead + ?Sized>((): &(), row: &RowRef<'_, P>) -> Result<R, TableError>
    where
        TableError: From<P::Error>,
    {
        let bytes = row.fixed().get(..size_of::<R>());
        let record = bytes.and_then(R::read_from_bytes);
        record.ok_or_else(|| TableError::SchemaDiffers {
            table: R::NAME.to_string(),
            text: "a row is shorter than the record".to_string(),
        })
    }
}

/// The record at an address of live pages, at which there is one.
#[inline]
pub fn plain_at<R: Plain>(bytes: &[u8], at: Address) -> &R {
    let bytes = &bytes[at.0 as usize..][..size_of::<R>()];
    R::ref_from_bytes(bytes).expect("pages are aligned, strides are multiples of the alignment")
}

/// Makes a type of plain data a [`Record`]: `record!(Account { table: "accounts", key: id: u64 });`
///
/// The compiler checks that the field exists and has that type. If all fields are named too, the database knows them
/// as columns, and compares them when the table is opened:
///
/// ```
/// # use sardonyx_base::resident::Resident;
/// # use sardonyx_rows::record;
/// # #[derive(Clone, Copy, Resident)]
/// # #[repr(C)]
/// # struct Account { id: u64, balance: i64 }
/// record!(Account {
///     table: "accounts",
///     key: id: u64,
///     fields: { id: u64, balance: i64 },
/// });
/// ```
#[macro_export]
macro_rules! record {
    ($record:ident {
        table: $table:expr, key: $key:ident: $type:ty, fields: { $($field:ident: $kind:ty),* $(,)? } $(,)?
    }) => {
        const _: () = ::core::assert!(
            0 $(+ ::core::mem::size_of::<$kind>())* == ::core::mem::size_of::<$record>(),
            "`record!` of Sardonyx needs all fields of the struct, with their types"
        );
        impl $crate::Plain for $record {
            type Key = $type;
            const NAME: &'static str = $table;
            const KEY_OFFSET: usize = {
                // Compiles only if the field has the key's type.
                let _: fn(&$record) -> &$type = |record| &record.$key;
                ::core::mem::offset_of!($record, $key)
            };

            fn columns() -> ::core::option::Option<::std::vec::Vec<$crate::RecordColumn>> {
                ::core::option::Option::Some($crate::columns_of!($record { $($field: $kind),* }))
            }
        }
    };
    ($record:ident { table: $table:expr, key: $key:ident: $type:ty }) => {
        impl $crate::Plain for $record {
            type Key = $type;
            const NAME: &'static str = $table;
            const KEY_OFFSET: usize = {
                // Compiles only if the field has the key's type.
                let _: fn(&$record) -> &$type = |record| &record.$key;
                ::core::mem::offset_of!($record, $key)
            };
        }
    };
}

/// The columns of a struct's fields.
#[doc(hidden)]
#[macro_export]
macro_rules! columns_of {
    ($record:ident { $($field:ident: $kind:ty),* }) => {{
        let mut columns = ::std::vec::Vec::new();
        $crate::columns_of!(in $record { $($field: $kind),* } "", 0, &mut columns);
        columns
    }};
    (in $record:ident { $($field:ident: $kind:ty),* } $outer:expr, $at:expr, $columns:expr) => {{
        #[allow(unused_imports, reason = "of the two the compiler takes the one that fits")]
        use $crate::columns::{OfAnyType as _, OfColumnType as _};
        $({
            // Compiles only if the field has this type.
            let _: fn(&$record) -> &$kind = |record| &record.$field;
            (&$crate::columns::FieldOf::<$kind>::NEW).push(
                &$crate::columns::nested_name($outer, ::core::stringify!($field)),
                ::core::stringify!($kind),
                $at + ::core::mem::offset_of!($record, $field),
                $columns,
            );
        })*
    }};
}

/// Declares the columns of a nested struct of plain data, by its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! nested_columns {
    ($record:ident { $($field:ident: $kind:ty),* }) => {
        impl $crate::ColumnType for $record {
            fn columns(
                name: &str,
                offset: usize,
                into: &mut ::std::vec::Vec<$crate::RecordColumn>,
            ) {
                $crate::columns_of!(in $record { $($field: $kind),* } name, offset, into);
            }
        }
    };
}

/// Names a field, to change it alone: `field!(Account.balance: i64)`.
///
/// The compiler checks that the field exists and has that type.
#[macro_export]
macro_rules! field {
    ($record:ident . $field:ident : $type:ty) => {
        $crate::field_of::<$record, $type>(
            |record| &record.$field,
            ::core::mem::offset_of!($record, $field),
        )
    };
}

/// The place of one field in a record, with the types of both. `field!` makes it.
pub struct Field<R, T> {
    offset: usize,
    of: PhantomData<fn(R) -> T>,
}

impl<R, T> Field<R, T> {
    /// Its offset in the record, in bytes.
    #[inline]
    pub fn offset(self) -> usize {
        self.offset
    }
}

impl<R, T> Clone for Field<R, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T> Copy for Field<R, T> {}

impl<R, T> fmt::Debug for Field<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field at {}", self.offset)
    }
}

/// The function behind [`field!`](crate::field!); the first argument makes the compiler check the type.
///
/// # Panics
/// If the field does not lie within the record, which the macro cannot produce.
#[doc(hidden)]
pub const fn field_of<R, T>(_proof: fn(&R) -> &T, offset: usize) -> Field<R, T> {
    assert!(offset + size_of::<T>() <= size_of::<R>());
    Field {
        offset,
        of: PhantomData,
    }
}
