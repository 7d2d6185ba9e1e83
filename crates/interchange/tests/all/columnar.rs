//! Parquet and Arrow: types of other writers, columns that do not fit, damage.

use crate::reading::{columns, read};
use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use sardonyx_interchange::{
    Format, InterchangeError, Place, ReadAhead, Reader, Source, Writer, infer,
};
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use std::sync::Arc;

const FORMATS: [Format; 3] = [Format::Parquet, Format::Arrow, Format::ArrowStream];

/// A file of these columns, as another program may write it.
fn file(format: Format, columns: &[(&str, ArrayRef)]) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns.iter().cloned()).expect("columns");
    let packed = |kind| {
        let options = IpcWriteOptions::default();
        options.try_with_compression(Some(kind)).expect("a codec")
    };
    match format {
        Format::Parquet => {
            let zstd = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(zstd).build();
            let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties));
            let mut writer = writer.expect("a file");
            writer.write(&batch).expect("written");
            writer.into_inner().expect("written")
        }
        Format::Arrow => {
            let options = packed(CompressionType::ZSTD);
            let writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options);
            let mut writer = writer.expect("a file");
            writer.write(&batch).expect("written");
            writer.into_inner().expect("written")
        }
        _ => {
            let options = packed(CompressionType::LZ4_FRAME);
            let writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options);
            let mut writer = writer.expect("a stream");
            writer.write(&batch).expect("written");
            writer.into_inner().expect("written")
        }
    }
}

fn table(columns: &[(&str, Type)]) -> Schema {
    let mut schema = Schema::new();
    for (name, kind) in columns {
        schema = schema.column(name, *kind).nullable();
    }
    let schema = schema.column("key", Type::I64).primary_key(["key"]);
    schema.build().expect("a schema")
}

fn array(values: impl Array + 'static) -> ArrayRef {
    Arc::new(values)
}

#[test]
fn what_other_programs_write_is_read_as_the_columns_types() {
    let dictionary = {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        builder.append_value("b");
        builder.append_null();
        builder.append_value("b");
        builder.finish()
    };
    let view = {
        let mut builder = StringViewBuilder::new();
        builder.append_value("longer than twelve bytes");
        builder.append_null();
        builder.append_value("");
        builder.finish()
    };
    let text = |text: &str| Value::Text(text.to_string());
    let decimals = Decimal128Array::from(vec![Some(1250), None, Some(-5)]);
    let decimals = decimals.with_precision_and_scale(9, 3).expect("a decimal");
    let whole = Decimal128Array::from(vec![Some(7), None, Some(8)]);
    let whole = whole.with_precision_and_scale(5, 0).expect("a decimal");
    let cases: Vec<(ArrayRef, Type, [Value; 2])> = vec![
        (array(dictionary), Type::Text, [text("b"), text("b")]),
        (
            array(view),
            Type::Text,
            [text("longer than twelve bytes"), text("")],
        ),
        (
            array(LargeStringArray::from(vec![Some("x"), None, Some("y")])),
            Type::Text,
            [text("x"), text("y")],
        ),
        (
            array(LargeBinaryArray::from(vec![
                Some(&b"x"[..]),
                None,
                Some(&b"y"[..]),
            ])),
            Type::Bytes,
            [Value::Bytes(b"x".to_vec()), Value::Bytes(b"y".to_vec())],
        ),
        (
            array(BinaryViewArray::from(vec![
                Some(&b"x"[..]),
                None,
                Some(&b"y"[..]),
            ])),
            Type::Bytes,
            [Value::Bytes(b"x".to_vec()), Value::Bytes(b"y".to_vec())],
        ),
        (
            array(UInt16Array::from(vec![Some(7), None, Some(8)])),
            Type::I128,
            [Value::Int(7), Value::Int(8)],
        ),
        (
            array(Int64Array::from(vec![Some(7), None, Some(8)])),
            Type::U8,
            [Value::Int(7), Value::Int(8)],
        ),
        (array(whole), Type::I32, [Value::Int(7), Value::Int(8)]),
        (
            array(decimals),
            Type::Decimal { scale: 5 },
            [Value::Decimal(1250, 3), Value::Decimal(-5, 3)],
        ),
        (
            array(Float32Array::from(vec![Some(0.5), None, Some(-2.0)])),
            Type::F64,
            [Value::Float(0.5), Value::Float(-2.0)],
        ),
        (
            array(Time32SecondArray::from(vec![Some(3), None, Some(4)])),
            Type::Time,
            [Value::Time(3_000_000), Value::Time(4_000_000)],
        ),
        (
            array(Time64NanosecondArray::from(vec![
                Some(3000),
                None,
                Some(4000),
            ])),
            Type::Time,
            [Value::Time(3), Value::Time(4)],
        ),
        (
            array(TimestampMillisecondArray::from(vec![
                Some(3),
                None,
                Some(-4),
            ])),
            Type::Timestamp,
            [Value::Timestamp(3000), Value::Timestamp(-4000)],
        ),
        (
            array(TimestampNanosecondArray::from(vec![
                Some(3000),
                None,
                Some(-4000),
            ])),
            Type::Timestamp,
            [Value::Timestamp(3), Value::Timestamp(-4)],
        ),
        (
            array(Date32Array::from(vec![Some(3), None, Some(-4)])),
            Type::Date,
            [Value::Date(3), Value::Date(-4)],
        ),
    ];
    for format in FORMATS {
        for (values, kind, [first, last]) in &cases {
            let bytes = file(format, &[("c", values.clone())]);
            let found = read(format, &table(&[("c", *kind)]), &bytes);
            let (rows, bad) = found.unwrap_or_else(|e| panic!("{format}, {kind}: {e}"));
            let wanted = [first.clone(), Value::Null, last.clone()].map(|value| vec![(0, value)]);
            assert_eq!((&rows[..], &bad[..]), (&wanted[..], &[][..]), "{format}");
        }
    }
}

#[test]
fn values_that_do_not_fit_are_told_and_passed_over() {
    let columns: [(ArrayRef, Type); 3] = [
        (array(Int64Array::from(vec![1, 300, 2])), Type::U8),
        (
            array(Time64NanosecondArray::from(vec![1000, 1, 2000])),
            Type::Time,
        ),
        (
            array(TimestampSecondArray::from(vec![1, i64::MAX, 2])),
            Type::Timestamp,
        ),
    ];
    for format in FORMATS {
        for (values, kind) in &columns {
            let bytes = file(format, &[("c", values.clone())]);
            let (rows, bad) = read(format, &table(&[("c", *kind)]), &bytes).expect("readable");
            assert_eq!((rows.len(), bad.len()), (2, 1), "{format} {kind}");
            assert_eq!(
                (bad[0].place, bad[0].column.as_deref()),
                (Place::Row(2), Some("c"))
            );
            let said = format!("row 2, column \"c\": not a value of type {kind}: ");
            assert!(bad[0].to_string().starts_with(&said), "{}", bad[0]);
        }
    }
}

#[test]
fn columns_that_do_not_fit_are_refused_with_both_types() {
    let bytes = file(Format::Arrow, &[("c", array(StringArray::from(vec!["1"])))]);
    let refused = |columns: &[(&str, Type)]| {
        let refused = read(Format::Arrow, &table(columns), &bytes);
        refused.expect_err("it does not fit").to_string()
    };
    assert_eq!(
        refused(&[("c", Type::I64)]),
        "column \"c\" is Utf8 in the file, and i64 in the table"
    );
    assert_eq!(
        refused(&[("d", Type::Text)]),
        "the file has a column \"c\", which is no column of the table; the table has d, key"
    );
    let empty = Schema::new().column("key", Type::I64).primary_key(["key"]);
    let none = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
    let mut writer = StreamWriter::try_new(Vec::new(), &none.schema()).expect("a stream");
    writer.write(&none).expect("written");
    let bytes = writer.into_inner().expect("written");
    let found = read(
        Format::ArrowStream,
        &empty.build().expect("a schema"),
        &bytes,
    );
    assert!(matches!(found, Err(InterchangeError::Damaged { .. })));
    let found = Source::Stream(Box::new(&b""[..]));
    let found = Reader::new(Format::Parquet, found, columns(&table(&[])), None);
    assert!(matches!(found, Err(InterchangeError::NoFile { .. })));
}

const KINDS: [Type; 14] = [
    Type::I64,
    Type::Text,
    Type::Bool,
    Type::U16,
    Type::I128,
    Type::U128,
    Type::F32,
    Type::F64,
    Type::Decimal { scale: 3 },
    Type::Bytes,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::Uuid,
];

/// A table with all types, and an exported file of three of its rows.
fn exported(format: Format) -> (Schema, Vec<u8>) {
    let mut schema = Schema::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        schema = schema.column(&format!("c{number}"), kind);
        if number > 0 {
            schema = schema.nullable();
        }
    }
    let schema = schema.primary_key(["c0"]).build().expect("a schema");
    let columns: Vec<usize> = (0..KINDS.len()).collect();
    let mut writer = Writer::new(format, Vec::new(), &schema, &columns).expect("a file");
    for row in 0..3_i64 {
        let value = |column: usize| match KINDS[column] {
            _ if row == 1 && column > 0 => ValueRef::Null,
            Type::Text => ValueRef::Text("some text that is repeated"),
            Type::Bool => ValueRef::Bool(true),
            Type::U128 => ValueRef::U128(u128::MAX - 1),
            Type::F32 | Type::F64 => ValueRef::Float(0.5),
            Type::Decimal { scale } => ValueRef::Decimal(-12_345, scale),
            Type::Bytes => ValueRef::Bytes(&[1, 2, 3]),
            Type::Date => ValueRef::Date(20_000),
            Type::Time => ValueRef::Time(1),
            Type::Timestamp => ValueRef::Timestamp(-1),
            Type::Uuid => ValueRef::Uuid(&[7; 16]),
            _ => ValueRef::Int(row.into()),
        };
        writer.row(value).expect("written");
    }
    (schema, writer.finish().expect("written"))
}

#[test]
fn a_file_says_what_its_columns_are() {
    for format in FORMATS {
        let (schema, bytes) = exported(format);
        let mut source = Source::Stream(Box::new(std::io::Cursor::new(bytes.clone())));
        if format != Format::ArrowStream {
            source = Source::Bytes(bytes.clone().into());
        }
        let again = infer(format, &mut source, &["c0".to_string()], None).expect("a schema");
        assert_eq!(again.schema, schema, "{format}");
        // The source is at its beginning again; a thread of its own reads it.
        let reader = Reader::new(format, source, columns(&again.schema), None).expect("readable");
        let mut ahead = ReadAhead::start(format, reader, 2).expect("a thread");
        let mut rows = 0;
        while let Some(batch) = ahead.next_batch().expect("readable") {
            rows += batch.len();
            ahead.give_back(batch);
        }
        assert_eq!(rows, 3, "{format}");
    }
}

#[test]
fn damage_is_an_error_or_other_values_and_never_a_panic() {
    let texts = StringArray::from(vec!["a text", "a text", "another"]);
    let dictionary: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
    for format in FORMATS {
        let columns = [
            ("c1", array(texts.clone())),
            ("c9", array(dictionary.clone())),
        ];
        let packed = (
            table(&[("c1", Type::Text), ("c9", Type::Text)]),
            file(format, &columns),
        );
        for (schema, bytes) in [exported(format), packed] {
            assert!(read(format, &schema, &bytes).is_ok());
            for length in (0..bytes.len()).rev() {
                let cut = &bytes[..length];
                let found = read(format, &schema, cut);
                // A stream may end behind any message.
                let may_end = format == Format::ArrowStream;
                assert!(found.is_err() || may_end, "{format} of {length} bytes");
                if length % 16 == 0 {
                    let _ = infer(format, &mut Source::Bytes(cut.to_vec().into()), &[], None);
                }
            }
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
                let _ = read(format, &schema, &damaged);
            }
        }
    }
}
