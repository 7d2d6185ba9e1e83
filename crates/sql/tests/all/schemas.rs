//! Schemas and temporary tables for programs without SQL, for users with few rights, and at openings after a crash.

use crate::common::{Fresh, lines, query, run};
use sardonyx::Tables;
use sardonyx::schema::{Schema, Type};
use sardonyx_sql::{Access, Database, Rights, Session, SessionOptions, declarations};
use std::sync::Arc;

/// The names under which the engine keeps tables, without SQL's own.
fn kept(tables: &Tables) -> Vec<String> {
    let names = tables.read(|view| {
        let names = view.definitions().iter().map(|one| one.name.clone());
        Ok(names.collect::<Vec<_>>())
    });
    let mut names = names.unwrap();
    let is_own = |name: &String| name.starts_with("sql.") || name.starts_with("sardonyx.");
    // The numbers of dropped tables have no names.
    names.retain(|name| !is_own(name) && !name.is_empty());
    names
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    query(session, text).unwrap()
}

#[test]
fn programs_name_a_table_with_its_schema() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create schema app; create table app.t (id int primary key)",
    )
    .unwrap();
    run(&mut session, "create table \"a.b\" (id int primary key)").unwrap();
    let tables = fresh.database.tables().unwrap().clone();
    assert_eq!(kept(&tables), ["app.t", "public.a.b"]);
    // One that a program makes is in the schema of its name.
    let schema = || Schema::new().column("id", Type::I32).primary_key(["id"]);
    tables.create_table("app.made", schema()).unwrap();
    tables.create_table("shop.orders", schema()).unwrap();
    run(&mut session, "insert into app.made values (1)").unwrap();
    run(&mut session, "insert into shop.orders values (2)").unwrap();
    assert_eq!(rows(&mut session, "select * from app.made"), ["1"]);
    // A name with a point may be older than schemas.
    assert_eq!(rows(&mut session, "select * from \"shop.orders\""), ["2"]);
    let taken = run(&mut session, "create table \"shop.orders\" (id int)");
    assert_eq!(taken.unwrap_err().code, "42P07");
    let listed = "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace \
        where relkind = 'r' order by 1, 2";
    let all = ["app|made", "app|t", "public|a.b", "shop|orders"];
    assert_eq!(rows(&mut session, listed), all);
    run(&mut session, "drop schema shop cascade").unwrap();
    assert_eq!(kept(&tables).len(), 3);
}

#[test]
fn rights_are_of_tables_with_their_schemas() {
    let fresh = Fresh::new();
    let text = "create schema app; create table app.t (id int); create table t (id int); \
        insert into t values (1); insert into app.t values (2)";
    run(&mut fresh.session(), text).unwrap();
    let rights = Rights::from(Access::Nothing).with_table("app.t", Access::Read);
    let options = SessionOptions {
        user: "ada".into(),
        rights,
        ..SessionOptions::default()
    };
    let mut ada = Session::new(fresh.database.clone(), options).unwrap();
    assert_eq!(rows(&mut ada, "select * from app.t"), ["2"]);
    let refused = [
        "select * from t",
        "select * from public.t",
        "insert into app.t values (3)",
        "create schema mine",
        "drop schema app cascade",
        "alter schema app rename to mine",
    ];
    for text in refused {
        assert_eq!(run(&mut ada, text).unwrap_err().code, "42501", "{text}");
    }
    run(&mut ada, "set search_path to app").unwrap();
    assert_eq!(rows(&mut ada, "select * from t"), ["2"]);
}

#[test]
fn a_path_that_changes_has_prepared_statements_read_other_tables() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create schema a; create schema b; create table a.t (v text); create table b.t (v text); \
        insert into a.t values ('of a'); insert into b.t values ('of b')";
    run(&mut session, text).unwrap();
    run(
        &mut session,
        "set search_path to a; prepare read as select v from t",
    )
    .unwrap();
    assert_eq!(rows(&mut session, "execute read"), ["of a"]);
    run(&mut session, "set search_path to b").unwrap();
    assert_eq!(rows(&mut session, "execute read"), ["of b"]);
    // Statements of one text run with the settings of those before them.
    let done = run(&mut session, "set search_path to a; select v from t").unwrap();
    assert_eq!(lines(done.last().unwrap()), ["of a"]);
    // An open transaction runs its statements again, each with its own path.
    run(&mut session, "begin").unwrap();
    run(&mut session, "insert into t values ('more')").unwrap();
    run(&mut session, "set local search_path to b").unwrap();
    run(&mut session, "insert into t values ('more')").unwrap();
    run(&mut session, "insert into a.t values ('last')").unwrap();
    run(&mut session, "commit").unwrap();
    assert_eq!(rows(&mut session, "select count(*) from a.t"), ["3"]);
    assert_eq!(rows(&mut session, "select count(*) from b.t"), ["2"]);
}

#[test]
fn a_schema_is_written_as_sql_that_makes_it_again() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create schema app; create schema \"Odd one\"; \
        create table app.t (id serial primary key, v text unique check (v <> '')); \
        create table \"Odd one\".u (t int references app.t, n int); \
        create index on \"Odd one\".u (n); create sequence app.s start 5; \
        create view app.seen as select v from app.t; \
        comment on schema app is 'of it'; comment on table app.t is 'its rows'; \
        create temp table passing (id int)";
    run(&mut session, text).unwrap();
    let written = |database: &Arc<Database>| {
        let tables = database.tables().unwrap();
        let all = tables.read(|view| Ok(declarations(view).unwrap())).unwrap();
        all.into_iter().map(|one| one.sql).collect::<Vec<_>>()
    };
    let first = written(&fresh.database);
    assert!(
        !first.iter().any(|sql| sql.contains("passing")),
        "{first:?}"
    );
    let again = Fresh::new();
    run(&mut again.session(), &first.join("\n")).unwrap();
    assert_eq!(written(&again.database), first);
}

#[test]
fn conditions_of_every_program_are_declared_so() {
    let fresh = Fresh::new();
    let text = "create table t (k text check (k in ('a', 'b')), l text check (l in ('a'))); \
        create table u (like t including all)";
    run(&mut fresh.session(), text).unwrap();
    let tables = fresh.database.tables().unwrap();
    let all = tables.read(|view| Ok(declarations(view).unwrap())).unwrap();
    // A program without SQL tests no array, and no cast.
    let of_sql = |sql: &str| sql.contains("ANY") || sql.contains("::");
    assert!(!all.iter().any(|one| of_sql(&one.sql)), "{all:?}");
}

#[test]
fn a_schema_without_tables_is_there_after_an_opening() {
    let mut fresh = Fresh::new();
    run(
        &mut fresh.session(),
        "create schema app; create sequence app.s",
    )
    .unwrap();
    fresh.reopen();
    let mut session = fresh.session();
    assert_eq!(rows(&mut session, "select nextval('app.s')"), ["1"]);
    run(&mut session, "drop schema app cascade").unwrap();
    fresh.reopen();
    let found = rows(
        &mut fresh.session(),
        "select count(*) from pg_namespace where nspname = 'app'",
    );
    assert_eq!(found, ["0"]);
}

#[test]
fn temporary_tables_go_with_their_session() {
    let fresh = Fresh::new();
    let tables = fresh.database.tables().unwrap().clone();
    let mut session = fresh.session();
    run(&mut session, "create table t (id int)").unwrap();
    run(
        &mut session,
        "create temp table passing (id serial, v text)",
    )
    .unwrap();
    run(
        &mut session,
        "create temp view seen as select v from passing",
    )
    .unwrap();
    run(&mut session, "insert into passing (v) values ('x')").unwrap();
    assert_eq!(kept(&tables).len(), 2);
    let mut other = fresh.session();
    let schema = &kept(&tables)[1];
    let of_others = run(&mut other, &format!("select * from {schema}"));
    assert_eq!(of_others.unwrap_err().code, "0A000");
    drop(session);
    assert_eq!(kept(&tables), ["t"]);
    let left = rows(
        &mut other,
        "select relname from pg_class where relkind in ('S', 'v') and relpersistence = 't'",
    );
    assert!(left.is_empty(), "{left:?}");
    // One whose transaction is undone made none.
    let mut session = fresh.session();
    run(&mut session, "begin; create temp table undone (id int)").unwrap();
    drop(session);
    assert_eq!(kept(&tables), ["t"]);
}

#[test]
fn temporary_tables_of_a_process_that_ended_are_dropped_at_the_next_opening() {
    let mut fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create temp table passing (id serial, v text)",
    )
    .unwrap();
    run(&mut session, "create table t (id int)").unwrap();
    // It ends without a word.
    std::mem::forget(session);
    fresh.reopen();
    let tables = fresh.database.tables().unwrap().clone();
    assert_eq!(kept(&tables), ["t"]);
    // The next session has the same schema, and finds nothing there.
    let mut session = fresh.session();
    assert_eq!(
        run(&mut session, "select * from passing").unwrap_err().code,
        "42P01"
    );
    run(&mut session, "create temp table passing (other int)").unwrap();
    assert!(rows(&mut session, "select other from passing").is_empty());
}

/// A user with all rights, but none on one table.
fn all_but(fresh: &Fresh, table: &str) -> Session {
    let options = SessionOptions {
        user: "ada".into(),
        rights: Rights::from(Access::Define).with_table(table, Access::Nothing),
        ..SessionOptions::default()
    };
    Session::new(fresh.database.clone(), options).unwrap()
}

#[track_caller]
fn refused(session: &mut Session, text: &str, code: &str) {
    match run(session, text) {
        Err(error) => assert_eq!(error.code, code, "{text}: {error:?}"),
        Ok(done) => panic!("{text}: {done:?}"),
    }
}

#[test]
fn a_procedure_does_what_its_creator_may_whatever_the_path() {
    let fresh = Fresh::new();
    let text = "create schema app; create table app.t (v text); create table t (v text); \
        insert into t values ('hidden'); create temp table passing (v text)";
    let mut other = fresh.session();
    run(&mut other, text).unwrap();
    let mut ada = all_but(&fresh, "t");
    // When it is called it reads the table of `public`.
    run(&mut ada, "set search_path to app").unwrap();
    let of = |body: &str| format!("create procedure p() language sql begin atomic {body}; end");
    refused(&mut ada, &of("select v from t"), "42501");
    let tables = fresh.database.tables().unwrap().clone();
    let names = kept(&tables);
    let passing = names.iter().find(|name| name.ends_with(".passing"));
    let body = format!("select v from {}", passing.unwrap());
    refused(&mut ada, &of(&body), "0A000");
    run(&mut ada, &of("select v from app.t")).unwrap();
    assert!(rows(&mut ada, "call p()").is_empty());
}

#[test]
fn a_renaming_needs_the_right_on_both_names() {
    let fresh = Fresh::new();
    let text = "create schema app; create table app.t (v text); create view app.w as select 1; \
        create sequence app.s; create schema free; create table free.t (v text); \
        create table free.u (v text); create table u (v text)";
    run(&mut fresh.session(), text).unwrap();
    for hidden in ["app.t", "app.w", "app.s", "new.t", "new.w", "new.s"] {
        let mut ada = all_but(&fresh, hidden);
        refused(&mut ada, "alter schema app rename to new", "42501");
    }
    // The new name is in the table's schema, not in the first of the path.
    let mut ada = all_but(&fresh, "free.hidden");
    refused(&mut ada, "alter table free.u rename to hidden", "42501");
    run(&mut ada, "alter table u rename to hidden").unwrap();
    let mut ada = all_but(&fresh, "shown");
    run(&mut ada, "alter table free.u rename to shown").unwrap();
    let mut ada = all_but(&fresh, "app.t");
    run(&mut ada, "alter schema free rename to open").unwrap();
    assert!(rows(&mut ada, "select * from open.t").is_empty());
}

#[test]
fn temporary_tables_of_others_are_neither_changed_nor_made() {
    let fresh = Fresh::new();
    let mut owner = fresh.session();
    let text = "create temp table t (id serial, v text); create index of_v on t (v); \
        create temp sequence s; create temp view w as select 1 as one";
    run(&mut owner, text).unwrap();
    let tables = fresh.database.tables().unwrap().clone();
    let names = kept(&tables);
    let schema = names[0].split_once('.').unwrap().0;
    let mut other = fresh.session();
    for text in [
        "drop table X.t",
        "drop table if exists X.t",
        "drop view X.w",
        "drop sequence X.s",
        "drop index X.of_v",
        "drop schema X cascade",
        "truncate X.t",
        "alter table X.t add column more int",
        "alter table X.t rename to other",
        "create index on X.t (id)",
        "create table copied (like X.t)",
        "create table referring (id int references X.t (id))",
        "comment on table X.t is 'x'",
        "comment on schema X is 'x'",
        "select nextval('X.s')",
        "select setval('X.s', 9)",
        "select * from X.t",
        "insert into X.t (v) values ('x')",
        "vacuum X.t",
    ] {
        let error = run(&mut other, &text.replace('X', schema)).unwrap_err();
        let message = "cannot access temporary tables of other sessions";
        assert_eq!(error.message, message, "{text}: {error:?}");
    }
    for text in [
        "create table X.more (id int)",
        "create view X.more as select 1 as one",
        "create sequence X.more",
        "create table X.more as select 1 as one",
    ] {
        refused(&mut other, &text.replace('X', schema), "42P16");
    }
    let path = format!("set search_path to {schema}");
    run(&mut other, &path).unwrap();
    refused(&mut other, "drop table t", "0A000");
    refused(&mut other, "create table more (id int)", "42P16");
    refused(&mut other, "select nextval('s')", "0A000");
    // The owner names them as it likes.
    for session in [&mut owner, &mut other] {
        let text = format!("alter schema {schema} rename to mine");
        refused(session, &text, "0A000");
    }
    assert_eq!(rows(&mut owner, "select nextval('pg_temp.s')"), ["1"]);
    let text = "alter table X.t add column more int; drop table X.t";
    run(&mut owner, &text.replace('X', schema)).unwrap();
    drop(owner);
    assert!(kept(&tables).is_empty());
}

#[test]
fn columns_are_named_with_the_schemas_of_their_tables() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create schema app; create table app.t (a int, check (t.a > 0), check (app.t.a < 9), \
        b int generated always as (t.a + 1) stored); \
        alter table app.t add check (t.a <> 5), add column c int generated always as (app.t.a) stored; \
        create index on app.t ((t.a + 1)); insert into app.t values (1)";
    run(&mut session, text).unwrap();
    for value in [0, 5, 9] {
        let text = format!("insert into app.t values ({value})");
        refused(&mut session, &text, "23514");
    }
    run(&mut session, "alter schema app rename to lib").unwrap();
    refused(&mut session, "insert into lib.t values (0)", "23514");
    assert_eq!(rows(&mut session, "select * from lib.t"), ["1|2|1"]);
    let of_others = "create table x (a int, check (lib.x.a > 0))";
    refused(&mut session, of_others, "42P01");
    let text = "create temp table t (x int); insert into t values (7)";
    run(&mut session, text).unwrap();
    let temporary = "select pg_temp.t.x from t where pg_temp.t.x > 0";
    assert_eq!(rows(&mut session, temporary), ["7"]);
    refused(&mut session, "select pg_temp.t.a from lib.t", "42P01");
}

thread_local! {
    static STEPPED_ASIDE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[test]
fn a_session_steps_aside_to_drop_its_temporary_tables() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(&mut session, "create temp table t (id int)").unwrap();
    sardonyx_base::waiting::set_step_aside(|work| {
        STEPPED_ASIDE.set(STEPPED_ASIDE.get() + 1);
        work();
    });
    let before = STEPPED_ASIDE.get();
    drop(session);
    assert_eq!(STEPPED_ASIDE.get(), before + 1);
    assert!(kept(fresh.database.tables().unwrap()).is_empty());
}

#[test]
fn views_across_schemas_are_written_behind_those_that_they_read() {
    let fresh = Fresh::new();
    let text = "create schema api; create schema core; create table core.t (v text); \
        create view core.v as select v from core.t; create view api.v as select v from core.v; \
        create view a as select v from api.v; create materialized view core.a as select v from a";
    run(&mut fresh.session(), text).unwrap();
    let written = |database: &Arc<Database>| {
        let tables = database.tables().unwrap();
        let all = tables.read(|view| Ok(declarations(view).unwrap())).unwrap();
        all.into_iter().map(|one| one.sql).collect::<Vec<_>>()
    };
    let first = written(&fresh.database);
    let again = Fresh::new();
    run(&mut again.session(), &first.join("\n")).unwrap();
    assert_eq!(written(&again.database), first);
}

#[test]
fn a_schema_that_sql_cannot_create_is_written_as_a_remark() {
    let fresh = Fresh::new();
    let tables = fresh.database.tables().unwrap().clone();
    let schema = || Schema::new().column("id", Type::I32).primary_key(["id"]);
    tables.create_table("pg_old.t", schema()).unwrap();
    let written = tables.read(|view| Ok(declarations(view).unwrap())).unwrap();
    let remark = "-- Schema pg_old cannot be created by SQL: unacceptable schema name \"pg_old\".";
    assert_eq!(written[0].sql, remark);
}

#[test]
fn a_table_with_a_point_that_is_older_than_schemas_is_found_by_its_whole_name() {
    let mut fresh = Fresh::new();
    let tables = fresh.database.tables().unwrap().clone();
    let schema = || {
        let columns = Schema::new().column("id", Type::I32).column("x", Type::I32);
        columns.primary_key(["id"])
    };
    let indexed = schema().index("a.b_x_idx", ["x"]);
    tables.create_table("a.b", indexed).unwrap();
    // It is no session's, though it looks so.
    tables.create_table("pg_temp_x.y", schema()).unwrap();
    tables.create_table("pg_temp_7.y", schema()).unwrap();
    drop(tables);
    fresh.reopen();
    let mut session = fresh.session();
    run(
        &mut session,
        "insert into \"a.b\" values (1, 1) on conflict (id) do update set x = \"a.b\".x + 1",
    )
    .unwrap();
    run(&mut session, "update \"a.b\" set x = \"a.b\".x + 1").unwrap();
    assert_eq!(rows(&mut session, "select x from public.\"a.b\""), ["2"]);
    run(&mut session, "create view seen as select x from \"a.b\"").unwrap();
    assert_eq!(rows(&mut session, "select x from seen"), ["2"]);
    run(&mut session, "create view again as select x from seen").unwrap();
    assert_eq!(rows(&mut session, "select x from again"), ["2"]);
    let there = rows(
        &mut session,
        "select 'public.\"a.b\"'::regclass::oid = '\"a.b\"'::regclass",
    );
    assert_eq!(there, ["t"]);
    run(&mut session, "drop index a.\"a.b_x_idx\"").unwrap();
    run(&mut session, "delete from \"a.b\" where \"a.b\".x = 2").unwrap();
    drop(session);
    let tables = fresh.database.tables().unwrap().clone();
    assert_eq!(kept(&tables), ["a.b", "pg_temp_x.y", "pg_temp_7.y"]);
}
