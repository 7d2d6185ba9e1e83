//! Databases, and keys that go from one to another.

use super::line::Line;
use super::words::{Words, is};
use super::{Command, FAST, MORE, NO_KEYS, ONE_KEY, TWO_KEYS, WRITE, on_data, reads};
use crate::data::databases::database;
use crate::data::{Data, Entry, Kind, Live, State, check_key};
use crate::event_classes::GENERIC;
use crate::failure::Failure;
use crate::number::{integer, parse_integer};
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "copy",
        -3,
        WRITE | MORE,
        TWO_KEYS,
        copy,
        "Copies what a key has",
    ),
    on_data(
        "move",
        3,
        WRITE | FAST,
        ONE_KEY,
        move_key,
        "Moves a key to another database",
    ),
    on_data(
        "swapdb",
        3,
        WRITE | FAST,
        NO_KEYS,
        swapdb,
        "Exchanges the keys of two databases",
    ),
    reads!(
        "dbsize",
        1,
        FAST,
        NO_KEYS,
        dbsize,
        "Counts the keys of the database"
    ),
    on_data(
        "flushdb",
        -1,
        WRITE,
        NO_KEYS,
        flushdb,
        "Deletes all keys of the database",
    ),
    on_data(
        "flushall",
        -1,
        WRITE,
        NO_KEYS,
        flushall,
        "Deletes all keys of all databases",
    ),
];

const SAME: Failure = Failure::Told("ERR source and destination objects are the same");

fn copy(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (mut replace, mut to_database) = (false, data.database);
    let mut words = Words::from(line, 3);
    while let Some(word) = words.next() {
        if is(word, "replace") {
            replace = true;
        } else if is(word, "db") {
            to_database = database(words.integer()?)?;
        } else {
            return Err(Failure::Syntax);
        }
    }
    let (key, to) = (line.part(1), line.part(2));
    if key == to && to_database == data.database {
        return Err(SAME);
    }
    check_key(to)?;
    let Some(entry) = data.entry_to_change(key)? else {
        return Ok(Reply::Int(0));
    };
    if entry.kind == Kind::Unknown {
        return Err(Failure::WrongType);
    }
    let value = match entry.kind {
        Kind::String => data.string(key)?.unwrap_or_default(),
        _ => data.value(key)?,
    };
    let copied = data.within(to_database, |data| {
        if let Some(taken) = data.entry_to_change(to)? {
            if !replace {
                return Ok(None);
            }
            data.remove(to, &taken)?;
        }
        let new = data.create(to, entry.kind)?;
        let new = Entry {
            id: new.id,
            ..entry
        };
        data.insert_key(to, &new, &value)?;
        Ok(Some(new.id))
    })?;
    let Some(id) = copied else {
        return Ok(Reply::Int(0));
    };
    data.copy_elements(&entry, id)?;
    data.within(to_database, |data| data.event(GENERIC, "copy_to", to))?;
    Ok(Reply::Int(1))
}

fn move_key(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let key = line.part(1);
    let to = database(integer(line.part(2))?)?;
    if to == data.database {
        return Err(SAME);
    }
    let Some(entry) = data.entry_to_change(key)? else {
        return Ok(Reply::Int(0));
    };
    if data.within(to, |data| data.entry_to_change(key))?.is_some() {
        return Ok(Reply::Int(0));
    }
    data.rename(key, &entry, key, to)?;
    data.event(GENERIC, "move_from", key)?;
    data.within(to, |data| data.event(GENERIC, "move_to", key))?;
    Ok(Reply::Int(1))
}

fn swapdb(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let number = |place, wrong| parse_integer(line.part(place)).ok_or(Failure::Told(wrong));
    let one = number(1, "ERR invalid first DB index")?;
    let other = number(2, "ERR invalid second DB index")?;
    data.exchange(database(one)?, database(other)?)?;
    Ok(Reply::Ok)
}

fn dbsize<S: State>(data: &mut Data<'_, S>, _: &Line) -> Result<Reply, Failure> {
    Ok(Reply::count(data.count()?))
}

/// The words behind a command that deletes all.
fn check_flush(line: &Line) -> Result<(), Failure> {
    let known = |word: &[u8]| is(word, "sync") || is(word, "async");
    match line.len() > 2 || !line.parts(1).all(known) {
        true => Err(Failure::Syntax),
        false => Ok(()),
    }
}

fn flushdb(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_flush(line)?;
    data.clear()?;
    Ok(Reply::Ok)
}

fn flushall(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_flush(line)?;
    data.clear_all()?;
    Ok(Reply::Ok)
}
