//! Scripts beyond the transcript: their bounds, their undoing, and their isolation from each other.

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
fn no_function_of_a_library_goes_on_beyond_the_bounds() {
    let world = World::new(1);
    let mut session = world.session();
    for (script, found) in [
        // Lua's own matcher ends the program by the first, and never ends at the second.
        (
            "return string.find(('a'):rep(2e5), ('a?'):rep(2e5))",
            "pattern too complex",
        ),
        (
            "return string.match(('a'):rep(2e5), ('.-'):rep(30) .. 'b')",
            "the script has taken more than",
        ),
        (
            "while true do ('a'):rep(1e6):find('b', 1, true) end",
            "the script has taken more than",
        ),
        (
            "while true do redis.sha1hex(('a'):rep(1e6)) end",
            "the script has taken more than",
        ),
        ("return #string.rep('', 2^31 - 1)", ":0"),
        (
            "table.insert({}, 2 - 2^31, 1)",
            "the script has taken more than",
        ),
        ("table.insert({}, 2^31, 1)", "position out of bounds"),
        (
            "return {pcall(unpack, {}, 0, 2147483647)}",
            "too many results to unpack",
        ),
        (
            "return {pcall(unpack, {}, -2147483648, 2147483647)}",
            "too many results to unpack",
        ),
        (
            "return {pcall(loadstring, 'return 1')}",
            "loadstring is not supported in scripts",
        ),
        // A handler runs without the hook, where that has raised the error.
        (
            "xpcall(function() while true do end end, function() while true do end end)",
            "the script has taken more than",
        ),
        // Each would have its count of instructions from the beginning.
        (
            "for i = 1, 50000 do coroutine.create(function() end) end",
            "the script has taken more than",
        ),
        (
            "for i = 1, 50000 do coroutine.wrap(function() end) end",
            "the script has taken more than",
        ),
        // Tables that are in several places are written in each.
        (
            "local t = {} for i = 1, 60 do t = {t, t} end return cjson.encode(t)",
            "the script has taken more than",
        ),
        (
            "local t = {1} for i = 1, 13 do local u = {} for j = 1, 100 do u[j] = t end t = u end return cmsgpack.pack(t)",
            "the script has taken more than",
        ),
        (
            "local t = {} for i = 1, 60 do t = {map = {[t] = t}} end redis.setresp(3) return t",
            "the script has taken more than",
        ),
        (
            "local t = {} for i = 1, 60 do t = {t, t} end return t",
            "the script has taken more than",
        ),
    ] {
        let answer = eval(&mut session, script);
        assert!(answer.contains(found), "{script}: {answer}");
    }
}

#[test]
fn patterns_are_matched_as_in_lua() {
    let world = World::new(1);
    let mut session = world.session();
    for (script, answer) in [
        ("return {('hello world'):find('o w')}", "[:5 :7]"),
        (
            "return {('hello'):find('l+', -3), ('a.b'):find('.', 1, true)}",
            "[:3 :2 :2]",
        ),
        (
            "return {('key=val'):match('^(%w+)=(%w*)$')}",
            "[\"key\" \"val\"]",
        ),
        ("return {('abc'):match('()b()')}", "[:2 :3]"),
        ("return ('x'):match('y') == nil and 1", ":1"),
        (
            "local t = {} for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do t[#t + 1] = k .. v end return t",
            "[\"a1\" \"b2\"]",
        ),
        (
            "local t = {} for at in ('ab'):gmatch('()') do t[#t + 1] = at end return t",
            "[:1 :2 :3]",
        ),
        ("return {('abc'):gsub('%w', '%0%0', 2)}", "[\"aabbc\" :2]"),
        ("return {('abc'):gsub('', '-')}", "[\"-a-b-c-\" :4]"),
        (
            "return {('abc'):gsub('', function() return '-' end)}",
            "[\"-a-b-c-\" :4]",
        ),
        (
            "return {('a b'):gsub('%w', {a = 1, b = false})}",
            "[\"1 b\" :2]",
        ),
        (
            "return {('aab'):gsub('^a', function(c) return c:upper() end)}",
            "[\"Aab\" :1]",
        ),
        (
            "return {('a1b2'):gsub('(%a)(%d)', function(a, b) return b .. a end, 1)}",
            "[\"1ab2\" :1]",
        ),
        (
            "return {pcall(string.gsub, 'a', 'a', function() return {} end)}",
            "[nil \"invalid replacement value (a table)\"]",
        ),
        (
            "return {pcall(string.find, 'a', '%1')}",
            "[nil \"user_script:1: invalid capture index\"]",
        ),
        (
            "local t = {3, 1, 2} table.sort(t) table.insert(t, 2, 9) return t",
            "[:1 :9 :2 :3]",
        ),
        ("return {unpack({1, 2, 3}, 2)}", "[:2 :3]"),
        (
            "return {bit.band(7, 3, 6), bit.bor(1, 2, 4), bit.bxor(1, 1, 1)}",
            "[:2 :7 :1]",
        ),
    ] {
        assert_eq!(eval(&mut session, script), answer, "{script}");
    }
}

#[test]
fn the_scripts_of_a_transaction_have_their_steps_together() {
    let world = World::new(1);
    let mut session = world.session();
    ask(&mut session, &["MULTI"]);
    for _ in 0..3 {
        ask(
            &mut session,
            &["EVAL", "for i = 1, 9000000 do end return 1", "0"],
        );
    }
    let answer = ask(&mut session, &["EXEC"]);
    assert!(
        answer.starts_with("[:1 :1 -ERR the script has taken"),
        "{answer}"
    );
    assert_eq!(eval(&mut session, "return 1"), ":1");
}

#[test]
fn many_values_are_held_neither_with_memory_nor_without() {
    let world = World::new(1);
    let mut session = world.session();
    let many = "local t = {} for i = 1, 7900 do t[i] = 'k' .. i end ";
    for (script, found) in [
        ("return redis.call('del', unpack(t))", ":0"),
        (
            "return redis.pcall('mget', unpack(t))[7900] == false and 1",
            ":1",
        ),
        ("return #cmsgpack.pack(unpack(t))", ":46293"),
        ("return #cmsgpack.pack(t)", ":46296"),
        ("return unpack(t)", "\"k1\""),
        ("return select('#', pcall(bit.bor, unpack(t)))", ":2"),
        ("return select('#', cjson.encode(unpack(t)))", ":1"),
        ("redis.log(redis.LOG_DEBUG, unpack(t)) return 1", ":1"),
        ("return pcall(redis.sha1hex, unpack(t)) and 1", "nil"),
    ] {
        let answer = eval(&mut session, &format!("{many}{script}"));
        assert_eq!(answer, found, "{script}");
    }
    let full = "local full = {} pcall(function() while true do full[#full + 1] = string.rep('x', 100000) .. #full end end) \
                pcall(function() while true do full[#full + 1] = 'y' .. #full end end) ";
    for script in [
        "return #{pcall(redis.call, 'del', unpack(t))}",
        "return #{pcall(redis.call, 'echo', 'x')}",
        "return #{pcall(cmsgpack.pack, unpack(t))}",
        "return #{pcall(cjson.encode, t)}",
        "return #{pcall(string.gsub, ('x'):rep(50), '.', '%0%0')}",
        "return #{pcall(coroutine.create, print)}",
        "return t",
    ] {
        let script = format!("{many}{full}{script}");
        let answer = ask(&mut session, &["EVAL", &script, "1", "k"]);
        assert!(
            answer.contains("not enough memory") || !answer.starts_with('-'),
            "{answer:.200}"
        );
        assert_eq!(eval(&mut session, "return 1"), ":1");
    }
    // Keys and arguments, too, may be many.
    let mut words = vec!["EVAL", "return #KEYS + #ARGV", "9000"];
    words.resize(20_003, "x");
    assert_eq!(ask(&mut session, &words), ":20000");
}

#[test]
fn what_the_program_makes_for_a_script_has_a_bound() {
    let world = World::new(1);
    let mut session = world.session();
    for script in [
        "local s = ('x'):rep(2^23) return redis.call('echo', s, s, s, s, s, s, s, s, s)",
        "return redis.call('echo', ('x'):rep(2^24 + 1))",
        "local s, t = ('x'):rep(2^23), {} for i = 1, 9 do t[i] = s end return #cjson.encode(t)",
        "local s, t = ('x'):rep(2^23), {} for i = 1, 9 do t[i] = s end return #cmsgpack.pack(t)",
    ] {
        let answer = eval(&mut session, script);
        assert!(
            answer.contains("not enough memory"),
            "{script}: {answer:.200}"
        );
    }
    // The text of an error is cut.
    let answer = eval(&mut session, "error(('x'):rep(2^23))");
    assert!(answer.len() < 70_000, "{}", answer.len());
}

#[test]
fn what_a_script_posts_is_undone_with_it_and_none_that_only_reads_posts() {
    let world = World::new(1);
    let mut session = world.session();
    let script = "return redis.call('publish', 'news', 'x')";
    let answer = ask(&mut session, &["EVAL_RO", script, "0"]);
    assert!(
        answer.contains("Write commands are not allowed from read-only scripts"),
        "{answer}"
    );
    assert_eq!(eval(&mut session, script), ":0");
    // The error counts like one after a write: it undoes the others of its transaction.
    ask(&mut session, &["MULTI"]);
    ask(&mut session, &["SET", "k", "v"]);
    ask(
        &mut session,
        &[
            "EVAL",
            "redis.call('publish', 'news', 'x') error('no')",
            "0",
        ],
    );
    let answer = ask(&mut session, &["EXEC"]);
    assert!(answer.starts_with("-EXECABORT"), "{answer}");
    assert_eq!(ask(&mut session, &["GET", "k"]), "nil");
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
        "local s = string.rep('x', 10000000) return redis.call('mset', 'a', s, 'b', s, 'c', s, 'd', s, 'e', s, 'f', s, 'g', s)",
    );
    assert!(answer.contains("not enough memory"), "{answer}");
    assert_eq!(ask(&mut session, &["GET", "a"]), "nil");
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
    // Among others all of them are undone; a script that has written nothing undoes nothing.
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
