//! Groups of a stream's consumers: `XGROUP`, `XACK`, and `XPENDING`.

use super::{id_reply, ids, no_group, no_group_of, wrong_words};
use crate::command::line::Line;
use crate::command::subcommands;
use crate::command::words::{Words, is};
use crate::data::{Data, EntryId, Group, Live, State, Stream};
use crate::event_classes::STREAM;
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

const NO_STREAM: Failure = Failure::Told(
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to \
     create an empty stream automatically.",
);

/// The words behind a group's name and id.
#[derive(Default)]
struct Options {
    makes_stream: bool,
    read: Option<i64>,
}

impl Options {
    fn of(line: &Line) -> Result<Options, Failure> {
        let (creates, sets) = (is(line.part(1), "create"), is(line.part(1), "setid"));
        let mut options = Options::default();
        let mut words = Words::from(line, 5);
        while (creates || sets) && words.left() > 0 {
            if creates && words.take("mkstream") {
                options.makes_stream = true;
            } else if words.left() > 1 && words.take("entriesread") {
                options.read = match words.integer()? {
                    -1 => None,
                    ..0 => {
                        return Err(Failure::Told(
                            "ERR value for ENTRIESREAD must be positive or -1",
                        ));
                    }
                    read => Some(read),
                };
            } else {
                return Err(wrong_words("XGROUP", line.part(1)));
            }
        }
        Ok(options)
    }
}

pub(super) fn xgroup(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let subcommand = line.part(1);
    if is(subcommand, "help") {
        return Ok(subcommands::help("xgroup"));
    }
    let options = Options::of(line)?;
    let (key, name) = (line.part(2), line.part(3));
    let stream = data.stream_to_change(key)?;
    if is(subcommand, "create") {
        return create(data, line, stream, &options);
    }
    let stream = stream.ok_or(NO_STREAM)?;
    let group = data.group(stream.id(), name)?;
    if is(subcommand, "destroy") {
        let Some(group) = group else {
            return Ok(Reply::Int(0));
        };
        data.delete_group(&group)?;
        data.event(STREAM, "xgroup-destroy", key)?;
        // Notifies clients that wait for the group.
        data.note_filled(key);
        return Ok(Reply::Int(1));
    }
    let mut group = group.ok_or_else(|| no_group_of(key, name))?;
    match subcommand {
        word if is(word, "setid") && !matches!(line.len(), 5 | 7) => {
            Err(wrong_words("XGROUP", word))
        }
        word if is(word, "setid") => {
            group.last = match line.part(4) {
                b"$" => stream.last,
                id => ids::loose(id, 0)?,
            };
            group.read = options.read;
            data.keep_group(&group)?;
            data.event(STREAM, "xgroup-setid", key)?;
            Ok(Reply::Ok)
        }
        word if is(word, "createconsumer") => {
            let is_new = data.create_consumer(group.number, line.part(4))?;
            if is_new {
                data.event(STREAM, "xgroup-createconsumer", key)?;
            }
            Ok(Reply::flag(is_new))
        }
        _ => {
            let is_there = data.consumer(group.number, line.part(4))?.is_some();
            let pending = data.delete_consumer(group.number, line.part(4))?;
            if is_there {
                data.event(STREAM, "xgroup-delconsumer", key)?;
            }
            Ok(Reply::count(pending))
        }
    }
}

fn create(
    data: &mut Live<'_, '_>,
    line: &Line,
    stream: Option<Stream>,
    options: &Options,
) -> Result<Reply, Failure> {
    let (key, name) = (line.part(2), line.part(3));
    if stream.is_none() && !options.makes_stream {
        return Err(NO_STREAM);
    }
    // Redis counts the words only then.
    if line.len() > 8 {
        return Err(wrong_words("XGROUP", line.part(1)));
    }
    let last = match line.part(4) {
        b"$" => stream.map_or(EntryId::MIN, |stream| stream.last),
        id => ids::strict(id)?,
    };
    crate::data::check_key(name)?;
    let stream = match stream {
        Some(stream) => stream,
        None => {
            let stream = data.create_stream(key)?;
            data.keep_stream(key, &stream)?;
            stream
        }
    };
    if data.group(stream.id(), name)?.is_some() {
        return Err(Failure::Told(
            "BUSYGROUP Consumer Group name already exists",
        ));
    }
    data.create_group(stream.id(), name, last, options.read)?;
    data.event(STREAM, "xgroup-create", key)?;
    Ok(Reply::Ok)
}

/// A consumer of a group is seen, and comes if it is not there.
pub(super) fn see(
    data: &mut Live<'_, '_>,
    key: &[u8],
    group: &Group,
    consumer: &[u8],
) -> Result<(), Failure> {
    if data.create_consumer(group.number, consumer)? {
        return data.event(STREAM, "xgroup-createconsumer", key);
    }
    data.see_consumer(group.number, consumer)
}

/// A group of a stream, if both are there.
pub(super) fn group_of<S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    name: &[u8],
) -> Result<Option<(Stream, Group)>, Failure> {
    let Some(stream) = data.stream(key)? else {
        return Ok(None);
    };
    let group = data.group(stream.id(), name)?;
    Ok(group.map(|group| (stream, group)))
}

pub(super) fn xack(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let Some((_, group)) = group_of(data, line.part(1), line.part(2))? else {
        return Ok(Reply::Int(0));
    };
    let ids: Vec<EntryId> = line.parts(3).map(ids::strict).collect::<Result<_, _>>()?;
    let mut acknowledged = 0;
    for id in ids {
        if let Some(pending) = data.pending(group.number, id)? {
            data.delete_pending(&pending)?;
            acknowledged += 1;
        }
    }
    Ok(Reply::Int(acknowledged))
}

pub(super) fn xpending<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let (key, name) = (line.part(1), line.part(2));
    if line.len() == 3 {
        let (_, group) = group_of(data, key, name)?.ok_or_else(|| no_group(key, name, ""))?;
        return summary(data, &group);
    }
    if !(6..=9).contains(&line.len()) {
        return Err(Failure::Syntax);
    }
    let (mut idle, mut at) = (0, 3);
    if is(line.part(3), "idle") {
        idle = integer(line.part(4))?;
        if line.len() < 8 {
            return Err(Failure::Syntax);
        }
        at = 5;
    }
    let count = integer(line.part(at + 2))?.max(0) as u64;
    let range = (ids::start(line.part(at))?, ids::end(line.part(at + 1))?);
    let consumer = (at + 3 < line.len()).then(|| line.part(at + 3));
    let (_, group) = group_of(data, key, name)?.ok_or_else(|| no_group(key, name, ""))?;
    if count == 0 {
        return Ok(Reply::Array(Vec::new()));
    }
    let (mut found, room, now) = (Vec::new(), data.room, data.now);
    data.walk_pending(group.number, consumer, range, false, &mut |pending| {
        let elapsed = now.saturating_sub(pending.delivered);
        if idle != 0 && elapsed < idle {
            return true;
        }
        let has_room = room.take(pending.consumer.len() + size_of::<[Reply; 4]>());
        found.push(Reply::Array(vec![
            id_reply(pending.entry),
            Reply::Bulk(pending.consumer),
            Reply::Int(elapsed.max(0)),
            Reply::count(pending.deliveries),
        ]));
        has_room && found.len() as u64 != count
    })?;
    room.check()?;
    Ok(Reply::Array(found))
}

/// The number of pending entries of a group, the first and the last of them, and their consumers.
fn summary<S: State>(data: &mut Data<'_, S>, group: &Group) -> Result<Reply, Failure> {
    let count = data.count_pending(group.number, None)?;
    if count == 0 {
        let nothing = [Reply::Int(0), Reply::Null, Reply::Null, Reply::NullArray];
        return Ok(Reply::Array(nothing.into()));
    }
    let mut edges = Vec::new();
    for reverse in [false, true] {
        let all = (EntryId::MIN, EntryId::MAX);
        data.walk_pending(group.number, None, all, reverse, &mut |pending| {
            edges.push(id_reply(pending.entry));
            false
        })?;
    }
    let mut consumers = Vec::new();
    for (name, _) in data.consumers(group.number)? {
        let count = data.count_pending(group.number, Some(&name))?;
        if count > 0 {
            let count = Reply::Bulk(count.to_string().into_bytes());
            consumers.push(Reply::Array(vec![Reply::Bulk(name), count]));
        }
    }
    let mut parts = vec![Reply::count(count)];
    parts.extend(edges);
    parts.push(Reply::Array(consumers));
    Ok(Reply::Array(parts))
}
