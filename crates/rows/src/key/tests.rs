use super::compare::compare_escaped;
use super::*;
use crate::schema::{Column, IndexKind, KeyPart, Value};
use proptest::prelude::*;
use std::cmp::Ordering;

/// A type and two values or nulls of it.
fn column() -> impl Strategy<Value = (Type, [Value; 2])> {
    fn pair<T: std::fmt::Debug>(
        kind: Type,
        value: impl Strategy<Value = T>,
        wrap: fn(T) -> Value,
    ) -> impl Strategy<Value = (Type, [Value; 2])> {
        let value = prop_oneof![6 => value.prop_map(wrap), 1 => Just(Value::Null)];
        let values = proptest::collection::vec(value, 2);
        let same = prop_oneof![3 => Just(false), 1 => Just(true)];
        (values, same).prop_map(move |(values, same)| {
            let one = values[0].clone();
            let other = if same { one.clone() } else { values[1].clone() };
            (kind, [one, other])
        })
    }
    let text = "[a-c\0\u{1}é]{0,6}|[a-c]{0,3}";
    let float = prop_oneof![
        any::<f64>(),
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NAN),
        Just(-f64::NAN),
        -3.0..3.0f64
    ];
    let short = prop_oneof![any::<f32>(), Just(0.0f32), Just(-0.0f32), Just(-f32::NAN)];
    let bytes = prop::collection::vec(prop_oneof![Just(0u8), Just(255u8), any::<u8>()], 0..6);
    let decimal = Type::Decimal { scale: 2 };
    prop_oneof![
        pair(Type::Bool, any::<bool>(), Value::Bool),
        pair(Type::I8, any::<i8>(), |value| value.into()),
        pair(Type::I16, any::<i16>(), |value| value.into()),
        pair(Type::I32, any::<i32>(), |value| value.into()),
        pair(Type::I64, any::<i64>(), |value| value.into()),
        pair(Type::I64, -70_000..70_000i64, |value| value.into()),
        pair(Type::I32, -300..300i32, |value| value.into()),
        pair(Type::U64, 0..70_000u64, |value| value.into()),
        pair(Type::I128, any::<i128>(), |value| value.into()),
        pair(Type::U8, any::<u8>(), |value| value.into()),
        pair(Type::U16, any::<u16>(), |value| value.into()),
        pair(Type::U32, any::<u32>(), |value| value.into()),
        pair(Type::U64, any::<u64>(), |value| value.into()),
        pair(Type::U128, any::<u128>(), |value| value.into()),
        pair(Type::F32, short, |value| value.into()),
        pair(Type::F64, float, |value| value.into()),
        pair(decimal, any::<i128>(), |units| Value::Decimal(units, 2)),
        pair(Type::Text, text, |value| value.into()),
        pair(Type::Bytes, bytes, |value| value.into()),
        pair(Type::Date, any::<i32>(), Value::Date),
        pair(Type::Time, 0..86_400_000_000i64, Value::Time),
        pair(Type::Timestamp, any::<i64>(), Value::Timestamp),
        pair(Type::Uuid, any::<[u8; 16]>(), Value::Uuid),
    ]
}

/// Nulls last; floats in order, with one zero, and one NaN above all.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Int(one), Value::Int(other)) => one.cmp(other),
        (Value::U128(one), Value::U128(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => canonical(*one).total_cmp(&canonical(*other)),
        (Value::Decimal(one, _), Value::Decimal(other, _)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Date(one), Value::Date(other)) => one.cmp(other),
        (Value::Time(one), Value::Time(other)) => one.cmp(other),
        (Value::Timestamp(one), Value::Timestamp(other)) => one.cmp(other),
        (Value::Uuid(one), Value::Uuid(other)) => one.cmp(other),
        _ => panic!("values of one type"),
    }
}

fn canonical(float: f64) -> f64 {
    if float.is_nan() {
        f64::NAN
    } else {
        float + 0.0
    }
}

/// A value, encoded as in a row.
fn raw(kind: Type, value: &Value) -> Vec<u8> {
    let reference = |bytes: &[u8]| {
        let mut raw = (bytes.len() as u32).to_le_bytes().to_vec();
        raw.extend(bytes);
        raw
    };
    let mut bytes = match (kind, value) {
        (_, Value::Null) => Vec::new(),
        (_, Value::Bool(value)) => vec![u8::from(*value)],
        (_, Value::Int(value) | Value::Decimal(value, _)) => value.to_le_bytes().to_vec(),
        (_, Value::NonFinite(value)) => value.units().to_le_bytes().to_vec(),
        (_, Value::U128(value)) => value.to_le_bytes().to_vec(),
        (Type::F32, Value::Float(value)) => (*value as f32).to_le_bytes().to_vec(),
        (_, Value::Float(value)) => value.to_le_bytes().to_vec(),
        (_, Value::Text(text)) => reference(text.as_bytes()),
        (_, Value::Bytes(bytes)) => reference(bytes),
        (_, Value::Date(days)) => days.to_le_bytes().to_vec(),
        (_, Value::Time(time) | Value::Timestamp(time)) => time.to_le_bytes().to_vec(),
        (_, Value::Uuid(bytes)) => bytes.to_vec(),
    };
    bytes.resize(kind.bytes(), 0);
    bytes
}

proptest! {
    #[test]
    fn a_value_compares_where_it_stands_as_its_encoding_does(
        value in prop::collection::vec(0u8..4, 0..6),
        other in prop::collection::vec(0u8..4, 0..6),
        kept in 0usize..12,
    ) {
        let (mut encoded, mut wanted) = (KeyBytes::default(), KeyBytes::default());
        push_escaped(&value, &mut encoded);
        push_escaped(&other, &mut wanted);
        wanted.extend(b"behind");
        let wanted = &wanted[..kept.min(wanted.len())];
        let both = encoded.len().min(wanted.len());
        let order = encoded[..both].cmp(&wanted[..both]);
        match compare_escaped(&value, wanted) {
            None => prop_assert!(value.contains(&0)),
            Some((found, behind)) => {
                prop_assert_eq!(found, order);
                if order == Ordering::Equal {
                    prop_assert_eq!(behind, &wanted[both..]);
                }
            }
        }
    }

    #[test]
    fn keys_have_the_order_of_their_values_and_rows_have_the_keys_of_theirs(
        columns in prop::collection::vec((column(), any::<bool>()), 1..4)
    ) {
        let (mut schema, mut definition) = (Schema::default(), IndexDefinition::default());
        definition.kind = IndexKind::Ordered;
        let mut rows = [Vec::new(), Vec::new()];
        for (number, ((kind, values), descending)) in columns.iter().enumerate() {
            let nullable = values.contains(&Value::Null);
            let offset = rows[0].len();
            let null = nullable.then(|| NullBit { byte: (offset + kind.bytes()) as u32, bit: 3 });
            schema.columns.push(Column {
                name: format!("c{number}"),
                kind: *kind,
                default: Value::Null,
                offset,
                null,
                dropped: false,
                since_shape: 0,
            });
            definition.key.push(KeyPart { column: number, descending: *descending });
            for (row, value) in rows.iter_mut().zip(values) {
                row.extend(raw(*kind, value));
                row.push(u8::from(*value == Value::Null) << 3);
            }
        }
        let shape = KeyShape::new(&schema, &definition);
        let mut keys = Vec::new();
        for (side, row) in rows.iter().enumerate() {
            let values: Vec<_> = columns.iter().map(|((_, values), _)| values[side].clone()).collect();
            let key = shape.of_values(&values).expect("good values");
            let mut of_row = KeyBytes::default();
            let has_null = shape.of_row(&row[..], Address(0), &mut of_row).expect("live");
            prop_assert_eq!(&*of_row, &*key.bytes);
            let of_columns = shape.of_columns(|column| values[column].as_ref());
            prop_assert_eq!(of_columns.as_deref(), Some(&*key.bytes));
            let word = shape.word_of_row(&row[..], Address(0)).expect("live");
            let is_word = matches!(&columns[..], [((Type::U64, _), false)]) && !schema.columns[0].is_nullable();
            prop_assert_eq!(word, is_word.then(|| prefix(&key.bytes)));
            prop_assert!(word.is_none() || shape.is_exact());
            if let [Value::Bytes(bytes)] = &values[..]
                && let Some(is_it) = shape.is_bytes(row, Address(0), bytes)
            {
                prop_assert!(is_it && !schema.columns[0].is_nullable());
                let before_end = shape.bytes_before_end(&values[0]);
                let ended = before_end.map(|bytes| [bytes, &[0, 0][..]].concat());
                let is_ended = !bytes.contains(&0) && !columns[0].1;
                prop_assert_eq!(ended.as_deref(), is_ended.then_some(&*key.bytes));
                let mut longer = bytes.clone();
                longer.push(0);
                prop_assert_eq!(shape.is_bytes(row, Address(0), &longer), Some(false));
                if let Some(last) = longer.len().checked_sub(2) {
                    longer.pop();
                    longer[last] ^= 1;
                    prop_assert_eq!(shape.is_bytes(row, Address(0), &longer), Some(false));
                }
            }
            prop_assert!(key.is_whole && has_null == values.contains(&Value::Null));
            prop_assert!(!shape.is_exact() || key.bytes.len() <= 8);
            // Edges around the first columns enclose it.
            for first in 0..=values.len() {
                let part = shape.of_values(&values[..first]).expect("good values");
                let edge = |behind| Edge { bytes: &part.bytes, behind };
                prop_assert!(!edge(false).is_behind(&key.bytes) && edge(true).is_behind(&key.bytes));
                let at = prefix(&key.bytes);
                prop_assert!(edge(false).prefix() <= at && at <= edge(true).prefix());
            }
            keys.push((key.bytes, values));
        }
        for (key, values) in &keys {
            let mut shown: Vec<_> = values.iter().map(|value| crate::row::shown(value.as_ref())).collect();
            for ((shown, value), ((kind, _), _)) in shown.iter_mut().zip(values).zip(&columns) {
                // Zeroes have one key, and floats of 32 bits are shown as they are stored.
                if let Value::Float(float) = value {
                    let float = if *kind == Type::F32 { f64::from(*float as f32) } else { *float };
                    *shown = crate::row::shown(Value::Float(float + 0.0).as_ref());
                }
            }
            prop_assert_eq!(shape.text_of(key), format!("({})", shown.join(", ")));
        }
        let expected = columns.iter().map(|((_, [one, other]), descending)| {
            let order = compare(one, other);
            if *descending { order.reverse() } else { order }
        });
        let expected = expected.fold(Ordering::Equal, Ordering::then);
        prop_assert_eq!((*keys[0].0).cmp(&keys[1].0), expected, "{:?}", keys);
        // A row compares with a key, and with its beginnings, as its own key does.
        let (row, own, other) = (&rows[0][..], &*keys[0].0, &*keys[1].0);
        let same = own.iter().zip(other).take_while(|(one, other)| one == other).count();
        for known in [0, same] {
            let found = shape.compare_behind(row, Address(0), other, known).expect("live");
            prop_assert_eq!(found, expected, "{:?}, {} bytes known", keys, known);
        }
        for bytes in 0..=other.len() {
            let shares = shape.shares(row, Address(0), &other[..bytes]).expect("live");
            prop_assert_eq!(shares, bytes <= same, "{:?}, {} bytes", keys, bytes);
        }
        let (one, other) = (prefix(&keys[0].0), prefix(&keys[1].0));
        prop_assert!(one.cmp(&other) == expected || (one == other && !shape.is_exact()) || expected == Ordering::Equal);
    }
}

#[test]
fn what_is_no_key_is_said() {
    let column = |kind| Column {
        name: "c".to_string(),
        kind,
        default: Value::Null,
        offset: 0,
        null: None,
        dropped: false,
        since_shape: 0,
    };
    let mut schema = Schema::default();
    schema.columns.push(column(Type::U8));
    schema.columns.push(column(Type::Text));
    let mut definition = IndexDefinition::default();
    for column in 0..2 {
        let descending = false;
        definition.key.push(KeyPart { column, descending });
    }
    let shape = KeyShape::new(&schema, &definition);
    let bad = |result: Result<SearchKey, BadKey>| result.expect_err("no key");
    let value = |column, value: &str| BadKey::Value {
        column,
        value: value.to_string(),
    };
    assert_eq!(bad(shape.of_values(&256)), value(0, "256"));
    assert_eq!(bad(shape.of_values(&"a")), value(0, "\"a\""));
    assert_eq!(bad(shape.of_values(&(1, None::<&str>))), value(1, "null"));
    assert_eq!(
        bad(shape.of_values(&(1, "a", 2))),
        BadKey::Columns { values: 3 }
    );
    let long = "x".repeat(KEY_BYTES_MAX);
    let bytes = KEY_BYTES_MAX + 3;
    assert_eq!(
        bad(shape.of_values(&(1, &long[..]))),
        BadKey::TooLong { bytes }
    );
    // A value that is longer than any key is not encoded first.
    let longer = "\0".repeat(KEY_BYTES_MAX + 1);
    let bytes = KEY_BYTES_MAX + 1;
    assert_eq!(
        bad(shape.of_values(&(1, &longer[..]))),
        BadKey::TooLong { bytes }
    );
    assert!(shape.of_values(&(1, &long[3..])).is_ok());
    let begins = shape.of_beginning(&(1, "ab")).expect("a beginning");
    assert_eq!(&*begins.bytes, b"\x01ab");
}

#[test]
fn every_nan_has_one_key_above_infinity() {
    let nans_64: [u64; 5] = [
        0x7ff8_0000_0000_0000,
        0xfff8_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0xfff0_0000_0000_0001,
        0xffff_ffff_ffff_ffff,
    ];
    let nans_32: [u32; 4] = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff];
    let wide = |bits: u64| bits.to_le_bytes().to_vec();
    let narrow = |bits: u32| bits.to_le_bytes().to_vec();
    for (kind, nans, infinities) in [
        (
            Type::F64,
            nans_64.map(wide).to_vec(),
            [f64::NEG_INFINITY, f64::INFINITY].map(|float| wide(float.to_bits())),
        ),
        (
            Type::F32,
            nans_32.map(narrow).to_vec(),
            [f32::NEG_INFINITY, f32::INFINITY].map(|float| narrow(float.to_bits())),
        ),
    ] {
        let (mut schema, mut definition) = (Schema::default(), IndexDefinition::default());
        definition.kind = IndexKind::Ordered;
        definition.key.push(KeyPart {
            column: 0,
            descending: false,
        });
        schema.columns.push(Column {
            name: "a".into(),
            kind,
            default: Value::Null,
            offset: 0,
            null: None,
            dropped: false,
            since_shape: 0,
        });
        let shape = KeyShape::new(&schema, &definition);
        let key = |row: &Vec<u8>| {
            let mut key = KeyBytes::default();
            shape.of_row(&row[..], Address(0), &mut key).expect("live");
            key.to_vec()
        };
        let [negative, positive] = infinities.each_ref().map(key);
        let keys: Vec<_> = nans.iter().map(key).collect();
        assert!(keys.iter().all(|one| *one == keys[0]), "{kind:?}: {keys:?}");
        assert!(negative < positive && positive < keys[0], "{kind:?}");
    }
}

#[test]
fn a_zero_is_seen_at_any_place() {
    for length in 0..40 {
        for at in 0..length {
            for filler in [1, 0x7f, 0x80, 0xff] {
                let mut value = vec![filler; length];
                assert!(!has_zero(&value), "{length} of {filler}");
                value[at] = 0;
                assert!(has_zero(&value), "{at} of {length} of {filler}");
            }
        }
    }
}
