//! Functions, called with values.

use super::arithmetic::{DAY, float_of};
use super::arrays;
use super::datum::{int_at, kind_at, text_at};
use super::function::Function;
use super::function_numbers::{numbers, reals};
use super::function_texts::{
    check_length, init_cap, lower, padded, split_part, substring, texts, upper,
};
use super::function_times::{date_part, date_trunc};
use super::{Comparison, Datum, Environment};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::compare;
use sardonyx_rows::value_text::days_of;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

/// Calls a function.
///
/// # Errors
/// What it cannot compute.
pub(super) fn call(
    function: Function,
    values: &[Datum<'_>],
    with: &Environment<'_>,
) -> Result<Value, SqlError> {
    use Function as F;
    match function {
        F::Concat => return Ok(Value::Text(texts(values).collect())),
        F::ConcatWs => {
            let Some(separator) = text_at(values, 0) else {
                return Ok(Value::Null);
            };
            let parts: Vec<_> = texts(values.get(1..).unwrap_or_default()).collect();
            return Ok(Value::Text(parts.join(separator)));
        }
        F::Greatest => return Ok(extreme(values, Ordering::Greater)),
        F::Least => return Ok(extreme(values, Ordering::Less)),
        F::FormatType => return Ok(format_type(values)),
        F::ArrayMake => {
            let kind = kind_at(values, 0);
            let elements = values.iter().skip(1).map(Datum::as_ref);
            return arrays::made(kind, elements);
        }
        F::ArrayConcat => {
            return arrays::concatenated(text_at(values, 0), text_at(values, 1));
        }
        F::ArrayAppend => {
            let element = values[1].as_ref();
            return arrays::appended(text_at(values, 0), element, kind_at(values, 2));
        }
        F::ArrayPrepend => {
            let element = values[1].as_ref();
            return arrays::prepended(text_at(values, 0), element, kind_at(values, 2));
        }
        F::ArrayRemove | F::ArrayPosition => {
            let (Some(array), kind) = (text_at(values, 0), kind_at(values, 2)) else {
                return Ok(Value::Null);
            };
            let value = values[1].as_ref();
            return match function {
                F::ArrayRemove => arrays::removed(array, value, kind),
                _ => arrays::position(array, value, kind),
            };
        }
        F::StringToArray => {
            let text = text_at(values, 0);
            let of = |text| arrays::split(text, text_at(values, 1), text_at(values, 2));
            return Ok(text.map_or(Value::Null, of));
        }
        F::ArrayToString => {
            let (Some(array), Some(separator)) = (text_at(values, 0), text_at(values, 1)) else {
                return Ok(Value::Null);
            };
            return Ok(arrays::joined(array, separator, text_at(values, 2)));
        }
        F::AgainstArray => {
            let Some(array) = text_at(values, 1) else {
                return Ok(Value::Null);
            };
            let comparison = text_at(values, 3).and_then(Comparison::of_symbol);
            let is_all = values[4].as_ref() == ValueRef::Bool(true);
            let against = arrays::Against {
                comparison: comparison.unwrap_or(Comparison::Equal),
                is_all,
            };
            return against.truth(values[0].as_ref(), array, kind_at(values, 2));
        }
        F::JsonObject | F::JsonbObject | F::JsonArray | F::ToJson => {
            return super::json_calls::call(function, values);
        }
        _ => {}
    }
    // All others are null if an argument is.
    if values.iter().any(Datum::is_null) {
        return Ok(Value::Null);
    }
    let text = |text: String| Ok(Value::Text(text));
    let int = |value: usize| Ok(Value::Int(value as i128));
    let first = || text_at(values, 0).unwrap_or_default();
    let number = || int_at(values, 1).unwrap_or(1);
    let context = with.context;
    match function {
        F::CharLength => int(first().chars().count()),
        F::OctetLength => match values[0].as_ref() {
            ValueRef::Bytes(bytes) => int(bytes.len()),
            _ => int(first().len()),
        },
        F::Lower => text(first().chars().map(lower).collect()),
        F::Upper => text(first().chars().map(upper).collect()),
        F::InitCap => text(init_cap(first())),
        F::Reverse => text(first().chars().rev().collect()),
        F::Ascii => Ok(Value::Int(
            first()
                .chars()
                .next()
                .map_or(0, |c| i128::from(u32::from(c))),
        )),
        F::Chr => {
            let number = int_at(values, 0).unwrap_or(0);
            let character = u32::try_from(number).ok().and_then(char::from_u32);
            let (code, message) = match character {
                Some('\0') => (code::PROGRAM_LIMIT, "null character not permitted".into()),
                Some(character) => return text(character.to_string()),
                None if number < 0 => {
                    let message = "character number must be positive".to_string();
                    (code::INVALID_PARAMETER_VALUE, message)
                }
                None => {
                    let message = format!("requested character too large for encoding: {number}");
                    (code::PROGRAM_LIMIT, message)
                }
            };
            Err(SqlError::new(code, message))
        }
        F::Substring => substring(first(), values),
        F::Left => {
            let count = int_at(values, 1).unwrap_or(0);
            let length = first().chars().count() as i64;
            let taken = if count < 0 {
                (length + count).max(0)
            } else {
                count
            };
            text(first().chars().take(taken as usize).collect())
        }
        F::Right => {
            let count = int_at(values, 1).unwrap_or(0);
            let length = first().chars().count() as i64;
            let skipped = if count < 0 {
                -count
            } else {
                (length - count).max(0)
            };
            text(first().chars().skip(skipped as usize).collect())
        }
        F::Btrim | F::Ltrim | F::Rtrim => {
            let characters: Vec<char> = text_at(values, 1).unwrap_or(" ").chars().collect();
            let is_cut = |c: char| characters.contains(&c);
            text(
                match function {
                    F::Btrim => first().trim_matches(is_cut),
                    F::Ltrim => first().trim_start_matches(is_cut),
                    _ => first().trim_end_matches(is_cut),
                }
                .to_string(),
            )
        }
        F::Lpad | F::Rpad => padded(function, values),
        F::Repeat => {
            let times = usize::try_from(int_at(values, 1).unwrap_or(0)).unwrap_or(0);
            check_length(first().len().saturating_mul(times))?;
            text(first().repeat(times))
        }
        F::Replace => {
            let (from, to) = (
                text_at(values, 1).unwrap_or_default(),
                text_at(values, 2).unwrap_or_default(),
            );
            match from.is_empty() {
                true => text(first().to_string()),
                false => {
                    let times = first().matches(from).count();
                    check_length(first().len().saturating_add(times.saturating_mul(to.len())))?;
                    text(first().replace(from, to))
                }
            }
        }
        F::SplitPart => split_part(values),
        F::Strpos => {
            let sought = text_at(values, 1).unwrap_or_default();
            let before = first().split_once(sought).map(|(before, _)| before);
            int(before.map_or(0, |before| before.chars().count() + 1))
        }
        F::StartsWith => Ok(Value::Bool(
            first().starts_with(text_at(values, 1).unwrap_or_default()),
        )),
        F::QuoteIdent => text(crate::names::quoted(first())),
        F::Abs | F::Sign | F::Ceil | F::Floor | F::Round | F::Trunc => numbers(function, values),
        F::Power | F::Sqrt | F::Exp | F::Ln | F::Log | F::Div => reals(function, values),
        F::Random => {
            let bits = random_bits(with) >> 11;
            Ok(Value::Float(bits as f64 / (1_u64 << 53) as f64))
        }
        F::RandomUuid => {
            let bits = u128::from(random_bits(with)) << 64 | u128::from(random_bits(with));
            // Version 4, variant 1.
            let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
            Ok(Value::Uuid(bits.to_be_bytes()))
        }
        F::Now => Ok(Value::Timestamp(context.transaction_started)),
        F::StatementTimestamp | F::ClockTimestamp => {
            Ok(Value::Timestamp(context.statement_started))
        }
        F::CurrentDate => {
            let days = context.transaction_started.div_euclid(DAY);
            Ok(Value::Date(i32::try_from(days).unwrap_or(i32::MAX)))
        }
        F::DatePart => date_part(first(), values[1].as_ref()),
        F::DateTrunc => date_trunc(first(), values[1].as_ref()),
        F::MakeDate => {
            let at = |n| int_at(values, n).unwrap_or(0);
            let (month, day) = (u32::try_from(at(1)), u32::try_from(at(2)));
            let days = match (month, day) {
                // The year before 1 is 1 BC.
                (Ok(month), Ok(day)) => match at(0) {
                    0 => None,
                    year @ 1.. => days_of(year, month, day),
                    year => days_of(year + 1, month, day),
                },
                _ => None,
            };
            let days = days.and_then(|days| i32::try_from(days).ok());
            days.map(Value::Date).ok_or_else(|| {
                SqlError::new(code::DATETIME_OVERFLOW, "date field value out of range")
            })
        }
        F::ToTimestamp => {
            let micros = float_of(values[0].as_ref()) * 1e6;
            match micros.abs() < 9e18 {
                true => Ok(Value::Timestamp(micros.round() as i64)),
                false => Err(SqlError::new(
                    code::DATETIME_OVERFLOW,
                    "timestamp out of range",
                )),
            }
        }
        F::CurrentUser => text(context.user.to_string()),
        F::SetConfig => {
            let value = text_at(values, 1).unwrap_or_default();
            let local = values[2].as_ref() == ValueRef::Bool(true);
            context.settings.borrow_mut().set(first(), value, local)?;
            text(value.to_string())
        }
        F::CurrentSetting => {
            let settings = context.settings.borrow();
            match settings.get(first()) {
                Ok(value) => text(value),
                Err(_) if values.len() > 1 && values[1].as_ref() == ValueRef::Bool(true) => {
                    Ok(Value::Null)
                }
                Err(error) => Err(error),
            }
        }
        F::ToRegtype => match SqlType::named(first()) {
            Some(kind) => Ok(Value::Int(kind.oid().into())),
            None => Ok(Value::Null),
        },
        F::ToRegclass if first().parse::<u32>().is_ok() => {
            Ok(Value::Int(first().parse::<u32>().unwrap_or(0).into()))
        }
        F::ToRegclass => match context.draws.borrow().table_number(first()) {
            Some(number) => Ok(Value::Int(number.into())),
            None => Err(SqlError::unknown_table(first())),
        },
        F::Nextval => {
            let name = crate::sequences::name_in(first());
            context
                .draws
                .borrow_mut()
                .next(context.database()?.counters(), &name)
                .map(|n| Value::Int(n.into()))
        }
        F::Currval => {
            let name = crate::sequences::name_in(first());
            context
                .draws
                .borrow()
                .current(&name)
                .map(|n| Value::Int(n.into()))
        }
        F::Lastval => context.draws.borrow().last().map(|n| Value::Int(n.into())),
        F::Setval => {
            let name = crate::sequences::name_in(first());
            let value = int_at(values, 1).unwrap_or(0);
            let is_called = values
                .get(2)
                .is_none_or(|v| v.as_ref() == ValueRef::Bool(true));
            let mut draws = context.draws.borrow_mut();
            draws.set(context.database()?.counters(), &name, value, is_called)?;
            Ok(Value::Int(value.into()))
        }
        F::Matches | F::MatchesAnyCase => {
            let pattern = text_at(values, 1).unwrap_or_default();
            let ignores_case = function == F::MatchesAnyCase;
            let matches = context.patterns.matches(first(), pattern, ignores_case)?;
            Ok(Value::Bool(matches))
        }
        F::ArrayKey => arrays::order_key(first(), kind_at(values, 1)).map(Value::Bytes),
        F::Pad => {
            let length = usize::try_from(int_at(values, 1).unwrap_or(0)).unwrap_or(0);
            text(format!("{:<length$}", first()))
        }
        // Its elements become rows where it stands.
        F::Unnest => text(first().to_string()),
        F::Subscripts => Ok(arrays::subscripts(first(), number())),
        F::Ordinals => Ok(arrays::ordinals(first())),
        F::ArrayUpper | F::ArrayLower => Ok(arrays::bound_at(
            first(),
            number(),
            function == F::ArrayUpper,
        )),
        F::ArrayLength => Ok(arrays::length_at(first(), number())),
        F::ArrayCount => int(arrays::elements(first()).len()),
        F::ArrayDimensions | F::ArrayBounds => match arrays::dimensions(first()) {
            None => Ok(Value::Null),
            Some((count, _)) if function == F::ArrayDimensions => int(count),
            Some((_, bounds)) => text(bounds),
        },
        F::ElementAt => {
            let numbers = (2..values.len()).map(|at| int_at(values, at).unwrap_or(-1));
            let numbers: Vec<i64> = numbers.collect();
            arrays::element_at(first(), &numbers, kind_at(values, 1))
        }
        F::IndexDefinition | F::ConstraintDefinition | F::ViewDefinition => {
            let oid = int_at(values, 0).and_then(|oid| u32::try_from(oid).ok());
            let (Some(oid), Some(reading)) = (oid, with.reading) else {
                return Ok(Value::Null);
            };
            match function {
                F::IndexDefinition => {
                    let column = int_at(values, 1).and_then(|at| usize::try_from(at).ok());
                    context
                        .catalogue
                        .index_definition(reading.source, oid, column.unwrap_or(0))
                }
                F::ViewDefinition => context.catalogue.view_definition(reading.source, oid),
                _ => context.catalogue.constraint_definition(reading.source, oid),
            }
        }
        F::ObjectDescription | F::ColumnDescription => {
            let oid = int_at(values, 0).and_then(|oid| u32::try_from(oid).ok());
            let (Some(oid), Some(reading)) = (oid, with.reading) else {
                return Ok(Value::Null);
            };
            match function {
                F::ColumnDescription => {
                    let column = int_at(values, 1).and_then(|at| u32::try_from(at).ok());
                    let column = column.unwrap_or(u32::MAX);
                    context.catalogue.description(
                        reading.source,
                        with,
                        (oid, column),
                        Some("pg_class"),
                    )
                }
                _ => context.catalogue.description(
                    reading.source,
                    with,
                    (oid, 0),
                    text_at(values, 1),
                ),
            }
        }
        F::SerialSequence => {
            let Some(reading) = with.reading else {
                return Ok(Value::Null);
            };
            let column = text_at(values, 1).unwrap_or_default();
            context
                .catalogue
                .serial_sequence(reading.source, first(), column)
        }
        F::SizePretty => {
            let mut size = int_at(values, 0).unwrap_or(0);
            let mut units = ["bytes", "kB", "MB", "GB"].into_iter();
            let mut unit = units.next().unwrap_or_default();
            for next in units {
                if size.unsigned_abs() < 10 * 1024 {
                    break;
                }
                size /= 1024;
                unit = next;
            }
            text(format!("{size} {unit}"))
        }
        F::TableName => {
            let oid = int_at(values, 0).and_then(|oid| u32::try_from(oid).ok());
            let name = oid.and_then(|oid| context.draws.borrow().table_name(oid));
            text(name.unwrap_or_else(|| oid.unwrap_or(0).to_string()))
        }
        F::Concat
        | F::ConcatWs
        | F::Greatest
        | F::Least
        | F::FormatType
        | F::ArrayMake
        | F::AgainstArray
        | F::ArrayConcat
        | F::ArrayAppend
        | F::ArrayPrepend
        | F::ArrayRemove
        | F::ArrayPosition
        | F::ArrayToString
        | F::StringToArray
        | F::JsonObject
        | F::JsonbObject
        | F::JsonArray
        | F::ToJson => Ok(Value::Null),
    }
}

/// Bits that nobody can foretell, and that are the same when the statement is run again.
pub(super) fn random_bits(with: &Environment<'_>) -> u64 {
    let context = with.context;
    let number = context.made.get();
    context.made.set(number + 1);
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(context.seed[0]);
    hasher.write_u64(number);
    hasher.write_u64(context.seed[1]);
    hasher.finish()
}

pub(super) fn extreme(values: &[Datum<'_>], wanted: Ordering) -> Value {
    let mut best = Value::Null;
    for value in values {
        let value = value.as_ref();
        let better = match compare(value, best.as_ref()) {
            Some(order) => order == wanted,
            None => best == Value::Null,
        };
        if better {
            best = value.to_value();
        }
    }
    best
}

pub(super) fn format_type(values: &[Datum<'_>]) -> Value {
    let oid = int_at(values, 0).and_then(|oid| u32::try_from(oid).ok());
    let Some(kind) = oid.and_then(SqlType::from_oid) else {
        return Value::Null;
    };
    let modifier = int_at(values, 1).map_or(-1, |modifier| modifier as i32);
    Value::Text(TypeSpec { kind, modifier }.to_sql())
}
