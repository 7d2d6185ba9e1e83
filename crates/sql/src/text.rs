//! Values in PostgreSQL's text format: ISO dates, `t` and `f`, `\x` for bytes. [`decode_text`] reads the text of
//! [`encode_text`] as the same value.

pub(crate) mod datetime;
mod floats;
mod moments;
pub(crate) mod templates;

pub(crate) use crate::error::shortened;
use crate::error::{SqlError, code, invalid};
use crate::types::{FREE_SCALE, SqlType};
use crate::values::arithmetic::without_zeros;
use crate::values::hstore::Hstore;
use crate::values::infinity::is_infinite;
use crate::values::intervals::Interval;
use crate::values::json_tree::Json;
use crate::values::jsonpath::JsonPath;
use crate::values::search::{Query, Vector};
use crate::values::zones::{SessionZone, distance};
use crate::values::{bits, composites, json_text, networks, objects, ranges, records};
use floats::encode_float;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use std::fmt::Write;

/// Reads a value of a type from PostgreSQL's text format.
///
/// # Errors
/// `22P02` if the text is no such value, `22021` if it has the character 0, `22007` if it is no date or time. `22003`
/// if the value is out of the type's range, `22008` for dates.
pub fn decode_text(kind: SqlType, text: &str) -> Result<Value, SqlError> {
    if text.contains('\0') {
        return Err(SqlError::new(
            code::INVALID_BYTES,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    if let Some(element) = kind.element()
        && !matches!(kind, SqlType::Int2Vector | SqlType::OidVector)
    {
        return crate::values::arrays::decode(text, element);
    }
    let trimmed = text.trim();
    let wrong = || invalid(kind, text);
    match kind {
        SqlType::Bool => decode_bool(trimmed).map(Value::Bool).ok_or_else(wrong),
        kind if kind.is_integer() => decode_integer(kind, text),
        SqlType::Float4 | SqlType::Float8 => {
            let value = match kind {
                SqlType::Float4 => trimmed.parse::<f32>().map(f64::from),
                _ => trimmed.parse::<f64>(),
            };
            match value {
                Ok(value) if is_out_of_range(value, trimmed) => Err(SqlError::new(
                    code::OUT_OF_RANGE,
                    format!(
                        "\"{}\" is out of range for type {}",
                        shortened(text),
                        kind.name()
                    ),
                )),
                Ok(value) => Ok(Value::Float(value)),
                Err(_) => Err(wrong()),
            }
        }
        SqlType::Numeric => match NonFinite::parse(trimmed) {
            Some(value) => Ok(Value::NonFinite(value)),
            None => decode_numeric(trimmed).ok_or_else(wrong)?.map_err(|()| {
                SqlError::new(
                    code::OUT_OF_RANGE,
                    format!("the number \"{text}\" has more than 38 digits"),
                )
            }),
        },
        SqlType::Jsonb => Json::read(text).and_then(|json| json.value()),
        SqlType::Json => json_text::check(text).and_then(|()| stored_text(text)),
        SqlType::Jsonpath => {
            stored_text(text).and_then(|_| Ok(JsonPath::read(text)?.text().into()))
        }
        // A text without zeros.
        SqlType::Hstore => stored_text(text).and_then(|_| Ok(Hstore::read(text)?.value())),
        SqlType::Tsvector => stored_text(text).and_then(|_| Ok(Vector::read(text)?.value())),
        SqlType::Tsquery => stored_text(text).and_then(|_| Ok(Query::read(text)?.value())),
        SqlType::Bytea => match text.strip_prefix("\\x") {
            Some(digits) => decode_hexadecimal(digits).map(Value::Bytes),
            None => decode_bytes(text).map(Value::Bytes).ok_or_else(wrong),
        },
        SqlType::Date
        | SqlType::Time
        | SqlType::Timetz
        | SqlType::Timestamp
        | SqlType::Timestamptz => datetime::read(kind, text, None),
        SqlType::Interval => Interval::read(text).map(Interval::value),
        SqlType::Uuid => decode_uuid(text).map(Value::Uuid).ok_or_else(wrong),
        SqlType::Inet | SqlType::Cidr => networks::read(kind, text),
        SqlType::Bit | SqlType::Varbit => bits::read(text),
        kind if kind.is_range() => ranges::read(kind, text, None),
        SqlType::Enum(of) => match of.position(text) {
            Some(position) => Ok(Value::Int(position.into())),
            None => Err(SqlError::new(
                code::INVALID_TEXT,
                format!(
                    "invalid input value for enum {}: \"{}\"",
                    kind.name(),
                    shortened(text)
                ),
            )),
        },
        SqlType::Composite(of) => composites::read(of, text, None),
        SqlType::Void => Ok(Value::Null),
        SqlType::Record => Err(SqlError::unsupported(
            "input of anonymous composite types is not implemented",
        )),
        SqlType::Char => Ok(Value::Text(text.trim_end_matches(' ').to_string())),
        SqlType::OneChar => stored_text(first_character(text)),
        // Texts, and arrays, which are texts in PostgreSQL's form.
        _ => stored_text(text),
    }
}

/// An integer. Digits that are out of range are found before the text behind them, as PostgreSQL reads them.
fn decode_integer(kind: SqlType, text: &str) -> Result<Value, SqlError> {
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let end = unsigned.find(|letter: char| !letter.is_ascii_digit());
    let (digits, rest) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    // An `oid` is read whole first.
    let is_read_whole = !matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
    if digits.is_empty() || is_read_whole && !rest.is_empty() {
        return Err(invalid(kind, text));
    }
    let magnitude = digits.parse().unwrap_or(i128::MAX);
    let value = match trimmed.starts_with('-') {
        true => -magnitude,
        false => magnitude,
    };
    match kind.integer_range() {
        Some((low, high)) if !(low..=high).contains(&value) => Err(out_of_range(kind, text)),
        _ if !rest.is_empty() => Err(invalid(kind, text)),
        _ => Ok(Value::Int(value)),
    }
}

/// The part of a text that `"char"` keeps.
fn first_character(text: &str) -> &str {
    let end = text.chars().next().map_or(0, char::len_utf8);
    text.get(..end).unwrap_or_default()
}

fn stored_text(text: &str) -> Result<Value, SqlError> {
    Ok(Value::Text(text.to_string()))
}

/// True if a float is not the number of its text, since that is too large or too small.
fn is_out_of_range(value: f64, text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let mut digits = mantissa.bytes().filter(u8::is_ascii_digit).peekable();
    match value == 0.0 {
        true => digits.any(|digit| digit != b'0'),
        false => value.is_infinite() && digits.peek().is_some(),
    }
}

fn decode_bool(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Some(true),
        "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Digits with a point, and perhaps an exponent; an inner error if there are too many.
pub(crate) fn decode_numeric(text: &str) -> Option<Result<Value, ()>> {
    decode_number(text).map(|read| {
        read.and_then(|value| match value {
            Value::Decimal(units, _) if NonFinite::of_units(units).is_some() => Err(()),
            other => Ok(other),
        })
    })
}

fn decode_number(text: &str) -> Option<Result<Value, ()>> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return decode_digits(text);
    };
    let value = decode_digits(mantissa)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    is_number(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)).then_some(())?;
    let (Ok(Value::Decimal(units, scale)), Ok(exponent)) = (value, exponent.parse::<i32>()) else {
        return Some(Err(()));
    };
    let scale = i32::from(scale).saturating_sub(exponent);
    let scaled = match scale {
        0..=38 => Some((units, scale as u8)),
        39.. => None,
        _ => {
            let power = 10_i128.checked_pow(scale.unsigned_abs());
            match units {
                0 => Some((0, 0)),
                _ => power
                    .and_then(|power| units.checked_mul(power))
                    .map(|units| (units, 0)),
            }
        }
    };
    Some(
        scaled
            .map(|(units, scale)| Value::Decimal(units, scale))
            .ok_or(()),
    )
}

fn decode_digits(text: &str) -> Option<Result<Value, ()>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    const SCALE_MAX: u8 = 38;
    // Without a scale, there are more digits behind the point than can be counted.
    let (mut units, mut scale, mut point, mut any) = (0_i128, Some(0_u8), false, false);
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let digit = i128::from(byte - b'0');
                let more = units
                    .checked_mul(10)
                    .and_then(|units| units.checked_add(digit));
                let Some(more) = more else {
                    return Some(Err(()));
                };
                units = more;
                scale = scale.and_then(|scale| scale.checked_add(u8::from(point)));
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if !any {
        return None;
    }
    let units = if negative { -units } else { units };
    let scale = scale.filter(|scale| *scale <= SCALE_MAX);
    Some(scale.map(|scale| Value::Decimal(units, scale)).ok_or(()))
}

/// Pairs of hexadecimal digits, with blanks between them.
pub(crate) fn decode_hexadecimal(text: &str) -> Result<Vec<u8>, SqlError> {
    let wrong = |message| SqlError::new(code::INVALID_PARAMETER_VALUE, message);
    let digit = |character: char| match character.to_digit(16) {
        Some(digit) => Ok(digit as u8),
        None => Err(wrong(format!("invalid hexadecimal digit: \"{character}\""))),
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if matches!(character, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let upper = digit(character)?;
        let Some(lower) = characters.next() else {
            let text = "invalid hexadecimal data: odd number of digits";
            return Err(wrong(text.into()));
        };
        bytes.push(upper << 4 | digit(lower)?);
    }
    Ok(bytes)
}

/// 32 hexadecimal digits, perhaps in braces, with hyphens behind any four of them.
fn decode_uuid(text: &str) -> Option<[u8; 16]> {
    let inner = text.strip_prefix('{').map(|inner| inner.strip_suffix('}'));
    let mut rest = inner.unwrap_or(Some(text))?.as_bytes();
    let mut uuid = [0; 16];
    for (at, byte) in uuid.iter_mut().enumerate() {
        let [upper, lower, behind @ ..] = rest else {
            return None;
        };
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        *byte = (digit(upper)? << 4 | digit(lower)?) as u8;
        rest = match behind {
            [b'-', behind @ ..] if at % 2 == 1 && at < 15 => behind,
            behind => behind,
        };
    }
    rest.is_empty().then_some(uuid)
}

/// Characters, with `\\` and `\ooo`.
pub(crate) fn decode_bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest {
            [b'\\', behind @ ..] => {
                bytes.push(b'\\');
                rest = behind;
            }
            [
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                behind @ ..,
            ] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = behind;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

pub(crate) fn out_of_range(kind: SqlType, text: &str) -> SqlError {
    SqlError::new(
        code::OUT_OF_RANGE,
        format!(
            "value \"{}\" is out of range for type {}",
            shortened(text),
            kind.name()
        ),
    )
}

/// The same as [`decode_text`], in a session's time zone, which is UTC if there is none.
///
/// # Errors
/// As [`decode_text`].
pub(crate) fn decode_text_in(
    kind: SqlType,
    text: &str,
    zone: Option<&SessionZone>,
) -> Result<Value, SqlError> {
    match (kind, zone) {
        (SqlType::Timestamptz | SqlType::Timestamp | SqlType::Date | SqlType::Timetz, Some(_))
            if !text.contains('\0') =>
        {
            datetime::read(kind, text, zone)
        }
        (kind, Some(_)) if kind.is_of_days() && !text.contains('\0') => match kind.element() {
            Some(element) => crate::values::arrays::decode_in(text, element, zone),
            None => ranges::read(kind, text, zone),
        },
        (SqlType::Composite(of), _) => composites::read(of, text, zone),
        (SqlType::CompositeArray(of), _) => {
            crate::values::arrays::decode_in(text, SqlType::Composite(of), zone)
        }
        _ => decode_text(kind, text),
    }
}

/// The same as [`encode_text`], in a session's time zone, which is UTC if there is none.
pub(crate) fn encode_text_in(
    kind: SqlType,
    value: &ValueRef<'_>,
    zone: Option<&SessionZone>,
    out: &mut String,
) {
    match (kind, value, zone) {
        (SqlType::Timestamptz, ValueRef::Timestamp(moment), Some(zone)) if !is_infinite(*value) => {
            let east = zone.zone().east_at(*moment);
            let local = moment.saturating_add(east * 1_000_000);
            moments::push_timestamp(ValueRef::Timestamp(local), &distance(east), out);
        }
        (SqlType::Interval, ValueRef::Text(text), Some(zone)) => zone.style().push(text, out),
        (
            SqlType::TimestamptzArray
            | SqlType::TstzRangeArray
            | SqlType::IntervalArray
            | SqlType::RecordArray
            | SqlType::CompositeArray(_),
            ValueRef::Text(text),
            Some(_),
        ) => {
            let element = kind.element().unwrap_or(kind);
            out.push_str(&crate::values::arrays::encoded_in(text, element, zone));
        }
        (SqlType::TstzRange, ValueRef::Bytes(bytes), Some(_)) => {
            ranges::push(kind, bytes, zone, out);
        }
        (SqlType::Record, ValueRef::Bytes(bytes), Some(_)) => push_record(bytes, zone, out),
        (SqlType::Composite(of), ValueRef::Text(text), Some(_)) => {
            composites::push(of, text, zone, out);
        }
        _ => encode_text(kind, value, out),
    }
}

/// Writes a value of a type in PostgreSQL's text format. A null writes nothing: the caller's format marks it.
pub fn encode_text(kind: SqlType, value: &ValueRef<'_>, out: &mut String) {
    match (*value, kind) {
        (ValueRef::Null, _) => {}
        (ValueRef::Bool(value), _) => out.push(if value { 't' } else { 'f' }),
        (ValueRef::Text(text), SqlType::RecordArray) => {
            out.push_str(&crate::values::arrays::encoded_in(
                text,
                SqlType::Record,
                None,
            ));
        }
        (ValueRef::Text(text), _) => out.push_str(text),
        (ValueRef::Bytes(bytes), SqlType::Inet | SqlType::Cidr) => {
            networks::push(kind, bytes, out);
        }
        (ValueRef::Bytes(bytes), SqlType::Record) => push_record(bytes, None, out),
        (ValueRef::Bytes(bytes), kind) if kind.is_object() => {
            out.push_str(&String::from_utf8_lossy(objects::parts(bytes).1));
        }
        (ValueRef::Bytes(bytes), SqlType::Timetz) => moments::push_zoned_time(bytes, out),
        (ValueRef::Bytes(bytes), kind) if kind.is_range() => ranges::push(kind, bytes, None, out),
        (ValueRef::Bytes(bytes), _) => {
            out.push_str("\\x");
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
        }
        (ValueRef::Int(value), SqlType::Enum(of)) => match of.label(value) {
            Some(label) => out.push_str(label),
            // Another program stored a number without a label.
            None => encode_integer(value, out),
        },
        (ValueRef::Int(value), _) => encode_integer(value, out),
        (ValueRef::Float(value), SqlType::Float4) => encode_float(value, true, out),
        (ValueRef::Float(value), _) => encode_float(value, false, out),
        (ValueRef::Time(_), _) => moments::push_time(*value, out),
        (ValueRef::Date(i32::MAX) | ValueRef::Timestamp(i64::MAX), _) => out.push_str("infinity"),
        (ValueRef::Date(i32::MIN) | ValueRef::Timestamp(i64::MIN), _) => out.push_str("-infinity"),
        (ValueRef::Date(_), _) => moments::push_date(*value, out),
        (ValueRef::Timestamp(_), SqlType::Timestamptz) => {
            moments::push_timestamp(*value, "+00", out);
        }
        (ValueRef::Timestamp(_), _) => moments::push_timestamp(*value, "", out),
        (other, _) => {
            let _ = write!(out, "{other}");
        }
    }
}

fn encode_integer(value: i128, out: &mut String) {
    let _ = match i64::try_from(value) {
        Ok(value) => write!(out, "{value}"),
        Err(_) => write!(out, "{value}"),
    };
}

/// A value of a type as a text of its own; `None` for a null.
pub(crate) fn text_of(kind: SqlType, value: ValueRef<'_>) -> Option<String> {
    text_in(kind, value, None)
}

/// The same as [`text_of`], in a session's time zone, which is UTC if there is none.
pub(crate) fn text_in(
    kind: SqlType,
    value: ValueRef<'_>,
    zone: Option<&SessionZone>,
) -> Option<String> {
    if value == ValueRef::Null {
        return None;
    }
    let mut text = String::new();
    let value = match (kind, value) {
        // A number of a column without a scale is stored with zeros behind it.
        (SqlType::Numeric, ValueRef::Decimal(units, FREE_SCALE)) => {
            let (units, scale) = without_zeros(units, FREE_SCALE);
            ValueRef::Decimal(units, scale)
        }
        (_, value) => value,
    };
    encode_text_in(kind, &value, zone, &mut text);
    Some(text)
}

/// Appends the text of a record: `(1,"a b",)`, with moments in a session's time zone.
pub(crate) fn push_record(record: &[u8], zone: Option<&SessionZone>, out: &mut String) {
    let fields = records::fields(record).unwrap_or_default();
    let texts = fields.iter();
    push_fields(
        texts.map(|field| text_in(field.kind, field.value, zone)),
        out,
    );
}

/// Appends the texts of fields as a row; `None` for a null.
pub(crate) fn push_fields(fields: impl Iterator<Item = Option<String>>, out: &mut String) {
    out.push('(');
    for (at, text) in fields.enumerate() {
        if at > 0 {
            out.push(',');
        }
        let Some(text) = text else {
            continue;
        };
        let is_special = |c: char| {
            matches!(c, '"' | '\\' | '(' | ')' | ',' | '\u{b}') || c.is_ascii_whitespace()
        };
        if !text.is_empty() && !text.contains(is_special) {
            out.push_str(&text);
            continue;
        }
        out.push('"');
        for letter in text.chars() {
            if matches!(letter, '"' | '\\') {
                out.push(letter);
            }
            out.push(letter);
        }
        out.push('"');
    }
    out.push(')');
}

#[cfg(test)]
mod tests;
