//! Where DataFusion asks how an operator or an aggregate is planned: as PostgreSQL has them.
//!
//! - numbers: by [`Arithmetic`](crate::arithmetic::Arithmetic);
//! - a date with an interval is a timestamp, a date with a number a date, the difference of two dates a number;
//! - `||` makes texts of its operands;
//! - a `bytea` is compared with a literal in PostgreSQL's format, a `char(n)` without blanks at the end;
//! - `sum` and `avg`: see [`crate::convert`].

use crate::arithmetic::{Operation, calculated};
use crate::convert::{Conversion, average};
use crate::error::external;
use crate::types::{DIGITS_MAX, said_type};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawWindowExpr,
};
use datafusion::logical_expr::{
    AggregateUDF, Cast, Expr, ExprSchemable, Operator, WindowFunctionDefinition, binary_expr,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use sardonyx_sql::{SqlType, Value, decode_text};
use std::sync::Arc;

/// Plans operators and aggregates.
#[derive(Debug)]
pub struct Planner;

fn operation_of(operator: &BinaryOperator) -> Option<Operation> {
    Some(match operator {
        BinaryOperator::Plus => Operation::Add,
        BinaryOperator::Minus => Operation::Subtract,
        BinaryOperator::Multiply => Operation::Multiply,
        BinaryOperator::Divide => Operation::Divide,
        BinaryOperator::Modulo => Operation::Modulo,
        _ => return None,
    })
}

fn is_comparison(operator: &BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

fn cast(expression: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expression), to))
}

/// A whole number beside a decimal has as many digits as it needs.
fn narrow(expression: Expr, beside: &DataType) -> Expr {
    match (&expression, beside) {
        (Expr::Literal(ScalarValue::Int64(Some(value)), metadata), DataType::Decimal128(..)) => {
            let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as u8 + 1;
            let value = ScalarValue::Decimal128(Some((*value).into()), digits.min(DIGITS_MAX), 0);
            Expr::Literal(value, metadata.clone())
        }
        _ => expression,
    }
}

impl ExprPlanner for Planner {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        // What is not known yet is found out later.
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        if let Some(operation) = operation_of(&raw.op) {
            return Ok(operated(operation, raw, &left, &right));
        }
        if raw.op == BinaryOperator::StringConcat {
            let text = |expression: Expr, kind: &DataType| match kind {
                DataType::Null => expression,
                kind if kind.is_string() => expression,
                _ => Conversion::Text.of(expression),
            };
            let (left, right) = (text(raw.left, &left), text(raw.right, &right));
            let joined = binary_expr(left, Operator::StringConcat, right);
            return Ok(PlannerResult::Planned(joined));
        }
        if is_comparison(&raw.op) {
            let RawBinaryExpr { op, left, right } = raw;
            let new_left = compared(&left, &right, schema)?;
            let new_right = compared(&right, &left, schema)?;
            return Ok(PlannerResult::Original(RawBinaryExpr {
                op,
                left: new_left.unwrap_or(left),
                right: new_right.unwrap_or(right),
            }));
        }
        Ok(PlannerResult::Original(raw))
    }

    fn plan_aggregate(&self, raw: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let Some((function, mut args)) = summed(&raw.func, &raw.args) else {
            return Ok(PlannerResult::Original(raw));
        };
        let aggregate = |func: Arc<AggregateUDF>, args: Vec<Expr>| {
            Expr::AggregateFunction(AggregateFunction::new_udf(
                func,
                args,
                raw.distinct,
                raw.filter.clone(),
                raw.order_by.clone(),
                raw.null_treatment,
            ))
        };
        let sum = aggregate(
            datafusion::functions_aggregate::sum::sum_udaf(),
            args.clone(),
        );
        Ok(PlannerResult::Planned(match function {
            Summing::Sum => Conversion::Sum.of(sum),
            Summing::Average => average(sum, aggregate(count_udaf(), std::mem::take(&mut args))),
        }))
    }

    fn plan_window(&self, raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let WindowFunctionDefinition::AggregateUDF(function) = &raw.func_def else {
            return Ok(PlannerResult::Original(raw));
        };
        let Some((function, mut args)) = summed(function, &raw.args) else {
            return Ok(PlannerResult::Original(raw));
        };
        let window = |func: Arc<AggregateUDF>, args: Vec<Expr>| {
            Expr::WindowFunction(Box::new(WindowFunction {
                fun: WindowFunctionDefinition::AggregateUDF(func),
                params: WindowFunctionParams {
                    args,
                    partition_by: raw.partition_by.clone(),
                    order_by: raw.order_by.clone(),
                    window_frame: raw.window_frame.clone(),
                    filter: raw.filter.clone(),
                    null_treatment: raw.null_treatment,
                    distinct: raw.distinct,
                },
            }))
        };
        let sum = window(
            datafusion::functions_aggregate::sum::sum_udaf(),
            args.clone(),
        );
        Ok(PlannerResult::Planned(match function {
            Summing::Sum => Conversion::Sum.of(sum),
            Summing::Average => average(sum, window(count_udaf(), std::mem::take(&mut args))),
        }))
    }
}

enum Summing {
    Sum,
    Average,
}

/// Whether an aggregate is a sum, or an average of one, and of what.
fn summed(function: &AggregateUDF, args: &[Expr]) -> Option<(Summing, Vec<Expr>)> {
    let [argument] = args else {
        return None;
    };
    match function.name() {
        "sum" => Some((Summing::Sum, vec![Conversion::Summed.of(argument.clone())])),
        "avg" => Some((
            Summing::Average,
            vec![Conversion::Averaged.of(argument.clone())],
        )),
        _ => None,
    }
}

fn operated(
    operation: Operation,
    raw: RawBinaryExpr,
    left: &DataType,
    right: &DataType,
) -> PlannerResult<RawBinaryExpr> {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
    let days = |expression: Expr| cast(expression, DataType::Int32);
    let date = |number: Expr| cast(cast(number, DataType::Int32), DataType::Date32);
    let adds = matches!(operation, Operation::Add | Operation::Subtract);
    match (left, right) {
        (left, right) if left.is_numeric() && right.is_numeric() => {
            let one = narrow(raw.left, right);
            let other = narrow(raw.right, left);
            PlannerResult::Planned(calculated(operation, one, other))
        }
        (DataType::Date32, DataType::Interval(_)) if adds => {
            PlannerResult::Original(RawBinaryExpr {
                left: cast(raw.left, moment),
                ..raw
            })
        }
        (DataType::Interval(_), DataType::Date32) if adds => {
            PlannerResult::Original(RawBinaryExpr {
                right: cast(raw.right, moment),
                ..raw
            })
        }
        (DataType::Date32, DataType::Date32) if operation == Operation::Subtract => {
            PlannerResult::Planned(calculated(operation, days(raw.left), days(raw.right)))
        }
        (DataType::Date32, right) if adds && right.is_integer() => {
            PlannerResult::Planned(date(calculated(operation, days(raw.left), raw.right)))
        }
        (left, DataType::Date32) if operation == Operation::Add && left.is_integer() => {
            PlannerResult::Planned(date(calculated(operation, raw.left, days(raw.right))))
        }
        _ => PlannerResult::Original(raw),
    }
}

/// A literal as it is compared with a column, where that is not as it stands.
fn compared(literal: &Expr, with: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let Expr::Literal(value, metadata) = literal else {
        return Ok(None);
    };
    let Some(Some(text)) = value.try_as_str() else {
        return Ok(None);
    };
    let (_, field) = with.to_field(schema)?;
    if *field.data_type() == DataType::Binary {
        let Value::Bytes(bytes) = decode_text(SqlType::Bytea, text).map_err(external)? else {
            return Ok(None);
        };
        let value = ScalarValue::Binary(Some(bytes.to_vec()));
        return Ok(Some(Expr::Literal(value, metadata.clone())));
    }
    let kind = said_type(&field).map(|spec| spec.kind);
    let text = match kind {
        Some(SqlType::Char) => text.trim_end_matches(' ').to_string(),
        Some(SqlType::Uuid) => text.to_ascii_lowercase(),
        _ => return Ok(None),
    };
    Ok(Some(Expr::Literal(
        ScalarValue::Utf8(Some(text)),
        metadata.clone(),
    )))
}
