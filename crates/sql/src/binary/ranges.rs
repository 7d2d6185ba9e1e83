//! Ranges in binary: flags, and each bound with its length before it.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rangetypes.c`.

use super::{decode_binary, encode_field};
use crate::error::{SqlError, malformed};
use crate::types::SqlType;
use crate::values::ranges::{bound, made, range, value};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::ranges::{Given, Range};

const IS_EMPTY: u8 = 1;
const HAS_LOWER: u8 = 2;
const HAS_UPPER: u8 = 4;
const NO_LOWER: u8 = 8;
const NO_UPPER: u8 = 16;

/// Appends a range.
///
/// # Errors
/// None of a range.
pub(super) fn write(
    kind: SqlType,
    bytes: &[u8],
    scratch: &mut String,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let Some((lower, upper)) = range(kind, ValueRef::Bytes(bytes)).bounds() else {
        out.push(IS_EMPTY);
        return Ok(());
    };
    let element = kind.bound().unwrap_or(SqlType::Text);
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    out.push(
        flag(lower.is_inclusive(), HAS_LOWER)
            | flag(upper.is_inclusive(), HAS_UPPER)
            | flag(lower.bytes().is_none(), NO_LOWER)
            | flag(upper.bytes().is_none(), NO_UPPER),
    );
    for of in [lower, upper] {
        if of.bytes().is_some() {
            encode_field(element, &bound(kind, of).as_ref(), scratch, out)?;
        }
    }
    Ok(())
}

/// Reads a range.
///
/// # Errors
/// `22P03` if it is none; those of its bounds' values; those of [`made`].
pub(super) fn read(kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    let short = || malformed("insufficient data left in message");
    let (flags, mut rest) = bytes.split_first().ok_or_else(short)?;
    let has = |flag: u8| flags & flag != 0;
    let element = kind.bound().unwrap_or(SqlType::Text);
    let mut given = |none: u8, inclusive: u8| -> Result<Given, SqlError> {
        let value = match has(IS_EMPTY) || has(none) {
            true => None,
            false => {
                let (length, behind) = rest.split_first_chunk().ok_or_else(short)?;
                let length = usize::try_from(i32::from_be_bytes(*length));
                let split = length
                    .ok()
                    .and_then(|length| behind.split_at_checked(length));
                let (value, behind) = split.ok_or_else(short)?;
                rest = behind;
                Some(decode_binary(element, value)?)
            }
        };
        Ok(Given {
            value,
            is_inclusive: has(inclusive),
        })
    };
    let lower = given(NO_LOWER, HAS_LOWER)?;
    let upper = given(NO_UPPER, HAS_UPPER)?;
    if !rest.is_empty() {
        return Err(malformed(format!("{} bytes behind a range", rest.len())));
    }
    match has(IS_EMPTY) {
        true => Ok(value(Range::EMPTY)),
        false => made(kind, lower, upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;
    use crate::text::decode_text;
    use proptest::prelude::*;

    #[test]
    fn a_binary_range_ends_where_its_bounds_do() {
        let range = decode_text(SqlType::Int4Range, "[1,5)").expect("a range");
        let mut bytes = Vec::new();
        let ValueRef::Bytes(stored) = range.as_ref() else {
            panic!("{range:?}");
        };
        write(SqlType::Int4Range, stored, &mut String::new(), &mut bytes).expect("a range");
        // select range_send('[1,5)'::int4range)
        let expected = [2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5];
        assert_eq!(bytes, expected);
        assert_eq!(read(SqlType::Int4Range, &bytes).ok(), Some(range));
        for end in 0..bytes.len() {
            let error = read(SqlType::Int4Range, &bytes[..end]).expect_err("it is short");
            assert_eq!(error.code, code::INVALID_BINARY);
        }
        bytes.push(0);
        assert!(read(SqlType::Int4Range, &bytes).is_err());
        bytes.truncate(17);
        bytes[8] = 9;
        let error = read(SqlType::Int4Range, &bytes).expect_err("9 is above 5");
        assert_eq!(error.code, code::DATA_EXCEPTION);
        bytes[1] = 0xff;
        assert!(read(SqlType::Int4Range, &bytes).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for kind in SqlType::all().filter(|kind| kind.is_range()) {
                if let Ok(value) = read(kind, &bytes) {
                    let ValueRef::Bytes(stored) = value.as_ref() else {
                        panic!("{value:?}");
                    };
                    let mut sent = Vec::new();
                    write(kind, stored, &mut String::new(), &mut sent).expect("a range");
                    prop_assert_eq!(read(kind, &sent).ok(), Some(value));
                }
            }
        }
    }
}
