//! `XINFO`: information on streams, groups and consumers.

use super::entries::between;
use super::reading::{entries_up_to, has_deleted};
use super::trimming::{first_node, node};
use super::{id_reply, no_group_of, wrong_words};
use crate::command::line::Line;
use crate::command::subcommands;
use crate::command::words::{Words, is};
use crate::data::{Data, EntryId, Group, State, Stream};
use crate::failure::Failure;
use crate::reply::Reply;

/// The default number of entries shown of a stream, and of its pending entries.
const SHOWN: u64 = 10;

const ALL: (EntryId, EntryId) = (EntryId::MIN, EntryId::MAX);

pub(super) fn xinfo<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let (subcommand, key) = (line.part(1), line.part(2));
    if is(subcommand, "help") {
        return Ok(subcommands::help("xinfo"));
    }
    let stream = data.stream(key)?;
    let stream = stream.ok_or(Failure::Told("ERR no such key"))?;
    match subcommand {
        word if is(word, "groups") => groups(data, &stream),
        word if is(word, "consumers") => {
            let name = line.part(3);
            let group = data.group(stream.id(), name)?;
            let group = group.ok_or_else(|| no_group_of(key, name))?;
            consumers(data, &group)
        }
        _ => of_stream(data, line, &stream),
    }
}

fn of_stream<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    stream: &Stream,
) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 3);
    let is_full = words.left() > 0;
    let mut count = SHOWN;
    if is_full && !(matches!(words.left(), 1 | 3) && words.take("full")) {
        return Err(wrong_words("XINFO", line.part(1)));
    }
    if words.left() > 0 {
        count = match words.take("count") {
            true => u64::try_from(words.integer()?).unwrap_or(SHOWN),
            false => return Err(wrong_words("XINFO", line.part(1))),
        };
    }
    let first = data.first_entry(stream)?;
    // As a Redis of the usual settings would have them.
    let node = node(data);
    let behind = stream.length() - first_node(stream, node);
    let nodes = u64::from(stream.length() > 0) + behind.div_ceil(node);
    let mut facts = vec![
        (Reply::Text("length"), Reply::count(stream.length())),
        (Reply::Text("radix-tree-keys"), Reply::count(nodes)),
        (Reply::Text("radix-tree-nodes"), Reply::count(nodes + 1)),
        (Reply::Text("last-generated-id"), id_reply(stream.last)),
        (
            Reply::Text("max-deleted-entry-id"),
            id_reply(stream.deleted),
        ),
        (Reply::Text("entries-added"), Reply::count(stream.added)),
        (Reply::Text("recorded-first-entry-id"), id_reply(first)),
    ];
    if is_full {
        let entries = between(data, stream, ALL, count, false)?;
        facts.push((Reply::Text("entries"), Reply::Array(entries)));
        let mut groups = Vec::new();
        for (name, group) in data.groups(stream.id())? {
            groups.push(full_group(data, stream, first, name, &group, count)?);
        }
        facts.push((Reply::Text("groups"), Reply::Array(groups)));
    } else {
        let groups = data.count_groups(stream.id())?;
        facts.push((Reply::Text("groups"), Reply::count(groups)));
        for (name, reverse) in [("first-entry", false), ("last-entry", true)] {
            let entry = between(data, stream, ALL, 1, reverse)?.pop();
            facts.push((Reply::Text(name), entry.unwrap_or(Reply::Null)));
        }
    }
    Ok(Reply::Map(facts))
}

/// The numbers of entries that a group has read and has not read, as far as they are known.
fn progress(stream: &Stream, first: EntryId, group: &Group) -> [(Reply, Reply); 2] {
    let added = i64::try_from(stream.added).unwrap_or(i64::MAX);
    let read = match group.read {
        _ if added == 0 => Some(0),
        Some(read) if !has_deleted(stream, first, group.last) => Some(read),
        _ => entries_up_to(stream, first, group.last),
    };
    let lag = match added {
        0 => Some(0),
        added => read.map(|read| added.saturating_sub(read)),
    };
    let number = |number: Option<i64>| number.map_or(Reply::Null, Reply::Int);
    [
        (Reply::Text("entries-read"), number(group.read)),
        (Reply::Text("lag"), number(lag)),
    ]
}

fn groups<S: State>(data: &mut Data<'_, S>, stream: &Stream) -> Result<Reply, Failure> {
    let first = data.first_entry(stream)?;
    let mut all = Vec::new();
    for (name, group) in data.groups(stream.id())? {
        let consumers = data.count_consumers(group.number)?;
        let pending = data.count_pending(group.number, None)?;
        let mut facts = vec![
            (Reply::Text("name"), Reply::Bulk(name)),
            (Reply::Text("consumers"), Reply::count(consumers)),
            (Reply::Text("pending"), Reply::count(pending)),
            (Reply::Text("last-delivered-id"), id_reply(group.last)),
        ];
        facts.extend(progress(stream, first, &group));
        all.push(Reply::Map(facts));
        take(data, 12)?;
    }
    Ok(Reply::Array(all))
}

/// Takes room for so many parts of an answer.
fn take<S: State>(data: &Data<'_, S>, parts: usize) -> Result<(), Failure> {
    data.room.take(parts * size_of::<Reply>());
    data.room.check()
}

fn consumers<S: State>(data: &mut Data<'_, S>, group: &Group) -> Result<Reply, Failure> {
    let mut all = Vec::new();
    for (name, seen) in data.consumers(group.number)? {
        let pending = data.count_pending(group.number, Some(&name))?;
        let idle = data.now.saturating_sub(seen).max(0);
        all.push(Reply::Map(vec![
            (Reply::Text("name"), Reply::Bulk(name)),
            (Reply::Text("pending"), Reply::count(pending)),
            (Reply::Text("idle"), Reply::Int(idle)),
        ]));
        take(data, 6)?;
    }
    Ok(Reply::Array(all))
}

fn full_group<S: State>(
    data: &mut Data<'_, S>,
    stream: &Stream,
    first: EntryId,
    name: Vec<u8>,
    group: &Group,
    count: u64,
) -> Result<Reply, Failure> {
    let mut facts = vec![
        (Reply::Text("name"), Reply::Bulk(name)),
        (Reply::Text("last-delivered-id"), id_reply(group.last)),
    ];
    facts.extend(progress(stream, first, group));
    facts.extend(pending(data, group, None, count)?);
    let mut consumers = Vec::new();
    for (name, seen) in data.consumers(group.number)? {
        let own = pending(data, group, Some(&name), count)?;
        let mut facts = vec![
            (Reply::Text("name"), Reply::Bulk(name)),
            (Reply::Text("seen-time"), Reply::Int(seen)),
        ];
        facts.extend(own);
        consumers.push(Reply::Map(facts));
        take(data, 8)?;
    }
    facts.push((Reply::Text("consumers"), Reply::Array(consumers)));
    Ok(Reply::Map(facts))
}

/// The number of pending entries of a group or of one of its consumers, and the first of these entries.
fn pending<S: State>(
    data: &mut Data<'_, S>,
    group: &Group,
    consumer: Option<&[u8]>,
    count: u64,
) -> Result<[(Reply, Reply); 2], Failure> {
    let all = data.count_pending(group.number, consumer)?;
    let (mut first, room) = (Vec::new(), data.room);
    data.walk_pending(group.number, consumer, ALL, false, &mut |pending| {
        let has_room = room.take(pending.consumer.len() + size_of::<[Reply; 4]>());
        let mut facts = vec![id_reply(pending.entry)];
        if consumer.is_none() {
            facts.push(Reply::Bulk(pending.consumer));
        }
        facts.push(Reply::Int(pending.delivered));
        facts.push(Reply::count(pending.deliveries));
        first.push(Reply::Array(facts));
        has_room && first.len() as u64 != count
    })?;
    room.check()?;
    Ok([
        (Reply::Text("pel-count"), Reply::count(all)),
        (Reply::Text("pending"), Reply::Array(first)),
    ])
}
