//! Checks of a schema: names, limits, types, defaults, keys, places.
//!
//! One check for every source: a program's builder, a change of a schema, and bytes of the database.

use super::{
    CHECK_BYTES_MAX, CHECKS_MAX, COLUMN_NAME_BYTES_MAX, COLUMNS_MAX, Column, DEFAULT_BYTES_MAX,
    FOREIGN_KEYS_MAX, ForeignKey, INDEXES_MAX, IndexDefinition, KEY_COLUMNS_MAX, NonFinite,
    SHAPES_MAX, Schema, SchemaError, Type, Value,
};
use crate::condition::Check;
use sardonyx_storage::catalogue::RECORD_BYTES_MAX;
use std::collections::HashSet;

/// The most digits behind a decimal's point.
pub(crate) const SCALE_MAX: u8 = 38;

impl Schema {
    /// Checks that a table can have it.
    ///
    /// # Errors
    /// The first error of the schema.
    pub fn check(&self) -> Result<(), SchemaError> {
        self.check_counts()?;
        self.check_columns()?;
        self.check_places()?;
        self.check_keys()?;
        self.check_declared()?;
        self.check_conditions()
    }

    #[inline]
    pub(super) fn check_counts(&self) -> Result<(), SchemaError> {
        for (what, count, limit) in [
            ("the number of columns", self.columns.len(), COLUMNS_MAX),
            ("the number of indexes", self.indexes.len() + 1, INDEXES_MAX),
            (
                "the number of references",
                self.foreign_keys.len(),
                FOREIGN_KEYS_MAX,
            ),
            ("the number of conditions", self.checks.len(), CHECKS_MAX),
            (
                "the number of shapes",
                self.earlier_shapes.len() + 1,
                SHAPES_MAX,
            ),
        ] {
            if count > limit {
                return Err(SchemaError::TooMany { what, count, limit });
            }
        }
        Ok(())
    }

    pub(super) fn check_columns(&self) -> Result<(), SchemaError> {
        let mut names = HashSet::new();
        for column in &self.columns {
            check_name("a column", &column.name)?;
            check_type(column)?;
            if !column.accepts(&column.default) {
                return Err(SchemaError::Default {
                    column: column.name.clone(),
                    kind: column.kind,
                    default: describe(&column.default),
                });
            }
            if !column.dropped && !names.insert(&*column.name) {
                return Err(twice("columns", &column.name));
            }
        }
        Ok(())
    }

    fn check_places(&self) -> Result<(), SchemaError> {
        let shapes = self.earlier_shapes.iter().chain([&self.row_bytes]);
        let mut before = 8;
        for &bytes in shapes {
            if bytes > RECORD_BYTES_MAX || bytes < before || bytes % 8 != 0 {
                return Err(SchemaError::RowTooLong {
                    bytes,
                    limit: RECORD_BYTES_MAX,
                });
            }
            before = bytes;
        }
        // Each bit of the row belongs to one column at most.
        let mut taken = vec![0_u8; self.row_bytes];
        for column in &self.columns {
            let wrong = |reason| SchemaError::Place {
                column: column.name.clone(),
                offset: column.offset,
                reason,
            };
            let Some(row_bytes) = self.row_bytes_of_shape(column.since_shape) else {
                return Err(wrong("is of a shape that there is not"));
            };
            if column.kind.align() == 0 || column.offset % column.kind.align() != 0 {
                return Err(wrong("is not aligned"));
            }
            let end = column.offset.checked_add(column.kind.bytes());
            if end.is_none_or(|end| end > row_bytes) {
                return Err(wrong("does not lie within the row"));
            }
            if column.dropped && !column.kind.is_variable() {
                // A dropped column is never read, so it is not checked.
                continue;
            }
            let bits = (column.offset..column.offset + column.kind.bytes()).map(|at| (at, 0xff));
            let null = column.null.map(|null| (null.byte as usize, null.bit));
            if null.is_some_and(|(byte, bit)| byte >= row_bytes || bit > 7) {
                return Err(wrong("has its null bit outside of the row"));
            }
            for (byte, mask) in bits.chain(null.map(|(byte, bit)| (byte, 1 << bit))) {
                if taken[byte] & mask != 0 {
                    return Err(wrong("overlaps another column"));
                }
                taken[byte] |= mask;
            }
        }
        Ok(())
    }

    fn check_keys(&self) -> Result<(), SchemaError> {
        if self.primary.key.is_empty() {
            return Err(SchemaError::NoPrimaryKey);
        }
        let mut names = HashSet::new();
        for index in [&self.primary].into_iter().chain(&self.indexes) {
            check_name("an index", &index.name)?;
            if !names.insert(&*index.name) {
                return Err(twice("indexes", &index.name));
            }
            self.check_key(index)?;
        }
        for part in &self.primary.key {
            let column = &self.columns[part.column];
            if column.is_nullable() {
                let column = column.name.clone();
                return Err(SchemaError::NullableKey { column });
            }
        }
        let mut names = HashSet::new();
        for reference in &self.foreign_keys {
            check_name("a reference", &reference.name)?;
            if !names.insert(&*reference.name) {
                return Err(twice("references", &reference.name));
            }
            let user = format!("reference {:?}", reference.name);
            for &column in &reference.columns {
                self.live(column, &user)?;
            }
            let (from, to) = (reference.columns.len(), reference.referenced.len());
            if from != to || from == 0 || from > KEY_COLUMNS_MAX {
                return Err(SchemaError::TooMany {
                    what: "the number of a reference's columns",
                    count: from.max(to),
                    limit: KEY_COLUMNS_MAX.min(from.min(to)),
                });
            }
        }
        Ok(())
    }

    /// Checks that a reference can be to columns of a table with that schema: of the same types, or whole numbers, and
    /// a unique key there.
    pub fn check_reference(
        &self,
        reference: &ForeignKey,
        there: &Schema,
    ) -> Result<(), SchemaError> {
        let wrong = |reason| SchemaError::Reference {
            reference: reference.name.clone(),
            reason,
        };
        for (&from, &to) in reference.columns.iter().zip(&reference.referenced) {
            let from = self.live(from, &reference.name)?;
            let to = there.live(to, &reference.name)?;
            if from.kind != to.kind && !from.kind.may_refer_to(to.kind) {
                return Err(wrong(format!(
                    "column {:?} is of type {}, but {:?}, to which it refers, is of type {}; give both one type",
                    from.name, from.kind, to.name, to.kind
                )));
            }
        }
        let mut unique = [&there.primary]
            .into_iter()
            .chain(&there.indexes)
            .filter(|index| index.unique);
        let is_key = |index: &IndexDefinition| {
            let key = index.key.iter().map(|part| part.column);
            key.eq(reference.referenced.iter().copied())
        };
        match unique.any(is_key) {
            true => Ok(()),
            false => Err(wrong(
                "its columns there are not the key of a unique index, in its order; create one, or refer to the \
                 primary \
                 key"
                    .to_string(),
            )),
        }
    }

    fn check_key(&self, index: &IndexDefinition) -> Result<(), SchemaError> {
        let (count, limit) = (index.key.len(), KEY_COLUMNS_MAX);
        if count > limit || count == 0 {
            let what = "the number of an index's columns";
            return Err(SchemaError::TooMany { what, count, limit });
        }
        let user = format!("index {:?}", index.name);
        for (at, part) in index.key.iter().enumerate() {
            let column = self.live(part.column, &user)?;
            let so_far = &index.key[..at];
            if so_far.iter().any(|other| other.column == part.column) {
                return Err(SchemaError::KeyColumnTwice {
                    column: column.name.clone(),
                    index: index.name.clone(),
                });
            }
        }
        Ok(())
    }

    fn check_conditions(&self) -> Result<(), SchemaError> {
        let mut names = HashSet::new();
        for (name, condition) in &self.checks {
            check_name("a condition", name)?;
            if !names.insert(name) {
                return Err(twice("conditions", name));
            }
            let (count, limit) = (condition.len(), CHECK_BYTES_MAX);
            if count > limit {
                let what = "the length of a condition in bytes";
                return Err(SchemaError::TooMany { what, count, limit });
            }
            if let Err(source) = Check::parse(condition, self) {
                let name = name.clone();
                return Err(SchemaError::Condition { name, source });
            }
        }
        Ok(())
    }

    /// The column of this number, if it exists and is not dropped.
    fn live(&self, number: usize, user: &str) -> Result<&Column, SchemaError> {
        match self.columns.get(number) {
            Some(column) if !column.dropped => Ok(column),
            other => {
                let name = other.map_or_else(|| format!("number {number}"), |c| c.name.clone());
                Err(self.unknown_column(&name, user))
            }
        }
    }

    /// The error of a name that no column has.
    pub(crate) fn unknown_column(&self, name: &str, user: &str) -> SchemaError {
        let names = self.live_columns().map(|(_, column)| &*column.name);
        SchemaError::UnknownColumn {
            column: name.to_string(),
            user: user.to_string(),
            there_are: names.collect::<Vec<_>>().join(", "),
        }
    }
}

impl Column {
    /// Returns true if a value is of this column's type, or null: it needs no conversion but that of width.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        let fits = |value: i128, bits: u32, signed: bool| match signed {
            true => value >> (bits - 1) == 0 || value >> (bits - 1) == -1,
            false => value >= 0 && value >> bits == 0,
        };
        match (self.kind, value) {
            (_, Value::Null) => true,
            (Type::Bool, Value::Bool(_)) => true,
            (Type::I8, Value::Int(value)) => fits(*value, 8, true),
            (Type::I16, Value::Int(value)) => fits(*value, 16, true),
            (Type::I32, Value::Int(value)) => fits(*value, 32, true),
            (Type::I64, Value::Int(value)) => fits(*value, 64, true),
            (Type::I128, Value::Int(_)) => true,
            (Type::U8, Value::Int(value)) => fits(*value, 8, false),
            (Type::U16, Value::Int(value)) => fits(*value, 16, false),
            (Type::U32, Value::Int(value)) => fits(*value, 32, false),
            (Type::U64, Value::Int(value)) => fits(*value, 64, false),
            (Type::U128, Value::U128(_)) => true,
            (Type::U128, Value::Int(value)) => *value >= 0,
            (Type::F32 | Type::F64, Value::Float(_)) => true,
            (Type::Decimal { scale }, Value::Decimal(units, other)) => {
                scale == *other && NonFinite::of_units(*units).is_none()
            }
            (Type::Decimal { .. }, Value::NonFinite(_)) => true,
            (Type::Text, Value::Text(text)) => text.len() <= DEFAULT_BYTES_MAX,
            (Type::Bytes, Value::Bytes(bytes)) => bytes.len() <= DEFAULT_BYTES_MAX,
            (Type::Plain { bytes: length, .. }, Value::Bytes(bytes)) => {
                bytes.len() == length as usize
            }
            (Type::Date, Value::Date(_))
            | (Type::Time, Value::Time(_))
            | (Type::Timestamp, Value::Timestamp(_))
            | (Type::Uuid, Value::Uuid(_)) => true,
            _ => false,
        }
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), SchemaError> {
    let limit = COLUMN_NAME_BYTES_MAX;
    if name.is_empty() || name.len() > limit || name.chars().any(char::is_control) {
        let name = name.to_string();
        return Err(SchemaError::Name { what, name, limit });
    }
    Ok(())
}

fn check_type(column: &Column) -> Result<(), SchemaError> {
    let reason = match column.kind {
        Type::Decimal { scale } if scale > SCALE_MAX => "a decimal has at most 38 digits",
        Type::Plain { align, .. } if ![1, 2, 4, 8].contains(&align) => {
            "plain data is aligned to 1, 2, 4 or 8 bytes"
        }
        Type::Plain { bytes, .. } if bytes as usize > RECORD_BYTES_MAX => {
            "plain data has at most 4080 bytes"
        }
        _ => return Ok(()),
    };
    let column = column.name.clone();
    Err(SchemaError::Type { column, reason })
}

fn twice(what: &'static str, name: &str) -> SchemaError {
    let name = name.to_string();
    SchemaError::Twice { what, name }
}

/// A value, not at its full length.
fn describe(value: &Value) -> String {
    let mut text = format!("{value:?}");
    if text.len() > 100 {
        let end = (0..=100).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}
