//! Functions of the program's that `prelude.lua` is given, and makes the libraries `redis`, `bit`, `cjson` and `cmsgpack` of.

use super::convert::general;
use super::interpreter::{CALL, NAME};
use super::limits::{Limits, Raised};
use super::{json, pack, strings};
use crate::command;
use mlua::{Function, Lua, MultiValue, Table, Value, Variadic};
use sardonyx_base::events;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What `prelude.lua` is given.
pub(super) fn functions(lua: &Lua, limits: &Arc<Limits>) -> mlua::Result<Table> {
    let raw = lua.create_table()?;
    let of = limits.clone();
    let over = move |_: &Lua, ()| Ok(of.is_over.load(Ordering::Relaxed));
    raw.set("over", lua.create_function(over)?)?;
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
    let call = |lua: &Lua, arguments: MultiValue| {
        let call: Function = lua.named_registry_value(CALL)?;
        match call.call::<Called>(arguments)? {
            (value, None) => Ok(value),
            (_, Some(wrong)) => Err(mlua::Error::external(Raised::Answer(
                wrong.to_string_lossy(),
            ))),
        }
    };
    raw.set("call", lua.create_function(call)?)?;
    let pcall = |lua: &Lua, arguments: MultiValue| {
        let call: Function = lua.named_registry_value(CALL)?;
        Ok(call.call::<Called>(arguments)?.0)
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
    let setresp = move |_: &Lua, versions: Variadic<Value>| {
        let [version] = &versions[..] else {
            return Err(Raised::refused("redis.setresp() requires one argument."));
        };
        match number_of(version) {
            Some(version) if version == 2.0 || version == 3.0 => {
                of.is_new.store(version == 3.0, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(Raised::refused("RESP version must be 2 or 3.")),
        }
    };
    raw.set("setresp", lua.create_function(setresp)?)?;
    let sha1hex = |_: &Lua, texts: Variadic<Value>| match &texts[..] {
        [Value::String(text)] => Ok(super::digest_of(&text.as_bytes())),
        [value] => Ok(super::digest_of(
            match number_of(value) {
                Some(number) => general(number, DIGITS),
                None => String::new(),
            }
            .as_bytes(),
        )),
        _ => Err(Raised::refused("wrong number of arguments")),
    };
    raw.set("sha1hex", lua.create_function(sha1hex)?)?;
    raw.set(
        "log",
        lua.create_function(|_, said: Variadic<Value>| log(&said))?,
    )?;
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
    let acl_check_cmd = |_: &Lua, words: Variadic<Value>| match words.first() {
        Some(Value::String(name)) if command::find(&name.as_bytes()).is_some() => Ok(true),
        _ => Err(Raised::refused(
            "Invalid command passed to redis.acl_check_cmd()",
        )),
    };
    raw.set("acl_check_cmd", lua.create_function(acl_check_cmd)?)?;
    let line = |lua: &Lua, ()| {
        let of_script = |level| {
            lua.inspect_stack(level, |debug| {
                let source = debug.source();
                let is_script = source.short_src.is_some_and(|source| source == NAME);
                is_script.then(|| debug.current_line()).flatten()
            })
        };
        Ok((0..).map_while(of_script).flatten().next())
    };
    raw.set("line", lua.create_function(line)?)?;
    raw.set("version", crate::session::REDIS_VERSION)?;
    raw.set("version_number", crate::session::REDIS_VERSION_NUMBER)?;
    raw.set("null", Value::NULL)?;
    let encode = |lua: &Lua, value: Value| match json::encode(&value) {
        Ok(text) => lua.create_string(text),
        Err(wrong) => Err(Raised::here(lua, wrong)),
    };
    raw.set("json_encode", lua.create_function(encode)?)?;
    let decode = |lua: &Lua, text: Value| {
        let text = text_for(lua, &text, 1, "decode")?;
        json::decode(lua, &text)?.map_err(|wrong| Raised::here(lua, wrong))
    };
    raw.set("json_decode", lua.create_function(decode)?)?;
    let pack = |lua: &Lua, values: Variadic<Value>| match pack::pack(&values) {
        Ok(bytes) => lua.create_string(bytes),
        Err(wrong) => Err(Raised::here(lua, wrong)),
    };
    raw.set("pack", lua.create_function(pack)?)?;
    let unpack = |lua: &Lua, bytes: Value| {
        let bytes = text_for(lua, &bytes, 1, "unpack")?;
        match pack::unpack(lua, &bytes)? {
            Ok(values) => Ok(Variadic::from_iter(values)),
            Err(wrong) => Err(Raised::here(lua, wrong)),
        }
    };
    raw.set("unpack", lua.create_function(unpack)?)?;
    raw.set("bit", bits(lua)?)?;
    strings::put(lua, limits, &raw)?;
    Ok(raw)
}

/// Digits of numbers that are texts.
const DIGITS: usize = 14;

/// A number of either kind.
pub(super) fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// The text that a function is given.
pub(super) fn text_for(
    lua: &Lua,
    value: &Value,
    place: usize,
    function: &str,
) -> mlua::Result<Vec<u8>> {
    match (value, number_of(value)) {
        (Value::String(text), _) => Ok(text.as_bytes().to_vec()),
        (_, Some(number)) => Ok(general(number, DIGITS).into_bytes()),
        _ => {
            let kind = json::lua_type(value);
            let text =
                format!("bad argument #{place} to '{function}' (string expected, got {kind})");
            Err(Raised::here(lua, text))
        }
    }
}

/// So much of a text is logged.
const LOGGED_BYTES_MAX: usize = 1024;

/// `redis.log`: to where the program's events go.
fn log(said: &[Value]) -> mlua::Result<()> {
    let [level, texts @ ..] = said else {
        return Err(Raised::refused(
            "redis.log() requires two arguments or more.",
        ));
    };
    if texts.is_empty() {
        return Err(Raised::refused(
            "redis.log() requires two arguments or more.",
        ));
    }
    let level = number_of(level)
        .ok_or_else(|| Raised::refused("First argument must be a number (log level)."))?;
    if !(0.0..4.0).contains(&level) {
        return Err(Raised::refused("Invalid debug level."));
    }
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.to_string_lossy()),
        value => number_of(value).map(|number| general(number, DIGITS)),
    };
    let mut text = texts
        .iter()
        .filter_map(text)
        .fold(String::new(), |all, one| {
            let between = if all.is_empty() { "" } else { " " };
            // More of it is not kept.
            let end = one.floor_char_boundary(LOGGED_BYTES_MAX.saturating_sub(all.len()));
            all + between + &one[..end]
        });
    text.truncate(text.floor_char_boundary(LOGGED_BYTES_MAX));
    match level as u8 {
        0 | 1 => events::debug!(script = %text, "a script says"),
        2 => events::info!(script = %text, "a script says"),
        _ => events::warn!(script = %text, "a script says"),
    }
    Ok(())
}

/// What an error that was caught says.
fn text_of(error: &Value) -> String {
    match error {
        Value::Error(error) => said(error),
        other => other.to_string().unwrap_or_default(),
    }
}

/// What an error of the program's says, without where it came from.
fn said(error: &mlua::Error) -> String {
    if let Some(raised) = Raised::of(error) {
        return raised.to_string();
    }
    match error {
        mlua::Error::RuntimeError(text) => {
            let trace = text.find("\nstack traceback:");
            text[..trace.unwrap_or(text.len())].to_string()
        }
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
    let folds = |name: &str, fold: fn(i32, i32) -> i32| {
        let f = move |_: &Lua, (first, others): (f64, Variadic<f64>)| {
            let others = others.iter().map(|number| whole(*number));
            Ok(f64::from(others.fold(whole(first), fold)))
        };
        bit.set(name, lua.create_function(f)?)
    };
    folds("tobit", |one, _| one)?;
    folds("band", |one, other| one & other)?;
    folds("bor", |one, other| one | other)?;
    folds("bxor", |one, other| one ^ other)?;
    folds("lshift", |one, by| one.wrapping_shl(by as u32 & 31))?;
    folds("rshift", |one, by| {
        (one as u32).wrapping_shr(by as u32 & 31) as i32
    })?;
    folds("arshift", |one, by| one.wrapping_shr(by as u32 & 31))?;
    folds("rol", |one, by| one.rotate_left(by as u32 & 31))?;
    folds("ror", |one, by| one.rotate_right(by as u32 & 31))?;
    let bnot = |_: &Lua, number: f64| Ok(f64::from(!whole(number)));
    bit.set("bnot", lua.create_function(bnot)?)?;
    let bswap = |_: &Lua, number: f64| Ok(f64::from(whole(number).swap_bytes()));
    bit.set("bswap", lua.create_function(bswap)?)?;
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
