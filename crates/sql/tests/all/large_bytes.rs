//! Statements that change few rows, and more bytes than one transaction of the log may have: with the log in a store these are
//! 17 MiB. Each has the result that it has with a log in the database's directory.

use crate::common::{Fresh, copy_in, execute, query, run};
use sardonyx::Options;
use sardonyx::hosts::{MemoryStore, RemoteLog};
use sardonyx_sql::{Database, Session, SqlType, Value, code};
use std::sync::Arc;

/// The bound of tests that need not be a store's.
const BYTES: u64 = 3 << 19;

const TABLES: &str = "create table t (id int primary key, a int, b text);
    insert into t select n, n % 10, repeat('t', 1000) from generate_series(1, 700) as g (n);
    insert into t select n, n % 10, repeat('t', 1000) from generate_series(701, 1400) as g (n);
    create table s (id int primary key, v text);
    insert into s select n, repeat('s', 4000) from generate_series(1, 200) as g (n);
    create table f (id int primary key, t int references t, v text);
    create index f_t on f (t)";

/// Each changes more than one and a half MiB, and at most some hundred rows.
const LARGE: [&str; 16] = [
    "update t set b = repeat(chr(65 + a), 10000) where id <= 160",
    "update t set b = b || 'x' || repeat('y', 1200) where id > 10",
    "update t set b = repeat('k', 400000) where id in (3, 5, 7, 11, 13)",
    "update t set b = repeat('l', 400000) where id = 3 or id = 5 or id = 700 or id = 900 or id = 30",
    "update t set b = repeat('r', 9000) where id between 100 and 300 returning id, a",
    "update t set b = s.v || s.v from s where s.id = t.id",
    "insert into t select id + 2000, 1, v || v || v from s",
    "insert into t select id + 4000, 1, v || v || v from s on conflict (id) do update set b = excluded.b",
    "insert into t select n, 1, repeat('n', 20000) from generate_series(5001, 5100) as g (n) returning id",
    "insert into f select n, n, repeat('f', 20000) from generate_series(1, 100) as g (n)",
    "insert into s values (1001, repeat('v', 400000)), (1002, repeat('v', 400000)), (1003, repeat('v', 400000)), \
     (1004, repeat('v', 400000)), (1005, repeat('v', 400000))",
    "create table made as select id, a, b from t where id < 900",
    "with up as (update t set b = repeat('w', 9000) where id < 120 returning id, b) insert into s select id + 7000, b from up",
    "merge into s using t on s.id = t.id when matched then update set v = repeat('m', 12000)",
    "alter table t alter column a type bigint",
    "delete from t where id > 5000",
];

const FOUND: [&str; 4] = [
    "select count(*), sum(a), sum(length(b)), md5(string_agg(md5(id || b), ',' order by id)) from t",
    "select count(*), sum(length(v)), md5(string_agg(md5(id || v), ',' order by id)) from s",
    "select count(*), sum(t), md5(string_agg(md5(id || v), ',' order by id)) from f",
    "select tablename from pg_tables where schemaname = 'public' order by 1",
];

struct Pair {
    bounded: Fresh,
    plain: Fresh,
}

impl Pair {
    fn new() -> Pair {
        let pair = Pair {
            bounded: Fresh::with(&Options::new().transaction_bytes(BYTES)),
            plain: Fresh::new(),
        };
        for text in TABLES.split(';') {
            pair.both(|session| run(session, text).map(drop).expect(text));
        }
        pair
    }

    fn both<T: PartialEq + std::fmt::Debug>(&self, act: impl Fn(&mut Session) -> T) -> T {
        let [bounded, plain] = [&self.bounded, &self.plain].map(|fresh| act(&mut fresh.session()));
        assert_eq!(bounded, plain);
        bounded
    }

    fn check(&self) {
        for text in FOUND {
            self.both(|session| query(session, text).expect(text));
        }
    }
}

#[test]
fn statements_on_few_rows_of_many_bytes_are_made_in_several_transactions_of_the_log() {
    let mut pair = Pair::new();
    for text in LARGE {
        println!("{text}");
        pair.both(|session| query(session, text).unwrap_or_else(|error| panic!("{text}: {error}")));
        pair.check();
    }
    // A row is in one transaction.
    let row = "update t set b = repeat('x', 2000000) where id = 1";
    let refused = run(&mut pair.bounded.session(), row).unwrap_err();
    assert_eq!(refused.code, code::PROGRAM_LIMIT, "{refused}");
    pair.check();
    pair.bounded.reopen();
    pair.check();
}

#[test]
fn prepared_statements_that_usually_change_few_bytes_may_change_many() {
    let pair = Pair::new();
    let text = "update t set b = repeat($1, $2) where id <= $3";
    let types = [
        Some(SqlType::Text),
        Some(SqlType::Int4),
        Some(SqlType::Int4),
    ];
    for (length, rows) in [
        (10, 5),
        (10, 5),
        (300_000, 8),
        (10, 9),
        (9000, 300),
        (10, 3),
    ] {
        let parameters = [Value::from("p"), Value::from(length), Value::from(rows)];
        pair.both(|session| {
            let done = execute(session, text, &types, &parameters).expect("it runs");
            format!("{:?}", done.tag)
        });
        pair.check();
    }
}

#[test]
fn copied_rows_of_many_bytes_are_made_in_several_transactions_of_the_log() {
    let pair = Pair::new();
    let rows = |from: usize, count: usize, length: usize| {
        let row = |id| format!("{id}\t1\t{}\n", "c".repeat(length));
        (from..from + count).map(row).collect::<String>()
    };
    for (table, from, count, length) in [
        ("t", 10_000, 300, 10_000),
        ("t", 20_000, 6, 300_000),
        ("f", 10_000, 300, 10_000),
    ] {
        let data = rows(from, count, length);
        let text = format!("copy {table} from stdin");
        pair.both(|session| {
            let copied = copy_in(session, &text, data.as_bytes());
            let copied = copied.unwrap_or_else(|error| panic!("{text} {count}: {error}"));
            format!("{:?}", copied.tag)
        });
        pair.check();
    }
}

#[test]
fn an_open_transaction_may_change_more_bytes_than_a_transaction_of_the_log() {
    let pair = Pair::new();
    pair.both(|session| {
        for text in [
            "begin",
            "insert into t select id + 3000, 1, v || v || v from s",
            "update t set a = a + 1 where id < 4",
            "insert into f select id, id, v from s where id < 90",
            "commit",
        ] {
            run(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    });
    pair.check();
    // Several small statements with large parameters, of which each would fit.
    pair.both(|session| {
        run(session, "begin").expect("begins");
        for id in 50_000..50_005 {
            let types = [Some(SqlType::Int4), Some(SqlType::Text)];
            let parameters = [Value::from(id), Value::from("o".repeat(300_000))];
            let text = "insert into t values ($1, 1, $2)";
            execute(session, text, &types, &parameters).expect("it runs");
        }
        run(session, "commit").map(drop).expect("commits");
    });
    pair.check();
}

/// The bound of a store itself.
#[test]
fn with_the_log_in_a_store_a_statement_may_change_more_than_an_entry_has() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = RemoteLog::new(Arc::new(MemoryStore::new()));
    let options = Options::new().store(store);
    let tables = options.open_tables(directory.path().join("stored.sdx"));
    let database = Database::new(Arc::new(tables.expect("it opens"))).expect("it speaks SQL");
    let session = &mut crate::common::session(&database);
    for text in [
        "create table t (id int primary key, b text)",
        "insert into t select n, repeat('t', 10000) from generate_series(1, 1900) as g (n)",
        "update t set b = repeat('u', 11000)",
        "update t set b = repeat('v', 12000) where id <= 1700",
        "insert into t select n, repeat('w', 5000000) from generate_series(2001, 2005) as g (n)",
    ] {
        run(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let found = query(session, "select count(*), sum(length(b)) from t").expect("it is read");
    assert_eq!(found, ["1905|47600000"]);
}
