//! Structs of a program's own as rows: what `#[derive(Record)]` implements, and the verbs on them.
//!
//! A struct's fields are found by the columns' names when its table is opened, so the table may have its columns in
//! another order, dropped ones among them, and columns more that are nullable or have a default. Reading and writing
//! goes by the columns' numbers, through [`RowRef`] and [`RowWriter`]: the rows are those that every other way has.

use crate::error::TableError;
use crate::key::KeyValues;
use crate::rows::{RowRef, RowWriter, RowsView};
use crate::schema::{Column, Schema, SchemaBuilder, Type, Value, ValueRef};
use crate::schemas::check_name;
use crate::space::{TableSpace, View};
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_storage::store::PageRead;
use std::fmt;
use std::marker::PhantomData;
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

/// A handle of a table of structs; valid for the database that gave it.
pub struct StoredTable<T> {
    number: u16,
    columns: Arc<[usize]>,
    of: PhantomData<fn() -> T>,
}

impl<T> StoredTable<T> {
    /// Its number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }
}

impl<T> Clone for StoredTable<T> {
    fn clone(&self) -> Self {
        StoredTable {
            number: self.number,
            columns: self.columns.clone(),
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for StoredTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredTable {}", self.number)
    }
}

impl TableSpace {
    /// The handle of a struct's table, if there is one.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`] if its columns are not the struct's fields.
    pub fn stored<T: Stored>(&self) -> Result<Option<StoredTable<T>>, TableError> {
        check_name(T::TABLE)?;
        let mut definitions = self.catalogue.definitions.iter();
        let Some(number) = definitions.position(|d| d.name == T::TABLE) else {
            return Ok(None);
        };
        let number = number as u16;
        let columns = match self.schema(number) {
            Some(schema) => columns_of::<T>(schema)?,
            None => return Err(differs::<T>("there is something else of this name".into())),
        };
        Ok(Some(StoredTable {
            number,
            columns,
            of: PhantomData,
        }))
    }
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

#[cold]
fn differs<T: Stored>(text: String) -> TableError {
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

impl Transaction<'_> {
    /// The table of this struct, created where absent.
    ///
    /// # Errors
    /// [`Error::Refused`] if its columns are not the struct's fields; those of
    /// [`create_table`](Transaction::create_table).
    pub fn stored<T: Stored>(&mut self) -> Result<StoredTable<T>, Error> {
        if let Some(table) = self.space.stored::<T>()? {
            return Ok(table);
        }
        self.create_table(T::TABLE, T::schema())?;
        let table = self.space.stored::<T>()?;
        table.ok_or_else(|| differs::<T>("it was not created".into()).into())
    }

    /// Inserts a struct as a row.
    ///
    /// # Errors
    /// Those of [`Rows::insert`](crate::Rows::insert).
    pub fn insert_stored<T: Stored>(&mut self, to: &StoredTable<T>, row: &T) -> Result<(), Error> {
        let values = values_of(to, row);
        self.rows_of(to.number)?.insert_row(&values)
    }

    /// Puts a struct in the place of the row with its key, if there is one; then columns that are no fields get
    /// their defaults. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Rows::put`](crate::Rows::put).
    pub fn put_stored<T: Stored>(&mut self, to: &StoredTable<T>, row: &T) -> Result<bool, Error> {
        let values = values_of(to, row);
        self.rows_of(to.number)?.put_row(&values)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// Those of [`Rows::get`](crate::Rows::get), and [`Error::Damaged`] if a value is none of its field's type.
    pub fn get_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<Option<T>, Error> {
        self.view().get_stored(of, key)
    }

    /// Changes the row with this key in a struct of its own; only what differs is written. Columns that are no fields
    /// stay as they are. Returns what `change` does, or `None` if there is no such row.
    ///
    /// # Errors
    /// Those of [`Rows::update`](crate::Rows::update).
    pub fn update_stored<T: Stored, R>(
        &mut self,
        of: &StoredTable<T>,
        key: impl KeyValues,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>, Error> {
        let key = key_values(&key);
        let mut rows = self.rows_of(of.number)?;
        let Some(row) = rows.get(&key)? else {
            return Ok(None);
        };
        let mut changed = T::read(&of.columns, &row)?;
        drop(row);
        let result = change(&mut changed);
        rows.update_row(&key, &values_of(of, &changed))?;
        Ok(Some(result))
    }

    /// Deletes the row with this key. Returns false if there is none.
    ///
    /// # Errors
    /// Those of [`Rows::delete`](crate::Rows::delete).
    pub fn delete_stored<T: Stored>(
        &mut self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<bool, Error> {
        self.rows_of(of.number)?.delete(&key_values(&key))
    }
}

impl<'a> View<'a> {
    /// The row with this key.
    ///
    /// # Errors
    /// Those of [`RowsView::get`], and [`Error::Damaged`] if a value is none of its field's type.
    pub fn get_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
        key: impl KeyValues,
    ) -> Result<Option<T>, Error> {
        let row = self.rows_of(of.number)?.get(&key_values(&key))?;
        Ok(row.map(|row| T::read(&of.columns, &row)).transpose()?)
    }

    /// All rows, in no particular order.
    ///
    /// # Errors
    /// [`Error::Refused`] if the handle is another database's; of each row, those of reading it.
    pub fn scan_stored<T: Stored>(
        &self,
        of: &StoredTable<T>,
    ) -> Result<impl Iterator<Item = Result<T, Error>> + use<'a, T>, Error> {
        let rows: RowsView<'a> = self.rows_of(of.number)?;
        let columns = of.columns.clone();
        Ok(rows.scan().map(move |row| Ok(T::read(&columns, &row?)?)))
    }
}

fn values_of<'v, T: Stored>(table: &StoredTable<T>, row: &'v T) -> RowWriter<'v> {
    let columns = table.columns.iter().max().map_or(0, |last| last + 1);
    let mut values = RowWriter::new(columns);
    row.write(&table.columns, &mut values);
    values
}

fn key_values(key: &impl KeyValues) -> Vec<Value> {
    let mut values = Vec::new();
    key.each(&mut |value| values.push(value.to_value()));
    values
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

use crate::types::{Date, Decimal, Time, Timestamp, Uuid};

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
