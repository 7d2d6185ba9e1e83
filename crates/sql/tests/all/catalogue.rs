//! The table of SQL's own, `sql.objects`: a database of an earlier version gets the index on the kinds of its objects, and
//! names of indexes are known in every state of the tables.

use crate::common::{Fresh, run};
use sardonyx::rows::DefineRows;
use sardonyx::schema::Value;

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
