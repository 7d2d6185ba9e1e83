//! Records: rows as values. A value is bytes with the names and types of its fields and their values, so that every
//! function that takes a record finds them there. Tables store no records.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rowtypes.c`.

use crate::error::{SqlError, code};
use crate::types::SqlType;
use sardonyx::schema::{NonFinite, VALUE_BYTES_MAX, Value, ValueRef};

/// The most fields of a row, as in PostgreSQL.
pub(crate) const FIELDS_MAX: usize = 1664;
/// The most levels of records in records. Each level doubles the quotes in the text of the innermost.
const DEPTH_MAX: u8 = 16;

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Field<'a> {
    pub name: &'a str,
    pub kind: SqlType,
    pub value: ValueRef<'a>,
}

/// The names and types of a record's fields, which precede the values in its bytes.
pub(crate) fn described<'f>(fields: impl Iterator<Item = (&'f str, SqlType)>) -> Vec<u8> {
    let mut bytes = vec![0; 2];
    let mut count = 0_u16;
    for (name, kind) in fields.take(u16::MAX.into()) {
        bytes.extend(kind.number().to_le_bytes());
        push_sized(name.as_bytes(), &mut bytes);
        count += 1;
    }
    if let Some(place) = bytes.get_mut(..2) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    bytes
}

/// The names and types of [`described`].
///
/// # Errors
/// `XX001` if the bytes are none.
pub(crate) fn fields_of(description: &[u8]) -> Result<Vec<(&str, SqlType)>, SqlError> {
    Reader(description).description()
}

/// The record of a description and its values.
///
/// # Errors
/// `54001` if records are nested too deep; `54000` if the record is too long.
pub(crate) fn made<'v>(
    description: &[u8],
    values: impl Iterator<Item = ValueRef<'v>>,
) -> Result<Value, SqlError> {
    let kinds = fields_of(description)?.into_iter().map(|(_, kind)| kind);
    let mut bytes = Vec::with_capacity(1 + 2 * description.len());
    bytes.push(0);
    bytes.extend(description);
    let mut depth = 0;
    for (kind, value) in kinds.zip(values) {
        depth = depth.max(depth_of(kind, value));
        push_value(value, &mut bytes);
    }
    if depth >= DEPTH_MAX {
        let text = format!("records may be nested {DEPTH_MAX} deep");
        return Err(SqlError::new(code::TOO_COMPLEX, text));
    }
    // Each level may double the length of the text.
    if bytes.len() > VALUE_BYTES_MAX >> depth {
        let text = format!(
            "a row of {} bytes is too long: {} are allowed at this depth",
            bytes.len(),
            VALUE_BYTES_MAX >> depth
        );
        return Err(SqlError::new(code::PROGRAM_LIMIT, text));
    }
    if let Some(first) = bytes.first_mut() {
        *first = depth + 1;
    }
    Ok(Value::Bytes(bytes))
}

/// The levels of records, and of arrays of them, in a value.
fn depth_of(kind: SqlType, value: ValueRef<'_>) -> u8 {
    match (kind, value) {
        (SqlType::Record, ValueRef::Bytes(bytes)) => bytes.first().copied().unwrap_or(0),
        (SqlType::RecordArray, ValueRef::Text(text)) => {
            // The elements are digits, behind the bounds; the first two are the depth.
            let elements = text.rsplit('=').next().unwrap_or_default();
            let elements = elements.split(['{', '}', ',']);
            let depths = elements.filter_map(|element| byte_of(element.get(..2)?));
            depths.max().unwrap_or(0).saturating_add(1)
        }
        _ => 0,
    }
}

/// The fields of a record.
///
/// # Errors
/// `XX001` if the bytes are none.
pub(crate) fn fields(record: &[u8]) -> Result<Vec<Field<'_>>, SqlError> {
    let mut rest = Reader(record);
    rest.taken(1)?;
    let described = rest.description()?.into_iter();
    let fields = described.map(|(name, kind)| {
        let value = rest.value()?;
        Ok(Field { name, kind, value })
    });
    fields.collect()
}

/// True if all fields are null, or if none is. A record in a field counts as a value, whatever it has.
///
/// # Errors
/// As [`fields`].
pub(crate) fn are_null(record: &[u8], are: bool) -> Result<bool, SqlError> {
    let fields = fields(record)?;
    let mut fields = fields.iter();
    Ok(fields.all(|field| (field.value == ValueRef::Null) == are))
}

/// The text that an array has for a record: hexadecimal digits, since the record's own text has no types.
pub(crate) fn element_text(record: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    let digits = record
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// The record of [`element_text`].
///
/// # Errors
/// `XX001` if it is none.
pub(crate) fn of_element(text: &str) -> Result<Vec<u8>, SqlError> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|pair| byte_of(std::str::from_utf8(pair).ok()?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.filter(|_| rest.is_empty()).ok_or_else(damaged)
}

/// The byte of two hexadecimal digits.
fn byte_of(digits: &str) -> Option<u8> {
    u8::from_str_radix(digits, 16).ok()
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(code::DATA_CORRUPTED, "these bytes are no record")
}

fn push_sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

fn push_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Bool(value) => out.extend([1, value.into()]),
        ValueRef::Int(value) => {
            // Most are small.
            match i64::try_from(value) {
                Ok(value) => {
                    out.push(2);
                    out.extend(value.to_le_bytes());
                }
                Err(_) => {
                    out.push(3);
                    out.extend(value.to_le_bytes());
                }
            }
        }
        ValueRef::U128(value) => {
            out.push(4);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Float(value) => {
            out.push(5);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Decimal(units, scale) => {
            out.extend([6, scale]);
            out.extend(units.to_le_bytes());
        }
        ValueRef::NonFinite(value) => {
            out.push(7);
            out.extend(value.units().to_le_bytes());
        }
        ValueRef::Text(text) => {
            out.push(8);
            push_sized(text.as_bytes(), out);
        }
        ValueRef::Bytes(bytes) => {
            out.push(9);
            push_sized(bytes, out);
        }
        ValueRef::Date(days) => {
            out.push(10);
            out.extend(days.to_le_bytes());
        }
        ValueRef::Time(time) => {
            out.push(11);
            out.extend(time.to_le_bytes());
        }
        ValueRef::Timestamp(time) => {
            out.push(12);
            out.extend(time.to_le_bytes());
        }
        ValueRef::Uuid(bytes) => {
            out.push(13);
            out.extend(bytes);
        }
        _ => out.push(0),
    }
}

/// The rest of a record's bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn taken(&mut self, count: usize) -> Result<&'a [u8], SqlError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn exactly<const COUNT: usize>(&mut self) -> Result<&'a [u8; COUNT], SqlError> {
        self.taken(COUNT)?.try_into().map_err(|_| damaged())
    }

    fn sized(&mut self) -> Result<&'a [u8], SqlError> {
        let length = u32::from_le_bytes(*self.exactly()?);
        self.taken(length as usize)
    }

    fn text(&mut self) -> Result<&'a str, SqlError> {
        std::str::from_utf8(self.sized()?).map_err(|_| damaged())
    }

    fn description(&mut self) -> Result<Vec<(&'a str, SqlType)>, SqlError> {
        let count = u16::from_le_bytes(*self.exactly()?);
        let mut fields = Vec::with_capacity(count.into());
        for _ in 0..count {
            let kind = SqlType::from_number(u32::from_le_bytes(*self.exactly()?));
            fields.push((self.text()?, kind.ok_or_else(damaged)?));
        }
        Ok(fields)
    }

    fn value(&mut self) -> Result<ValueRef<'a>, SqlError> {
        let [tag] = *self.exactly()?;
        Ok(match tag {
            0 => ValueRef::Null,
            1 => ValueRef::Bool(*self.exactly::<1>()? == [1]),
            2 => ValueRef::Int(i64::from_le_bytes(*self.exactly()?).into()),
            3 => ValueRef::Int(i128::from_le_bytes(*self.exactly()?)),
            4 => ValueRef::U128(u128::from_le_bytes(*self.exactly()?)),
            5 => ValueRef::Float(f64::from_le_bytes(*self.exactly()?)),
            6 => {
                let [scale] = *self.exactly()?;
                ValueRef::Decimal(i128::from_le_bytes(*self.exactly()?), scale)
            }
            7 => {
                let units = i128::from_le_bytes(*self.exactly()?);
                ValueRef::NonFinite(NonFinite::of_units(units).ok_or_else(damaged)?)
            }
            8 => ValueRef::Text(self.text()?),
            9 => ValueRef::Bytes(self.sized()?),
            10 => ValueRef::Date(i32::from_le_bytes(*self.exactly()?)),
            11 => ValueRef::Time(i64::from_le_bytes(*self.exactly()?)),
            12 => ValueRef::Timestamp(i64::from_le_bytes(*self.exactly()?)),
            13 => ValueRef::Uuid(self.exactly()?),
            _ => return Err(damaged()),
        })
    }
}

#[cfg(test)]
mod tests;
