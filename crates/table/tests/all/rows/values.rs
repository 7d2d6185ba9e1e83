//! Values of every type, for models.

use proptest::prelude::*;
use sardonyx_rows::schema::{Type, Value};

fn text() -> impl Strategy<Value = String> {
    let length = prop_oneof![4 => 0usize..40, 3 => 0usize..3000, 1 => 0usize..40_000];
    (length, 0..3u8).prop_map(|(length, seed)| {
        let char =
            |n: usize| [('a', 'ä'), ('b', '語'), ('c', 'd')][(n / 30 + usize::from(seed)) % 3];
        (0..length)
            .map(|n| if n % 7 == 0 { char(n).1 } else { char(n).0 })
            .collect()
    })
}

/// A value of a type, equal to the one read back.
pub fn value_of(kind: Type) -> BoxedStrategy<Value> {
    match kind {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::I8 => any::<i8>().prop_map(Value::from).boxed(),
        Type::I16 => any::<i16>().prop_map(Value::from).boxed(),
        Type::I32 => any::<i32>().prop_map(Value::from).boxed(),
        Type::I64 => any::<i64>().prop_map(Value::from).boxed(),
        Type::I128 => any::<i128>().prop_map(Value::from).boxed(),
        Type::U8 => any::<u8>().prop_map(Value::from).boxed(),
        Type::U16 => any::<u16>().prop_map(Value::from).boxed(),
        Type::U32 => any::<u32>().prop_map(Value::from).boxed(),
        Type::U64 => any::<u64>().prop_map(Value::from).boxed(),
        Type::U128 => any::<u128>().prop_map(Value::from).boxed(),
        Type::F32 => any::<f32>().prop_map(Value::from).boxed(),
        Type::F64 => any::<f64>().prop_map(Value::from).boxed(),
        Type::Decimal { scale } => any::<i128>()
            .prop_map(move |n| Value::Decimal(n, scale))
            .boxed(),
        Type::Text => text().prop_map(Value::Text).boxed(),
        Type::Bytes => text()
            .prop_map(|text| Value::Bytes(text.into_bytes()))
            .boxed(),
        Type::Date => any::<i32>().prop_map(Value::Date).boxed(),
        Type::Time => (0..86_400_000_000i64).prop_map(Value::Time).boxed(),
        Type::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        Type::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        _ => any::<[u8; 20]>()
            .prop_map(|bytes| Value::Bytes(bytes.to_vec()))
            .boxed(),
    }
}
