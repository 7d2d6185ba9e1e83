//! Functions of users beside rows: their rights in views, procedures and actions of references, their memory and messages,
//! functions that only read beside writers, and names that change.

use crate::common::{Fresh, query, run};
use sardonyx_sql::{
    Access, BesideLimits, Complete, Rights, Session, SessionOptions, SqlError, code, declarations,
};
use std::sync::{Arc, Mutex};

fn code_of<T>(result: Result<T, SqlError>) -> &'static str {
    result.err().map_or("", |error| error.code)
}

fn one(session: &mut Session, text: &str) -> String {
    query(session, text).expect("it is read").join(" ")
}

/// The messages of the last statement of a text.
fn messages(done: Result<Vec<Complete>, SqlError>) -> Vec<String> {
    let mut done = done.expect("it runs");
    let last = done.pop().expect("a statement");
    last.notices.into_iter().map(|one| one.message).collect()
}

/// All statements run beside others, as if their rows were many.
fn all_beside(fresh: &Fresh) {
    fresh.database.set_beside(BesideLimits {
        from: 2,
        few: 1,
        slice: 4,
        ..BesideLimits::default()
    });
}

/// A session of a user who may do everything, but nothing with one table.
fn without(fresh: &Fresh, table: &str) -> Session {
    let options = SessionOptions {
        user: "ada".into(),
        rights: Rights::from(Access::Define).with_table(table, Access::Nothing),
        ..SessionOptions::default()
    };
    Session::new(fresh.database.clone(), options).expect("a session")
}

#[test]
fn functions_in_views_and_procedures_have_the_rights_of_the_caller() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table secret (s text primary key);
        insert into secret values ('hidden');
        create table own (id int primary key, parent int);
        create table parents (id int primary key);
        insert into parents values (1)",
    )
    .expect("they are made");
    let mut ada = without(&fresh, "secret");
    run(
        &mut ada,
        "create function f() returns text language plpgsql as
            $$ begin return (select s from secret limit 1); end $$;
        create view v as select f() as s;
        create procedure p() language sql as 'select f()';
        create function spies() returns trigger language plpgsql as
            $$ begin delete from secret; return null; end $$;
        create procedure changes() language sql as 'update own set id = id';
        alter table own add foreign key (parent) references parents on update cascade;
        insert into own values (1, 1);
        create trigger x after update on own for each row execute function spies()",
    )
    .expect("they are made");
    let texts = [
        "select f()",
        "select * from v",
        "select s from (select * from v) as q where s > ''",
        "call p()",
        "call changes()",
        "update own set id = id",
        "update parents set id = 2",
    ];
    // Plans of procedures are of all users, so the order of the callers may not matter.
    for _ in 0..2 {
        for text in texts {
            assert_eq!(
                code_of(run(&mut ada, text)),
                code::INSUFFICIENT_PRIVILEGE,
                "{text}"
            );
        }
        assert_eq!(one(&mut session, "select * from v"), "hidden");
        run(
            &mut session,
            "begin; call p(); call changes(); update parents set id = 2; rollback",
        )
        .expect("they may");
    }
    assert_eq!(one(&mut session, "select count(*) from secret"), "1");
}

#[test]
fn functions_look_in_the_search_path_of_their_caller() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create schema s; set search_path = s;
        create table kids (id int primary key, parent int);
        create table parents (id int primary key);
        create table log (what text);
        insert into parents values (1); insert into kids values (1, 1);
        alter table kids add foreign key (parent) references parents on update cascade;
        create function logs() returns trigger language plpgsql as
            $$ begin insert into log values (tg_op); return null; end $$;
        create trigger x after update on kids for each row execute function logs();
        create function many() returns bigint language plpgsql as
            $$ begin return (select count(*) from log); end $$;
        create view v as select s.many() as n;
        create procedure p() language sql as 'update s.kids set id = id';
        update parents set id = 2;
        call p()",
    )
    .expect("they run");
    assert_eq!(one(&mut session, "select * from v"), "2");
    run(&mut session, "set search_path = public").expect("it is set");
    assert_eq!(code_of(run(&mut session, "select * from s.v")), "42P01");
    assert_eq!(code_of(run(&mut session, "call p()")), "42P01");
}

#[test]
fn rows_that_wait_for_their_triggers_are_counted_as_memory() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, v text);
        create function nothing() returns trigger language plpgsql as $$ begin return null; end $$;
        insert into t select i, repeat('x', 1000) from generate_series(1, 1000) i;
        create trigger x after insert or delete or update on t for each row execute function nothing()",
    )
    .expect("they are made");
    let texts = [
        "delete from t",
        "update t set v = v || 'y'",
        "insert into t select i, repeat('x', 1000) from generate_series(1001, 2000) i",
    ];
    let memory = fresh.database.memory().clone();
    for text in texts {
        // The rows of the statement itself take less.
        memory.set_bytes_max(900 << 10);
        assert_eq!(code_of(run(&mut session, text)), "53200", "{text}");
        assert_eq!(one(&mut session, "select count(*) from t"), "1000");
        memory.set_bytes_max(usize::MAX);
        run(&mut session, &format!("begin; {text}; rollback")).expect("there is room");
        assert_eq!(memory.taken(), 0, "{text}");
    }
}

#[test]
fn messages_of_a_statement_have_a_bound() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create function f(i int) returns int language plpgsql as
            $$ begin raise notice '%', repeat('x', 900000); return i; end $$",
    )
    .expect("it is made");
    let few = run(
        &mut session,
        "select sum(f(i)) from generate_series(1, 8) i",
    );
    assert_eq!(messages(few).len(), 8);
    let many = run(
        &mut session,
        "select sum(f(i)) from generate_series(1, 12) i",
    );
    assert_eq!(code_of(many), code::PROGRAM_LIMIT);
    assert_eq!(fresh.database.memory().taken(), 0);
}

#[test]
fn messages_come_also_from_statements_that_run_beside_others() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, n int);
        create function says() returns trigger language plpgsql as
            $$ begin raise notice 'row %', new.id; return new; end $$;
        create function reads() returns bigint language plpgsql as
            $$ begin raise warning 'reading'; return (select count(*) from t); end $$;
        insert into t select i, i from generate_series(1, 20) i;
        create trigger x before update on t for each row execute function says()",
    )
    .expect("they are made");
    let wanted: Vec<String> = (1..=20).map(|id| format!("row {id}")).collect();
    let stage = messages(run(&mut session, "update t set n = n + 1"));
    assert_eq!(stage, wanted);
    all_beside(&fresh);
    let beside = messages(run(&mut session, "update t set n = n + 1"));
    assert_eq!(beside, wanted);
    assert_eq!(messages(run(&mut session, "select reads()")), ["reading"]);
}

#[test]
fn functions_that_only_read_do_not_run_in_the_stage() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, n int);
        create sequence q;
        insert into t values (1, 1), (2, 2);
        create function sums() returns bigint language plpgsql as $$ begin return (select sum(n) from t); end $$;
        create function all_of() returns setof int language sql as 'select n from t order by n';
        create function draws() returns bigint language sql as $$ select nextval('q') $$;
        create function adds() returns int language sql as 'update t set n = n + 1 where id = 1 returning n';
        create function locks() returns int language sql as 'select n from t where id = 1 for update'",
    )
    .expect("they are made");
    // Calls that commit beside: one for each statement that runs so.
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    fresh.database.set_beside(BesideLimits {
        within: Some(Arc::new(move || *counted.lock().expect("no panic") += 1)),
        ..BesideLimits::default()
    });
    for (text, answer, are_beside) in [
        ("select sums()", "3", 1),
        ("select * from all_of()", "1 2", 1),
        ("select sums() limit 1", "3", 1),
        ("select draws()", "1", 1),
        ("select draws(), sums()", "2|3", 1),
        ("select adds()", "2", 0),
        ("select locks()", "2", 0),
        ("select sums()", "4", 1),
    ] {
        *calls.lock().expect("no panic") = 0;
        assert_eq!(one(&mut session, text), answer, "{text}");
        assert_eq!(*calls.lock().expect("no panic"), are_beside, "{text}");
    }
    // The numbers are used up.
    assert_eq!(one(&mut session, "select nextval('q')"), "3");
}

#[test]
fn only_code_that_notifies_keeps_large_statements_in_the_stage() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, n int);
        insert into t select i, i from generate_series(1, 20) i;
        create function nothing() returns trigger language plpgsql as $$ begin return null; end $$;
        create trigger x after update on t for each row execute function nothing();
        create function notifies() returns text language plpgsql as
            $$ begin /* as pg_notify does */ return 'pg_notify'; end $$ -- notify",
    )
    .expect("they are made");
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    fresh.database.set_beside(BesideLimits {
        from: 2,
        few: 1,
        slice: 4,
        within: Some(Arc::new(move || *counted.lock().expect("no panic") += 1)),
        ..BesideLimits::default()
    });
    run(&mut session, "update t set n = n + 1").expect("they are changed");
    assert!(*calls.lock().expect("no panic") > 0);
    run(
        &mut session,
        "create function tell() returns void language sql as $$ select pg_notify('a', 'b') $$",
    )
    .expect("it is made");
    *calls.lock().expect("no panic") = 0;
    run(&mut session, "update t set n = n + 1").expect("they are changed");
    assert_eq!(*calls.lock().expect("no panic"), 0);
}

#[test]
fn functions_follow_renamed_schemas_and_tables() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create schema s;
        create table s.t (id int primary key);
        insert into s.t values (7);
        create function s.f() returns int language sql as 'select 1';
        create function s.rows_of() returns setof s.t language plpgsql as
            $$ begin return query select 7; end $$;
        create function public.rows_of() returns setof s.t language plpgsql as
            $$ begin return query select 8; end $$;
        alter schema s rename to u;
        alter table u.t rename to t2",
    )
    .expect("they are made");
    assert_eq!(one(&mut session, "select u.f()"), "1");
    assert_eq!(one(&mut session, "select id from u.rows_of()"), "7");
    assert_eq!(one(&mut session, "select id from rows_of()"), "8");
    assert_eq!(again(&fresh).join("\n"), declared(&fresh).join("\n"));
    assert_eq!(code_of(run(&mut session, "drop schema u")), "2BP01");
    run(&mut session, "create schema s").expect("it is made");
    assert_eq!(code_of(run(&mut session, "select s.f()")), "42883");
}

fn declared(fresh: &Fresh) -> Vec<String> {
    let tables = fresh.database.tables().expect("tables in memory").clone();
    let all = tables.read(|view| Ok(declarations(view).expect("they are written")));
    let all = all.expect("they are read").into_iter();
    all.map(|one| one.sql).collect()
}

/// The declared text of a database that the declared text of another one made.
fn again(fresh: &Fresh) -> Vec<String> {
    let copy = Fresh::new();
    let mut session = copy.session();
    for text in declared(fresh) {
        run(&mut session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    declared(&copy)
}

#[test]
fn declared_functions_may_name_what_comes_later_or_is_not_there() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key);
        create function a() returns int language sql as 'select 1';
        create function b() returns int language sql as 'select 2';
        create or replace function a() returns int language sql as 'select b()';
        create table dropped (id int primary key);
        create function lost() returns bigint language sql as 'select count(*) from dropped';
        drop table dropped;
        create view v as select id from t;
        create function of_view() returns bigint language sql as 'select count(*) from v';
        create view w as select of_view() as n;
        create materialized view m as select id from v;
        create function of_matview() returns setof m language sql as 'select id from m'",
    )
    .expect("they are made");
    assert_eq!(again(&fresh), declared(&fresh));
    // A body is not parsed less: only its names are not looked up.
    for (text, wanted) in [
        (
            "create function c() returns int language sql as 'select nothing()'",
            "42883",
        ),
        (
            "set check_function_bodies = off; create function c() returns int language sql as 'select nothing()'",
            "",
        ),
        (
            "create function d() returns int language sql as 'selec'",
            "42601",
        ),
        ("select c()", "42883"),
        (
            "reset check_function_bodies; create or replace function c() returns int language sql as 'select nothing()'",
            "42883",
        ),
    ] {
        assert_eq!(code_of(run(&mut session, text)), wanted, "{text}");
    }
}
