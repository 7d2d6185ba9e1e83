//! Values of columns, by the columns' numbers, on their way into a row.

use super::RowError;
use super::error::shown;
use super::fixed::{encode, variable_bytes};
use crate::schema::{COLUMNS_MAX, Column, Schema, Value, ValueRef};

/// Values for some columns of a row. What is not set gets the column's default in a new row, and stays as it
/// is in one that is changed.
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

    /// The same for another row: no column is set.
    #[inline]
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Sets the value of the column with this number, and returns what was set before.
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
        self.values.get(column).copied().flatten()
    }

    /// The columns that are set, with their values.
    #[inline]
    pub fn set_columns(&self) -> impl Iterator<Item = (usize, ValueRef<'v>)> + '_ {
        let values = self.values.iter().enumerate();
        values.filter_map(|(column, value)| Some((column, (*value)?)))
    }

    /// Of columns that are named.
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

    /// Of all columns that are not dropped, in order.
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

    /// Has a value, or a default, for each column that a new row needs one for.
    #[inline]
    pub fn complete(&mut self, schema: &'v Schema, table: &str) -> Result<(), RowError> {
        self.values.resize(schema.columns.len(), None);
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

    /// Checks that each value fits its column.
    #[inline]
    pub fn check(&self, schema: &Schema, table: &str) -> Result<(), RowError> {
        let mut place = [0; 16];
        for (number, value) in self.set_columns() {
            let column = match schema.columns.get(number) {
                Some(column) if !column.dropped => column,
                _ => return Err(unknown(schema, table, &format!("number {number}"))),
            };
            if value == ValueRef::Null {
                check_null(table, column)?;
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

fn check_null(table: &str, column: &Column) -> Result<(), RowError> {
    match column.is_nullable() {
        true => Ok(()),
        false => Err(RowError::Null {
            table: table.to_string(),
            column: column.name.clone(),
        }),
    }
}

/// The number of the column with this name.
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
