//! Values that leave and come as payloads: `DUMP` and `RESTORE`, in Redis' own format ([`crate::rdb`]).

use super::line::Line;
use super::words::{Words, is};
use super::{Command, MORE, NO_KEYS, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Live, State, check_key};
use crate::event_classes::GENERIC;
use crate::failure::Failure;
use crate::number::integer;
use crate::rdb::{self, RdbError};
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "dump",
        2,
        0,
        ONE_KEY,
        dump,
        "Returns what a key has, as RESTORE takes it"
    ),
    restoring("restore"),
    restoring("restore-asking"),
    on_data(
        "migrate",
        -6,
        WRITE,
        NO_KEYS,
        migrate,
        "Refused: use DUMP and RESTORE",
    ),
];

const fn restoring(name: &'static str) -> Command {
    on_data(
        name,
        -4,
        WRITE | MORE,
        ONE_KEY,
        restore,
        "Gives a key what DUMP returned",
    )
}

/// An element counts for so many bytes besides its own, of what is gathered for an answer.
const ELEMENT_BYTES: usize = 64;

/// The text of a payload that is not one.
pub(super) fn refused(error: &RdbError) -> Failure {
    Failure::Told(match error {
        RdbError::Footer { .. } => "ERR DUMP payload version or checksum are wrong",
        RdbError::TooLarge => "ERR the value of the payload has too many elements or bytes",
        _ => "ERR Bad data format",
    })
}

fn dump<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let key = line.part(1);
    let Some(entry) = data.entry(key)? else {
        return Ok(Reply::Null);
    };
    let value = data.whole_value(key, &entry)?;
    Ok(Reply::Bulk(rdb::encode(&value)))
}

fn restore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (mut replaces, mut is_absolute) = (false, false);
    let mut words = Words::from(line, 4);
    while let Some(word) = words.next() {
        match word {
            word if is(word, "replace") => replaces = true,
            word if is(word, "absttl") => is_absolute = true,
            // Nothing is evicted: times of use are not kept, as in a Redis without a bound of its memory.
            word if is(word, "idletime") && words.left() > 0 => {
                if words.integer()? < 0 {
                    return Err(Failure::Told("ERR Invalid IDLETIME value, must be >= 0"));
                }
            }
            word if is(word, "freq") && words.left() > 0 => {
                if !(0..=255).contains(&words.integer()?) {
                    return Err(Failure::Told(
                        "ERR Invalid FREQ value, must be >= 0 and <= 255",
                    ));
                }
            }
            _ => return Err(Failure::Syntax),
        }
    }
    let key = line.part(1);
    check_key(key)?;
    let there = data.entry_to_change(key)?;
    if there.is_some() && !replaces {
        return Err(Failure::Told("BUSYKEY Target key name already exists."));
    }
    let invalid = Failure::Told("ERR Invalid TTL value, must be >= 0");
    let time = integer(line.part(2))?;
    let expires = match (time, is_absolute) {
        (..0, _) => return Err(invalid),
        (0, _) => None,
        (at, true) => Some(at),
        (time, false) => Some(data.now.saturating_add(time)),
    };
    // Times of tables count microseconds.
    let expires = expires.map(|at| at.min(i64::MAX / 1000));
    let (value, taken) = rdb::measured(line.part(3)).map_err(|error| refused(&error))?;
    // The memory that payloads take is bounded for an `EXEC` or a script as a whole: a short payload may take much.
    let elements = taken.elements;
    data.room
        .take(taken.bytes.saturating_add(elements * ELEMENT_BYTES));
    data.room.check()?;
    data.room.elements.set(data.room.elements.get() + elements);
    if let Some(there) = &there {
        data.remove(key, there)?;
    }
    if expires.is_some_and(|at| at <= data.now) {
        // It goes at once.
        if there.is_some() {
            data.event(GENERIC, "del", key)?;
        }
        return Ok(Reply::Ok);
    }
    // If a part of the value is refused, the removed value comes back.
    data.put_whole_value(key, &value, expires)
        .map_err(Failure::of_function)?;
    data.event(GENERIC, "restore", key)?;
    Ok(Reply::Ok)
}

fn migrate(_: &mut Live<'_, '_>, _: &Line) -> Result<Reply, Failure> {
    Err(Failure::Told(
        "ERR MIGRATE is not supported: DUMP a key here and RESTORE it there",
    ))
}
