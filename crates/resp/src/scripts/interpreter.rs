//! An interpreter of Lua, the functions for scripts in it, and the run of a script.
//!
//! `prelude.lua` has the functions written in Lua. Commands run in the state of the script's transaction, for which
//! the function `call` is made anew for each run. Errors of commands are values of Lua. Errors of the engine, and of a
//! script that has run for too long, pass through all of its handlers.

use super::convert::{general, reply_of, value_of};
use super::idle::Interpreter;
use super::library::{functions, stopped};
use super::limits::{BYTES_MAX, CALL_STEPS, Limits, STEPS_MAX, Stop, TIME_MAX, VALUE_STEPS};
use super::{Script, libraries};
use crate::command::line::{Gathered, Line, PART_BYTES_MAX};
use crate::command::{
    self, ADMIN, Command, MESSAGES, MORE, NO_SCRIPT, READ, WRITE, subcommands, waiting,
};
use crate::data::databases::database;
use crate::data::libraries::{FLAGS, LibraryFunction};
use crate::data::{Data, Spent, State};
use crate::failure::{Failure, NO_MEMORY};
use crate::number::integer;
use crate::reply::Reply;
use crate::session::monitored;
use mlua::{
    ChunkMode, Function, HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The steps between two checks of the bounds: some instructions take long, such as those that join long texts.
pub(super) const HOOK_STEPS: u32 = 500;
/// The most memory of an interpreter, in bytes.
const MEMORY_BYTES_MAX: usize = 128 << 20;
/// So many values of Lua can be held at once; for the last some hundred of them there is no need.
const HELD_MAX: usize = 7900;
/// The longest text of an error, in bytes.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// So many scripts stay compiled: each is held.
const COMPILED_MAX: usize = 500;
/// So many libraries stay loaded, each of which is held.
const LIBRARIES_MAX: usize = 100;
/// The name under which the interpreter has the function that runs the commands of a script.
pub(super) const CALL: &str = "call";
const PRELUDE_NAME: &str = "=prelude";
/// The name of a script's text in errors.
pub(super) const NAME: &str = "user_script";

/// The running script, as errors report it.
pub(super) struct Running<'r> {
    /// The name of its text.
    pub source: &'static str,
    /// The digest of a script; the name of a function.
    pub name: &'r str,
    /// The number of its line, if it has only one.
    pub only_line: Option<usize>,
    pub only_reads: bool,
    /// It may add data beyond `maxmemory`.
    pub allows_more: bool,
}

/// An error of the interpreter itself.
fn failed(error: mlua::Error) -> Failure {
    Failure::Said(format!("ERR Lua: {error}"))
}

pub(super) fn too_long() -> mlua::Error {
    mlua::Error::runtime("the script has run for too long")
}

impl Interpreter {
    /// An interpreter without a script.
    pub fn new() -> Result<Interpreter, Failure> {
        Self::made().map_err(failed)
    }

    fn made() -> mlua::Result<Interpreter> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        // Lua's store of held values must grow now, before memory is limited: a failure to grow it would end the
        // program.
        let held: Vec<mlua::String> = (0..HELD_MAX)
            .map(|_| lua.create_string(b""))
            .collect::<mlua::Result<_>>()?;
        drop(held);
        lua.set_memory_limit(MEMORY_BYTES_MAX)?;
        let name = lua.create_string(format!("@{NAME}"))?;
        let library_name = lua.create_string(format!("@{}", libraries::NAME))?;
        let prelude_name = lua.create_string(PRELUDE_NAME)?;
        let limits = Arc::new(Limits::new(Instant::now));
        let raw = functions(&lua, &limits)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(PRELUDE_NAME);
        let prelude: Table = prelude.call(&raw)?;
        drop(prelude_name);
        lua.set_globals(prelude.get("env")?)?;
        let watched = limits.clone();
        let triggers = HookTriggers::new().every_nth_instruction(HOOK_STEPS);
        lua.set_global_hook(triggers, move |_, _| {
            let taken = watched.take(HOOK_STEPS.into());
            match taken.and_then(|()| watched.check_time()) {
                Ok(()) => Ok(VmState::Continue),
                Err(_) => Err(too_long()),
            }
        })?;
        Ok(Interpreter {
            run: prelude.get("run")?,
            is_clean: prelude.get("is_clean")?,
            load: prelude.get("load")?,
            call: prelude.get("call")?,
            lua,
            limits,
            compiled: HashMap::new(),
            libraries: HashMap::new(),
            _names: [name, library_name],
        })
    }

    /// True if it can run another script: no script has left anything, and it has at most `bytes_max` bytes.
    pub fn is_clean(&self, bytes_max: usize) -> bool {
        self.limits.begin(Spent::default());
        if self.lua.used_memory() > bytes_max / 2 {
            // Scripts cannot give it finalizers.
            drop(self.lua.gc_collect());
        }
        self.lua.used_memory() <= bytes_max && self.is_clean.call(()).unwrap_or(false)
    }

    /// Checks that the text is a script.
    ///
    /// # Errors
    /// A syntax error, with its place.
    pub fn check(&mut self, script: &Script) -> Result<(), Failure> {
        self.compiled(script).map(drop)
    }

    fn compiled(&mut self, script: &Script) -> Result<Function, Failure> {
        if let Some(compiled) = self.compiled.get(&script.digest) {
            return Ok(compiled.clone());
        }
        if self
            .limits
            .work(script.body.len().saturating_mul(4))
            .is_err()
        {
            return Err(Failure::Said(over(&self.limits, &script.digest)));
        }
        let compiled = self.chunk(&script.body, NAME).map_err(|text| {
            Failure::Said(format!("ERR Error compiling script (new function): {text}"))
        })?;
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
        }
        self.compiled
            .insert(script.digest.clone(), compiled.clone());
        Ok(compiled)
    }

    /// The function of a text, or the error in the text.
    fn chunk(&self, body: &[u8], name: &str) -> Result<Function, String> {
        let chunk = self.lua.load(body);
        let chunk = chunk.set_name(format!("@{name}")).set_mode(ChunkMode::Text);
        chunk.into_function().map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => message,
            other => other.to_string(),
        })
    }

    /// True if the library of this digest is loaded.
    pub fn has_library(&self, digest: &str) -> bool {
        self.libraries.contains_key(digest)
    }

    /// Runs the code of a library, without its first line. Returns the functions that it registers.
    ///
    /// # Errors
    /// An error of the library.
    pub fn load_library(
        &mut self,
        digest: &str,
        body: &[u8],
    ) -> Result<Vec<LibraryFunction>, Failure> {
        let is_over = |limits: &Limits| {
            Failure::Said(format!(
                "ERR FUNCTION LOAD timeout: {}",
                over(limits, digest)
            ))
        };
        if self.limits.work(body.len().saturating_mul(4)).is_err() {
            return Err(is_over(&self.limits));
        }
        let chunk = self
            .chunk(body, libraries::NAME)
            .map_err(|text| Failure::Said(format!("ERR Error compiling function: {text}")))?;
        let loaded = self.load.call::<(bool, Table)>(chunk);
        if self.limits.is_over() {
            return Err(is_over(&self.limits));
        }
        let (is_right, made) = loaded.map_err(failed)?;
        if !is_right {
            let text = made.raw_get::<mlua::String>("err").map_err(failed)?;
            let text = shown(&text);
            return Err(Failure::Said(format!(
                "ERR Error registering functions: {text}"
            )));
        }
        let functions = Self::registered(&made).map_err(failed)?;
        if self.libraries.len() >= LIBRARIES_MAX {
            self.libraries.clear();
        }
        self.libraries.insert(digest.to_string(), made);
        Ok(functions)
    }

    fn registered(made: &Table) -> mlua::Result<Vec<LibraryFunction>> {
        let mut functions = Vec::new();
        for pair in made.pairs::<mlua::String, Table>() {
            let (name, said) = pair?;
            let mut flags = 0;
            for (bit, flag) in FLAGS.iter().enumerate() {
                flags |= u64::from(said.raw_get::<bool>(*flag)?) << bit;
            }
            let description = said.raw_get::<Option<mlua::String>>("description")?;
            functions.push(LibraryFunction {
                name: name.as_bytes().to_vec(),
                flags,
                description: description.map(|text| text.as_bytes().to_vec()),
            });
        }
        Ok(functions)
    }

    /// A function of a library that is loaded.
    pub fn function(&self, digest: &str, name: &[u8]) -> Result<Function, Failure> {
        let none = Failure::Told("ERR Function not found");
        let library = self.libraries.get(digest).ok_or(none)?;
        let name = self.lua.create_string(name).map_err(failed)?;
        let said = library.raw_get::<Option<Table>>(name).map_err(failed)?;
        let said = said.ok_or(Failure::Told("ERR Function not found"))?;
        said.raw_get("callback").map_err(failed)
    }

    /// Runs a script with the keys and arguments of its command.
    ///
    /// # Errors
    /// The error by which the script ends; the engine's.
    pub fn run<S: State>(
        &mut self,
        data: &mut Data<'_, S>,
        script: &Script,
        line: &Line,
        keys: usize,
        only_reads: bool,
    ) -> Result<Reply, Failure> {
        check_memory(data, script.allows_more, only_reads)?;
        let compiled = self.compiled(script)?;
        let running = Running {
            source: NAME,
            name: &script.digest,
            only_line: only_line(&script.body),
            only_reads,
            allows_more: script.allows_more == Some(true),
        };
        self.run_prepared(data, &running, line, keys, compiled)
    }

    /// Runs a script that is compiled, or a function of a library, with the keys and arguments of its command.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    pub fn run_prepared<S: State>(
        &mut self,
        data: &mut Data<'_, S>,
        running: &Running<'_>,
        line: &Line,
        keys: usize,
        prepared: Function,
    ) -> Result<Reply, Failure> {
        let Running { source, name, .. } = running;
        let run = match *source {
            libraries::NAME => &self.call,
            _ => &self.run,
        };
        self.limits.seed(data.random.next());
        let own = data.database;
        let mut calls = Calls {
            data,
            limits: &self.limits,
            only_reads: running.only_reads,
            allows_more: running.allows_more,
            has_written: false,
            failure: None,
        };
        let ended = self.lua.scope(|scope| {
            let call = scope.create_function_mut(|lua, (arguments, count): (Table, usize)| {
                calls.call(lua, &arguments, count)
            })?;
            self.lua.set_named_registry_value(CALL, call)?;
            let texts = |from: usize, to: usize| {
                let texts = self.lua.create_table()?;
                for (place, text) in line.parts(from).take(to - from).enumerate() {
                    texts.raw_set(place + 1, self.lua.create_string(text)?)?;
                }
                Ok::<_, mlua::Error>(texts)
            };
            let (keys, arguments) = (texts(3, 3 + keys)?, texts(3 + keys, line.len())?);
            run.call::<MultiValue>((prepared, keys, arguments))
        });
        let Calls {
            data,
            has_written,
            failure,
            ..
        } = calls;
        // A script's `SELECT` does not outlast the script.
        data.select(own);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let said = match ended {
            _ if self.limits.is_over() => over(&self.limits, name),
            Ok(values) => match (values.front(), values.get(1)) {
                (Some(Value::Boolean(true)), value) => {
                    let is_new = self.limits.is_new.load(Ordering::Relaxed);
                    let value = value.unwrap_or(&Value::Nil);
                    let reply = reply_of(value, is_new, data.room, &self.limits);
                    if !self.limits.is_over() {
                        return reply;
                    }
                    over(&self.limits, name)
                }
                (_, Some(Value::Table(ended))) => {
                    let text: mlua::String = ended.raw_get("err").map_err(failed)?;
                    let text = shown(&text);
                    let line = ended.raw_get::<Option<usize>>("line").map_err(failed)?;
                    // A call that is returned has taken the place of its caller, whose line is not known then.
                    match line.or(running.only_line) {
                        Some(line) => {
                            format!("{text} script: {name}, on @{source}:{line}.")
                        }
                        None => format!("{text} script: {name}"),
                    }
                }
                (_, Some(Value::String(text))) => {
                    format!("ERR {} script: {name}", shown(text))
                }
                _ => format!("ERR the script ended script: {name}"),
            },
            Err(error) => format!("ERR Lua: {error} script: {name}"),
        };
        // The script's writes are undone with it.
        Err(match has_written {
            true => Failure::Said(said).of_function(),
            false => Failure::Said(said),
        })
    }
}

/// The error of a script that is ended by its bounds.
fn over(limits: &Limits, digest: &str) -> String {
    match limits.is_late() {
        true => format!(
            "ERR the script has taken more than {} s, and is undone script: {digest}",
            TIME_MAX.as_secs()
        ),
        false => format!(
            "ERR the script has taken more than {STEPS_MAX} steps, and is undone script: {digest}"
        ),
    }
}

/// The number of a text's line, if only one is not blank.
fn only_line(text: &[u8]) -> Option<usize> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let (before, _) = lines.next()?;
    lines.next().is_none().then_some(before + 1)
}

/// The text of an error, up to its bound.
fn shown(text: &mlua::String) -> String {
    let text = text.as_bytes();
    String::from_utf8_lossy(&text[..text.len().min(ERROR_BYTES_MAX)]).into_owned()
}

/// The commands of a script.
struct Calls<'c, 'd, S> {
    data: &'c mut Data<'d, S>,
    limits: &'c Limits,
    only_reads: bool,
    allows_more: bool,
    has_written: bool,
    /// An error of the engine.
    failure: Option<Failure>,
}

impl<S: State> Calls<'_, '_, S> {
    /// Runs a command. Returns the answer, and the text of an error answer.
    fn call(
        &mut self,
        lua: &Lua,
        arguments: &Table,
        count: usize,
    ) -> mlua::Result<(Value, Option<mlua::String>)> {
        let taken = self.limits.take(CALL_STEPS);
        if taken.and_then(|()| self.limits.check_time()).is_err() {
            return Err(too_long());
        }
        let is_new = self.limits.is_new.load(Ordering::Relaxed);
        let reply = match self.line(arguments, count)? {
            Err(Refused::Failure(failure)) => Err(failure),
            Err(Refused::Stop(stop)) => return Err(stopped(lua, stop)),
            Ok(line) => {
                let before = self.data.room.elements.get();
                let reply = self.answer(&line);
                let made = self.data.room.elements.get() - before;
                let steps = VALUE_STEPS.saturating_mul(made as i64);
                if made > 0
                    && let Err(stop) = self.limits.take(steps)
                {
                    return Err(stopped(lua, stop));
                }
                reply
            }
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) if failure.undoes() => {
                let text = failure.to_string();
                self.failure = Some(failure);
                self.limits.end();
                return Err(mlua::Error::runtime(text));
            }
            Err(failure) => Reply::Error(failure.to_string()),
        };
        let wrong = match &reply {
            Reply::Error(text) => Some(lua.create_string(text)?),
            _ => None,
        };
        Ok((value_of(lua, &reply, is_new, self.limits)?, wrong))
    }

    /// The command of a script's arguments, each of which is copied once, within bounds.
    fn line(&self, arguments: &Table, count: usize) -> mlua::Result<Result<Line, Refused>> {
        if count == 0 {
            return Ok(Err(Refused::Failure(Failure::Told(
                "ERR Please specify at least one argument for this redis lib call",
            ))));
        }
        let (mut gathered, mut bytes) = (Gathered::default(), 0_usize);
        for place in 1..=count {
            let argument = arguments.raw_get::<Value>(place)?;
            match argument {
                Value::String(text) => {
                    let text = text.as_bytes();
                    bytes = bytes.saturating_add(text.len());
                    if text.len() > PART_BYTES_MAX {
                        return Ok(Err(Refused::Stop(Stop::Memory)));
                    }
                    let room = match bytes > BYTES_MAX {
                        true => Err(Stop::Memory),
                        false => self.limits.work(text.len()),
                    };
                    if let Err(stop) = room {
                        return Ok(Err(Refused::Stop(stop)));
                    }
                    gathered.push(&text);
                }
                Value::Integer(number) => gathered.push(general(number as f64, 17).as_bytes()),
                Value::Number(number) => gathered.push(general(number, 17).as_bytes()),
                _ => {
                    return Ok(Err(Refused::Failure(Failure::Told(
                        "ERR Lua redis lib command arguments must be strings or integers",
                    ))));
                }
            }
        }
        Ok(Ok(gathered.line()))
    }

    fn answer(&mut self, line: &Line) -> Result<Reply, Failure> {
        let command = known(line)?;
        // A posted message is a part of the transaction like a write: a script that only reads posts none.
        let writes = command.is(WRITE) || command.is(MESSAGES) && command.name != "pubsub";
        if command.name == "select" {
            let number = integer(line.part(1))?;
            self.data.select(database(number)?);
            return Ok(Reply::Ok);
        }
        if command.run.is_none() {
            return of_connection(command, line, self.data.now);
        }
        if command.is(NO_SCRIPT) {
            return Err(NOT_IN_SCRIPTS);
        }
        if command.name.starts_with("xread") && waiting::may_wait(command, line) {
            let name = String::from_utf8_lossy(line.part(0));
            return Err(Failure::Said(format!(
                "ERR {name} command is not allowed with BLOCK option from scripts"
            )));
        }
        if writes && self.only_reads {
            return Err(Failure::Told(
                "ERR Write commands are not allowed from read-only scripts.",
            ));
        }
        if command.is(MORE) && !self.allows_more && self.data.shared.settings.memory_is_over() {
            return Err(NO_MEMORY);
        }
        self.show(command, line);
        self.data.only_reads = command.is(READ);
        self.data.script_has_read |= command.is(READ);
        let reply = S::run(self.data, command, line);
        let named = subcommands::named(command, line);
        (self.data.shared.statistics).count_inner(named, reply.is_err());
        let reply = reply?;
        self.data.room.check()?;
        self.has_written |= writes;
        Ok(reply)
    }
}

impl<S> Calls<'_, '_, S> {
    /// Shows a command to monitoring clients.
    fn show(&self, command: &Command, line: &Line) {
        let shared = self.data.shared;
        if shared.clients.are_watched() && !command.is(ADMIN) {
            let (at, now) = (self.data.database, self.data.now);
            let message = monitored(line.parts(0), at, "lua", now);
            if let Some(posted) = shared.posting.post([message].iter()) {
                posted.durable_alone();
            }
        }
    }
}

/// Refuses a script beyond `maxmemory` that has flags, and not the one by which it may add data.
pub(super) fn check_memory<S>(
    data: &Data<'_, S>,
    allows_more: Option<bool>,
    only_reads: bool,
) -> Result<(), Failure> {
    let is_concerned = allows_more == Some(false) && !only_reads;
    match is_concerned && data.shared.settings.memory_is_over() {
        true => Err(NO_MEMORY),
        false => Ok(()),
    }
}

/// Why no command is made of a script's arguments.
enum Refused {
    Failure(Failure),
    Stop(Stop),
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
        _ => Err(NOT_IN_SCRIPTS),
    }
}
