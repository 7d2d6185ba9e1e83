//! Parts of a schema, appended to bytes.

use super::super::{
    Column, Declared, DeclaredDefault, ForeignKey, IndexDefinition, IndexKind, NullBit, OnDelete,
    Type, Value,
};
use super::{
    COLUMN_DROPPED, COLUMN_NULLABLE, DECLARED_NOT_NULL, INDEX_DEFERRABLE, INDEX_NULLS_EQUAL,
    INDEX_ORDERED, INDEX_UNIQUE, REFERENCED_UNCHECKED, ROWS_UNCHECKED,
};

/// Appends to bytes. Counts and lengths are within their types: `check` bounds them.
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u16(&mut self, value: usize) {
        self.0.extend((value as u16).to_le_bytes());
    }

    pub fn u32(&mut self, value: usize) {
        self.0.extend((value as u32).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len());
        self.0.extend(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u16(list.len());
        for entry in list {
            each(self, entry);
        }
    }

    pub fn column(&mut self, column: &Column) {
        self.text(&column.name);
        self.kind(column.kind);
        let dropped = u8::from(column.dropped) * COLUMN_DROPPED;
        let nullable = u8::from(column.null.is_some()) * COLUMN_NULLABLE;
        self.u8(dropped | nullable);
        self.u8(column.since_shape);
        self.u32(column.offset);
        if let Some(NullBit { byte, bit }) = column.null {
            self.u32(byte as usize);
            self.u8(bit);
        }
        self.value(&column.default);
    }

    pub fn declared(&mut self, declared: &Declared) {
        self.u16(declared.column);
        self.u32(declared.kind as usize);
        self.0.extend(declared.modifier.to_le_bytes());
        self.u8(u8::from(declared.not_null) * DECLARED_NOT_NULL);
        match &declared.default {
            None => self.u8(0),
            Some(DeclaredDefault::Value(value)) => {
                self.u8(1);
                self.value(value);
            }
            Some(DeclaredDefault::Sql(text)) => {
                self.u8(2);
                self.text(text);
            }
            Some(DeclaredDefault::NextNumber) => self.u8(3),
            Some(DeclaredDefault::Generated(text)) => {
                self.u8(4);
                self.text(text);
            }
        }
    }

    fn kind(&mut self, kind: Type) {
        let number = match kind {
            Type::Bool => 1,
            Type::I8 => 2,
            Type::I16 => 3,
            Type::I32 => 4,
            Type::I64 => 5,
            Type::I128 => 6,
            Type::U8 => 7,
            Type::U16 => 8,
            Type::U32 => 9,
            Type::U64 => 10,
            Type::U128 => 11,
            Type::F32 => 12,
            Type::F64 => 13,
            Type::Decimal { .. } => 14,
            Type::Text => 15,
            Type::Bytes => 16,
            Type::Date => 17,
            Type::Time => 18,
            Type::Timestamp => 19,
            Type::Uuid => 20,
            Type::Plain { .. } => 21,
        };
        self.u8(number);
        match kind {
            Type::Decimal { scale } => self.u8(scale),
            Type::Plain {
                bytes,
                align,
                fingerprint,
            } => {
                self.u32(bytes as usize);
                self.u8(align);
                self.0.extend(fingerprint.to_le_bytes());
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.u8(0),
            Value::Bool(value) => self.0.extend([1, u8::from(*value)]),
            Value::Int(value) => self.tagged(2, &value.to_le_bytes()),
            Value::U128(value) => self.tagged(3, &value.to_le_bytes()),
            Value::Float(value) => self.tagged(4, &value.to_le_bytes()),
            Value::Decimal(units, scale) => {
                self.tagged(5, &units.to_le_bytes());
                self.u8(*scale);
            }
            Value::NonFinite(value) => {
                self.tagged(5, &value.units().to_le_bytes());
                self.u8(0);
            }
            Value::Text(text) => {
                self.u8(6);
                self.text(text);
            }
            Value::Bytes(bytes) => {
                self.u8(7);
                self.bytes(bytes);
            }
            Value::Date(days) => self.tagged(8, &days.to_le_bytes()),
            Value::Time(time) => self.tagged(9, &time.to_le_bytes()),
            Value::Timestamp(time) => self.tagged(10, &time.to_le_bytes()),
            Value::Uuid(bytes) => self.tagged(11, bytes),
        }
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.u8(tag);
        self.0.extend(bytes);
    }

    pub fn index(&mut self, index: &IndexDefinition) {
        self.text(&index.name);
        let ordered = u8::from(index.kind == IndexKind::Ordered) * INDEX_ORDERED;
        let unique = u8::from(index.unique) * INDEX_UNIQUE;
        let deferrable = u8::from(index.deferrable) * INDEX_DEFERRABLE;
        let nulls_equal = u8::from(index.nulls_equal) * INDEX_NULLS_EQUAL;
        self.u8(ordered | unique | deferrable | nulls_equal);
        self.list(&index.key, |out, part| {
            out.u16(part.column);
            out.u8(part.descending.into());
        });
    }

    pub fn foreign_key(&mut self, key: &ForeignKey) {
        self.text(&key.name);
        self.u16(key.table.into());
        let action = match key.on_delete {
            OnDelete::Restrict => 0,
            OnDelete::Cascade => 1,
            OnDelete::SetNull => 2,
            OnDelete::SetDefault => 3,
        };
        let rows = u8::from(key.unchecked.rows) * ROWS_UNCHECKED;
        let referenced = u8::from(key.unchecked.referenced) * REFERENCED_UNCHECKED;
        self.u8(action | rows | referenced);
        self.list(&key.columns, |out, column| out.u16(*column));
        self.list(&key.referenced, |out, column| out.u16(*column));
    }
}
