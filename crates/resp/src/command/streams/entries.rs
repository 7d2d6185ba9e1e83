//! Entries of streams: added, read by their ids, and deleted.

use super::ids::{self, Wanted};
use super::trimming::{self, TrimWords};
use super::{entry_reply, id_reply};
use crate::command::line::Line;
use crate::command::words::Words;
use crate::data::{Data, EntryId, Fields, Kind, Live, State, Stream};
use crate::event_classes::STREAM;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

const TOO_SMALL: Failure = Failure::Told(
    "ERR The ID specified in XADD is equal or smaller than the target stream top item",
);

/// The id of a stream's next entry.
fn next_id(stream: &Stream, wanted: Wanted, now: i64) -> Result<EntryId, Failure> {
    let last = stream.last;
    let now = u64::try_from(now).unwrap_or(0);
    let next = match wanted {
        Wanted::This(id) => Some(id),
        Wanted::Any if now > last.ms => Some(EntryId { ms: now, seq: 0 }),
        // A clock that was set back counts on from the last id.
        Wanted::Any => last.next(),
        Wanted::Of(ms) if ms == last.ms => last.seq.checked_add(1).map(|seq| EntryId { ms, seq }),
        Wanted::Of(ms) => Some(EntryId { ms, seq: 0 }),
    };
    next.filter(|next| *next > last).ok_or(TOO_SMALL)
}

pub(super) fn xadd(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let (mut only_there, mut trims) = (false, TrimWords::default());
    let wanted = loop {
        if trims.take(&mut words)? {
            continue;
        }
        match words.take("nomkstream") {
            true => only_there = true,
            // Its arity is said below, when all that is before it is right.
            false if words.left() == 0 => break Wanted::Any,
            false => break ids::wanted(words.wanted()?)?,
        }
    };
    let trim = trims.trim()?;
    if words.left() < 2 || words.left() % 2 == 1 {
        return Err(Failure::Arguments("xadd".to_string()));
    }
    if wanted == Wanted::This(EntryId::MIN) {
        return Err(Failure::Told(
            "ERR The ID specified in XADD must be greater than 0-0",
        ));
    }
    let key = line.part(1);
    let mut stream = match data.stream_to_change(key)? {
        Some(stream) => stream,
        None if only_there => return Ok(Reply::Null),
        None => data.create_stream(key)?,
    };
    if stream.last == EntryId::MAX {
        return Err(Failure::Told(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = next_id(&stream, wanted, data.now)?;
    let fields = Fields::pack(line.parts(words.place()));
    let fields = fields.ok_or(Failure::Told("ERR Elements are too large to be stored"))?;
    data.insert_entry(&stream, id, &fields)?;
    stream.last = id;
    stream.added = stream.added.saturating_add(1);
    stream.entry.length += 1;
    let trimmed = match trim {
        Some(trim) => trimming::trim(data, &mut stream, trim)?,
        None => 0,
    };
    data.keep_stream(key, &stream)?;
    data.event(STREAM, "xadd", key)?;
    if trimmed > 0 {
        data.event(STREAM, "xtrim", key)?;
    }
    data.note_filled(key);
    Ok(id_reply(id))
}

pub(super) fn xlen<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let stream = data.entry_of(line.part(1), Kind::Stream)?;
    Ok(Reply::count(stream.map_or(0, |stream| stream.length)))
}

/// The entries of a stream between two ids: so many at most, or all with 0.
pub(super) fn between<S: State>(
    data: &mut Data<'_, S>,
    stream: &Stream,
    range: (EntryId, EntryId),
    count: u64,
    reverse: bool,
) -> Result<Vec<Reply>, Failure> {
    let (mut entries, room) = (Vec::new(), data.room);
    data.walk_entries(stream.id(), range, reverse, &mut |id, fields| {
        let entry = entry_reply(room, id, fields);
        let has_room = entry.is_some();
        entries.extend(entry);
        has_room && entries.len() as u64 != count
    })?;
    room.check()?;
    Ok(entries)
}

fn range<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    (start, end): (&[u8], &[u8]),
    reverse: bool,
) -> Result<Reply, Failure> {
    let range = (ids::start(start)?, ids::end(end)?);
    let mut count = None;
    let mut words = Words::from(line, 4);
    while words.left() > 0 {
        match words.left() > 1 && words.take("count") {
            true => count = Some(words.integer()?.max(0) as u64),
            false => return Err(Failure::Syntax),
        }
    }
    match data.stream(line.part(1))? {
        None => Ok(Reply::Array(Vec::new())),
        Some(_) if count == Some(0) => Ok(Reply::NullArray),
        Some(stream) => {
            let count = count.unwrap_or(0);
            between(data, &stream, range, count, reverse).map(Reply::Array)
        }
    }
}

pub(super) fn xrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range(data, line, (line.part(2), line.part(3)), false)
}

pub(super) fn xrevrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range(data, line, (line.part(3), line.part(2)), true)
}

pub(super) fn xdel(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let key = line.part(1);
    let Some(mut stream) = data.stream_to_change(key)? else {
        return Ok(Reply::Int(0));
    };
    let ids: Vec<EntryId> = line.parts(2).map(ids::strict).collect::<Result<_, _>>()?;
    let mut deleted = 0;
    for id in ids {
        if data.delete_entry(&stream, id)? {
            stream.deleted = stream.deleted.max(id);
            stream.entry.length -= 1;
            deleted += 1;
        }
    }
    if deleted > 0 {
        data.keep_stream(key, &stream)?;
        data.event(STREAM, "xdel", key)?;
    }
    Ok(Reply::Int(deleted))
}

pub(super) fn xsetid(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let last = ids::strict(line.part(2))?;
    let (mut added, mut deleted) = (None, None);
    let mut words = Words::from(line, 3);
    while words.left() > 0 {
        let has_more = words.left() > 1;
        if has_more && words.take("entriesadded") {
            let number = u64::try_from(integer(words.wanted()?)?);
            let number = number.map_err(|_| Failure::Told("ERR entries_added must be positive"))?;
            added = Some(number);
        } else if has_more && words.take("maxdeletedid") {
            let id = ids::strict(words.wanted()?)?;
            if last < id {
                return Err(Failure::Told(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
            deleted = Some(id).filter(|id| *id != EntryId::MIN);
        } else {
            return Err(Failure::Syntax);
        }
    }
    let key = line.part(1);
    let stream = data.stream_to_change(key)?;
    let mut stream = stream.ok_or(Failure::Told("ERR no such key"))?;
    if stream.length() > 0 {
        if last < data.last_entry(&stream)? {
            return Err(Failure::Told(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ));
        }
        if added.is_some_and(|added| added < stream.length()) {
            return Err(Failure::Told(
                "ERR The entries_added specified in XSETID is smaller than the target stream length",
            ));
        }
    }
    stream.last = last;
    stream.added = added.unwrap_or(stream.added);
    stream.deleted = deleted.unwrap_or(stream.deleted);
    data.keep_stream(key, &stream)?;
    data.event(STREAM, "xsetid", key)?;
    Ok(Reply::Ok)
}
