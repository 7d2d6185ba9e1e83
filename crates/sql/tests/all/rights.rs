//! Rights with single tables: each part of a statement that can name a table is checked.

use crate::common::{Fresh, query, run};
use sardonyx_sql::{Access, Rights, Session, SessionOptions};

/// Tables that a user may not see, may read, may change, and may do everything with.
pub const TABLES: &str = "create table hidden (id int primary key, v text);\n\
    create table shown (id int primary key, v text);\n\
    create table open (id int primary key, v text);\n\
    create table own (id int primary key, v text);\n\
    insert into hidden values (1, 'h'); insert into shown values (1, 's'); insert into open values (1, 'o');";

pub fn user(fresh: &Fresh, others: Access) -> Session {
    let rights = Rights::from(others)
        .with_table("hidden", Access::Nothing)
        .with_table("shown", Access::Read)
        .with_table("open", Access::Write)
        .with_table("own", Access::Define);
    let options = SessionOptions {
        user: "ada".into(),
        parameters: Vec::new(),
        rights,
        ..SessionOptions::default()
    };
    Session::new(fresh.database.clone(), options).expect("a session")
}

#[track_caller]
pub fn refused(session: &mut Session, text: &str) {
    match run(session, text) {
        Err(error) => assert_eq!(error.code, "42501", "{text}: {error:?}"),
        Ok(done) => panic!("{text}: {done:?}"),
    }
}

#[test]
fn a_table_is_found_by_nobody_who_may_not_read_it_wherever_it_stands() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    for others in [Access::Nothing, Access::Write, Access::Define] {
        let mut ada = user(&fresh, others);
        for text in [
            "select * from hidden",
            "select v from public.hidden where id = 1",
            "select * from shown join hidden on shown.id = hidden.id",
            "select (select v from hidden where id = 1)",
            "select * from shown where exists (select 1 from hidden)",
            "select * from shown where id in (select id from hidden)",
            "select * from (select v from hidden) as t",
            "with t as (select v from hidden) select * from t",
            // The name of a query of WITH is seen where it is, and not before.
            "with a as (select * from hidden), hidden as (select 1) select * from a",
            "select * from hidden, (with hidden as (select 1) select * from hidden) as q",
            "select v from shown union all select v from hidden",
            "insert into open select id + 10, v from hidden",
            "update open set v = (select v from hidden where id = 1)",
            "delete from open where id in (select id from hidden)",
            "explain select * from hidden",
            "explain analyze delete from hidden",
            "copy hidden to stdout",
            "copy (select v from hidden) to stdout",
            "prepare p as select v from hidden",
            "begin; select * from hidden; commit",
        ] {
            refused(&mut ada, text);
            let _ = run(&mut ada, "rollback");
        }
        let reads = "with hidden as (select v from shown) select v from hidden";
        assert_eq!(query(&mut ada, reads).unwrap(), ["s"]);
    }
}

#[test]
fn rows_are_changed_and_tables_are_altered_by_those_who_may() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    let mut ada = user(&fresh, Access::Nothing);
    for text in [
        "insert into shown values (2, 'x')",
        "update shown set v = 'x' where id = 1",
        "delete from shown",
        "truncate shown",
        "prepare p as delete from shown; execute p",
        "truncate open",
        "alter table open add column w int",
        "create index i on open (v)",
        "drop table open",
        "drop table own, open",
        "alter table own rename to hidden",
        "create table other (id int primary key)",
        "create sequence s",
        "create procedure p() begin atomic delete from shown; end",
        "drop index shown_pkey",
    ] {
        refused(&mut ada, text);
        let _ = run(&mut ada, "rollback");
    }
    run(
        &mut ada,
        "insert into open values (2, 'new'); update open set v = 'x' where id = 1",
    )
    .unwrap();
    run(
        &mut ada,
        "prepare q as delete from open where id = 2; execute q",
    )
    .unwrap();
    assert_eq!(query(&mut ada, "select id, v from open").unwrap(), ["1|x"]);
    run(
        &mut ada,
        "create index i on own (v); alter table own add column w int; truncate own; drop table own",
    )
    .unwrap();
    // The right belongs to the name, also without a table.
    run(&mut ada, "create table own (id int primary key)").unwrap();
    let mut root = fresh.session();
    assert_eq!(query(&mut root, "select v from shown").unwrap(), ["s"]);
}

#[test]
fn a_sequence_is_altered_by_those_who_may_alter_its_table() {
    let fresh = Fresh::new();
    let mut admin = fresh.session();
    run(&mut admin, TABLES).unwrap();
    let sequences = "create sequence of_own owned by own.id; create sequence of_open owned by open.id;\n\
        create sequence free; create view seen as select v from own";
    run(&mut admin, sequences).unwrap();
    for others in [Access::Nothing, Access::Write, Access::Define] {
        let mut ada = user(&fresh, others);
        run(&mut ada, "alter sequence of_own restart with 5").unwrap();
        for text in [
            "alter sequence of_open restart",
            "alter sequence of_open owned by own.id",
            "alter sequence of_own owned by open.id",
            "alter sequence of_own rename to hidden",
            "alter table of_open rename to other",
        ] {
            refused(&mut ada, text);
        }
        if others < Access::Define {
            for text in [
                "alter sequence free increment 2",
                "alter sequence free owned by own.id",
                "alter view seen rename to seen2",
                "alter table seen rename to seen2",
            ] {
                refused(&mut ada, text);
            }
        } else {
            refused(&mut ada, "alter view seen rename to hidden");
            run(&mut ada, "alter view seen rename to seen2").unwrap();
            run(&mut ada, "alter sequence free owned by own.id").unwrap();
        }
    }
}

#[test]
fn a_sequence_is_moved_by_those_who_may_change_its_table() {
    let fresh = Fresh::new();
    let tables = "create table hidden (id serial primary key, v text);\n\
        create table shown (id serial primary key, v text);\n\
        create table open (id serial primary key, v text);\n\
        create sequence free; create sequence own";
    run(&mut fresh.session(), tables).unwrap();
    let procedure =
        "create procedure twice(n bigint) begin atomic select nextval('hidden_id_seq') + n; end";
    run(&mut fresh.session(), procedure).unwrap();
    for others in [Access::Nothing, Access::Read] {
        let mut ada = user(&fresh, others);
        for text in [
            "select setval('hidden_id_seq', 1, false)",
            "select nextval('public.hidden_id_seq')",
            "select setval('shown_id_seq'::regclass, 1)",
            "select * from open where id = nextval('shown_id_seq')",
            "insert into open values (nextval('hidden_id_seq'), 'x')",
            "update open set id = 5 where id in (select nextval('hidden_id_seq'))",
            "copy (select setval('shown_id_seq', 1, false)) to stdout",
            "explain analyze select nextval('shown_id_seq')",
            "prepare p as select nextval('shown_id_seq')",
            "select nextval(v) from open",
            "select nextval('shown' || '_id_seq')",
            "select nextval('free')",
            "call twice(1)",
        ] {
            refused(&mut ada, text);
        }
        run(&mut ada, "insert into open (v) values ('x')").unwrap();
        run(
            &mut ada,
            "select setval('open_id_seq', currval('open_id_seq'))",
        )
        .unwrap();
        run(&mut ada, "select nextval('own')").unwrap();
    }
    let mut reader = Session::new(
        fresh.database.clone(),
        SessionOptions {
            user: "bob".into(),
            parameters: Vec::new(),
            rights: Rights::from(Access::Read),
            ..SessionOptions::default()
        },
    )
    .expect("a session");
    refused(&mut reader, "select nextval('open_id_seq')");
    refused(
        &mut reader,
        "copy (select setval('open_id_seq', 1)) to stdout",
    );
    // A user with the right to change every table but one calls procedures; the arguments need its own rights.
    let mut cy = Session::new(
        fresh.database.clone(),
        SessionOptions {
            user: "cy".into(),
            parameters: Vec::new(),
            rights: Rights::from(Access::Write).with_table("shown", Access::Read),
            ..SessionOptions::default()
        },
    )
    .expect("a session");
    assert_eq!(
        query(&mut cy, "call twice(nextval('free'))").unwrap(),
        ["2"]
    );
    refused(&mut cy, "call twice(nextval('shown_id_seq'))");
}

#[test]
fn who_defines_may_do_so_with_the_tables_that_it_is_about() {
    let fresh = Fresh::new();
    let mut root = fresh.session();
    run(&mut root, TABLES).unwrap();
    run(
        &mut root,
        "create index hidden_v on hidden (v); create index shown_v on shown (v); create index own_v on own (v);\n\
         create sequence s",
    )
    .unwrap();
    for others in [Access::Nothing, Access::Define] {
        let mut ada = user(&fresh, others);
        for text in [
            "drop index hidden_v",
            "drop index own_v, shown_v",
            "drop index if exists hidden_v",
            "create procedure peek() begin atomic select * from hidden; end",
            "create procedure poke() begin atomic update open set v = ''; delete from shown; end",
            "create procedure move() begin atomic select setval('s', 5) from hidden; end",
        ] {
            refused(&mut ada, text);
        }
    }
    let mut ada = user(&fresh, Access::Nothing);
    run(&mut ada, "drop index own_v").unwrap();
    let mut ada = user(&fresh, Access::Define);
    let text = "create procedure fine() begin atomic update open set v = v || '!'; select v from shown; end";
    run(&mut ada, text).unwrap();
    assert_eq!(query(&mut ada, "call fine()").unwrap(), ["s"]);
    run(&mut root, "drop index hidden_v; drop index shown_v").unwrap();
}

#[test]
fn a_procedure_does_what_its_caller_may_not() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    let procedure = "create procedure raise_it() begin atomic update hidden set v = v || '!'; end";
    run(&mut fresh.session(), procedure).unwrap();
    refused(&mut user(&fresh, Access::Read), "call raise_it()");
    // The right is checked also if another name runs the procedure.
    let mut nobody = user(&fresh, Access::Nothing);
    let prepared = run(&mut nobody, "prepare p as call raise_it(); execute p");
    assert_eq!(prepared.unwrap_err().code, "42601");
    refused(&mut user(&fresh, Access::Nothing), "call raise_it()");
    assert_eq!(
        query(&mut fresh.session(), "select v from hidden").unwrap(),
        ["h"]
    );
    run(&mut user(&fresh, Access::Write), "call raise_it()").unwrap();
    let mut root = fresh.session();
    assert_eq!(query(&mut root, "select v from hidden").unwrap(), ["h!"]);
}

#[test]
fn a_view_shows_what_its_reader_may_not_read_and_its_maker_may() {
    let fresh = Fresh::new();
    let mut root = fresh.session();
    run(&mut root, TABLES).unwrap();
    let mut cy = user(&fresh, Access::Define);
    refused(&mut cy, "create view peek as select v from hidden");
    refused(
        &mut cy,
        "create view peek as select 1 as one where exists (select 1 from hidden)",
    );
    run(&mut root, "create view hidden_all as select * from hidden").unwrap();
    let mut ada = user(&fresh, Access::Read);
    refused(&mut ada, "select * from hidden");
    assert_eq!(query(&mut ada, "select v from hidden_all").unwrap(), ["h"]);
    refused(&mut ada, "create view mine as select * from hidden_all");
    refused(&mut ada, "drop view hidden_all");
    let mut nobody = user(&fresh, Access::Nothing);
    refused(&mut nobody, "select v from hidden_all");
    refused(&mut nobody, "select * from (select v from hidden_all) q");
}

#[test]
fn a_view_is_replaced_and_dropped_by_those_who_may_with_its_name() {
    let fresh = Fresh::new();
    let mut root = fresh.session();
    let text = "create table t (id int primary key); create view hidden as select id from t; \
                create view shown as select id from t; create view own as select id from t";
    run(&mut root, text).unwrap();
    let mut ada = user(&fresh, Access::Define);
    for text in [
        "drop view hidden",
        "drop view own, shown",
        "create or replace view hidden as select 1 as id",
        "create or replace view shown as select id from t",
    ] {
        refused(&mut ada, text);
    }
    run(
        &mut ada,
        "create or replace view own as select id, 1 as one from t",
    )
    .unwrap();
    let mut bea = user(&fresh, Access::Nothing);
    refused(&mut bea, "create view another as select 1 as one");
    run(&mut bea, "drop view own").unwrap();
}

/// The tags and notices of statements on rights, or the errors' codes.
pub fn asked(session: &mut Session, text: &str) -> String {
    match run(session, text) {
        Ok(done) => {
            let notices = done.iter().flat_map(|done| &done.notices);
            let notices: Vec<&str> = notices.map(|notice| &*notice.message).collect();
            notices.join("; ")
        }
        Err(error) => error.code.to_string(),
    }
}

#[test]
fn statements_on_rights_are_taken_if_the_configuration_gives_them_already() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), TABLES).unwrap();
    let rights = |others| Rights::from(others).with_table("hidden", Access::Nothing);
    fresh.database.set_users([
        ("ada".to_string(), rights(Access::Define)),
        ("reader".to_string(), rights(Access::Read)),
        ("writer".to_string(), rights(Access::Write)),
    ]);
    let mut ada = user(&fresh, Access::Define);
    let granted = "no privileges were granted: the server's configuration gives them already";
    let revoked = "no privileges were revoked: the server's configuration does not give them";
    for (text, answer) in [
        ("grant select on shown to reader, writer", granted),
        ("grant select on shown to public", granted),
        ("grant insert on shown to writer", granted),
        ("grant insert on shown to reader, writer", "0A000"),
        ("grant select on hidden to reader", "0A000"),
        (
            "grant select on all tables in schema public to reader",
            "0A000",
        ),
        ("grant insert on shown to public", "0A000"),
        ("revoke insert, update on shown from reader", revoked),
        ("revoke all on hidden from reader, writer", revoked),
        ("revoke select on shown from reader", "0A000"),
        ("revoke all on shown from writer", "0A000"),
        (
            "revoke all on all tables in schema public from reader",
            "0A000",
        ),
        ("revoke all on schema public from reader", "0A000"),
        (
            "alter default privileges revoke all on tables from reader",
            "0A000",
        ),
        (
            "revoke all on schema public from public",
            "no privileges were revoked: PUBLIC has none, and each user those of the server's configuration",
        ),
        ("revoke usage on schema public from reader", "0A000"),
        ("grant create on schema public to writer", "0A000"),
        (
            "alter default privileges grant insert on tables to writer",
            granted,
        ),
        (
            "alter default privileges grant insert on tables to reader",
            "0A000",
        ),
        ("grant select on shown to nobody_here", "42704"),
        ("create role reader", "42710"),
        ("create role other", "0A000"),
        ("drop role reader", "0A000"),
        ("alter table own owner to ada", ""),
        ("alter table own owner to reader", "0A000"),
        ("alter table own owner to nobody_here", "42704"),
    ] {
        assert_eq!(asked(&mut ada, text), answer, "{text}");
    }
    // Without users every name is admitted, with all rights.
    fresh.database.set_users([]);
    for (text, answer) in [
        ("grant all on hidden to nobody_here, public", granted),
        ("revoke all on hidden from public", "0A000"),
        ("alter table own owner to nobody_here", ""),
        ("create role other", "0A000"),
    ] {
        assert_eq!(asked(&mut ada, text), answer, "{text}");
    }
    // A user that may define nothing says nothing of rights, either.
    let mut reader = user(&fresh, Access::Read);
    refused(&mut reader, "grant select on shown to reader");
}

#[test]
fn rows_of_a_secured_table_are_those_of_its_owners() {
    let mut fresh = Fresh::new();
    let mut owner = fresh.session();
    run(&mut owner, TABLES).unwrap();
    run(
        &mut owner,
        "alter table open enable row level security; alter table own enable row level security;
        create view of_open as select v from open; insert into own values (3, 'e')",
    )
    .unwrap();
    let secured = "select relname from pg_class where relrowsecurity order by 1";
    assert_eq!(query(&mut owner, secured).unwrap(), ["open", "own"]);
    assert_eq!(query(&mut owner, "select v from open").unwrap(), ["o"]);
    drop(owner);
    // It is kept.
    fresh.reopen();
    let mut session = user(&fresh, Access::Nothing);
    for text in [
        "select v from open",
        "select 1 where exists (select from open)",
        "insert into open values (2, 'x')",
        "update open set v = 'x'",
        "delete from open",
        "copy open to stdout",
        "insert into own select * from open",
    ] {
        refused(&mut session, text);
    }
    run(&mut session, "update own set v = 'f'").unwrap();
    let mut owner = fresh.session();
    for text in [
        "alter table open force row level security",
        "create policy p on open using (true)",
    ] {
        let error = run(&mut owner, text).expect_err(text);
        assert_eq!(error.code, "0A000", "{text}");
    }
    run(
        &mut owner,
        "alter table open no force row level security, disable row level security",
    )
    .unwrap();
    assert_eq!(query(&mut session, "select v from open").unwrap(), ["o"]);
}
