//! A schema as bytes: lengths before contents, little-endian, with a version and a checksum.
//!
//! Schemas that are read are checked as any schema is (`check`): arbitrary bytes give a schema that a table can have,
//! or an error. Memory is allocated only for bytes that are present. `docs/format.md` has the format.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{
    Column, Declared, DeclaredDefault, ForeignKey, IndexDefinition, IndexKind, KeyPart, Limit,
    NullBit, OnDelete, Schema, SchemaError, Type, Value,
};
use sardonyx_base::crc32c;

/// The version that is written of a schema that declares nothing of its columns beside their types, and whose references
/// set no columns.
const PLAIN_VERSION: u16 = 1;
/// The version of a schema with declared types, which are at its end.
const DECLARED_VERSION: u16 = 2;
/// The version of one that declares types which programs of version 2 would take for texts. All else is as in version 2.
const TYPED_VERSION: u16 = 3;
/// The version of one with columns that are generated of others. All else is as in version 3.
const GENERATED_VERSION: u16 = 4;
/// The version of one with addresses of networks, which programs of version 4 would take for any bytes, or with a deferrable
/// unique key, which they would not check. All else is as in version 4.
const NETWORKS_VERSION: u16 = 5;
/// The version of one with ranges, or arrays of them, which programs of version 5 would take for any bytes or texts. All
/// else is as in version 5.
const RANGES_VERSION: u16 = 6;
/// The version of one with `hstore`, `tsvector` and `tsquery`, or arrays of these, which programs of version 6 would take for
/// any texts. All else is as in version 6.
const VERSION: u16 = 7;
/// Version (2), reserved (2), length of the rest (4), its CRC-32C (4).
const HEAD_BYTES: usize = 12;

/// The fewest bytes of a column: length of the name (4), type, flags, shape (3), offset (4), the default's tag (1).
const COLUMN_BYTES_MIN: usize = 12;

const COLUMN_DROPPED: u8 = 1;
const COLUMN_NULLABLE: u8 = 2;
const DECLARED_NOT_NULL: u8 = 1;
const INDEX_ORDERED: u8 = 1;
const INDEX_UNIQUE: u8 = 2;
const INDEX_DEFERRABLE: u8 = 4;

impl Schema {
    /// It as bytes, for the database. The same schema gives the same bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer(Vec::new());
        body.u32(self.row_bytes);
        body.list(&self.earlier_shapes, |out, bytes| out.u32(*bytes));
        body.list(&self.columns, Writer::column);
        body.index(&self.primary);
        body.list(&self.indexes, Writer::index);
        body.list(&self.foreign_keys, Writer::foreign_key);
        body.list(&self.checks, |out, (name, condition)| {
            out.text(name);
            out.text(condition);
        });
        let version = self.version();
        if version != PLAIN_VERSION {
            body.list(&self.declared, Writer::declared);
        }
        let body = body.0;
        let mut out = Writer(Vec::with_capacity(HEAD_BYTES + body.len()));
        out.u16(version.into());
        out.u16(0);
        out.u32(body.len());
        out.u32(crc32c::crc32c(&body) as usize);
        out.0.extend(body);
        out.0
    }

    /// The earliest version that can express all of it: programs that do not know its parts refuse it by its version.
    fn version(&self) -> u16 {
        let declared = &self.declared;
        let has_networks = declared
            .iter()
            .any(|there| matches!(there.limit(), Limit::Network(_)));
        if declared.iter().any(Declared::is_of_forms) {
            VERSION
        } else if declared.iter().any(Declared::is_of_ranges) {
            RANGES_VERSION
        } else if has_networks || self.indexes.iter().any(|index| index.deferrable) {
            NETWORKS_VERSION
        } else if declared.iter().any(|there| there.generated().is_some()) {
            GENERATED_VERSION
        } else if !declared.iter().all(Declared::is_of_version_2) {
            TYPED_VERSION
        } else if self.is_plain() {
            PLAIN_VERSION
        } else {
            DECLARED_VERSION
        }
    }

    /// True if version 1 can express all of it.
    fn is_plain(&self) -> bool {
        let mut keys = self.foreign_keys.iter();
        let is_known =
            |key: &ForeignKey| matches!(key.on_delete, OnDelete::Restrict | OnDelete::Cascade);
        self.declared.is_empty() && keys.all(is_known)
    }

    /// Decodes a schema.
    ///
    /// # Errors
    /// [`SchemaError::Damaged`] with the place; [`SchemaError::Version`] if a later version wrote it; the errors of
    /// the check.
    pub fn decode(bytes: &[u8]) -> Result<Schema, SchemaError> {
        let mut head = Reader { bytes, at: 0 };
        let version = head.u16()? as u16;
        if !(PLAIN_VERSION..=VERSION).contains(&version) {
            return Err(match version {
                0 => head.damaged("no version"),
                _ => SchemaError::Version {
                    version,
                    known: VERSION,
                },
            });
        }
        if head.u16()? != 0 {
            return Err(head.damaged("reserved bytes that are not zero"));
        }
        let (length, checksum) = (head.u32()?, head.u32()?);
        if bytes.len() - head.at != length {
            return Err(head.damaged("another length than the recorded one"));
        }
        let body = head.take(length)?;
        if crc32c::crc32c(body) as usize != checksum {
            return Err(head.damaged("a wrong checksum"));
        }
        let mut from = Reader {
            bytes,
            at: HEAD_BYTES,
        };
        let schema = Schema {
            row_bytes: from.u32()?,
            earlier_shapes: from.list(4, Reader::u32)?,
            columns: from.list(COLUMN_BYTES_MIN, Reader::column)?,
            primary: from.index()?,
            indexes: from.list(4, Reader::index)?,
            foreign_keys: from.list(8, Reader::foreign_key)?,
            checks: from.list(6, |from| Ok((from.text()?, from.text()?)))?,
            declared: match version {
                PLAIN_VERSION => Vec::new(),
                _ => from.list(12, Reader::declared)?,
            },
        };
        if from.at != bytes.len() {
            return Err(from.damaged("bytes behind its end"));
        }
        if schema.primary.deferrable {
            return Err(from.damaged("a primary key that is checked later"));
        }
        schema.check()?;
        Ok(schema)
    }
}

/// Appends to bytes. Counts and lengths are within their types: `check` bounds them.
struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: usize) {
        self.0.extend((value as u16).to_le_bytes());
    }

    fn u32(&mut self, value: usize) {
        self.0.extend((value as u32).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len());
        self.0.extend(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u16(list.len());
        for entry in list {
            each(self, entry);
        }
    }

    fn column(&mut self, column: &Column) {
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

    fn declared(&mut self, declared: &Declared) {
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

    fn index(&mut self, index: &IndexDefinition) {
        self.text(&index.name);
        let ordered = u8::from(index.kind == IndexKind::Ordered) * INDEX_ORDERED;
        let unique = u8::from(index.unique) * INDEX_UNIQUE;
        let deferrable = u8::from(index.deferrable) * INDEX_DEFERRABLE;
        self.u8(ordered | unique | deferrable);
        self.list(&index.key, |out, part| {
            out.u16(part.column);
            out.u8(part.descending.into());
        });
    }

    fn foreign_key(&mut self, key: &ForeignKey) {
        self.text(&key.name);
        self.u16(key.table.into());
        self.u8(match key.on_delete {
            OnDelete::Restrict => 0,
            OnDelete::Cascade => 1,
            OnDelete::SetNull => 2,
            OnDelete::SetDefault => 3,
        });
        self.list(&key.columns, |out, column| out.u16(*column));
        self.list(&key.referenced, |out, column| out.u16(*column));
    }
}

/// Reads arbitrary bytes.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn damaged(&self, reason: &'static str) -> SchemaError {
        SchemaError::Damaged {
            at: self.at,
            reason,
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], SchemaError> {
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

    fn u16(&mut self) -> Result<usize, SchemaError> {
        Ok(u16::from_le_bytes(self.array()?).into())
    }

    fn u32(&mut self) -> Result<usize, SchemaError> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn byte_string(&mut self) -> Result<&'a [u8], SchemaError> {
        let length = self.u32()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<String, SchemaError> {
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
    fn list<T>(
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

    fn column(&mut self) -> Result<Column, SchemaError> {
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

    fn declared(&mut self) -> Result<Declared, SchemaError> {
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
            5 => Value::Decimal(i128::from_le_bytes(self.array()?), self.u8()?),
            6 => Value::Text(self.text()?),
            7 => Value::Bytes(self.byte_string()?.to_vec()),
            8 => Value::Date(i32::from_le_bytes(self.array()?)),
            9 => Value::Time(i64::from_le_bytes(self.array()?)),
            10 => Value::Timestamp(i64::from_le_bytes(self.array()?)),
            11 => Value::Uuid(self.array()?),
            _ => return Err(self.damaged("an unknown kind of value")),
        })
    }

    fn index(&mut self) -> Result<IndexDefinition, SchemaError> {
        let name = self.text()?;
        let flags = self.flags(INDEX_ORDERED | INDEX_UNIQUE | INDEX_DEFERRABLE)?;
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
            key,
        })
    }

    fn foreign_key(&mut self) -> Result<ForeignKey, SchemaError> {
        let name = self.text()?;
        let table = self.u16()? as u16;
        let on_delete = match self.u8()? {
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schema(declared: Vec<Declared>, on_delete: OnDelete) -> Schema {
        let mut schema = Schema::new()
            .column("id", Type::U64)
            .column("name", Type::Text)
            .nullable()
            .column("money", Type::Decimal { scale: 2 })
            .nullable()
            .primary_key(["id"])
            .build()
            .expect("a schema");
        schema.foreign_keys.push(ForeignKey {
            name: "itself".to_string(),
            columns: vec![0],
            table: 0,
            referenced: vec![0],
            on_delete,
        });
        schema.declared = declared;
        schema
    }

    fn default() -> impl Strategy<Value = Option<DeclaredDefault>> {
        prop_oneof![
            Just(None),
            Just(Some(DeclaredDefault::Value(Value::Null))),
            ".{0,9}".prop_map(|text| Some(DeclaredDefault::Sql(text))),
        ]
    }

    #[test]
    fn a_schema_that_version_1_knows_is_written_as_version_1_wrote_it() {
        for on_delete in [OnDelete::Restrict, OnDelete::Cascade] {
            let plain = schema(Vec::new(), on_delete).encode();
            assert_eq!(plain[..2], [1, 0]);
            // Nothing follows the conditions, of which there are none.
            assert_eq!(plain[plain.len() - 2..], [0, 0]);
        }
        let set_null = schema(Vec::new(), OnDelete::SetNull).encode();
        assert_eq!(set_null[..2], [2, 0]);
        let declared = Declared {
            not_null: true,
            ..Declared::of(1)
        };
        let declared = schema(vec![declared], OnDelete::Restrict).encode();
        assert_eq!(declared[..2], [2, 0]);
        let entry = [1, 0, 1, 0, 0, 0, 0, 0, 255, 255, 255, 255, 1, 0];
        assert_eq!(declared[declared.len() - entry.len()..], entry);
    }

    #[test]
    fn schemas_of_the_shortest_names_read_as_they_were_written() {
        // One letter each, and two when these are used up.
        let letters = || ('a'..='z').chain('A'..='Z');
        let pairs = letters().flat_map(|one| letters().map(move |two| format!("{one}{two}")));
        let names: Vec<_> = letters().map(String::from).chain(pairs).take(512).collect();
        for count in (1..=64).chain([names.len()]) {
            let columns = names[..count].iter();
            let schema = columns.fold(Schema::new(), |to, name| to.column(name, Type::I8));
            let schema = schema.primary_key(["a"]).build().expect("a schema");
            assert_eq!(
                Schema::decode(&schema.encode()),
                Ok(schema),
                "{count} columns"
            );
        }
    }

    #[test]
    fn ranges_raise_the_version_so_that_older_programs_refuse_them() {
        const RANGES: [u32; 6] = [3904, 3906, 3908, 3910, 3912, 3926];
        for kind in RANGES {
            let mut ranges = schema(Vec::new(), OnDelete::Restrict);
            ranges.columns[1].kind = Type::Bytes;
            let of = |kind| Declared {
                kind,
                ..Declared::of(1)
            };
            ranges.declared = vec![of(kind)];
            let bytes = ranges.encode();
            assert_eq!(bytes[..2], [6, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(ranges.clone()));
            // Of a column that has no bytes.
            ranges.columns[1].kind = Type::Text;
            assert!(Schema::decode(&ranges.encode()).is_err());
            // Arrays are texts.
            ranges.declared = vec![of(kind + 1)];
            let bytes = ranges.encode();
            assert_eq!(bytes[..2], [6, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(ranges.clone()));
        }
    }

    #[test]
    fn texts_of_a_form_raise_the_version_so_that_older_programs_refuse_them() {
        // `tsvector`, `tsquery`, `hstore`, and arrays of them.
        for kind in [3614, 3615, 3643, 3645, 13_998, 13_999] {
            let mut forms = schema(Vec::new(), OnDelete::Restrict);
            forms.columns[1].kind = Type::Text;
            let of = |kind| Declared {
                kind,
                ..Declared::of(1)
            };
            forms.declared = vec![of(kind)];
            let bytes = forms.encode();
            assert_eq!(bytes[..2], [7, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(forms.clone()));
            // A schema without them stays readable by older programs.
            forms.declared = vec![of(25)];
            assert_eq!(forms.encode()[..2], [2, 0], "{kind}");
        }
    }

    #[test]
    fn addresses_and_deferrable_keys_raise_the_version_so_that_older_programs_refuse_them() {
        const INET: u32 = 869;
        const CIDR: u32 = 650;
        for kind in [INET, CIDR] {
            let mut networks = schema(Vec::new(), OnDelete::Restrict);
            networks.columns[1].kind = Type::Bytes;
            assert_eq!(networks.encode()[..2], [1, 0]);
            networks.declared = vec![Declared {
                kind,
                ..Declared::of(1)
            }];
            let bytes = networks.encode();
            assert_eq!(bytes[..2], [5, 0]);
            assert_eq!(Schema::decode(&bytes), Ok(networks.clone()));
            // Of a column that has no bytes.
            networks.columns[1].kind = Type::Text;
            assert!(Schema::decode(&networks.encode()).is_err());
        }
        let mut keys = schema(Vec::new(), OnDelete::Restrict);
        keys.indexes.push(IndexDefinition {
            name: "later".into(),
            kind: IndexKind::Ordered,
            unique: false,
            deferrable: true,
            key: vec![KeyPart {
                column: 1,
                descending: false,
            }],
        });
        let bytes = keys.encode();
        assert_eq!(bytes[..2], [5, 0]);
        assert_eq!(Schema::decode(&bytes), Ok(keys.clone()));
        keys.indexes[0].unique = true;
        assert!(Schema::decode(&keys.encode()).is_err());
    }

    #[test]
    fn forms_of_extensions_and_of_text_search_raise_the_version_so_that_older_programs_refuse_them()
    {
        for kind in [3614, 3615, 3643, 3645, 13_998, 13_999] {
            let mut forms = schema(Vec::new(), OnDelete::Restrict);
            forms.columns[1].kind = Type::Text;
            forms.declared = vec![Declared {
                kind,
                ..Declared::of(1)
            }];
            let bytes = forms.encode();
            assert_eq!(bytes[..2], [6, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(forms));
        }
    }

    proptest! {
        #[test]
        fn what_is_declared_reads_as_it_was_written(
            modifier in 4..100_i32, not_null: bool, defaults in (default(), default()), set in 0..4_usize,
        ) {
            let of = |column, kind, modifier, default| Declared {
                column,
                kind,
                modifier,
                not_null,
                default,
            };
            let declared = vec![
                of(1, 1043, modifier, defaults.0),
                of(2, 1700, (9 << 16 | 2) + 4, defaults.1),
            ];
            let actions = [OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull, OnDelete::SetDefault];
            let schema = schema(declared, actions[set]);
            let bytes = schema.encode();
            prop_assert_eq!(Schema::decode(&bytes), Ok(schema));
            for end in 0..bytes.len() {
                prop_assert!(Schema::decode(&bytes[..end]).is_err());
            }
        }
    }
}
