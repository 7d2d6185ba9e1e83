//! The table of SQL's own, `sql.objects`: a database of an earlier version gets the index on the kinds of its objects.
//! Names of indexes are known in every state of the tables.

use crate::common::{Fresh, query, run};
use sardonyx::rows::DefineRows;
use sardonyx::schema::Value;
use sardonyx_sql::{Access, Session, SessionOptions};

#[test]
fn a_database_of_an_earlier_version_gets_its_index_and_its_materialized_views() {
    let mut fresh = Fresh::new();
    let mut session = fresh.session();
    let made =
        "create table t (a int primary key, b int); create materialized view m as select b from t;
        create view v as select a from t; create table u (a int)";
    run(&mut session, made).expect("they are made");
    drop(session);
    let tables = fresh.database.tables().expect("in main memory");
    tables
        .run(|tx| {
            let objects = tx.rows("sql.objects")?.number();
            let number = tx.rows("m")?.number().to_string();
            let key = [Value::from("materialized"), Value::from(number)];
            assert!(tx.rows("sql.objects")?.delete(&key)?, "it was noted");
            DefineRows::drop_index(tx, objects, "by_kind")?;
            Ok::<_, sardonyx::Error>(())
        })
        .expect("it is as an earlier version left it");
    fresh.reopen();
    let tables = fresh.database.tables().expect("in main memory");
    let indexed = |tx: &mut sardonyx::Transaction<'_>| {
        let schema = tx.rows("sql.objects")?.schema().clone();
        Ok::<_, sardonyx::Error>(schema.indexes.len())
    };
    assert_eq!(tables.run(indexed).expect("it is read"), 1);
    let mut session = fresh.session();
    for refused in ["alter table t drop column b", "alter table t drop column a"] {
        let error = run(&mut session, refused).expect_err("a view reads it");
        assert_eq!(error.code, "2BP01", "{refused}");
    }
    run(
        &mut session,
        "drop materialized view m; alter table t drop column b",
    )
    .expect("no view reads it");
}

#[test]
fn the_name_of_an_index_is_taken_as_long_as_it_is_there() {
    let fresh = Fresh::new();
    let (mut one, mut other) = (fresh.session(), fresh.session());
    run(
        &mut one,
        "create table t (a int primary key, b int); create index i on t (b)",
    )
    .expect("made");
    let taken = |session: &mut sardonyx_sql::Session, statement: &str| {
        let error = run(session, statement).expect_err("the name is taken");
        assert_eq!(error.code, "42P07", "{statement}");
    };
    taken(&mut other, "create table i (a int)");
    taken(&mut other, "create index t_pkey on t (b)");
    // One that is made and undone, in the stage and beside it.
    run(
        &mut one,
        "begin; create index j on t (b); create table w (a int unique)",
    )
    .expect("made");
    taken(&mut one, "create sequence w_a_key");
    run(&mut one, "rollback").expect("undone");
    run(
        &mut other,
        "create table j (a int); drop table j; alter index i rename to k",
    )
    .expect("free");
    run(&mut one, "create table i (a int); drop table i").expect("free");
    taken(&mut one, "create view k as select 1");
    run(
        &mut one,
        "begin; drop table t; create table k (a int); commit",
    )
    .expect("free");
    run(
        &mut other,
        "create schema s; create table s.t (a int primary key); create index k on s.t (a)",
    )
    .expect("of another schema");
    taken(&mut other, "create table s.k (a int)");
}

fn connected(fresh: &Fresh, database: &str) -> Session {
    let options = SessionOptions {
        rights: Access::Define.into(),
        user: "tester".into(),
        database: database.into(),
        ..SessionOptions::default()
    };
    Session::new(fresh.database.clone(), options).expect("a session")
}

/// Without the schema, another table's column would be meant: the results are PostgreSQL 15's.
#[test]
fn a_schema_of_the_databases_name_stays_in_front_of_its_tables() {
    let fresh = Fresh::new();
    let mut session = connected(&fresh, "bank");
    let made = "create schema bank; create schema app; create table bank.t (a int, b int);
        create table public.t (a int, b int); create table app.k (a int);
        insert into bank.t values (1, 10), (2, 20); insert into public.t values (1, 100)";
    run(&mut session, made).expect("they are made");
    for (text, rows) in [
        (
            "select * from bank.t where not exists (select 1 from public.t where public.t.a = bank.t.a)",
            &["2|20"][..],
        ),
        (
            "select bank.t.b, public.t.b, bank.bank.t.a from bank.t, public.t where bank.t.a = 1",
            &["10|100|1"],
        ),
        (
            "select bank.t.*, bank.public.t.b from bank.bank.t join bank.public.t using (a)
                left join bank.app.k on bank.app.k.a = bank.t.a",
            &["1|10|100"],
        ),
    ] {
        assert_eq!(query(&mut session, text).expect("it reads"), rows, "{text}");
    }
    // As pg_dump writes them, of a table that has the name of its schema.
    let owned = "create table bank.bank (a int); create sequence bank.s; set search_path = '';
        alter sequence bank.s owned by bank.bank.a; comment on column bank.bank.a is 'x'; reset search_path";
    run(&mut session, owned).expect("they are made");
    let noted = "select pg_get_serial_sequence('bank.bank', 'a'), col_description('bank.bank'::regclass, 1)";
    assert_eq!(query(&mut session, noted).expect("it reads"), ["bank.s|x"]);
    let gone = "do $$ begin delete from bank.t where exists
        (select 1 from bank.public.t where public.t.a = bank.t.a); end $$";
    run(&mut session, gone).expect("it runs");
    let left = "select a from bank.bank.t";
    assert_eq!(query(&mut session, left).expect("it reads"), ["2"]);
    // Schemas of a transaction that has not ended.
    for text in [
        "begin",
        "create schema late",
        "create table late.t (a int)",
        "insert into bank.late.t values (7)",
    ] {
        run(&mut session, text).expect(text);
    }
    let late = "select bank.late.t.a from bank.late.t";
    assert_eq!(query(&mut session, late).expect("it reads"), ["7"]);
}

#[test]
fn the_database_has_the_name_by_which_a_session_connected() {
    let fresh = Fresh::new();
    let connect = |database| connected(&fresh, database);
    let mut session = connect("shop");
    let made = "create table t (a int primary key, b varchar(3) check (b > 'a') unique, c int references t);
        create view v as select a from t; create sequence s";
    run(&mut session, made).expect("they are made");
    let names = "select current_database() union select current_catalog union select datname from pg_database where oid = 5
        union select datname from pg_stat_activity where state = 'active' union select table_catalog from information_schema.tables
        union select table_catalog from information_schema.columns union select udt_catalog from information_schema.columns
        union select catalog_name from information_schema.schemata union select table_catalog from information_schema.views
        union select constraint_catalog from information_schema.table_constraints
        union select table_catalog from information_schema.key_column_usage
        union select constraint_catalog from information_schema.referential_constraints
        union select constraint_catalog from information_schema.check_constraints
        union select sequence_catalog from information_schema.sequences";
    for (database, name) in [
        ("shop", "shop"),
        ("", "sardonyx"),
        ("Other One", "Other One"),
    ] {
        let mut session = connect(database);
        // The name remains.
        run(&mut session, "discard all; reset all").expect("it runs");
        assert_eq!(query(&mut session, names).expect("it reads"), [name]);
        // Django looks for the database of its tests while it is connected to another name.
        let own = "select datname from pg_database where datname = 'sardonyx'";
        assert_eq!(query(&mut session, own).expect("it reads"), ["sardonyx"]);
        let count = format!(
            "select count(*) from information_schema.columns where table_catalog = '{name}' and table_name = 't'"
        );
        assert_eq!(query(&mut session, &count).expect("it reads"), ["3"]);
    }
    for text in [
        "create database test_shop",
        "drop database if exists test_shop",
    ] {
        let error = run(&mut session, text).expect_err("there is one");
        assert_eq!(error.code, "0A000");
        assert!(
            error
                .hint
                .as_ref()
                .is_some_and(|hint| hint.contains("sardonyx serve")),
            "{text}"
        );
    }
}
