//! An interpreter of Lua, with what scripts find in it, and the run of one.
//!
//! `prelude.lua` has what is written in Lua. Commands run in the state of the script's transaction, with which the
//! function `call` is made anew for each run. Errors of commands are values of Lua; what the engine says, and that a
//! script has run for too long, goes through all of its handlers.

use super::convert::{general, reply_of, value_of};
use super::{CALL_STEPS, Digest, MEMORY_BYTES_MAX, STEPS_MAX, Script, json, pack, strings};
use crate::command::line::Line;
use crate::command::words::is;
use crate::command::{self, Command, NO_SCRIPT, WRITE, subcommands};
use crate::data::{Data, State};
use crate::failure::Failure;
use crate::reply::Reply;
use mlua::{
    ChunkMode, Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, Variadic,
    VmState,
};
use sardonyx_base::events;
use sardonyx_base::random::Random;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Between two looks at the steps that are left.
const HOOK_STEPS: u32 = 10_000;
/// So many scripts stay compiled.
const COMPILED_MAX: usize = 1000;
/// So many functions of the program's call back at a time.
const CALLBACKS_MAX: usize = 10;
/// The longest command of a script, in bytes.
const COMMAND_BYTES_MAX: usize = 32 << 20;
/// Under this name the interpreter has what runs the commands of a script.
const CALL: &str = "call";
/// The name of a script's text, as it stands in errors.
const NAME: &str = "user_script";

/// An interpreter.
pub(super) struct Interpreter {
    lua: Lua,
    run: Function,
    is_clean: Function,
    limits: Arc<Limits>,
    compiled: HashMap<Digest, Function>,
}

/// What a script has left.
#[derive(Debug, Default)]
pub(super) struct Limits {
    steps: AtomicI64,
    is_over: AtomicBool,
    random: Mutex<Option<Random>>,
    /// The version of the protocol that its commands answer with.
    is_new: AtomicBool,
    /// How many functions of the program's call back at a time.
    callbacks: AtomicUsize,
}

impl Limits {
    /// Calls back a function of the script's, which takes a part of the stack of the program's thread.
    pub(super) fn call_back<T>(
        &self,
        lua: &Lua,
        call: impl FnOnce() -> mlua::Result<T>,
    ) -> mlua::Result<T> {
        if self.callbacks.load(Ordering::Relaxed) >= CALLBACKS_MAX {
            return Err(Raised::here(lua, "C stack overflow".into()));
        }
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        let called = call();
        self.callbacks.fetch_sub(1, Ordering::Relaxed);
        called
    }

    /// Takes steps; false if there are none.
    pub(super) fn take(&self, steps: i64) -> bool {
        let left = self.steps.fetch_sub(steps, Ordering::Relaxed);
        if left <= steps {
            self.is_over.store(true, Ordering::Relaxed);
        }
        !self.is_over.load(Ordering::Relaxed)
    }

    fn next_random(&self) -> u64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.get_or_insert_with(|| Random::new(0)).next()
    }

    fn seed(&self, seed: u64) {
        let random = self.random.lock();
        *random.unwrap_or_else(PoisonError::into_inner) = Some(Random::new(seed));
    }
}

/// An error that a script is told: a whole answer, or a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum Raised {
    /// Of a command, with its code.
    #[error("{0}")]
    Answer(String),
    /// Of a library's function, with where it was called.
    #[error("{0}")]
    Sentence(String),
}

impl Raised {
    /// With a code, of a function of the library `redis`.
    fn refused(text: &str) -> mlua::Error {
        mlua::Error::external(Raised::Answer(format!("ERR {text}")))
    }

    /// With where the function that runs was called.
    pub(super) fn here(lua: &Lua, text: String) -> mlua::Error {
        let place = lua.inspect_stack(1, |debug| {
            let source = debug.source().short_src.map(|source| source.into_owned());
            source.zip(debug.current_line())
        });
        mlua::Error::external(Raised::Sentence(match place.flatten() {
            Some((source, line)) => format!("{source}:{line}: {text}"),
            None => text,
        }))
    }

    /// The same in an error of the interpreter's.
    fn of(error: &mlua::Error) -> Option<&Raised> {
        match error {
            mlua::Error::CallbackError { cause, .. } => Raised::of(cause),
            mlua::Error::ExternalError(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

/// What the interpreter itself says.
fn failed(error: mlua::Error) -> Failure {
    Failure::Said(format!("ERR Lua: {error}"))
}

/// That a script has no steps left.
pub(super) fn too_long() -> mlua::Error {
    mlua::Error::runtime("the script has run for too long")
}

impl Interpreter {
    /// A new one.
    pub fn new() -> Result<Interpreter, Failure> {
        Self::made().map_err(failed)
    }

    fn made() -> mlua::Result<Interpreter> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        lua.set_memory_limit(MEMORY_BYTES_MAX)?;
        let limits = Arc::<Limits>::default();
        let raw = functions(&lua, &limits)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
        let prelude: Table = prelude.call(&raw)?;
        lua.set_globals(prelude.get("env")?)?;
        let watched = limits.clone();
        let triggers = HookTriggers::new().every_nth_instruction(HOOK_STEPS);
        lua.set_global_hook(triggers, move |_, _| {
            match watched.take(HOOK_STEPS.into()) {
                true => Ok(VmState::Continue),
                false => Err(too_long()),
            }
        })?;
        Ok(Interpreter {
            run: prelude.get("run")?,
            is_clean: prelude.get("is_clean")?,
            lua,
            limits,
            compiled: HashMap::new(),
        })
    }

    /// Whether it can run another script: none has left anything, and it has not more than so many bytes.
    pub fn is_clean(&self, bytes_max: usize) -> bool {
        self.limits.steps.store(STEPS_MAX, Ordering::Relaxed);
        self.limits.is_over.store(false, Ordering::Relaxed);
        if self.lua.used_memory() > bytes_max / 2 {
            // Scripts cannot give it finalizers.
            drop(self.lua.gc_collect());
        }
        self.lua.used_memory() <= bytes_max && self.is_clean.call(()).unwrap_or(false)
    }

    /// Finds out whether the text is a script.
    ///
    /// # Errors
    /// Where it is none.
    pub fn check(&mut self, script: &Script) -> Result<(), Failure> {
        self.compiled(script).map(drop)
    }

    fn compiled(&mut self, script: &Script) -> Result<Function, Failure> {
        if let Some(compiled) = self.compiled.get(&script.digest) {
            return Ok(compiled.clone());
        }
        let chunk = self.lua.load(&script.body[..]);
        let chunk = chunk.set_name(format!("@{NAME}")).set_mode(ChunkMode::Text);
        let compiled = chunk.into_function().map_err(|error| {
            let text = match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            };
            Failure::Said(format!("ERR Error compiling script (new function): {text}"))
        })?;
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
        }
        self.compiled
            .insert(script.digest.clone(), compiled.clone());
        Ok(compiled)
    }

    /// Runs a script with the keys and arguments of its command.
    ///
    /// # Errors
    /// What it ends by; that of the engine's.
    pub fn run<S: State>(
        &mut self,
        data: &mut Data<'_, S>,
        script: &Script,
        line: &Line,
        keys: usize,
        only_reads: bool,
    ) -> Result<Reply, Failure> {
        let compiled = self.compiled(script)?;
        self.limits.steps.store(STEPS_MAX, Ordering::Relaxed);
        self.limits.is_over.store(false, Ordering::Relaxed);
        self.limits.is_new.store(false, Ordering::Relaxed);
        self.limits.callbacks.store(0, Ordering::Relaxed);
        self.limits.seed(data.random.next());
        let mut calls = Calls {
            data,
            limits: &self.limits,
            only_reads,
            has_written: false,
            failure: None,
        };
        let ended = self.lua.scope(|scope| {
            let call = scope.create_function_mut(|lua, arguments: Variadic<Value>| {
                calls.call(lua, &arguments)
            })?;
            self.lua.set_named_registry_value(CALL, call)?;
            let texts = |from: usize, to: usize| {
                let texts = line.parts(from).take(to - from);
                let texts = texts.map(|text| self.lua.create_string(text));
                self.lua
                    .create_sequence_from(texts.collect::<mlua::Result<Vec<_>>>()?)
            };
            let (keys, arguments) = (texts(3, 3 + keys)?, texts(3 + keys, line.len())?);
            self.run.call::<MultiValue>((compiled, keys, arguments))
        });
        let Calls {
            data,
            has_written,
            failure,
            ..
        } = calls;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let said = match ended {
            _ if self.limits.is_over.load(Ordering::Relaxed) => format!(
                "ERR the script has taken more than {STEPS_MAX} steps, and is undone script: {}",
                script.digest
            ),
            Ok(values) => match (values.front(), values.get(1)) {
                (Some(Value::Boolean(true)), value) => {
                    let is_new = self.limits.is_new.load(Ordering::Relaxed);
                    let value = value.unwrap_or(&Value::Nil);
                    return reply_of(value, is_new, data.room);
                }
                (_, Some(Value::Table(ended))) => {
                    let text: String = ended.raw_get("err").map_err(failed)?;
                    match ended.raw_get::<Option<usize>>("line").map_err(failed)? {
                        Some(line) => {
                            format!("{text} script: {}, on @{NAME}:{line}.", script.digest)
                        }
                        None => format!("{text} script: {}", script.digest),
                    }
                }
                (_, Some(Value::String(text))) => {
                    format!("ERR {} script: {}", text.to_string_lossy(), script.digest)
                }
                _ => format!("ERR the script ended script: {}", script.digest),
            },
            Err(error) => format!("ERR Lua: {error} script: {}", script.digest),
        };
        // What it has written is undone with it.
        Err(match has_written {
            true => Failure::Said(said).of_function(),
            false => Failure::Said(said),
        })
    }
}

/// The commands of a script.
struct Calls<'c, 'd, S> {
    data: &'c mut Data<'d, S>,
    limits: &'c Limits,
    only_reads: bool,
    has_written: bool,
    /// What the engine says.
    failure: Option<Failure>,
}

impl<S: State> Calls<'_, '_, S> {
    /// Runs a command. Returns the answer, and the text of one that says what is wrong.
    fn call(
        &mut self,
        lua: &Lua,
        arguments: &[Value],
    ) -> mlua::Result<(Value, Option<mlua::String>)> {
        if !self.limits.take(CALL_STEPS) {
            return Err(too_long());
        }
        let is_new = self.limits.is_new.load(Ordering::Relaxed);
        let reply = match self.answer(arguments) {
            Ok(reply) => reply,
            Err(failure) if failure.undoes() => {
                let text = failure.to_string();
                self.failure = Some(failure);
                self.limits.is_over.store(true, Ordering::Relaxed);
                return Err(mlua::Error::runtime(text));
            }
            Err(failure) => Reply::Error(failure.to_string()),
        };
        let wrong = match &reply {
            Reply::Error(text) => Some(lua.create_string(text)?),
            _ => None,
        };
        Ok((value_of(lua, &reply, is_new)?, wrong))
    }

    fn answer(&mut self, arguments: &[Value]) -> Result<Reply, Failure> {
        if arguments.is_empty() {
            return Err(Failure::Told(
                "ERR Please specify at least one argument for this redis lib call",
            ));
        }
        let (mut parts, mut bytes) = (Vec::with_capacity(arguments.len()), 0);
        for argument in arguments {
            let part = match argument {
                Value::String(text) => text.as_bytes().to_vec(),
                Value::Integer(number) => general(*number as f64, 17).into_bytes(),
                Value::Number(number) => general(*number, 17).into_bytes(),
                _ => {
                    return Err(Failure::Told(
                        "ERR Lua redis lib command arguments must be strings or integers",
                    ));
                }
            };
            bytes += part.len();
            if bytes > COMMAND_BYTES_MAX {
                return Err(Failure::Said(format!(
                    "ERR a command of more than {COMMAND_BYTES_MAX} bytes"
                )));
            }
            parts.push(part);
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let line = Line::of(&parts);
        let command = known(&line)?;
        let writes = command.is(WRITE);
        if command.run.is_none() {
            return of_connection(command, &line, self.data.now);
        }
        if command.is(NO_SCRIPT) {
            return Err(NOT_IN_SCRIPTS);
        }
        if writes && self.only_reads {
            return Err(Failure::Told(
                "ERR Write commands are not allowed from read-only scripts.",
            ));
        }
        let reply = S::run(self.data, command, &line)?;
        self.data.room.check()?;
        self.has_written |= writes;
        Ok(reply)
    }
}

const NOT_IN_SCRIPTS: Failure = Failure::Told("ERR This Redis command is not allowed from script");

/// The command of a line, if it has the parts that it needs.
fn known(line: &Line) -> Result<&'static Command, Failure> {
    const UNKNOWN: Failure = Failure::Told("ERR Unknown Redis command called from script");
    let arguments = || Failure::Told("ERR Wrong number of args calling Redis command from script");
    let command = command::find(line.part(0)).ok_or(UNKNOWN)?;
    if !command.takes(line.len()) {
        return Err(arguments());
    }
    match subcommands::check(command, line) {
        Ok(()) => Ok(command),
        Err(Failure::Arguments(_)) => Err(arguments()),
        Err(_) => Err(UNKNOWN),
    }
}

/// Commands of the connection that a script may give.
fn of_connection(command: &Command, line: &Line, now: i64) -> Result<Reply, Failure> {
    match command.name {
        "ping" if line.len() == 1 => Ok(Reply::Simple("PONG")),
        "ping" if line.len() > 2 => Err(command.wrong_arguments()),
        "ping" | "echo" => Ok(Reply::Bulk(line.part(1).to_vec())),
        "time" => Ok(crate::session::time(now)),
        "select" if is(line.part(1), "0") => Ok(Reply::Ok),
        "select" => Err(Failure::Told("ERR DB index is out of range")),
        _ => Err(NOT_IN_SCRIPTS),
    }
}

/// What `prelude.lua` is given.
fn functions(lua: &Lua, limits: &Arc<Limits>) -> mlua::Result<Table> {
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
