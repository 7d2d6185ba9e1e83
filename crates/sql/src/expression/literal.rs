//! Literals of a syntax tree as typed values.

use super::{Expr, Typed};
use crate::error::{SqlError, code};
use crate::text::decode_numeric;
use crate::types::SqlType;
use sardonyx::schema::Value;
use sqlparser::ast::{DateTimeField, Value as Literal};

/// A literal: a number has the narrowest type for it; a text in quotes has no type yet.
pub(crate) fn literal_value(literal: &Literal) -> Result<Typed, SqlError> {
    let text = |text: &str| {
        Typed::new(
            Expr::Literal(Value::Text(text.to_string())),
            SqlType::Unknown,
        )
    };
    Ok(match literal {
        Literal::Null => Typed::new(Expr::Literal(Value::Null), SqlType::Unknown),
        Literal::Boolean(value) => Typed::new(Expr::Literal(Value::Bool(*value)), SqlType::Bool),
        Literal::Number(digits, _) => number(digits)?,
        Literal::SingleQuotedString(content)
        | Literal::EscapedStringLiteral(content)
        | Literal::UnicodeStringLiteral(content) => text(content),
        Literal::NationalStringLiteral(content) => {
            Typed::new(Expr::Literal(Value::Text(content.clone())), SqlType::Char)
        }
        Literal::DollarQuotedString(quoted) => text(&quoted.value),
        Literal::HexStringLiteral(digits) => bits(&format!("x{digits}"))?,
        Literal::SingleQuotedByteStringLiteral(digits) => bits(&format!("b{digits}"))?,
        other => {
            return Err(SqlError::unsupported(format!(
                "the literal {other} is not supported"
            )));
        }
    })
}

/// Bits of any number.
fn bits(text: &str) -> Result<Typed, SqlError> {
    let value = crate::values::bits::read(text)?;
    Ok(Typed::new(Expr::Literal(value), SqlType::Bit))
}

fn number(digits: &str) -> Result<Typed, SqlError> {
    let wrong = || SqlError::syntax(format!("\"{digits}\" is no number"));
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && let Ok(value) = digits.parse::<i128>() {
        let fits = |kind: SqlType| {
            let range = kind.integer_range();
            range.is_some_and(|(low, high)| (low..=high).contains(&value))
        };
        return Ok(match (fits(SqlType::Int4), fits(SqlType::Int8)) {
            (true, _) => Typed::new(Expr::Literal(Value::Int(value)), SqlType::Int4),
            (_, true) => Typed::new(Expr::Literal(Value::Int(value)), SqlType::Int8),
            _ => Typed::new(Expr::Literal(Value::Decimal(value, 0)), SqlType::Numeric),
        });
    }
    if digits.contains(['e', 'E'])
        && let Some(Err(())) = decode_numeric(digits)
    {
        // The number is beyond the digits of a numeric.
        let value: f64 = digits.parse().map_err(|_| wrong())?;
        if value.is_infinite() {
            return Err(SqlError::new(
                code::OUT_OF_RANGE,
                format!("\"{digits}\" is out of range for type double precision"),
            ));
        }
        return Ok(Typed::new(
            Expr::Literal(Value::Float(value)),
            SqlType::Float8,
        ));
    }
    match decode_numeric(digits) {
        Some(Ok(value)) => Ok(Typed::new(Expr::Literal(value), SqlType::Numeric)),
        Some(Err(())) => Err(SqlError::new(
            code::OUT_OF_RANGE,
            format!("the number {digits} has more than 38 digits"),
        )),
        None => Err(wrong()),
    }
}

/// A word of SQL as a text.
pub(super) fn word(text: String) -> Typed {
    Typed::new(Expr::Literal(Value::Text(text)), SqlType::Text)
}

/// The part of `EXTRACT(part FROM value)`: a word, or a text in quotes.
pub(super) fn part_of_time(field: &DateTimeField) -> Typed {
    word(match field {
        DateTimeField::Custom(name) => name.value.to_lowercase(),
        known => known.to_string().to_lowercase(),
    })
}
