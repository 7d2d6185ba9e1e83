//! Parts of a schema, read from arbitrary bytes: each is a part that a schema can have, or an error.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::super::{
    Column, Declared, DeclaredDefault, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit,
    OnDelete, SchemaError, Type, Unchecked, Value, ValueRef,
};
use super::{
    COLUMN_DROPPED, COLUMN_NULLABLE, DECLARED_NOT_NULL, INDEX_DEFERRABLE, INDEX_NULLS_EQUAL,
    INDEX_ORDERED, INDEX_UNIQUE, REFERENCED_UNCHECKED, ROWS_UNCHECKED,
};

/// Reads arbitrary bytes.
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn damaged(&self, reason: &'static str) -> SchemaError {
        SchemaError::Damaged {
            at: self.at,
            reason,
        }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], SchemaError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..length) else {
            return Err(self.damaged("its end is missing"));
        };
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SchemaError> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many as were taken"))
    }

    fn u8(&mut self) -> Result<u8, SchemaError> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<usize, SchemaError> {
        Ok(u16::from_le_bytes(self.array()?).into())
    }

    pub fn u32(&mut self) -> Result<usize, SchemaError> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn byte_string(&mut self) -> Result<&'a [u8], SchemaError> {
        let length = self.u32()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<String, SchemaError> {
        let bytes = self.byte_string()?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_string()),
            Err(_) => Err(self.damaged("text that is not UTF-8")),
        }
    }

    /// A bit of a set of flags that are all known.
    fn flags(&mut self, known: u8) -> Result<u8, SchemaError> {
        match self.u8()? {
            flags if flags & !known == 0 => Ok(flags),
            _ => Err(self.damaged("an unknown flag")),
        }
    }

    /// A list whose entries have at least so many bytes each.
    pub fn list<T>(
        &mut self,
        bytes_at_least: usize,
        mut each: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        let count = self.u16()?;
        if count * bytes_at_least > self.bytes.len().saturating_sub(self.at) {
            return Err(self.damaged("a list longer than its bytes"));
        }
        (0..count).map(|_| each(self)).collect()
    }

    pub fn column(&mut self) -> Result<Column, SchemaError> {
        let name = self.text()?;
        let kind = self.kind()?;
        let flags = self.flags(COLUMN_DROPPED | COLUMN_NULLABLE)?;
        let since_shape = self.u8()?;
        let offset = self.u32()?;
        let null = match flags & COLUMN_NULLABLE {
            0 => None,
            _ => Some(NullBit {
                byte: self.u32()? as u32,
                bit: self.u8()?,
            }),
        };
        Ok(Column {
            name,
            kind,
            default: self.value()?,
            offset,
            null,
            dropped: flags & COLUMN_DROPPED != 0,
            since_shape,
        })
    }

    pub fn declared(&mut self) -> Result<Declared, SchemaError> {
        Ok(Declared {
            column: self.u16()?,
            kind: self.u32()? as u32,
            modifier: i32::from_le_bytes(self.array()?),
            not_null: self.flags(DECLARED_NOT_NULL)? != 0,
            default: match self.u8()? {
                0 => None,
                1 => Some(DeclaredDefault::Value(self.value()?)),
                2 => Some(DeclaredDefault::Sql(self.text()?)),
                3 => Some(DeclaredDefault::NextNumber),
                4 => Some(DeclaredDefault::Generated(self.text()?)),
                _ => return Err(self.damaged("an unknown default")),
            },
        })
    }

    fn kind(&mut self) -> Result<Type, SchemaError> {
        Ok(match self.u8()? {
            1 => Type::Bool,
            2 => Type::I8,
            3 => Type::I16,
            4 => Type::I32,
            5 => Type::I64,
            6 => Type::I128,
            7 => Type::U8,
            8 => Type::U16,
            9 => Type::U32,
            10 => Type::U64,
            11 => Type::U128,
            12 => Type::F32,
            13 => Type::F64,
            14 => Type::Decimal { scale: self.u8()? },
            15 => Type::Text,
            16 => Type::Bytes,
            17 => Type::Date,
            18 => Type::Time,
            19 => Type::Timestamp,
            20 => Type::Uuid,
            21 => Type::Plain {
                bytes: self.u32()? as u32,
                align: self.u8()?,
                fingerprint: u64::from_le_bytes(self.array()?),
            },
            _ => return Err(self.damaged("an unknown type")),
        })
    }

    fn value(&mut self) -> Result<Value, SchemaError> {
        Ok(match self.u8()? {
            0 => Value::Null,
            1 => match self.u8()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                _ => return Err(self.damaged("a bool that is neither 0 nor 1")),
            },
            2 => Value::Int(i128::from_le_bytes(self.array()?)),
            3 => Value::U128(u128::from_le_bytes(self.array()?)),
            4 => Value::Float(f64::from_le_bytes(self.array()?)),
            5 => {
                let (units, scale) = (i128::from_le_bytes(self.array()?), self.u8()?);
                ValueRef::decimal(units, scale).to_value()
            }
            6 => Value::Text(self.text()?),
            7 => Value::Bytes(self.byte_string()?.to_vec()),
            8 => Value::Date(i32::from_le_bytes(self.array()?)),
            9 => Value::Time(i64::from_le_bytes(self.array()?)),
            10 => Value::Timestamp(i64::from_le_bytes(self.array()?)),
            11 => Value::Uuid(self.array()?),
            _ => return Err(self.damaged("an unknown kind of value")),
        })
    }

    pub fn index(&mut self) -> Result<IndexDefinition, SchemaError> {
        let name = self.text()?;
        let flags =
            self.flags(INDEX_ORDERED | INDEX_UNIQUE | INDEX_DEFERRABLE | INDEX_NULLS_EQUAL)?;
        let key = self.list(3, |from| {
            Ok(KeyPart {
                column: from.u16()?,
                descending: from.flags(1)? != 0,
            })
        })?;
        if flags & INDEX_UNIQUE != 0 && flags & INDEX_DEFERRABLE != 0 {
            return Err(self.damaged("an index that is checked at once, and later"));
        }
        let kind = match flags & INDEX_ORDERED {
            0 => IndexKind::Hash,
            _ => IndexKind::Ordered,
        };
        Ok(IndexDefinition {
            name,
            kind,
            unique: flags & INDEX_UNIQUE != 0,
            deferrable: flags & INDEX_DEFERRABLE != 0,
            nulls_equal: flags & INDEX_NULLS_EQUAL != 0,
            key,
        })
    }

    pub fn foreign_key(&mut self) -> Result<ForeignKey, SchemaError> {
        let name = self.text()?;
        let table = self.u16()? as u16;
        let flags = self.u8()?;
        let unchecked = Unchecked {
            rows: flags & ROWS_UNCHECKED != 0,
            referenced: flags & REFERENCED_UNCHECKED != 0,
        };
        let on_delete = match flags & !(ROWS_UNCHECKED | REFERENCED_UNCHECKED) {
            0 => OnDelete::Restrict,
            1 => OnDelete::Cascade,
            2 => OnDelete::SetNull,
            3 => OnDelete::SetDefault,
            _ => return Err(self.damaged("an unknown action")),
        };
        Ok(ForeignKey {
            name,
            columns: self.list(2, Reader::u16)?,
            table,
            referenced: self.list(2, Reader::u16)?,
            on_delete,
            unchecked,
        })
    }
}
