//! Answers as values of Lua, and values of Lua as answers, by Redis' rules.

use super::library::stopped;
use super::limits::{Limits, Stop, VALUE_STEPS};
use crate::data::Room;
use crate::failure::Failure;
use crate::number::push_float;
use crate::reply::Reply;
use mlua::{Lua, Table, Value};

/// Values that are deeper are no answer.
const DEPTH_MAX: usize = 200;

/// An answer as a script that asked for this version of the protocol finds it.
pub(super) fn value_of(
    lua: &Lua,
    reply: &Reply,
    is_new: bool,
    limits: &Limits,
) -> mlua::Result<Value> {
    limits
        .take(VALUE_STEPS)
        .map_err(|stop| stopped(lua, stop))?;
    let string = |bytes: &[u8]| {
        limits
            .work(bytes.len())
            .map_err(|stop| stopped(lua, stop))?;
        Ok(Value::String(lua.create_string(bytes)?))
    };
    match reply {
        Reply::Ok => field(lua, "ok", string(b"OK")?),
        Reply::Simple(text) => field(lua, "ok", string(text.as_bytes())?),
        Reply::Status(text) => field(lua, "ok", string(text.as_bytes())?),
        Reply::Error(text) => field(lua, "err", string(text.as_bytes())?),
        Reply::Int(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(bytes) => string(bytes),
        Reply::Short(short) => string(short.bytes()),
        Reply::Shared(bytes) => string(bytes),
        Reply::Text(text) => string(text.as_bytes()),
        Reply::Double(number) if is_new => field(lua, "double", Value::Number(*number)),
        Reply::Double(number) => {
            let mut text = Vec::new();
            push_float(&mut text, *number);
            string(&text)
        }
        Reply::Bool(value) if is_new => Ok(Value::Boolean(*value)),
        Reply::Bool(value) => Ok(Value::Number(f64::from(u8::from(*value)))),
        Reply::Null | Reply::NullArray if is_new => Ok(Value::Nil),
        Reply::Null | Reply::NullArray => Ok(Value::Boolean(false)),
        Reply::Array(items) | Reply::Push(items) | Reply::Several(items) => {
            array(lua, items.iter(), is_new, limits)
        }
        Reply::Set(items) if is_new => {
            let set = lua.create_table()?;
            for item in items {
                set.raw_set(value_of(lua, item, is_new, limits)?, true)?;
            }
            field(lua, "set", Value::Table(set))
        }
        Reply::Set(items) => array(lua, items.iter(), is_new, limits),
        Reply::Map(pairs) | Reply::Named(pairs) if is_new => {
            let map = lua.create_table()?;
            for (key, value) in pairs {
                map.raw_set(
                    value_of(lua, key, is_new, limits)?,
                    value_of(lua, value, is_new, limits)?,
                )?;
            }
            field(lua, "map", Value::Table(map))
        }
        Reply::Pairs(pairs) if is_new => list_of_pairs(lua, pairs, is_new, limits),
        Reply::Named(pairs) => list_of_pairs(lua, pairs, is_new, limits),
        Reply::Map(pairs) | Reply::Pairs(pairs) => {
            let items = pairs.iter().flat_map(|(key, value)| [key, value]);
            array(lua, items, is_new, limits)
        }
        Reply::Verbatim(text) if is_new => {
            let inner = lua.create_table()?;
            inner.raw_set("string", string(text.as_bytes())?)?;
            inner.raw_set("format", "txt")?;
            field(lua, "verbatim_string", Value::Table(inner))
        }
        Reply::Verbatim(text) => string(text.as_bytes()),
        Reply::Large(digits) if is_new => field(lua, "big_number", string(digits.as_bytes())?),
        Reply::Decimal(digits) if is_new => {
            let number = digits.parse().unwrap_or(f64::NAN);
            field(lua, "double", Value::Number(number))
        }
        Reply::Large(digits) | Reply::Decimal(digits) => string(digits.as_bytes()),
    }
}

fn field(lua: &Lua, name: &str, value: Value) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    table.raw_set(name, value)?;
    Ok(Value::Table(table))
}

fn list_of_pairs(
    lua: &Lua,
    pairs: &[(Reply, Reply)],
    is_new: bool,
    limits: &Limits,
) -> mlua::Result<Value> {
    let list = lua.create_table()?;
    for (key, value) in pairs {
        list.raw_push(array(lua, [key, value].into_iter(), is_new, limits)?)?;
    }
    Ok(Value::Table(list))
}

fn array<'r>(
    lua: &Lua,
    items: impl Iterator<Item = &'r Reply>,
    is_new: bool,
    limits: &Limits,
) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    for (place, item) in items.enumerate() {
        table.raw_set(place + 1, value_of(lua, item, is_new, limits)?)?;
    }
    Ok(Value::Table(table))
}

/// A script's result as an answer. A table that is in several places is converted in each, which takes room and steps
/// each time.
///
/// # Errors
/// The answer or the script exceeds its bound.
pub(super) fn reply_of(
    value: &Value,
    is_new: bool,
    room: &Room,
    limits: &Limits,
) -> Result<Reply, Failure> {
    Answered {
        is_new,
        room,
        limits,
    }
    .value(value, 0)
}

/// Converts a float to an integer as processors do: a float without an integer becomes the least one.
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match (-LIMIT..LIMIT).contains(&number) {
        true => number as i64,
        false => i64::MIN,
    }
}

/// The form of answers, and their bounds.
struct Answered<'a> {
    is_new: bool,
    room: &'a Room,
    limits: &'a Limits,
}

impl Answered<'_> {
    fn value(&self, value: &Value, depth: usize) -> Result<Reply, Failure> {
        self.take(VALUE_STEPS, 0)?;
        if depth > DEPTH_MAX {
            return Ok(Reply::Error("ERR reached lua stack limit".into()));
        }
        Ok(match value {
            Value::String(text) => {
                let bytes = text.as_bytes();
                self.take(0, bytes.len())?;
                Reply::Bulk(bytes.to_vec())
            }
            Value::Integer(number) => Reply::Int(*number),
            Value::Number(number) => Reply::Int(truncated(*number)),
            Value::Boolean(value) if self.is_new => Reply::Bool(*value),
            Value::Boolean(true) => Reply::Int(1),
            Value::Table(table) => self.table(table, depth)?,
            _ => Reply::Null,
        })
    }

    /// Takes the room of a value, and its steps.
    fn take(&self, steps: i64, bytes: usize) -> Result<(), Failure> {
        self.room.take(bytes);
        self.room.check()?;
        let taken = self.limits.take(steps);
        let taken = taken.and_then(|()| self.limits.work(bytes));
        taken.map_err(|stop: Stop| Failure::Said(format!("ERR {stop}")).of_function())
    }

    /// A text, in which each byte that is not UTF-8 takes three bytes.
    fn text(&self, value: &mlua::String) -> Result<String, Failure> {
        let bytes = value.as_bytes();
        self.take(0, bytes.len().saturating_mul(3))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn line(&self, value: &mlua::String) -> Result<String, Failure> {
        Ok(self.text(value)?.replace(['\r', '\n'], " "))
    }

    fn table(&self, table: &Table, depth: usize) -> Result<Reply, Failure> {
        let get = |name: &str| table.raw_get::<Value>(name).unwrap_or(Value::Nil);
        if let Value::String(err) = get("err") {
            return Ok(Reply::Error(self.line(&err)?));
        }
        if let Value::String(ok) = get("ok") {
            return Ok(Reply::Status(self.line(&ok)?));
        }
        match get("double") {
            Value::Number(number) => return Ok(Reply::Double(number)),
            Value::Integer(number) => return Ok(Reply::Double(number as f64)),
            _ => {}
        }
        let inner = |value: &Value| self.value(value, depth + 1);
        if let Value::Table(map) = get("map") {
            let mut pairs = Vec::new();
            for pair in map.pairs::<Value, Value>() {
                let (key, value) = pair.map_err(|_| Failure::Told("ERR the map cannot be read"))?;
                pairs.push((inner(&key)?, inner(&value)?));
            }
            return Ok(Reply::Map(pairs));
        }
        if let Value::Table(set) = get("set") {
            let mut members = Vec::new();
            for pair in set.pairs::<Value, Value>() {
                let (member, _) = pair.map_err(|_| Failure::Told("ERR the set cannot be read"))?;
                members.push(inner(&member)?);
            }
            return Ok(Reply::Set(members));
        }
        if let Value::String(digits) = get("big_number") {
            return Ok(Reply::Large(self.line(&digits)?));
        }
        if let Value::Table(verbatim) = get("verbatim_string")
            && let Ok(Value::String(inner)) = verbatim.raw_get::<Value>("string")
        {
            return Ok(Reply::Verbatim(self.text(&inner)?));
        }
        let mut items = Vec::new();
        loop {
            match table.raw_get::<Value>(items.len() + 1) {
                Ok(Value::Nil) | Err(_) => return Ok(Reply::Array(items)),
                Ok(value) => items.push(inner(&value)?),
            }
        }
    }
}

/// A number as the format `%.17g` of C, with another number of digits.
pub(super) fn general(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        }
        .into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.into();
    }
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.into();
    }
    let scientific = format!("{:.*e}", digits - 1, number);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..digits as i32).contains(&exponent) {
        let behind = (digits as i32 - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{number:.behind$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        for (number, digits, text) in [
            (1.5, 17, "1.5"),
            (0.1, 17, "0.10000000000000001"),
            (1_099_511_627_776.0, 17, "1099511627776"),
            (9_007_199_254_740_992.0, 14, "9.007199254741e+15"),
            (1e100, 14, "1e+100"),
            (1e15, 14, "1e+15"),
            (0.1, 14, "0.1"),
            (-0.000012, 14, "-1.2e-05"),
            (0.00012, 14, "0.00012"),
            (123.0, 14, "123"),
            (99_999_999_999_999.9, 14, "1e+14"),
        ] {
            assert_eq!(general(number, digits), text);
        }
        assert_eq!(truncated(3.99), 3);
        assert_eq!(truncated(-3.99), -3);
        assert_eq!(truncated(1e30), i64::MIN);
        assert_eq!(truncated(f64::NAN), i64::MIN);
    }
}
