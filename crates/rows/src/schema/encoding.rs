//! A schema as bytes: lengths before contents, little-endian, with a version and a checksum.
//!
//! `writer` and `reader` have the parts; here are the versions, the head and the order of parts.
//!
//! Schemas that are read are checked as any schema is (`check`): arbitrary bytes give a schema that a table can have,
//! or an error. Memory is allocated only for bytes that are present. `docs/format.md` has the format.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod reader;
mod writer;

use super::{Declared, ForeignKey, Limit, OnDelete, Schema, SchemaError, Unchecked};
use reader::Reader;
use sardonyx_base::crc32c;
use writer::Writer;

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
const FORMS_VERSION: u16 = 7;
/// The version of one with times of the day with a zone, or arrays of them, which programs of version 7 would take for any bytes
/// or texts. All else is as in version 7.
const ZONED_VERSION: u16 = 8;
/// The version of one with a unique key whose nulls are equal, which programs of version 8 would not see. All else is as in
/// version 8.
const NULLS_VERSION: u16 = 9;
/// The version of one with a reference that does not check all changes, which programs of version 9 would check. All else is as
/// in version 9.
const UNCHECKED_VERSION: u16 = 10;
/// The version of one with strings of bits, or arrays of them, which programs of version 10 would take for any texts. All else
/// is as in version 10.
const VERSION: u16 = 11;
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
const INDEX_NULLS_EQUAL: u8 = 8;
/// Beside the action of a reference.
const ROWS_UNCHECKED: u8 = 16;
const REFERENCED_UNCHECKED: u8 = 32;

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
        let mut keys = self.foreign_keys.iter();
        if declared.iter().any(Declared::is_of_bits) {
            VERSION
        } else if keys.any(|key| key.unchecked != Unchecked::default()) {
            UNCHECKED_VERSION
        } else if self.indexes.iter().any(|index| index.nulls_equal) {
            NULLS_VERSION
        } else if declared.iter().any(Declared::is_of_zoned_times) {
            ZONED_VERSION
        } else if declared.iter().any(Declared::is_of_forms) {
            FORMS_VERSION
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

#[cfg(test)]
mod tests {
    use super::super::{DeclaredDefault, IndexDefinition, IndexKind, KeyPart, Type, Value};
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
            unchecked: Unchecked::default(),
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
    fn references_that_check_no_changes_raise_the_version() {
        for (rows, referenced) in [(true, false), (false, true), (true, true)] {
            for on_delete in [OnDelete::Restrict, OnDelete::SetDefault] {
                let mut unchecked = schema(Vec::new(), on_delete);
                unchecked.foreign_keys[0].unchecked = Unchecked { rows, referenced };
                let bytes = unchecked.encode();
                assert_eq!(bytes[..2], [10, 0]);
                assert_eq!(Schema::decode(&bytes), Ok(unchecked));
            }
        }
    }

    #[test]
    fn strings_of_bits_raise_the_version_so_that_older_programs_refuse_them() {
        // `bit`, `bit varying`, and arrays of them.
        for kind in 1560..=1563 {
            let mut bits = schema(Vec::new(), OnDelete::Restrict);
            bits.declared = vec![Declared {
                kind,
                ..Declared::of(1)
            }];
            let bytes = bits.encode();
            assert_eq!(bytes[..2], [11, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(bits));
        }
    }

    #[test]
    fn zoned_times_raise_the_version_so_that_older_programs_refuse_them() {
        for (kind, stored) in [(1266, Type::Bytes), (1270, Type::Text)] {
            let mut times = schema(Vec::new(), OnDelete::Restrict);
            times.columns[1].kind = stored;
            times.declared = vec![Declared {
                kind,
                ..Declared::of(1)
            }];
            let bytes = times.encode();
            assert_eq!(bytes[..2], [8, 0], "{kind}");
            assert_eq!(Schema::decode(&bytes), Ok(times));
        }
        let mut wrong = schema(Vec::new(), OnDelete::Restrict);
        wrong.columns[1].kind = Type::Time;
        wrong.declared = vec![Declared {
            kind: 1266,
            ..Declared::of(1)
        }];
        assert!(Schema::decode(&wrong.encode()).is_err());
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
            nulls_equal: false,
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
        keys.indexes[0].deferrable = false;
        keys.indexes[0].nulls_equal = true;
        let bytes = keys.encode();
        assert_eq!(bytes[..2], [9, 0]);
        assert_eq!(Schema::decode(&bytes), Ok(keys));
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
