//! What a record is: plain old data of a fixed size with a primary key in it; handles of tables and
//! journals; tokens of rows and fields.

use crate::columns::RecordColumn;
use sardonyx_storage::catalogue::{Definition, Kind};
use std::fmt;
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A primary key: plain old data that is compared byte by byte.
pub trait RecordKey: FromBytes + IntoBytes + Immutable + Copy + Eq + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Eq + 'static> RecordKey for T {}

/// A fixed-size record with a primary key, stored as it is. Implement it with [`record!`](crate::record!).
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static {
    /// The type of the primary key.
    type Key: RecordKey;
    /// The table's name, unique in a database.
    const NAME: &'static str;
    /// Where the key stands in the record, in bytes.
    const KEY_OFFSET: usize;

    /// Its fields as columns, in their order; `None` if the type does not say which fields it has. They are
    /// compared with the database's when the table is opened.
    fn columns() -> Option<Vec<RecordColumn>> {
        None
    }
}

/// A row of a journal: appended, never changed.
pub trait JournalRow: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static {
    /// The journal's name, unique in a database.
    const NAME: &'static str;
}

/// Makes a type a [`Record`]: `record!(Account { table: "accounts", key: id: u64 });`
///
/// The compiler checks that the field is there and has that type. Where all fields are named too, the database
/// knows them as columns, and compares them when the table is opened:
///
/// ```
/// # use sardonyx_rows::record;
/// # #[derive(Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)]
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
        impl $crate::Record for $record {
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
        impl $crate::Record for $record {
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

/// Says which columns a nested struct of plain data is, by its fields.
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
/// The compiler checks that the field is there and has that type.
#[macro_export]
macro_rules! field {
    ($record:ident . $field:ident : $type:ty) => {
        $crate::field_of::<$record, $type>(
            |record| &record.$field,
            ::core::mem::offset_of!($record, $field),
        )
    };
}

/// A field of a record.
pub struct Field<R, T> {
    offset: usize,
    of: PhantomData<fn(R) -> T>,
}

impl<R, T> Field<R, T> {
    /// Where it stands in the record, in bytes.
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

/// What [`field!`](crate::field!) calls; the first argument makes the compiler check the type.
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

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<R> {
            number: u16,
            of: PhantomData<fn() -> R>,
        }

        impl<R> $name<R> {
            /// The one with this number in the catalogue, for stores of rows, which know what is there.
            #[doc(hidden)]
            #[inline]
            pub fn new(number: u16) -> Self {
                $name { number, of: PhantomData }
            }

            /// Its number in the catalogue.
            #[inline]
            pub fn number(self) -> u16 {
                self.number
            }
        }

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
    };
}

handle!(
    /// A handle of a table; valid for the database that gave it.
    Table
);
handle!(
    /// A handle of a journal; valid for the database that gave it.
    Journal
);

/// The definition that a record type declares.
pub fn definition_of_table<R: Record>() -> Definition {
    let kind = Kind::Table {
        key_offset: R::KEY_OFFSET,
        key_bytes: size_of::<R::Key>(),
    };
    Definition {
        name: R::NAME.to_string(),
        record_bytes: size_of::<R>(),
        kind,
    }
}

/// The definition that a row type declares.
pub fn definition_of_journal<J: JournalRow>() -> Definition {
    Definition {
        name: J::NAME.to_string(),
        record_bytes: size_of::<J>(),
        kind: Kind::Journal,
    }
}
