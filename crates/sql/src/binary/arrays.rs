//! Arrays in binary: the number of dimensions, a flag for nulls, the type of the elements. Then the size and the first
//! subscript of each dimension, and the elements with their lengths. An empty array has no dimension.

use super::{decode_binary, encode_field};
use crate::error::{SqlError, code, malformed};
use crate::text::text_of;
use crate::types::{CompositeType, SqlType};
use crate::values::{arrays, composites};
use sardonyx::schema::Value;

/// The most dimensions of an array, as in PostgreSQL.
const DIMENSIONS_MAX: i32 = 6;

/// Appends an array, which is a text.
///
/// # Errors
/// `22P02` if an element is no value of its type.
pub(super) fn write(
    array: SqlType,
    element: SqlType,
    text: &str,
    scratch: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let values = arrays::values(text, element)?;
    let mut bounds = arrays::Array::known(text).bounds;
    if bounds.is_empty() && array.is_vector() {
        bounds.push((0, 0));
    }
    let has_null = values.contains(&Value::Null);
    out.extend((bounds.len() as i32).to_be_bytes());
    out.extend(i32::from(has_null).to_be_bytes());
    out.extend(element.oid().to_be_bytes());
    for (first, length) in bounds {
        out.extend((length as i32).to_be_bytes());
        out.extend((first as i32).to_be_bytes());
    }
    for value in &values {
        encode_field(element, &value.as_ref(), scratch, out)?;
    }
    Ok(())
}

/// Reads an array.
///
/// # Errors
/// `22P03` if it is no array, `42804` if its elements are of another type. `0A000` for a vector with other bounds than
/// PostgreSQL's, `54000` for too many dimensions. The errors of its elements.
pub(super) fn read(array: SqlType, element: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    let mut rest = Rest(bytes);
    let dimensions = rest.number()?;
    // Some clients set the flag of nulls without nulls, others leave it out.
    if !matches!(rest.number()?, 0 | 1) {
        return Err(malformed("invalid array flags"));
    }
    let found = rest.number()? as u32;
    if found != element.oid() {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {found} ({}) instead of expected {} ({})",
                SqlType::from_oid(found).map_or("???", SqlType::name),
                element.oid(),
                element.name()
            ),
        ));
    }
    match dimensions {
        0..=DIMENSIONS_MAX => {}
        ..0 => {
            return Err(malformed(format!(
                "invalid number of dimensions: {dimensions}"
            )));
        }
        _ => {
            return Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!(
                    "number of array dimensions ({dimensions}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
                ),
            ));
        }
    }
    let mut bounds = Vec::with_capacity(dimensions as usize);
    for _ in 0..dimensions {
        let length = rest.number()?;
        let first = i64::from(rest.number()?);
        let length = usize::try_from(length);
        let length = length.map_err(|_| malformed("a negative number of elements"))?;
        bounds.push((first, length));
    }
    let lengths = bounds.iter().map(|(_, length)| *length);
    let count = match bounds.is_empty() {
        true => Some(0),
        false => lengths.into_iter().try_fold(1, usize::checked_mul),
    };
    let count = count.ok_or_else(|| malformed("too many elements"))?;
    if array.is_vector() && count > 0 && !matches!(bounds.as_slice(), [(0, _)]) {
        return Err(SqlError::unsupported(
            "a vector has one dimension, whose first subscript is 0",
        ));
    }
    // Each element has at least its length, so the reserved memory is no larger than the message.
    let mut values = Vec::with_capacity(count.min(rest.0.len() / 4));
    for _ in 0..count {
        values.push(match rest.element()? {
            None if array.is_vector() => return Err(malformed("a vector has no nulls")),
            None => Value::Null,
            Some(bytes) => decode_binary(element, bytes)?,
        });
    }
    match (rest.0, array.is_vector()) {
        ([], false) => {
            let texts = values.iter().map(|value| text_of(element, value.as_ref()));
            let elements: Vec<_> = texts.collect();
            if elements.is_empty() {
                bounds.clear();
            }
            let array = arrays::Array { bounds, elements };
            Ok(Value::Text(array.text()))
        }
        ([], true) => Ok(arrays::vector_of(element, values.iter().map(Value::as_ref))),
        (rest, _) => Err(malformed(format!("{} bytes behind an array", rest.len()))),
    }
}

/// Reads a row of a composite type: the number of fields, and each with its type and its length.
///
/// # Errors
/// `42804` if it has other fields than the type; `22P03` if it is no row. The errors of its fields.
pub(super) fn read_row(of: CompositeType, bytes: &[u8]) -> Result<Value, SqlError> {
    let mut rest = Rest(bytes);
    let (count, fields) = (rest.number()?, of.fields());
    if usize::try_from(count) != Ok(fields.len()) {
        let expected = fields.len();
        let text = format!("wrong number of columns: {count}, expected {expected}");
        return Err(SqlError::new(code::DATATYPE_MISMATCH, text));
    }
    let mut values = Vec::with_capacity(fields.len());
    for (field, at) in fields.iter().zip(1..) {
        let (found, kind) = (rest.number()? as u32, field.spec.kind);
        if found != kind.oid() {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!(
                    "binary data has type {found} ({}) instead of expected {} ({}) in record column {at}",
                    SqlType::from_oid(found).map_or("???", SqlType::name),
                    kind.oid(),
                    kind.name()
                ),
            ));
        }
        values.push(match rest.element()? {
            None => Value::Null,
            Some(bytes) => composites::fit(decode_binary(kind, bytes)?, field)?,
        });
    }
    match rest.0 {
        [] => composites::written(of, &values),
        rest => Err(malformed(format!("{} bytes behind a row", rest.len()))),
    }
}

/// The part of an array that is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], SqlError> {
        let split = self.0.split_at_checked(count);
        let (taken, rest) = split.ok_or_else(|| malformed("insufficient data left in message"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<i32, SqlError> {
        let bytes = self.take(4)?.first_chunk().copied().unwrap_or_default();
        Ok(i32::from_be_bytes(bytes))
    }

    fn element(&mut self) -> Result<Option<&'a [u8]>, SqlError> {
        match self.number()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.take(length).map(Some),
                Err(_) => Err(malformed("insufficient data left in message")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::encode_binary;
    use sardonyx::schema::ValueRef;

    fn words(words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn code_of(array: SqlType, numbers: &[i32]) -> Result<Value, &'static str> {
        decode_binary(array, &words(numbers)).map_err(|error| error.code)
    }

    const INT4: i32 = 23;

    #[test]
    fn an_array_as_postgresql_sends_it() {
        // select array_send(array[1,null]), array_send('{}'::int[]), int2vectorsend('1 2')
        let expected = [
            (
                SqlType::Int4Array,
                "{1,NULL}",
                words(&[1, 1, INT4, 2, 1, 4, 1, -1]),
            ),
            (SqlType::Int4Array, "{}", words(&[0, 0, INT4])),
            // select array_send('{{1},{2}}'::int[]), array_send('[0:0]={7}'::int[])
            (
                SqlType::Int4Array,
                "{{1},{2}}",
                words(&[2, 0, INT4, 2, 1, 1, 1, 4, 1, 4, 2]),
            ),
            (
                SqlType::Int4Array,
                "[0:0]={7}",
                words(&[1, 0, INT4, 1, 0, 4, 7]),
            ),
            (
                SqlType::OidVector,
                "1 2",
                words(&[1, 0, 26, 2, 0, 4, 1, 4, 2]),
            ),
            (SqlType::OidVector, "", words(&[1, 0, 26, 0, 0])),
        ];
        for (kind, text, bytes) in expected {
            let mut out = Vec::new();
            let value = ValueRef::Text(text);
            encode_binary(kind, &value, &mut String::new(), &mut out).expect("it has a form");
            assert_eq!(out, bytes, "{text}");
            assert_eq!(
                decode_binary(kind, &bytes).ok(),
                Some(Value::Text(text.into()))
            );
        }
    }

    #[test]
    fn other_bytes_are_refused_by_their_codes() {
        let int4 = |numbers: &[i32]| code_of(SqlType::Int4Array, numbers);
        // Another type of elements is an error, also without elements.
        assert_eq!(int4(&[1, 0, 25, 0, 1]), Err(code::DATATYPE_MISMATCH));
        assert_eq!(int4(&[0, 0, 20]), Err(code::DATATYPE_MISMATCH));
        assert_eq!(int4(&[0, 2, INT4]), Err(code::INVALID_BINARY));
        assert_eq!(int4(&[-1, 0, INT4]), Err(code::INVALID_BINARY));
        assert_eq!(int4(&[7, 0, INT4]), Err(code::PROGRAM_LIMIT));
        assert_eq!(
            int4(&[2, 0, INT4, 2, 1, 2, 1, 4, 7]),
            Err(code::INVALID_BINARY)
        );
        assert_eq!(
            int4(&[2, 0, INT4, i32::MAX, 1, i32::MAX, 1]),
            Err(code::INVALID_BINARY)
        );
        let vector = |numbers: &[i32]| code_of(SqlType::OidVector, numbers);
        assert_eq!(
            vector(&[1, 0, 26, 1, 1, 4, 7]),
            Err(code::FEATURE_NOT_SUPPORTED)
        );
        assert_eq!(int4(&[1, 0, INT4, -1, 1]), Err(code::INVALID_BINARY));
        assert_eq!(int4(&[1, 0, INT4, i32::MAX, 1]), Err(code::INVALID_BINARY));
        assert_eq!(int4(&[1, 0, INT4, 1, 1, -2]), Err(code::INVALID_BINARY));
        assert_eq!(
            int4(&[1, 0, INT4, 1, 1, -1]),
            Ok(Value::Text("{NULL}".into()))
        );
        assert_eq!(
            int4(&[1, 0, INT4, 1, 1, 8, 7, 7]),
            Err(code::INVALID_BINARY)
        );
        assert_eq!(
            int4(&[1, 0, INT4, 1, 1, 4, 7, 7]),
            Err(code::INVALID_BINARY)
        );
        assert_eq!(vector(&[1, 1, 26, 1, 0, -1]), Err(code::INVALID_BINARY));
    }

    #[test]
    fn an_element_that_is_none_is_an_error() {
        let value = ValueRef::Text("{1,x}");
        let error = encode_binary(
            SqlType::Int4Array,
            &value,
            &mut String::new(),
            &mut Vec::new(),
        );
        assert_eq!(error.expect_err("x is no number").code, code::INVALID_TEXT);
    }
}
