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

#[test]
fn the_database_has_the_name_by_which_a_session_connected() {
    let fresh = Fresh::new();
    let connect = |database: &str| {
        let options = SessionOptions {
            rights: Access::Define.into(),
            user: "tester".into(),
            database: database.into(),
            ..SessionOptions::default()
        };
        Session::new(fresh.database.clone(), options).expect("a session")
    };
    let mut session = connect("shop");
    let made = "create table t (a int primary key, b varchar(3) check (b > 'a') unique, c int references t);
        create view v as select a from t; create sequence s";
    run(&mut session, made).expect("they are made");
    let names = "select current_database() union select current_catalog union select datname from pg_database where oid = 5
        union select datname from pg_stat_activity union select table_catalog from information_schema.tables
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
