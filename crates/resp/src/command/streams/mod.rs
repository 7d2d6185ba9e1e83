//! Streams: entries under ids that grow, and groups of consumers that share them.
//!
//! - [`entries`]: entries that are added, read by their ids, and deleted; [`trimming`] deletes the oldest;
//! - [`reading`]: `XREAD` and `XREADGROUP`, whose clients may wait; [`options`]: their words;
//! - [`groups`]: groups, and acknowledgements of their consumers; [`claiming`] gives pending entries to others;
//! - [`information`]: the command `XINFO`;
//! - [`ids`]: ids as clients write them.
//!
//! Source: the answers and texts of errors are those of Redis 7.0.

mod claiming;
mod entries;
mod groups;
mod ids;
mod information;
mod options;
mod reading;
mod trimming;

pub(crate) use options::{group_of, key_places, keys, line_for, time_limit, waits};
pub(crate) use reading::{gone, is_behind};

use super::{BLOCKING, COUNTED, Command, FAST, MORE, NO_KEYS, ONE_KEY, WRITE, on_data, reads};
use crate::data::{EntryId, Fields, Room};
use crate::failure::Failure;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "xadd",
        -5,
        WRITE | MORE | FAST,
        ONE_KEY,
        entries::xadd,
        "Adds an entry to a stream",
    ),
    reads!(
        "xlen",
        2,
        FAST,
        ONE_KEY,
        entries::xlen,
        "Counts the entries of a stream"
    ),
    reads!(
        "xrange",
        -4,
        0,
        ONE_KEY,
        entries::xrange,
        "Returns the entries of a stream between two ids"
    ),
    reads!(
        "xrevrange",
        -4,
        0,
        ONE_KEY,
        entries::xrevrange,
        "Returns the entries of a stream between two ids, the last one first"
    ),
    on_data(
        "xdel",
        -3,
        WRITE | FAST,
        ONE_KEY,
        entries::xdel,
        "Deletes entries of a stream",
    ),
    on_data(
        "xtrim",
        -4,
        WRITE,
        ONE_KEY,
        trimming::xtrim,
        "Deletes the oldest entries of a stream",
    ),
    on_data(
        "xsetid",
        -3,
        WRITE | MORE | FAST,
        ONE_KEY,
        entries::xsetid,
        "Sets the last id of a stream",
    ),
    reads!(
        "xread",
        -4,
        BLOCKING,
        NO_KEYS,
        reading::xread,
        "Returns entries of streams behind given ids, or waits for some"
    ),
    on_data(
        "xreadgroup",
        -7,
        WRITE | BLOCKING,
        NO_KEYS,
        reading::xreadgroup,
        "Delivers entries of streams to a consumer, or waits for some",
    ),
    on_data(
        "xgroup",
        -2,
        WRITE | MORE,
        (2, 2, 1),
        groups::xgroup,
        "Makes and deletes groups of a stream, and their consumers",
    ),
    on_data(
        "xack",
        -4,
        WRITE | FAST,
        ONE_KEY,
        groups::xack,
        "Takes entries from those that are pending in a group",
    ),
    reads!(
        "xpending",
        -3,
        0,
        ONE_KEY,
        groups::xpending,
        "Says which entries are pending in a group"
    ),
    on_data(
        "xclaim",
        -6,
        WRITE | FAST,
        ONE_KEY,
        claiming::xclaim,
        "Gives pending entries to another consumer",
    ),
    on_data(
        "xautoclaim",
        -6,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        claiming::xautoclaim,
        "Gives entries that are pending for long to another consumer",
    ),
    reads!(
        "xinfo",
        -2,
        0,
        (2, 2, 1),
        information::xinfo,
        "Says what a stream, its groups and their consumers are"
    ),
];

/// An id as it is answered.
fn id_reply(id: EntryId) -> Reply {
    Reply::Bulk(id.to_string().into_bytes())
}

/// An entry as it is answered: its id, and its fields with their values. Takes room for it; `None` if there is not enough.
fn entry_reply(room: &Room, id: EntryId, fields: &[u8]) -> Option<Reply> {
    let mut parts = Vec::new();
    for part in Fields::unpack(fields) {
        if !room.take(part.len()) {
            return None;
        }
        parts.push(Reply::Bulk(part.to_vec()));
    }
    let has_room = room.take(size_of::<[Reply; 3]>());
    has_room.then(|| Reply::Array(vec![id_reply(id), Reply::Array(parts)]))
}

/// The error for a missing group or key.
fn no_group(key: &[u8], group: &[u8], where_: &str) -> Failure {
    let [key, group] = [key, group].map(String::from_utf8_lossy);
    Failure::Said(format!(
        "NOGROUP No such key '{key}' or consumer group '{group}'{where_}"
    ))
}

/// The same, of a key that is there.
fn no_group_of(key: &[u8], group: &[u8]) -> Failure {
    let [key, group] = [key, group].map(String::from_utf8_lossy);
    Failure::Said(format!(
        "NOGROUP No such consumer group '{group}' for key name '{key}'"
    ))
}

/// The error for wrong words behind a subcommand.
fn wrong_words(command: &str, subcommand: &[u8]) -> Failure {
    let subcommand = String::from_utf8_lossy(&subcommand[..subcommand.len().min(128)]);
    Failure::Said(format!(
        "ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try {command} HELP."
    ))
}
