//! Scripts beyond the transcript: their bounds, what is undone, and that none sees another.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx_resp::Session;

fn ask(session: &mut Session, words: &[&str]) -> String {
    answers(&send(session, &encode(words)).0).remove(0)
}

fn eval(session: &mut Session, script: &str) -> String {
    ask(session, &["EVAL", script, "0"])
}

#[test]
fn a_script_that_goes_on_is_ended_and_undone_whatever_it_catches() {
    let world = World::new(1);
    let mut session = world.session();
    for script in [
        "redis.call('set', 'k', 'v') while true do end",
        "redis.call('set', 'k', 'v') while true do pcall(function() while true do end end) end",
        "redis.call('set', 'k', 'v') while true do redis.pcall('get', 'k') end",
        "redis.call('set', 'k', 'v') while true do xpcall(function() while true do end end, tostring) end",
        "redis.call('set', 'k', 'v') local f = coroutine.wrap(function() while true do end end) while true do pcall(f) end",
        "redis.call('set', 'k', 'v') return string.rep('a', 60):find(string.rep('a?', 60) .. string.rep('a', 60))",
        "redis.call('set', 'k', 'v') return string.rep('a', 5000000):find(string.rep('a', 2500000) .. 'b', 1, true)",
        "redis.call('set', 'k', 'v') while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    ] {
        let answer = eval(&mut session, script);
        assert!(
            answer.starts_with("-ERR the script has taken more than"),
            "{script}: {answer}"
        );
        assert_eq!(ask(&mut session, &["GET", "k"]), "nil", "{script}");
    }
    // The next one has all of its steps.
    assert_eq!(
        eval(&mut session, "for i = 1, 1000000 do end return 'ok'"),
        "\"ok\""
    );
}

#[test]
fn a_script_has_no_more_memory_than_its_bound() {
    let world = World::new(1);
    let mut session = world.session();
    for script in [
        "redis.call('set', 'k', 'v') return string.rep('x', 200000000)",
        "redis.call('set', 'k', 'v') local t = {} while true do t[#t + 1] = string.rep('x', 1000000) .. #t end",
    ] {
        let answer = eval(&mut session, script);
        assert!(answer.contains("not enough memory"), "{script}: {answer}");
        assert_eq!(ask(&mut session, &["GET", "k"]), "nil");
    }
    for script in [
        "local s = string.rep('x', 10000000) local t = {} for i = 1, 100 do t[i] = s end return cjson.encode(t)",
        "local s = string.rep('x', 10000000) local t = {} for i = 1, 100 do t[i] = s end return cmsgpack.pack(t)",
        "return (string.rep('x', 1000000):gsub('x', string.rep('y', 1000)))",
    ] {
        let answer = eval(&mut session, script);
        assert!(answer.contains("not enough memory"), "{script}: {answer}");
    }
    let answer = eval(
        &mut session,
        "local s = string.rep('x', 10000000) return redis.call('mset', s, s, s, s)",
    );
    assert!(
        answer.starts_with("-ERR a command of more than"),
        "{answer}"
    );
    let caught = eval(&mut session, "return {pcall(string.rep, 'x', 200000000)}");
    assert!(caught.contains("not enough memory"), "{caught}");
    assert_eq!(eval(&mut session, "return string.rep('x', 3)"), "\"xxx\"");
}

#[test]
fn a_script_has_no_more_of_the_stack_than_its_bound() {
    let world = World::new(1);
    let mut session = world.session();
    for script in [
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() local ok, e = coroutine.resume(coroutine.create(f)) if not ok then error(e, 0) end end f()",
        "local function f() string.gsub('x', 'x', f) end f()",
        "local function f() f() return 1 end f()",
        "return loadstring('return ' .. string.rep('(', 10000))()",
    ] {
        let answer = eval(&mut session, script);
        assert!(answer.starts_with("-ERR "), "{script}: {answer}");
    }
    // All of these one in the other.
    let nested =
        "local function f(n) if n > 0 then pcall(f, n - 1) else coroutine.wrap(g)() end end";
    let nested = format!(
        "local g {} g = function() f(190) end g() return 1",
        nested.replace("local function f", "local f f = function")
    );
    let answer = eval(&mut session, &nested);
    assert!(answer == ":1" || answer.starts_with("-ERR "), "{answer}");
    assert_eq!(
        eval(
            &mut session,
            "local f = coroutine.wrap(function() coroutine.yield(1) end) return f()"
        ),
        ":1"
    );
}

#[test]
fn what_a_script_wrote_is_undone_with_it_and_an_error_that_it_returns_undoes_nothing() {
    let world = World::new(1);
    let mut session = world.session();
    let raises = "redis.call('set', 'k', 'v') error('no')";
    assert!(eval(&mut session, raises).starts_with("-ERR user_script:1: no script: "));
    assert_eq!(ask(&mut session, &["GET", "k"]), "nil");
    let returns = "redis.call('set', 'k', 'v') return redis.error_reply('MINE no')";
    assert_eq!(eval(&mut session, returns), "-MINE no");
    assert_eq!(ask(&mut session, &["GET", "k"]), "\"v\"");
    // Among others all of them are undone; what has written nothing undoes nothing.
    for (script, answer, other) in [
        (raises, "-EXECABORT Transaction discarded: ", "nil"),
        ("error('no')", "[+OK -ERR user_script:1: no", "\"x\""),
    ] {
        ask(&mut session, &["MULTI"]);
        ask(&mut session, &["SET", "other", "x"]);
        ask(&mut session, &["EVAL", script, "0"]);
        let got = ask(&mut session, &["EXEC"]);
        assert!(got.starts_with(answer), "{got}");
        assert_eq!(ask(&mut session, &["GET", "other"]), other);
    }
}

#[test]
fn no_script_finds_what_another_one_has_left() {
    let world = World::new(1);
    let mut session = world.session();
    for (leaves, looks, found) in [
        (
            "table.insert(string, 'x')",
            "return rawget(string, 1)",
            "nil",
        ),
        ("redis[1] = 'x'", "return rawget(redis, 1)", "nil"),
        (
            "getmetatable('').__index = nil",
            "return ('x'):rep(2)",
            "\"xx\"",
        ),
        ("collectgarbage('stop')", "return 1", ":1"),
        ("KEYS.x = 1", "return KEYS.x", "nil"),
        (
            "math.randomseed(7)",
            "return math.random(10) <= 10 and 1",
            ":1",
        ),
        (
            "redis.setresp(3)",
            "return type(redis.call('get', 'nosuch'))",
            "\"boolean\"",
        ),
        ("return redis.call", "return 1", ":1"),
        (
            "local t = getmetatable(_G) t.__index = nil",
            "return foo",
            "",
        ),
    ] {
        eval(&mut session, leaves);
        let got = eval(&mut session, looks);
        match found {
            "" => assert!(
                got.contains("nonexistent global variable 'foo'"),
                "{leaves}: {got}"
            ),
            found => assert_eq!(got, found, "{leaves}"),
        }
    }
}

#[test]
fn locks_of_clients_are_acquired_extended_and_released() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    // As redis-py's `Lock` has them.
    let release = "local token = redis.call('get', KEYS[1])\n if not token or token ~= ARGV[1] then\n return 0\n end\n \
                   redis.call('del', KEYS[1])\n return 1";
    let extend = "local token = redis.call('get', KEYS[1])\n if not token or token ~= ARGV[1] then\n return 0\n end\n \
                  local expiration = redis.call('pttl', KEYS[1])\n if not expiration then\n expiration = 0\n end\n if \
                  expiration < 0 then\n return 0\n end\n local newttl = ARGV[2]\n if ARGV[3] == \"0\" then\n newttl = \
                  ARGV[2] + expiration\n end\n redis.call('pexpire', KEYS[1], newttl)\n return 1";
    let acquire =
        |session: &mut Session, token| ask(session, &["SET", "lock", token, "NX", "PX", "1000"]);
    let digest = ask(&mut one, &["SCRIPT", "LOAD", release]);
    let digest = digest.trim_matches('"');
    assert_eq!(acquire(&mut one, "a"), "+OK");
    assert_eq!(acquire(&mut other, "b"), "nil");
    assert_eq!(
        ask(&mut one, &["EVAL", extend, "1", "lock", "a", "500", "0"]),
        ":1"
    );
    assert_eq!(ask(&mut one, &["PTTL", "lock"]), ":1500");
    assert_eq!(
        ask(&mut other, &["EVAL", extend, "1", "lock", "b", "500", "0"]),
        ":0"
    );
    assert_eq!(
        ask(&mut other, &["EVALSHA", digest, "1", "lock", "b"]),
        ":0"
    );
    assert_eq!(ask(&mut one, &["EVALSHA", digest, "1", "lock", "a"]), ":1");
    assert_eq!(acquire(&mut other, "b"), "+OK");
}

#[test]
fn what_a_script_did_is_there_after_a_crash() {
    let world = World::new(1);
    let mut session = world.session();
    assert_eq!(
        eval(
            &mut session,
            "redis.call('set', 'a', 1) return redis.call('incr', 'a')"
        ),
        ":2"
    );
    drop(session);
    let world = world.restart(sardonyx::disk::Faults::default());
    assert_eq!(ask(&mut world.session(), &["GET", "a"]), "\"2\"");
}
