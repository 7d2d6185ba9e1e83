//! Groups of batches of columns give what groups of rows give, and scans that test conditions on bytes give what conditions
//! on values give: random tables, with the same queries over a derived table, whose rows are read one by one.

use crate::common::{Fresh, query, run};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;

/// Values of the columns, as SQL writes them. Some fit no batch.
fn rows() -> impl Strategy<Value = Vec<String>> {
    let numeric = prop_oneof![
        12 => (-99_999..99_999_i32).prop_map(|units| format!("{}e-2", units)),
        2 => select(vec!["null", "'NaN'", "'Infinity'", "'-Infinity'"]).prop_map(String::from),
    ];
    let wide = prop_oneof![
        8 => (-9999..9999_i64).prop_map(|units| units.to_string()),
        2 => any::<i128>().prop_map(|units| (units / 10_i128.pow(12)).to_string()),
        1 => Just("null".to_string()),
    ];
    let whole = prop_oneof![
        9 => -40..40_i64,
        1 => select(vec![i64::from(i32::MAX), i64::from(i32::MIN)]),
    ];
    let whole = prop::option::weighted(0.9, whole);
    let text = select(vec!["''", "'a'", "'b'", "'a text beyond its row'", "null"]);
    let day = prop::option::weighted(0.9, 0..40_i32);
    let row = (numeric, wide, whole, text, day).prop_map(|(n, w, i, t, d)| {
        let shown = |value: Option<String>| value.unwrap_or_else(|| "null".to_string());
        let i = shown(i.map(|i| i.to_string()));
        let d = shown(d.map(|d| format!("date '2024-01-01' + {d}")));
        format!("{n}, {w}, {i}, {t}, {d}")
    });
    prop::collection::vec(row, 0..80)
}

fn aggregates() -> impl Strategy<Value = Vec<&'static str>> {
    let all = vec![
        "count(*)",
        "count(n)",
        "count(t)",
        "count(distinct i)",
        "sum(n)",
        "avg(n)",
        "min(n)",
        "max(n)",
        "sum(w)",
        "max(w)",
        "sum(i)",
        "avg(i)",
        "min(i)",
        "min(d)",
        "max(d)",
        "max(t)",
        "sum(n * i)",
        "sum(n * (1 - w))",
        "sum(w * w)",
        "sum(i * 3 - 1)",
        "sum(i + 5) filter (where n > 0)",
        "sum(n - i * 0.125)",
        "avg(w + n)",
        "sum(case when t = 'a' then n else 0 end)",
    ];
    prop::collection::vec(select(all), 1..6)
}

fn conditions() -> impl Strategy<Value = String> {
    let all = vec![
        "true",
        "n > 12.5",
        "n between -5 and 100.125",
        "n <> 'NaN'",
        "w < 500",
        "w >= 0.5",
        "i = 7",
        "i <= 20.5",
        "i > 10.0",
        "7 >= i",
        "d < date '2024-01-20'",
        "d >= date '2024-01-03' + interval '2 days'",
        "t = 'a'",
        "t <> 'a text beyond its row'",
        "t = 'a text beyond its roe'",
        "t in ('b', 'a text beyond its row', '')",
        "t like 'a%'",
        "n < w",
        "i is not null",
        "not (i > 3)",
        "(i > 3 or t = 'b')",
    ];
    let some = prop::collection::vec(select(all), 0..4);
    // It fails for rows that the others leave; before them it would fail for other rows of a derived table.
    let last = prop::option::weighted(0.1, Just("100 / i > 3"));
    (some, last).prop_map(|(mut some, last)| {
        some.extend(last);
        match some.is_empty() {
            true => String::new(),
            false => format!("where {}", some.join(" and ")),
        }
    })
}

fn keys() -> impl Strategy<Value = &'static str> {
    select(vec!["", "t", "i", "d, t", "n", "w", "i % 3", "t, i, d"])
}

/// A result, sorted, or the code of the error.
fn answer(fresh: &Fresh, text: &str) -> Result<Vec<String>, &'static str> {
    let mut rows = query(&mut fresh.session(), text).map_err(|error| error.code)?;
    rows.sort();
    Ok(rows)
}

fn check(rows: &[String], parts: &[(Vec<&str>, String, &str)]) {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let create = "create table b (k int primary key, n numeric(12,2), w numeric(32,2), i int, t text, d date)";
    run(&mut session, create).expect(create);
    for (key, row) in rows.iter().enumerate() {
        let insert = format!("insert into b values ({key}, {row})");
        // A number may be too large for its column.
        let _ = run(&mut session, &insert);
    }
    for (aggregates, condition, keys) in parts {
        let outputs = aggregates.join(", ");
        let (shown, grouped) = match keys.is_empty() {
            true => (String::new(), String::new()),
            false => (format!("{keys}, "), format!("group by {keys}")),
        };
        let of =
            |table: &str| format!("select {shown}{outputs} from {table} {condition} {grouped}");
        let by_batches = answer(&fresh, &of("b"));
        let by_rows = answer(&fresh, &of("(select * from b offset 0) b"));
        assert_eq!(by_batches, by_rows, "{}", of("b"));
        let all = |table: &str| format!("select * from {table} {condition}");
        assert_eq!(
            answer(&fresh, &all("b")),
            answer(&fresh, &all("(select * from b offset 0) b")),
            "{}",
            all("b")
        );
    }
}

/// If reads are noted, a scan conflicts with each change of its table. So it is left to seeks longer than on a snapshot.
#[test]
fn a_join_of_an_open_transaction_seeks_what_few_rows_ask_for() {
    let fresh = Fresh::new();
    fresh.database.set_aside_from(0);
    let text = "create table p (id int primary key, x int); create table w (id int primary key);
        create table l (id int primary key, p int, day int); create index l_day on l (day);
        insert into p select g, 1 from generate_series(1, 4000) as g;
        insert into l select g, g * 3, g from generate_series(1, 1000) as g";
    run(&mut fresh.session(), text).expect("they are there");
    for (days, seeks) in [(200, true), (900, false)] {
        let mut session = fresh.session();
        run(&mut session, "begin; insert into w values (1)").expect("it begins");
        let before = session.bytes_aside();
        let text =
            format!("select sum(p.x) from l join p on p.id = l.p where l.day between 1 and {days}");
        let found = query(&mut session, &text).expect("read");
        assert_eq!(found, [days.to_string()]);
        // Each key that was sought is noted; a scan has one note.
        let noted = session.bytes_aside() - before;
        assert_eq!(noted >= 200 * size_of::<u64>(), seeks, "{days}: {noted}");
        run(&mut session, "rollback").expect("it ends");
    }
}

/// Sums beside the groups are given up where they have no memory.
#[test]
fn groups_without_memory_for_batches_take_rows() {
    let fresh = Fresh::new();
    let text = "create table t (k int primary key, a int);
        insert into t select g, 1 from generate_series(1, 10000) as g";
    run(&mut fresh.session(), text).expect("it is there");
    let sums: Vec<String> = (1..31)
        .map(|add| format!("sum(a + {add}) = {add} + 1"))
        .collect();
    let text = format!(
        "select count(*) from (select 1 from t group by k having {}) q",
        sums.join(" and ")
    );
    // The groups take 0.6 MB, their sums 4.9 MB.
    fresh.session().memory().set_bytes_max(2_200_000);
    let found = query(&mut fresh.session(), &text);
    assert_eq!(found.expect("it fits"), ["10000"]);
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(12), ..Config::default() })]

    #[test]
    fn batches_give_what_rows_give(
        rows in rows(),
        parts in prop::collection::vec((aggregates(), conditions(), keys()), 1..12),
    ) {
        check(&rows, &parts);
    }
}
