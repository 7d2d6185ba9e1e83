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
    "INSERT INTO kv_set VALUES (1, 'x')",
    "UPDATE kv SET kind = 'nonsense'",
    "DELETE FROM kv_hash",
    "WITH d AS (SELECT 1) DELETE FROM kv_zset",
    "COPY kv_list FROM STDIN",
    "INSERT INTO kv_removed SELECT id, kind FROM kv ON CONFLICT DO NOTHING",
    "UPDATE kv_expiry SET key = 'x' FROM kv WHERE kv.key = kv_expiry.key",
    "TRUNCATE kv",
    "TRUNCATE own, kv_hash",
    "CREATE INDEX added ON kv_hash (value)",
    "CREATE UNIQUE INDEX ON kv (kind)",
    "ALTER TABLE kv ADD COLUMN note text",
    "ALTER TABLE kv DROP COLUMN value",
    "ALTER TABLE kv RENAME TO other",
    "ALTER TABLE kv RENAME COLUMN value TO other",
    "ALTER TABLE kv ALTER COLUMN value SET DEFAULT 'x'",
    "ALTER TABLE kv ADD CHECK (length >= 0)",
    "ALTER TABLE kv_set ADD FOREIGN KEY (member) REFERENCES kv (key)",
    "ALTER TABLE own ADD FOREIGN KEY (key) REFERENCES kv (key)",
    "CREATE TABLE referring (key bytea PRIMARY KEY REFERENCES kv)",
    "CREATE TABLE referring (key bytea PRIMARY KEY, FOREIGN KEY (key) REFERENCES kv)",
    "DROP INDEX by_id",
    "CREATE TABLE kv_db3 (x int)",
    "CREATE TABLE kv_db15_expiry (x int)",
];

#[test]
fn sql_reads_keys_and_changes_none() {
    let running = Running::start(both());
    let mut client = running.client();
    client
        .batch_execute("CREATE TABLE own (key bytea PRIMARY KEY)")
        .unwrap();
    let dropped = ["DROP TABLE kv", "DROP TABLE own, kv_hash CASCADE"];
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
        .batch_execute("CREATE VIEW keys AS SELECT key, kind FROM kv; SELECT * FROM keys")
        .unwrap();
    let copied = client.copy_out("COPY kv TO STDOUT").map(drop);
    copied.unwrap();
}

#[test]
fn a_table_of_ones_own_with_such_a_name_is_ones_own() {
    let mut running = Running::start(postgres_alone());
    let mut client = running.client();
    let text = "CREATE TABLE kv (id bigint PRIMARY KEY, value text); INSERT INTO kv VALUES (1, 'x'); ALTER TABLE kv ADD n int";
    client.batch_execute(text).unwrap();
    // The server for Redis clients says what to do.
    drop(client);
    running.server.take().unwrap().stop();
    let error = serve(&running, both()).map(drop).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("--redis off") && error.contains("\"kv\""),
        "{error}"
    );
}

#[test]
fn without_redis_what_was_added_is_dropped_and_the_rest_stays() {
    let mut running = Running::start(both());
    running.server.take().unwrap().stop();
    let add =
        |tx: &mut Transaction<'_>| tx.add_column("kv_set", "note", Type::Text, true, Value::Null);
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
    };
    let number = running
        .tables
        .read(|view| {
            let mut definitions = view.definitions().iter();
            Ok(definitions.position(|table| table.name == "kv_hash"))
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
        .batch_execute("ALTER TABLE kv_set DROP COLUMN note")
        .unwrap();
    // All of them can only be dropped while no one uses them.
    client
        .batch_execute("DROP TABLE kv, kv_hash, kv_set, kv_zset, kv_list, kv_expiry, kv_removed, kv_stream, kv_group, kv_consumer, kv_pending")
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
        "TABLE kv_hash",
        "COPY kv_list TO STDOUT",
        "INSERT INTO t SELECT length FROM kv",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM kv_zset)",
        "DELETE FROM kv",
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
