//! The functions of the library `string` that take patterns, with a bound of steps and of memory.

use super::MEMORY_BYTES_MAX;
use super::json::lua_type;
use super::library::{number_of, text_for};
use super::limits::{Limits, Raised, too_long};
use super::patterns::{Capture, Matcher, Wrong};
use mlua::{Function, Lua, MultiValue, Table, Value};
use std::sync::Arc;

/// Bytes that are compared in one step.
const STEP_BYTES: usize = 64;

/// Puts the functions into a table.
pub(super) fn put(lua: &Lua, limits: &Arc<Limits>, raw: &Table) -> mlua::Result<()> {
    let of = limits.clone();
    let find = move |lua: &Lua, given: Given| search(lua, &of, given, "find");
    raw.set("find", lua.create_function(find)?)?;
    let of = limits.clone();
    let matched = move |lua: &Lua, given: Given| search(lua, &of, given, "match");
    raw.set("match", lua.create_function(matched)?)?;
    let of = limits.clone();
    let gmatch = move |lua: &Lua, (text, pattern): (Value, Value)| {
        let text = text_for(lua, &text, 1, "gmatch")?;
        let pattern = text_for(lua, &pattern, 2, "gmatch")?;
        each(lua, of.clone(), text, pattern)
    };
    raw.set("gmatch", lua.create_function(gmatch)?)?;
    let of = limits.clone();
    let gsub =
        move |lua: &Lua, given: (Value, Value, Value, Option<f64>)| replaced(lua, &of, given);
    raw.set("gsub", lua.create_function(gsub)?)
}

/// A text, a pattern, where to begin, and whether the pattern is plain.
type Given = (Value, Value, Option<f64>, Option<bool>);

fn wrong(lua: &Lua, wrong: Wrong) -> mlua::Error {
    match wrong {
        Wrong::Pattern(text) => Raised::here(lua, text.into()),
        Wrong::TooLong => too_long(),
    }
}

fn value_of(lua: &Lua, text: &[u8], capture: Capture) -> mlua::Result<Value> {
    Ok(match capture {
        Capture::Bytes(start, end) => Value::String(lua.create_string(&text[start..end])?),
        Capture::Position(at) | Capture::Open(at) => Value::Number((at + 1) as f64),
    })
}

fn search(lua: &Lua, limits: &Limits, given: Given, name: &str) -> mlua::Result<MultiValue> {
    let (text, pattern, from, is_plain) = given;
    let text = text_for(lua, &text, 1, name)?;
    let pattern = text_for(lua, &pattern, 2, name)?;
    let from = match from.unwrap_or(1.0) as i64 {
        from @ ..0 => (text.len() as i64).saturating_add(from).max(0),
        from => from.saturating_sub(1).max(0),
    };
    let from = (from as usize).min(text.len());
    let is_find = name == "find";
    let is_special = |byte: &u8| b"^$*+?.([%-".contains(byte);
    let nothing = || Ok(MultiValue::from_iter([Value::Nil]));
    if is_find && (is_plain.unwrap_or(false) || !pattern.iter().any(is_special)) {
        let place = plain(limits, &text[from..], &pattern)?;
        return match place {
            Some(place) => {
                let start = (from + place + 1) as f64;
                let end = (from + place + pattern.len()) as f64;
                Ok(MultiValue::from_iter([
                    Value::Number(start),
                    Value::Number(end),
                ]))
            }
            None => nothing(),
        };
    }
    let (inner, is_anchored) = match &pattern[..] {
        [b'^', inner @ ..] => (inner, true),
        inner => (inner, false),
    };
    let steps = |count| limits.take(count);
    let mut matcher = Matcher::new(&text, inner, &steps);
    let found = matcher.find(from, is_anchored);
    let Some((start, end)) = found.map_err(|error| wrong(lua, error))? else {
        return nothing();
    };
    let mut values = MultiValue::new();
    if is_find {
        values.push_back(Value::Number((start + 1) as f64));
        values.push_back(Value::Number(end as f64));
        if !matcher.has_captures() {
            return Ok(values);
        }
    }
    let captures = matcher.captures(start, end);
    for capture in captures.map_err(|error| wrong(lua, error))? {
        values.push_back(value_of(lua, &text, capture)?);
    }
    Ok(values)
}

/// The place of bytes in a text.
fn plain(limits: &Limits, text: &[u8], bytes: &[u8]) -> mlua::Result<Option<usize>> {
    let Some(last) = text.len().checked_sub(bytes.len()) else {
        return Ok(None);
    };
    let Some(first) = bytes.first() else {
        return Ok(Some(0));
    };
    let cost = (bytes.len() / STEP_BYTES + 1) as i64;
    for place in 0..=last {
        if text[place] == *first {
            if !limits.take(cost) {
                return Err(too_long());
            }
            if text[place..].starts_with(bytes) {
                return Ok(Some(place));
            }
        }
    }
    Ok(None)
}

/// The function that finds the next match each time.
fn each(lua: &Lua, limits: Arc<Limits>, text: Vec<u8>, pattern: Vec<u8>) -> mlua::Result<Function> {
    let mut from = 0;
    lua.create_function_mut(move |lua, ()| {
        if from > text.len() {
            return Ok(MultiValue::from_iter([Value::Nil]));
        }
        let steps = |count| limits.take(count);
        let mut matcher = Matcher::new(&text, &pattern, &steps);
        let found = matcher
            .find(from, false)
            .map_err(|error| wrong(lua, error))?;
        let Some((start, end)) = found else {
            from = text.len() + 1;
            return Ok(MultiValue::from_iter([Value::Nil]));
        };
        from = if end == start { end + 1 } else { end };
        let captures = matcher.captures(start, end);
        let captures = captures.map_err(|error| wrong(lua, error))?;
        let values = captures.into_iter().map(|one| value_of(lua, &text, one));
        values.collect()
    })
}

fn replaced(
    lua: &Lua,
    limits: &Limits,
    (text, pattern, by, most): (Value, Value, Value, Option<f64>),
) -> mlua::Result<(mlua::String, f64)> {
    let text = text_for(lua, &text, 1, "gsub")?;
    let pattern = text_for(lua, &pattern, 2, "gsub")?;
    let by = match (&by, number_of(&by)) {
        (Value::Table(_) | Value::Function(_), _) => By::Value(by),
        (Value::String(_), _) | (_, Some(_)) => By::Text(text_for(lua, &by, 3, "gsub")?),
        _ => {
            let text = "bad argument #3 to 'gsub' (string/function/table expected)";
            return Err(Raised::here(lua, text.into()));
        }
    };
    let (inner, is_anchored) = match &pattern[..] {
        [b'^', inner @ ..] => (inner, true),
        inner => (inner, false),
    };
    let most = most.map_or(usize::MAX, |most| most.max(0.0) as usize);
    let steps = |count| limits.take(count);
    let mut matcher = Matcher::new(&text, inner, &steps);
    let (mut result, mut at, mut count) = (Vec::new(), 0, 0);
    while count < most {
        let end = matcher.at(at).map_err(|error| wrong(lua, error))?;
        if let Some(end) = end {
            count += 1;
            let captures = matcher.captures(at, end);
            let captures = captures.map_err(|error| wrong(lua, error))?;
            by.put(lua, limits, &text, (at, end), &captures, &mut result)?;
            if result.len() > MEMORY_BYTES_MAX {
                return Err(Raised::here(lua, "not enough memory".into()));
            }
        }
        match end {
            Some(end) if end > at => at = end,
            _ if at < text.len() => {
                result.push(text[at]);
                at += 1;
            }
            _ => {
                at += 1;
                break;
            }
        }
        if is_anchored {
            break;
        }
    }
    result.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok((lua.create_string(result)?, count as f64))
}

/// What replaces a match.
enum By {
    /// A text, in which `%1` is the first capture.
    Text(Vec<u8>),
    /// A table or a function, of the first capture or all of them.
    Value(Value),
}

impl By {
    fn put(
        &self,
        lua: &Lua,
        limits: &Limits,
        text: &[u8],
        (start, end): (usize, usize),
        captures: &[Capture],
        result: &mut Vec<u8>,
    ) -> mlua::Result<()> {
        let value = match self {
            By::Text(by) => return put_text(lua, by, text, (start, end), captures, result),
            By::Value(Value::Table(table)) => {
                let key = value_of(lua, text, captures[0])?;
                limits.call_back(lua, || table.get::<Value>(key))?
            }
            By::Value(Value::Function(function)) => {
                let values = captures.iter().map(|one| value_of(lua, text, *one));
                let values = values.collect::<mlua::Result<MultiValue>>()?;
                limits.call_back(lua, || function.call::<Value>(values))?
            }
            By::Value(_) => Value::Nil,
        };
        match (&value, number_of(&value)) {
            (Value::Nil | Value::Boolean(false), _) => result.extend_from_slice(&text[start..end]),
            (Value::String(_), _) | (_, Some(_)) => {
                result.extend(text_for(lua, &value, 3, "gsub")?);
            }
            _ => {
                let kind = lua_type(&value);
                let text = format!("invalid replacement value (a {kind})");
                return Err(Raised::here(lua, text));
            }
        }
        Ok(())
    }
}

fn put_text(
    lua: &Lua,
    by: &[u8],
    text: &[u8],
    (start, end): (usize, usize),
    captures: &[Capture],
    result: &mut Vec<u8>,
) -> mlua::Result<()> {
    let mut bytes = by.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            result.push(*byte);
            continue;
        }
        match bytes.next() {
            Some(b'0') => result.extend_from_slice(&text[start..end]),
            Some(digit @ b'1'..=b'9') => match captures.get(usize::from(digit - b'1')) {
                Some(Capture::Bytes(from, to)) => result.extend_from_slice(&text[*from..*to]),
                Some(Capture::Position(at) | Capture::Open(at)) => {
                    result.extend((at + 1).to_string().bytes());
                }
                None => return Err(Raised::here(lua, "invalid capture index".into())),
            },
            other => result.extend(other),
        }
    }
    Ok(())
}
