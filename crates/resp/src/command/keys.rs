//! Keys of any kind: their existence, expiry and names.

use super::line::Line;
use super::words::{is, point_in_time};
use super::{ALL_KEYS, Command, FAST, NO_KEYS, ONE_KEY, SHORT, TWO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Entry, Live, State};
use crate::event_classes::GENERIC;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data("del", -2, WRITE | SHORT, ALL_KEYS, del, "Deletes keys"),
    on_data("unlink", -2, WRITE | FAST, ALL_KEYS, del, "Deletes keys"),
    reads!(
        "exists",
        -2,
        FAST,
        ALL_KEYS,
        exists,
        "Counts the keys that are there"
    ),
    reads!(
        "touch",
        -2,
        FAST,
        ALL_KEYS,
        exists,
        "Counts the keys that are there"
    ),
    reads!("type", 2, FAST, ONE_KEY, kind, "Says what a key has"),
    on_data(
        "expire",
        -3,
        WRITE | FAST,
        ONE_KEY,
        expire,
        "Lets a key go after so many seconds",
    ),
    on_data(
        "pexpire",
        -3,
        WRITE | FAST,
        ONE_KEY,
        pexpire,
        "Lets a key go after so many milliseconds",
    ),
    on_data(
        "expireat",
        -3,
        WRITE | FAST,
        ONE_KEY,
        expireat,
        "Lets a key go at a time in seconds",
    ),
    on_data(
        "pexpireat",
        -3,
        WRITE | FAST,
        ONE_KEY,
        pexpireat,
        "Lets a key go at a time in milliseconds",
    ),
    reads!(
        "ttl",
        2,
        FAST,
        ONE_KEY,
        ttl,
        "Returns the seconds that a key has left"
    ),
    reads!(
        "pttl",
        2,
        FAST,
        ONE_KEY,
        pttl,
        "Returns the milliseconds that a key has left"
    ),
    reads!(
        "expiretime",
        2,
        FAST,
        ONE_KEY,
        expiretime,
        "Returns until when a key is there, in seconds"
    ),
    reads!(
        "pexpiretime",
        2,
        FAST,
        ONE_KEY,
        pexpiretime,
        "Returns until when a key is there, in milliseconds"
    ),
    on_data(
        "persist",
        2,
        WRITE | FAST,
        ONE_KEY,
        persist,
        "Lets a key stay",
    ),
    on_data(
        "rename",
        3,
        WRITE,
        TWO_KEYS,
        rename,
        "Gives a key another name",
    ),
    on_data(
        "renamenx",
        3,
        WRITE | FAST,
        TWO_KEYS,
        renamenx,
        "Gives a key another name that is free",
    ),
    reads!("randomkey", 1, 0, NO_KEYS, randomkey, "Returns some key"),
];

fn del(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let mut deleted = 0;
    line.parts(1).try_for_each(crate::data::check_key)?;
    for key in line.parts(1) {
        if let Some(entry) = data.entry_to_change(key)? {
            data.remove(key, &entry)?;
            data.event(GENERIC, "del", key)?;
            deleted += 1;
        }
    }
    Ok(Reply::Int(deleted))
}

fn exists<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut there = 0;
    for key in line.parts(1) {
        there += i64::from(data.entry(key)?.is_some());
    }
    Ok(Reply::Int(there))
}

fn kind<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let entry = data.entry(line.part(1))?;
    Ok(Reply::Simple(
        entry.map_or("none", |entry| entry.kind.name()),
    ))
}

fn expire_at(
    data: &mut Live<'_, '_>,
    line: &Line,
    seconds: bool,
    absolute: bool,
    name: &str,
) -> Result<Reply, Failure> {
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for word in line.parts(3) {
        match word {
            word if is(word, "nx") => nx = true,
            word if is(word, "xx") => xx = true,
            word if is(word, "gt") => gt = true,
            word if is(word, "lt") => lt = true,
            other => {
                let other = String::from_utf8_lossy(other);
                return Err(Failure::Said(format!("ERR Unsupported option {other}")));
            }
        }
    }
    if nx && (xx || gt || lt) {
        return Err(Failure::Told(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if gt && lt {
        return Err(Failure::Told(
            "ERR GT and LT options at the same time are not compatible",
        ));
    }
    let at = point_in_time(integer(line.part(2))?, seconds, absolute, data.now, name)?;
    let Some(entry) = data.entry_to_change(line.part(1))? else {
        return Ok(Reply::Int(0));
    };
    // A key that stays expires later than any time.
    let refused = match entry.expires {
        None => xx || gt,
        Some(now) => nx || (gt && at <= now) || (lt && at >= now),
    };
    if refused {
        return Ok(Reply::Int(0));
    }
    let event = match at <= data.now {
        true => {
            data.remove(line.part(1), &entry)?;
            "del"
        }
        false => {
            data.set_expiry(line.part(1), &entry, Some(at))?;
            "expire"
        }
    };
    data.event(GENERIC, event, line.part(1))?;
    Ok(Reply::Int(1))
}

fn expire(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    expire_at(data, line, true, false, "expire")
}

fn pexpire(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    expire_at(data, line, false, false, "pexpire")
}

fn expireat(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    expire_at(data, line, true, true, "expireat")
}

fn pexpireat(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    expire_at(data, line, false, true, "pexpireat")
}

/// A key's time: -2 if it is not there, -1 if it stays.
fn time<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    say: impl FnOnce(i64, i64) -> i64,
) -> Result<Reply, Failure> {
    let now = data.now;
    Ok(Reply::Int(match data.entry(line.part(1))? {
        None => -2,
        Some(Entry { expires: None, .. }) => -1,
        Some(Entry {
            expires: Some(at), ..
        }) => say(at, now),
    }))
}

fn ttl<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    time(data, line, |at, now| (at - now + 500) / 1000)
}

fn pttl<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    time(data, line, |at, now| at - now)
}

fn expiretime<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    time(data, line, |at, _| (at + 500) / 1000)
}

fn pexpiretime<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    time(data, line, |at, _| at)
}

fn persist(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    match data.entry_to_change(line.part(1))? {
        Some(entry) if entry.expires.is_some() => {
            data.set_expiry(line.part(1), &entry, None)?;
            data.event(GENERIC, "persist", line.part(1))?;
            Ok(Reply::Int(1))
        }
        _ => Ok(Reply::Int(0)),
    }
}

/// Renames; false if the new name is taken and may not be.
fn rename_to(data: &mut Live<'_, '_>, line: &Line, only_free: bool) -> Result<bool, Failure> {
    let (key, to) = (line.part(1), line.part(2));
    crate::data::check_key(to)?;
    let entry = data
        .entry_to_change(key)?
        .ok_or(Failure::Told("ERR no such key"))?;
    let taken = data.entry_to_change(to)?;
    if only_free && taken.is_some() {
        return Ok(false);
    }
    if key != to {
        if let Some(taken) = taken {
            data.remove(to, &taken)?;
        }
        data.rename(key, &entry, to, data.database)?;
        data.event(GENERIC, "rename_from", key)?;
        data.event(GENERIC, "rename_to", to)?;
    }
    Ok(true)
}

fn rename(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    rename_to(data, line, false)?;
    Ok(Reply::Ok)
}

fn renamenx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    Ok(Reply::flag(rename_to(data, line, true)?))
}

fn randomkey<S: State>(data: &mut Data<'_, S>, _: &Line) -> Result<Reply, Failure> {
    Ok(Reply::optional(data.random_key()?))
}
