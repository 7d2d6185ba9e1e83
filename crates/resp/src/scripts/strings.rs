//! Functions of the library `string` that match patterns, by [`Matcher`] and within a script's [`Limits`].

use super::json::lua_type;
use super::library::{Raised, number_of, stopped};
use super::limits::Limits;
use super::patterns::{Found, Matcher, PatternError, find_plain, is_plain};
use mlua::{BorrowedBytes, Lua, MultiValue, Table, Value};
use std::sync::Arc;

/// Puts the functions into the table that `prelude.lua` is given.
pub(super) fn put(lua: &Lua, raw: &Table, limits: &Arc<Limits>) -> mlua::Result<()> {
    let of = limits.clone();
    let finds = move |lua: &Lua, (text, pattern, from, plain): (Value, Value, Value, Value)| {
        find(lua, &of, "find", [text, pattern, from, plain])
    };
    raw.set("find", lua.create_function(finds)?)?;
    let of = limits.clone();
    let matches = move |lua: &Lua, (text, pattern, from): (Value, Value, Value)| {
        find(lua, &of, "match", [text, pattern, from, Value::Nil])
    };
    raw.set("match", lua.create_function(matches)?)?;
    let of = limits.clone();
    let next_match = move |lua: &Lua, given: (Value, Value, usize, bool)| next(lua, &of, given);
    raw.set("next_match", lua.create_function(next_match)?)?;
    let of = limits.clone();
    let replaces = move |lua: &Lua, given: (Value, Value, Value, Value)| replaced(lua, &of, given);
    raw.set("replaced", lua.create_function(replaces)?)?;
    let of = limits.clone();
    let rep = move |lua: &Lua, (given, count): (Value, Value)| {
        let text = text(lua, &given, 1, "rep")?;
        let count = whole(lua, &count, 2, "rep")?;
        let count = count.ok_or_else(|| wrong(lua, &Value::Nil, 2, "rep", "number"))?;
        let (text, count) = (text.as_bytes(), usize::try_from(count).unwrap_or(0));
        let bytes = text.len().saturating_mul(count);
        of.room(bytes).map_err(|stop| stopped(lua, stop))?;
        match bytes {
            0 => lua.create_string(b""),
            _ => lua.create_string(text.repeat(count)),
        }
    };
    raw.set("rep", lua.create_function(rep)?)
}

/// An argument that is a text, or a number, which is one then.
fn text(lua: &Lua, value: &Value, place: usize, function: &str) -> mlua::Result<mlua::String> {
    match (value, number_of(value)) {
        (Value::String(text), _) => Ok(text.clone()),
        (_, Some(number)) => lua.create_string(super::convert::general(number, 14)),
        _ => Err(wrong(lua, value, place, function, "string")),
    }
}

fn wrong(lua: &Lua, value: &Value, place: usize, function: &str, expected: &str) -> mlua::Error {
    let got = match value {
        Value::Nil => "no value",
        other => lua_type(other),
    };
    let text = format!("bad argument #{place} to '{function}' ({expected} expected, got {got})");
    Raised::here(lua, text)
}

fn whole(lua: &Lua, value: &Value, place: usize, function: &str) -> mlua::Result<Option<i64>> {
    if value.is_nil() {
        return Ok(None);
    }
    let number = lua.coerce_number(value.clone())?;
    let number = number.ok_or_else(|| wrong(lua, value, place, function, "number"))?;
    Ok(Some(number as i64))
}

/// Runs a matcher with the steps that are left, and takes those that it has taken.
fn within<T>(
    lua: &Lua,
    limits: &Limits,
    matcher: &mut Matcher<'_>,
    act: impl FnOnce(&mut Matcher<'_>) -> Result<T, PatternError>,
) -> mlua::Result<T> {
    let before = matcher.steps_left();
    let done = act(matcher);
    settled(lua, limits, before - matcher.steps_left(), done)
}

fn settled<T>(
    lua: &Lua,
    limits: &Limits,
    taken: i64,
    done: Result<T, PatternError>,
) -> mlua::Result<T> {
    let taken = limits.take(taken);
    match done {
        Err(error) => Err(Raised::here(lua, error.to_string())),
        Ok(done) => match taken {
            Ok(()) => Ok(done),
            Err(stop) => Err(stopped(lua, stop)),
        },
    }
}

/// Captures as values.
fn push(
    lua: &Lua,
    text: &BorrowedBytes<'_>,
    found: &[Found],
    values: &mut MultiValue,
) -> mlua::Result<()> {
    for found in found {
        values.push_back(match found {
            Found::Text(range) => Value::String(lua.create_string(&text[range.clone()])?),
            Found::Place(place) => Value::Number(*place as f64),
        });
    }
    Ok(())
}

fn find(
    lua: &Lua,
    limits: &Limits,
    function: &str,
    [given_text, pattern, from, plain]: [Value; 4],
) -> mlua::Result<MultiValue> {
    let is_find = function == "find";
    let given_text = text(lua, &given_text, 1, function)?;
    let pattern = text(lua, &pattern, 2, function)?;
    let (subject, pattern) = (given_text.as_bytes(), pattern.as_bytes());
    let length = subject.len() as i64;
    let from = match whole(lua, &from, 3, function)?.unwrap_or(1) {
        from if from < 0 => (from.saturating_add(length + 1)).max(0),
        from => from,
    };
    let from = (from - 1).clamp(0, length) as usize;
    let is_asked = !matches!(plain, Value::Nil | Value::Boolean(false));
    let place = |place: usize| Value::Number(place as f64);
    let mut values = MultiValue::new();
    if is_find && (is_asked || is_plain(&pattern)) {
        let before = limits.left();
        let (found, left) = find_plain(&subject, &pattern, from, before);
        match settled(lua, limits, before - left, found)? {
            Some(at) => values.extend([place(at + 1), place(at + pattern.len())]),
            None => values.push_back(Value::Nil),
        }
        return Ok(values);
    }
    let mut matcher = Matcher::new(&subject, &pattern, true, limits.left());
    let found = within(lua, limits, &mut matcher, |matcher| {
        let Some(found) = matcher.find(from)? else {
            return Ok(None);
        };
        let whole = (!is_find).then(|| found.clone());
        Ok(Some((found, matcher.found(whole)?)))
    })?;
    let Some((found, captured)) = found else {
        values.push_back(Value::Nil);
        return Ok(values);
    };
    if is_find {
        values.extend([place(found.start + 1), place(found.end)]);
    }
    push(lua, &subject, &captured, &mut values)?;
    Ok(values)
}

/// The next match from a place on: its beginning and its end, counted from 0, and its captures.
fn next(
    lua: &Lua,
    limits: &Limits,
    (subject, pattern, from, anchors): (Value, Value, usize, bool),
) -> mlua::Result<MultiValue> {
    let function = if anchors { "gsub" } else { "gmatch" };
    let (subject, pattern) = (
        text(lua, &subject, 1, function)?,
        text(lua, &pattern, 2, function)?,
    );
    let (subject, pattern) = (subject.as_bytes(), pattern.as_bytes());
    let mut matcher = Matcher::new(&subject, &pattern, anchors, limits.left());
    let mut values = MultiValue::new();
    let found = within(lua, limits, &mut matcher, |matcher| {
        let Some(found) = matcher.find(from)? else {
            return Ok(None);
        };
        Ok(Some((found.clone(), matcher.found(Some(found))?)))
    })?;
    if let Some((found, captured)) = found {
        values.push_back(Value::Number(found.start as f64));
        values.push_back(Value::Number(found.end as f64));
        push(lua, &subject, &captured, &mut values)?;
    }
    Ok(values)
}

/// `gsub` by a text.
fn replaced(
    lua: &Lua,
    limits: &Limits,
    (subject, pattern, by, most): (Value, Value, Value, Value),
) -> mlua::Result<(mlua::String, f64)> {
    let (subject, pattern, by) = (
        text(lua, &subject, 1, "gsub")?,
        text(lua, &pattern, 2, "gsub")?,
        text(lua, &by, 3, "gsub")?,
    );
    let most = whole(lua, &most, 4, "gsub")?.unwrap_or(i64::MAX);
    let (subject, pattern, by) = (subject.as_bytes(), pattern.as_bytes(), by.as_bytes());
    let mut matcher = Matcher::new(&subject, &pattern, true, limits.left());
    let (written, count) = within(lua, limits, &mut matcher, |matcher| {
        matcher.replaced(&by, most)
    })?;
    Ok((lua.create_string(written)?, count as f64))
}
