//! Hashes: fields with values.

use super::counters::{float_sum, number_text};
use super::line::Line;
use super::pairs::random_elements;
use super::words::{Words, check_random_pairs, random_count};
use super::{Command, ELEMENT, FAST, MORE, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Entry, Kind, Live, Pair, State, Text, check_key};
use crate::event_classes::HASH;
use crate::failure::Failure;
use crate::number::{
    FLOAT_BYTES_MAX, INTEGER_BYTES_MAX, float, integer, integer_text, parse_integer,
};
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "hset",
        -4,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        hset,
        "Sets fields of a hash",
    ),
    on_data(
        "hmset",
        -4,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        hmset,
        "Sets fields of a hash",
    ),
    on_data(
        "hsetnx",
        4,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        hsetnx,
        "Sets a field of a hash if it is not there",
    ),
    reads!(
        "hget",
        3,
        FAST | ELEMENT,
        ONE_KEY,
        hget,
        "Returns the value of a field"
    ),
    reads!(
        "hmget",
        -3,
        FAST | ELEMENT,
        ONE_KEY,
        hmget,
        "Returns the values of fields"
    ),
    reads!(
        "hgetall",
        2,
        0,
        ONE_KEY,
        hgetall,
        "Returns all fields and values of a hash"
    ),
    reads!(
        "hkeys",
        2,
        0,
        ONE_KEY,
        hkeys,
        "Returns all fields of a hash"
    ),
    reads!(
        "hvals",
        2,
        0,
        ONE_KEY,
        hvals,
        "Returns all values of a hash"
    ),
    on_data(
        "hdel",
        -3,
        WRITE | FAST | ELEMENT,
        ONE_KEY,
        hdel,
        "Deletes fields of a hash",
    ),
    reads!(
        "hexists",
        3,
        FAST | ELEMENT,
        ONE_KEY,
        hexists,
        "Says whether a field is there"
    ),
    reads!(
        "hlen",
        2,
        FAST,
        ONE_KEY,
        hlen,
        "Counts the fields of a hash"
    ),
    reads!(
        "hstrlen",
        3,
        FAST | ELEMENT,
        ONE_KEY,
        hstrlen,
        "Returns the length of a field's value"
    ),
    on_data(
        "hincrby",
        4,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        hincrby,
        "Adds to the number of a field",
    ),
    on_data(
        "hincrbyfloat",
        4,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        hincrbyfloat,
        "Adds to the float of a field",
    ),
    reads!(
        "hrandfield",
        -2,
        0,
        ONE_KEY,
        hrandfield,
        "Returns some fields of a hash"
    ),
];

/// The hash at a key, to be changed, or the beginning of one.
fn open(data: &mut Live<'_, '_>, key: &[u8]) -> Result<(Option<Entry>, Entry), Failure> {
    let before = data.entry_to_change_of(key, Kind::Hash)?;
    let after = match before {
        Some(entry) => entry,
        None => data.create(key, Kind::Hash)?,
    };
    Ok((before, after))
}

fn set_fields(data: &mut Live<'_, '_>, line: &Line, name: &str) -> Result<i64, Failure> {
    if !line.len().is_multiple_of(2) {
        return Err(Failure::Arguments(name.to_string()));
    }
    (2..line.len())
        .step_by(2)
        .try_for_each(|number| check_key(line.part(number)))?;
    let (before, mut after) = open(data, line.part(1))?;
    let mut new = 0;
    for number in (2..line.len()).step_by(2) {
        new += u64::from(data.put_field(after.id, line.part(number), line.part(number + 1))?);
    }
    after.length += new;
    data.resize(line.part(1), before.as_ref(), &after)?;
    data.event(HASH, "hset", line.part(1))?;
    Ok(new as i64)
}

fn hset(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    set_fields(data, line, "hset").map(Reply::Int)
}

fn hmset(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    set_fields(data, line, "hmset").map(|_| Reply::Ok)
}

fn hsetnx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_key(line.part(2))?;
    let (before, mut after) = open(data, line.part(1))?;
    if data.has(Kind::Hash, after.id, line.part(2))? {
        return Ok(Reply::Int(0));
    }
    data.put_field(after.id, line.part(2), line.part(3))?;
    after.length += 1;
    data.resize(line.part(1), before.as_ref(), &after)?;
    data.event(HASH, "hset", line.part(1))?;
    Ok(Reply::Int(1))
}

/// A field's value.
fn value<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Option<Vec<u8>>, Failure> {
    match data.entry_of(line.part(1), Kind::Hash)? {
        Some(hash) => data.field(hash.id, line.part(2)),
        None => Ok(None),
    }
}

fn hget<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    Ok(Reply::optional(value(data, line)?))
}

fn hmget<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let hash = data.entry_of(line.part(1), Kind::Hash)?;
    let mut values = Vec::with_capacity(line.len() - 2);
    for field in line.parts(2) {
        values.push(match &hash {
            Some(hash) => Reply::optional(data.field(hash.id, field)?),
            None => Reply::Null,
        });
    }
    Ok(Reply::Array(values))
}

fn fields<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Vec<Pair>, Failure> {
    match data.entry_of(line.part(1), Kind::Hash)? {
        Some(hash) => data.fields(&hash),
        None => Ok(Vec::new()),
    }
}

fn hgetall<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let fields = fields(data, line)?.into_iter();
    Ok(Reply::Map(
        fields
            .map(|(field, value)| (Reply::Bulk(field), Reply::Bulk(value)))
            .collect(),
    ))
}

fn hkeys<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    Ok(Reply::bulks(
        fields(data, line)?.into_iter().map(|(field, _)| field),
    ))
}

fn hvals<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    Ok(Reply::bulks(
        fields(data, line)?.into_iter().map(|(_, value)| value),
    ))
}

fn hdel(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    line.parts(2).try_for_each(check_key)?;
    let Some(before) = data.entry_to_change_of(line.part(1), Kind::Hash)? else {
        return Ok(Reply::Int(0));
    };
    let mut after = before;
    for field in line.parts(2) {
        after.length -= u64::from(data.delete_element(Kind::Hash, before.id, field)?);
    }
    data.resize(line.part(1), Some(&before), &after)?;
    if after.length < before.length {
        data.changed(HASH, "hdel", line.part(1), after.length)?;
    }
    Ok(Reply::count(before.length - after.length))
}

fn hexists<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    Ok(Reply::flag(
        match data.entry_of(line.part(1), Kind::Hash)? {
            Some(hash) => data.has(Kind::Hash, hash.id, line.part(2))?,
            None => false,
        },
    ))
}

fn hlen<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let hash = data.entry_of(line.part(1), Kind::Hash)?;
    Ok(Reply::count(hash.map_or(0, |hash| hash.length)))
}

fn hstrlen<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let length = match data.entry_of(line.part(1), Kind::Hash)? {
        Some(hash) => data.with_field(hash.id, line.part(2), |text| text.len())?,
        None => None,
    };
    Ok(Reply::count(length.unwrap_or(0)))
}

/// Replaces a field's number by one that is made of it.
fn change_field(
    data: &mut Live<'_, '_>,
    line: &Line,
    event: &'static str,
    read: impl FnOnce(Text<'_>) -> Result<Vec<u8>, Failure>,
    change: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, Failure>,
) -> Result<Vec<u8>, Failure> {
    check_key(line.part(2))?;
    let (before, mut after) = open(data, line.part(1))?;
    let value = data.with_field(after.id, line.part(2), read)?;
    let new = change(value.as_deref())?;
    data.put_field(after.id, line.part(2), &new)?;
    after.length += u64::from(value.is_none());
    data.resize(line.part(1), before.as_ref(), &after)?;
    data.event(HASH, event, line.part(1))?;
    Ok(new)
}

const NOT_INTEGER: Failure = Failure::Told("ERR hash value is not an integer");
const NOT_FLOAT: Failure = Failure::Told("ERR hash value is not a float");

fn hincrby(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let amount = integer(line.part(3))?;
    let mut sum = 0;
    let read = |text: Text<'_>| number_text(&text, INTEGER_BYTES_MAX, NOT_INTEGER);
    change_field(data, line, "hincrby", read, |value| {
        let number = value.map_or(Some(0), parse_integer);
        let more = number.ok_or(NOT_INTEGER)?.checked_add(amount);
        sum = more.ok_or(Failure::Told("ERR increment or decrement would overflow"))?;
        Ok(integer_text(sum, &mut [0; INTEGER_BYTES_MAX]).to_vec())
    })?;
    Ok(Reply::Int(sum))
}

fn hincrbyfloat(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    if float(line.part(3))?.is_infinite() {
        return Err(Failure::Told("ERR value is NaN or Infinity"));
    }
    let read = |text: Text<'_>| number_text(&text, FLOAT_BYTES_MAX, NOT_FLOAT);
    let sum = change_field(data, line, "hincrbyfloat", read, |value| {
        float_sum(value, line.part(3), NOT_FLOAT)
    })?;
    Ok(Reply::Bulk(sum))
}

fn hrandfield<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let count = (words.left() > 0)
        .then(|| random_count(words.wanted()?))
        .transpose()?;
    let with_values = words.take("withvalues");
    if words.left() > 0 || (with_values && count.is_none()) {
        return Err(Failure::Syntax);
    }
    if let (true, Some(count)) = (with_values, count) {
        check_random_pairs(count)?;
    }
    let hash = data.entry_of(line.part(1), Kind::Hash)?;
    let Some(count) = count else {
        let Some(hash) = hash else {
            return Ok(Reply::Null);
        };
        return Ok(Reply::optional(data.any_name(&hash)?));
    };
    let Some(hash) = hash else {
        return Ok(Reply::Array(Vec::new()));
    };
    if !with_values {
        return Ok(Reply::bulks(random_elements(data, &hash, count)?));
    }
    let pairs = random_elements::<Pair, _>(data, &hash, count)?
        .into_iter()
        .map(|(field, value)| (Reply::Bulk(field), Reply::Bulk(value)));
    Ok(Reply::Pairs(pairs.collect()))
}
