//! Schemas of tables, known at run time: columns with names and types, keys, indexes, conditions.
//!
//! The database stores a schema for each table (see [`Schema`]). A program's record type is checked against it by name
//! and type when its table is opened. Clients of the server, and bindings of other languages, read rows by it alone.
//! All readers use the same bytes: a column of a fixed width has its offset in the row's fixed part, as `repr(C)`
//! would place it. Text and bytes are references of 16 bytes there.

mod builder;
mod change;
mod check;
mod column;
mod declared;
mod difference;
mod encoding;
mod error;
mod generated;
mod index;
mod non_finite;
mod types;
mod value;

pub use builder::{IntoSchema, SchemaBuilder, TablesByName};
pub use column::{Column, NullBit};
pub use declared::{DECLARED_BYTES_MAX, Declared, DeclaredDefault, Limit};
pub use difference::{differences, is_as_said};
pub use error::SchemaError;
pub use generated::{GeneratedColumn, INDEX_KEY, INDEX_WHERE};
pub use index::{ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Unchecked};
pub use non_finite::NonFinite;
pub use types::{Type, UnknownType};
pub use value::{Value, ValueRef};

use sardonyx_storage::catalogue::{Definition, Kind};
use std::ops::Range;

/// The longest name of a column, index, reference or condition, in bytes of UTF-8.
pub const COLUMN_NAME_BYTES_MAX: usize = 63;
/// The most references to other tables.
pub const FOREIGN_KEYS_MAX: usize = 32;
/// The most conditions of a table.
pub const CHECKS_MAX: usize = 64;
/// The longest condition, in bytes of UTF-8.
pub const CHECK_BYTES_MAX: usize = 4096;
/// The longest default of a text or of bytes, in bytes.
pub const DEFAULT_BYTES_MAX: usize = 1024;
/// The most shapes that the pages of one table can have had.
pub const SHAPES_MAX: usize = 256;
/// The name of a primary key's index.
pub const PRIMARY: &str = "primary";
/// The most columns of a table, dropped ones included.
pub const COLUMNS_MAX: usize = 512;
/// The most indexes of a table, that of its primary key included.
pub const INDEXES_MAX: usize = 32;
/// The most columns of one index.
pub const KEY_COLUMNS_MAX: usize = 16;
/// The longest text or bytes in a row, in bytes.
pub const VALUE_BYTES_MAX: usize = 16 << 20;
/// The longest encoded key of an index, in bytes.
pub const KEY_BYTES_MAX: usize = 4096;

/// The schema of a table.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Schema {
    /// In the order in which they were declared; dropped ones stay here, so that numbers of columns hold.
    pub columns: Vec<Column>,
    /// The index of the primary key: always unique, none of its columns nullable.
    pub primary: IndexDefinition,
    /// The others.
    pub indexes: Vec<IndexDefinition>,
    /// References to rows of other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Conditions that every row meets: a name and a condition as text, in the language of
    /// conditions.
    pub checks: Vec<(String, String)>,
    /// Declarations of columns beside their types, in the order of their numbers; most columns have none.
    pub declared: Vec<Declared>,
    /// Bytes of a row's fixed part; a multiple of 8.
    pub row_bytes: usize,
    /// The same of the shapes before, oldest first. A column has one offset in all shapes. A row has the columns whose
    /// `since_shape` is its page's shape, or before.
    pub earlier_shapes: Vec<usize>,
}

impl Schema {
    /// The column's place in the schema; `None` if no column has this name.
    #[inline]
    pub fn column(&self, name: &str) -> Option<usize> {
        let named = |column: &Column| !column.dropped && column.name == name;
        self.columns.iter().position(named)
    }

    /// The columns that are not dropped, with their numbers.
    #[inline]
    pub fn live_columns(&self) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.dropped)
    }

    /// The columns of text and bytes, dropped ones included: rows may still have values there.
    #[inline]
    pub fn variable_columns(&self) -> impl Iterator<Item = &Column> {
        let columns = self.columns.iter();
        columns.filter(|column| column.kind.is_variable())
    }

    /// The shape of new pages.
    #[inline]
    pub fn shape(&self) -> u8 {
        self.earlier_shapes.len() as u8
    }

    /// Bytes of a row's fixed part in pages of a shape; `None` if there is no such shape.
    #[inline]
    pub fn row_bytes_of_shape(&self, shape: u8) -> Option<usize> {
        let shape = usize::from(shape);
        match shape == self.earlier_shapes.len() {
            true => Some(self.row_bytes),
            false => self.earlier_shapes.get(shape).copied(),
        }
    }

    /// The feature that such a table has beyond records of one length that are found by the hash of their key; `None`
    /// if it has none. A program that knows only such records would misread the table, or break its constraints.
    pub fn beyond_records(&self) -> Option<&'static str> {
        if self.plain_key().is_none() {
            return Some("a primary key that is not found by the hash of its bytes");
        }
        match self.variable_columns().next() {
            Some(_) => Some("text or bytes of any length"),
            None => self.beyond_rows(),
        }
    }

    /// The first feature that such a table has beyond independent rows of one shape, if any. Stores maintain relations
    /// between rows, between tables, or between a row's columns.
    #[inline]
    pub fn beyond_rows(&self) -> Option<&'static str> {
        let beyond = [
            (!self.earlier_shapes.is_empty(), "columns that were added"),
            (!self.indexes.is_empty(), "indexes"),
            (!self.foreign_keys.is_empty(), "references to other tables"),
            (!self.checks.is_empty(), "conditions"),
            (!self.declared.is_empty(), "declared types or defaults"),
        ];
        let found = beyond.into_iter().find(|(has, _)| *has);
        found.map(|(_, what)| what)
    }

    /// Returns true if rows of every shape begin with a record that has the columns of the first shape. It is false
    /// once one of those columns was dropped after columns were added: widening does that, and the old bytes are no
    /// current value.
    pub fn begins_with_records(&self) -> bool {
        let mut columns = self.columns.iter();
        self.earlier_shapes.is_empty() || !columns.any(|c| c.dropped && c.since_shape == 0)
    }

    /// The range of the primary key in a row, if rows are found by the hash of its bytes: its columns have fixed
    /// widths and are neighbours, in the order of the key.
    #[inline]
    pub fn plain_key(&self) -> Option<Range<usize>> {
        let mut key: Option<Range<usize>> = None;
        for part in &self.primary.key {
            let column = self.columns.get(part.column)?;
            let start = column.offset;
            let follows = key.as_ref().is_none_or(|key| key.end == start);
            // Floats that are equal may have other bytes.
            let is_float = matches!(column.kind, Type::F32 | Type::F64);
            if !follows || column.kind.is_variable() || is_float || part.descending {
                return None;
            }
            let first = key.map_or(start, |key| key.start);
            key = Some(first..start + column.kind.bytes());
        }
        key.filter(|_| self.primary.kind == IndexKind::Hash)
    }

    /// The catalogue's entry of a table with this name and schema. Where the primary key is not
    /// [plain](Schema::plain_key) it names the whole row.
    #[inline]
    pub fn definition(&self, name: &str) -> Definition {
        let record_bytes = self.row_bytes_of_shape(0).unwrap_or(self.row_bytes);
        let key = self.plain_key().unwrap_or(0..record_bytes);
        Definition {
            name: name.to_string(),
            record_bytes,
            kind: Kind::Table {
                key_offset: key.start,
                key_bytes: key.len(),
            },
        }
    }

    /// The schema of a table that has only an entry in the catalogue: its key, and the bytes before and behind it.
    /// Without columns for an entry that is no table.
    pub fn of_definition(definition: &Definition) -> Schema {
        let Kind::Table {
            key_offset,
            key_bytes,
        } = definition.kind
        else {
            return Schema::default();
        };
        let key_end = key_offset + key_bytes;
        let parts = [
            ("before", 0..key_offset),
            ("key", key_offset..key_end),
            ("after", key_end..definition.record_bytes),
        ];
        let parts = parts.into_iter().filter(|(_, range)| !range.is_empty());
        let columns: Vec<_> = parts
            .map(|(name, range)| Column {
                name: name.to_string(),
                kind: Type::Plain {
                    bytes: range.len() as u32,
                    align: 1,
                    fingerprint: 0,
                },
                default: Value::Null,
                offset: range.start,
                null: None,
                dropped: false,
                since_shape: 0,
            })
            .collect();
        let column = usize::from(key_offset > 0);
        Schema {
            columns,
            primary: IndexDefinition {
                name: PRIMARY.to_string(),
                kind: IndexKind::Hash,
                unique: true,
                deferrable: false,
                nulls_equal: false,
                key: vec![KeyPart {
                    column,
                    descending: false,
                }],
            },
            row_bytes: definition.record_bytes,
            ..Schema::default()
        }
    }
}
