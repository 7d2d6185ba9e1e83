//! Fields of structs with `#[derive(Record)]`: the types that they may have, and the columns that they are.
//!
//! A struct's fields are found by the columns' names. So the table may have its columns in another order, dropped ones
//! among them. It may also have more columns, if they are nullable or have a default. Reading and writing goes by the
//! columns' numbers, through [`RowRef`](crate::RowRef) and [`RowWriter`]: the rows are the same as in every other way.

use crate::error::TableError;
use crate::key::KeyValues;
use crate::record::{FieldColumn, Record};
use crate::row::{RowError, RowWriter, has_zero_byte};
use crate::schema::{Column, IndexDefinition, IndexKind, KeyPart, Schema, Type, Value, ValueRef};
use crate::types::{Date, Decimal, Time, Timestamp, Uuid};

/// A type that fields of structs with `#[derive(Record)]` may have.
#[diagnostic::on_unimplemented(
    message = "Sardonyx cannot store `{Self}` as a column",
    label = "no type of a column",
    note = "columns are numbers, `bool`, `String`, `Vec<u8>`, `[u8; N]`, what `sardonyx::types` has, enums without fields that \
            have `#[derive(Record)]`, and `Option` of these; give other fields one of these types and convert"
)]
pub trait StoredField: Sized {
    /// The column's type.
    const KIND: Type;
    /// True if there may be no value.
    const NULLABLE: bool = false;
    /// The type of such a value in a key, as verbs take it: a number, or a text as `&str`.
    type Key<'k>: KeyValues + Copy;

    /// The field as a value of its column's type, borrowed where it has a length.
    fn to_value(&self) -> ValueRef<'_>;

    /// Converts a value of such a column; `None` if it is not of this type.
    fn from_value(value: ValueRef<'_>) -> Option<Self>;
}

/// The numbers of the fields' columns in a table of this schema. If they are in the struct's order, as in a table that
/// was created by it, there is no search.
///
/// # Errors
/// [`TableError::SchemaDiffers`] if a column differs from its field's declaration, or the table has another name.
#[doc(hidden)]
pub fn find_columns<const N: usize>(
    of: &str,
    fields: &[FieldColumn],
    schema: &Schema,
    table: &str,
) -> Result<[u16; N], TableError> {
    let mut numbers = [0; N];
    if of != table {
        let text = format!("the handle is of a table that was named {of:?}; open it anew");
        return Err(differs(table, text));
    }
    for (at, (field, number)) in fields.iter().zip(&mut numbers).enumerate() {
        *number = find_column(table, field, schema, at)? as u16;
    }
    Ok(numbers)
}

#[inline]
fn find_column(
    table: &str,
    field: &FieldColumn,
    schema: &Schema,
    at: usize,
) -> Result<usize, TableError> {
    let (name, kind, nullable) = *field;
    let is_there = |column: &&Column| !column.dropped && column.name == name;
    let number = match schema.columns.get(at).filter(is_there) {
        Some(_) => Some(at),
        None => schema.column(name),
    };
    match number.map(|number| (number, &schema.columns[number])) {
        Some((number, column)) if column.kind == kind && column.is_nullable() == nullable => {
            Ok(number)
        }
        found => Err(no_such_column(
            table,
            field,
            schema,
            found.map(|(_, column)| column),
        )),
    }
}

#[cold]
#[inline]
fn no_such_column(
    table: &str,
    (name, kind, nullable): &FieldColumn,
    schema: &Schema,
    found: Option<&Column>,
) -> TableError {
    let nullable = if *nullable { ", nullable" } else { "" };
    let wanted = format!("field {name:?} is {kind}{nullable}");
    differs(
        table,
        match found {
            Some(column) => format!(
                "{wanted}, and the column is {}; declare the field as the database has it, or change the column",
                describe(column)
            ),
            None => {
                let names: Vec<_> = schema.live_columns().map(|(_, c)| &*c.name).collect();
                let there = names.join(", ");
                format!(
                    "{wanted}, and there is no such column: there are {there}; add the column, or remove the field"
                )
            }
        },
    )
}

/// Checks that a table of this schema is a record's, unless it is plain data: its columns are the fields, and all
/// others are filled.
///
/// # Errors
/// [`TableError::SchemaDiffers`].
pub fn check_fields<R: Record>(schema: &Schema) -> Result<(), TableError> {
    R::columns_in(schema, R::TABLE)?;
    for (_, column) in schema.live_columns() {
        let is_field = R::FIELDS.iter().any(|(name, ..)| column.name == *name);
        if !is_field && !column.is_filled() {
            let (name, there) = (&column.name, describe(column));
            return Err(differs(
                R::TABLE,
                format!(
                    "column {name:?} is {there} without a default, and there is no such field; add the field"
                ),
            ));
        }
    }
    check_declared::<R>(schema)
}

/// Checks that a table has the indexes, conditions, references and defaults that a record's type declares.
fn check_declared<R: Record>(schema: &Schema) -> Result<(), TableError> {
    let declared = R::declared();
    let lacks = |what: &str, name: &str| {
        let text = format!(
            "the type declares {what} {name:?}, and the table has none like it; create it, such as in a migration, or \
             remove it from the type"
        );
        differs(R::TABLE, text)
    };
    let wanted = declared.rows().map_err(|source| TableError::Schema {
        table: R::TABLE.to_string(),
        source: Box::new(source),
    })?;
    let named = |of: &Schema, index: &IndexDefinition| {
        let part = |part: &KeyPart| (of.columns[part.column].name.clone(), part.descending);
        let key: Vec<_> = index.key.iter().map(part).collect();
        (index.kind, index.unique, key)
    };
    for index in &wanted.indexes {
        let there = schema.indexes.iter().find(|there| there.name == index.name);
        if there.is_none_or(|there| named(schema, there) != named(&wanted, index)) {
            return Err(lacks("index", &index.name));
        }
    }
    if wanted.primary.kind == IndexKind::Ordered && schema.primary.kind != IndexKind::Ordered {
        return Err(lacks("an ordered primary key", &wanted.primary.name));
    }
    for (name, _) in &wanted.checks {
        if !schema.checks.iter().any(|(there, _)| there == name) {
            return Err(lacks("condition", name));
        }
    }
    for name in declared.reference_names() {
        if !schema.foreign_keys.iter().any(|there| there.name == name) {
            return Err(lacks("reference", name));
        }
    }
    for column in wanted
        .columns
        .iter()
        .filter(|column| column.default != Value::Null)
    {
        let there = schema
            .column(&column.name)
            .map(|number| &schema.columns[number].default);
        if there != Some(&column.default) {
            return Err(lacks("the default of column", &column.name));
        }
    }
    Ok(())
}

/// The key of a record, unless it is plain data.
pub struct KeyOf<'a, 'k, R: Record>(pub &'a R::Key<'k>);

impl<R: Record> KeyValues for KeyOf<'_, '_, R> {
    #[inline]
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        R::key_values(self.0, each);
    }
}

impl<R: Record> std::fmt::Debug for KeyOf<'_, '_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut values = Vec::new();
        self.each(&mut |value| values.push(value.to_value()));
        write!(f, "KeyOf {values:?}")
    }
}

/// The values of a record's fields, unless it is plain data.
///
/// # Errors
/// [`RowError::OutOfRange`] for a text with a zero byte.
#[inline]
pub fn values_of<'v, R: Record>(
    columns: &R::Columns,
    record: &'v R,
) -> Result<RowWriter<'v>, TableError> {
    let mut values = RowWriter::new(R::FIELDS.len());
    record.write_row(columns, &mut values);
    for (number, value) in values.set_columns() {
        if has_zero_byte(Type::Text, value) && matches!(value, ValueRef::Text(_)) {
            let column = format!("number {number}");
            return Err(RowError::zero_byte(R::TABLE, &column, value).into());
        }
    }
    Ok(values)
}

fn describe(column: &Column) -> String {
    match column.is_nullable() {
        true => format!("{}, nullable", column.kind),
        false => column.kind.to_string(),
    }
}

/// The error of a table that differs from its struct.
#[cold]
pub fn differs(table: &str, text: String) -> TableError {
    let table = table.to_string();
    TableError::SchemaDiffers { table, text }
}

/// The error of a stored value that is not of its field's type.
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
            type Key<'k> = $type;

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
    ($($type:ty as $key:ty: $kind:expr, $value:ident => $to:expr, $from:pat => $into:expr;)*) => {$(
        impl StoredField for $type {
            const KIND: Type = $kind;
            type Key<'k> = $key;

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
    bool as bool: Type::Bool, value => ValueRef::Bool(*value), ValueRef::Bool(value) => value;
    u128 as u128: Type::U128, value => ValueRef::U128(*value), ValueRef::U128(value) => value;
    f32 as f32: Type::F32, value => ValueRef::Float((*value).into()), ValueRef::Float(value) => value as f32;
    f64 as f64: Type::F64, value => ValueRef::Float(*value), ValueRef::Float(value) => value;
    String as &'k str: Type::Text, value => ValueRef::Text(value), ValueRef::Text(value) => value.to_string();
    Vec<u8> as &'k [u8]: Type::Bytes, value => ValueRef::Bytes(value), ValueRef::Bytes(value) => value.to_vec();
    Date as Date: Type::Date, value => ValueRef::Date(value.0), ValueRef::Date(days) => Date(days);
    Time as Time: Type::Time, value => ValueRef::Time(value.0), ValueRef::Time(time) => Time(time);
    Timestamp as Timestamp: Type::Timestamp, value => ValueRef::Timestamp(value.0), ValueRef::Timestamp(time) => Timestamp(time);
    Uuid as Uuid: Type::Uuid, value => ValueRef::Uuid(&value.0), ValueRef::Uuid(bytes) => Uuid(*bytes);
}

impl<const SCALE: u8> StoredField for Decimal<SCALE> {
    const KIND: Type = Type::Decimal { scale: SCALE };
    type Key<'k> = Self;

    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::decimal(self.units(), SCALE)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Decimal(units, scale) if scale == SCALE => Some(Self::from_units(units)),
            ValueRef::NonFinite(value) => Some(Self::from_units(value.units())),
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
    type Key<'k> = Self;

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
    type Key<'k> = Option<T::Key<'k>>;

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

impl<const N: usize> KeyValues for [u8; N] {
    fn each(&self, each: &mut dyn FnMut(ValueRef<'_>)) {
        each(ValueRef::Bytes(self));
    }
}
