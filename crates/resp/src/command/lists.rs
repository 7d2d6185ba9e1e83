//! Lists: elements in an order that the client makes.

use super::line::Line;
use super::strings::places;
use super::words::{Words, count as count_of, is};
use super::{COUNTED, Command, FAST, MORE, ONE_KEY, TWO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Entry, Kind, Live, State};
use crate::event_classes::LIST;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "lpush",
        -3,
        WRITE | MORE | FAST,
        ONE_KEY,
        lpush,
        "Puts elements before a list",
    ),
    on_data(
        "rpush",
        -3,
        WRITE | MORE | FAST,
        ONE_KEY,
        rpush,
        "Puts elements behind a list",
    ),
    on_data(
        "lpushx",
        -3,
        WRITE | MORE | FAST,
        ONE_KEY,
        lpushx,
        "Puts elements before a list that is there",
    ),
    on_data(
        "rpushx",
        -3,
        WRITE | MORE | FAST,
        ONE_KEY,
        rpushx,
        "Puts elements behind a list that is there",
    ),
    on_data(
        "lpop",
        -2,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        lpop,
        "Takes the first elements of a list",
    ),
    on_data(
        "rpop",
        -2,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        rpop,
        "Takes the last elements of a list",
    ),
    reads!(
        "llen",
        2,
        FAST,
        ONE_KEY,
        llen,
        "Counts the elements of a list"
    ),
    reads!(
        "lrange",
        4,
        0,
        ONE_KEY,
        lrange,
        "Returns elements of a list"
    ),
    reads!(
        "lindex",
        3,
        0,
        ONE_KEY,
        lindex,
        "Returns an element of a list"
    ),
    on_data(
        "lset",
        4,
        WRITE | MORE,
        ONE_KEY,
        lset,
        "Replaces an element of a list",
    ),
    on_data(
        "lrem",
        4,
        WRITE,
        ONE_KEY,
        lrem,
        "Deletes elements of a list that are equal to one",
    ),
    on_data(
        "ltrim",
        4,
        WRITE,
        ONE_KEY,
        ltrim,
        "Deletes all elements of a list but some",
    ),
    on_data(
        "linsert",
        5,
        WRITE | MORE,
        ONE_KEY,
        linsert,
        "Puts an element before or behind another",
    ),
    reads!(
        "lpos",
        -3,
        0,
        ONE_KEY,
        lpos,
        "Says where an element of a list is"
    ),
    on_data(
        "lmove",
        5,
        WRITE | MORE,
        TWO_KEYS,
        lmove,
        "Takes an element of a list and puts it into another",
    ),
    on_data(
        "rpoplpush",
        3,
        WRITE | MORE,
        TWO_KEYS,
        rpoplpush,
        "Takes the last element of a list and puts it before another",
    ),
];

/// Puts elements at an end, of a list that is there if it must be. Returns how many it has then.
fn push<'v>(
    data: &mut Live<'_, '_>,
    key: &[u8],
    values: impl Iterator<Item = &'v [u8]>,
    front: bool,
    only_there: bool,
) -> Result<u64, Failure> {
    let before = data.entry_to_change_of(key, Kind::List)?;
    let mut list = match before {
        Some(list) => list,
        None if only_there => return Ok(0),
        None => data.create(key, Kind::List)?,
    };
    for value in values {
        let position = if front { list.first - 1 } else { list.end() };
        list.first -= i64::from(front);
        list.length += 1;
        data.insert_at(list.id, position, value)?;
    }
    data.resize(key, before.as_ref(), &list)?;
    data.event(LIST, if front { "lpush" } else { "rpush" }, key)?;
    Ok(list.length)
}

fn lpush(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    push(data, line.part(1), line.parts(2), true, false).map(Reply::count)
}

fn rpush(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    push(data, line.part(1), line.parts(2), false, false).map(Reply::count)
}

fn lpushx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    push(data, line.part(1), line.parts(2), true, true).map(Reply::count)
}

fn rpushx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    push(data, line.part(1), line.parts(2), false, true).map(Reply::count)
}

/// Takes so many elements from an end.
pub(super) fn take(
    data: &mut Live<'_, '_>,
    key: &[u8],
    before: &Entry,
    count: u64,
    front: bool,
) -> Result<Vec<Vec<u8>>, Failure> {
    let taken = take_silently(data, key, before, count, front)?;
    if !taken.is_empty() {
        taken_from(data, key, before, taken.len(), front)?;
    }
    Ok(taken)
}

/// Notes that elements were taken.
fn taken_from(
    data: &mut Live<'_, '_>,
    key: &[u8],
    before: &Entry,
    count: usize,
    front: bool,
) -> Result<(), Failure> {
    let event = if front { "lpop" } else { "rpop" };
    data.changed(LIST, event, key, before.length - count as u64)
}

fn take_silently(
    data: &mut Live<'_, '_>,
    key: &[u8],
    before: &Entry,
    count: u64,
    front: bool,
) -> Result<Vec<Vec<u8>>, Failure> {
    let count = count.min(before.length);
    let mut list = *before;
    list.length -= count;
    let (from, to) = match front {
        true => (before.first, before.first + count as i64),
        false => (before.end() - count as i64, before.end()),
    };
    if front {
        list.first = to;
    }
    let (mut taken, room) = (Vec::with_capacity(count as usize), data.room);
    data.walk_list(before.id, from, to, !front, |_, value| {
        taken.push(value.to_vec());
        room.take(value.len())
    })?;
    room.check()?;
    for position in from..to {
        data.delete_at(before.id, position)?;
    }
    data.resize(key, Some(before), &list)?;
    Ok(taken)
}

fn pop(data: &mut Live<'_, '_>, line: &Line, front: bool, name: &str) -> Result<Reply, Failure> {
    let count = match line.len() {
        2 => None,
        3 => Some(count_of(line.part(2))?),
        _ => return Err(Failure::Arguments(name.to_string())),
    };
    let Some(list) = data.entry_to_change_of(line.part(1), Kind::List)? else {
        return Ok(if count.is_some() {
            Reply::NullArray
        } else {
            Reply::Null
        });
    };
    let mut taken = take(data, line.part(1), &list, count.unwrap_or(1), front)?;
    Ok(match count {
        Some(_) => Reply::bulks(taken),
        None => Reply::optional(taken.pop()),
    })
}

fn lpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop(data, line, true, "lpop")
}

fn rpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop(data, line, false, "rpop")
}

fn llen<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let list = data.entry_of(line.part(1), Kind::List)?;
    Ok(Reply::count(list.map_or(0, |list| list.length)))
}

fn lrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let (start, end) = (integer(line.part(2))?, integer(line.part(3))?);
    let (mut values, room) = (Vec::new(), data.room);
    if let Some(list) = data.entry_of(line.part(1), Kind::List)? {
        let range = places(start, end, list.length);
        let position = |place: u64| list.first + place as i64;
        data.walk_list(
            list.id,
            position(range.start),
            position(range.end),
            false,
            |_, value| {
                values.push(value.to_vec());
                room.take(value.len())
            },
        )?;
    }
    Ok(Reply::bulks(values))
}

/// The position of an index, which may count from the end.
fn position(list: &Entry, index: i64) -> Option<i64> {
    let length = list.length as i64;
    let index = if index < 0 {
        index.checked_add(length)?
    } else {
        index
    };
    (0..length).contains(&index).then(|| list.first + index)
}

fn lindex<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let Some(list) = data.entry_of(line.part(1), Kind::List)? else {
        return Ok(Reply::Null);
    };
    let index = integer(line.part(2))?;
    match position(&list, index) {
        Some(position) => Ok(Reply::optional(data.at(list.id, position)?)),
        None => Ok(Reply::Null),
    }
}

fn lset(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let list = data.entry_to_change_of(line.part(1), Kind::List)?;
    let list = list.ok_or(Failure::Told("ERR no such key"))?;
    let index = integer(line.part(2))?;
    let position = position(&list, index).ok_or(Failure::Told("ERR index out of range"))?;
    data.put_at(list.id, position, line.part(3))?;
    data.event(LIST, "lset", line.part(1))?;
    Ok(Reply::Ok)
}

/// The positions of elements that are equal to one: so many at most, from the front or the back.
fn equal(
    data: &mut Live<'_, '_>,
    list: &Entry,
    wanted: &[u8],
    most: u64,
    reverse: bool,
) -> Result<Vec<i64>, Failure> {
    let mut found = Vec::new();
    data.walk_list(
        list.id,
        list.first,
        list.end(),
        reverse,
        |position, value| {
            if value == wanted {
                found.push(position);
            }
            (found.len() as u64) < most
        },
    )?;
    Ok(found)
}

fn lrem(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let count = integer(line.part(2))?;
    let Some(before) = data.entry_to_change_of(line.part(1), Kind::List)? else {
        return Ok(Reply::Int(0));
    };
    let most = if count == 0 {
        u64::MAX
    } else {
        count.unsigned_abs()
    };
    let mut gone = equal(data, &before, line.part(3), most, count < 0)?;
    gone.sort_unstable();
    let mut after = before;
    data.delete_positions(&mut after, &gone)?;
    data.resize(line.part(1), Some(&before), &after)?;
    if !gone.is_empty() {
        data.changed(LIST, "lrem", line.part(1), after.length)?;
    }
    Ok(Reply::count(gone.len()))
}

fn ltrim(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (start, end) = (integer(line.part(2))?, integer(line.part(3))?);
    let Some(before) = data.entry_to_change_of(line.part(1), Kind::List)? else {
        return Ok(Reply::Ok);
    };
    let kept = places(start, end, before.length);
    if kept.is_empty() {
        data.remove(line.part(1), &before)?;
        data.changed(LIST, "ltrim", line.part(1), 0)?;
        return Ok(Reply::Ok);
    }
    let mut after = before;
    after.first += kept.start as i64;
    after.length = kept.end - kept.start;
    for position in (before.first..after.first).chain(after.end()..before.end()) {
        data.delete_at(before.id, position)?;
    }
    data.resize(line.part(1), Some(&before), &after)?;
    data.event(LIST, "ltrim", line.part(1))?;
    Ok(Reply::Ok)
}

fn linsert(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let behind = match line.part(2) {
        word if is(word, "before") => 0,
        word if is(word, "after") => 1,
        _ => return Err(Failure::Syntax),
    };
    let Some(before) = data.entry_to_change_of(line.part(1), Kind::List)? else {
        return Ok(Reply::Int(0));
    };
    let found = equal(data, &before, line.part(3), 1, false)?;
    let Some(position) = found.first() else {
        return Ok(Reply::Int(-1));
    };
    let mut after = before;
    let free = data.open_gap(&mut after, position + behind)?;
    data.insert_at(after.id, free, line.part(4))?;
    data.resize(line.part(1), Some(&before), &after)?;
    data.event(LIST, "linsert", line.part(1))?;
    Ok(Reply::count(after.length))
}

fn lpos<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let (mut rank, mut count, mut most) = (1, None, 0);
    let mut words = Words::from(line, 3);
    let not_negative = |word: &[u8], what: &str| {
        let number = integer(word)
            .ok()
            .and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| Failure::Said(format!("ERR {what} can't be negative")))
    };
    while let Some(word) = words.next() {
        if is(word, "rank") {
            rank = words.integer()?;
            if rank == 0 || rank == i64::MIN {
                return Err(Failure::Told(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                     negative to start from the end of the list",
                ));
            }
        } else if is(word, "count") {
            count = Some(not_negative(words.wanted()?, "COUNT")?);
        } else if is(word, "maxlen") {
            most = not_negative(words.wanted()?, "MAXLEN")?;
        } else {
            return Err(Failure::Syntax);
        }
    }
    let mut found = Vec::new();
    if let Some(list) = data.entry_of(line.part(1), Kind::List)? {
        let wanted = match count {
            None => 1,
            Some(0) => usize::MAX,
            Some(count) => count as usize,
        };
        let (mut skipped, mut seen) = (rank.unsigned_abs() - 1, 0);
        data.walk_list(
            list.id,
            list.first,
            list.end(),
            rank < 0,
            |position, value| {
                seen += 1;
                if value == line.part(2) {
                    match skipped {
                        0 => found.push(Reply::Int(position - list.first)),
                        _ => skipped -= 1,
                    }
                }
                found.len() < wanted && seen != most
            },
        )?;
    }
    Ok(match count {
        Some(_) => Reply::Array(found),
        None => found.pop().unwrap_or(Reply::Null),
    })
}

fn move_between(
    data: &mut Live<'_, '_>,
    line: &Line,
    from_front: bool,
    to_front: bool,
) -> Result<Reply, Failure> {
    let (from, to) = (line.part(1), line.part(2));
    crate::data::check_key(to)?;
    let Some(source) = data.entry_to_change_of(from, Kind::List)? else {
        return Ok(Reply::Null);
    };
    // A destination of another kind is refused before the source has changed.
    data.entry_to_change_of(to, Kind::List)?;
    let Some(value) = take_silently(data, from, &source, 1, from_front)?.pop() else {
        return Ok(Reply::Null);
    };
    let length = push(data, to, std::iter::once(&value[..]), to_front, false)?;
    let event = if from_front { "lpop" } else { "rpop" };
    match from == to {
        true => data.changed(LIST, event, from, length)?,
        false => taken_from(data, from, &source, 1, from_front)?,
    }
    Ok(Reply::Bulk(value))
}

/// For the source and for the destination: true if the element is moved from or to the front.
pub(super) fn ends(line: &Line) -> Result<(bool, bool), Failure> {
    let front = |word: &[u8]| match word {
        word if is(word, "left") => Ok(true),
        word if is(word, "right") => Ok(false),
        _ => Err(Failure::Syntax),
    };
    Ok((front(line.part(3))?, front(line.part(4))?))
}

pub(super) fn lmove(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (from_front, to_front) = ends(line)?;
    move_between(data, line, from_front, to_front)
}

pub(super) fn rpoplpush(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    move_between(data, line, false, true)
}
