//! `pg_stat_activity`, and the functions that end statements and sessions: the listed sessions, the rights to see and end
//! them, and that a call is made once however often its statement runs.

use crate::common::{Fresh, query, run};
use sardonyx_sql::{Access, ClientAddress, Session, SessionOptions, SqlError};

fn of(fresh: &Fresh, user: &str, process: u32, access: Access) -> Session {
    let options = SessionOptions {
        user: user.into(),
        database: "bank".into(),
        parameters: vec![("application_name".into(), format!("app {process}"))],
        rights: access.into(),
        process,
        client: ClientAddress::Remote("127.0.0.1:4000".parse().expect("an address")),
    };
    Session::new(fresh.database.clone(), options).expect("a session")
}

fn code_of<T>(result: Result<T, SqlError>) -> &'static str {
    result.err().map_or("", |error| error.code)
}

/// The warnings of a statement.
fn warnings(session: &mut Session, text: &str) -> Vec<String> {
    let done = run(session, text).expect("it runs");
    let notices = done.iter().flat_map(|complete| &complete.notices);
    notices.map(|notice| notice.message.clone()).collect()
}

const SEEN: &str = "select pid, usename, application_name, client_addr, client_port, state, query, \
    xact_start is not null, query_start >= backend_start, wait_event \
    from pg_stat_activity order by pid";

#[test]
fn a_session_sees_all_and_without_the_right_to_define_only_its_user_s_statements() {
    let fresh = Fresh::new();
    let mut one = of(&fresh, "ada", 1, Access::Define);
    let mut two = of(&fresh, "bob", 2, Access::Read);
    let mut three = of(&fresh, "bob", 3, Access::Read);
    run(&mut one, "create table t (id int primary key)").unwrap();
    run(&mut one, "begin; insert into t values (1)").unwrap();
    run(&mut three, "set application_name = 'other'").unwrap();
    run(&mut three, "begin").unwrap();
    run(&mut three, "select 1 / 0").unwrap_err();
    let own = query(&mut two, SEEN).unwrap();
    let hidden = "1|ada|app 1|NULL|NULL|NULL|<insufficient privilege>|f|NULL|NULL";
    assert_eq!(own[0], hidden);
    assert!(
        own[1].starts_with("2|bob|app 2|127.0.0.1|4000|active|select pid"),
        "{own:?}"
    );
    let failed =
        "3|bob|other|127.0.0.1|4000|idle in transaction (aborted)|select 1 / 0|t|t|ClientRead";
    assert_eq!(own[2], failed);
    let all = query(
        &mut one,
        "select pid, state, query from pg_stat_activity where pid <> 2 order by pid",
    )
    .unwrap();
    assert!(all[0].starts_with("1|active|select pid"), "{all:?}");
    assert_eq!(all[1], "3|idle in transaction (aborted)|select 1 / 0");
    run(&mut three, "rollback").unwrap();
    let idle = "select state, query, xact_start is null from pg_stat_activity where pid = 3";
    assert_eq!(query(&mut one, idle).unwrap(), ["idle|rollback|t"]);
    drop(three);
    assert_eq!(query(&mut one, idle).unwrap(), [""; 0]);
    let counted = "select numbackends, sessions > 2 from pg_stat_database where datname = 'bank'";
    assert_eq!(query(&mut one, counted).unwrap(), ["2|t"]);
    assert_eq!(
        query(&mut two, "select inet_client_addr(), inet_client_port()").unwrap(),
        ["127.0.0.1|4000"]
    );
}

#[test]
fn a_statement_is_cancelled_and_a_session_ended_by_its_user_or_one_with_all_rights() {
    let fresh = Fresh::new();
    let mut one = of(&fresh, "ada", 1, Access::Define);
    let mut two = of(&fresh, "bob", 2, Access::Read);
    let mut three = of(&fresh, "bob", 3, Access::Write);
    let mut four = of(&fresh, "eve", 4, Access::Write);
    fresh.database.set_users([
        ("ada".to_string(), Access::Define.into()),
        ("bob".to_string(), Access::Read.into()),
        ("eve".to_string(), Access::Write.into()),
    ]);
    let refused = |session: &mut Session, text: &str, said: &str| {
        let error = run(session, text).unwrap_err();
        assert_eq!((error.code, &*error.message), ("42501", said), "{text}");
    };
    refused(
        &mut four,
        "select pg_cancel_backend(1)",
        "must be a superuser to cancel superuser query",
    );
    refused(
        &mut four,
        "select pg_terminate_backend(1)",
        "must be a superuser to terminate superuser process",
    );
    refused(
        &mut four,
        "select pg_cancel_backend(2)",
        "must be a member of the role whose query is being canceled or member of pg_signal_backend",
    );
    refused(
        &mut four,
        "select pg_terminate_backend(2, 0)",
        "must be a member of the role whose process is being terminated or member of pg_signal_backend",
    );
    assert_eq!(query(&mut two, "select 1").unwrap(), ["1"]);
    assert_eq!(
        query(&mut three, "select pg_cancel_backend(2)").unwrap(),
        ["t"]
    );
    assert_eq!(code_of(run(&mut two, "select 2")), "57014");
    assert_eq!(query(&mut two, "select 3").unwrap(), ["3"]);
    // It ends its own statement.
    assert_eq!(
        code_of(run(&mut two, "select pg_cancel_backend(pg_backend_pid())")),
        "57014"
    );
    assert_eq!(
        warnings(
            &mut one,
            "select pg_cancel_backend(99), pg_terminate_backend(-1)"
        ),
        [
            "PID 99 is not a PostgreSQL backend process",
            "PID -1 is not a PostgreSQL backend process"
        ]
    );
    let text = "select pid, pg_terminate_backend(pid) from pg_stat_activity where usename = 'bob' order by 1";
    assert_eq!(query(&mut one, text).unwrap(), ["2|t", "3|t"]);
    for session in [&mut two, &mut three] {
        assert_eq!(code_of(run(session, "select 1")), "57P01");
        assert_eq!(code_of(run(session, "select 1")), "57P01");
    }
    assert_eq!(
        query(&mut one, "select pg_cancel_backend(null) is null").unwrap(),
        ["t"]
    );
}

#[test]
fn a_call_with_a_time_waits_for_the_end_of_the_session() {
    let fresh = Fresh::new();
    let mut one = of(&fresh, "ada", 1, Access::Define);
    let two = of(&fresh, "ada", 2, Access::Define);
    assert_eq!(
        code_of(run(&mut one, "select pg_terminate_backend(2, -1)")),
        "22003"
    );
    assert_eq!(
        warnings(&mut one, "select pg_terminate_backend(2, 1)"),
        ["backend with PID 2 did not terminate within 1 millisecond"]
    );
    // A statement that reads tables does not wait.
    let text = "select pg_terminate_backend(pid, 1) from pg_stat_activity where pid = 2";
    assert_eq!(code_of(run(&mut one, text)), "0A000");
    std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| query(&mut one, "select pg_terminate_backend(2, 60000)").unwrap());
        drop(two);
        assert_eq!(waits.join().unwrap().len(), 1);
    });
    assert_eq!(
        query(&mut one, "select pg_terminate_backend(2, 60000)").unwrap(),
        ["f"]
    );
}

#[test]
fn a_transaction_that_is_run_again_reads_the_same_sessions_and_signals_once() {
    for aside_from in [1, 100] {
        let fresh = Fresh::new();
        fresh.database.set_aside_from(aside_from);
        let mut one = of(&fresh, "ada", 1, Access::Define);
        let mut two = of(&fresh, "ada", 2, Access::Define);
        run(&mut one, "create table t (id int primary key)").unwrap();
        run(&mut one, "begin").unwrap();
        run(&mut one, "insert into t values (1)").unwrap();
        assert_eq!(
            query(&mut one, "select count(*) from pg_stat_activity").unwrap(),
            ["2"]
        );
        assert_eq!(
            query(&mut one, "select pg_cancel_backend(2)").unwrap(),
            ["t"]
        );
        assert_eq!(
            query(&mut one, "select pg_blocking_pids(2)").unwrap(),
            ["{}"]
        );
        assert_eq!(code_of(run(&mut two, "select 1")), "57014");
        let _three = of(&fresh, "ada", 3, Access::Define);
        run(&mut one, "insert into t values (2)").unwrap();
        run(&mut one, "commit").unwrap();
        assert_eq!(query(&mut two, "select count(*) from t").unwrap(), ["2"]);
    }
}

#[test]
fn discard_all_gives_the_locks_of_the_session_back() {
    let fresh = Fresh::new();
    let mut one = of(&fresh, "ada", 1, Access::Define);
    let mut two = of(&fresh, "ada", 2, Access::Define);
    run(
        &mut one,
        "select pg_advisory_lock(7), pg_advisory_lock_shared(8)",
    )
    .unwrap();
    let tries = "select pg_try_advisory_lock(7), pg_try_advisory_lock(8)";
    assert_eq!(query(&mut two, tries).unwrap(), ["f|f"]);
    run(&mut one, "discard all").unwrap();
    assert_eq!(query(&mut two, tries).unwrap(), ["t|t"]);
    assert_eq!(code_of(run(&mut one, "begin; discard all")), "25001");
}
