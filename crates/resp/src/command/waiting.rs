//! Commands whose clients wait if they find nothing: which those are, for how long they wait and for which keys, as their lines
//! say it.

use super::line::Line;
use super::{BLOCKING, Command, streams};
use crate::failure::Failure;
use crate::number::{float, integer};

/// False only if no command that waits has this name: all of those begin with `b` or `x`.
#[inline]
pub(crate) fn is_of_blocking(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'b' | b'B' | b'x' | b'X'))
}

/// True if a command's client waits when the command finds nothing.
pub(crate) fn may_wait(command: &Command, line: &Line) -> bool {
    command.is(BLOCKING)
        && match command.name {
            "xread" | "xreadgroup" => streams::waits(line),
            _ => true,
        }
}

/// For how long a command waits, in milliseconds; `None` for ever.
pub(crate) fn time_limit(command: &Command, line: &Line) -> Result<Option<u64>, Failure> {
    if matches!(command.name, "xread" | "xreadgroup") {
        return streams::time_limit(line);
    }
    time_limit_of(
        line,
        match command.name {
            "blmpop" | "bzmpop" => 1,
            _ => line.len() - 1,
        },
    )
}

pub(super) fn time_limit_of(line: &Line, place: usize) -> Result<Option<u64>, Failure> {
    let wrong = Failure::Told("ERR timeout is not a float or out of range");
    let seconds = float(line.part(place)).map_err(|_| wrong)?;
    let millis = (seconds * 1000.0).ceil();
    match millis {
        0.0 => Ok(None),
        // Negative, or too large; both have this text.
        millis if !(0.0..i64::MAX as f64).contains(&millis) => {
            Err(Failure::Told("ERR timeout is negative"))
        }
        millis => Ok(Some(millis as u64)),
    }
}

/// The keys for which a command waits.
pub(crate) fn waited_keys(command: &Command, line: &Line) -> Vec<Vec<u8>> {
    let (from, count) = match command.name {
        "xread" | "xreadgroup" => return streams::keys(line).unwrap_or_default(),
        "blmove" | "brpoplpush" => (1, 1),
        "blmpop" | "bzmpop" => (3, counted(line, 2).unwrap_or(0)),
        _ => (1, line.len() - 2),
    };
    let keys = line.parts(from).take(count);
    keys.map(<[u8]>::to_vec).collect()
}

/// Parses a number of keys; the keys follow it.
pub(super) fn counted(line: &Line, place: usize) -> Result<usize, Failure> {
    let count = integer(line.part(place)).ok();
    let count = count.and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| *count > 0);
    let count = count.ok_or(Failure::Told("ERR numkeys should be greater than 0"))?;
    match count >= line.len() - place - 1 {
        true => Err(Failure::Syntax),
        false => Ok(count),
    }
}
