//! Conversion of values between types: `cast`, `::`, and assignment to a column.

mod allowed;
mod crossing;
mod digits;

pub(crate) use allowed::{Coercion, can_cast, could_be_implicit, could_cast, is_number_of};
pub(crate) use crossing::{crosses_zone, reads_dates, writes_intervals};

use super::arithmetic::{DAY, decimal_of, decimal_of_float, float_of, within};
use super::arrays::Array;
use super::bits;
use super::composites;
use super::hstore::Hstore;
use super::infinity::{infinite_moment, is_infinite};
use super::intervals::Interval;
use super::json_tree::Json;
use super::networks;
use super::non_finite::no_integer;
use super::zoned_times;
use super::zones::SessionZone;
use crate::error::{SqlError, code, invalid};
use crate::text::{decode_text, decode_text_in, encode_text_in, text_of};
use crate::types::{FREE_SCALE, SqlType, TypeSpec};
use digits::{DIGITS_MAX, digits_detail, of_other_scale};
use sardonyx::schema::{Limit, NonFinite, Value, ValueRef};
use sardonyx_rows::decimals::{divide_rounded, rounded};

/// Casts a value to another type. An assignment to a column may not lose characters; an explicit cast may.
///
/// # Errors
/// `22003` if a number is out of range, `22001` if a text is too long. `22P02` if a text is no value of the type.
pub(crate) fn cast(
    value: ValueRef<'_>,
    from: SqlType,
    to: TypeSpec,
    explicit: bool,
) -> Result<Value, SqlError> {
    if value == ValueRef::Null {
        return Ok(Value::Null);
    }
    let wrong = || {
        SqlError::new(
            code::CANNOT_COERCE,
            format!("cannot cast type {} to {}", from.name(), to.kind.name()),
        )
    };
    match (from, to.kind, value) {
        (SqlType::Composite(of), SqlType::Record, ValueRef::Text(text)) => {
            return composites::to_record(of, text);
        }
        (SqlType::Record, SqlType::Composite(of), ValueRef::Bytes(record)) => {
            return composites::of_record(of, record, explicit, None);
        }
        (SqlType::Composite(one), SqlType::Composite(other), _) if one == other => {
            return Ok(value.to_value());
        }
        _ => {}
    }
    if to.kind.is_bits() {
        return bits::cast(value, from, to, explicit);
    }
    if let (true, true, ValueRef::Text(bits)) = (from.is_bits(), to.kind.is_number(), value) {
        return bits::to_number(bits, to.kind);
    }
    if to.kind.is_text() {
        return to_text(value, from, to, explicit);
    }
    // Every float of 32 bits holds 6 digits.
    if let (SqlType::Float4, SqlType::Numeric, ValueRef::Float(float)) = (from, to.kind, value)
        && float.is_finite()
    {
        let digits = format!("{float:.5e}").parse().unwrap_or(float);
        return to_numeric(ValueRef::Float(digits), to);
    }
    if let (Some(of), Some(element), ValueRef::Text(text)) =
        (from.element(), to.kind.element(), value)
    {
        let elements = TypeSpec::new(element, to.modifier);
        let array = super::arrays::cast(text, of, elements, explicit || to.modifier < 0, None)?;
        return match array {
            Value::Text(text) if to.kind.is_vector() => super::arrays::as_vector(&text),
            array => Ok(array),
        };
    }
    if let (SqlType::Interval, ValueRef::Text(text)) = (to.kind, value) {
        let interval = match from {
            SqlType::Interval => Interval::known(text).cut_to(to.modifier),
            _ => Interval::read_as(text, to.modifier)?,
        };
        return Ok(interval.value());
    }
    if let (SqlType::Interval, SqlType::Time, ValueRef::Text(text)) = (from, to.kind, value) {
        let time = Interval::known(text).micros.rem_euclid(DAY);
        return Ok(with_fraction(Value::Time(time), to));
    }
    if let (SqlType::TextArray, SqlType::Hstore, ValueRef::Text(text)) = (from, to.kind, value) {
        return Ok(Hstore::of_array(Array::known(text))?.value());
    }
    if let (SqlType::Hstore, SqlType::Json | SqlType::Jsonb, ValueRef::Text(text)) =
        (from, to.kind, value)
    {
        return decode_text(to.kind, &Hstore::known(text)?.json(false));
    }
    if let (SqlType::Jsonb, SqlType::Bool, ValueRef::Text(text)) = (from, to.kind, value) {
        return match Json::known(text)? {
            Json::Bool(value) => Ok(Value::Bool(value)),
            other => Err(not_of_json(&other, to.kind)),
        };
    }
    if let (SqlType::Jsonb, true, ValueRef::Text(text)) = (from, to.kind.is_number(), value) {
        return match Json::known(text)? {
            Json::Number(number) => {
                let number = decode_text(SqlType::Numeric, &number)?;
                cast(number.as_ref(), SqlType::Numeric, to, explicit)
            }
            other => Err(not_of_json(&other, to.kind)),
        };
    }
    if let (SqlType::OneChar, SqlType::Int4, ValueRef::Text(text)) = (from, to.kind, value) {
        return Ok(Value::Int(number_of_char(text).into()));
    }
    if let ValueRef::Text(text) = value {
        let value = decode_text(to.kind, text)?;
        return match to.kind {
            SqlType::Numeric => to_numeric(value.as_ref(), to),
            _ => Ok(with_fraction(value, to)),
        };
    }
    if is_infinite(value) {
        return Ok(match (to.kind, value) {
            (SqlType::Date, ValueRef::Timestamp(i64::MAX)) => Value::Date(i32::MAX),
            (SqlType::Date, ValueRef::Timestamp(_)) => Value::Date(i32::MIN),
            (SqlType::Timestamp | SqlType::Timestamptz, _) => infinite_moment(value),
            (SqlType::Date, _) => value.to_value(),
            // It has no time of the day.
            (SqlType::Time | SqlType::Timetz, _) => Value::Null,
            _ => return Err(wrong()),
        });
    }
    match (from, to.kind, value) {
        // The bits are the same.
        (from, SqlType::Int4, ValueRef::Int(number)) if is_number_of(from) => {
            return Ok(Value::Int((number as u32 as i32).into()));
        }
        (SqlType::Int2 | SqlType::Int4, to, ValueRef::Int(number)) if is_number_of(to) => {
            return Ok(Value::Int((number as i32 as u32).into()));
        }
        _ => {}
    }
    match to.kind {
        kind if kind.is_integer() => to_integer(value, kind).ok_or_else(wrong)?,
        SqlType::Float8 => Ok(Value::Float(float_of(value))),
        SqlType::Float4 => {
            let wide = float_of(value);
            let narrow = wide as f32;
            match narrow.is_infinite() && wide.is_finite() {
                true => within(i128::MAX, SqlType::Int8),
                false => Ok(Value::Float(narrow.into())),
            }
        }
        SqlType::Numeric => to_numeric(value, to),
        SqlType::Bool => match value {
            ValueRef::Bool(value) => Ok(Value::Bool(value)),
            ValueRef::Int(value) => Ok(Value::Bool(value != 0)),
            _ => Err(wrong()),
        },
        SqlType::Date => match value {
            ValueRef::Date(days) => Ok(Value::Date(days)),
            ValueRef::Timestamp(micros) => {
                let days = i32::try_from(micros.div_euclid(DAY));
                days.map(Value::Date).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        },
        SqlType::Time => match value {
            ValueRef::Time(time) => Ok(with_fraction(Value::Time(time), to)),
            ValueRef::Timestamp(micros) => {
                Ok(with_fraction(Value::Time(micros.rem_euclid(DAY)), to))
            }
            value if from == SqlType::Timetz => {
                let time = zoned_times::time(value).ok_or_else(wrong)?;
                Ok(with_fraction(Value::Time(time.micros()), to))
            }
            _ => Err(wrong()),
        },
        SqlType::Timetz => match value {
            ValueRef::Bytes(_) if from == SqlType::Timetz => {
                Ok(with_fraction(value.to_value(), to))
            }
            ValueRef::Time(micros) => Ok(with_fraction(zoned_times::of_today(micros, None)?, to)),
            ValueRef::Timestamp(moment) => {
                Ok(with_fraction(zoned_times::at_moment(moment, None)?, to))
            }
            _ => Err(wrong()),
        },
        SqlType::Timestamp | SqlType::Timestamptz => match value {
            ValueRef::Timestamp(micros) => Ok(with_fraction(Value::Timestamp(micros), to)),
            ValueRef::Date(days) => match i64::from(days).checked_mul(DAY) {
                Some(micros) => Ok(Value::Timestamp(micros)),
                None => Err(SqlError::new(
                    code::DATETIME_OVERFLOW,
                    "date out of range for timestamp",
                )),
            },
            _ => Err(wrong()),
        },
        SqlType::Interval => match value {
            ValueRef::Time(micros) => Ok(Interval {
                micros,
                ..Interval::default()
            }
            .cut_to(to.modifier)
            .value()),
            _ => Err(wrong()),
        },
        SqlType::Bytea => match value {
            ValueRef::Bytes(bytes) => Ok(Value::Bytes(bytes.to_vec())),
            _ => Err(wrong()),
        },
        SqlType::Uuid => match value {
            ValueRef::Uuid(uuid) => Ok(Value::Uuid(*uuid)),
            _ => Err(wrong()),
        },
        SqlType::Inet | SqlType::Cidr => match value {
            ValueRef::Bytes(bytes) if from.is_network() => Ok(networks::cast(bytes, to.kind)),
            _ => Err(wrong()),
        },
        kind if kind.is_range() && from == kind => Ok(value.to_value()),
        _ => Err(wrong()),
    }
}

/// The same as [`cast`], in a session's time zone, which is UTC if there is none.
///
/// # Errors
/// As [`cast`].
pub(crate) fn cast_in(
    value: ValueRef<'_>,
    from: SqlType,
    to: TypeSpec,
    explicit: bool,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    use SqlType::{
        Record, RecordArray, Timestamp, Timestamptz, TimestamptzArray, Timetz, TstzRange,
        TstzRangeArray,
    };
    if let (Record, SqlType::Composite(of), ValueRef::Bytes(record)) = (from, to.kind, value) {
        return composites::of_record(of, record, explicit, zone);
    }
    if let (SqlType::Composite(of), Some(_), ValueRef::Text(text), true) =
        (from, zone, value, to.kind.is_text())
    {
        let mut shown = String::new();
        composites::push(of, text, zone, &mut shown);
        return cast(ValueRef::Text(&shown), SqlType::Text, to, explicit);
    }
    if let (SqlType::Composite(_), true, ValueRef::Text(text)) =
        (to.kind.single(), from.is_text(), value)
    {
        return decode_text_in(to.kind, text, zone);
    }
    if let (ValueRef::Text(text), Some(_), true) = (value, zone, reads_dates(from, to.kind)) {
        if let (Some(of), Some(element)) = (from.element(), to.kind.element()) {
            let to = TypeSpec::new(element, to.modifier);
            return super::arrays::cast(text, of, to, explicit || to.modifier < 0, zone);
        }
        let value = decode_text_in(to.kind, text, zone)?;
        return cast(value.as_ref(), to.kind, to, explicit);
    }
    let crosses = crosses_zone(from, to.kind) || writes_intervals(from, to.kind);
    let Some(known) = zone.filter(|_| crosses && value != ValueRef::Null && !is_infinite(value))
    else {
        return cast(value, from, to, explicit);
    };
    let beyond = || SqlError::new(code::DATETIME_OVERFLOW, "timestamp out of range");
    match (from, to.kind, value) {
        (
            Timestamptz
            | TimestamptzArray
            | TstzRange
            | TstzRangeArray
            | SqlType::Interval
            | SqlType::IntervalArray
            | Record
            | RecordArray
            | SqlType::CompositeArray(_),
            kind,
            _,
        ) if kind.is_text() => {
            let mut text = String::new();
            encode_text_in(from, &value, zone, &mut text);
            cast(ValueRef::Text(&text), SqlType::Text, to, explicit)
        }
        (
            from,
            Timestamptz
            | TimestamptzArray
            | TstzRange
            | TstzRangeArray
            | Timetz
            | SqlType::TimetzArray,
            ValueRef::Text(text),
        ) if from.is_text() => {
            let value = decode_text_in(to.kind, text, zone)?;
            cast(value.as_ref(), to.kind, to, explicit)
        }
        (_, Timetz, ValueRef::Time(micros)) => {
            Ok(with_fraction(zoned_times::of_today(micros, zone)?, to))
        }
        (Timestamptz, Timetz, ValueRef::Timestamp(moment)) => {
            Ok(with_fraction(zoned_times::at_moment(moment, zone)?, to))
        }
        (Timestamptz, _, ValueRef::Timestamp(moment)) => {
            let local = known.zone().local(moment).ok_or_else(beyond)?;
            cast(ValueRef::Timestamp(local), Timestamp, to, explicit)
        }
        (_, Timestamptz, _) => {
            let local = cast(value, from, TypeSpec::plain(Timestamp), explicit)?;
            let Value::Timestamp(local) = local else {
                return cast(value, from, to, explicit);
            };
            let moment = known.zone().moment(local).ok_or_else(beyond)?;
            Ok(with_fraction(Value::Timestamp(moment), to))
        }
        (_, _, ValueRef::Text(text))
            if let (Some(of), Some(element)) = (from.element(), to.kind.element()) =>
        {
            let to = TypeSpec::new(element, to.modifier);
            super::arrays::cast(text, of, to, explicit || to.modifier < 0, zone)
        }
        _ => cast(value, from, to, explicit),
    }
}

/// The error of a value of JSON that is no value of a type.
#[cold]
fn not_of_json(json: &Json, to: SqlType) -> SqlError {
    let what = match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "numeric",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    SqlError::new(
        code::INVALID_PARAMETER_VALUE,
        format!("cannot cast jsonb {what} to type {}", to.name()),
    )
}

/// Rounds a moment to the fraction digits of its type.
fn with_fraction(value: Value, to: TypeSpec) -> Value {
    if is_infinite(value.as_ref()) {
        return value;
    }
    if to.kind == SqlType::Timetz {
        return zoned_times::rounded(value, to);
    }
    match to.limit().fit(value.as_ref()) {
        Some(fits) => fits.to_value(),
        None => value,
    }
}

fn to_integer(value: ValueRef<'_>, kind: SqlType) -> Option<Result<Value, SqlError>> {
    let whole = match value {
        ValueRef::Int(value) => value,
        ValueRef::Bool(value) => value.into(),
        ValueRef::U128(value) => i128::try_from(value).unwrap_or(i128::MAX),
        ValueRef::Decimal(units, scale) => match 10_i128.checked_pow(scale.into()) {
            Some(power) => divide_rounded(units, power),
            None => 0,
        },
        ValueRef::NonFinite(value) => return Some(Err(no_integer(value, kind))),
        ValueRef::Float(value) => match value.is_nan() {
            true => i128::MAX,
            // Halves are rounded to the even number, as on processors.
            false => value.round_ties_even() as i128,
        },
        _ => return None,
    };
    Some(within(whole, kind))
}

fn to_numeric(value: ValueRef<'_>, to: TypeSpec) -> Result<Value, SqlError> {
    let overflow = || {
        let error = SqlError::new(code::OUT_OF_RANGE, "numeric field overflow");
        match to.digits() {
            Some((precision, scale)) => error.detail(digits_detail(precision, scale)),
            None => error.detail(format!("{value} is no numeric here: it has 38 digits.")),
        }
    };
    let value_as_decimal = match value {
        ValueRef::Float(float) => decimal_of_float(float).ok_or_else(overflow)?,
        other => other.to_value(),
    };
    if let Value::NonFinite(value) = value_as_decimal {
        return match (value, to.digits()) {
            (NonFinite::NaN, _) | (_, None) => Ok(Value::NonFinite(value)),
            (_, Some((precision, scale))) => {
                let error = SqlError::new(code::OUT_OF_RANGE, "numeric field overflow");
                Err(error.detail(format!(
                    "A field with precision {precision}, scale {scale} cannot hold an infinite value."
                )))
            }
        };
    }
    let (units, scale) = decimal_of(value_as_decimal.as_ref()).ok_or_else(overflow)?;
    let (precision, wanted) = match (to.precision_and_scale(), to.digits()) {
        (Some(digits), _) => digits,
        (None, Some(digits)) => {
            let fits = of_other_scale((units, scale), digits);
            return fits.ok_or_else(overflow);
        }
        (None, None) => return Ok(Value::Decimal(units, scale)),
    };
    let digits = precision.min(DIGITS_MAX) as u8;
    let fits = Limit::Digits(digits, wanted).fit(ValueRef::Decimal(units, scale));
    fits.map(|fits| fits.to_value()).ok_or_else(overflow)
}

/// The number of a `"char"`, which is a byte with a sign.
fn number_of_char(text: &str) -> i8 {
    let octal = text.strip_prefix('\\').filter(|digits| digits.len() == 3);
    let byte = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
    let byte = byte.or(text.as_bytes().first().copied());
    byte.unwrap_or(0) as i8
}

fn to_text(
    value: ValueRef<'_>,
    from: SqlType,
    to: TypeSpec,
    explicit: bool,
) -> Result<Value, SqlError> {
    let mut text = match value {
        ValueRef::Text(text) if from != SqlType::RecordArray => text.to_string(),
        ValueRef::Bool(value) => if value { "true" } else { "false" }.to_string(),
        ValueRef::Bytes(bytes) if from.is_network() => networks::with_mask(bytes),
        other => text_of(from, other).unwrap_or_default(),
    };
    // The blanks at the end of a `character` are not part of it.
    if from == SqlType::Char && to.kind != SqlType::Char {
        text.truncate(text.trim_end_matches(' ').len());
    }
    if let Some(length) = to.length() {
        let end = match Limit::Characters(length).fit(ValueRef::Text(&text)) {
            Some(ValueRef::Text(fits)) => fits.len(),
            _ if explicit => text.char_indices().nth(length).map_or(0, |(end, _)| end),
            _ => {
                return Err(SqlError::new(
                    code::STRING_TOO_LONG,
                    format!("value too long for type {}", to.to_sql()),
                ));
            }
        };
        text.truncate(end);
    }
    // The blanks of a `char(n)` are added for output.
    let has_length = to.kind == SqlType::Char && to.length().is_some();
    if has_length {
        text.truncate(text.trim_end_matches(' ').len());
    }
    if to.kind == SqlType::OneChar && from == SqlType::Int4 {
        // The character's number; 0 is no character.
        return match value {
            ValueRef::Int(code @ 0..=127) => {
                let character = char::from(code as u8);
                let text = (code != 0).then(|| character.to_string());
                Ok(Value::Text(text.unwrap_or_default()))
            }
            _ => Err(SqlError::new(code::OUT_OF_RANGE, "\"char\" out of range")),
        };
    }
    if to.kind == SqlType::OneChar {
        let end = text.char_indices().nth(1).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
    }
    Ok(Value::Text(text))
}

/// A value of a column's type as the engine stores it.
///
/// # Errors
/// As [`cast`].
pub(crate) fn stored(value: Value, kind: TypeSpec) -> Result<Value, SqlError> {
    match (value, kind.kind) {
        (Value::Decimal(units, scale), SqlType::Numeric) if kind.modifier < 0 => {
            match rounded(units, scale, FREE_SCALE) {
                Some(units) => Ok(Value::Decimal(units, FREE_SCALE)),
                None => Err(SqlError::new(
                    code::OUT_OF_RANGE,
                    format!(
                        "a column of type numeric without a precision has {} digits before the point and {FREE_SCALE} behind it",
                        38 - FREE_SCALE
                    ),
                )),
            }
        }
        (Value::Text(mut text), SqlType::Char) => {
            text.truncate(text.trim_end_matches(' ').len());
            Ok(Value::Text(text))
        }
        (
            Value::Text(text),
            SqlType::Bytea | SqlType::Uuid | SqlType::Inet | SqlType::Cidr | SqlType::Timetz,
        ) => Err(invalid(kind.kind, &text)),
        (Value::Text(text), of) if of.is_range() => Err(invalid(of, &text)),
        (value, _) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: SqlType, modifier: i32) -> TypeSpec {
        TypeSpec::new(kind, modifier)
    }

    #[test]
    fn lengths_are_kept() {
        let five = spec(SqlType::Varchar, 9);
        let store = |text| cast(ValueRef::Text(text), SqlType::Text, five, false);
        assert_eq!(store("abcde").ok(), Some(Value::Text("abcde".into())));
        assert_eq!(store("abcde  ").ok(), Some(Value::Text("abcde".into())));
        assert_eq!(
            store("abcdef").expect_err("too long").code,
            code::STRING_TOO_LONG
        );
        let cut = cast(ValueRef::Text("abcdef"), SqlType::Text, five, true);
        assert_eq!(cut.ok(), Some(Value::Text("abcde".into())));
    }

    #[test]
    fn numerics_are_rounded_and_bounded() {
        let money = spec(SqlType::Numeric, (5 << 16 | 2) + 4);
        let store = |value| cast(value, SqlType::Numeric, money, false);
        assert_eq!(
            store(ValueRef::Decimal(12_345, 3)).ok(),
            Some(Value::Decimal(1235, 2))
        );
        assert_eq!(
            store(ValueRef::Int(999)).ok(),
            Some(Value::Decimal(99_900, 2))
        );
        assert_eq!(
            store(ValueRef::Int(1000)).expect_err("too large").code,
            code::OUT_OF_RANGE
        );
        assert_eq!(
            store(ValueRef::Float(0.1)).ok(),
            Some(Value::Decimal(10, 2))
        );
    }

    #[test]
    fn floats_become_whole_numbers_by_rounding() {
        let int = spec(SqlType::Int4, -1);
        let of = |value| cast(ValueRef::Float(value), SqlType::Float8, int, true);
        assert_eq!(of(2.5).ok(), Some(Value::Int(2)));
        assert_eq!(of(3.5).ok(), Some(Value::Int(4)));
        assert!(of(1e10).is_err());
        assert!(of(f64::NAN).is_err());
    }
}
