//! Which statements are read analytically, and what they see.

mod fixture;

use fixture::{
    alone, always, common, execute, fresh, fresh_with, lines, run, session, told, wait, whole,
};
use sardonyx_sql::{Interrupt, Outcome, SqlType, Step, Value};
use std::sync::Arc;

/// The own planner knows no frames of groups.
const WINDOW: &str =
    "select id, row_number() over (order by id desc groups current row) from t order by id";

fn with_rows(session: &mut sardonyx_sql::Session, table: &str, rows: usize) {
    run(
        session,
        &format!("create table {table} (id int primary key, v int, w text)"),
    )
    .expect("a table");
    let mut data = String::new();
    for id in 0..rows {
        data.push_str(&format!("{id}\t{}\tw{}\n", id % 97, id % 11));
    }
    fixture::copy_in(session, &format!("copy {table} from stdin"), &data).expect("rows");
}

fn code(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed(error) => error.code.to_string(),
        Outcome::Done(complete) => lines(&whole(complete)).join(" "),
        other => format!("{other:?}"),
    }
}

#[test]
fn who_may_write_is_refused() {
    let fresh = fresh();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key); insert into t values (1), (2)",
    )
    .unwrap();
    assert_eq!(code(alone(&mut session, WINDOW)), "1|2 2|1");
    run(&mut session, "begin").unwrap();
    let refused = run(&mut session, WINDOW).unwrap_err();
    assert_eq!(refused.code, "0A000");
    assert!(
        refused
            .message
            .contains("by an analytic read, which sees a snapshot"),
        "{refused}"
    );
    run(&mut session, "rollback").unwrap();
    run(&mut session, "begin; insert into t values (3)").unwrap();
    assert_eq!(run(&mut session, WINDOW).unwrap_err().code, "0A000");
    run(&mut session, "rollback").unwrap();
    // With others in one text it is a transaction, too.
    assert_eq!(
        run(&mut session, &format!("insert into t values (3); {WINDOW}"))
            .unwrap_err()
            .code,
        "0A000"
    );
    run(&mut session, "begin read only").unwrap();
    assert_eq!(
        lines(&run(&mut session, WINDOW).unwrap()[0]),
        ["1|2", "2|1"]
    );
    run(&mut session, "commit").unwrap();
    run(&mut session, "set sardonyx.analytics = off").unwrap();
    let off = run(&mut session, WINDOW).unwrap_err();
    assert_eq!(off.code, "0A000");
}

#[test]
fn a_transaction_that_reads_has_one_snapshot() {
    let fresh = fresh();
    let (mut one, mut other) = (fresh.session(), fresh.session());
    run(
        &mut one,
        "create table t (id int primary key); insert into t values (1), (2)",
    )
    .unwrap();
    run(&mut one, "begin read only").unwrap();
    assert_eq!(lines(&run(&mut one, WINDOW).unwrap()[0]), ["1|2", "2|1"]);
    run(&mut other, "insert into t values (3)").unwrap();
    assert_eq!(lines(&run(&mut one, WINDOW).unwrap()[0]), ["1|2", "2|1"]);
    run(&mut one, "commit").unwrap();
    assert_eq!(
        lines(&run(&mut one, WINDOW).unwrap()[0]),
        ["1|3", "2|2", "3|1"]
    );
}

#[test]
fn a_result_is_of_the_state_in_which_it_began() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 40_000);
    // More rows than are computed ahead.
    let statement = session
        .prepare(
            "select a.id, a.v from t a join t b on a.id = b.id where a.id >= 0",
            &[],
        )
        .unwrap()
        .remove(0);
    let step = Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max: 10,
    };
    let Outcome::Done(complete) = wait(session.run(vec![step, Step::Sync])).remove(0) else {
        panic!("it is done");
    };
    assert!(complete.rows.as_ref().unwrap().more.is_some());
    run(&mut session, "update t set v = -1").unwrap();
    let rows = whole(complete).rows.unwrap();
    assert_eq!(rows.count, 40_000);
    assert!(rows.values.chunks(2).all(|row| row[1] != Value::Int(-1)));
    let now = run(
        &mut session,
        "select max(a.v) from t a join t b on a.id = b.id",
    )
    .unwrap();
    assert_eq!(lines(&now[0]), ["-1"]);
}

#[test]
fn explain_says_who_reads() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 12_000);
    with_rows(&mut session, "few", 100);
    let mut first =
        |text: &str| lines(&run(&mut session, &format!("explain {text}")).unwrap()[0]).remove(0);
    assert_eq!(
        first("select w, sum(v) from t group by w"),
        "DataFusion on a snapshot"
    );
    assert_eq!(
        first("select count(*) from t a join few b on a.v = b.v"),
        "DataFusion on a snapshot"
    );
    assert_eq!(
        first("select w, sum(v) from few group by w"),
        "HashAggregate"
    );
    assert_eq!(first("select sum(v) from t where id = 7"), "Aggregate");
    assert_eq!(first("select * from t"), "Seq Scan on t");
    assert_eq!(first(WINDOW), "DataFusion on a snapshot");
    let analyzed = run(&mut session, &format!("explain analyze {WINDOW}")).unwrap();
    let analyzed = lines(&analyzed[0]);
    assert_eq!(analyzed[0], "DataFusion on a snapshot (actual rows=12000)");
    assert!(analyzed.last().unwrap().starts_with("Execution Time: "));
    let all = lines(
        &run(
            &mut session,
            "explain select v, count(*) over (order by id groups current row) from t where id = 5",
        )
        .unwrap()[0],
    )
    .join("\n");
    assert!(all.contains("index=primary"), "{all}");
}

#[test]
fn ranges_of_indexes_serve() {
    let fresh = fresh();
    let mut session = always(&fresh);
    run(
        &mut session,
        "create table t (a int, b int, c text, primary key (a, b)); create index of_c on t (c, b)",
    )
    .unwrap();
    let mut data = String::new();
    for n in 0..30_000 {
        data.push_str(&format!("{}\t{}\tc{:03}\n", n / 10_000, n, n % 300));
    }
    fixture::copy_in(&mut session, "copy t from stdin", &data).unwrap();
    let text = "select count(*), min(b), max(b), count(distinct b) from t where c >= 'c010' and c < 'c020'";
    let explained = lines(&run(&mut session, &format!("explain {text}")).unwrap()[0]).join("\n");
    assert!(explained.contains("index=of_c"), "{explained}");
    assert_eq!(told(&mut session, text), ["1000|10|29719|1000"]);
    assert_eq!(
        told(&mut session, "select count(*) from t where 'c299' = c"),
        ["100"]
    );
    assert_eq!(
        told(&mut session, "select count(*) from t where c > 'c297'"),
        ["200"]
    );
    // More of one key than a batch has.
    run(&mut session, "update t set c = 'same' where b < 9000").unwrap();
    for a in 10..14 {
        run(
            &mut session,
            &format!("insert into t select {a} + a, 100000 + b, 'other' from t where a < 3"),
        )
        .unwrap();
    }
    let text = "select count(*), count(distinct b) from t where c = 'same'";
    let explained = lines(&run(&mut session, &format!("explain {text}")).unwrap()[0]).join("\n");
    assert!(explained.contains("index=of_c"), "{explained}");
    assert_eq!(told(&mut session, text), ["9000|9000"]);
}

#[test]
fn parameters_and_columns() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 100);
    let text = "select id, rank() over (order by v groups current row) as place, $2::text as said from t where id < $1 and v >= $3 order by id";
    let statement = session.prepare(text, &[]).unwrap().remove(0);
    assert_eq!(
        statement.parameters(),
        [SqlType::Int4, SqlType::Text, SqlType::Int4]
    );
    let columns = statement.columns().unwrap();
    let columns: Vec<_> = columns
        .iter()
        .map(|column| (column.name.as_str(), column.spec.kind))
        .collect();
    assert_eq!(
        columns,
        [
            ("id", SqlType::Int4),
            ("place", SqlType::Int8),
            ("said", SqlType::Text)
        ]
    );
    let given = [Value::Int(3), Value::Text("x".into()), Value::Int(1)];
    let done = execute(&mut session, text, &[], &given).unwrap();
    assert_eq!(lines(&done), ["1|1|x", "2|2|x"]);
    let done = execute(
        &mut session,
        text,
        &[],
        &[Value::Int(3), Value::Null, Value::Int(2)],
    )
    .unwrap();
    assert_eq!(lines(&done), ["2|1|NULL"]);
    let few = execute(&mut session, text, &[], &[Value::Int(3)]).unwrap_err();
    assert_eq!(few.code, "08P01");
    let text = "with x as (select $1 + v as a, sum(v) over () as b, avg(id) over (), count(*) over (order by id * 0 groups current row) from t where id < 2) select *, a, 1, 2 from x order by 1";
    let statement = session
        .prepare(text, &[Some(SqlType::Numeric)])
        .unwrap()
        .remove(0);
    let names: Vec<_> = statement
        .columns()
        .unwrap()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["a", "b", "avg", "count", "a", "?column?", "?column?"]
    );
    let done = execute(
        &mut session,
        text,
        &[Some(SqlType::Numeric)],
        &[Value::Decimal(125, 2)],
    )
    .unwrap();
    assert_eq!(
        lines(&done),
        [
            "1.25|1|0.5000000000000000|2|1.25|1|2",
            "2.25|1|0.5000000000000000|2|2.25|1|2"
        ]
    );
}

#[test]
fn all_types_there_and_back() {
    let fresh = fresh();
    let mut session = always(&fresh);
    run(
        &mut session,
        "create table kinds (k int primary key, b bool, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, n numeric, p numeric(12,3),
            t text, v varchar(9), c char(4), y bytea, d date, h time, s timestamp, z timestamptz, u uuid);
         insert into kinds values (1, true, -32768, 2147483647, -9223372036854775808, 1.5, -2.25e100, 12345678901234567890.123456789, -1.5,
            'tö\\n''x', 'vv', 'c', '\\x00ff10', '0044-03-15', '23:59:59.999999', '1500-01-01 00:00:00.000001', '2999-12-31 23:59:59+00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), (2)",
    )
    .unwrap();
    let whole_row = "select * from kinds order by k";
    let own = lines(&run(&mut fresh.session(), whole_row).unwrap()[0]);
    assert_eq!(own.len(), 2);
    assert_eq!(told(&mut session, whole_row), own);
    // Without the own planner's word for the columns.
    let windowed = "select k, b, i2, i4, i8, f4, f8, n, p, t, v, c, y, d, h, s, z, u from (select *, row_number() over (order by k groups current row) from kinds) x order by k";
    let statement = session.prepare(windowed, &[]).unwrap().remove(0);
    let here: Vec<_> = statement
        .columns()
        .unwrap()
        .iter()
        .map(|column| column.spec)
        .collect();
    let there = session.prepare(whole_row, &[]).unwrap().remove(0);
    let there: Vec<_> = there
        .columns()
        .unwrap()
        .iter()
        .map(|column| column.spec)
        .collect();
    assert_eq!(here, there);
    assert_eq!(told(&mut session, windowed), own);
    // Each type as a parameter, compared with itself.
    let columns = [
        "b", "i2", "i4", "i8", "f4", "f8", "n", "p", "t", "v", "c", "y", "d", "h", "s", "z", "u",
    ];
    for column in columns {
        let text = format!("select {column} from kinds where k = 1");
        let value = run(&mut session, &text)
            .unwrap()
            .remove(0)
            .rows
            .unwrap()
            .values
            .remove(0);
        let spec = session.prepare(&text, &[]).unwrap()[0].columns().unwrap()[0].spec;
        let value = match value {
            Value::Text(text) => Value::Text(text.trim_end().into()),
            value => value,
        };
        let text = format!(
            "select count(*) over (order by k groups current row) from kinds where {column} = $1"
        );
        let found = execute(&mut session, &text, &[Some(spec.kind)], &[value]);
        assert_eq!(lines(&found.unwrap()), ["1"], "{column}");
    }
}

#[test]
fn errors_have_codes() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 10);
    let over = "count(*) over (order by v groups current row)";
    for (text, wanted) in [
        (format!("select nothing, {over} from t"), "42703"),
        (format!("select id, {over} from nowhere"), "42P01"),
        (format!("select id, {over} from t a, t b"), "42702"),
        (format!("select 1 / (id - 5), {over} from t"), "22012"),
        (format!("select nothing(id), {over} from t"), "42883"),
        (format!("select w + 1, {over} from t"), "42883"),
        (format!("select w::int, {over} from t"), "22P02"),
        (
            format!("select * from pg_catalog.pg_class a, (select {over} from t) b"),
            "0A000",
        ),
        (
            "select v, row_number() over (order by id) from t group by v".into(),
            "42803",
        ),
        (
            "with a as (select 1) select x.n, row_number() over (order by x.n groups current row) from generate_series(1, 3) x(n)"
                .into(),
            "0A000",
        ),
    ] {
        assert_eq!(code(alone(&mut session, &text)), wanted, "{text}");
        assert_eq!(
            code(alone(&mut session, "select 1")),
            "1",
            "the session goes on"
        );
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let fresh = fresh_with(4 << 20);
    let mut session = fresh.session();
    with_rows(&mut session, "t", 60_000);
    let sorted = "select id, w || id::text || w as x, row_number() over (order by w || id::text || w || v::text, id groups current row) from t order by x";
    assert_eq!(code(alone(&mut session, sorted)), "53200");
    assert_eq!(
        code(alone(&mut session, "select count(*), (select 1) from t")),
        "60000|1"
    );
    // Queries of WITH that double at each step.
    let mut doubling =
        "with a0 as (select id, row_number() over (order by id groups current row) from t)"
            .to_string();
    for step in 1..40 {
        let before = step - 1;
        doubling.push_str(&format!(
            ", a{step} as (select x.id from a{before} x, a{before} y)"
        ));
    }
    doubling.push_str(" select count(*) from a39");
    assert_eq!(code(alone(&mut session, &doubling)), "54001");
    // A tree that leans far.
    let sum = vec!["id"; 90].join(" + ");
    let deep = format!(
        "select {sum}, row_number() over (order by id groups current row) from t where id = 1"
    );
    assert_eq!(code(alone(&mut session, &deep)), "90|1");
}

#[test]
fn who_cancels_ends_it() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 20_000);
    let interrupt = Arc::new(Interrupt::default());
    session.set_interrupt(interrupt.clone());
    // Hours of work.
    let endless =
        "select count(*) from t a, t b, t c where a.v + b.v + c.v = -1 and (select 1) = 1";
    let steps = common::flight(&mut session, endless).unwrap();
    interrupt.request();
    assert_eq!(code(wait(session.run(steps)).remove(0)), "57014");
    assert_eq!(interrupt.take(), None, "what comes next is not cancelled");
    assert_eq!(
        code(alone(&mut session, "select count(*), (select 1) from t")),
        "20000|1"
    );
    let _ = session;
}

#[test]
fn both_planners_give_the_same() {
    let fresh = fresh();
    let mut session = fresh.session();
    with_rows(&mut session, "t", 15_000);
    run(
        &mut session,
        "create table m (id int primary key, n numeric(12,2), g char(3), d date, f float8, l bigint);
         create table k (g char(3) primary key, name text)",
    )
    .unwrap();
    let (mut data, mut seed) = (String::new(), 7_u64);
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for id in 0..12_000 {
        let n = match random(20) {
            0 => "\\N".to_string(),
            _ => format!("{}.{:02}", random(20_000) as i64 - 10_000, random(100)),
        };
        let day = random(28) + 1;
        data.push_str(&format!(
            "{id}\t{n}\tg{}\t2024-{:02}-{day:02}\t{}\t{}\n",
            random(30),
            random(12) + 1,
            random(1000) as f64 / 8.0,
            random(1 << 40)
        ));
    }
    fixture::copy_in(&mut session, "copy m from stdin", &data).unwrap();
    run(
        &mut session,
        "insert into k values ('g1', 'one'), ('g2', 'two'), ('g3', 'three'), ('x', 'none')",
    )
    .unwrap();
    let (items, tails) = (
        [
            "count(*)",
            "sum(n)",
            "min(n)",
            "max(g)",
            "sum(id)",
            "count(n)",
            "min(d)",
            "sum(l)",
            "count(distinct g)",
            "max(f)",
            "sum(f)",
            "sum(n * 2 - 1)",
            "sum(id % 7)",
            "bool_or(n > 0)",
        ],
        [
            "",
            " where n > 100",
            " where d >= '2024-06-01' and f < 60",
            " where g in ('g1', 'g2', 'g7')",
            " where n is null or l % 3 = 0",
            " where n between -50 and 50",
            " where not (g like 'g1%')",
            " where f * 2 > 100 and id <> 5",
        ],
    );
    let mut texts = Vec::new();
    for _ in 0..60 {
        let mut list: Vec<_> = (0..1 + random(4))
            .map(|_| items[random(items.len() as u64) as usize])
            .collect();
        list.dedup();
        let tail = tails[random(tails.len() as u64) as usize];
        texts.push(match random(4) {
            0 => format!("select {} from m{tail}", list.join(", ")),
            1 => format!("select g, {} from m{tail} group by g order by g", list.join(", ")),
            2 => format!("select d, {} from m{tail} group by d having count(*) > 20 order by d desc limit 7", list.join(", ")),
            _ => {
                let kind = ["join", "left join"][random(2) as usize];
                format!("select name, count(*), sum(n), min(l) from m {kind} k on m.g = k.g{} group by name order by name", tail.replace(" g ", " m.g ").replace("(g ", "(m.g "))
            }
        });
    }
    texts.push("select t.w, count(*), sum(m.n) from t join m on t.id = m.id left join k on k.g = m.g group by t.w order by 1".into());
    let mut own = session_with(&fresh, "off");
    for text in texts {
        let here =
            lines(&run(&mut own, &text).unwrap_or_else(|error| panic!("{text}: {error}"))[0]);
        assert_eq!(told(&mut session, &text), here, "{text}");
    }
}

fn session_with(fresh: &fixture::Fresh, mode: &str) -> sardonyx_sql::Session {
    let mut session = session(&fresh.database);
    run(&mut session, &format!("set sardonyx.analytics = {mode}")).unwrap();
    session
}
