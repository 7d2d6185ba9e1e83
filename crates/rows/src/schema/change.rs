//! Changes of a schema's columns. Each gives a new schema that the existing rows have already. An added column is of a
//! new shape, which existing pages do not have. A dropped or renamed one changes no row.

use super::builder::first_free;
use super::{
    Column, Declared, IndexDefinition, IndexKind, KeyPart, NullBit, PRIMARY, Schema, SchemaError,
    Type, Value,
};
use crate::condition::{Check, Condition, SqlCheck};
use sardonyx_storage::catalogue::RECORD_BYTES_MAX;

/// The name of a column while it is being widened.
const WIDER: &str = "sardonyx.wider";

/// The name of the column that makes room for the null bit of another one.
const NULLS: &str = "sardonyx.nulls";

impl Schema {
    /// With one more column, in a new shape; rows of the shapes before have the default.
    ///
    /// # Errors
    /// [`SchemaError::Change`] if it has neither a default nor may be null; the errors of [`Schema::check`].
    #[inline]
    pub fn with_column(
        &self,
        name: &str,
        kind: Type,
        nullable: bool,
        default: Value,
    ) -> Result<Schema, SchemaError> {
        if !nullable && default == Value::Null {
            return Err(SchemaError::Change {
                column: name.to_string(),
                change: "added",
                reason:
                    "existing rows have no value for it; give it a default, or make it nullable"
                        .into(),
            });
        }
        let mut taken = vec![false; RECORD_BYTES_MAX];
        for column in &self.columns {
            // A dropped column's bytes, too: a row that moves to the new shape still has its old value there.
            taken[column.offset..column.offset + column.kind.bytes()].fill(true);
            // A byte with null bits is not used again: it may have been written.
            if let Some(null) = column.null {
                taken[null.byte as usize] = true;
            }
        }
        let too_long = || SchemaError::RowTooLong {
            bytes: self.row_bytes + kind.bytes(),
            limit: RECORD_BYTES_MAX,
        };
        let offset = first_free(&mut taken, kind).ok_or_else(too_long)?;
        let null = match nullable {
            true => Some(first_free(&mut taken, Type::U8).ok_or_else(too_long)?),
            false => None,
        };
        let mut schema = self.clone();
        schema.earlier_shapes.push(self.row_bytes);
        let end = (offset + kind.bytes()).max(null.map_or(0, |byte| byte + 1));
        schema.row_bytes = self.row_bytes.max(end.next_multiple_of(8));
        schema.columns.push(Column {
            name: name.to_string(),
            kind,
            default,
            offset,
            null: null.map(|byte| NullBit {
                byte: byte as u32,
                bit: 0,
            }),
            dropped: false,
            since_shape: u8::try_from(schema.earlier_shapes.len()).unwrap_or(u8::MAX),
        });
        schema.check()?;
        Ok(schema)
    }

    /// Without a column.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`], [`SchemaError::Change`] if an index, a reference or a condition names it.
    #[inline]
    pub fn without_column(&self, name: &str) -> Result<Schema, SchemaError> {
        let number = self.column_to_change(name)?;
        if let Some(user) = self.user_of(number) {
            return Err(SchemaError::Change {
                column: name.to_string(),
                change: "dropped",
                reason: format!("{user} names it; drop that first"),
            });
        }
        let mut schema = self.clone();
        schema.columns[number].dropped = true;
        schema.declared.retain(|declared| declared.column != number);
        schema.check()?;
        Ok(schema)
    }

    /// With another name for a column, in its conditions, too.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`], [`SchemaError::Twice`] if there is one of the new name, [`SchemaError::Name`].
    #[inline]
    pub fn with_renamed_column(&self, name: &str, new: &str) -> Result<Schema, SchemaError> {
        let number = self.column_to_change(name)?;
        let mut schema = self.clone();
        schema.columns[number].name = new.to_string();
        let checks = self.checks.iter().map(|(check, text)| {
            // One in SQL has its columns by their numbers.
            if matches!(SqlCheck::parse(text), Ok(Some(_))) {
                return Ok((check.clone(), text.clone()));
            }
            let changed = Condition::with_renamed_column(text, name, new);
            let changed = changed.map_err(|source| SchemaError::Condition {
                name: check.clone(),
                source,
            })?;
            Ok((check.clone(), changed))
        });
        schema.checks = checks.collect::<Result<_, SchemaError>>()?;
        schema.check()?;
        Ok(schema)
    }

    /// With a column more, of a wider type, for the values of another one while its rows are rewritten; and that one's number.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`], [`SchemaError::NotWider`], [`SchemaError::Change`] if an index, a reference or a
    /// condition names it; the errors of [`Schema::with_column`].
    #[inline]
    pub fn with_wider_column(&self, name: &str, to: Type) -> Result<(Schema, usize), SchemaError> {
        let from = self.column_to_change(name)?;
        let column = &self.columns[from];
        if !to.is_wider_than(column.kind) {
            return Err(SchemaError::NotWider {
                column: name.to_string(),
                from: column.kind,
                to,
            });
        }
        self.check_unused(from, "widened")?;
        // Until all rows have their own value there is no default that could be taken for one.
        let schema = self.with_column(WIDER, to, true, Value::Null)?;
        Ok((schema, from))
    }

    /// With a column more, of any type, for new values of another one while its rows are rewritten.
    ///
    /// # Errors
    /// The errors of [`Schema::with_wider_column`], but for the type's.
    #[inline]
    pub fn with_retyped_column(&self, name: &str, to: Type) -> Result<Schema, SchemaError> {
        let from = self.column_to_change(name)?;
        self.check_unused(from, "changed in its type")?;
        self.with_column(WIDER, to, true, Value::Null)
    }

    /// Checks that nothing names a column that is to change.
    #[inline]
    fn check_unused(&self, number: usize, change: &'static str) -> Result<(), SchemaError> {
        match self.user_of(number) {
            None => Ok(()),
            Some(user) => Err(SchemaError::Change {
                column: self.columns[number].name.clone(),
                change,
                reason: format!("{user} names it; drop that first, and make it again"),
            }),
        }
    }

    /// With the column of another type in the place of the one whose values its rows have now. It has no default, and
    /// no declaration.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; the errors of [`Schema::check`].
    #[inline]
    pub fn with_changed_type(&self, name: &str) -> Result<Schema, SchemaError> {
        let from = self.column_to_change(name)?;
        let mut schema = self.clone();
        schema.columns[from].default = Value::Null;
        schema.declared.retain(|declared| declared.column != from);
        schema.with_widened_column(name)
    }

    /// With the wider column in the place of the one whose values it has now.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; the errors of [`Schema::check`].
    #[inline]
    pub fn with_widened_column(&self, name: &str) -> Result<Schema, SchemaError> {
        let from = self.column_to_change(name)?;
        let (nullable, default) = {
            let column = &self.columns[from];
            (column.is_nullable(), column.default.clone())
        };
        let declared = self.declared(from).cloned();
        let mut schema = self.without_column(name)?;
        let last = schema.columns.len() - 1;
        let wider = &mut schema.columns[last];
        wider.name = name.to_string();
        wider.default = default;
        if !nullable {
            wider.null = None;
        }
        // The new column is the last.
        schema.declared.extend(declared.map(|declared| Declared {
            column: last,
            ..declared
        }));
        schema.check()?;
        Ok(schema)
    }

    /// With a column more in a new shape, which has room for the null bit of a column that has always had a value. It is set
    /// in all rows, so that they are of the new shape, before [`Schema::with_nullable_column`].
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`], [`SchemaError::NullableKey`] if the column is in the primary key,
    /// [`SchemaError::Change`] if another index or a reference names it; the errors of [`Schema::with_column`].
    #[inline]
    pub fn with_room_for_nulls(&self, name: &str) -> Result<Schema, SchemaError> {
        let number = self.column_to_change(name)?;
        let has = |key: &[super::KeyPart]| key.iter().any(|part| part.column == number);
        if has(&self.primary.key) {
            let column = name.to_string();
            return Err(SchemaError::NullableKey { column });
        }
        // Keys of columns that may be null are other bytes.
        let mut users = self.indexes.iter().filter(|index| has(&index.key));
        if let Some(index) = users.next() {
            return Err(SchemaError::Change {
                column: name.to_string(),
                change: "made nullable",
                reason: format!(
                    "index {:?} names it; drop that first, and make it again",
                    index.name
                ),
            });
        }
        let mut users = self.foreign_keys.iter();
        if let Some(reference) = users.find(|key| key.columns.contains(&number)) {
            return Err(SchemaError::Change {
                column: name.to_string(),
                change: "made nullable",
                reason: format!(
                    "reference {:?} names it; drop that first, and make it again",
                    reference.name
                ),
            });
        }
        self.with_column(NULLS, Type::Bool, true, Value::Null)
    }

    /// With a column that may be null, once all rows are of the shape that [`Schema::with_room_for_nulls`] made.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; the errors of [`Schema::check`].
    #[inline]
    pub fn with_nullable_column(&self, name: &str) -> Result<Schema, SchemaError> {
        let number = self.column_to_change(name)?;
        let room = self.column_to_change(NULLS)?;
        let mut schema = self.without_column(NULLS)?;
        let Column {
            null, since_shape, ..
        } = schema.columns[room];
        let column = &mut schema.columns[number];
        // The first bit may have been written.
        column.null = null.map(|room| NullBit { bit: 1, ..room });
        column.since_shape = since_shape;
        schema.check()?;
        Ok(schema)
    }

    /// With another primary key, a column that numbers the rows and has its values in all of them; the columns of the key
    /// before are a unique index of this name.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`]; the errors of [`Schema::check`].
    #[inline]
    pub fn with_numbered_rows(&self, column: &str, index: &str) -> Result<Schema, SchemaError> {
        let number = self.column_to_change(column)?;
        let mut schema = self.clone();
        // Until all rows had their numbers they could be null.
        schema.columns[number].null = None;
        let by_number = IndexDefinition {
            name: PRIMARY.to_string(),
            kind: IndexKind::Ordered,
            unique: true,
            deferrable: false,
            nulls_equal: false,
            key: vec![KeyPart {
                column: number,
                descending: false,
            }],
        };
        let before = std::mem::replace(&mut schema.primary, by_number);
        schema.indexes.push(IndexDefinition {
            name: index.to_string(),
            kind: IndexKind::Ordered,
            ..before
        });
        schema.check()?;
        Ok(schema)
    }

    /// The number of a column that is to change.
    ///
    /// # Errors
    /// [`SchemaError::UnknownColumn`].
    #[doc(hidden)]
    #[inline]
    pub fn column_to_change(&self, name: &str) -> Result<usize, SchemaError> {
        let number = self.column(name);
        number.ok_or_else(|| self.unknown_column(name, "the change"))
    }

    /// The index, reference or condition that names a column, as a text for an error.
    #[doc(hidden)]
    #[inline]
    pub fn user_of(&self, number: usize) -> Option<String> {
        let mut indexes = [&self.primary].into_iter().chain(&self.indexes);
        if let Some(index) = indexes.find(|i| i.key.iter().any(|part| part.column == number)) {
            return Some(format!("index {:?}", index.name));
        }
        let mut references = self.foreign_keys.iter();
        if let Some(reference) = references.find(|r| r.columns.contains(&number)) {
            return Some(format!("reference {:?}", reference.name));
        }
        if let Some(generated) = self.generated_of(number).next() {
            return Some(format!(
                "generated column {:?}",
                self.columns[generated].name
            ));
        }
        let mut checks = self.checks.iter();
        let named = |text: &str| {
            Check::parse(text, self).is_ok_and(|condition| condition.columns().contains(&number))
        };
        let check = checks.find(|(_, text)| named(text));
        check.map(|(name, _)| format!("condition {name:?}"))
    }
}

impl Type {
    /// Returns true if the type is wider than another: it has every value of that type, and more.
    #[inline]
    pub fn is_wider_than(self, from: Type) -> bool {
        let integer = |kind| match kind {
            Type::I8 => Some((8, true)),
            Type::I16 => Some((16, true)),
            Type::I32 => Some((32, true)),
            Type::I64 => Some((64, true)),
            Type::I128 => Some((128, true)),
            Type::U8 => Some((8, false)),
            Type::U16 => Some((16, false)),
            Type::U32 => Some((32, false)),
            Type::U64 => Some((64, false)),
            _ => None,
        };
        match (integer(from), integer(self)) {
            (Some((from, from_signed)), Some((to, to_signed))) => {
                to > from && (to_signed || !from_signed)
            }
            _ => (from, self) == (Type::F32, Type::F64),
        }
    }
}
