//! Columns of a record's fields, computed by the compiler: the output of `record!` for a struct.
//!
//! A field of a number's type, or of a type in [`types`](crate::types), is a column of that type. A nested struct that
//! `plain!` declared becomes the columns of its fields, named `outer.inner`. Everything else is plain data: arrays,
//! and structs of which only the name is known. A fingerprint distinguishes plain data of one size: of an array's
//! elements, or of the type's text.

use crate::record::Record;
use crate::schema::{Column, IndexDefinition, IndexKind, KeyPart, PRIMARY, Schema, Type, Value};
use sardonyx_base::hash::Fnv1a;
use std::marker::PhantomData;

/// A type whose fields in records are known as columns.
pub trait ColumnType {
    /// Adds the columns of a field with this name at this offset.
    fn columns(name: &str, offset: usize, into: &mut Vec<RecordColumn>);
}

/// A column that a record's type declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordColumn {
    pub name: String,
    pub kind: Type,
    /// Its offset in the record, in bytes.
    pub offset: usize,
}

impl RecordColumn {
    /// Returns true if it is filler: bytes that no column uses.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.kind, Type::Plain { align: 1, fingerprint, .. } if fingerprint == BYTES_FINGERPRINT)
    }
}

macro_rules! column_types {
    ($($type:ty => $kind:expr),* $(,)?) => {$(
        impl ColumnType for $type {
            fn columns(name: &str, offset: usize, into: &mut Vec<RecordColumn>) {
                let name = name.to_string();
                into.push(RecordColumn { name, kind: $kind, offset });
            }
        }
    )*};
}

pub(crate) use column_types;

column_types!(
    i8 => Type::I8, i16 => Type::I16, i32 => Type::I32, i64 => Type::I64, i128 => Type::I128,
    u8 => Type::U8, u16 => Type::U16, u32 => Type::U32, u64 => Type::U64, u128 => Type::U128,
    isize => Type::I64, usize => Type::U64, f32 => Type::F32, f64 => Type::F64,
);

impl<T: ColumnType, const N: usize> ColumnType for [T; N] {
    fn columns(name: &str, offset: usize, into: &mut Vec<RecordColumn>) {
        let fingerprint = fingerprint_of_elements::<T>();
        push_plain::<Self>(name, offset, fingerprint, into);
    }
}

/// The fingerprint of an array's elements: their columns' names, types and offsets.
fn fingerprint_of_elements<T: ColumnType>() -> u64 {
    let mut element = Vec::new();
    T::columns("", 0, &mut element);
    let text = element
        .iter()
        .map(|RecordColumn { name, kind, offset }| match kind {
            Type::Plain { fingerprint, .. } => format!("{name} {kind} {fingerprint} {offset};"),
            _ => format!("{name} {kind} {offset};"),
        });
    fingerprint_of(&text.collect::<String>())
}

/// The fingerprint of the elements of `[u8; N]`: of the text ` u8 0;` without its spaces.
pub const BYTES_FINGERPRINT: u64 = Fnv1a::of(b"u80;");

/// FNV-1a of 64 bits, of a text without its spaces.
#[inline]
fn fingerprint_of(text: &str) -> u64 {
    let bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    bytes
        .fold(Fnv1a::START, |state, byte| state.with(byte.into()))
        .0
}

fn push_plain<T>(name: &str, offset: usize, fingerprint: u64, into: &mut Vec<RecordColumn>) {
    // A field without bytes is no column.
    if size_of::<T>() > 0 {
        let kind = Type::Plain {
            bytes: size_of::<T>() as u32,
            align: align_of::<T>().min(8) as u8,
            fingerprint,
        };
        let name = name.to_string();
        into.push(RecordColumn { name, kind, offset });
    }
}

/// The field of a nested struct: `outer.inner`, or only `inner` in an array's element.
#[doc(hidden)]
pub fn nested_name(outer: &str, inner: &str) -> String {
    let inner = inner.strip_prefix("r#").unwrap_or(inner);
    match outer {
        "" => inner.to_string(),
        outer => format!("{outer}.{inner}"),
    }
}

/// Asks for the columns of a field of any type. The macros call [`push`](OfColumnType::push) on a reference to it with
/// both traits in scope, and the compiler takes the first that fits.
#[doc(hidden)]
#[derive(Debug)]
pub struct FieldOf<T>(PhantomData<fn() -> T>);

impl<T> FieldOf<T> {
    /// A question about fields of this type.
    pub const NEW: Self = FieldOf(PhantomData);
}

/// For types that are [`ColumnType`].
#[doc(hidden)]
pub trait OfColumnType {
    /// Adds the columns of a field.
    fn push(&self, name: &str, text: &str, offset: usize, into: &mut Vec<RecordColumn>);
}

/// For all others.
#[doc(hidden)]
pub trait OfAnyType {
    /// Adds the column of a field.
    fn push(&self, name: &str, text: &str, offset: usize, into: &mut Vec<RecordColumn>);
}

impl<T: ColumnType> OfColumnType for FieldOf<T> {
    fn push(&self, name: &str, _: &str, offset: usize, into: &mut Vec<RecordColumn>) {
        T::columns(name, offset, into);
    }
}

impl<T> OfAnyType for &FieldOf<T> {
    fn push(&self, name: &str, text: &str, offset: usize, into: &mut Vec<RecordColumn>) {
        push_plain::<T>(name, offset, fingerprint_of(text), into);
    }
}

/// The schema of a table of plain records; `None` if their type does not declare its fields.
pub fn schema_of<R: Record>() -> Option<Schema> {
    let plain = R::PLAIN?;
    let key = plain.key();
    let columns: Vec<_> = (plain.columns)()?
        .into_iter()
        .map(|RecordColumn { name, kind, offset }| Column {
            name,
            kind,
            default: Value::Null,
            offset,
            null: None,
            dropped: false,
            since_shape: 0,
        })
        .collect();
    let in_key = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| key.contains(&column.offset));
    let primary = IndexDefinition {
        name: PRIMARY.to_string(),
        kind: IndexKind::Hash,
        unique: true,
        deferrable: false,
        nulls_equal: false,
        key: in_key
            .map(|(column, _)| KeyPart {
                column,
                descending: false,
            })
            .collect(),
    };
    Some(Schema {
        columns,
        primary,
        row_bytes: plain.bytes,
        ..Schema::default()
    })
}
