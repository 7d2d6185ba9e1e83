//! Commands by name, with their `COMMAND` data and their functions.
//!
//! Each family has a module, with a table of its commands at the top; [`find`] searches all of them. A command on data
//! is a function of the transaction's [`Data`] and the [`Line`] that was sent. The session runs commands of the
//! connection, in `session`.
//!
//! A command checks all its keys (`check_key`, kind, `entry_to_change`) before it changes one, since a refused command
//! changes nothing. Two keys may be the same. Each changed key gets an event. A new command: `docs/internals/redis.md`.

mod bitfields;
mod bits;
mod common_texts;
mod counters;
mod databases;
mod functions;
mod hashes;
mod hyperloglogs;
mod keys;
pub(crate) mod libraries;
pub(crate) mod line;
mod lists;
mod messages;
mod objects;
pub(crate) mod of_session;
mod pairs;
mod payloads;
mod places;
mod popping;
mod range;
mod scan;
mod scripts;
mod set_operations;
mod sets;
mod sorted_reads;
mod sorted_sets;
mod sorted_stores;
mod sorting;
pub(crate) mod streams;
mod strings;
pub(crate) mod subcommands;
pub(crate) mod waiting;
mod whole;
pub(crate) mod words;

use crate::data::{Data, Live};
use crate::failure::Failure;
use crate::reply::Reply;
use line::Line;
use sardonyx::rows::SpaceSnapshot;
use sardonyx_base::hash::{Fnv1a, IntegerMap};
use std::cell::Cell;
use std::sync::OnceLock;

/// Runs a command on data.
pub(crate) type Run = fn(&mut Live<'_, '_>, &Line) -> Result<Reply, Failure>;
/// The same in the state committed before a long transaction.
pub(crate) type RunBeside = fn(&mut Data<'_, &SpaceSnapshot>, &Line) -> Result<Reply, Failure>;

/// The longest name of a command, in bytes.
const NAME_BYTES_MAX: usize = 24;

/// It changes data.
pub(crate) const WRITE: u16 = 1;
/// It reads data only.
pub(crate) const READ: u16 = 2;
/// It takes a short time, however much data there is.
pub(crate) const FAST: u16 = 4;
/// It may add data.
pub(crate) const MORE: u16 = 8;
/// It runs before the client has authenticated.
pub(crate) const OPEN: u16 = 16;
/// It is for administrators.
pub(crate) const ADMIN: u16 = 32;
/// It cannot be in a transaction.
pub(crate) const ALONE: u16 = 64;
/// It calls functions, which receive the caller's name.
pub(crate) const CALLS: u16 = 128;
/// It is about messages on channels.
pub(crate) const MESSAGES: u16 = 256;
/// A script cannot run it.
pub(crate) const NO_SCRIPT: u16 = 512;
/// Its client waits if it finds nothing.
pub(crate) const BLOCKING: u16 = 1024;

/// It takes a short time, however much data there is, although `COMMAND` calls it slow, as Redis does.
pub(crate) const SHORT: u16 = 2048;

/// It takes as many elements as one of its parts says.
pub(crate) const COUNTED: u16 = 4096;

/// The part behind its key is the name of an element.
pub(crate) const ELEMENT: u16 = 8192;

/// The second part behind its key is the name of an element.
pub(crate) const ELEMENT_BEHIND: u16 = 16384;

pub(crate) struct Command {
    pub name: &'static str,
    /// The number of parts, the name included; the least number, if negative.
    pub arity: i32,
    pub flags: u16,
    /// The numbers of the first and the last part that is a key, and the step; the last counts from the end, if negative.
    /// The access to each is in `session::command_about::key_flags`.
    pub keys: (i32, i32, i32),
    pub summary: &'static str,
    /// Runs it on data; `None` if the session runs it.
    pub run: Option<Run>,
    /// The same beside a long transaction, of a command that only reads.
    pub beside: Option<RunBeside>,
}

/// A command, and its subcommand if it has any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub command: &'static Command,
    pub subcommand: Option<&'static str>,
}

/// The last command of a client that has sent none.
pub(crate) const NONE: Command = Command {
    name: "NULL",
    arity: 0,
    flags: 0,
    keys: NO_KEYS,
    summary: "",
    run: None,
    beside: None,
};

/// A command on data.
pub(crate) const fn on_data(
    name: &'static str,
    arity: i32,
    flags: u16,
    keys: (i32, i32, i32),
    run: Run,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        flags,
        keys,
        summary,
        run: Some(run),
        beside: None,
    }
}

/// A command that only reads data: its code is compiled for each state in which it runs.
macro_rules! reads {
    ($name:literal, $arity:literal, $flags:expr, $keys:expr, $run:path, $summary:literal) => {
        $crate::command::Command {
            name: $name,
            arity: $arity,
            flags: $crate::command::READ | $flags,
            keys: $keys,
            summary: $summary,
            run: Some(|data, line| $run(data, line)),
            beside: Some(|data, line| $run(data, line)),
        }
    };
}
use reads;

/// The first part is the key.
pub(crate) const ONE_KEY: (i32, i32, i32) = (1, 1, 1);
/// All parts are keys.
pub(crate) const ALL_KEYS: (i32, i32, i32) = (1, -1, 1);
/// The first two parts are keys.
pub(crate) const TWO_KEYS: (i32, i32, i32) = (1, 2, 1);
/// No part is a key, or not one of a fixed place.
pub(crate) const NO_KEYS: (i32, i32, i32) = (0, 0, 0);

const FAMILIES: &[(&str, &[Command])] = &[
    ("string", strings::COMMANDS),
    ("string", counters::COMMANDS),
    ("string", common_texts::COMMANDS),
    ("geo", places::COMMANDS),
    ("hyperloglog", hyperloglogs::COMMANDS),
    ("bitmap", bits::COMMANDS),
    ("bitmap", bitfields::COMMANDS),
    ("generic", keys::COMMANDS),
    ("generic", databases::COMMANDS),
    ("generic", objects::COMMANDS),
    ("generic", payloads::COMMANDS),
    ("generic", scan::COMMANDS),
    ("generic", sorting::COMMANDS),
    ("hash", hashes::COMMANDS),
    ("list", lists::COMMANDS),
    ("list", popping::COMMANDS),
    ("sorted-set", popping::SORTED),
    ("set", sets::COMMANDS),
    ("set", set_operations::COMMANDS),
    ("sorted-set", sorted_sets::COMMANDS),
    ("sorted-set", sorted_reads::COMMANDS),
    ("sorted-set", sorted_stores::COMMANDS),
    ("stream", streams::COMMANDS),
    ("scripting", functions::COMMANDS),
    ("scripting", libraries::COMMANDS),
    ("scripting", scripts::COMMANDS),
    ("pubsub", messages::COMMANDS),
    ("pubsub", of_session::LISTENING),
    ("connection", of_session::COMMANDS),
];

/// All commands, with the name of their family.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static Command)> {
    let families = FAMILIES.iter();
    families.flat_map(|(group, commands)| commands.iter().map(|command| (*group, command)))
}

/// The command with this name, ignoring case.
#[inline]
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    thread_local! {
        /// The commands found last, with their names as they were sent: clients send the same few again and again.
        static LAST: [Found; LAST_COUNT] = const { [const { Cell::new((0, None)) }; LAST_COUNT] };
    }
    let word = short_word(name);
    // The bytes of all letters are in the highest bits of the product.
    let place = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LAST_BITS)) as usize;
    let (last, command) = LAST.with(|found| found[place].get());
    if word != 0 && word == last {
        return command;
    }
    let found = search(name);
    if found.is_some() {
        LAST.with(|last| last[place].set((word, found)));
    }
    found
}

/// A name as one word, and its command.
type Found = Cell<(u64, Option<&'static Command>)>;
const LAST_BITS: u32 = 4;
const LAST_COUNT: usize = 1 << LAST_BITS;

/// The bytes of a name and its length in one word; 0 of a longer name.
#[inline]
fn short_word(name: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let of_length = (name.len() as u64) << 56;
    match name {
        [a, b, c] => of_length | word(&[*a, *b, *c]),
        [a, b, c, d] => of_length | word(&[*a, *b, *c, *d]),
        [a, b, c, d, e] => of_length | word(&[*a, *b, *c, *d, *e]),
        _ if name.len() <= 7 => of_length | word(name),
        _ => 0,
    }
}

fn search(name: &[u8]) -> Option<&'static Command> {
    // By a short hash of the name: it is looked for several times for each command. No two names have the same.
    static BY_NAME: OnceLock<IntegerMap<u64, &'static Command>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        all()
            .map(|(_, command)| (Fnv1a::of(command.name.as_bytes()), command))
            .collect()
    });
    let mut lower = [0; NAME_BYTES_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let found = by_name.get(&Fnv1a::of(lower)).copied();
    found.filter(|command| command.name.as_bytes() == lower)
}

/// The command of a line: of one whose subcommands are of several kinds, the one of its subcommand's.
pub(crate) fn of_line(line: &Line) -> Option<&'static Command> {
    find(line.part(0)).map(|command| libraries::of_line(command, line))
}

/// True if a line has a command's name, and one of its numbers of parts.
#[inline]
pub(crate) fn is_of(command: &'static Command, line: &Line) -> bool {
    find(line.part(0)).is_some_and(|found| std::ptr::eq(found, command))
        && command.takes(line.len())
}

/// True if an arity allows this number of parts.
fn takes(arity: i32, parts: usize) -> bool {
    let parts = i32::try_from(parts).unwrap_or(i32::MAX);
    match arity < 0 {
        true => parts >= -arity,
        false => parts == arity,
    }
}

/// Which part says how many keys follow it, of a command that has no fixed number of them.
pub(crate) fn counted_keys(name: &str) -> Option<usize> {
    match name {
        "zunion" | "zinter" | "zdiff" | "zintercard" | "sintercard" | "lmpop" | "zmpop" => Some(1),
        "blmpop" | "bzmpop" | "zunionstore" | "zinterstore" | "zdiffstore" | "fcall"
        | "fcall_ro" | "eval" | "eval_ro" | "evalsha" | "evalsha_ro" => Some(2),
        _ => None,
    }
}

impl Command {
    /// True if this number of parts is allowed.
    pub fn takes(&self, parts: usize) -> bool {
        takes(self.arity, parts)
    }

    pub fn is(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    /// The error for a wrong number of parts.
    pub fn wrong_arguments(&self) -> Failure {
        Failure::Arguments(self.name.to_string())
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Command")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_there_once_and_found_in_any_case() {
        let mut names: Vec<_> = all().map(|(_, command)| command.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for name in names {
            assert_eq!(name, name.to_ascii_lowercase());
            assert!(name.len() <= NAME_BYTES_MAX, "{name}");
            let found = find(name.to_ascii_uppercase().as_bytes());
            assert_eq!(found.map(|command| command.name), Some(name));
        }
        assert!(find(b"no such command").is_none() && find(&[b'a'; 100]).is_none());
    }

    #[test]
    fn each_command_that_may_wait_is_looked_for() {
        let waiting = all().filter(|(_, command)| command.is(BLOCKING));
        for (_, command) in waiting {
            let upper = command.name.to_ascii_uppercase();
            for name in [command.name, &upper] {
                assert!(waiting::is_of_blocking(name.as_bytes()), "{name}");
            }
        }
    }

    #[test]
    fn each_command_on_data_writes_or_can_run_beside() {
        // One that could do neither would get no answer of a database that is followed.
        for (_, command) in all().filter(|(_, command)| command.run.is_some()) {
            let is_of_one_kind = command.is(WRITE) != command.beside.is_some();
            assert!(is_of_one_kind, "{}", command.name);
        }
    }
}
