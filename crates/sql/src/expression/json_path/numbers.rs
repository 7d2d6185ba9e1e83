//! Numbers of a path: arithmetic, signs, subscripts, methods.

use super::{Found, Item, Outcome, Status, Walk};
use crate::error::{SqlError, code};
use crate::text::{decode_text, text_of};
use crate::types::{SqlType, TypeSpec};
use crate::values::arithmetic::{Arithmetic, calculate, decimal_of};
use crate::values::cast::cast;
use crate::values::json_tree::Json;
use crate::values::jsonpath::{Chain, Method, Node, Operator};
use sardonyx::schema::{Value, ValueRef};

/// The value of a number's text.
///
/// # Errors
/// `22003` for more digits than there are.
pub(super) fn value_of(number: &str) -> Result<Value, SqlError> {
    decode_text(SqlType::Numeric, number)
}

fn written(value: ValueRef<'_>) -> String {
    text_of(SqlType::Numeric, value).unwrap_or_default()
}

/// A number of `abs()`, `floor()` or `ceiling()`.
///
/// # Errors
/// As [`value_of`].
pub(super) fn of_method(method: Method, number: &str) -> Result<String, SqlError> {
    let value = value_of(number)?;
    let too_large = || SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format");
    let (units, scale) = decimal_of(value.as_ref()).ok_or_else(too_large)?;
    let power = 10_i128.checked_pow(scale.into()).ok_or_else(too_large)?;
    let more = i128::from(units.rem_euclid(power) != 0);
    Ok(written(match method {
        Method::Floor => ValueRef::Decimal(units.div_euclid(power), 0),
        Method::Ceiling => ValueRef::Decimal(units.div_euclid(power) + more, 0),
        _ => ValueRef::Decimal(units.checked_abs().ok_or_else(too_large)?, scale),
    }))
}

/// The number of a text that is a finite float; none of another one.
pub(super) fn double(text: &str) -> Option<String> {
    let Ok(Value::Float(float)) = decode_text(SqlType::Float8, text) else {
        return None;
    };
    if !float.is_finite() {
        return None;
    }
    let to = TypeSpec::plain(SqlType::Numeric);
    let number = cast(ValueRef::Float(float), SqlType::Float8, to, true).ok()?;
    Some(written(number.as_ref()))
}

/// The number of the only value, if it is one.
fn single(items: &[Item<'_>]) -> Option<String> {
    match items {
        [item] => match item.json() {
            Json::Number(number) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Walk<'a> {
    /// The result of an operator; the status of a walk that failed.
    pub(super) fn computed(
        &mut self,
        operator: Operator,
        left: &Chain,
        right: &Chain,
        item: &Item<'a>,
    ) -> Result<Result<Item<'a>, Status>, SqlError> {
        let lefts = match self.operand(left, item, true)? {
            Ok(items) => items,
            Err(status) => return Ok(Err(status)),
        };
        let rights = match self.operand(right, item, true)? {
            Ok(items) => items,
            Err(status) => return Ok(Err(status)),
        };
        let symbol = operator.symbol();
        let mut sides = Vec::with_capacity(2);
        for (side, items) in [("left", lefts), ("right", rights)] {
            match single(&items) {
                Some(number) => sides.push(value_of(&number)?),
                None => {
                    let text = format!(
                        "{side} operand of jsonpath operator {symbol} is not a single numeric value"
                    );
                    return self.fail("22038", text).map(Err);
                }
            }
        }
        let arithmetic = match operator {
            Operator::Add => Arithmetic::Add,
            Operator::Subtract => Arithmetic::Subtract,
            Operator::Multiply => Arithmetic::Multiply,
            Operator::Divide => Arithmetic::Divide,
            Operator::Modulo => Arithmetic::Modulo,
        };
        let result = calculate(
            arithmetic,
            SqlType::Numeric,
            sides[0].as_ref(),
            sides[1].as_ref(),
        );
        match result {
            Ok(value) => Ok(Ok(Item::made(Json::Number(written(value.as_ref()))))),
            Err(error) if self.throws => Err(error),
            Err(_) => Ok(Err(Status::Failed)),
        }
    }

    /// Goes on from the numbers of an operand with a sign.
    pub(super) fn signed(
        &mut self,
        is_minus: bool,
        of: &Chain,
        rest: &[Node],
        item: &Item<'a>,
        found: &mut Found<'a>,
    ) -> Outcome {
        let items = match self.operand(of, item, true)? {
            Ok(items) => items,
            Err(status) => return Ok(status),
        };
        let mut status = Status::Nothing;
        for item in items {
            let is_last = rest.is_empty() && !found.wants_all;
            let number = match item.json() {
                Json::Number(_) if is_last => return Ok(Status::Found),
                Json::Number(number) => number,
                _ if is_last => continue,
                _ => {
                    let symbol = if is_minus { "-" } else { "+" };
                    let text = format!(
                        "operand of unary jsonpath operator {symbol} is not a numeric value"
                    );
                    return self.fail("2203B", text);
                }
            };
            let signed = match value_of(number)? {
                Value::Decimal(units, scale) if is_minus => {
                    written(ValueRef::Decimal(-units, scale))
                }
                value => written(value.as_ref()),
            };
            match self.next(rest, Item::made(Json::Number(signed)), found)? {
                Status::Failed => return Ok(Status::Failed),
                Status::Found if !found.wants_all => return Ok(Status::Found),
                Status::Found => status = Status::Found,
                Status::Nothing => {}
            }
        }
        Ok(status)
    }

    /// The number of a subscript; nothing if the walk failed.
    pub(super) fn index(
        &mut self,
        chain: &Chain,
        item: &Item<'a>,
    ) -> Result<Result<i64, ()>, SqlError> {
        let items = match self.operand(chain, item, false)? {
            Ok(items) => items,
            Err(_) => return Ok(Err(())),
        };
        let Some(number) = single(&items) else {
            let text = "jsonpath array subscript is not a single numeric value";
            return self.fail("22033", text).map(|_| Err(()));
        };
        let value = value_of(&number)?;
        let whole = decimal_of(value.as_ref()).and_then(|(units, scale)| {
            let power = 10_i128.checked_pow(scale.into())?;
            i32::try_from(units / power).ok()
        });
        match whole {
            Some(index) => Ok(Ok(index.into())),
            None => self
                .fail("22033", "jsonpath array subscript is out of integer range")
                .map(|_| Err(())),
        }
    }
}
