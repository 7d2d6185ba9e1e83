//! Values of columns, by the columns' numbers, on their way into a row.

use super::error::shown;
use super::fixed::{encode, variable_bytes};
use super::{RowError, RowValues};
use crate::schema::{
    COLUMNS_MAX, Declared, DeclaredDefault, Schema, Type, VALUE_BYTES_MAX, Value, ValueRef,
};
use std::borrow::Cow;

/// Values for some columns of a row. A column that is not set gets its default in a new row, and keeps its value in
/// one that is changed.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct RowWriter<'v> {
    values: Vec<Option<ValueRef<'v>>>,
}

impl<'v> RowWriter<'v> {
    /// Values for none of the columns, with room for so many.
    #[inline]
    pub fn new(columns: usize) -> Self {
        RowWriter {
            values: Vec::with_capacity(columns.min(COLUMNS_MAX)),
        }
    }

    /// Values for these columns, by their numbers.
    pub fn of(columns: &[(usize, ValueRef<'v>)]) -> Self {
        let mut row = RowWriter::default();
        for (column, value) in columns {
            row.set(*column, *value);
        }
        row
    }

    /// The same for another row: no column is set.
    #[inline]
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Sets the value of the column with this number, and returns its former value here.
    ///
    /// # Panics
    /// If no table has so many columns.
    #[inline]
    pub fn set(&mut self, column: usize, value: ValueRef<'v>) -> Option<ValueRef<'v>> {
        assert!(
            column < COLUMNS_MAX,
            "there are at most {COLUMNS_MAX} columns"
        );
        if column >= self.values.len() {
            self.values.resize(column + 1, None);
        }
        self.values[column].replace(value)
    }

    /// The value of a column, if it is set.
    #[inline]
    pub fn get(&self, column: usize) -> Option<ValueRef<'v>> {
        self.values().get(column)
    }

    /// The columns that are set, with their values.
    #[inline]
    pub fn set_columns(&self) -> impl Iterator<Item = (usize, ValueRef<'v>)> + '_ {
        self.values().set_columns()
    }

    /// The values, borrowed.
    #[inline]
    pub fn values(&self) -> RowValues<'_, 'v> {
        RowValues::new(&self.values)
    }

    /// A writer with these values.
    #[cold]
    pub fn of_values(values: RowValues<'_, 'v>) -> Self {
        RowWriter {
            values: values.0.to_vec(),
        }
    }

    /// A writer with columns by name.
    #[inline]
    pub fn named(
        schema: &Schema,
        table: &str,
        values: &'v [(&str, Value)],
    ) -> Result<Self, RowError> {
        let mut row = RowWriter::new(schema.columns.len());
        for (name, value) in values {
            let column = column_named(schema, table, name)?;
            if row.set(column, value.as_ref()).is_some() {
                return Err(RowError::Twice {
                    table: table.to_string(),
                    column: name.to_string(),
                });
            }
        }
        Ok(row)
    }

    /// A writer with all columns that are not dropped, in order.
    #[inline]
    pub fn in_order(schema: &Schema, table: &str, values: &'v [Value]) -> Result<Self, RowError> {
        let wanted = schema.live_columns().count();
        if wanted != values.len() {
            return Err(RowError::Count {
                table: table.to_string(),
                what: "columns",
                wanted,
                given: values.len(),
            });
        }
        let mut row = RowWriter::new(schema.columns.len());
        for ((column, _), value) in schema.live_columns().zip(values) {
            row.set(column, value.as_ref());
        }
        Ok(row)
    }

    /// Has a value, or a default, for each column that a new row needs one for, as its declared type stores it. Defaults
    /// that are computed are set before ([`computed_defaults`](crate::constraints::computed_defaults)).
    #[inline]
    pub fn complete(&mut self, schema: &'v Schema, table: &str) -> Result<(), RowError> {
        self.values.resize(schema.columns.len(), None);
        if !schema.declared.is_empty() {
            self.set_declared_defaults(schema, table, 0)?;
            self.fit(schema, table)?;
        }
        for (value, column) in self.values.iter_mut().zip(&schema.columns) {
            if value.is_some() || column.dropped {
                continue;
            }
            let default = column.default.as_ref();
            if default == ValueRef::Null && !column.is_nullable() {
                return Err(RowError::Missing {
                    table: table.to_string(),
                    column: column.name.clone(),
                });
            }
            *value = Some(default);
        }
        Ok(())
    }

    /// The same of the columns alone that were added to a table: those of its first shape are a record's.
    ///
    /// # Errors
    /// The errors of [`RowWriter::complete`].
    pub fn complete_added(&mut self, schema: &'v Schema, table: &str) -> Result<(), RowError> {
        self.values.resize(schema.columns.len(), None);
        self.set_declared_defaults(schema, table, 1)?;
        for (value, column) in self.values.iter_mut().zip(&schema.columns) {
            if value.is_none() && column.since_shape > 0 && !column.dropped {
                *value = Some(column.default.as_ref());
            }
        }
        self.fit(schema, table)
    }

    /// Sets the declared defaults of columns that no shape before this one has.
    #[inline(never)]
    fn set_declared_defaults(
        &mut self,
        schema: &'v Schema,
        table: &str,
        shape: u8,
    ) -> Result<(), RowError> {
        for declared in &schema.declared {
            let column = &schema.columns[declared.column];
            let value = &mut self.values[declared.column];
            if value.is_some() || column.since_shape < shape {
                continue;
            }
            match &declared.default {
                Some(DeclaredDefault::Value(default)) => *value = Some(default.as_ref()),
                Some(DeclaredDefault::Sql(_) | DeclaredDefault::NextNumber) => {
                    return Err(RowError::not_computed_here(schema, table, declared.column));
                }
                // Computed of the row, once that is whole.
                Some(DeclaredDefault::Generated(_)) => {}
                // No default at all.
                None if column.default == Value::Null && declared.not_null => {
                    return Err(RowError::Missing {
                        table: table.to_string(),
                        column: column.name.clone(),
                    });
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Has the values that are set as the columns' declared types store them: rounded, without blanks that are too many.
    ///
    /// # Errors
    /// [`RowError::Declared`].
    pub fn fit(&mut self, schema: &Schema, table: &str) -> Result<(), RowError> {
        for declared in &schema.declared {
            if let Some(fitted) = self.fitted(schema, table, declared)? {
                self.set(declared.column, fitted);
            }
        }
        Ok(())
    }

    /// The same, where nothing is copied unless a value is stored as another.
    ///
    /// # Errors
    /// The errors of [`RowWriter::fit`].
    #[inline]
    pub fn as_stored(&self, schema: &Schema, table: &str) -> Result<Cow<'_, Self>, RowError> {
        let mut stored = Cow::Borrowed(self);
        for declared in &schema.declared {
            if let Some(fitted) = self.fitted(schema, table, declared)? {
                stored.to_mut().set(declared.column, fitted);
            }
        }
        Ok(stored)
    }

    /// The value of a column as its declared type stores it, if that is another.
    fn fitted(
        &self,
        schema: &Schema,
        table: &str,
        declared: &Declared,
    ) -> Result<Option<ValueRef<'v>>, RowError> {
        let (Some(value), Some(column)) = (
            self.get(declared.column),
            schema.columns.get(declared.column),
        ) else {
            return Ok(None);
        };
        // A generated column's own value replaces a given one.
        if declared.generated().is_some() {
            return Ok(None);
        }
        match declared.limit().fit(value) {
            Some(fitted) => Ok((fitted != value).then_some(fitted)),
            None => Err(RowError::declared(table, column, declared, value)),
        }
    }

    /// Checks that each value fits its column, and that none is null that may not be.
    #[inline]
    pub fn check(&self, schema: &Schema, table: &str) -> Result<(), RowError> {
        let mut place = [0; 16];
        for (number, value) in self.set_columns() {
            let column = match schema.columns.get(number) {
                Some(column) if !column.dropped => column,
                _ => return Err(unknown(schema, table, &format!("number {number}"))),
            };
            if fits_as_it_is(column.kind, value) {
                continue;
            }
            if value == ValueRef::Null {
                check_null(schema, table, number)?;
                continue;
            }
            let fits = match (column.kind.is_variable(), value) {
                (true, value) => variable_bytes(column.kind, value).map(drop),
                (false, ValueRef::Bytes(_)) => {
                    encode(column.kind, value, &mut vec![0; column.kind.bytes()])
                }
                (false, value) => match place.get_mut(..column.kind.bytes()) {
                    Some(place) => encode(column.kind, value, place),
                    None => Err(super::fixed::Unfit::Type),
                },
            };
            fits.map_err(|unfit| unfit.of(table, column, value))?;
        }
        Ok(())
    }
}

/// True if the value of a column is a text with a zero byte. PostgreSQL has none: its clients read texts up to such a byte.
#[inline]
pub(crate) fn has_zero_byte(kind: Type, value: ValueRef<'_>) -> bool {
    match (kind, value) {
        (Type::Text, ValueRef::Text(text)) => text.contains('\0'),
        (Type::Text, ValueRef::Bytes(bytes)) => bytes.contains(&0),
        _ => false,
    }
}

/// True if a value is one of a common type, and fits. Others are encoded to find out.
#[inline]
fn fits_as_it_is(kind: Type, value: ValueRef<'_>) -> bool {
    match (kind, value) {
        (Type::U64, ValueRef::Int(number)) => u64::try_from(number).is_ok(),
        (Type::I64, ValueRef::Int(number)) => i64::try_from(number).is_ok(),
        (Type::Bytes, ValueRef::Bytes(bytes)) => bytes.len() <= VALUE_BYTES_MAX,
        (Type::Text, ValueRef::Text(text)) => text.len() <= VALUE_BYTES_MAX,
        (Type::F64, ValueRef::Float(_)) | (Type::Timestamp, ValueRef::Timestamp(_)) => true,
        _ => false,
    }
}

fn check_null(schema: &Schema, table: &str, number: usize) -> Result<(), RowError> {
    let column = &schema.columns[number];
    let declared = schema.declared(number);
    match column.is_nullable() && !declared.is_some_and(|declared| declared.not_null) {
        true => Ok(()),
        false => Err(RowError::Null {
            table: table.to_string(),
            column: column.name.clone(),
        }),
    }
}

pub(crate) fn column_named(schema: &Schema, table: &str, name: &str) -> Result<usize, RowError> {
    schema
        .column(name)
        .ok_or_else(|| unknown(schema, table, name))
}

#[cold]
fn unknown(schema: &Schema, table: &str, name: &str) -> RowError {
    let names: Vec<_> = schema
        .live_columns()
        .map(|(_, column)| &*column.name)
        .collect();
    RowError::UnknownColumn {
        table: table.to_string(),
        column: shown(ValueRef::Text(name)).trim_matches('"').to_string(),
        there_are: names.join(", "),
    }
}
