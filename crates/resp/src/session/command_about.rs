//! `COMMAND`: the list of commands, and information about each.

use crate::command::line::Line;
use crate::command::words::{Words, is};
use crate::command::{
    self, ADMIN, ALONE, BLOCKING, CALLS, Command, FAST, MESSAGES, MORE, NO_KEYS, NO_SCRIPT, OPEN,
    READ, WRITE, subcommands,
};
use crate::failure::Failure;
use crate::pattern::matches;
use crate::reply::Reply;

/// `COMMAND` and its subcommands.
pub(super) fn about(line: &Line) -> Result<Reply, Failure> {
    let word = line.part(1);
    let named = || {
        let all = command::all().filter(|(_, command)| {
            line.len() == 2 || line.parts(2).any(|name| is(name, command.name))
        });
        all.collect::<Vec<_>>()
    };
    match word {
        _ if line.len() == 1 => Ok(Reply::Array(
            command::all()
                .map(|(group, command)| described(group, command))
                .collect(),
        )),
        word if is(word, "count") => Ok(Reply::count(command::all().count())),
        word if is(word, "list") => listed_commands(line),
        word if is(word, "info") && line.len() > 2 => {
            let one = |name: &[u8]| {
                let mut all = command::all();
                let found = all.find(|(_, command)| is(name, command.name));
                found.map_or(Reply::NullArray, |(group, command)| {
                    described(group, command)
                })
            };
            Ok(Reply::Array(line.parts(2).map(one).collect()))
        }
        word if is(word, "info") => Ok(Reply::Array(
            command::all()
                .map(|(group, command)| described(group, command))
                .collect(),
        )),
        word if is(word, "docs") => {
            let docs = named().into_iter().map(|(group, command)| {
                let facts = [
                    ("summary", command.summary),
                    ("since", "1.0.0"),
                    ("group", group),
                ];
                let facts = facts.map(|(name, text)| (Reply::Text(name), Reply::Text(text)));
                (Reply::Text(command.name), Reply::Map(facts.to_vec()))
            });
            Ok(Reply::Map(docs.collect()))
        }
        word if is(word, "getkeys") => {
            let keys = keys_of(line)?.into_iter();
            Ok(Reply::bulks(keys.map(|key| line.part(key + 2).to_vec())))
        }
        word if is(word, "getkeysandflags") => keys_and_flags_of(line),
        _ => Ok(subcommands::help("command")),
    }
}

/// The names of the commands, all or those that a filter asks for.
fn listed_commands(line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let mut pattern = None;
    if words.left() > 0 {
        if words.left() != 3 || !words.take("filterby") {
            return Err(Failure::Syntax);
        }
        match words.wanted()? {
            word if is(word, "pattern") => pattern = Some(words.wanted()?.to_ascii_lowercase()),
            // No command is of a module.
            word if is(word, "module") => return Ok(Reply::Array(Vec::new())),
            word if is(word, "aclcat") => {
                let category = words.wanted()?.to_ascii_lowercase();
                let of_it = command::all().filter(|(group, command)| {
                    let categories = categories(group, command);
                    categories.iter().any(|name| name.as_bytes() == category)
                });
                let names = of_it.map(|(_, command)| Reply::Text(command.name));
                return Ok(Reply::Array(names.collect()));
            }
            _ => return Err(Failure::Syntax),
        }
    }
    let wanted = |name: &str| {
        let pattern = pattern.as_deref();
        pattern.is_none_or(|pattern| matches(pattern, name.as_bytes()))
    };
    let names = command::all().flat_map(|(_, command)| {
        let own = std::iter::once(command.name.to_string());
        own.chain(subcommands::full_names(command))
    });
    let names = names.filter(|name| wanted(name));
    Ok(Reply::bulks(names.map(String::into_bytes)))
}

/// The numbers of the parts that are keys, of the command that is behind the subcommand's name.
fn keys_of(line: &Line) -> Result<Vec<usize>, Failure> {
    key_places(line, 2)
}

/// The same of a command whose name is the part of a number; the numbers count from there.
pub(super) fn key_places(line: &Line, from: usize) -> Result<Vec<usize>, Failure> {
    let command =
        command::find(line.part(from)).ok_or(Failure::Told("ERR Invalid command specified"))?;
    let parts = line.len().saturating_sub(from);
    if !command.takes(parts) {
        return Err(Failure::Told(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    if matches!(command.name, "xread" | "xreadgroup") {
        let line = Line::of(&line.parts(from).collect::<Vec<_>>());
        let places = command::streams::key_places(&line);
        let places = places.ok_or(Failure::Told("ERR Invalid arguments specified for command"))?;
        return Ok(places.collect());
    }
    let (first, last, step) = command.keys;
    if let Some(place) = command::counted_keys(command.name) {
        return counted_keys_of(line, from, place, first);
    }
    if first == 0 {
        return Err(Failure::Told("ERR The command has no key arguments"));
    }
    if matches!(command.name, "sort" | "georadius" | "georadiusbymember") {
        return Ok(keys_and_stored_of(line, from));
    }
    let last = if last < 0 { parts as i32 + last } else { last };
    let keys = (first..=last).step_by(step.max(1) as usize);
    Ok(keys.map(|key| key as usize).collect())
}

/// The first key, and the one behind the last `STORE`.
fn keys_and_stored_of(line: &Line, from: usize) -> Vec<usize> {
    let stores = |place: &usize| {
        let word = line.part(place + from);
        is(word, "store") || is(word, "storedist")
    };
    let last = (2..line.len().saturating_sub(from + 1)).rev().find(stores);
    [Some(1), last.map(|place| place + 1)]
        .into_iter()
        .flatten()
        .collect()
}

/// The keys of a command whose part `place` says how many follow; before them the one where it stores, if it does.
fn counted_keys_of(
    line: &Line,
    from: usize,
    place: usize,
    stored: i32,
) -> Result<Vec<usize>, Failure> {
    let part = |number: usize| line.part(number + from);
    let count = crate::number::parse_integer(part(place)).and_then(|n| usize::try_from(n).ok());
    let there = line.len().saturating_sub(place + from + 1);
    // A script may have no keys.
    let least = usize::from(part(0).first().is_none_or(|first| !b"eEfF".contains(first)));
    let count = count.filter(|count| (least..=there).contains(count));
    let count = count.ok_or(Failure::Told("ERR Invalid arguments specified for command"))?;
    let stored = (stored == 1).then_some(1);
    Ok(stored
        .into_iter()
        .chain(place + 1..=place + count)
        .collect())
}

/// The keys, each with the command's access to it.
fn keys_and_flags_of(line: &Line) -> Result<Reply, Failure> {
    let keys = keys_of(line)?;
    let command =
        command::find(line.part(2)).ok_or(Failure::Told("ERR Invalid command specified"))?;
    let count = keys.len();
    let told = keys.into_iter().enumerate().map(|(place, key)| {
        let flags = key_flags(command, line, place, count).iter();
        let flags = flags.map(|flag| Reply::Simple(flag)).collect();
        Reply::Array(vec![
            Reply::Bulk(line.part(key + 2).to_vec()),
            Reply::Set(flags),
        ])
    });
    Ok(Reply::Array(told.collect()))
}

/// A command's access to one of its keys: if it reads, overwrites or removes the key, and for which purpose.
fn key_flags(
    command: &Command,
    line: &Line,
    place: usize,
    count: usize,
) -> &'static [&'static str] {
    match (command.name, place) {
        (name, _) if !command.is(WRITE) => match name {
            "exists" | "type" | "strlen" | "ttl" | "pttl" | "expiretime" | "pexpiretime"
            | "touch" | "object" | "memory" | "hlen" | "llen" | "scard" | "zcard" | "hexists"
            | "sismember" | "smismember" | "hstrlen" => &["RO"],
            _ => &["RO", "access"],
        },
        ("set", _) if line.parts(5).any(|word| is(word, "get")) => &["RW", "access", "update"],
        ("set" | "mset" | "setex" | "psetex", _) => &["OW", "update"],
        ("setnx" | "msetnx", _) => &["OW", "insert"],
        ("del" | "unlink", _) => &["RM", "delete"],
        ("lmove" | "blmove" | "rpoplpush" | "brpoplpush" | "smove" | "rename" | "renamenx", 0) => {
            &["RW", "access", "delete"]
        }
        ("lmove" | "blmove" | "rpoplpush" | "brpoplpush" | "smove", _) => &["RW", "insert"],
        ("rename", _) => &["OW", "update"],
        ("renamenx", _) => &["OW", "insert"],
        ("copy" | "sort", 0) => &["RO", "access"],
        ("copy" | "sort", _) => &["OW", "update"],
        (name, 0) if name.ends_with("store") && count > 1 => &["OW", "update"],
        (name, _) if name.ends_with("store") => &["RO", "access"],
        ("lpush" | "rpush" | "lpushx" | "rpushx" | "sadd" | "linsert" | "append" | "hsetnx", _) => {
            &["RW", "insert"]
        }
        (
            "hdel" | "srem" | "zrem" | "lrem" | "ltrim" | "zremrangebyscore" | "zremrangebyrank"
            | "zremrangebylex",
            _,
        ) => &["RW", "delete"],
        (
            "expire" | "pexpire" | "expireat" | "pexpireat" | "persist" | "hset" | "hmset"
            | "setrange" | "lset" | "zadd",
            _,
        ) => &["RW", "update"],
        (
            "lpop" | "rpop" | "blpop" | "brpop" | "spop" | "zpopmin" | "zpopmax" | "bzpopmin"
            | "bzpopmax" | "lmpop" | "blmpop" | "zmpop" | "bzmpop" | "getdel",
            _,
        ) => &["RW", "access", "delete"],
        _ => &["RW", "access", "update"],
    }
}

/// The categories of a command, by which rights are given in Redis.
fn categories(group: &str, command: &Command) -> Vec<&'static str> {
    if subcommands::has_any(command) {
        // Its subcommands have them.
        return vec!["slow"];
    }
    let mut categories = Vec::new();
    let of_group = match group {
        "generic" if command.name == "hscan" => Some("hash"),
        "generic" if command.name == "sscan" => Some("set"),
        "generic" if command.name == "zscan" => Some("sortedset"),
        "generic" if command.name.starts_with("sort") => {
            categories.extend(["set", "sortedset"]);
            Some("list")
        }
        "generic" => Some("keyspace"),
        "string" => Some("string"),
        "bitmap" => Some("bitmap"),
        "hash" => Some("hash"),
        "list" => Some("list"),
        "set" => Some("set"),
        "sorted-set" => Some("sortedset"),
        "hyperloglog" => Some("hyperloglog"),
        "geo" => Some("geo"),
        "scripting" => Some("scripting"),
        "stream" => Some("stream"),
        _ => match command.name {
            "multi" | "exec" | "discard" | "watch" | "unwatch" => Some("transaction"),
            "ping" | "echo" | "quit" | "reset" | "hello" | "auth" | "select" | "client"
            | "command" | "wait" => Some("connection"),
            _ => None,
        },
    };
    categories.extend(of_group);
    let is_admin = command.is(ADMIN) || command.name == "lastsave";
    let is_dangerous = is_admin
        || matches!(
            command.name,
            "flushdb" | "flushall" | "keys" | "swapdb" | "sort" | "sort_ro" | "info" | "restore"
        );
    for (has, category) in [
        (
            command.is(WRITE) && !command.is(CALLS) && group != "scripting",
            "write",
        ),
        (command.is(READ) && group != "scripting", "read"),
        (command.is(MESSAGES), "pubsub"),
        (command.is(BLOCKING), "blocking"),
        (is_admin, "admin"),
        (is_dangerous, "dangerous"),
        (command.is(FAST), "fast"),
        (!command.is(FAST), "slow"),
    ] {
        if has {
            categories.push(category);
        }
    }
    categories
}

/// True if the positions of a command's keys are not always the same.
fn moves_keys(command: &Command) -> bool {
    command::counted_keys(command.name).is_some()
        || command.name.starts_with("sort")
        || matches!(
            command.name,
            "georadius" | "georadiusbymember" | "migrate" | "xread" | "xreadgroup"
        )
}

fn described(group: &str, command: &Command) -> Reply {
    let words: [(u16, &str); 10] = [
        (WRITE, "write"),
        (READ, "readonly"),
        (MORE, "denyoom"),
        (FAST, "fast"),
        (OPEN, "no_auth"),
        (ADMIN, "admin"),
        (ALONE, "no_multi"),
        (MESSAGES, "pubsub"),
        (NO_SCRIPT, "noscript"),
        (BLOCKING, "blocking"),
    ];
    let hidden = match () {
        // Its subcommands have them.
        () if subcommands::has_any(command) => u16::MAX,
        // The keys that they write are known when they run.
        () if group == "scripting" => WRITE | MORE,
        () => 0,
    };
    let flags = words.iter().filter(|(flag, _)| command.is(flag & !hidden));
    let moves = moves_keys(command).then_some("movablekeys");
    let flags = flags.map(|(_, word)| *word).chain(moves);
    let flags = flags.map(Reply::Simple).collect();
    let categories = categories(group, command).into_iter();
    let categories = categories.map(|name| Reply::Status(format!("@{name}")));
    let (first, last, step) = match subcommands::has_any(command) {
        true => NO_KEYS,
        false => command.keys,
    };
    let places = [first, last, step].map(|place| Reply::Int(place.into()));
    let [first, last, step] = places;
    Reply::Array(vec![
        Reply::Text(command.name),
        Reply::Int(command.arity.into()),
        Reply::Set(flags),
        first,
        last,
        step,
        Reply::Set(categories.collect()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}
