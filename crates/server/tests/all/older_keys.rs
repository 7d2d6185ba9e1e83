//! Databases of an older version, which had the tables of Redis' keys in `public`, as PostgreSQL clients see them.

use crate::common::{Running, postgres_alone};
use postgres::error::SqlState;
use sardonyx::Tables;
use sardonyx::rows::ReadRows;
use sardonyx::schema::{Type, Value};
use sardonyx_resp::{KEY_TABLES, Keyspace};
use sardonyx_server::{Options, Right, Server, User};
use sardonyx_sql::Database;
use std::collections::BTreeMap;

fn both() -> Options {
    Options {
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        ..postgres_alone()
    }
}

/// Gives the tables of keys the names of an older version.
fn make_older(tables: &Tables) {
    let renamed = tables.run(|tx| {
        for name in KEY_TABLES {
            if let Some(older) = name.strip_prefix("pg_redis.")
                && tx.definitions().named(name).is_some()
            {
                tx.rename_table(name, older)?;
            }
        }
        Ok(())
    });
    renamed.unwrap();
}

fn put_key(tables: &Tables, table: &str) {
    let put = tables.run(|tx| {
        tx.rows(table)?.insert(&[
            ("key", Value::Bytes(b"k".to_vec())),
            ("id", Value::Int(1)),
            ("kind", Value::Text("string".into())),
            ("value", Value::Bytes(b"one".to_vec())),
            ("length", Value::Int(0)),
            ("first", Value::Int(0)),
        ])
    });
    put.unwrap();
}

/// A server without Redis whose database an older version has opened.
fn of_older(options: Options) -> Running {
    let running = Running::start(options);
    drop(Keyspace::open(running.tables.clone()).unwrap());
    make_older(&running.tables);
    running
}

fn code_of(client: &mut postgres::Client, text: &str) -> (SqlState, String) {
    let error = client.batch_execute(text).expect_err(text);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{text}"));
    let detail = error.detail().unwrap_or_default();
    (error.code().clone(), detail.to_string())
}

#[test]
fn keys_under_both_names_stop_redis_and_no_other_client() {
    let mut running = of_older(postgres_alone());
    put_key(&running.tables, "kv");
    running.server.take().unwrap().stop();
    // A newer version made its tables, and then an older one.
    let own = "pg_redis.kv";
    let tables = running.tables.clone();
    let schema = tables.read(|view| Ok((**view.rows("kv")?.schema()).clone()));
    tables.create_table(own, schema.unwrap()).unwrap();
    put_key(&tables, own);
    let serve = |options| Server::start(Database::new(tables.clone()).unwrap(), options);
    let error = serve(both()).map(drop).unwrap_err().to_string();
    for said in ["\"kv\"", "\"pg_redis.kv\"", "--redis off"] {
        assert!(error.contains(said), "{said}: {error}");
    }
    running.server = Some(serve(postgres_alone()).unwrap());
    running.client().batch_execute("DROP TABLE kv").unwrap();
    running.server.take().unwrap().stop();
    running.server = Some(serve(both()).unwrap());
    let mut client = running.client();
    let count = client.query_one("SELECT count(*) FROM pg_redis.kv", &[]);
    assert_eq!(count.unwrap().get::<_, i64>(0), 1);
}

#[test]
fn rights_to_keys_hold_for_those_of_an_older_version() {
    let mut options = postgres_alone();
    for (name, keys) in [("eve", Right::None), ("ada", Right::Read)] {
        let user = User {
            verifier: sardonyx_server::scram::Verifier::of_password(name).unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys,
        };
        options.users.insert(name.into(), user);
    }
    let running = of_older(options);
    let tables = &running.tables;
    tables.drop_table("kv_list").unwrap();
    let mut eve = running.try_client("eve", "eve").unwrap();
    for text in [
        "SELECT count(*) FROM kv",
        "TABLE kv_hash",
        "COPY kv_set TO STDOUT",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM kv_zset)",
        "CREATE TABLE t (LIKE kv)",
        "DROP TABLE kv",
    ] {
        let (code, _) = code_of(&mut eve, text);
        assert_eq!(code, SqlState::INSUFFICIENT_PRIVILEGE, "{text}");
    }
    let mut ada = running.try_client("ada", "ada").unwrap();
    ada.batch_execute("SELECT count(*) FROM kv; TABLE kv_hash")
        .unwrap();
    // A table of such a name with other columns is one of the user's own.
    let own = sardonyx::schema::Schema::new()
        .column("id", Type::U64)
        .primary_key(["id"]);
    tables.create_table("kv_list", own).unwrap();
    eve.batch_execute("INSERT INTO kv_list VALUES (1); TABLE kv_list")
        .unwrap();
    tables.drop_table("kv").unwrap();
    eve.batch_execute("CREATE TABLE kv (id int PRIMARY KEY); TABLE kv")
        .unwrap();
}

#[test]
fn comments_stay_with_tables_that_get_a_schema() {
    let running = of_older(postgres_alone());
    let mut client = running.client();
    client
        .batch_execute("COMMENT ON TABLE kv IS 'keys'; COMMENT ON COLUMN kv.value IS 'of strings'")
        .unwrap();
    Keyspace::give_names(&running.tables).unwrap();
    let mut client = running.client();
    let text = "SELECT obj_description('pg_redis.kv'::regclass), col_description('pg_redis.kv'::regclass, 4)";
    let row = client.query_one(text, &[]).unwrap();
    assert_eq!(row.get::<_, &str>(0), "keys");
    assert_eq!(row.get::<_, &str>(1), "of strings");
}

#[test]
fn no_table_takes_the_place_of_keys_in_kept_texts() {
    let running = of_older(postgres_alone());
    put_key(&running.tables, "kv");
    let mut client = running.client();
    client
        .batch_execute(
            "CREATE VIEW old AS SELECT key FROM kv; \
             CREATE MATERIALIZED VIEW kept AS SELECT field FROM kv_hash; \
             CREATE PROCEDURE members() LANGUAGE SQL AS $$ SELECT member FROM kv_set $$; \
             CREATE TABLE own (id int PRIMARY KEY); CREATE VIEW seen AS SELECT id FROM own; CREATE SEQUENCE numbers",
        )
        .unwrap();
    Keyspace::give_names(&running.tables).unwrap();
    for (text, reader) in [
        ("CREATE TABLE kv (id int)", "View old"),
        ("CREATE TABLE kv AS SELECT 1 AS id", "View old"),
        ("CREATE VIEW kv AS SELECT 1 AS key", "View old"),
        ("ALTER TABLE own RENAME TO kv", "View old"),
        ("ALTER VIEW seen RENAME TO kv", "View old"),
        ("ALTER SEQUENCE numbers RENAME TO kv", "View old"),
        ("CREATE TABLE kv_hash (id int)", "Materialized view kept"),
        ("CREATE TABLE kv_set (id int)", "Procedure members"),
    ] {
        let (code, detail) = code_of(&mut client, text);
        assert_eq!(code, SqlState::DUPLICATE_TABLE, "{text}");
        assert!(detail.contains(reader), "{text}: {detail}");
    }
    let count = client.query_one("SELECT count(*) FROM old", &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 1);
    // Texts with the schema read the keys beside a table of the name, and other names are free.
    client
        .batch_execute(
            "CREATE TEMPORARY TABLE kv (id int); DROP TABLE kv; CREATE TABLE kv_list (id int); \
             DROP VIEW old; CREATE VIEW old AS SELECT key FROM pg_redis.kv; DROP PROCEDURE members; \
             CREATE TABLE kv (id int); CREATE TABLE IF NOT EXISTS kv (id int); CREATE TABLE kv_set (id int)",
        )
        .unwrap();
    let count = client.query_one("SELECT count(*) FROM old", &[]).unwrap();
    assert_eq!(count.get::<_, i64>(0), 1);
}
