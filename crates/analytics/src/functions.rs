//! The functions that statements may call: those of DataFusion that mean what PostgreSQL's of the same name mean.
//!
//! Others are not there (`42883`), rather than something else than expected.

use crate::convert::Conversion;
use crate::error::{external, internal, unsupported};
use crate::types::DIGITS_MAX;
use crate::values::cast;
use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, Float64Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;

const SCALAR: &[&str] = &[
    "abs",
    "acos",
    "ascii",
    "asin",
    "atan",
    "atan2",
    "bit_length",
    "btrim",
    "cbrt",
    "ceil",
    "character_length",
    "chr",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cot",
    "date_part",
    "date_trunc",
    "degrees",
    "ends_with",
    "exp",
    "factorial",
    "floor",
    "gcd",
    "greatest",
    "initcap",
    "lcm",
    "least",
    "left",
    "ln",
    "log10",
    "lower",
    "lpad",
    "ltrim",
    "nullif",
    "octet_length",
    "pi",
    "power",
    "radians",
    "regexp_like",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "sin",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "tan",
    "to_hex",
    "translate",
    "upper",
];
const AGGREGATE: &[&str] = &[
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "first_value",
    "last_value",
    "max",
    "min",
    "nth_value",
    "percentile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "var",
    "var_pop",
];
const WINDOW: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Gives a state the functions.
pub fn with_functions(builder: SessionStateBuilder) -> SessionStateBuilder {
    let mut scalar = SessionStateDefaults::default_scalar_functions();
    scalar.retain(|function| SCALAR.contains(&function.name()));
    let own = Conversion::IN_TEXTS
        .iter()
        .map(|one| Arc::new(one.function()));
    scalar.extend(own);
    for cuts in [false, true] {
        scalar.push(Arc::new(ScalarUDF::new_from_impl(Round {
            cuts,
            signature: Signature::variadic_any(Volatility::Immutable),
        })));
    }
    let mut aggregate = SessionStateDefaults::default_aggregate_functions();
    aggregate.retain(|function| AGGREGATE.contains(&function.name()));
    let mut window = SessionStateDefaults::default_window_functions();
    window.retain(|function| WINDOW.contains(&function.name()));
    builder
        .with_expr_planners(
            [Arc::new(crate::planner::Planner) as _]
                .into_iter()
                .chain(SessionStateDefaults::default_expr_planners())
                .collect(),
        )
        .with_scalar_functions(scalar)
        .with_aggregate_functions(aggregate)
        .with_window_functions(window)
}

/// `round` and `trunc`: of floats to whole ones, of numerics to so many digits behind the point.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round {
    cuts: bool,
    signature: Signature,
}

impl Round {
    fn result(&self, from: &DataType, digits: Option<i64>) -> Result<DataType> {
        let wrong = |what: &str| external(unsupported(format!("{}: {what}", self.name())));
        let kept = |digits: i64| i8::try_from(digits.clamp(0, 38)).unwrap_or(38);
        match (from, digits) {
            (from, None) if from.is_floating() || *from == DataType::Null => Ok(DataType::Float64),
            (from, None) if from.is_integer() => Ok(DataType::Float64),
            (DataType::Decimal128(..), None) => Ok(DataType::Decimal128(DIGITS_MAX, 0)),
            (DataType::Decimal128(_, scale), Some(digits)) => {
                Ok(DataType::Decimal128(DIGITS_MAX, kept(digits).min(*scale)))
            }
            (from, Some(_)) if from.is_integer() => Ok(DataType::Decimal128(20, 0)),
            _ => Err(wrong("only numerics are rounded to digits")),
        }
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        if self.cuts { "trunc" } else { "round" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(internal("what it returns depends on its arguments' values"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let from = args.arg_fields.first().map(|field| field.data_type());
        let from = from.ok_or_else(|| internal("there is nothing to be rounded"))?;
        let digits = match args.scalar_arguments {
            [_] => None,
            [_, Some(digits)] => match digits.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(Some(digits)) => Some(digits),
                _ => {
                    return Err(external(unsupported(
                        "round to null digits is not supported",
                    )));
                }
            },
            _ => {
                return Err(external(unsupported(
                    "round wants a literal number of digits",
                )));
            }
        };
        let result = self.result(from, digits)?;
        Ok(Arc::new(Field::new(self.name(), result, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(value) = args.args.first() else {
            return Err(internal("there is nothing to be rounded"));
        };
        let digits = match args.args.get(1) {
            Some(ColumnarValue::Scalar(digits)) => match digits.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(Some(digits)) => digits,
                _ => 0,
            },
            _ => 0,
        };
        match value {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(self.round(
                array,
                digits,
                args.return_type(),
            )?)),
            ColumnarValue::Scalar(one) => {
                let array = self.round(&one.to_array()?, digits, args.return_type())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &array, 0,
                )?))
            }
        }
    }
}

impl Round {
    fn round(&self, array: &ArrayRef, digits: i64, to: &DataType) -> Result<ArrayRef> {
        let (DataType::Decimal128(_, from), DataType::Decimal128(precision, scale)) =
            (array.data_type(), to)
        else {
            let array = cast(array, &DataType::Float64)?;
            let floats = array.as_primitive::<Float64Type>();
            let rounded: Float64Array = match self.cuts {
                true => floats.unary(f64::trunc),
                false => floats.unary(f64::round_ties_even),
            };
            return cast(&(Arc::new(rounded) as ArrayRef), to);
        };
        // Digits that become zeros, and those of them that are left out.
        let zeros = i64::from(*from) - digits;
        let power = |of: i64| 10_i128.checked_pow(u32::try_from(of.max(0)).unwrap_or(u32::MAX));
        let unit = power(zeros);
        let back = power(zeros - i64::from(from - scale));
        let numbers = array.as_primitive::<Decimal128Type>();
        let rounded: Decimal128Array = numbers.unary(|units| match (unit, back) {
            (Some(unit), Some(back)) => {
                let whole = units / unit;
                let rest = (units % unit).unsigned_abs();
                let up = !self.cuts && rest != 0 && rest >= unit.unsigned_abs() - rest;
                (whole + if up { units.signum() } else { 0 }).saturating_mul(back)
            }
            _ => 0,
        });
        Ok(Arc::new(
            rounded.with_precision_and_scale(*precision, *scale)?,
        ))
    }
}
