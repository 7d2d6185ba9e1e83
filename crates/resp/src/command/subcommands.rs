//! Subcommands: which there are of `CLIENT`, `OBJECT` and the like, and how many parts each has.
//!
//! As in Redis they are checked before a command is run or queued, so that an unknown one makes `EXEC` refuse.

use super::{Command, FAST, Named};
use crate::command::line::Line;
use crate::failure::Failure;
use crate::reply::Reply;

struct Subcommand {
    name: &'static str,
    /// The number of parts, both names included; if negative, the least number of them.
    arity: i32,
    /// Its arguments, as `HELP` shows them.
    arguments: &'static str,
}

const fn of(name: &'static str, arity: i32, arguments: &'static str) -> Subcommand {
    Subcommand {
        name,
        arity,
        arguments,
    }
}

const HELP: Subcommand = of("help", 2, "");

/// The subcommands of each command that has any.
const ALL: &[(&str, &[Subcommand])] = &[
    (
        "client",
        &[
            of("caching", 3, "(YES|NO)"),
            of("getname", 2, ""),
            of("getredir", 2, ""),
            of("id", 2, ""),
            of("info", 2, ""),
            of("kill", -3, "<ip:port> | <option> <value> [...]"),
            of("list", -2, "[TYPE <type>] [ID <id> [<id> ...]]"),
            of("no-evict", 3, "(ON|OFF)"),
            of("no-touch", 3, "(ON|OFF)"),
            of("pause", -3, "<timeout> [WRITE|ALL]"),
            of("reply", 3, "(ON|OFF|SKIP)"),
            of("setinfo", 4, "(LIB-NAME|LIB-VER) <text>"),
            of("setname", 3, "<name>"),
            of("tracking", -3, "(ON|OFF)"),
            of("trackinginfo", 2, ""),
            of("unpause", 2, ""),
            of("unblock", -3, "<id> [TIMEOUT|ERROR]"),
            HELP,
        ],
    ),
    (
        "command",
        &[
            of("count", 2, ""),
            of("docs", -2, "[<command> ...]"),
            of("getkeys", -4, "<command> <argument> [<argument> ...]"),
            of(
                "getkeysandflags",
                -4,
                "<command> <argument> [<argument> ...]",
            ),
            of("info", -2, "[<command> ...]"),
            of(
                "list",
                -2,
                "[FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
            ),
            HELP,
        ],
    ),
    (
        "config",
        &[
            of("get", -3, "<pattern> [<pattern> ...]"),
            of("resetstat", 2, ""),
            of("rewrite", 2, ""),
            // Refused for each setting, by its name.
            of("set", -4, "<setting> <value>"),
            HELP,
        ],
    ),
    (
        "function",
        &[
            of("list", -2, "[LIBRARYNAME <pattern>]"),
            // Refused: a function is registered by a program, or is a procedure of SQL.
            of("delete", 3, "<name>"),
            of("dump", 2, ""),
            of("flush", -2, ""),
            of("kill", 2, ""),
            of("load", -3, "<code>"),
            of("restore", -3, "<functions>"),
            of("stats", 2, ""),
            HELP,
        ],
    ),
    (
        "latency",
        &[
            of("doctor", 2, ""),
            // Refused: its picture is none of the samples.
            of("graph", 3, "<event>"),
            of("histogram", -2, "[<command> ...]"),
            of("history", 3, "<event>"),
            of("latest", 2, ""),
            of("reset", -2, "[<event> ...]"),
            HELP,
        ],
    ),
    (
        "memory",
        &[
            of("doctor", 2, ""),
            of("usage", -3, "<key> [SAMPLES <count>]"),
            HELP,
        ],
    ),
    (
        "object",
        &[
            of("encoding", 3, "<key>"),
            of("freq", 3, "<key>"),
            of("idletime", 3, "<key>"),
            of("refcount", 3, "<key>"),
            HELP,
        ],
    ),
    (
        "script",
        &[
            of("debug", 3, "(YES|SYNC|NO)"),
            of("exists", -3, "<sha1> [<sha1> ...]"),
            of("flush", -2, "[ASYNC|SYNC]"),
            of("kill", 2, ""),
            of("load", 3, "<script>"),
            HELP,
        ],
    ),
    (
        "slowlog",
        &[
            of("get", -2, "[<count>]"),
            of("len", 2, ""),
            of("reset", 2, ""),
            HELP,
        ],
    ),
    (
        "pubsub",
        &[
            of("channels", -2, "[<pattern>]"),
            of("numpat", 2, ""),
            of("numsub", -2, "[<channel> ...]"),
            of("shardchannels", -2, "[<pattern>]"),
            of("shardnumsub", -2, "[<shardchannel> ...]"),
            HELP,
        ],
    ),
    (
        "xgroup",
        &[
            of(
                "create",
                -5,
                "<key> <group> <id|$> [MKSTREAM] [ENTRIESREAD <count>]",
            ),
            of("createconsumer", 5, "<key> <group> <consumer>"),
            of("delconsumer", 5, "<key> <group> <consumer>"),
            of("destroy", 4, "<key> <group>"),
            of("setid", -5, "<key> <group> <id|$> [ENTRIESREAD <count>]"),
            HELP,
        ],
    ),
    (
        "xinfo",
        &[
            of("consumers", 4, "<key> <group>"),
            of("groups", 3, "<key>"),
            of("stream", -3, "<key> [FULL [COUNT <count>]]"),
            HELP,
        ],
    ),
];

/// True of most commands without subcommands, found without a look at their names: most have a key where a subcommand would
/// be, and those with subcommands are slow.
#[inline]
fn has_none(command: &Command) -> bool {
    command.keys.0 == 1 || command.is(FAST)
}

#[inline]
fn subcommands(command: &Command) -> Option<&'static [Subcommand]> {
    if has_none(command) {
        return None;
    }
    let found = ALL.iter().find(|(name, _)| *name == command.name);
    found.map(|(_, subcommands)| *subcommands)
}

pub(crate) fn has_any(command: &Command) -> bool {
    subcommands(command).is_some()
}

/// Refuses a subcommand that is not there, and one with another number of parts.
#[inline]
pub(crate) fn check(command: &Command, line: &Line) -> Result<(), Failure> {
    match has_none(command) {
        true => Ok(()),
        false => check_named(command, line),
    }
}

fn check_named(command: &Command, line: &Line) -> Result<(), Failure> {
    /// So much of a name is shown.
    const SHOWN_MAX: usize = 128;
    let word = line.part(1);
    let Some(subcommands) = subcommands(command).filter(|_| line.len() > 1) else {
        return Ok(());
    };
    let is_it = |sub: &&Subcommand| super::words::is(word, sub.name);
    let Some(found) = subcommands.iter().find(is_it) else {
        let word = String::from_utf8_lossy(&word[..word.len().min(SHOWN_MAX)]);
        let name = command.name.to_ascii_uppercase();
        return Err(Failure::Said(format!(
            "ERR unknown subcommand '{word}'. Try {name} HELP."
        )));
    };
    match super::takes(found.arity, line.len()) {
        true => Ok(()),
        false => Err(Failure::Arguments(format!(
            "{}|{}",
            command.name, found.name
        ))),
    }
}

pub(crate) fn name(command: &Command, line: &Line) -> Option<&'static str> {
    let is_it = |sub: &&Subcommand| super::words::is(line.part(1), sub.name);
    let found = subcommands(command)?.iter().find(is_it)?;
    Some(found.name)
}

/// Looks for the subcommand in the line.
#[inline]
pub(crate) fn named(command: &'static Command, line: &Line) -> Named {
    Named {
        command,
        subcommand: name(command, line),
    }
}

pub(crate) fn full_name(command: &Command, line: &Line) -> String {
    match name(command, line) {
        Some(found) => format!("{}|{found}", command.name),
        None => command.name.to_string(),
    }
}

/// The names of a command's subcommands, each behind its own.
pub(crate) fn full_names(command: &Command) -> impl Iterator<Item = String> {
    let subcommands = subcommands(command).unwrap_or_default().iter();
    subcommands.map(|sub| format!("{}|{}", command.name, sub.name))
}

/// The answer to `HELP` of a command.
pub(crate) fn help(command: &str) -> Reply {
    let found = ALL.iter().find(|(name, _)| *name == command);
    let subcommands = found.map_or(&[][..], |(_, subcommands)| subcommands);
    let line = |sub: &Subcommand| {
        let text = format!("{} {}", sub.name.to_ascii_uppercase(), sub.arguments);
        Reply::Bulk(text.trim_end().into())
    };
    let name = command.to_ascii_uppercase();
    let first = format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let lines = subcommands.iter().map(line);
    Reply::Array(
        std::iter::once(Reply::Bulk(first.into()))
            .chain(lines)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_with_subcommands_are_there_and_each_has_help() {
        for (name, subcommands) in ALL {
            let command = super::super::find(name.as_bytes());
            assert!(command.is_some_and(|found| !has_none(found)), "{name}");
            assert!(subcommands.iter().any(|sub| sub.name == "help"), "{name}");
            match help(name) {
                Reply::Array(lines) => assert_eq!(lines.len(), subcommands.len() + 1),
                other => panic!("{other:?}"),
            }
        }
    }
}
