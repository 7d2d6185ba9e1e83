//! `+`, `-`, `*`, `/` and `%` of numbers as PostgreSQL has them.
//!
//! DataFusion's own let whole numbers run over, floats become infinite, and cut a quotient's digits. Here what is beyond a
//! type is `22003`, a division by zero `22012`, and numerics are rounded half away from zero: a quotient to 16 digits
//! behind the point or as many as its operands have, a product to those of its operands together, or 18 where that is
//! more than 38 digits hold. (PostgreSQL's quotients have 16 significant digits, wherever the point is: an array's values
//! all have the same.)

use crate::error::{external, internal};
use crate::types::{DIGITS_MAX, FREE_SCALE};
use crate::values::cast;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Datum, Decimal128Array, Scalar, new_empty_array,
};
use datafusion::arrow::compute::kernels::arity::try_binary;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, i256};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use sardonyx_sql::{SqlError, code};
use std::sync::Arc;

/// Digits behind the point of a quotient.
const QUOTIENT_SCALE: i8 = 16;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

/// An operation as a function of two numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Arithmetic {
    operation: Operation,
    signature: Signature,
}

/// The operation of two numbers, as an expression.
pub fn calculated(operation: Operation, left: Expr, right: Expr) -> Expr {
    let function = Arithmetic {
        operation,
        signature: Signature::any(2, Volatility::Immutable),
    };
    ScalarUDF::new_from_impl(function).call(vec![left, right])
}

/// The type as which a number takes part, beside one of another type.
fn taken_as(own: &DataType, other: &DataType) -> DataType {
    let is_float = |kind: &DataType| kind.is_floating();
    match (own, other) {
        (DataType::Float32, DataType::Float32) => DataType::Float32,
        (own, other) if is_float(own) || is_float(other) => DataType::Float64,
        (DataType::Decimal128(..), _) => own.clone(),
        (DataType::Decimal256(_, scale), _) => DataType::Decimal128(DIGITS_MAX, *scale),
        (own, DataType::Decimal128(..) | DataType::Decimal256(..)) => match own {
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => DataType::Decimal128(5, 0),
            DataType::UInt16 | DataType::Int32 => DataType::Decimal128(10, 0),
            _ => DataType::Decimal128(19, 0),
        },
        (DataType::Int16, DataType::Int16) => DataType::Int16,
        (DataType::Int16 | DataType::Int32, DataType::Int16 | DataType::Int32) => DataType::Int32,
        _ => DataType::Int64,
    }
}

type Kernel = fn(&dyn Datum, &dyn Datum) -> std::result::Result<ArrayRef, ArrowError>;

impl Operation {
    fn kernel(self) -> Kernel {
        match self {
            Operation::Add => numeric::add,
            Operation::Subtract => numeric::sub,
            Operation::Multiply => numeric::mul,
            Operation::Divide => numeric::div,
            Operation::Modulo => numeric::rem,
        }
    }

    /// Of two decimals: digits behind the point of the result, where the kernel would give others.
    fn own_scale(self, left: &DataType, right: &DataType) -> Option<i8> {
        let (DataType::Decimal128(p, x), DataType::Decimal128(q, y)) = (left, right) else {
            return None;
        };
        match self {
            Operation::Divide => Some(QUOTIENT_SCALE.max(*x).max(*y)),
            Operation::Multiply if p + q + 1 > DIGITS_MAX => {
                Some((x + y).min(FREE_SCALE.max(*x).max(*y)))
            }
            _ => None,
        }
    }

    fn result(self, left: &DataType, right: &DataType) -> Result<DataType> {
        let (left, right) = (taken_as(left, right), taken_as(right, left));
        if let Some(scale) = self.own_scale(&left, &right) {
            return Ok(DataType::Decimal128(DIGITS_MAX, scale));
        }
        let (left, right) = (new_empty_array(&left), new_empty_array(&right));
        Ok(self.kernel()(&left, &right)?.data_type().clone())
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "add",
            Operation::Subtract => "subtract",
            Operation::Multiply => "multiply",
            Operation::Divide => "divide",
            Operation::Modulo => "modulo",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, right] => self.operation.result(left, right),
            _ => Err(internal("an operation has two operands")),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = &args.args[..] else {
            return Err(internal("an operation has two operands"));
        };
        let (as_left, as_right) = (left.data_type(), right.data_type());
        let (as_left, as_right) = (taken_as(&as_left, &as_right), taken_as(&as_right, &as_left));
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let both = is_scalar(left) && is_scalar(right);
        let rows = if both { 1 } else { args.number_rows };
        let array = match self.operation.own_scale(&as_left, &as_right) {
            Some(scale) => {
                let left = cast(&left.to_array(rows)?, &as_left)?;
                let right = cast(&right.to_array(rows)?, &as_right)?;
                decimals(self.operation, &left, &right, scale)?
            }
            None => {
                let operand = |value: &ColumnarValue, to: &DataType| -> Result<Operand> {
                    Ok(match value {
                        ColumnarValue::Array(array) => Operand::Array(cast(array, to)?),
                        ColumnarValue::Scalar(one) => {
                            Operand::One(Scalar::new(cast(&one.to_array()?, to)?))
                        }
                    })
                };
                let left = operand(left, &as_left)?;
                let right = operand(right, &as_right)?;
                checked(self.operation, &left, &right)?
            }
        };
        let array = cast(&array, args.return_type())?;
        Ok(match both {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            false => ColumnarValue::Array(array),
        })
    }
}

enum Operand {
    Array(ArrayRef),
    One(Scalar<ArrayRef>),
}

impl Operand {
    fn datum(&self) -> &dyn Datum {
        match self {
            Operand::Array(array) => array,
            Operand::One(one) => one,
        }
    }

    /// The float of a row, if it has one.
    fn float(&self, row: usize) -> Option<f64> {
        let (array, row) = match self {
            Operand::Array(array) => (array.as_ref(), row),
            Operand::One(one) => (one.get().0, 0),
        };
        if array.is_null(row) {
            return None;
        }
        match array.data_type() {
            DataType::Float32 => {
                let array = array.as_primitive::<datafusion::arrow::datatypes::Float32Type>();
                Some(array.value(row).into())
            }
            _ => Some(array.as_primitive::<Float64Type>().value(row)),
        }
    }
}

fn checked(operation: Operation, left: &Operand, right: &Operand) -> Result<ArrayRef> {
    let array = operation.kernel()(left.datum(), right.datum())?;
    if !array.data_type().is_floating() {
        return Ok(array);
    }
    let result = Operand::Array(array);
    let Operand::Array(array) = &result else {
        return Err(internal("an array became something else"));
    };
    for row in 0..array.len() {
        let (Some(value), Some(right)) = (result.float(row), right.float(row)) else {
            continue;
        };
        if right == 0.0 && matches!(operation, Operation::Divide | Operation::Modulo) {
            return Err(DataFusionError::ArrowError(
                Box::new(ArrowError::DivideByZero),
                None,
            ));
        }
        if value.is_infinite() && right.is_finite() && left.float(row).is_some_and(f64::is_finite) {
            return Err(external(SqlError::new(
                code::OUT_OF_RANGE,
                "value out of range: overflow",
            )));
        }
    }
    Ok(array.clone())
}

fn scale_of(array: &ArrayRef) -> i8 {
    match array.data_type() {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

/// The product or the quotient of decimals, with so many digits behind the point.
fn decimals(
    operation: Operation,
    left: &ArrayRef,
    right: &ArrayRef,
    scale: i8,
) -> Result<ArrayRef> {
    let (x, y) = (scale_of(left), scale_of(right));
    let left = left.as_primitive::<Decimal128Type>();
    let right = right.as_primitive::<Decimal128Type>();
    let result: Decimal128Array = match operation {
        Operation::Multiply => {
            let cut = power(x + y - scale)?;
            try_binary(left, right, |a, b| product(a, b, cut))?
        }
        _ => {
            let shift = power(scale + y - x)?;
            try_binary(left, right, |a, b| quotient(a, b, shift))?
        }
    };
    Ok(Arc::new(
        result.with_precision_and_scale(DIGITS_MAX, scale)?,
    ))
}

fn power(of: i8) -> Result<i256> {
    let power = u32::try_from(of).ok();
    let power = power.and_then(|power| i256::from_i128(10).checked_pow(power));
    power.ok_or_else(|| internal("a power of ten is too large"))
}

fn too_large() -> ArrowError {
    ArrowError::ArithmeticOverflow(format!("a numeric has more than {DIGITS_MAX} digits"))
}

fn fitting(value: Option<i256>) -> std::result::Result<i128, ArrowError> {
    let value = value.and_then(i256::to_i128);
    let value = value.filter(|value| value.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()));
    value.ok_or_else(too_large)
}

fn product(a: i128, b: i128, cut: i256) -> std::result::Result<i128, ArrowError> {
    if let (Some(product), Some(cut)) = (a.checked_mul(b), cut.to_i128()) {
        return fitting(Some(i256::from_i128(match cut {
            1 => product,
            cut => short_rounded(product, cut),
        })));
    }
    let product = i256::from_i128(a).checked_mul(i256::from_i128(b));
    fitting(product.and_then(|product| rounded(product, cut)))
}

fn quotient(a: i128, b: i128, shift: i256) -> std::result::Result<i128, ArrowError> {
    if b == 0 {
        return Err(ArrowError::DivideByZero);
    }
    let short = shift.to_i128().and_then(|shift| a.checked_mul(shift));
    if let Some(a) = short.filter(|a| *a != i128::MIN) {
        return fitting(Some(i256::from_i128(short_rounded(a, b))));
    }
    let a = i256::from_i128(a).checked_mul(shift);
    fitting(a.and_then(|a| rounded(a, i256::from_i128(b))))
}

/// Divides, halves away from zero; not the least number by -1.
fn short_rounded(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a / b, a % b);
    let up = rest != 0 && rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs();
    match (up, (a < 0) == (b < 0)) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    }
}

fn rounded(a: i256, b: i256) -> Option<i256> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let (rest, whole) = (rest.checked_abs()?, b.checked_abs()?);
    let up = rest != i256::ZERO && rest >= whole.checked_sub(rest)?;
    match (up, (a < i256::ZERO) == (b < i256::ZERO)) {
        (false, _) => Some(quotient),
        (true, true) => quotient.checked_add(i256::ONE),
        (true, false) => quotient.checked_sub(i256::ONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let ten = i256::from_i128(10);
        for (a, b, wanted) in [
            (5, 3, 2),
            (-5, 3, -2),
            (5, -3, -2),
            (15, 1, 2),
            (14, 1, 1),
            (0, 7, 0),
        ] {
            assert_eq!(product(a, b, ten).unwrap(), wanted, "{a} × {b} / 10");
            let long = rounded(i256::from_i128(a * b), ten).unwrap();
            assert_eq!(long, i256::from_i128(wanted));
        }
        assert_eq!(quotient(2, 3, ten).unwrap(), 7);
        assert_eq!(quotient(-1, 3, ten).unwrap(), -3);
        // More than 128 bits on the way.
        let most = 10_i128.pow(38) - 1;
        assert_eq!(
            quotient(most, most, power(38).unwrap())
                .unwrap_err()
                .to_string(),
            too_large().to_string()
        );
        assert_eq!(
            quotient(most, most, power(37).unwrap()).unwrap(),
            10_i128.pow(37)
        );
        assert_eq!(product(most, 10, ten).unwrap(), most);
        assert!(matches!(quotient(1, 0, ten), Err(ArrowError::DivideByZero)));
    }
}
