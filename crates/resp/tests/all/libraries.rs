//! Libraries of functions: loaded by a transaction, durable, seen where data is, and called within the bounds of scripts.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx::Transaction;
use sardonyx::disk::Faults;
use sardonyx::low_level::Committed;
use sardonyx_resp::{
    Called, Failure, FunctionCall, Functions, Listed, Reply, Session, SessionOptions, Within,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn ask(session: &mut Session, parts: &[&str]) -> String {
    answers(&send(session, &encode(parts)).0).remove(0)
}

const CODE: &str = "#!lua name=lib
local function put(keys, args)
    redis.call('set', keys[1], args[1])
    return redis.call('get', keys[1])
end
redis.register_function('put', put)
redis.register_function{
    function_name = 'Look', description = 'reads',
    callback = function(keys) return redis.call('get', keys[1]) end,
    flags = {'no-writes'},
}
redis.register_function('fail', function(keys)
    redis.call('set', keys[1], 'half')
    local value = redis.call('incr', keys[1])
    return value
end)";

#[test]
fn a_library_is_durable_and_its_functions_run_as_transactions() {
    let world = World::new(1);
    let mut session = world.session();
    assert_eq!(ask(&mut session, &["FUNCTION", "LOAD", CODE]), "\"lib\"");
    assert_eq!(
        ask(&mut session, &["FUNCTION", "LOAD", CODE]),
        "-ERR Library lib already exists"
    );
    let world = world.restart(Faults::default());
    let mut session = world.session();
    assert_eq!(ask(&mut session, &["FCALL", "put", "1", "k", "v"]), "\"v\"");
    // With any case, and by the command that only reads if the function does.
    assert_eq!(ask(&mut session, &["FCALL_RO", "look", "1", "k"]), "\"v\"");
    assert_eq!(
        ask(&mut session, &["FCALL_RO", "put", "1", "k", "v"]),
        "-ERR Can not execute a script with write flag using *_ro command."
    );
    // The writes before an error are undone.
    let failed = ask(&mut session, &["FCALL", "fail", "1", "k"]);
    assert!(
        failed.contains("script: fail, on @user_function:14."),
        "{failed}"
    );
    assert_eq!(ask(&mut session, &["GET", "k"]), "\"v\"");
    // No FLUSHALL deletes it.
    assert_eq!(ask(&mut session, &["FLUSHALL"]), "+OK");
    assert_eq!(
        ask(&mut session, &["FUNCTION", "LIST", "LIBRARYNAME", "l*"]),
        "[[\"library_name\" \"lib\" \"engine\" \"LUA\" \"functions\" [[\"name\" \"fail\" \"description\" nil \"flags\" []] \
         [\"name\" \"Look\" \"description\" \"reads\" \"flags\" [\"no-writes\"]] \
         [\"name\" \"put\" \"description\" nil \"flags\" []]]]]"
    );
    assert_eq!(ask(&mut session, &["FUNCTION", "DELETE", "lib"]), "+OK");
    assert_eq!(
        ask(&mut session, &["FUNCTION", "DELETE", "lib"]),
        "-ERR Library not found"
    );
    assert_eq!(
        ask(&mut session, &["FCALL", "put", "1", "k", "v"]),
        "-ERR Function not found"
    );
}

#[test]
fn a_load_that_is_undone_has_not_been_and_no_name_is_there_twice() {
    let world = World::new(1);
    let mut session = world.session();
    world
        .keyspace
        .register_function("own", |_, _, _| Ok(Reply::Ok));
    ask(&mut session, &["MULTI"]);
    ask(&mut session, &["FUNCTION", "LOAD", CODE]);
    ask(
        &mut session,
        &["EVAL", "redis.call('set', 'a', '1') error('no')", "0"],
    );
    assert!(ask(&mut session, &["EXEC"]).starts_with("-EXECABORT"));
    assert_eq!(
        ask(&mut session, &["FCALL", "put", "1", "k", "v"]),
        "-ERR Function not found"
    );
    assert_eq!(ask(&mut session, &["FUNCTION", "LOAD", CODE]), "\"lib\"");
    for (code, wanted) in [
        (
            "#!lua name=other\nredis.register_function('PUT', function() end)",
            "-ERR Function PUT already exists",
        ),
        (
            "#!lua name=other\nredis.register_function('own', function() end)",
            "-ERR Function own already exists, as a procedure",
        ),
        (
            "#!lua name=other\nlocal f = function() end redis.register_function('f', f) redis.register_function('F', f)",
            "-ERR Function f already exists",
        ),
        (
            "#!lua name=other\nlocal a = 1",
            "-ERR No functions registered",
        ),
        (
            "#!lua name=other\nredis.call('set', 'k', 'v')",
            "-ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable 'call'",
        ),
        (
            "#!lua name=other\nwhile true do end",
            "-ERR FUNCTION LOAD timeout",
        ),
        ("return 1", "-ERR Missing library metadata"),
        ("#!js name=other\n1", "-ERR Engine 'js' not found"),
    ] {
        let answer = ask(&mut session, &["FUNCTION", "LOAD", code]);
        assert!(answer.starts_with(wanted), "{code}: {answer}");
    }
    let stats = ask(&mut session, &["FUNCTION", "STATS"]);
    assert!(
        stats.contains("\"libraries_count\" :1 \"functions_count\" :3"),
        "{stats}"
    );
}

/// A program may delete rows of the one table and not of the other.
#[test]
fn a_half_of_a_library_is_replaced_and_deleted() {
    let world = World::new(1);
    let mut session = world.session();
    let halve = |table: &str| {
        let tables = world.keyspace.tables().expect("of its own");
        let halved = tables.run(|tx| tx.rows(table)?.retain(|_| Ok(false)));
        halved.expect("rows are deleted");
    };
    let stats = |session: &mut Session| ask(session, &["FUNCTION", "STATS"]);
    let none = "\"libraries_count\" :0 \"functions_count\" :0";
    for table in ["pg_redis.kv_library", "pg_redis.kv_function"] {
        assert_eq!(ask(&mut session, &["FUNCTION", "LOAD", CODE]), "\"lib\"");
        halve(table);
        let load = ["FUNCTION", "LOAD", "REPLACE", CODE];
        assert_eq!(ask(&mut session, &load), "\"lib\"", "{table}");
        assert_eq!(ask(&mut session, &["FCALL", "put", "1", "k", "v"]), "\"v\"");
        halve(table);
        assert_eq!(ask(&mut session, &["FUNCTION", "DELETE", "lib"]), "+OK");
        let left = stats(&mut session);
        assert!(left.contains(none), "{table}: {left}");
    }
}

#[test]
fn libraries_are_dumped_and_restored_as_one() {
    let world = World::new(1);
    let mut session = world.session();
    ask(&mut session, &["FUNCTION", "LOAD", CODE]);
    let (dump, _) = send(&mut session, &encode(&["FUNCTION", "DUMP"]));
    let from = dump
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a length")
        + 1;
    let payload = dump[from..dump.len() - 2].to_vec();
    let mut restore = |policy: &[&[u8]]| {
        let parts = [&[&b"FUNCTION"[..], b"RESTORE", &payload], policy].concat();
        answers(&send(&mut session, &encode(&parts)).0).remove(0)
    };
    assert_eq!(restore(&[]), "-ERR Library lib already exists");
    assert_eq!(restore(&[b"REPLACE"]), "+OK");
    assert_eq!(restore(&[b"FLUSH"]), "+OK");
    assert!(restore(&[b"NONE"]).starts_with("-ERR Wrong restore policy"));
    assert_eq!(ask(&mut session, &["FUNCTION", "FLUSH"]), "+OK");
    assert_eq!(ask(&mut session, &["FUNCTION", "LIST"]), "[]");
    let mut damaged = payload.clone();
    damaged[3] ^= 1;
    let parts = [&b"FUNCTION"[..], b"RESTORE", &damaged];
    let answer = answers(&send(&mut session, &encode(&parts)).0).remove(0);
    assert_eq!(answer, "-ERR DUMP payload version or checksum are wrong");
}

/// The longest time of a transaction's scripts.
const TIME_MAX: Duration = Duration::from_secs(30);

#[test]
fn the_end_of_memory_within_the_programs_own_calls_is_an_error_of_the_script() {
    let world = World::new(1);
    let mut session = world.session();
    ask(&mut session, &["RPUSH", "l", "a", "b", "c"]);
    ask(&mut session, &["HSET", "h", "f", "v", "g", "w"]);
    // Takes memory until so much is left, then calls a function that makes values, again and again.
    let script = "local call, kept = %s, {}
        local most = 128 * 1024 * 1024 - tonumber(ARGV[1])
        for _, size in ipairs({1048576, 65536, 4096, 256}) do
            while most - collectgarbage('count') * 1024 > size * 2 + 4096 do
                kept[#kept + 1] = ('x'):rep(size) .. #kept
            end
        end
        local made = {}
        for i = 1, 400 do made[i] = call(i) end
        return #made";
    let mut ends = [0; 2];
    for call in [
        "function(i) return redis.call('lrange', 'l', 0, -1) end",
        "function(i) return cjson.decode('[{\"a\":[1,2,\"text\"]},{\"b\":{\"c\":' .. i .. '}}]') end",
        "function(i) return cjson.encode({a = i, b = {1, 2, ('y'):rep(300)}}) end",
        "function(i) return cmsgpack.unpack(cmsgpack.pack({a = {1, 2, 3}, b = 'text' .. i})) end",
        "function(i) return redis.sha1hex(i) .. ('z'):rep(200) end",
        "function(i) return string.gsub('a b c ' .. i, '%w', 'found') end",
        "function(i) return {string.match('k=' .. i, '(%w)=(%d)')} end",
        "function(i) return {pcall(error, {err = 'x' .. i})} end",
        "function(i) return coroutine.wrap(function() return {i, 'y' .. i} end)() end",
    ] {
        for left in [8 << 10, 40 << 10, 8 << 20] {
            let script = script.replace("%s", call);
            let began = Instant::now();
            let answer = ask(&mut session, &["EVAL", &script, "0", &left.to_string()]);
            let is_whole = answer == ":400";
            let is_refused = answer.starts_with("-ERR") && answer.contains("memory");
            // On a busy machine the bound on time comes first.
            let is_late = answer.contains("too long") && began.elapsed() > TIME_MAX;
            assert!(
                is_whole || is_refused || is_late,
                "{call} with {left}: {answer}"
            );
            ends[usize::from(is_whole)] += usize::from(!is_late);
            // The next script finds all of its memory.
            let next = "local t = {} for i = 1, 10 do t[i] = ('x'):rep(1000000) .. i end return #t";
            assert_eq!(ask(&mut session, &["EVAL", next, "0"]), ":10");
        }
    }
    assert!(ends[0] > 0 && ends[1] > 0, "both ends were met: {ends:?}");
}

#[test]
fn beyond_maxmemory_what_adds_is_refused_in_scripts_too() {
    let world = World::new(1);
    let mut session = world.session();
    let flagged = |flag: &str| format!("#!lua flags={flag}\nreturn redis.pcall('set', 'b', '1')");
    ask(&mut session, &["SET", "a", "1"]);
    assert_eq!(
        ask(&mut session, &["CONFIG", "SET", "maxmemory", "1"]),
        "+OK"
    );
    let refused = "-OOM command not allowed when used memory > 'maxmemory'.";
    assert_eq!(ask(&mut session, &["SET", "b", "1"]), refused);
    assert_eq!(ask(&mut session, &["FUNCTION", "LOAD", CODE]), refused);
    assert_eq!(ask(&mut session, &["GET", "a"]), "\"1\"");
    let unflagged = "return redis.pcall('set', 'b', '1')";
    assert_eq!(ask(&mut session, &["EVAL", unflagged, "0"]), refused);
    assert_eq!(ask(&mut session, &["EVAL", &flagged(""), "0"]), refused);
    assert_eq!(
        ask(&mut session, &["EVAL", &flagged("allow-oom"), "0"]),
        "+OK"
    );
    // Queued, it has its EXEC refused.
    ask(&mut session, &["MULTI"]);
    assert_eq!(ask(&mut session, &["SET", "c", "1"]), refused);
    assert!(ask(&mut session, &["EXEC"]).starts_with("-EXECABORT"));
    assert_eq!(ask(&mut session, &["DEL", "a", "b"]), ":2");
    assert_eq!(
        ask(&mut session, &["CONFIG", "SET", "maxmemory", "0"]),
        "+OK"
    );
    assert_eq!(ask(&mut session, &["SET", "c", "1"]), "+OK");
}

#[test]
fn who_monitors_is_shown_what_scripts_and_functions_do() {
    let world = World::new(1);
    let (mut session, mut monitor) = (world.session(), world.session());
    ask(&mut session, &["FUNCTION", "LOAD", CODE]);
    assert_eq!(ask(&mut monitor, &["MONITOR"]), "+OK");
    ask(
        &mut session,
        &["EVAL", "return redis.call('get', KEYS[1])", "1", "k"],
    );
    ask(&mut session, &["FCALL", "put", "1", "k", "v"]);
    let mut output = bytes::BytesMut::new();
    monitor.tell(&mut output);
    let shown = String::from_utf8_lossy(&output);
    for wanted in [
        "[0 lua] \"get\" \"k\"",
        "[0 lua] \"set\" \"k\" \"v\"",
        "\"FCALL\" \"put\"",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

/// Two functions of a session, one of which writes.
struct Procedures;

impl Functions for Procedures {
    fn call(
        &self,
        call: &FunctionCall<'_>,
        _: &mut Transaction<'_>,
    ) -> Result<Option<Called>, Failure> {
        match call.name {
            b"adding" if call.only_reads => Err(Failure::Writes),
            b"adding" | b"looking" => Ok(Some(Called {
                reply: Reply::Int(1),
                committed: None,
            })),
            _ => Ok(None),
        }
    }

    fn read(&self, _: &FunctionCall<'_>, _: &Committed) -> Result<Option<Reply>, Failure> {
        Ok(None)
    }

    fn has(&self, name: &[u8], _: &Within<'_, '_>) -> Result<bool, Failure> {
        Ok([&b"adding"[..], b"looking"].contains(&name))
    }

    fn may_take_long(&self, _: &[u8]) -> bool {
        false
    }

    fn list(&self, _: &Within<'_, '_>) -> Result<Vec<Listed>, Failure> {
        Ok(Vec::new())
    }
}

#[test]
fn beyond_maxmemory_functions_that_read_are_called_alone() {
    let world = World::new(1);
    let mut session = world.session_with(SessionOptions {
        functions: Some(Arc::new(Procedures)),
        ..SessionOptions::default()
    });
    world
        .keyspace
        .register_function("put", |_, _, _| Ok(Reply::Int(2)));
    world
        .keyspace
        .register_reading_function("look", |_, _, _| Ok(Reply::Int(2)));
    let library = "#!lua name=lib
        redis.register_function('change', function() return 3 end)
        redis.register_function{
            function_name = 'see', callback = function() return 3 end, flags = {'no-writes'},
        }";
    ask(&mut session, &["FUNCTION", "LOAD", library]);
    let set = |session: &mut Session, most: &str| {
        let answer = ask(session, &["CONFIG", "SET", "maxmemory", most]);
        assert_eq!(answer, "+OK");
    };
    let refused = "-OOM command not allowed when used memory > 'maxmemory'.";
    for (most, answers) in [("1", [refused; 3]), ("0", [":1", ":2", ":3"])] {
        set(&mut session, most);
        for (name, answer) in ["adding", "put", "change"].into_iter().zip(answers) {
            let called = ask(&mut session, &["FCALL", name, "0"]);
            assert_eq!(called, answer, "{name} {most}");
        }
        for (name, answer) in [("looking", ":1"), ("look", ":2"), ("see", ":3")] {
            let called = ask(&mut session, &["FCALL", name, "0"]);
            assert_eq!(called, answer, "{name} {most}");
        }
    }
    let put = ["FCALL_RO", "put", "0"];
    let writes = "-ERR Can not execute a script with write flag using *_ro command.";
    assert_eq!(ask(&mut session, &put), writes);
}
