//! Functions that the program registered, called by name: `FCALL`.

use super::line::Line;
use super::{Command, NO_KEYS, READ, WRITE, on_data};
use crate::data::Data;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;
use smallvec::SmallVec;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "fcall",
        -3,
        WRITE,
        NO_KEYS,
        fcall,
        "Calls a registered function",
    ),
    on_data(
        "fcall_ro",
        -3,
        READ,
        NO_KEYS,
        fcall_ro,
        "Calls a registered function that only reads",
    ),
];

fn fcall(data: &mut Data<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, false)
}

fn fcall_ro(data: &mut Data<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    call(data, line, true)
}

fn call(data: &mut Data<'_, '_>, line: &Line, only_reading: bool) -> Result<Reply, Failure> {
    let function = data.shared.function(line.part(1));
    let function = function.ok_or(Failure::Told("ERR Function not found"))?;
    let keys =
        integer(line.part(2)).map_err(|_| Failure::Told("ERR Bad number of keys provided"))?;
    let keys =
        usize::try_from(keys).map_err(|_| Failure::Told("ERR Number of keys can't be negative"))?;
    if keys > line.len() - 3 {
        return Err(Failure::Told(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    if only_reading && !function.only_reads {
        return Err(Failure::Told(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    let parts: SmallVec<[&[u8]; 8]> = line.parts(3).collect();
    let (keys, arguments) = parts.split_at(keys);
    // Whatever it says, it may have written before.
    (function.body)(data.tx, keys, arguments).map_err(Failure::of_function)
}
