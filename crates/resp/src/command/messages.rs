//! Messages on channels: `PUBLISH`, which is a part of its transaction, and `PUBSUB`, which reports listeners.

use super::line::Line;
use super::words::is;
use super::{Command, FAST, MESSAGES, NO_KEYS, ONE_KEY, reads, subcommands};
use crate::channels::{Kind, check_message, matching, names};
use crate::data::{Data, State, check_key};
use crate::failure::Failure;
use crate::pattern::matches;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        flags: MESSAGES | FAST,
        ..reads!(
            "publish",
            3,
            0,
            NO_KEYS,
            publish,
            "Sends a message to a channel"
        )
    },
    Command {
        flags: MESSAGES | FAST,
        ..reads!(
            "spublish",
            3,
            0,
            ONE_KEY,
            spublish,
            "Sends a message to a shard channel"
        )
    },
    Command {
        flags: MESSAGES,
        ..reads!(
            "pubsub",
            -2,
            0,
            NO_KEYS,
            pubsub,
            "Says who listens to which channels"
        )
    },
];

fn publish<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    send(data, Kind::Channel, line)
}

fn spublish<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    send(data, Kind::Shard, line)
}

/// The message is posted when the transaction commits.
fn send<S: State>(data: &mut Data<'_, S>, kind: Kind, line: &Line) -> Result<Reply, Failure> {
    let (name, payload) = (line.part(1), line.part(2));
    // The same limits as for listeners, so that a message fits the memory for a client's pending messages.
    check_key(name)?;
    check_message(payload)?;
    let (messages, count) = matching(data.shared.posting.hub(), kind, name, payload);
    data.messages.add(messages)?;
    Ok(Reply::count(count))
}

fn pubsub<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let hub = data.shared.posting.hub();
    let word = line.part(1);
    let channels = |kind| {
        if line.len() > 3 {
            let word = String::from_utf8_lossy(word);
            return Err(Failure::Said(format!(
                "ERR unknown subcommand or wrong number of arguments for '{word}'. Try PUBSUB HELP."
            )));
        }
        let pattern = (line.len() > 2).then(|| line.part(2));
        let found = names(hub, kind, |name| {
            pattern.is_none_or(|pattern| matches(pattern, name))
        });
        Ok(Reply::bulks(found))
    };
    let counts = |kind: Kind| {
        let count = |name| hub.look(|channels| channels.listeners(&kind.address(name)));
        let pairs = line.parts(2);
        let pairs = pairs.flat_map(|name| [Reply::Bulk(name.to_vec()), Reply::count(count(name))]);
        Reply::Array(pairs.collect())
    };
    match word {
        word if is(word, "channels") => channels(Kind::Channel),
        word if is(word, "shardchannels") => channels(Kind::Shard),
        word if is(word, "numsub") => Ok(counts(Kind::Channel)),
        word if is(word, "shardnumsub") => Ok(counts(Kind::Shard)),
        word if is(word, "numpat") => Ok(Reply::count(names(hub, Kind::Pattern, |_| true).len())),
        _ => Ok(subcommands::help("pubsub")),
    }
}
