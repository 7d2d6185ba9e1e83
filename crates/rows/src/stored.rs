//! Structs of a program's own as rows: what `#[derive(Record)]` implements, and which fields they may have.
//!
//! A struct's fields are found by the columns' names when its table is opened, so the table may have its columns in
//! another order, dropped ones among them, and columns more that are nullable or have a default. Reading and writing
//! goes by the columns' numbers, through [`RowRef`] and [`RowWriter`]: the rows are those that every other way has.

use crate::error::TableError;
use crate::key::KeyValues;
use crate::row::{RowRef, RowWriter};
use crate::schema::{Column, Schema, SchemaBuilder, Type, ValueRef};
use crate::types::{Date, Decimal, Time, Timestamp, Uuid};
use sardonyx_storage::store::PageRead;
use std::sync::Arc;

/// A struct that is a row of a table. `#[derive(Record)]` implements it.
pub trait Stored: Sized {
    /// The table's name, unique in a database.
    const TABLE: &'static str;
    /// The fields' columns, in order: name, type, whether there may be no value.
    const FIELDS: &'static [(&'static str, Type, bool)];

    /// The schema of a new table.
    fn schema() -> SchemaBuilder;

    /// Sets the values of the columns with these numbers, one for each field.
    fn write<'v>(&'v self, columns: &[usize], row: &mut RowWriter<'v>);

    /// Reads the columns with these numbers.
    ///
    /// # Errors
    /// [`TableError::Field`] if a value is none of its field's type, and what reading a row says.
    fn read<P: PageRead + ?Sized>(
        columns: &[usize],
        row: &RowRef<'_, P>,
    ) -> Result<Self, TableError>
    where
        TableError: From<P::Error>;
}

/// A type that fields of [`Stored`] structs may have.
#[diagnostic::on_unimplemented(
    message = "Sardonyx cannot store `{Self}` as a column",
    label = "no type of a column",
    note = "columns are numbers, `bool`, `String`, `Vec<u8>`, `[u8; N]`, what `sardonyx::types` has, enums without fields that \
            have `#[derive(Record)]`, and `Option` of these; give other fields one of these types and convert"
)]
pub trait StoredField: Sized {
    /// The column's type.
    const KIND: Type;
    /// Whether there may be no value.
    const NULLABLE: bool = false;

    /// The value.
    fn to_value(&self) -> ValueRef<'_>;

    /// From a value of such a column; `None` if it is none of this type.
    fn from_value(value: ValueRef<'_>) -> Option<Self>;
}

/// The numbers of the fields' columns in a table of this schema, for [`Stored::read`] and [`Stored::write`].
///
/// # Errors
/// [`TableError::SchemaDiffers`] if its columns are not the struct's fields.
pub fn columns_of<T: Stored>(schema: &Schema) -> Result<Arc<[usize]>, TableError> {
    let fields = T::FIELDS.iter().map(|(name, kind, nullable)| {
        let nullable = if *nullable { ", nullable" } else { "" };
        let wanted = format!("field {name:?} is {kind}{nullable}");
        let Some(number) = schema.column(name) else {
            let names: Vec<_> = schema.live_columns().map(|(_, c)| &*c.name).collect();
            let there = names.join(", ");
            return Err(differs::<T>(format!(
                "{wanted}, and there is no such column: there are {there}; add the column, or remove the field"
            )));
        };
        let column = &schema.columns[number];
        if column.kind != *kind || column.is_nullable() != nullable.starts_with(',') {
            let there = describe(column);
            return Err(differs::<T>(format!(
                "{wanted}, and the column is {there}; declare the field as the database has it, or change the column"
            )));
        }
        Ok(number)
    });
    let columns: Arc<[usize]> = fields.collect::<Result<_, _>>()?;
    for (number, column) in schema.live_columns() {
        if !columns.contains(&number) && !column.is_filled() {
            let (name, there) = (&column.name, describe(column));
            return Err(differs::<T>(format!(
                "column {name:?} is {there} without a default, and there is no such field; add the field"
            )));
        }
    }
    Ok(columns)
}

fn describe(column: &Column) -> String {
    match column.is_nullable() {
        true => format!("{}, nullable", column.kind),
        false => column.kind.to_string(),
    }
}

/// That a struct's table is not what the struct says.
#[doc(hidden)]
#[cold]
pub fn differs<T: Stored>(text: String) -> TableError {
    let table = T::TABLE.to_string();
    TableError::SchemaDiffers { table, text }
}

/// That a stored value is none of its field's type.
#[doc(hidden)]
#[cold]
pub fn no_value_of_field(table: &str, field: &str, value: ValueRef<'_>) -> TableError {
    TableError::Field {
        table: table.to_string(),
        field: field.to_string(),
        value: format!("{:?}", value.to_value()),
    }
}

macro_rules! integers {
    ($($type:ty => $kind:ident),* $(,)?) => {$(
        impl StoredField for $type {
            const KIND: Type = Type::$kind;

            fn to_value(&self) -> ValueRef<'_> {
                ValueRef::Int((*self).into())
            }

            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                match value {
                    ValueRef::Int(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
);

macro_rules! fields {
    ($($type:ty: $kind:expr, $value:ident => $to:expr, $from:pat => $into:expr;)*) => {$(
        impl StoredField for $type {
            const KIND: Type = $kind;

            fn to_value(&self) -> ValueRef<'_> {
                let $value = self;
                $to
            }

            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                match value {
                    $from => Some($into),
                    _ => None,
                }
            }
        }
    )*};
}

fields! {
    bool: Type::Bool, value => ValueRef::Bool(*value), ValueRef::Bool(value) => value;
    u128: Type::U128, value => ValueRef::U128(*value), ValueRef::U128(value) => value;
    f32: Type::F32, value => ValueRef::Float((*value).into()), ValueRef::Float(value) => value as f32;
    f64: Type::F64, value => ValueRef::Float(*value), ValueRef::Float(value) => value;
    String: Type::Text, value => ValueRef::Text(value), ValueRef::Text(value) => value.to_string();
    Vec<u8>: Type::Bytes, value => ValueRef::Bytes(value), ValueRef::Bytes(value) => value.to_vec();
    Date: Type::Date, value => ValueRef::Date(value.0), ValueRef::Date(days) => Date(days);
    Time: Type::Time, value => ValueRef::Time(value.0), ValueRef::Time(time) => Time(time);
    Timestamp: Type::Timestamp, value => ValueRef::Timestamp(value.0), ValueRef::Timestamp(time) => Timestamp(time);
    Uuid: Type::Uuid, value => ValueRef::Uuid(&value.0), ValueRef::Uuid(bytes) => Uuid(*bytes);
}

impl<const SCALE: u8> StoredField for Decimal<SCALE> {
    const KIND: Type = Type::Decimal { scale: SCALE };

    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Decimal(self.units(), SCALE)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Decimal(units, scale) if scale == SCALE => Some(Self::from_units(units)),
            _ => None,
        }
    }
}

impl<const N: usize> StoredField for [u8; N] {
    const KIND: Type = Type::Plain {
        bytes: N as u32,
        align: 1,
        fingerprint: crate::columns::BYTES_FINGERPRINT,
    };

    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Bytes(self)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Bytes(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: StoredField> StoredField for Option<T> {
    const KIND: Type = T::KIND;
    const NULLABLE: bool = true;

    fn to_value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, T::to_value)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

macro_rules! keys {
    ($($type:ty),*) => {$(
        impl KeyValues for $type {
            fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
                each(self.to_value());
            }
        }
    )*};
}

keys!(Date, Time, Timestamp, Uuid);

impl<const SCALE: u8> KeyValues for Decimal<SCALE> {
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        each(self.to_value());
    }
}
