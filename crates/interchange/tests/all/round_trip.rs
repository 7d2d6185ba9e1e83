//! Written values are read as the same values, in every format; faults are reported with their line and column.

use crate::reading::read;
use proptest::prelude::*;
use sardonyx_interchange::{Batch, Format, InterchangeError, Place, Reader, Source, Writer, infer};
use sardonyx_rows::schema::{NonFinite, Schema, Type, Value};

const FORMATS: [Format; 6] = [
    Format::Csv,
    Format::Tsv,
    Format::JsonLines,
    Format::Parquet,
    Format::Arrow,
    Format::ArrowStream,
];

const KINDS: [Type; 21] = [
    Type::I64,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::Text,
    Type::Bool,
    Type::I128,
    Type::U128,
    Type::F64,
    Type::F32,
    Type::Decimal { scale: 3 },
    Type::Bytes,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::Uuid,
    Type::Plain {
        bytes: 3,
        align: 1,
        fingerprint: 7,
    },
];

fn schema() -> Schema {
    let mut schema = Schema::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        let name = format!("column \"{number}\", {kind}");
        schema = schema.column(&name, kind).nullable();
    }
    let schema = schema.column("key", Type::I64).primary_key(["key"]);
    let mut schema = schema.build().expect("a schema");
    // The rows have the columns before.
    schema.columns.pop();
    schema
}

fn value(kind: Type) -> BoxedStrategy<Value> {
    let some = match kind {
        Type::I64 => any::<i64>().prop_map(Value::from).boxed(),
        Type::I8 => any::<i8>().prop_map(Value::from).boxed(),
        Type::I16 => any::<i16>().prop_map(Value::from).boxed(),
        Type::I32 => any::<i32>().prop_map(Value::from).boxed(),
        Type::U8 => any::<u8>().prop_map(Value::from).boxed(),
        Type::U16 => any::<u16>().prop_map(Value::from).boxed(),
        Type::U32 => any::<u32>().prop_map(Value::from).boxed(),
        Type::U64 => any::<u64>().prop_map(Value::from).boxed(),
        Type::Plain { .. } => any::<[u8; 3]>()
            .prop_map(|bytes| Value::Bytes(bytes.to_vec()))
            .boxed(),
        Type::Text => prop_oneof!["[a,\"\n\r 'é\\\\]{0,6}", any::<String>()]
            .prop_map(Value::Text)
            .boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::I128 => any::<i128>().prop_map(Value::Int).boxed(),
        Type::U128 => any::<u128>().prop_map(Value::U128).boxed(),
        Type::F64 => any::<f64>().prop_map(Value::Float).boxed(),
        Type::F32 => any::<f32>().prop_map(Value::from).boxed(),
        Type::Decimal { scale } => (1 - 10_i128.pow(38)..10_i128.pow(38))
            .prop_map(move |units| Value::Decimal(units, scale))
            .boxed(),
        Type::Bytes => any::<Vec<u8>>().prop_map(Value::Bytes).boxed(),
        Type::Date => any::<i32>().prop_map(Value::Date).boxed(),
        Type::Time => (0..86_400_000_000_i64).prop_map(Value::Time).boxed(),
        Type::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        _ => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 4 => some].boxed()
}

fn rows() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let row: Vec<_> = KINDS.into_iter().map(value).collect();
    prop::collection::vec(row, 0..6)
}

fn written(format: Format, schema: &Schema, rows: &[Vec<Value>]) -> Vec<u8> {
    let columns: Vec<usize> = (0..schema.columns.len()).collect();
    let mut writer = Writer::new(format, Vec::new(), schema, &columns).expect("a header");
    for row in rows {
        writer.row(|column| row[column].as_ref()).expect("written");
    }
    writer.finish().expect("written")
}

fn infer_of(format: Format, bytes: &[u8], key: &[String]) -> Result<Schema, InterchangeError> {
    let mut source = Source::Bytes(bytes.to_vec().into());
    Ok(infer(format, &mut source, key, None)?.schema)
}

/// NaN is not equal to itself.
fn shown(row: &[Value]) -> Vec<String> {
    row.iter().map(|value| format!("{value:?}")).collect()
}

proptest! {
    #[test]
    fn rows_are_read_as_they_were_written(rows in rows()) {
        let schema = schema();
        for format in FORMATS {
            let text = written(format, &schema, &rows);
            let (again, bad) = read(format, &schema, &text).expect("readable");
            prop_assert_eq!(&bad, &[]);
            prop_assert_eq!(again.len(), rows.len(), "{}", String::from_utf8_lossy(&text));
            for (again, row) in again.iter().zip(&rows) {
                let again: Vec<Value> = again.iter().map(|(_, value)| value.clone()).collect();
                prop_assert_eq!(shown(&again), shown(row), "{}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, text in "[a,\"\n{}:0]{0,20}") {
        let schema = schema();
        for format in FORMATS {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = read(format, &schema, bytes);
                let _ = infer_of(format, bytes, &[]);
            }
        }
    }
}

fn small() -> Schema {
    let text: &[u8] = b"id,name,born,balance\n1,Ada,1815-12-10,1.5\n";
    infer_of(Format::Csv, text, &[]).expect("inferred")
}

#[test]
fn the_first_rows_say_what_the_columns_are() {
    let schema = small();
    let kinds: Vec<Type> = schema.columns.iter().map(|column| column.kind).collect();
    let decimal = Type::Decimal { scale: 1 };
    assert_eq!(kinds, [Type::I64, Type::Text, Type::Date, decimal]);
    assert!(!schema.columns[0].is_nullable() && schema.columns[1].is_nullable());
    let json: &[u8] = b"{\"n\":1,\"t\":\"12\",\"b\":true}\n{\"n\":2.5,\"u\":\"67e55044-10b1-426f-9247-bb680e5fe0c8\"}\n";
    let schema = infer_of(Format::JsonLines, json, &["t".to_string()]).expect("inferred");
    let kind = |name: &str| schema.columns[schema.column(name).expect("a column")].kind;
    assert_eq!(
        (kind("n"), kind("t"), kind("b"), kind("u")),
        (
            Type::Decimal { scale: 1 },
            Type::Text,
            Type::Bool,
            Type::Uuid
        )
    );
    assert!(matches!(
        infer_of(Format::JsonLines, b"", &[]),
        Err(InterchangeError::NothingToInfer { .. })
    ));
}

#[test]
fn bad_lines_are_told_and_passed_over() {
    let schema = small();
    let text = "id,name,born,balance\n\
        x,Ada,1815-12-10,1.5\n\
        2,\"two\nlines\",,\n\
        3,too,few\n\
        4,Ada,1815-13-10,1.5\n\
        5,\"a\"b,,\n\
        6,last,1906-12-09,\n";
    let (rows, told) = read(Format::Csv, &schema, text.as_bytes()).expect("readable");
    let places: Vec<_> = told
        .iter()
        .map(|bad| (bad.place, bad.column.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            (Place::Line(2), Some("id")),
            (Place::Line(5), Some("balance")),
            (Place::Line(6), Some("born")),
            (Place::Line(7), None)
        ]
    );
    assert_eq!(
        told[0].to_string(),
        "line 2, column \"id\": \"x\" is not a value of type i64: an integer is expected"
    );
    assert_eq!(rows.len(), 2);

    let text = "{\"id\":1}\n\n{\"id\":\n{\"id\":\"x\"}\n{\"nobody\":1}\n{\"id\":2,\"name\":null}\n\
        {\"id\":3,\"id\":4}\n{\"id\":5,\"name\":[1]} \n{\"id\":1e3}\n{\"id\":9223372036854775808}\n{\"id\":6} 7\n";
    let (_, told) = read(Format::JsonLines, &schema, text.as_bytes()).expect("readable");
    let places: Vec<_> = told
        .iter()
        .map(|bad| (bad.place, bad.column.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            (Place::Line(3), None),
            (Place::Line(4), Some("id")),
            (Place::Line(5), Some("nobody")),
            (Place::Line(7), Some("id")),
            (Place::Line(8), Some("name")),
            (Place::Line(10), Some("id")),
            (Place::Line(11), None),
        ]
    );
    assert_eq!(
        told[5].to_string(),
        "line 10, column \"id\": \"9223372036854775808\" is not a value of type i64: out of range"
    );

    let header = |text: &str| read(Format::Csv, &schema, text.as_bytes()).expect_err("a header");
    assert_eq!(
        header("id,nobody\n").to_string(),
        "the file has a column \"nobody\", which is no column of the table; the table has id, name, born, balance"
    );
    assert!(matches!(
        header("id,id\n"),
        InterchangeError::ColumnTwice { .. }
    ));
    assert!(matches!(header(""), InterchangeError::Line { .. }));
}

#[test]
fn blank_lines_and_a_mark_of_the_byte_order_are_passed_over() {
    let schema = small();
    let csv = "\u{feff}\"id\",name\r\n\r\n1,Ada\r\n  \n2,\"\"\n\n";
    let json = "\u{feff}{\"id\":1,\"name\":\"Ada\"}\n\n{\"id\":2,\"name\":\"\"}\n\n";
    for (format, text) in [(Format::Csv, csv), (Format::JsonLines, json)] {
        let (rows, told) = read(format, &schema, text.as_bytes()).expect("readable");
        assert_eq!(told, [], "{format}");
        let row = |id: i64, name: &str| vec![(0, Value::from(id)), (1, Value::from(name))];
        assert_eq!(rows, [row(1, "Ada"), row(2, "")], "{format}");
        let again = infer_of(format, text.as_bytes(), &[]).expect("inferred");
        assert_eq!(again.columns[0].name, "id", "{format}");
    }
    // A blank line is a null where a row has one column that may be null, and nothing where it may not.
    let of = |text: &str| read(Format::Csv, &schema, text.as_bytes()).expect("readable");
    assert_eq!(of("name\nAda\n\n").0.len(), 2);
    assert_eq!(
        of("id\n1\n\n"),
        (vec![vec![(0, Value::from(1_i64))]], vec![])
    );
}

#[test]
fn another_delimiter_is_named_or_said() {
    let schema = small();
    for (delimiter, text) in [
        (';', "id;name\n1;a,b\n"),
        (';', "\"id\";\"name\"\n1;\"a,b\"\n"),
        ('\t', "id\tname\n1\ta,b\n"),
        ('|', "id|name\n1|a,b\n"),
    ] {
        let error = read(Format::Csv, &schema, text.as_bytes()).expect_err("no comma");
        let is_named = |seems: &char| *seems == delimiter;
        assert!(
            matches!(&error, InterchangeError::Delimiter { line: 1, seems } if is_named(seems)),
            "{error}"
        );
        assert!(infer_of(Format::Csv, text.as_bytes(), &[]).is_err());
        let source = Source::Bytes(text.as_bytes().to_vec().into());
        let columns = crate::reading::columns(&schema);
        let said = Some(delimiter as u8);
        let mut reader = Reader::new(Format::Csv, source, columns, said).expect("a header");
        let mut batch = Batch::default();
        assert!(reader.read(&mut batch, 10).expect("readable"));
        assert_eq!((batch.len(), batch.bad.len()), (1, 0), "{text:?}");
    }
    let wrong = |text: &[u8]| match read(Format::Csv, &schema, text).expect_err("a header") {
        InterchangeError::Line { line, reason } => (line, reason),
        other => panic!("{other}"),
    };
    assert_eq!(wrong(b"id,\n").1, "field 2 of the header has no name");
    assert!(wrong(b"\n\"id,name\n1,a\n").1.contains("closing quote"));
    assert!(wrong(b"\xff\xfei\0d\0,\0a\0\n\0").1.contains("UTF-16"));
}

#[test]
fn a_malformed_line_costs_one_row() {
    let schema = small();
    let text: &[u8] = b"id,name\n1,\"a\n2,b\n3,\xff\n4,d\n5,\"e\"f\n6,g\n7,h\"i\n8,\"j\n";
    let (rows, told) = read(Format::Csv, &schema, text).expect("readable");
    let lines: Vec<Place> = told.iter().map(|bad| bad.place).collect();
    assert_eq!(lines, [2, 4, 6, 8, 9].map(Place::Line));
    assert_eq!(rows.len(), 3);

    let text: &[u8] = b"{\"id\":1}\n{\"id\":2,\"name\":\"\xff\"}\n[{\"id\":3}]\n{\"id\":4}\n";
    let (rows, told) = read(Format::JsonLines, &schema, text).expect("readable");
    assert_eq!((rows.len(), told.len()), (2, 2), "{told:?}");
    assert!(
        told[1].reason.contains("one object in each line"),
        "{}",
        told[1]
    );
}

#[test]
fn decimals_that_are_no_numbers_are_texts_and_refused_by_arrow() {
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("d", Type::Decimal { scale: 3 })
        .primary_key(["id"])
        .build()
        .expect("a schema");
    let all = [
        NonFinite::NaN,
        NonFinite::Infinity,
        NonFinite::NegativeInfinity,
    ];
    let rows: Vec<Vec<Value>> = (1..)
        .zip(all)
        .map(|(id, value)| vec![Value::Int(id), Value::NonFinite(value)])
        .collect();
    for format in [Format::Csv, Format::JsonLines] {
        let file = written(format, &schema, &rows);
        let (found, told) = read(format, &schema, &file).expect("readable");
        let found: Vec<Vec<Value>> = found
            .into_iter()
            .map(|row| row.into_iter().map(|(_, value)| value).collect())
            .collect();
        assert_eq!((found, told.len()), (rows.clone(), 0), "{format:?}");
    }
    for format in [Format::Parquet, Format::Arrow] {
        let mut writer = Writer::new(format, Vec::new(), &schema, &[0, 1]).expect("a header");
        let refused = writer.row(|column| rows[0][column].as_ref());
        let refused = refused.expect_err("no number").to_string();
        assert!(refused.contains("NaN or infinite"), "{refused}");
    }
}

#[test]
fn every_digit_of_a_number_in_json_is_read() {
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("large", Type::Decimal { scale: 0 })
        .column("money", Type::Decimal { scale: 20 })
        .column("text", Type::Text)
        .primary_key(["id"])
        .build()
        .expect("a schema");
    let text = "{\"id\":1e3,\"large\":12345678901234567890123,\"money\":1.23456789012345678901,\"text\":1.50}";
    let (rows, told) = read(Format::JsonLines, &schema, text.as_bytes()).expect("readable");
    assert_eq!(told, []);
    let values: Vec<Value> = rows[0].iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(
        values,
        [
            Value::Int(1000),
            Value::Decimal(12345678901234567890123, 0),
            Value::Decimal(123456789012345678901, 20),
            Value::Text("1.50".into()),
        ]
    );
    let inferred = infer_of(Format::JsonLines, text.as_bytes(), &[]).expect("inferred");
    let kinds: Vec<Type> = inferred.columns.iter().map(|column| column.kind).collect();
    let decimal = |scale| Type::Decimal { scale };
    assert_eq!(kinds, [Type::F64, decimal(0), decimal(20), decimal(2)]);
}
