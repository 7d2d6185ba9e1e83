//! `LISTEN`, `NOTIFY` and `UNLISTEN`: scripts of statements; random sessions against plain lists; notifications of
//! numbers that several sessions count, which arrive once each, in the order of the commits.

mod model;

use crate::common::{Fresh, flight, lines, query, run, wait};
use model::{Model, NAMES, says};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sardonyx_sql::{Outcome, Session, SessionOptions, SqlError, code};

fn numbered(fresh: &Fresh, process: u32) -> Session {
    let options = SessionOptions {
        user: "tester".into(),
        rights: sardonyx_sql::Access::Define.into(),
        process,
        ..SessionOptions::default()
    };
    Session::new(fresh.database.clone(), options).expect("a session")
}

/// Takes a session's notifications: channel, payload and the sender's number.
fn come(session: &Session) -> Vec<String> {
    let inbox = session.inbox().expect("an inbox");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("a text");
    let taken = inbox.take(usize::MAX).into_iter();
    let said = taken.map(|one| {
        let (channel, payload) = (text(&one.channel), text(&one.payload));
        format!("{channel}:{payload}:{}", one.process)
    });
    said.collect()
}

fn code_of<T>(result: Result<T, SqlError>) -> &'static str {
    result.err().map_or("", |error| error.code)
}

#[test]
fn notifications_come_when_their_transaction_has_committed() {
    let fresh = Fresh::new();
    let (mut one, mut two) = (numbered(&fresh, 1), numbered(&fresh, 2));
    run(&mut one, "listen a").unwrap();
    run(&mut two, "begin").unwrap();
    run(&mut two, "notify a, 'x'").unwrap();
    assert_eq!(come(&one), Vec::<String>::new());
    run(&mut two, "commit").unwrap();
    assert_eq!(come(&one), ["a:x:2"]);
    // A session hears itself.
    run(&mut one, "notify a").unwrap();
    assert_eq!(come(&one), ["a::1"]);
    assert_eq!(come(&two), Vec::<String>::new());
    run(&mut two, "begin; notify a, 'undone'; rollback").unwrap();
    run(&mut two, "begin").unwrap();
    run(&mut two, "notify a, 'failed'").unwrap();
    assert_eq!(code_of(run(&mut two, "select 1 / 0")), "22012");
    assert_eq!(code_of(run(&mut two, "notify a")), code::FAILED_TRANSACTION);
    run(&mut two, "commit").unwrap();
    assert_eq!(
        code_of(run(&mut two, "notify a, 'one'; select 1 / 0")),
        "22012"
    );
    assert_eq!(come(&one), Vec::<String>::new());
    run(&mut two, "notify a, 'one'; notify a, 'two'; select 1").unwrap();
    assert_eq!(come(&one), ["a:one:2", "a:two:2"]);
}

#[test]
fn each_comes_once_and_what_a_savepoint_undoes_does_not() {
    for aside_from in [1, 100] {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(aside_from);
        let mut one = numbered(&fresh, 1);
        run(&mut one, "create table t (id int primary key)").unwrap();
        run(&mut one, "listen a").unwrap();
        let script = [
            "begin",
            "notify a, '1'",
            "insert into t values (1)",
            "notify a, '2'",
            "notify a, '1'",
            "savepoint s",
            "notify a, '3'",
            "listen b",
            "savepoint t",
            "select pg_notify('a', '4')",
            "rollback to s",
            "notify a, '2'",
            "notify b, 'heard by nobody'",
            "select pg_notify('a', i::text) from generate_series(4, 5) s(i)",
            "release s",
            "commit",
        ];
        for text in script {
            run(&mut one, text).unwrap();
            if text != "commit" {
                assert_eq!(come(&one), Vec::<String>::new(), "{text}");
            }
        }
        assert_eq!(come(&one), ["a:1:1", "a:2:1", "a:4:1", "a:5:1"]);
        assert_eq!(
            query(&mut one, "select pg_listening_channels()").unwrap(),
            ["a"]
        );
    }
}

#[test]
fn a_failed_statement_that_is_gone_back_behind_notifies_of_nothing() {
    for aside_from in [1, 100] {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(aside_from);
        let mut one = numbered(&fresh, 1);
        run(&mut one, "listen a").unwrap();
        run(&mut one, "begin").unwrap();
        run(&mut one, "notify a, 'before'").unwrap();
        run(&mut one, "savepoint s").unwrap();
        let failing = "select pg_notify('a', i::text), 1 / (2 - i) from generate_series(1, 3) s(i)";
        assert_eq!(code_of(run(&mut one, failing)), "22012");
        run(&mut one, "rollback to s").unwrap();
        run(&mut one, "notify a, 'after'").unwrap();
        run(&mut one, "commit").unwrap();
        assert_eq!(come(&one), ["a:before:1", "a:after:1"]);
    }
}

#[test]
fn listening_begins_and_ends_with_the_commit() {
    let fresh = Fresh::new();
    let (mut one, mut two) = (numbered(&fresh, 1), numbered(&fresh, 2));
    let channels = |session: &mut Session| {
        query(session, "select c from pg_listening_channels() as c").unwrap()
    };
    run(&mut one, "begin").unwrap();
    run(&mut one, "listen a; listen \"B c\"; listen a").unwrap();
    assert_eq!(channels(&mut one), Vec::<String>::new());
    run(&mut two, "notify a, 'too early'").unwrap();
    run(&mut one, "commit").unwrap();
    assert_eq!(channels(&mut one), ["a", "B c"]);
    run(&mut two, "notify a, 'heard'; notify \"B c\"").unwrap();
    run(&mut one, "begin; unlisten a; rollback").unwrap();
    assert_eq!(come(&one), ["a:heard:2", "B c::2"]);
    // Notifications from before UNLISTEN that the session has not got yet are dropped.
    run(&mut one, "begin").unwrap();
    run(&mut two, "notify a, 'unheard'").unwrap();
    run(&mut one, "unlisten a").unwrap();
    run(&mut one, "notify a, 'unheard, too'").unwrap();
    run(&mut one, "commit").unwrap();
    assert_eq!(come(&one), Vec::<String>::new());
    run(
        &mut one,
        "begin; listen a; notify a, 'begins at once'; commit",
    )
    .unwrap();
    assert_eq!(come(&one), ["a:begins at once:1"]);
    assert_eq!(channels(&mut one), ["B c", "a"]);
    run(&mut one, "unlisten *; unlisten nothing").unwrap();
    assert_eq!(channels(&mut one), Vec::<String>::new());
    run(&mut one, "listen a").unwrap();
    assert_eq!(code_of(run(&mut one, "begin; discard all")), "25001");
    run(&mut one, "rollback").unwrap();
    assert_eq!(channels(&mut one), ["a"]);
    run(&mut one, "discard all").unwrap();
    assert_eq!(channels(&mut one), Vec::<String>::new());
    assert_eq!(
        query(
            &mut one,
            "select pg_backend_pid(), pg_notification_queue_usage()"
        )
        .unwrap(),
        ["1|0"]
    );
}

#[test]
fn a_transaction_that_only_reads_may_notify_and_listen() {
    let fresh = Fresh::new();
    let mut one = numbered(&fresh, 1);
    run(&mut one, "create table t (id int primary key)").unwrap();
    run(&mut one, "insert into t values (1), (2)").unwrap();
    run(&mut one, "begin read only").unwrap();
    for text in [
        "select id from t",
        "listen a",
        "notify a, 'x'",
        "savepoint s",
        "notify a, 'y'",
        "rollback to s",
        "select pg_notify('a', id::text) from t order by id",
        "notify a, 'x'",
    ] {
        run(&mut one, text).unwrap();
    }
    assert_eq!(come(&one), Vec::<String>::new());
    run(&mut one, "commit").unwrap();
    assert_eq!(come(&one), ["a:x:1", "a:1:1", "a:2:1"]);
    run(
        &mut one,
        "begin read only; notify a, 'one'; select 1; notify a, 'flight'; commit",
    )
    .unwrap();
    run(&mut one, "begin read only; notify a, 'undone'; rollback").unwrap();
    assert_eq!(come(&one), ["a:one:1", "a:flight:1"]);
    run(&mut one, "set default_transaction_read_only = on").unwrap();
    run(&mut one, "notify a, 'usually reads'").unwrap();
    assert_eq!(come(&one), ["a:usually reads:1"]);
    let both = "select pg_notify('a', id::text), nextval('s') from t";
    assert_eq!(code_of(run(&mut one, both)), code::READ_ONLY_TRANSACTION);
}

#[test]
fn procedures_prepared_statements_and_changes_notify() {
    let fresh = Fresh::new();
    let mut one = numbered(&fresh, 1);
    run(&mut one, "create table t (id int primary key)").unwrap();
    run(
        &mut one,
        "create procedure said(what text) language sql as $$ notify a, 'it''s'; select pg_notify('a', what); listen b $$",
    )
    .unwrap();
    run(&mut one, "listen a").unwrap();
    run(&mut one, "call said('so')").unwrap();
    run(&mut one, "begin; call said('undone'); rollback").unwrap();
    assert_eq!(come(&one), ["a:it's:1", "a:so:1"]);
    run(&mut one, "notify b").unwrap();
    run(&mut one, "call said('again')").unwrap();
    assert_eq!(come(&one), ["b::1", "a:it's:1", "a:again:1"]);
    run(&mut one, "prepare p as select pg_notify($1, $2)").unwrap();
    run(&mut one, "execute p('a', 'prepared')").unwrap();
    run(&mut one, "insert into t values (1), (2), (3)").unwrap();
    let changing = "with gone as (select 1) update t set id = id + 10 where pg_notify('a', id::text) is not null";
    run(&mut one, changing).unwrap();
    let mut come_now = come(&one);
    come_now[1..].sort();
    assert_eq!(come_now, ["a:prepared:1", "a:1:1", "a:2:1", "a:3:1"]);
    assert_eq!(code_of(run(&mut one, "prepare q as notify a")), "42601");
    let atomic = "create procedure no() language sql begin atomic notify a; end";
    assert_eq!(code_of(run(&mut one, atomic)), "0A000");
    run(
        &mut one,
        "create view v as select pg_notify('a', 'of a view')",
    )
    .unwrap();
    assert_eq!(code_of(run(&mut one, "select * from v")), "0A000");
}

#[test]
fn channels_and_payloads_have_postgresqls_bounds() {
    let fresh = Fresh::new();
    let mut one = numbered(&fresh, 1);
    let mut failing = |text: &str| {
        let error = run(&mut one, text).expect_err(text);
        format!("{} {}", error.code, error.message)
    };
    let empty = "22023 channel name cannot be empty";
    assert_eq!(failing("select pg_notify('', 'x')"), empty);
    assert_eq!(failing("select pg_notify(null, 'x')"), empty);
    assert_eq!(
        failing("select pg_notify(repeat('x', 64), '')"),
        "22023 channel name too long"
    );
    let long = "22023 payload string too long";
    assert_eq!(failing("select pg_notify('x', repeat('x', 8000))"), long);
    let text = format!("notify x, '{}'", "x".repeat(8000));
    assert_eq!(failing(&text), long);
    let empty = "42601 zero-length delimited identifier at or near \"\"\"\"";
    assert_eq!(failing("notify \"\", 'p'"), empty);
    assert_eq!(failing("listen \"\""), empty);
    for wrong in [
        "notify public.x",
        "notify x 'a'",
        "notify x, a",
        "notify x, \"a\"",
        "notify x, 1",
        "listen *",
        "listen 'a'",
        "listen select",
        "unlisten left",
        "notify table, 'x'",
        "unlisten",
        "notify",
    ] {
        assert_eq!(&failing(wrong)[..5], "42601", "{wrong}");
    }
    let zero = "22021 invalid byte sequence for encoding \"UTF8\": 0x00";
    for text in [
        "select pg_notify('x', U&'a\\0000b')",
        "select pg_notify(U&'a\\0000b', '')",
        "notify x, U&'\\0000'",
        "listen \"a\0b\"",
        "unlisten \"a\0b\"",
    ] {
        assert_eq!(failing(text), zero, "{text}");
    }
    run(&mut one, "listen values; listen \"select\"; unlisten *").unwrap();
    run(&mut one, "listen x").unwrap();
    run(&mut one, "select pg_notify('x', null)").unwrap();
    run(&mut one, "select pg_notify('x', repeat('y', 7999))").unwrap();
    let payload = "y".repeat(7999);
    assert_eq!(come(&one), ["x::1".to_string(), format!("x:{payload}:1")]);
    let name = "n".repeat(80);
    let done = run(&mut one, &format!("listen {name}")).unwrap();
    assert_eq!(done[0].notices[0].code, "42622");
    run(
        &mut one,
        &format!("notify {name}, E'a\\n'; notify X, $$b$$"),
    )
    .unwrap();
    let cut = "n".repeat(63);
    assert_eq!(come(&one), [format!("{cut}:a\n:1"), "x:b:1".to_string()]);
}

#[test]
fn a_transactions_notifications_have_a_bound() {
    let fresh = Fresh::new();
    let (mut one, mut two) = (numbered(&fresh, 1), numbered(&fresh, 2));
    run(&mut one, "listen x").unwrap();
    let many = "select pg_notify('x', repeat('y', 7000) || i) from generate_series(1, 2000) s(i)";
    assert_eq!(code_of(run(&mut two, many)), code::PROGRAM_LIMIT);
    assert_eq!(come(&one), Vec::<String>::new());
    let fewer = "select pg_notify('x', repeat('y', 7000) || i) from generate_series(1, 1000) s(i)";
    for _ in 0..2 {
        run(&mut two, fewer).unwrap();
        assert!(!one.inbox().unwrap().is_over());
    }
    run(&mut two, fewer).unwrap();
    assert!(one.inbox().unwrap().is_over());
    assert_eq!(come(&one), Vec::<String>::new());
    assert_eq!(
        query(&mut two, "select pg_notification_queue_usage()").unwrap(),
        ["0"]
    );
}

#[test]
fn channels_are_counted_not_what_is_said_of_them() {
    let fresh = Fresh::new();
    let (mut one, mut two) = (numbered(&fresh, 1), numbered(&fresh, 2));
    run(&mut one, "begin read only").unwrap();
    for number in 0..10_000 {
        run(&mut one, &format!("listen c{number}")).unwrap();
    }
    run(&mut one, "listen c7; listen c8").unwrap();
    run(&mut one, "savepoint s").unwrap();
    assert_eq!(code_of(run(&mut one, "listen more")), code::PROGRAM_LIMIT);
    run(&mut one, "rollback to s").unwrap();
    run(&mut one, "unlisten c7; listen more").unwrap();
    run(&mut one, "commit").unwrap();
    run(&mut one, "listen c8").unwrap();
    assert_eq!(code_of(run(&mut one, "listen c7")), code::PROGRAM_LIMIT);
    run(&mut two, "notify c7; notify more; notify c9999").unwrap();
    assert_eq!(come(&one), ["more::2", "c9999::2"]);
    run(&mut one, "unlisten c8; listen c7").unwrap();
}

#[test]
fn notifications_of_an_open_transaction_are_counted_with_the_sessions_memory() {
    let fresh = Fresh::new();
    let memory = fresh.database.memory().clone();
    let (mut one, mut two) = (numbered(&fresh, 1), numbered(&fresh, 2));
    run(&mut one, "listen a").unwrap();
    let before = memory.taken();
    let many = "select pg_notify('a', repeat('y', 7000) || i) from generate_series(1, 500) s(i)";
    run(&mut two, "begin read only").unwrap();
    run(&mut two, "savepoint s").unwrap();
    run(&mut two, many).unwrap();
    assert!(memory.taken() >= before + 500 * 7000);
    run(&mut two, "savepoint t").unwrap();
    run(&mut two, "notify a, 'one more'").unwrap();
    // A savepoint is no copy.
    assert!(memory.taken() < before + 500 * 7000 + (1 << 20));
    run(&mut two, "rollback to s").unwrap();
    assert!(memory.taken() <= before);
    run(&mut two, "notify a, 'kept'").unwrap();
    run(&mut two, "commit").unwrap();
    assert_eq!(memory.taken(), before);
    assert_eq!(come(&one), ["a:kept:2"]);
    // Ending to listen needs no memory.
    memory.set_short(true);
    assert_eq!(code_of(run(&mut one, "listen b")), "53200");
    run(&mut one, "unlisten a").unwrap();
    memory.set_short(false);
}

proptest! {
    #![proptest_config(Config::with_cases(sardonyx_base::random::cases(12)))]

    #[test]
    fn sessions_hear_what_plain_lists_say(says in says(), aside_from in prop_oneof![Just(1), Just(3), Just(100)]) {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(aside_from);
        let mut sessions = [numbered(&fresh, 1), numbered(&fresh, 2)];
        run(&mut sessions[0], "create table t (id int primary key)").unwrap();
        let mut model = Model::default();
        for (who, says) in says {
            let texts: Vec<String> = says.iter().map(|say| model.text(say)).collect();
            let text = texts.join("; ");
            let steps = match flight(&mut sessions[who], &text) {
                Ok(steps) => steps,
                // It is refused whole, in a transaction that failed.
                Err(error) => {
                    prop_assert_eq!(error.code, code::FAILED_TRANSACTION);
                    prop_assert!(model.open[who].as_ref().is_some_and(|open| open.has_failed));
                    continue;
                }
            };
            let outcomes = wait(sessions[who].run(steps));
            let mut goes_on = true;
            for (say, outcome) in says.iter().zip(&outcomes) {
                if !goes_on {
                    prop_assert!(matches!(outcome, Outcome::Skipped), "{} {:?}", text, outcome);
                    continue;
                }
                goes_on = model.say(who, say);
                prop_assert_eq!(goes_on, matches!(outcome, Outcome::Done(_)), "{}: {:?}", text, outcome);
            }
            model.sync(who);
            for (who, session) in sessions.iter_mut().enumerate() {
                if session.is_between() {
                    let told = std::mem::take(&mut model.come[who]);
                    prop_assert_eq!(come(session), told, "behind {}", text);
                    let listens = query(session, "select pg_listening_channels()").unwrap();
                    let known: Vec<_> = model.listens[who].iter().map(|one| NAMES[*one]).collect();
                    prop_assert_eq!(listens, known);
                }
            }
        }
    }

    /// Each transaction counts on, and notifies of the number that it found, also if it is run again because another
    /// one committed first.
    #[test]
    fn numbers_that_sessions_count_come_in_order_and_once(
        order in prop::collection::vec((0..3_usize, any::<bool>()), 1..60),
        aside_from in prop_oneof![Just(1), Just(3), Just(100)],
    ) {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(aside_from);
        let mut sessions: Vec<Session> = (1..=3).map(|number| numbered(&fresh, number)).collect();
        let mut listener = numbered(&fresh, 9);
        run(&mut listener, "create table t (id int primary key, x int); insert into t values (1, 0)").unwrap();
        run(&mut listener, "listen counted").unwrap();
        let script = [
            "begin",
            "update t set x = x + 1",
            "select pg_notify('counted', x::text) from t",
            "savepoint s",
            "select pg_notify('counted', 'undone')",
            "rollback to s",
            "commit",
        ];
        let mut at = [0; 3];
        let mut count = 0;
        let mut told = Vec::new();
        for (who, all) in order {
            let session = &mut sessions[who];
            let steps = if all { script.len() } else { 1 };
            for _ in 0..steps {
                match run(session, script[at[who]]) {
                    Ok(done) => {
                        count += usize::from(script[at[who]] == "commit");
                        at[who] = (at[who] + 1) % script.len();
                        drop(done.iter().map(lines));
                    }
                    Err(error) => {
                        prop_assert_eq!(error.code, code::SERIALIZATION_FAILURE);
                        run(session, "rollback").unwrap();
                        at[who] = 0;
                    }
                }
                told.extend(come(&listener));
            }
        }
        let payloads = told.iter().map(|one| one.split(':').nth(1).unwrap().to_string());
        let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        prop_assert_eq!(payloads.collect::<Vec<_>>(), numbers);
    }
}
