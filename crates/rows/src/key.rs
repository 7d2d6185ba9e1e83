//! Keys as bytes whose order is that of the values, as ordered indexes compare them.
//!
//! A column that may be null begins with a byte: 1 for a value, 2 for a null. Then:
//!
//! | type | bytes |
//! | --- | --- |
//! | unsigned integers, bool | big-endian |
//! | signed integers, decimal, date, time, timestamp | big-endian, the sign bit flipped |
//! | f32, f64 | in IEEE 754's total order: negative ones flipped, others with the sign bit set; `-0.0` as `0.0` |
//! | text, bytes | a zero byte as `00 FF`, and `00 00` at the end |
//! | UUID, plain data | unchanged |
//!
//! In keys that are too long for an entry of an index, integers of 32 and 64 bits are shorter the nearer they are to
//! zero. So entries hold more of the columns behind them. A value that needs `n` bytes is a byte `80 + n` and its `n`
//! last bytes, big-endian. A negative one is a byte `7f - n` and the `n` last bytes, without those that are `ff`.
//!
//! In a descending column every byte is flipped. So nulls come last in ascending order, first in descending. No key is
//! the beginning of another. Keys that begin with some columns' values begin with those values' bytes.

mod bytes;
mod compare;
mod escaped;
mod span;
mod text;
mod values;

pub use bytes::KeyBytes;
pub use span::Span;
pub use values::KeyValues;

use crate::error::TableError;
use crate::layout::{PageKind, PageLayout, PageUse};
use crate::schema::{IndexDefinition, KEY_BYTES_MAX, NullBit, Schema, Type, Value};
use crate::values::Reference;
use escaped::{has_zero, push_escaped, push_variable};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;

const THERE: u8 = 1;
const NULL: u8 = 2;

/// The first byte of a zero, of an integer that is shorter the nearer it is to zero.
const SHORT_ZERO: u8 = 0x80;

/// The most bytes of an integer that is shorter the nearer it is to zero: of one of 64 bits.
const SHORT_INTEGER_BYTES: usize = 9;

/// Bytes of a key that an entry of an index has.
const PREFIX_BYTES: usize = 8;

/// Computes the key of an index from a row.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyShape {
    parts: Box<[Part]>,
    /// True if an entry has the whole key: then the row itself is not read.
    is_exact: bool,
    /// True if nulls are equal to each other.
    nulls_equal: bool,
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    column: usize,
    kind: Type,
    offset: usize,
    null: Option<NullBit>,
    descending: bool,
    /// Rows in pages of an earlier shape have the default.
    since_shape: u8,
    default: Value,
    integers: Option<Integers>,
    /// True if integers are shorter the nearer they are to zero.
    is_short: bool,
}

/// The integers of a column, encoded as their distance from the least: that is big-endian with the sign bit flipped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Integers {
    least: i128,
    bits: u32,
}

/// A key, or the beginning of keys, that is looked for.
#[derive(Clone, Debug, Default)]
pub struct SearchKey {
    /// In the order of the index, as a comparison of bytes.
    pub bytes: KeyBytes,
    /// Columns that are null.
    pub has_null: bool,
    /// True if it has all columns.
    pub is_whole: bool,
}

/// The reason why a value cannot be part of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum BadKey {
    /// The encoded key is too long.
    TooLong {
        /// The length that it would have.
        bytes: usize,
    },
    /// A value is not of the column's type, or out of its range.
    Value {
        /// The column's number.
        column: usize,
        /// The value, as a text.
        value: String,
    },
    /// More values than columns.
    Columns {
        /// Values given.
        values: usize,
    },
}

impl BadKey {
    /// The error that names table, index, column and value.
    #[cold]
    pub fn into_error(
        self,
        table: &str,
        index: &str,
        columns: usize,
        schema: Option<&Schema>,
    ) -> TableError {
        let (table, index) = (table.to_string(), index.to_string());
        match self {
            BadKey::TooLong { bytes } => TableError::KeyTooLong {
                table,
                index,
                bytes,
            },
            BadKey::Columns { values } => TableError::KeyColumns {
                table,
                index,
                values,
                columns,
            },
            BadKey::Value { column, value } => {
                let column = schema.and_then(|schema| schema.columns.get(column));
                TableError::KeyValue {
                    table,
                    index,
                    column: column.map_or_else(String::new, |column| column.name.clone()),
                    expected: column
                        .map_or_else(String::new, |column| column.kind.to_string())
                        .into(),
                    value: value.into(),
                }
            }
        }
    }
}

/// A place between keys: before or behind all keys that begin with these bytes.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'k> {
    /// Bytes with which keys begin.
    pub bytes: &'k [u8],
    /// True if the edge is behind those keys.
    pub behind: bool,
}

impl Edge<'_> {
    /// Returns true if a range from here ends before it begins. One that ends at its beginning is empty.
    #[inline]
    pub fn is_reversed(self, end: Edge<'_>) -> bool {
        self.bytes != end.bytes && !self.is_before(end)
    }

    /// Returns true if the keys between here and the other edge lie behind this one.
    #[inline]
    pub fn is_before(self, other: Edge<'_>) -> bool {
        if self.bytes.starts_with(other.bytes) {
            return other.behind;
        }
        if other.bytes.starts_with(self.bytes) {
            return !self.behind;
        }
        self.bytes < other.bytes
    }

    /// The prefix at which rows have to be looked at.
    #[inline]
    pub fn prefix(self) -> u64 {
        let prefix = prefix(self.bytes);
        match self.behind && self.bytes.len() < PREFIX_BYTES {
            // All that begin with these bytes come before.
            true => prefix | u64::MAX >> (8 * self.bytes.len()),
            false => prefix,
        }
    }

    /// The same of the bytes behind the first ones, which all keys in question have.
    #[inline]
    pub fn head(self, skip: usize) -> u64 {
        let bytes = self.bytes.get(skip..).unwrap_or_default();
        Edge { bytes, ..self }.prefix()
    }

    /// Returns true if it is behind a whole key.
    #[cfg(test)]
    pub fn is_behind(self, key: &[u8]) -> bool {
        match self.behind {
            true => key[..key.len().min(self.bytes.len())] <= *self.bytes,
            false => key < self.bytes,
        }
    }
}

/// The first 8 bytes of a key as a number; zeroes where it has fewer.
#[inline]
pub fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; PREFIX_BYTES];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

/// The first key behind all that begin with these bytes; `None` if there can be none.
#[inline]
pub fn behind(mut beginning: Vec<u8>) -> Option<Vec<u8>> {
    while beginning.last() == Some(&u8::MAX) {
        beginning.pop();
    }
    *beginning.last_mut()? += 1;
    Some(beginning)
}

impl KeyShape {
    /// The key of an index on rows of the schema.
    ///
    /// # Panics
    /// If the definition names columns that the schema does not have.
    pub fn new(schema: &Schema, definition: &IndexDefinition) -> Self {
        let mut parts: Box<[Part]> = definition
            .key
            .iter()
            .map(|part| {
                let column = &schema.columns[part.column];
                Part {
                    column: part.column,
                    kind: column.kind,
                    offset: column.offset,
                    null: column.null,
                    descending: part.descending,
                    since_shape: column.since_shape,
                    default: column.default.clone(),
                    integers: Integers::of(column.kind),
                    is_short: false,
                }
            })
            .collect();
        let width = parts.iter().map(Part::width).sum::<Option<usize>>();
        let is_exact = width.is_some_and(|width| width <= PREFIX_BYTES);
        if !is_exact {
            for part in &mut parts {
                part.is_short = part.integers.is_some_and(|integers| integers.bits >= 32);
            }
        }
        KeyShape {
            is_exact,
            parts,
            nulls_equal: definition.nulls_equal,
        }
    }

    /// Returns true if an entry of the index has the whole key.
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// A row's key as people read it.
    #[cold]
    pub fn describe<P: PageRead + ?Sized>(&self, pages: &P, row: Address) -> String
    where
        TableError: From<P::Error>,
    {
        let mut key = KeyBytes::default();
        match self.of_row(pages, row, &mut key) {
            Ok(_) => self.text_of(&key),
            Err(error) => error.to_string(),
        }
    }

    /// The values of a row's key; none if they cannot be read.
    #[cold]
    pub fn values_of_row<P: PageRead + ?Sized>(&self, pages: &P, row: Address) -> Vec<Value>
    where
        TableError: From<P::Error>,
    {
        let mut key = KeyBytes::default();
        match self.of_row(pages, row, &mut key) {
            Ok(_) => self.values_of(&key),
            Err(_) => Vec::new(),
        }
    }

    /// Columns of the key.
    #[inline]
    pub fn width(&self) -> usize {
        self.parts.len()
    }

    /// Returns true if two versions of a row's fixed part may have different keys.
    #[inline]
    pub fn differs(&self, before: &[u8], after: &[u8]) -> bool {
        self.parts.iter().any(|part| {
            let value = part.offset..part.offset + part.kind.bytes();
            let null = part.null.map(|bit| bit.byte as usize);
            before[value.clone()] != after[value]
                || null.is_some_and(|byte| before[byte] != after[byte])
        })
    }

    /// Returns true if changing bytes of a row's fixed part may change the key.
    #[inline]
    pub fn touches(&self, offset: usize, length: usize) -> bool {
        self.parts.iter().any(|part| {
            let overlaps = |start, bytes| offset < start + bytes && start < offset + length;
            let null = part.null.map(|bit| bit.byte as usize);
            overlaps(part.offset, part.kind.bytes()) || null.is_some_and(|byte| overlaps(byte, 1))
        })
    }

    /// Appends a row's key. Returns whether it differs from every other by a null.
    #[inline]
    pub fn of_row<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        key: &mut KeyBytes,
    ) -> Result<bool, TableError>
    where
        TableError: From<P::Error>,
    {
        let (mut buffer, mut has_null) = (Vec::new(), false);
        for part in &self.parts {
            has_null |= part.of_row(pages, row, &mut buffer, key)?;
        }
        Ok(has_null && !self.nulls_equal)
    }

    /// A row's key, if it is one unsigned integer of 64 bits that an entry of an index has whole: as [`KeyShape::of_row`], in
    /// less time. `None` of other keys.
    ///
    /// # Errors
    /// As [`KeyShape::of_row`].
    #[inline]
    pub fn word_of_row<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
    ) -> Result<Option<u64>, TableError>
    where
        TableError: From<P::Error>,
    {
        match &*self.parts {
            [part] if part.is_word() => {
                let at = Address(row.0 + part.offset as u64);
                Ok(Some(pages.word(at)?))
            }
            _ => Ok(None),
        }
    }

    /// Checks that an encoded key is not longer than keys may be.
    #[inline]
    pub fn check_length(&self, key: &[u8]) -> Result<(), BadKey> {
        // The bound is on the values' bytes; short integers may take a byte more.
        let short = self.parts.iter().filter(|part| part.is_short).count();
        match key.len() <= KEY_BYTES_MAX + short {
            true => Ok(()),
            false => Err(BadKey::TooLong { bytes: key.len() }),
        }
    }
}

impl Integers {
    fn of(kind: Type) -> Option<Self> {
        let bits = 8 * kind.bytes() as u32;
        let least = match kind {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => 0,
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => -(1 << (bits - 1)),
            _ => return None,
        };
        Some(Integers { least, bits })
    }
}

impl Part {
    /// Appends the column's part of a row's key. Returns whether it is null.
    #[inline]
    fn of_row<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        buffer: &mut Vec<u8>,
        key: &mut KeyBytes,
    ) -> Result<bool, TableError>
    where
        TableError: From<P::Error>,
    {
        if self.is_short_and_ascending() {
            // The most common column of a key of several.
            let at = Address(row.0 + self.offset as u64);
            let (short, length) = self.short(pages.read(at, self.kind.bytes(), buffer)?);
            key.extend_first(&short, length);
            return Ok(false);
        }
        if self.since_shape > 0 && shape_at(pages, row)? < self.since_shape {
            self.push(self.default.as_ref(), key);
            return Ok(self.default == Value::Null);
        }
        let from = key.len();
        let is_null = match self.null {
            None => false,
            Some(bit) => {
                let at = Address(row.0 + u64::from(bit.byte));
                let is_null = pages.read(at, 1, buffer)?[0] >> bit.bit & 1 == 1;
                key.push(if is_null { NULL } else { THERE });
                is_null
            }
        };
        if !is_null {
            let at = Address(row.0 + self.offset as u64);
            let bytes = pages.read(at, self.kind.bytes(), buffer)?;
            match self.kind.is_variable() {
                false => self.push_fixed(bytes, key),
                true => push_variable(pages, &Reference::at(bytes, 0), key)?,
            }
        }
        self.finish(from, key);
        Ok(is_null)
    }

    /// True if a row's word is its key as a number, whose order is that of the keys.
    #[inline]
    fn is_word(&self) -> bool {
        let is_plain = self.null.is_none() && !self.descending && !self.is_short;
        is_plain && self.kind == Type::U64 && self.since_shape == 0 && self.offset.is_multiple_of(8)
    }

    /// Bytes of its keys, if all have as many.
    #[inline]
    fn width(&self) -> Option<usize> {
        let is_fixed = self.null.is_none() && !self.kind.is_variable();
        is_fixed.then(|| self.kind.bytes())
    }

    /// Flips the bytes that were pushed for it, if the column is descending.
    #[inline]
    fn finish(&self, from: usize, key: &mut KeyBytes) {
        if self.descending {
            key[from..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Appends a value, encoded as in a row.
    fn push_fixed(&self, bytes: &[u8], key: &mut KeyBytes) {
        if self.is_short {
            let (short, length) = self.short(bytes);
            return key.extend_first(&short, length);
        }
        let from = key.len();
        key.extend(bytes);
        let bytes = &mut key[from..];
        match self.kind {
            Type::Uuid | Type::Plain { .. } => {}
            Type::Bool | Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U128 => {
                bytes.reverse();
            }
            Type::F32 | Type::F64 => {
                bytes.reverse();
                make_canonical(bytes);
                match bytes[0] >> 7 {
                    0 => bytes[0] |= 0x80,
                    _ => bytes.iter_mut().for_each(|byte| *byte = !*byte),
                }
            }
            _ => {
                bytes.reverse();
                bytes[0] ^= 0x80;
            }
        }
    }
}

impl Part {
    /// An integer, encoded as in a row, in as few bytes as it needs, and their number.
    #[inline]
    fn short(&self, bytes: &[u8]) -> ([u8; SHORT_INTEGER_BYTES], usize) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let unused = u64::BITS - 8 * bytes.len() as u32;
        let is_signed = self.integers.is_some_and(|integers| integers.least != 0);
        let value = u64::from_le_bytes(word) << unused;
        let (value, is_negative) = match is_signed {
            true => ((value as i64 >> unused) as u64, (value as i64) < 0),
            false => (value >> unused, false),
        };
        let distinct = if is_negative { !value } else { value };
        let needed = (u64::BITS - distinct.leading_zeros()).div_ceil(8);
        let mut short = [0; SHORT_INTEGER_BYTES];
        short[0] = match is_negative {
            false => SHORT_ZERO + needed as u8,
            true => SHORT_ZERO - 1 - needed as u8,
        };
        let last = value.unbounded_shl(u64::BITS - 8 * needed);
        short[1..].copy_from_slice(&last.to_be_bytes());
        (short, 1 + needed as usize)
    }
}

/// Gives equal floats equal bytes, the most significant first. Both zeros are 0. A NaN of any sign and payload is the
/// positive quiet one, which is above infinity.
fn make_canonical(bytes: &mut [u8]) {
    let exponent_end = if bytes.len() == 4 { 0x80 } else { 0xf0 };
    let has_full_exponent = bytes[0] & 0x7f == 0x7f && bytes[1] & exponent_end == exponent_end;
    let has_fraction = bytes[1] & !exponent_end != 0 || bytes[2..].iter().any(|&byte| byte != 0);
    if has_full_exponent && has_fraction {
        let quiet = (exponent_end >> 1) & !exponent_end;
        bytes.fill(0);
        bytes[0] = 0x7f;
        bytes[1] = exponent_end | quiet;
    } else if bytes[0] == 0x80 && bytes[1..].iter().all(|&byte| byte == 0) {
        bytes[0] = 0;
    }
}

#[cold]
fn shape_at<P: PageRead + ?Sized>(pages: &P, row: Address) -> Result<u8, TableError>
where
    TableError: From<P::Error>,
{
    let word = pages.word(PageLayout::table_word(row.page()))?;
    Ok(match PageUse::of_word(word).map(|page| page.kind) {
        Some(PageKind::Rows { shape }) => shape,
        // Opening found that it is a page of rows.
        _ => 0,
    })
}

#[cfg(test)]
mod tests;
