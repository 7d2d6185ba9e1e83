//! The place of a column in rows of the newest shape: found once for a scan that reads few columns of many rows.

use crate::schema::{NonFinite, NullBit, Schema, Type};
use crate::values::Reference;

/// A column's place in the fixed part of a row that has all columns ([`ReadRow::newest_fixed`](crate::ReadRow::newest_fixed)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    offset: usize,
    kind: Type,
    null: Option<NullBit>,
}

/// A text as far as a row's fixed part has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacedText<'r> {
    /// The column is null.
    Null,
    /// The whole text.
    Whole(&'r [u8]),
    /// The length of a text that is outside of the fixed part.
    Outside(usize),
}

impl Placed {
    /// The place of the column with this number; `None` if there is none, or it was dropped.
    #[inline]
    pub fn of(schema: &Schema, column: usize) -> Option<Placed> {
        let column = schema.columns.get(column)?;
        (!column.dropped).then_some(Placed {
            offset: column.offset,
            kind: column.kind,
            null: column.null,
        })
    }

    /// The column's type.
    #[inline]
    pub fn kind(self) -> Type {
        self.kind
    }

    #[inline(always)]
    fn is_null(self, fixed: &[u8]) -> bool {
        match self.null {
            None => false,
            Some(NullBit { byte, bit }) => {
                let byte = fixed.get(byte as usize);
                byte.is_none_or(|byte| byte >> bit & 1 == 1)
            }
        }
    }

    /// The whole number, or the units of a decimal, or the days or microseconds of a moment: in the order of the
    /// values. `None` if it is null, or the type has others.
    #[inline(always)]
    pub fn number(self, fixed: &[u8]) -> Option<i128> {
        if self.is_null(fixed) {
            return None;
        }
        let bytes = fixed.get(self.offset..)?;
        Some(match self.kind {
            Type::Decimal { .. } | Type::I128 => i128::from_le_bytes(*bytes.first_chunk()?),
            Type::I32 | Type::Date => i32::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::I64 | Type::Time | Type::Timestamp => {
                i64::from_le_bytes(*bytes.first_chunk()?).into()
            }
            Type::I16 => i16::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::I8 => i8::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::U8 => u8::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::U16 => u16::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::U32 => u32::from_le_bytes(*bytes.first_chunk()?).into(),
            Type::U64 => u64::from_le_bytes(*bytes.first_chunk()?).into(),
            _ => return None,
        })
    }

    /// The same in 64 bits; the bits of a float of 64 bits, and 0 or 1 of a truth. `None` if it is null, or does not
    /// fit: NaN and the infinities of decimals do not.
    #[inline(always)]
    pub fn word(self, fixed: &[u8]) -> Option<i64> {
        match self.kind {
            Type::Bool | Type::F32 | Type::F64 if self.is_null(fixed) => None,
            Type::Bool => Some((*fixed.get(self.offset)? != 0).into()),
            Type::F64 => {
                let bytes = fixed.get(self.offset..)?;
                Some(i64::from_le_bytes(*bytes.first_chunk()?))
            }
            Type::F32 => {
                let bytes = fixed.get(self.offset..)?;
                let value = f32::from_le_bytes(*bytes.first_chunk()?);
                Some(f64::from(value).to_bits() as i64)
            }
            _ => i64::try_from(self.number(fixed)?).ok(),
        }
    }

    /// The text or the bytes of a column of these types.
    #[inline(always)]
    pub fn text(self, fixed: &[u8]) -> PlacedText<'_> {
        if self.is_null(fixed) {
            return PlacedText::Null;
        }
        let reference = Reference::at(fixed, self.offset);
        match reference.cell() {
            None => PlacedText::Whole(&fixed[self.offset + 4..][..reference.len()]),
            Some(_) => PlacedText::Outside(reference.len()),
        }
    }
}

const _: () = {
    // `word` relies on it.
    assert!(NonFinite::Infinity.units() > i64::MAX as i128);
    assert!(NonFinite::NegativeInfinity.units() < i64::MIN as i128);
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadRow;
    use crate::row::RowFormat;
    use crate::schema::{Value, ValueRef};
    use proptest::prelude::*;

    const KINDS: [(&str, Type); 8] = [
        ("k", Type::I64),
        ("small", Type::I16),
        ("wide", Type::I128),
        ("decimal", Type::Decimal { scale: 3 }),
        ("day", Type::Date),
        ("moment", Type::Timestamp),
        ("float", Type::F64),
        ("text", Type::Text),
    ];

    fn format() -> RowFormat {
        let mut schema = Schema::new();
        for (name, kind) in KINDS {
            schema = schema.column(name, kind);
            if name != "k" {
                schema = schema.nullable();
            }
        }
        let schema = schema.primary_key(["k"]).build();
        RowFormat::new("placed", schema.expect("a schema")).expect("a format")
    }

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let non_finite = [
            NonFinite::NaN,
            NonFinite::Infinity,
            NonFinite::NegativeInfinity,
        ];
        let decimal = prop_oneof![
            any::<i64>().prop_map(|units| Value::Decimal(units.into(), 3)),
            (-(10_i128.pow(38)) + 1..10_i128.pow(38)).prop_map(|units| Value::Decimal(units, 3)),
            prop::sample::select(non_finite.to_vec()).prop_map(Value::NonFinite),
        ];
        let columns = (
            any::<i64>().prop_map(Value::from),
            any::<i16>().prop_map(Value::from),
            any::<i128>().prop_map(Value::from),
            decimal,
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Timestamp),
            any::<f64>().prop_map(Value::Float),
            "[a-ż]{0,16}".prop_map(Value::Text),
        );
        let columns = columns.prop_map(|(a, b, c, d, e, f, g, h)| vec![a, b, c, d, e, f, g, h]);
        (columns, any::<u8>()).prop_map(|(mut columns, nulls)| {
            for (number, value) in columns.iter_mut().enumerate().skip(1) {
                if nulls >> number & 1 == 1 {
                    *value = Value::Null;
                }
            }
            columns
        })
    }

    proptest! {
        #[test]
        fn a_place_reads_what_the_row_does(values in values()) {
            let format = format();
            let named = KINDS.iter().map(|(name, _)| *name).zip(values);
            let named: Vec<(&str, Value)> = named.collect();
            let bytes = format.named(&named).and_then(|row| format.new_row(&row)).expect("a row");
            let row = format.row(&bytes).expect("a row");
            let fixed = row.newest_fixed().expect("there is one shape");
            for column in 0..KINDS.len() {
                let placed = Placed::of(format.schema(), column).expect("a column");
                let (number, word) = (placed.number(fixed), placed.word(fixed));
                match row.get_at(column).expect("it is read") {
                    ValueRef::Null => {
                        prop_assert_eq!((number, word), (None, None));
                        if placed.kind() == Type::Text {
                            prop_assert_eq!(placed.text(fixed), PlacedText::Null);
                        }
                    }
                    ValueRef::Float(value) => {
                        prop_assert_eq!(word, Some(value.to_bits() as i64));
                    }
                    ValueRef::Text(text) => match placed.text(fixed) {
                        PlacedText::Whole(there) => prop_assert_eq!(there, text.as_bytes()),
                        other => prop_assert_eq!(other, PlacedText::Outside(text.len())),
                    },
                    value => {
                        let expected = match value {
                            ValueRef::Int(value) | ValueRef::Decimal(value, _) => value,
                            ValueRef::NonFinite(value) => value.units(),
                            ValueRef::Date(days) => days.into(),
                            ValueRef::Timestamp(micros) => micros.into(),
                            other => panic!("{other:?}"),
                        };
                        prop_assert_eq!(number, Some(expected));
                        prop_assert_eq!(word, i64::try_from(expected).ok());
                    }
                }
            }
        }
    }
}
