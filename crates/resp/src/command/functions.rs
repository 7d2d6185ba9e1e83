//! Functions called by name: `FCALL`. Those that the program registered go first, then those of libraries in Lua, then those
//! that the session was given.

use super::line::Line;
use super::{CALLS, Command, NO_KEYS, NO_SCRIPT, READ, WRITE, libraries, on_data};
use crate::data::{Data, Live, Room};
use crate::failure::{Failure, NO_MEMORY};
use crate::functions::{FunctionCall, Functions, Within};
use crate::number::integer;
use crate::reply::Reply;
use sardonyx::rows::SpaceSnapshot;
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "fcall",
        -3,
        WRITE | CALLS | NO_SCRIPT,
        NO_KEYS,
        fcall,
        "Calls a function",
    ),
    Command {
        beside: Some(read),
        ..on_data(
            "fcall_ro",
            -3,
            READ | CALLS | NO_SCRIPT,
            NO_KEYS,
            fcall_ro,
            "Calls a function that only reads",
        )
    },
];

/// Keys, then arguments.
pub(super) type Given<'l> = SmallVec<[&'l [u8]; 8]>;

const NOT_FOUND: Failure = Failure::Told("ERR Function not found");

fn fcall(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, false)
}

fn fcall_ro(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, true)
}

fn call(data: &mut Live<'_, '_>, line: &Line, only_reading: bool) -> Result<Reply, Failure> {
    let function = data.shared.function(line.part(1));
    if function.is_none()
        && let Some(reply) = libraries::call(data, line, only_reading)?
    {
        return Ok(reply);
    }
    let others = data.caller.and_then(|caller| caller.functions.as_ref());
    if function.is_none() && others.is_none() {
        return Err(NOT_FOUND);
    }
    let given = given(line);
    if let (None, Err(_), Some(others)) = (&function, &given, others) {
        check_there(others, line, &Within::Transaction(data.state))?;
    }
    let (given, keys) = given?;
    // Beyond `maxmemory` no function may add data: only one that reads is called.
    let is_over = !only_reading && data.shared.settings.memory_is_over();
    let refused = |failure| match failure {
        Failure::Writes if is_over => NO_MEMORY,
        failure => failure,
    };
    let only_reading = only_reading || is_over;
    if let Some(function) = function {
        if only_reading && !function.only_reads {
            return Err(refused(Failure::Writes));
        }
        let (keys, arguments) = given.split_at(keys);
        // With any error, it may have written before.
        return (function.body)(data.state, keys, arguments).map_err(Failure::of_function);
    }
    let call = call_of(data, line, &given, keys, only_reading);
    let called = match others {
        Some(others) => others.call(&call, data.state).map_err(refused)?,
        None => None,
    };
    let called = called.ok_or(NOT_FOUND)?;
    take_room(data.room, &called.reply);
    if called.committed.is_some() {
        data.effects.listed().committed.extend(called.committed);
    }
    Ok(called.reply)
}

/// `FCALL_RO` of a function that the session was given.
fn read(data: &mut Data<'_, &SpaceSnapshot>, line: &Line) -> Result<Reply, Failure> {
    if let Some(reply) = libraries::call(data, line, true)? {
        return Ok(reply);
    }
    let others = data.caller.and_then(|caller| caller.functions.as_ref());
    let (Some(others), Some(committed)) = (others, data.beside) else {
        return Err(NOT_FOUND);
    };
    let given = given(line);
    if given.is_err() {
        check_there(others, line, &Within::Committed(committed))?;
    }
    let (given, keys) = given?;
    let call = call_of(data, line, &given, keys, true);
    let reply = others.read(&call, committed)?.ok_or(NOT_FOUND)?;
    take_room(data.room, &reply);
    Ok(reply)
}

/// Redis looks for the function before it reads the number of keys.
fn check_there(
    others: &Arc<dyn Functions>,
    line: &Line,
    within: &Within<'_, '_>,
) -> Result<(), Failure> {
    match others.has(line.part(1), within)? {
        true => Ok(()),
        false => Err(NOT_FOUND),
    }
}

/// The keys and arguments of a call, and how many are keys.
pub(super) fn given(line: &Line) -> Result<(Given<'_>, usize), Failure> {
    let keys =
        integer(line.part(2)).map_err(|_| Failure::Told("ERR Bad number of keys provided"))?;
    let keys =
        usize::try_from(keys).map_err(|_| Failure::Told("ERR Number of keys can't be negative"))?;
    match keys > line.len() - 3 {
        true => Err(Failure::Told(
            "ERR Number of keys can't be greater than number of args",
        )),
        false => Ok((line.parts(3).collect(), keys)),
    }
}

fn call_of<'c, 't: 'c, S>(
    data: &mut Data<'t, S>,
    line: &'c Line,
    given: &'c [&'c [u8]],
    keys: usize,
    only_reads: bool,
) -> FunctionCall<'c> {
    let seed = [data.random.next(), data.random.next()];
    FunctionCall {
        name: line.part(1),
        given,
        keys,
        user: data.caller.map_or("", |caller| caller.user.as_str()),
        only_reads,
        now: data.now,
        seed,
    }
}

/// Takes room for an answer that was gathered elsewhere.
fn take_room(room: &Room, reply: &Reply) {
    let bytes = match reply {
        Reply::Array(items) => {
            items.iter().for_each(|item| take_room(room, item));
            0
        }
        Reply::Bulk(bytes) => bytes.len(),
        _ => 0,
    };
    room.take(bytes);
}
