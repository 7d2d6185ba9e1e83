//! The commands that a session runs itself: of the connection, and of channels to which a client listens. Their code is in
//! [`crate::session`].

use super::{ADMIN, ALL_KEYS, ALONE, Command, FAST, MESSAGES, NO_KEYS, NO_SCRIPT, OPEN};

const fn of_session(name: &'static str, arity: i32, flags: u16, summary: &'static str) -> Command {
    Command {
        name,
        arity,
        flags,
        keys: NO_KEYS,
        summary,
        run: None,
        beside: None,
    }
}

const fn watch() -> Command {
    let command = of_session(
        "watch",
        -2,
        FAST | NO_SCRIPT,
        "Has EXEC done only if keys have not changed",
    );
    Command {
        keys: ALL_KEYS,
        ..command
    }
}

pub(super) const COMMANDS: &[Command] = &[
    of_session("ping", -1, FAST, "Answers"),
    of_session("echo", 2, FAST, "Returns what was sent"),
    of_session("quit", -1, FAST | OPEN | NO_SCRIPT, "Ends the connection"),
    of_session(
        "reset",
        1,
        FAST | OPEN | NO_SCRIPT,
        "Makes the connection a new one",
    ),
    of_session(
        "hello",
        -1,
        FAST | OPEN | NO_SCRIPT,
        "Says which version of the protocol the client speaks",
    ),
    of_session(
        "auth",
        -2,
        FAST | OPEN | NO_SCRIPT,
        "Says who the client is",
    ),
    of_session("select", 2, FAST, "Goes to another database"),
    of_session("client", -2, 0, "Says something of the connection"),
    of_session("multi", 1, FAST | NO_SCRIPT, "Begins a transaction"),
    of_session(
        "exec",
        1,
        NO_SCRIPT,
        "Runs the commands since MULTI as a transaction",
    ),
    of_session(
        "discard",
        1,
        FAST | NO_SCRIPT,
        "Forgets the commands since MULTI",
    ),
    watch(),
    of_session(
        "unwatch",
        1,
        FAST | NO_SCRIPT,
        "Has EXEC done whatever changed",
    ),
    of_session("command", -1, 0, "Says what commands there are"),
    of_session("info", -1, 0, "Says how the server is"),
    of_session("config", -2, ADMIN, "Says how the server is set"),
    of_session("time", 1, FAST, "Returns the time"),
    of_session(
        "lastsave",
        1,
        FAST,
        "Returns when a checkpoint was taken last",
    ),
    of_session(
        "save",
        1,
        ADMIN | ALONE | NO_SCRIPT,
        "Begins a checkpoint; everything is durable anyway",
    ),
    of_session("bgsave", -1, ADMIN | NO_SCRIPT, "Begins a checkpoint"),
    of_session(
        "wait",
        3,
        NO_SCRIPT,
        "Returns how many replicas have what was written: 0",
    ),
    of_session(
        "waitaof",
        4,
        0,
        "Returns how many disks have what was written: 1 here, 0 elsewhere",
    ),
    of_session(
        "monitor",
        1,
        ADMIN | ALONE | NO_SCRIPT,
        "Shows what all clients do",
    ),
    of_session("slowlog", -2, ADMIN, "Says which commands took long"),
    of_session("latency", -2, ADMIN, "Says how long commands took"),
    of_session("debug", -2, ADMIN | NO_SCRIPT, "Refused"),
];

const fn listens(
    name: &'static str,
    arity: i32,
    keys: (i32, i32, i32),
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        flags: MESSAGES | NO_SCRIPT | ALONE,
        keys,
        summary,
        run: None,
        beside: None,
    }
}

pub(crate) const LISTENING: &[Command] = &[
    listens("subscribe", -2, NO_KEYS, "Begins to listen to channels"),
    listens(
        "psubscribe",
        -2,
        NO_KEYS,
        "Begins to listen to patterns of channels",
    ),
    listens(
        "ssubscribe",
        -2,
        ALL_KEYS,
        "Begins to listen to shard channels",
    ),
    listens("unsubscribe", -1, NO_KEYS, "Ends to listen to channels"),
    listens(
        "punsubscribe",
        -1,
        NO_KEYS,
        "Ends to listen to patterns of channels",
    ),
    listens(
        "sunsubscribe",
        -1,
        ALL_KEYS,
        "Ends to listen to shard channels",
    ),
];
