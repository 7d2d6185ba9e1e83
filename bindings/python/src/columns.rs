//! A table's columns as buffers, which NumPy and Arrow use directly: no Python object is created for a row.
//!
//! Values of a fixed width are contiguous. Text and bytes have Arrow's form: all bytes in one buffer, and the
//! start of each value in another. A bit for each value is set if it is not null, as in Arrow.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sardonyx::Error;
use sardonyx::rows::ReadRow;
use sardonyx::schema::{Column, Schema, Type, ValueRef};

/// A column's buffers.
pub struct Buffers {
    name: String,
    kind: Type,
    count: usize,
    data: Vec<u8>,
    /// For text and bytes: the start of each value in `data`, and the end of the last.
    offsets: Option<Vec<u8>>,
    /// A bit for each value, from the lowest on; it is set if the value is not null.
    validity: Option<Vec<u8>>,
}

/// The parts of a column for Python: name, type, number of values, data, offsets, validity.
pub type Parts<'py> = (
    String,
    String,
    usize,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
);

impl Buffers {
    fn of(column: &Column, rows: usize) -> Self {
        let bytes = column.kind.bytes();
        Buffers {
            name: column.name.clone(),
            kind: column.kind,
            count: 0,
            data: Vec::with_capacity(rows * bytes),
            offsets: column.kind.is_variable().then(|| vec![0; 8]),
            validity: column.is_nullable().then(Vec::new),
        }
    }

    fn push(&mut self, value: ValueRef<'_>) {
        if let Some(validity) = &mut self.validity {
            if self.count.is_multiple_of(8) {
                validity.push(0);
            }
            let there = u8::from(value != ValueRef::Null);
            if let Some(last) = validity.last_mut() {
                *last |= there << (self.count % 8);
            }
        }
        self.count += 1;
        let data = &mut self.data;
        match (value, self.kind) {
            (ValueRef::Text(text), _) => data.extend_from_slice(text.as_bytes()),
            (ValueRef::Bytes(bytes), _) => data.extend_from_slice(bytes),
            (ValueRef::Uuid(bytes), _) => data.extend_from_slice(bytes),
            (ValueRef::Bool(value), _) => data.push(value.into()),
            (ValueRef::Float(value), Type::F32) => {
                data.extend_from_slice(&(value as f32).to_le_bytes());
            }
            (ValueRef::Float(value), _) => data.extend_from_slice(&value.to_le_bytes()),
            (ValueRef::Date(days), _) => data.extend_from_slice(&days.to_le_bytes()),
            (ValueRef::Time(value) | ValueRef::Timestamp(value), _) => {
                data.extend_from_slice(&value.to_le_bytes());
            }
            (ValueRef::U128(value), _) => data.extend_from_slice(&value.to_le_bytes()),
            // The units that stand for it, which Python tells from numbers.
            (ValueRef::NonFinite(value), _) => {
                data.extend_from_slice(&value.units().to_le_bytes());
            }
            (ValueRef::Int(value) | ValueRef::Decimal(value, _), kind) => {
                data.extend_from_slice(&value.to_le_bytes()[..kind.bytes()]);
            }
            // A null: zeroes, or nothing for values of variable length.
            (_, kind) if !kind.is_variable() => data.resize(data.len() + kind.bytes(), 0),
            _ => {}
        }
        if let Some(offsets) = &mut self.offsets {
            offsets.extend_from_slice(&(data.len() as u64).to_le_bytes());
        }
    }

    /// Hands the buffers to Python.
    pub fn into_parts(self, py: Python<'_>) -> Parts<'_> {
        let buffer = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        (
            self.name,
            self.kind.to_string(),
            self.count,
            buffer(self.data),
            self.offsets.map(buffer),
            self.validity.map(buffer),
        )
    }
}

/// Reads columns of rows, about so many; all columns, if none are named.
pub fn read<W: ReadRow>(
    schema: &Schema,
    names: Option<&[String]>,
    about: u64,
    rows: impl Iterator<Item = Result<W, Error>>,
) -> Result<Vec<Buffers>, Error> {
    let mut columns = Vec::new();
    match names {
        None => columns.extend(schema.own_columns().map(|(number, _)| number)),
        Some(names) => {
            for name in names {
                let number = schema.column(name);
                columns.push(number.ok_or_else(|| no_column(name))?);
            }
        }
    }
    let about = usize::try_from(about).unwrap_or(0);
    let of = |&number: &usize| Buffers::of(&schema.columns[number], about);
    let mut buffers: Vec<Buffers> = columns.iter().map(of).collect();
    for row in rows {
        let row = row?;
        for (buffers, &number) in buffers.iter_mut().zip(&columns) {
            buffers.push(row.value_at(number)?);
        }
    }
    Ok(buffers)
}

fn no_column(name: &str) -> Error {
    Error::Refused(format!("the table has no column {name:?}").into())
}
