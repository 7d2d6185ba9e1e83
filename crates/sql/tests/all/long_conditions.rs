//! Conditions, generated columns, defaults and expressions of indexes that take long: a request to cancel and a time limit
//! end the statement inside of them, in the stage and aside, and nothing of it is stored.

use crate::common::{Fresh, copy_in, query, run};
use sardonyx::low_level::interruption;
use sardonyx::schema::Value;
use sardonyx_base::waiting::{self, Reason};
use sardonyx_sql::{BesideLimits, Interrupt, code};
use std::sync::Arc;

/// Tables whose rows are computed and tested in a moment.
const SHORT: &str = "create table checked (id int primary key, a text check (length(a) < 9));
    create table made (id int primary key, a text, n int generated always as (length(a)) stored);
    create table given (id int primary key, a text default upper('x' || (random() * 0)::int));
    create table found (id int primary key, a text);
    create unique index found_a on found (upper(a))";

#[test]
fn a_request_that_comes_with_the_row_ends_the_evaluation() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), SHORT).expect("they are there");
    for table in ["checked", "made", "given", "found"] {
        let interrupt = Arc::new(Interrupt::default());
        let insert = || {
            let tables = fresh.database.tables().expect("in main memory");
            tables.run(|tx| {
                let mut row = sardonyx::rows::RowWriter::new(2);
                row.set(0, sardonyx::schema::ValueRef::Int(1));
                if table != "given" {
                    row.set(1, sardonyx::schema::ValueRef::Text("a"));
                }
                // The transaction has its turn: no wait for it sees the request.
                interrupt.request();
                tx.rows(table)?.insert_row(&row)
            })
        };
        let error = waiting::interruptible(&interrupt, None, insert).expect_err(table);
        assert_eq!(
            interruption(&error),
            Some(Reason::Request),
            "{table}: {error}"
        );
        let count = format!("select count(*) from {table}");
        let rows = query(&mut fresh.session(), &count).expect("it reads");
        assert_eq!(rows, ["0"], "{table}");
        // One request ends one statement.
        let values = [Value::from(1_i64), Value::from("a")];
        if table == "checked" {
            let tables = fresh.database.tables().expect("in main memory");
            let insert = || tables.run(|tx| tx.rows(table)?.insert_values(&values));
            waiting::interruptible(&interrupt, None, insert).expect("it is stored");
        }
    }
}

/// It is true, and found out in a minute.
const ENDLESS: &str = "regexp_count(repeat(a, 16000000), 'a') >= 0";

/// Statements that evaluate that for one row at least.
const STATEMENTS: [&str; 12] = [
    "insert into checked values (5, 'a')",
    "insert into checked values (5, 'a') on conflict (id) do update set a = 'b'",
    "insert into checked select i, 'a' from generate_series(5, 9) as s (i)",
    "update checked set a = 'a' where id = 1",
    "update checked set a = a || 'a'",
    "merge into checked using plain on plain.id = checked.id when matched then update set a = 'a'",
    "insert into made values (5, 'a')",
    "update made set a = 'a' where id = 1",
    "insert into found values (5, 'a')",
    "insert into given values (5)",
    "alter table plain add check (regexp_count(repeat(a, 16000000), 'a') >= 0)",
    "create index on plain ((regexp_count(repeat(a, 16000000), 'a')))",
];

fn endless() -> Fresh {
    let fresh = Fresh::new();
    let text = format!(
        "create table checked (id int primary key, a text);
        insert into checked values (1, ''), (2, '');
        alter table checked add check ({ENDLESS});
        create table made (id int primary key, a text);
        insert into made values (1, '');
        alter table made add n boolean generated always as ({ENDLESS}) stored;
        create table given (id int primary key, b boolean default
            regexp_count(repeat('a', 16000000 + (random() * 0)::int), 'a') >= 0);
        create table found (id int primary key, a text);
        create index on found (({ENDLESS}));
        create table plain (id int primary key, a text);
        insert into plain values (1, 'a'), (2, 'a')"
    );
    run(&mut fresh.session(), &text).expect("they are there");
    fresh
}

#[test]
fn a_time_limit_ends_an_endless_evaluation_in_the_stage_and_aside() {
    let fresh = endless();
    for (from, few) in [(u64::MAX, 1000), (0, 0), (0, 1000)] {
        fresh.database.set_beside(BesideLimits {
            from,
            few,
            ..BesideLimits::default()
        });
        for (text, begin) in STATEMENTS
            .iter()
            .flat_map(|text| [(text, ""), (text, "begin; ")])
        {
            let mut session = fresh.session();
            run(&mut session, "set statement_timeout = '20ms'").expect("it is set");
            let text = format!("{begin}{text}");
            let error = run(&mut session, &text).expect_err(&text);
            let said = "canceling statement due to statement timeout";
            let found = (error.code, &*error.message);
            assert_eq!(found, (code::QUERY_CANCELED, said), "{text}");
            run(&mut session, "rollback; set statement_timeout = 0").expect("it goes on");
            for (table, rows) in [
                ("checked", "1|,2|"),
                ("made", "1|"),
                ("given", ""),
                ("found", ""),
                ("plain", "1|a,2|a"),
            ] {
                let select = format!(
                    "select id{} from {table} order by id",
                    match table {
                        "given" => "",
                        _ => ", a",
                    }
                );
                let there = query(&mut session, &select).expect("it reads");
                assert_eq!(there.join(","), rows, "{text}");
            }
        }
    }
}

#[test]
fn a_request_in_the_last_call_of_a_large_statement_is_its_end() {
    let fresh = Fresh::new();
    run(&mut fresh.session(), SHORT).expect("they are there");
    for large in [
        "insert into checked select i, 'a' from generate_series(1, 30) as s (i)",
        "insert into made (id, a) select i, 'a' from generate_series(1, 30) as s (i)",
    ] {
        let interrupt = Arc::new(Interrupt::default());
        let of_call = interrupt.clone();
        fresh.database.set_beside(BesideLimits {
            from: 1,
            // The rows are inserted in the last call.
            few: 1000,
            within: Some(Arc::new(move || of_call.request())),
            ..BesideLimits::default()
        });
        let mut session = fresh.session();
        session.set_interrupt(interrupt);
        let error = run(&mut session, large).expect_err(large);
        let found = (error.code, &*error.message);
        let said = "canceling statement due to user request";
        assert_eq!(found, (code::QUERY_CANCELED, said), "{large}");
        fresh.database.set_beside(BesideLimits::default());
    }
    let counts = "select count(*) from checked union all select count(*) from made";
    let rows = query(&mut fresh.session(), counts).expect("it reads");
    assert_eq!(rows, ["0", "0"]);
    // A copy is such a statement, too.
    let mut session = fresh.session();
    copy_in(&mut session, "copy checked from stdin", b"1\ta\n").expect("it is copied");
}
