//! Functions that statements do not name but are planned with: values as text in PostgreSQL's format, numbers rounded
//! before they become whole ones, what `sum` and `avg` compute with.
//!
//! Sums: of `bigint` and of long numerics they are computed so wide that they cannot run over, and narrowed at the end.

use crate::arithmetic::{Operation, calculated};
use crate::error::internal;
use crate::types::{DIGITS_MAX, FREE_SCALE, spec_of};
use crate::values::{cast, values_of};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use sardonyx_sql::{SqlType, TypeSpec, Value, encode_text};
use std::sync::Arc;

/// Sums of numerics of so many digits have at most 38.
const SHORT_DIGITS: u8 = 28;

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Conversion {
    /// The text of a value.
    Text,
    /// A number without digits behind the point, rounded as PostgreSQL rounds for whole numbers.
    Whole,
    /// A numeric.
    Numeric,
    /// What is summed up.
    Summed,
    /// What is summed up for an average.
    Averaged,
    /// A sum as it is told.
    Sum,
}

/// A conversion as a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Convert {
    conversion: Conversion,
    signature: Signature,
}

impl Conversion {
    /// Those that statements are rewritten with.
    pub const IN_TEXTS: [Conversion; 3] =
        [Conversion::Text, Conversion::Whole, Conversion::Numeric];

    /// The name of its function.
    pub fn name(self) -> &'static str {
        match self {
            Conversion::Text => "sardonyx_text",
            Conversion::Whole => "sardonyx_whole",
            Conversion::Numeric => "sardonyx_numeric",
            Conversion::Summed => "sardonyx_summed",
            Conversion::Averaged => "sardonyx_averaged",
            Conversion::Sum => "sardonyx_sum",
        }
    }

    /// It as a function.
    pub fn function(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(Convert {
            conversion: self,
            signature: Signature::any(1, Volatility::Immutable),
        })
    }

    /// The expression of it.
    pub fn of(self, expression: Expr) -> Expr {
        self.function().call(vec![expression])
    }

    fn result(self, from: &DataType) -> DataType {
        let is_long = matches!(from, DataType::Int64 | DataType::UInt64 | DataType::UInt32);
        match (self, from) {
            (Conversion::Text, _) => DataType::Utf8View,
            (Conversion::Whole, DataType::Decimal128(_, scale)) if *scale > 0 => {
                DataType::Decimal128(DIGITS_MAX, 0)
            }
            (Conversion::Whole, DataType::Float32) => DataType::Float64,
            (Conversion::Numeric, DataType::Decimal128(..)) => from.clone(),
            (Conversion::Numeric, from) if from.is_integer() => DataType::Decimal128(20, 0),
            (Conversion::Numeric, _) => DataType::Decimal128(DIGITS_MAX, FREE_SCALE),
            (Conversion::Summed | Conversion::Averaged, DataType::Decimal128(digits, scale))
                if *digits > SHORT_DIGITS =>
            {
                DataType::Decimal256(*digits, *scale)
            }
            (Conversion::Summed, _) if is_long => DataType::Decimal128(20, 0),
            (Conversion::Averaged, from) if from.is_integer() => DataType::Decimal128(20, 0),
            (Conversion::Averaged, DataType::Float32) => DataType::Float64,
            (Conversion::Sum, DataType::Decimal256(_, scale)) => {
                DataType::Decimal128(DIGITS_MAX, *scale)
            }
            (_, from) => from.clone(),
        }
    }
}

impl ScalarUDFImpl for Convert {
    fn name(&self) -> &str {
        self.conversion.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [from] => Ok(self.conversion.result(from)),
            _ => Err(internal("a conversion has one argument")),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ([value], [field]) = (&args.args[..], &args.arg_fields[..]) else {
            return Err(internal("a conversion has one argument"));
        };
        if value.data_type() == *args.return_type() && self.conversion != Conversion::Whole {
            return Ok(value.clone());
        }
        match value {
            ColumnarValue::Array(array) => {
                let array = self.convert(array, field, args.return_type())?;
                Ok(ColumnarValue::Array(array))
            }
            ColumnarValue::Scalar(one) => {
                let array = self.convert(&one.to_array()?, field, args.return_type())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &array, 0,
                )?))
            }
        }
    }
}

impl Convert {
    fn convert(&self, array: &ArrayRef, field: &Field, to: &DataType) -> Result<ArrayRef> {
        match (self.conversion, array.data_type()) {
            (Conversion::Text, _) => texts(array, field),
            (Conversion::Whole, DataType::Float32 | DataType::Float64) => {
                let array = cast(array, &DataType::Float64)?;
                let floats = array.as_primitive::<Float64Type>();
                let whole: Float64Array = floats.unary(f64::round_ties_even);
                Ok(Arc::new(whole))
            }
            // What is rounded is rounded half away from zero.
            _ => cast(array, to),
        }
    }
}

/// Values in PostgreSQL's text format.
fn texts(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let spec = spec_of(field).unwrap_or(TypeSpec::plain(SqlType::Text));
    // Who makes a text of `char(n)` has no blanks at its end.
    let spec = match spec.kind {
        SqlType::Char => TypeSpec::plain(SqlType::Text),
        _ => spec,
    };
    let mut texts = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for value in values_of(array, spec)? {
        text.clear();
        match &value {
            Value::Null => {
                texts.append_null();
                continue;
            }
            Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            value => encode_text(spec.kind, &value.as_ref(), &mut text),
        }
        texts.append_value(&text);
    }
    Ok(Arc::new(texts.finish()))
}

/// An average, of a sum and a number.
pub fn average(sum: Expr, count: Expr) -> Expr {
    calculated(Operation::Divide, Conversion::Sum.of(sum), count)
}
