//! The tables of keys as PostgreSQL clients see them: read-only, by rights on keys; objects that were added before can
//! be dropped.

use crate::common::{Running, postgres_alone};
use postgres::error::SqlState;
use sardonyx::Transaction;
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart, Type, Value};
use sardonyx_server::{Options, Right, Server, ServerError, User};
use sardonyx_sql::Database;
use std::collections::BTreeMap;

fn both() -> Options {
    Options {
        redis: vec!["127.0.0.1:0".parse().unwrap()],
        ..postgres_alone()
    }
}

fn serve(running: &Running, options: Options) -> Result<Server, ServerError> {
    Server::start(Database::new(running.tables.clone()).unwrap(), options)
}

/// Statements that would leave keys incomplete.
const REFUSED: &[&str] = &[
    "INSERT INTO pg_redis.kv_set VALUES (1, 'x')",
    "UPDATE pg_redis.kv SET kind = 'nonsense'",
    "DELETE FROM pg_redis.kv_hash",
    "WITH d AS (SELECT 1) DELETE FROM pg_redis.kv_zset",
    "COPY pg_redis.kv_list FROM STDIN",
    "INSERT INTO pg_redis.kv_removed SELECT id, kind FROM pg_redis.kv ON CONFLICT DO NOTHING",
    "UPDATE pg_redis.kv_expiry SET key = 'x' FROM pg_redis.kv WHERE kv.key = kv_expiry.key",
    "TRUNCATE pg_redis.kv",
    "TRUNCATE own, pg_redis.kv_hash",
    "CREATE INDEX added ON pg_redis.kv_hash (value)",
    "CREATE UNIQUE INDEX ON pg_redis.kv (kind)",
    "ALTER TABLE pg_redis.kv ADD COLUMN note text",
    "ALTER TABLE pg_redis.kv DROP COLUMN value",
    "ALTER TABLE pg_redis.kv RENAME TO other",
    "ALTER TABLE pg_redis.kv RENAME COLUMN value TO other",
    "ALTER TABLE pg_redis.kv ALTER COLUMN value SET DEFAULT 'x'",
    "ALTER TABLE pg_redis.kv ADD CHECK (length >= 0)",
    "ALTER TABLE pg_redis.kv_set ADD FOREIGN KEY (member) REFERENCES pg_redis.kv (key)",
    "ALTER TABLE own ADD FOREIGN KEY (key) REFERENCES pg_redis.kv (key)",
    "CREATE TABLE referring (key bytea PRIMARY KEY REFERENCES pg_redis.kv)",
    "CREATE TABLE referring (key bytea PRIMARY KEY, FOREIGN KEY (key) REFERENCES pg_redis.kv)",
    "DROP INDEX pg_redis.by_id",
    "CREATE TABLE pg_redis.kv_db3 (x int)",
    "CREATE TABLE pg_redis.other (x int)",
    "CREATE VIEW pg_redis.other AS SELECT 1",
    "DELETE FROM pg_redis.kv_library",
    "DROP SCHEMA pg_redis CASCADE",
    "ALTER SCHEMA pg_redis RENAME TO other",
    "ALTER SEQUENCE own_numbers SET SCHEMA pg_redis",
    "ALTER VIEW own_view SET SCHEMA pg_redis",
    "ALTER TYPE own_type SET SCHEMA pg_redis",
    "ALTER DOMAIN own_domain SET SCHEMA pg_redis",
];

#[test]
fn sql_reads_keys_and_changes_none() {
    let running = Running::start(both());
    let mut client = running.client();
    client
        .batch_execute(
            "CREATE TABLE own (key bytea PRIMARY KEY); CREATE SEQUENCE own_numbers; CREATE VIEW own_view AS SELECT 1 AS n; \
             CREATE TYPE own_type AS ENUM ('a'); CREATE DOMAIN own_domain AS int",
        )
        .unwrap();
    let dropped = [
        "DROP TABLE pg_redis.kv",
        "DROP TABLE own, pg_redis.kv_hash CASCADE",
    ];
    for text in REFUSED.iter().chain(&dropped) {
        let error = client.batch_execute(text).expect_err(text);
        let error = error
            .as_db_error()
            .unwrap_or_else(|| panic!("{text}: {error}"));
        assert_eq!(
            error.code(),
            &SqlState::INSUFFICIENT_PRIVILEGE,
            "{text}: {error}"
        );
        assert!(
            error
                .detail()
                .is_some_and(|detail| detail.contains("Redis")),
            "{text}"
        );
    }
    client
        .batch_execute("CREATE VIEW keys AS SELECT key, kind FROM pg_redis.kv; SELECT * FROM keys")
        .unwrap();
    let copied = client.copy_out("COPY pg_redis.kv TO STDOUT").map(drop);
    copied.unwrap();
}

/// As programs look for the tables of an application: Django, `\d`, and those that ask for a schema.
const SHOWN: &[&str] = &[
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') \
     AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND pg_catalog.pg_table_is_visible(c.oid)",
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' \
     AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'",
    "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
    "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()",
];

#[test]
fn tables_of_keys_are_none_of_an_applications() {
    let running = Running::start(both());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE kv (id bigint PRIMARY KEY, value text); INSERT INTO kv VALUES (1, 'x'); ALTER TABLE kv ADD n int")
        .unwrap();
    for text in SHOWN {
        let rows = client.query(*text, &[]).unwrap();
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(names, ["kv"], "{text}");
    }
    let mut count = |text: &str| client.query_one(text, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(count("SELECT count(*) FROM kv"), 1);
    assert_eq!(count("SELECT count(*) FROM pg_redis.kv"), 0);
}

#[test]
fn names_of_an_older_version_are_found_by_queries_and_free_for_tables() {
    let running = Running::start(both());
    let mut client = running.client();
    client
        .batch_execute("DROP TABLE IF EXISTS kv, kv_set; CREATE VIEW keys AS SELECT h.field FROM kv k JOIN kv_hash h ON h.id = k.id; SELECT * FROM keys")
        .unwrap();
    client
        .batch_execute("CREATE TABLE kv_hash (x int)")
        .unwrap();
    client
        .batch_execute("SELECT x FROM kv_hash; SELECT * FROM keys")
        .unwrap();
}

#[test]
fn without_redis_what_was_added_is_dropped_and_the_rest_stays() {
    let mut running = Running::start(both());
    running.server.take().unwrap().stop();
    let add = |tx: &mut Transaction<'_>| {
        tx.add_column("pg_redis.kv_set", "note", Type::Text, true, Value::Null)
    };
    running.tables.run(add).unwrap();
    // As SQL did it before it was refused.
    let index = IndexDefinition {
        name: "added".into(),
        key: vec![KeyPart {
            column: 2,
            descending: false,
        }],
        kind: IndexKind::Ordered,
        unique: false,
        deferrable: false,
        nulls_equal: false,
    };
    let number = running
        .tables
        .read(|view| {
            let mut definitions = view.definitions().iter();
            Ok(definitions.position(|table| table.name == "pg_redis.kv_hash"))
        })
        .unwrap()
        .unwrap();
    running
        .tables
        .run(|tx| tx.create_index(number as u16, index))
        .unwrap();
    let error = serve(&running, both()).map(drop).unwrap_err();
    assert!(error.to_string().contains("--redis off"), "{error}");
    running.server = Some(serve(&running, postgres_alone()).unwrap());
    let mut client = running.client();
    for text in REFUSED.iter().filter(|text| !text.contains("own")) {
        let error = client.batch_execute(text).expect_err(text);
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{text}: {error}"
        );
    }
    client
        .batch_execute("ALTER TABLE pg_redis.kv_set DROP COLUMN note")
        .unwrap();
    // All of them can only be dropped while no one uses them.
    let of_keys = sardonyx_resp::KEY_TABLES;
    let of_keys = of_keys.iter().filter(|name| !name.contains("kv_db"));
    let of_keys: Vec<&str> = of_keys.copied().collect();
    client
        .batch_execute(&format!("DROP TABLE {}", of_keys.join(", ")))
        .unwrap();
    drop(client);
    running.server.take().unwrap().stop();
    running.server = Some(serve(&running, both()).unwrap());
}

#[test]
fn who_may_not_read_keys_does_not_read_them_by_sql() {
    let mut options = both();
    for (name, keys) in [("eve", Right::None), ("ada", Right::Read)] {
        let user = User {
            verifier: sardonyx_server::scram::Verifier::of_password(name).unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys,
        };
        options.users.insert(name.into(), user);
    }
    let running = Running::start(options);
    let mut ada = running.try_client("ada", "ada").unwrap();
    ada.batch_execute("SELECT * FROM kv; CREATE TABLE t (id int PRIMARY KEY)")
        .unwrap();
    let mut eve = running.try_client("eve", "eve").unwrap();
    for text in [
        "SELECT count(*) FROM kv",
        "TABLE pg_redis.kv_hash",
        "COPY pg_redis.kv_list TO STDOUT",
        "INSERT INTO t SELECT length FROM kv",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM kv_zset)",
        "DELETE FROM pg_redis.kv",
    ] {
        let error = eve.batch_execute(text).expect_err(text);
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{text}: {error}"
        );
    }
    eve.batch_execute("INSERT INTO t VALUES (1)").unwrap();
}
