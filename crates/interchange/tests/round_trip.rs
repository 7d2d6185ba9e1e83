//! What is written is read as the same values, in every format; what is wrong is told with its line and column.

use proptest::prelude::*;
use sardonyx_interchange::{BadLine, Format, InterchangeError, ParsedRow, Reader, Writer, infer};
use sardonyx_table::schema::{Column, NullBit, Schema, Type, Value};

const KINDS: [Type; 13] = [
    Type::I64,
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
];

fn schema() -> Schema {
    let mut schema = Schema::default();
    schema.columns = (KINDS.into_iter().enumerate())
        .map(|(number, kind)| Column {
            name: format!("column \"{number}\", {kind}"),
            kind,
            default: Value::Null,
            offset: number * 16,
            null: Some(NullBit { byte: 300, bit: 0 }),
            dropped: false,
            since_shape: 0,
        })
        .collect();
    schema
}

fn value(kind: Type) -> BoxedStrategy<Value> {
    let some = match kind {
        Type::I64 => any::<i64>().prop_map(Value::from).boxed(),
        Type::Text => prop_oneof!["[a,\"\n\r 'é\\\\]{0,6}", any::<String>()]
            .prop_map(Value::Text)
            .boxed(),
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::I128 => any::<i128>().prop_map(Value::Int).boxed(),
        Type::U128 => any::<u128>().prop_map(Value::U128).boxed(),
        Type::F64 => any::<f64>().prop_map(Value::Float).boxed(),
        Type::F32 => any::<f32>().prop_map(Value::from).boxed(),
        Type::Decimal { scale } => any::<i128>()
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

fn read(
    format: Format,
    schema: &Schema,
    text: &[u8],
) -> Result<Vec<Result<ParsedRow, BadLine>>, InterchangeError> {
    let mut reader = Reader::new(format, text, schema)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row()? {
        rows.push(row.map(|(_, mut row)| {
            row.sort_by_key(|(column, _)| *column);
            row
        }));
    }
    Ok(rows)
}

/// NaN is not equal to itself.
fn shown(row: &[Value]) -> Vec<String> {
    row.iter().map(|value| format!("{value:?}")).collect()
}

proptest! {
    #[test]
    fn rows_are_read_as_they_were_written(rows in rows()) {
        let schema = schema();
        for format in [Format::Csv, Format::JsonLines] {
            let text = written(format, &schema, &rows);
            let again = read(format, &schema, &text).expect("readable");
            prop_assert_eq!(again.len(), rows.len(), "{}", String::from_utf8_lossy(&text));
            for (again, row) in again.iter().zip(&rows) {
                let again = again.as_ref().expect("a row").iter().map(|(_, value)| value.clone());
                let again: Vec<Value> = again.collect();
                prop_assert_eq!(shown(&again), shown(row), "{}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, text in "[a,\"\n{}:0]{0,20}") {
        let schema = schema();
        for format in [Format::Csv, Format::JsonLines] {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = read(format, &schema, bytes);
                let _ = infer(format, bytes, &[]);
            }
        }
    }
}

fn small() -> Schema {
    let text: &[u8] = b"id,name,born,balance\n1,Ada,1815-12-10,1.5\n";
    infer(Format::Csv, text, &[]).expect("inferred")
}

#[test]
fn the_first_rows_say_what_the_columns_are() {
    let schema = small();
    let kinds: Vec<Type> = schema.columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [Type::I64, Type::Text, Type::Date, Type::F64]);
    assert!(!schema.columns[0].is_nullable() && schema.columns[1].is_nullable());
    let json: &[u8] = b"{\"n\":1,\"t\":\"12\",\"b\":true}\n{\"n\":2.5,\"u\":\"67e55044-10b1-426f-9247-bb680e5fe0c8\"}\n";
    let schema = infer(Format::JsonLines, json, &["t".to_string()]).expect("inferred");
    let kind = |name: &str| schema.columns[schema.column(name).expect("a column")].kind;
    assert_eq!(
        (kind("n"), kind("t"), kind("b"), kind("u")),
        (Type::F64, Type::Text, Type::Bool, Type::Uuid)
    );
    assert!(matches!(
        infer(Format::Csv, &b""[..], &[]),
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
    let rows = read(Format::Csv, &schema, text.as_bytes()).expect("readable");
    let told: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    let places: Vec<_> = told
        .iter()
        .map(|bad| (bad.line, bad.column.as_deref()))
        .collect();
    assert_eq!(
        places,
        [(2, Some("id")), (5, None), (6, Some("born")), (7, None)]
    );
    assert_eq!(
        told[0].to_string(),
        "line 2, column \"id\": \"x\" is not a value of type i64: an integer is expected"
    );
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 2);

    let text = "{\"id\":1}\n\n{\"id\":\n{\"id\":\"x\"}\n{\"nobody\":1}\n{\"id\":2,\"name\":null}\n";
    let rows = read(Format::JsonLines, &schema, text.as_bytes()).expect("readable");
    let told: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    let places: Vec<_> = told
        .iter()
        .map(|bad| (bad.line, bad.column.as_deref()))
        .collect();
    assert_eq!(places, [(3, None), (4, Some("id")), (5, Some("nobody"))]);

    let header = |text: &str| read(Format::Csv, &schema, text.as_bytes()).expect_err("a header");
    assert!(matches!(
        header("id,nobody\n"),
        InterchangeError::UnknownColumn { .. }
    ));
    assert!(matches!(
        header("id,id\n"),
        InterchangeError::ColumnTwice { .. }
    ));
    assert!(matches!(header(""), InterchangeError::Header { .. }));
}
