//! Functions called by name: `FCALL`. Those that the program registered go before those that its session was given.

use super::line::Line;
use super::{CALLS, Command, NO_KEYS, READ, WRITE, on_data};
use crate::data::{Data, Room};
use crate::failure::Failure;
use crate::functions::FunctionCall;
use crate::number::integer;
use crate::reply::Reply;
use smallvec::SmallVec;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "fcall",
        -3,
        WRITE | CALLS,
        NO_KEYS,
        fcall,
        "Calls a function",
    ),
    on_data(
        "fcall_ro",
        -3,
        READ | CALLS,
        NO_KEYS,
        fcall_ro,
        "Calls a function that only reads",
    ),
];

const NOT_FOUND: Failure = Failure::Told("ERR Function not found");

fn fcall(data: &mut Data<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, false)
}

fn fcall_ro(data: &mut Data<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, true)
}

fn call(data: &mut Data<'_, '_>, line: &Line, only_reading: bool) -> Result<Reply, Failure> {
    let name = line.part(1);
    let function = data.shared.function(name);
    let others = data.caller.and_then(|caller| caller.functions.as_ref());
    if function.is_none() && others.is_none() {
        return Err(NOT_FOUND);
    }
    let keys =
        integer(line.part(2)).map_err(|_| Failure::Told("ERR Bad number of keys provided"))?;
    let keys =
        usize::try_from(keys).map_err(|_| Failure::Told("ERR Number of keys can't be negative"))?;
    if keys > line.len() - 3 {
        return Err(Failure::Told(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    let given: SmallVec<[&[u8]; 8]> = line.parts(3).collect();
    if let Some(function) = function {
        if only_reading && !function.only_reads {
            return Err(Failure::Writes);
        }
        let (keys, arguments) = given.split_at(keys);
        // Whatever it says, it may have written before.
        return (function.body)(data.tx, keys, arguments).map_err(Failure::of_function);
    }
    let seed = [data.random.next(), data.random.next()];
    let call = FunctionCall {
        name,
        given: &given,
        keys,
        user: data.caller.map_or("", |caller| caller.user.as_str()),
        only_reads: only_reading,
        now: data.now,
        seed,
    };
    let called = match others {
        Some(others) => others.call(&call, data.tx)?,
        None => None,
    };
    let called = called.ok_or(NOT_FOUND)?;
    take_room(data.room, &called.reply);
    data.committed.extend(called.committed);
    Ok(called.reply)
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
