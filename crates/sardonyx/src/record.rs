//! Declarations of a program's records.

/// Declares a record of a table, or a row of a journal: a struct of plain data, stored as it is.
///
/// ```
/// sardonyx::record! {
///     /// An account.
///     #[table("accounts", key = id)]
///     #[derive(Debug, PartialEq)]
///     pub struct Account {
///         pub id: u64,
///         pub balance: i64,
///     }
/// }
/// sardonyx::record! {
///     #[journal("entries")]
///     struct Entry {
///         from: u64,
///         to: u64,
///     }
/// }
/// # let _ = (Account { id: 1, balance: 2 }, Entry { from: 1, to: 2 });
/// # assert_eq!(<Account as sardonyx::Record>::TABLE, "accounts");
/// ```
///
/// The fields may be integers, floats, arrays of them, and structs that are plain data themselves, from the largest
/// alignment to the smallest. The compiler refuses a struct with padding, so fill gaps with a field such as
/// `reserved: [u8; 4]`. The struct is `Copy`, and `#[repr(C)]`, so the bytes on disk do not depend on the compiler.
///
/// The database knows the fields as columns, by name, type and place: it compares them when the table is opened, and
/// other programs read the records by them. Numbers, and the types of [`types`](crate::types), are columns of their
/// types. A nested struct that [`plain!`](crate::plain!) declared is its fields' columns, named `outer.inner`; arrays
/// and all else are plain bytes to others.
///
/// A struct that is plain data already (by the derive of [`Resident`](crate::low_level::Resident)) is made a record by
/// `record!(Account { table: "accounts", key: id: u64, fields: { id: u64, balance: i64 } });`. The fields can be left
/// out if the database need know only the key.
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $doc:expr])*
        #[table($table:expr, key = $key:ident)]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),* $(,)?
        }
    ) => {
        $crate::plain! {
            $(#[doc = $doc])*
            $(#[$meta])*
            $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)* }
        }
        const _: () = {
            macro_rules! type_of_field {
                $(($field) => { $type };)*
            }
            $crate::declared::record!($name {
                table: $table, key: $key: type_of_field!($key), fields: { $($field: $type),* },
            });
        };
    };
    (
        $(#[doc = $doc:expr])*
        #[journal($journal:expr)]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),* $(,)?
        }
    ) => {
        $crate::plain! {
            $(#[doc = $doc])*
            $(#[$meta])*
            $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)* }
        }
        impl $crate::declared::PlainJournalRow for $name {
            const NAME: &'static str = $journal;
        }
    };
    ($record:ident { $($what:tt)* }) => {
        $crate::declared::record!($record { $($what)* });
    };
}

/// Declares a struct of plain data, such as may be a field of a record: [`record!`](crate::record!) without
/// a table.
#[macro_export]
macro_rules! plain {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty),* $(,)?
        }
    ) => {
        $crate::declared::plain_struct! {
            $(#[$meta])*
            $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)* }
        }
        const _: () = {
            $crate::declared::nested_columns!($name { $($field: $type),* });
        };
    };
    ($($item:tt)*) => {
        $crate::declared::plain_struct! { $($item)* }
    };
}
