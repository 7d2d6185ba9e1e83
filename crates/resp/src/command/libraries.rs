//! Libraries of functions in Lua: `FUNCTION`, which loads and lists them, and the call of one of their functions.
//!
//! A library is loaded by running its code once, which registers its functions. Both are rows
//! ([`crate::data::libraries`]). So a load is a part of its transaction, durable when it is answered, and seen by
//! snapshots and followers as any data. No two functions have one name: neither of two libraries, nor of one and the
//! program or a procedure of SQL.

use super::line::Line;
use super::words::{Words, is};
use super::{
    CALLS, Command, MORE, NO_KEYS, NO_SCRIPT, READ, WRITE, on_data, payloads, subcommands,
};
use crate::data::libraries::{FLAGS, Library, LibraryFunction};
use crate::data::{Data, Live, State};
use crate::failure::Failure;
use crate::functions::{Listed, Within};
use crate::pattern::matches;
use crate::rdb;
use crate::reply::Reply;
use sardonyx::rows::SpaceSnapshot;
use std::collections::HashSet;

pub(super) const COMMANDS: &[Command] = &[on_data(
    "function",
    -2,
    WRITE | MORE | CALLS | NO_SCRIPT,
    NO_KEYS,
    function,
    "Loads and lists libraries of functions",
)];

/// The same for subcommands that only read.
static READING: Command = Command {
    flags: READ | CALLS | NO_SCRIPT,
    beside: Some(read_beside),
    ..on_data(
        "function",
        -2,
        0,
        NO_KEYS,
        read,
        "Lists libraries of functions",
    )
};

/// The command that runs these words: some subcommands of `FUNCTION` only read.
pub(super) fn of_line(command: &'static Command, line: &Line) -> &'static Command {
    const READERS: [&str; 5] = ["dump", "help", "kill", "list", "stats"];
    let reads = || READERS.iter().any(|name| is(line.part(1), name));
    match command.name == "function" && reads() {
        true => &READING,
        false => command,
    }
}

const NO_LIBRARY: Failure = Failure::Told("ERR Library not found");

fn function(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    match line.part(1) {
        word if is(word, "load") => load(data, line),
        word if is(word, "delete") => match data.delete_library(line.part(2))? {
            true => Ok(Reply::Ok),
            false => Err(NO_LIBRARY),
        },
        word if is(word, "flush") => {
            let is_mode = |word| is(word, "sync") || is(word, "async");
            if line.len() > 3 {
                return Err(too_many(line));
            }
            if line.parts(2).any(|word| !is_mode(word)) {
                return Err(Failure::Told(
                    "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
                ));
            }
            data.clear_libraries()?;
            Ok(Reply::Ok)
        }
        _ => restore(data, line),
    }
}

/// The error for too many parts of a subcommand.
fn too_many(line: &Line) -> Failure {
    let word = String::from_utf8_lossy(line.part(1)).into_owned();
    Failure::Said(format!(
        "ERR unknown subcommand or wrong number of arguments for '{word}'. Try FUNCTION HELP."
    ))
}

fn load(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (mut replaces, mut words) = (false, Words::from(line, 2));
    while words.left() > 1 {
        let word = words.wanted()?;
        match is(word, "replace") {
            true => replaces = true,
            false => {
                let word = String::from_utf8_lossy(word);
                return Err(Failure::Said(format!("ERR Unknown option given: {word}")));
            }
        }
    }
    let code = words
        .next()
        .ok_or(Failure::Told("ERR Function code is missing"))?;
    let name = add(data, code, replaces)?;
    Ok(Reply::Bulk(name))
}

/// Adds the library of this code, in the place of one of its name if it may. Returns its name.
pub(crate) fn add(
    data: &mut Live<'_, '_>,
    code: &[u8],
    replaces: bool,
) -> Result<Vec<u8>, Failure> {
    let (library, functions) = registered(data, code)?;
    let name = String::from_utf8_lossy(&library.name).into_owned();
    let is_there = data.library(&library.name)?.is_some();
    if is_there && !replaces {
        return Err(Failure::Said(format!("ERR Library {name} already exists")));
    }
    let mut names = HashSet::new();
    for function in &functions {
        let named = String::from_utf8_lossy(&function.name).into_owned();
        // A call finds its function in whatever case.
        let is_second = !names.insert(function.name.to_ascii_lowercase());
        let other = data.library_function(&function.name)?;
        if is_second || other.is_some_and(|(_, of)| of != library.name) {
            return Err(Failure::Said(format!(
                "ERR Function {named} already exists"
            )));
        }
        let others = data.caller.and_then(|caller| caller.functions.as_ref());
        let is_procedure = match others {
            Some(others) => others.has(&function.name, &Within::Transaction(data.state))?,
            None => false,
        };
        if is_procedure || data.shared.function(&function.name).is_some() {
            return Err(Failure::Said(format!(
                "ERR Function {named} already exists, as a procedure of SQL or of the program"
            )));
        }
    }
    // Functions of its name are deleted also if their library has no row, which a program may have deleted.
    data.delete_library(&library.name)?;
    data.put_library(&library, &functions)
        .map_err(Failure::of_function)?;
    Ok(library.name)
}

/// The library of a code, with the functions that it registers.
#[cfg(feature = "lua")]
fn registered(
    data: &mut Live<'_, '_>,
    code: &[u8],
) -> Result<(Library, Vec<LibraryFunction>), Failure> {
    data.shared.scripts.register(data, code)
}

#[cfg(not(feature = "lua"))]
fn registered(_: &mut Live<'_, '_>, _: &[u8]) -> Result<(Library, Vec<LibraryFunction>), Failure> {
    Err(super::scripts::LEFT_OUT)
}

/// Calls a function of a library; `None` if there is none of this name.
pub(super) fn call<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    only_reading: bool,
) -> Result<Option<Reply>, Failure> {
    if !data.has_library_functions()? {
        return Ok(None);
    }
    let Some((function, library)) = data.library_function(line.part(1))? else {
        return Ok(None);
    };
    let (_, keys) = super::functions::given(line)?;
    let only_reads = function.flags & crate::data::libraries::NO_WRITES != 0;
    if only_reading && !only_reads {
        return Err(Failure::Writes);
    }
    let named = (&library[..], &function.name[..]);
    run(data, line, keys, named, function.flags).map(Some)
}

#[cfg(feature = "lua")]
fn run<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    keys: usize,
    named: (&[u8], &[u8]),
    flags: u64,
) -> Result<Reply, Failure> {
    data.shared.scripts.call(data, named, line, keys, flags)
}

#[cfg(not(feature = "lua"))]
fn run<S: State>(
    _: &mut Data<'_, S>,
    _: &Line,
    _: usize,
    _: (&[u8], &[u8]),
    _: u64,
) -> Result<Reply, Failure> {
    Err(super::scripts::LEFT_OUT)
}

fn restore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let wrong = Failure::Told(
        "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
    );
    let replaces = match line.part(3) {
        _ if line.len() > 4 => return Err(too_many(line)),
        [] if line.len() == 3 => false,
        word if is(word, "append") || is(word, "flush") => false,
        word if is(word, "replace") => true,
        _ => return Err(wrong),
    };
    let codes = rdb::decode_libraries(line.part(2)).map_err(|error| match error {
        rdb::RdbError::Footer { .. } => payloads::refused(&error),
        rdb::RdbError::Kind(_) => Failure::Told("ERR given type is not a function"),
        _ => Failure::Told("ERR failed loading functions payload"),
    })?;
    if is(line.part(3), "flush") {
        data.clear_libraries()?;
    }
    for code in codes {
        // A failure undoes the libraries added before.
        add(data, &code, replaces).map_err(Failure::of_function)?;
    }
    Ok(Reply::Ok)
}

fn read(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let others = data.caller.and_then(|caller| caller.functions.as_ref());
    let listed = match others.filter(|_| is(line.part(1), "list")) {
        Some(others) => others.list(&Within::Transaction(data.state))?,
        None => Vec::new(),
    };
    answer(data, line, listed)
}

fn read_beside(data: &mut Data<'_, &SpaceSnapshot>, line: &Line) -> Result<Reply, Failure> {
    let others = data.caller.and_then(|caller| caller.functions.as_ref());
    let listed = match (others.filter(|_| is(line.part(1), "list")), data.beside) {
        (Some(others), Some(committed)) => others.list(&Within::Committed(committed))?,
        _ => Vec::new(),
    };
    answer(data, line, listed)
}

fn answer<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    procedures: Vec<Listed>,
) -> Result<Reply, Failure> {
    match line.part(1) {
        word if is(word, "help") => Ok(subcommands::help("function")),
        // None is seen running by another command.
        word if is(word, "kill") => {
            Err(Failure::Told("NOTBUSY No scripts in execution right now."))
        }
        word if is(word, "stats") => {
            let [libraries, functions] = data.count_libraries()?;
            let counts = vec![
                (Reply::Text("libraries_count"), Reply::count(libraries)),
                (Reply::Text("functions_count"), Reply::count(functions)),
            ];
            let engines = vec![(Reply::Text("LUA"), Reply::Map(counts))];
            Ok(Reply::Map(vec![
                (Reply::Text("running_script"), Reply::Null),
                (Reply::Text("engines"), Reply::Map(engines)),
            ]))
        }
        word if is(word, "dump") => {
            let libraries = data.libraries()?;
            let codes = libraries.iter().map(|library| &library.code[..]);
            Ok(Reply::Bulk(rdb::encode_libraries(codes)))
        }
        _ => list(data, line, procedures),
    }
}

/// Libraries, then functions of the program and procedures, each of which is a library by itself.
fn list<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    procedures: Vec<Listed>,
) -> Result<Reply, Failure> {
    let (mut pattern, mut with_code) = (None, false);
    let mut words = Words::from(line, 2);
    while let Some(word) = words.next() {
        if is(word, "libraryname") && pattern.is_none() {
            let none = Failure::Told("ERR library name argument was not given");
            pattern = Some(words.next().ok_or(none)?);
        } else if is(word, "withcode") && !with_code {
            with_code = true;
        } else {
            let word = String::from_utf8_lossy(word);
            return Err(Failure::Said(format!("ERR Unknown argument {word}")));
        }
    }
    let wanted = |name: &[u8]| pattern.is_none_or(|pattern| matches(pattern, name));
    let mut listed = Vec::new();
    // Functions of the program, and procedures that no function of another kind hides.
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    for library in data.libraries()? {
        if wanted(&library.name) {
            let functions = data.functions_of(&library.name)?;
            seen.extend(functions.iter().map(|function| function.name.clone()));
            let code = with_code.then_some(Reply::Bulk(library.code));
            listed.push(library_reply(library.name, "LUA", &functions, code));
        }
    }
    let registered = data.shared.function_names().into_iter();
    let registered = registered.map(|name| (name, "sardonyx"));
    let procedures = procedures.into_iter();
    let procedures = procedures.map(|listed| (listed.name.into_bytes(), listed.engine));
    for (name, engine) in registered.chain(procedures) {
        if !wanted(&name) || !seen.insert(name.clone()) {
            continue;
        }
        let function = LibraryFunction {
            name: name.clone(),
            flags: 0,
            description: None,
        };
        let code = with_code.then_some(Reply::Null);
        listed.push(library_reply(name, engine, &[function], code));
    }
    Ok(Reply::Array(listed))
}

fn library_reply(
    name: Vec<u8>,
    engine: &'static str,
    functions: &[LibraryFunction],
    code: Option<Reply>,
) -> Reply {
    let described = |function: &LibraryFunction| {
        let flags = FLAGS.iter().enumerate();
        let flags = flags.filter(|(bit, _)| function.flags >> bit & 1 == 1);
        let flags = flags.map(|(_, flag)| Reply::Text(flag)).collect();
        Reply::Map(vec![
            (Reply::Text("name"), Reply::Bulk(function.name.clone())),
            (
                Reply::Text("description"),
                Reply::optional(function.description.clone()),
            ),
            (Reply::Text("flags"), Reply::Set(flags)),
        ])
    };
    let functions = functions.iter().map(described).collect();
    let mut facts = vec![
        (Reply::Text("library_name"), Reply::Bulk(name)),
        (Reply::Text("engine"), Reply::Text(engine)),
        (Reply::Text("functions"), Reply::Array(functions)),
    ];
    facts.extend(code.map(|code| (Reply::Text("library_code"), code)));
    Reply::Map(facts)
}
