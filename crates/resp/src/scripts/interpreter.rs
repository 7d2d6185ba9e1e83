//! An interpreter of Lua, with what scripts find in it, and the run of one.
//!
//! `prelude.lua` has what is written in Lua. Commands run in the state of the script's transaction, with which the
//! function `call` is made anew for each run. Errors of commands are values of Lua; what the engine says, and that a
//! script has run for too long, goes through all of its handlers.

use super::convert::{general, reply_of, value_of};
use super::library::functions;
use super::limits::{Limits, too_long};
use super::{CALL_STEPS, Digest, MEMORY_BYTES_MAX, STEPS_MAX, Script};
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
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Between two looks at the steps that are left.
const HOOK_STEPS: u32 = 10_000;
/// So many scripts stay compiled.
const COMPILED_MAX: usize = 1000;
/// The longest command of a script, in bytes.
const COMMAND_BYTES_MAX: usize = 32 << 20;
/// Under this name the interpreter has what runs the commands of a script.
pub(super) const CALL: &str = "call";
/// The name of a script's text, as it stands in errors.
pub(super) const NAME: &str = "user_script";

/// An interpreter.
pub(super) struct Interpreter {
    lua: Lua,
    run: Function,
    is_clean: Function,
    limits: Arc<Limits>,
    compiled: HashMap<Digest, Function>,
}

/// What the interpreter itself says.
fn failed(error: mlua::Error) -> Failure {
    Failure::Said(format!("ERR Lua: {error}"))
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
