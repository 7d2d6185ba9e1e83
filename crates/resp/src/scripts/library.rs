//! Functions of the program's that `prelude.lua` is given, and the errors that they raise.
//!
//! Each takes steps by the bytes and values that it reads, and holds few values of Lua at once. Functions with any
//! number of arguments take a table of them. The interpreter can hold some thousands of values
//! ([`HELD_MAX`](super::interpreter)), no more.

use super::convert::general;
use super::digest::digest_of;
use super::interpreter::{CALL, HOOK_STEPS, NAME, too_long};
use super::limits::{CALL_STEPS, Limits, Stop};
use super::{json, libraries, pack, strings};
use crate::command;
use mlua::{Function, Lua, Table, Value, Variadic};
use sardonyx_base::events;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An error that a script gets: a whole answer, or a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum Raised {
    /// The error of a command, with its code.
    #[error("{0}")]
    Answer(String),
    /// The error of a library's function, with the place of the call.
    #[error("{0}")]
    Sentence(String),
}

impl Raised {
    /// With a code, of a function of the library `redis`.
    pub fn refused(text: &str) -> mlua::Error {
        mlua::Error::external(Raised::Answer(format!("ERR {text}")))
    }

    /// With the line of the script that runs.
    pub fn here(lua: &Lua, text: String) -> mlua::Error {
        mlua::Error::external(Raised::Sentence(match place(lua) {
            Some((source, line)) => format!("{source}:{line}: {text}"),
            None => text,
        }))
    }

    /// The same in an error of the interpreter's.
    pub fn of(error: &mlua::Error) -> Option<&Raised> {
        match error {
            mlua::Error::CallbackError { cause, .. } => Raised::of(cause),
            mlua::Error::ExternalError(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

/// The functions passed to `prelude.lua`.
pub(super) fn functions(lua: &Lua, limits: &Arc<Limits>) -> mlua::Result<Table> {
    let raw = lua.create_table()?;
    let of = limits.clone();
    let over = move |_: &Lua, ()| Ok(of.is_over());
    raw.set("over", lua.create_function(over)?)?;
    let of = limits.clone();
    // A coroutine counts its instructions from the beginning.
    let spend = move |_: &Lua, ()| of.take(HOOK_STEPS.into()).map_err(|_| too_long());
    raw.set("spend", lua.create_function(spend)?)?;
    let of = limits.clone();
    let work = move |_: &Lua, bytes: f64| of.work(bytes as usize).map_err(|_| too_long());
    raw.set("work", lua.create_function(work)?)?;
    let text = |_: &Lua, error: Value| Ok(text_of(&error));
    raw.set("text", lua.create_function(text)?)?;
    let whole_text = |_: &Lua, error: Value| {
        let text = text_of(&error);
        Ok(match &error {
            Value::Error(error) if matches!(Raised::of(error), Some(Raised::Answer(_))) => text,
            _ => format!("ERR {text}"),
        })
    };
    raw.set("whole_text", lua.create_function(whole_text)?)?;
    type Called = (Value, Option<mlua::String>);
    let call = |lua: &Lua, given: (Table, usize)| {
        let call: Function = lua.named_registry_value(CALL)?;
        match call.call::<Called>(given)? {
            (value, None) => Ok(value),
            (_, Some(wrong)) => Err(mlua::Error::external(Raised::Answer(
                wrong.to_string_lossy(),
            ))),
        }
    };
    raw.set("call", lua.create_function(call)?)?;
    let pcall = |lua: &Lua, given: (Table, usize)| {
        let call: Function = lua.named_registry_value(CALL)?;
        Ok(call.call::<Called>(given)?.0)
    };
    raw.set("pcall", lua.create_function(pcall)?)?;
    let of = limits.clone();
    let random = move |_: &Lua, ()| Ok((of.next_random() >> 11) as f64 / (1_u64 << 53) as f64);
    raw.set("random", lua.create_function(random)?)?;
    let of = limits.clone();
    let randomseed = move |_: &Lua, seed: f64| {
        of.seed(seed.to_bits());
        Ok(())
    };
    raw.set("randomseed", lua.create_function(randomseed)?)?;
    let of = limits.clone();
    let setresp = move |_: &Lua, (count, version): (usize, Value)| {
        if count != 1 {
            return Err(Raised::refused("redis.setresp() requires one argument."));
        }
        match number_of(&version) {
            Some(version) if version == 2.0 || version == 3.0 => {
                of.is_new.store(version == 3.0, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Raised::refused("RESP version must be 2 or 3.")),
        }
    };
    raw.set("setresp", lua.create_function(setresp)?)?;
    let of = limits.clone();
    let sha1hex = move |_: &Lua, (count, value): (usize, Value)| {
        if count != 1 {
            return Err(Raised::refused("wrong number of arguments"));
        }
        if let Value::String(text) = &value {
            let text = text.as_bytes();
            // A digest takes longer than a copy.
            return match of.work(text.len().saturating_mul(8)) {
                Ok(()) => Ok(digest_of(&text)),
                Err(_) => Err(too_long()),
            };
        }
        let number = number_of(&value).map(|number| general(number, DIGITS));
        Ok(digest_of(number.unwrap_or_default().as_bytes()))
    };
    raw.set("sha1hex", lua.create_function(sha1hex)?)?;
    let of = limits.clone();
    let log = move |_: &Lua, (count, level, texts): (usize, Value, Table)| {
        of.take(CALL_STEPS).map_err(|_| too_long())?;
        log(count, &level, &texts)
    };
    raw.set("log", lua.create_function(log)?)?;
    let set_repl = |_: &Lua, flags: Option<Value>| {
        let flags = flags.as_ref().and_then(number_of);
        match flags.is_some_and(|flags| (0.0..=3.0).contains(&flags)) {
            true => Ok(()),
            false => Err(Raised::refused(
                "Invalid replication flags. Please use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
            )),
        }
    };
    raw.set("set_repl", lua.create_function(set_repl)?)?;
    let acl_check_cmd = |_: &Lua, name: Value| match &name {
        Value::String(name) if command::find(&name.as_bytes()).is_some() => Ok(true),
        _ => Err(Raised::refused(
            "Invalid command passed to redis.acl_check_cmd()",
        )),
    };
    raw.set("acl_check_cmd", lua.create_function(acl_check_cmd)?)?;
    raw.set("line", lua.create_function(|lua, ()| Ok(line(lua)))?)?;
    raw.set("version", crate::session::REDIS_VERSION)?;
    raw.set("version_number", crate::session::REDIS_VERSION_NUMBER)?;
    raw.set("null", Value::NULL)?;
    let of = limits.clone();
    let encode = move |lua: &Lua, value: Value| match json::encode(&value, &of) {
        Ok(text) => lua.create_string(text),
        Err(wrong) => Err(Raised::here(lua, wrong)),
    };
    raw.set("json_encode", lua.create_function(encode)?)?;
    let of = limits.clone();
    let decode = move |lua: &Lua, text: Value| {
        let text = text_for(lua, &text, "decode", &of)?;
        json::decode(lua, &text.as_bytes())?.map_err(|wrong| Raised::here(lua, wrong))
    };
    raw.set("json_decode", lua.create_function(decode)?)?;
    let of = limits.clone();
    let pack =
        move |lua: &Lua, (values, count): (Table, usize)| match pack::pack(&values, count, &of) {
            Ok(bytes) => lua.create_string(bytes),
            Err(wrong) => Err(Raised::here(lua, wrong)),
        };
    raw.set("pack", lua.create_function(pack)?)?;
    let of = limits.clone();
    let unpack = move |lua: &Lua, bytes: Value| {
        let bytes = text_for(lua, &bytes, "unpack", &of)?;
        match pack::unpack(lua, &bytes.as_bytes())? {
            Ok(values) => Ok(Variadic::from_iter(values)),
            Err(wrong) => Err(Raised::here(lua, wrong)),
        }
    };
    raw.set("unpack", lua.create_function(unpack)?)?;
    strings::put(lua, &raw, limits)?;
    raw.set("bit", bits(lua)?)?;
    Ok(raw)
}

/// Digits of numbers that are texts.
const DIGITS: usize = 14;

pub(super) fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// The line of the script that runs.
fn line(lua: &Lua) -> Option<usize> {
    place(lua).map(|(_, line)| line)
}

/// The name of the text that runs, a script's or a library's, and its line.
fn place(lua: &Lua) -> Option<(&'static str, usize)> {
    let of_script = |level| {
        lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let mut names = [NAME, libraries::NAME].into_iter();
            let name = names.find(|name| source.short_src.as_deref() == Some(*name))?;
            Some((name, debug.current_line()?))
        })
    };
    (0..).map_while(of_script).flatten().next()
}

/// The text that a function is given to read, with the steps of reading it.
fn text_for(
    lua: &Lua,
    value: &Value,
    function: &str,
    limits: &Limits,
) -> mlua::Result<mlua::String> {
    match (value, number_of(value)) {
        (Value::String(text), _) => {
            // Values are made of it.
            let bytes = text.as_bytes().len().saturating_mul(4);
            limits.work(bytes).map_err(|_| too_long())?;
            Ok(text.clone())
        }
        (_, Some(number)) => lua.create_string(general(number, DIGITS)),
        _ => {
            let kind = json::lua_type(value);
            let text = format!("bad argument #1 to '{function}' (string expected, got {kind})");
            Err(Raised::here(lua, text))
        }
    }
}

/// The longest text that is logged at once.
const LOG_BYTES_MAX: usize = 16 << 10;

/// `redis.log`: to where the program's events go.
fn log(count: usize, level: &Value, texts: &Table) -> mlua::Result<()> {
    if count == 0 {
        return Err(Raised::refused(
            "redis.log() requires two arguments or more.",
        ));
    }
    let level = number_of(level)
        .ok_or_else(|| Raised::refused("First argument must be a number (log level)."))?;
    if !(0.0..4.0).contains(&level) {
        return Err(Raised::refused("Invalid debug level."));
    }
    let mut said = Vec::new();
    for place in 1..=count {
        let part = texts.raw_get::<Value>(place)?;
        let room = LOG_BYTES_MAX.saturating_sub(said.len());
        let between: &[u8] = if said.is_empty() { b"" } else { b" " };
        match (&part, number_of(&part)) {
            (Value::String(text), _) => {
                let text = text.as_bytes();
                said.extend(between.iter().chain(&text[..text.len().min(room)]));
            }
            (_, Some(number)) => {
                said.extend_from_slice(between);
                said.extend(general(number, DIGITS).bytes());
            }
            _ => {}
        }
        if said.len() >= LOG_BYTES_MAX {
            break;
        }
    }
    let text = String::from_utf8_lossy(&said);
    match level as u8 {
        0 | 1 => events::debug!(script = %text, "a script says"),
        2 => events::info!(script = %text, "a script says"),
        _ => events::warn!(script = %text, "a script says"),
    }
    Ok(())
}

/// The error for a script that is stopped.
pub(super) fn stopped(lua: &Lua, stop: Stop) -> mlua::Error {
    match stop {
        Stop::Over => too_long(),
        Stop::Memory => Raised::here(lua, stop.to_string()),
    }
}

/// The message of a caught error.
fn text_of(error: &Value) -> String {
    match error {
        Value::Error(error) => said(error),
        other => other.to_string().unwrap_or_default(),
    }
}

/// The message of an error of the program's own, without its origin.
fn said(error: &mlua::Error) -> String {
    if let Some(raised) = Raised::of(error) {
        return raised.to_string();
    }
    match error {
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::MemoryError(_) => "not enough memory".into(),
        mlua::Error::CallbackError { cause, .. } => said(cause),
        other => other.to_string(),
    }
}

/// The library `bit`: whole numbers of 32 bits.
fn bits(lua: &Lua) -> mlua::Result<Table> {
    fn whole(number: f64) -> i32 {
        const WIDE: f64 = 4_294_967_296.0;
        number.round_ties_even().rem_euclid(WIDE) as u32 as i32
    }
    let bit = lua.create_table()?;
    let one = |name: &str, of: fn(i32) -> i32| {
        let f = move |_: &Lua, number: f64| Ok(f64::from(of(whole(number))));
        bit.set(name, lua.create_function(f)?)
    };
    let two = |name: &str, of: fn(i32, i32) -> i32| {
        let f = move |_: &Lua, (a, b): (f64, f64)| Ok(f64::from(of(whole(a), whole(b))));
        bit.set(name, lua.create_function(f)?)
    };
    one("tobit", |number| number)?;
    one("bnot", |number| !number)?;
    one("bswap", i32::swap_bytes)?;
    two("band", |one, other| one & other)?;
    two("bor", |one, other| one | other)?;
    two("bxor", |one, other| one ^ other)?;
    two("lshift", |one, by| one.wrapping_shl(by as u32 & 31))?;
    two("rshift", |one, by| {
        (one as u32).wrapping_shr(by as u32 & 31) as i32
    })?;
    two("arshift", |one, by| one.wrapping_shr(by as u32 & 31))?;
    two("rol", |one, by| one.rotate_left(by as u32 & 31))?;
    two("ror", |one, by| one.rotate_right(by as u32 & 31))?;
    let tohex = |_: &Lua, (number, digits): (f64, Option<f64>)| {
        let digits = digits.map_or(8, whole);
        let text = format!("{:08x}", whole(number));
        let count = (digits.unsigned_abs() as usize).min(8);
        let text = &text[8 - count..];
        Ok(if digits < 0 {
            text.to_uppercase()
        } else {
            text.to_string()
        })
    };
    bit.set("tohex", lua.create_function(tohex)?)?;
    Ok(bit)
}
