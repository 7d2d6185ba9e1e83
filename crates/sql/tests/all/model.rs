//! Random statements on a small table, against a model that is a map. And any text, which is run or refused.

use crate::common::{Fresh, query, run};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sardonyx_sql::code;
use std::collections::BTreeMap;

type Model = BTreeMap<i64, (Option<i64>, Option<String>)>;

#[derive(Clone, Debug)]
enum Act {
    Insert(i64, Option<i64>, Option<String>),
    SetByKey(i64, Option<i64>),
    AddWhere(i64, i64),
    Move(i64, i64),
    DeleteByKey(i64),
    DeleteRange(i64, i64),
    Index,
    DropIndex,
    Truncate,
}

fn acts() -> impl Strategy<Value = Act> {
    let key = -3..12_i64;
    let number = prop::option::of(-5..5_i64);
    let text = prop::option::of("[a-c]{0,2}");
    prop_oneof![
        6 => (key.clone(), number.clone(), text).prop_map(|(k, n, t)| Act::Insert(k, n, t)),
        3 => (key.clone(), number).prop_map(|(k, n)| Act::SetByKey(k, n)),
        2 => (-5..5_i64, -3..3_i64).prop_map(|(n, more)| Act::AddWhere(n, more)),
        2 => (key.clone(), key.clone()).prop_map(|(from, to)| Act::Move(from, to)),
        2 => key.clone().prop_map(Act::DeleteByKey),
        1 => (key.clone(), key).prop_map(|(from, to)| Act::DeleteRange(from, to)),
        1 => Just(Act::Index),
        1 => Just(Act::DropIndex),
        1 => Just(Act::Truncate),
    ]
}

fn literal<T: std::fmt::Display>(value: &Option<T>) -> String {
    value
        .as_ref()
        .map_or("null".into(), |value| format!("'{value}'"))
}

/// Does it to the model. Returns the statement, and its number of rows; none if the key exists.
fn apply(model: &mut Model, act: &Act) -> (String, Option<u64>) {
    match act {
        Act::Insert(key, n, t) => {
            let text = format!(
                "insert into m values ({key}, {}, {})",
                literal(n),
                literal(t)
            );
            if model.contains_key(key) {
                return (text, None);
            }
            model.insert(*key, (*n, t.clone()));
            (text, Some(1))
        }
        Act::SetByKey(key, n) => {
            let text = format!("update m set n = {} where k = {key}", literal(n));
            let row = model.get_mut(key);
            let count = row.map(|row| row.0 = *n).map_or(0, |()| 1);
            (text, Some(count))
        }
        Act::AddWhere(n, more) => {
            let text = format!("update m set n = n + ({more}) where n >= {n}");
            let rows = model
                .values_mut()
                .filter(|row| row.0.is_some_and(|there| there >= *n));
            let count = rows
                .map(|row| row.0 = row.0.map(|there| there + more))
                .count();
            (text, Some(count as u64))
        }
        Act::Move(from, to) => {
            let text = format!("update m set k = {to} where k = {from}");
            if !model.contains_key(from) {
                return (text, Some(0));
            }
            if from != to && model.contains_key(to) {
                return (text, None);
            }
            if let Some(row) = model.remove(from) {
                model.insert(*to, row);
            }
            (text, Some(1))
        }
        Act::DeleteByKey(key) => {
            let text = format!("delete from m where k = {key}");
            (text, Some(model.remove(key).map_or(0, |_| 1)))
        }
        Act::DeleteRange(from, to) => {
            let text = format!("delete from m where k >= {from} and k < {to}");
            let before = model.len();
            model.retain(|key, _| !(key >= from && key < to));
            (text, Some((before - model.len()) as u64))
        }
        Act::Index => (
            "create index if not exists m_n on m (n, t desc)".into(),
            Some(0),
        ),
        Act::DropIndex => ("drop index if exists m_n".into(), Some(0)),
        Act::Truncate => {
            model.clear();
            ("truncate m".into(), Some(0))
        }
    }
}

fn shown<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or("NULL".into(), T::to_string)
}

fn check(fresh: &Fresh, acts: &[Act]) {
    let mut session = fresh.session();
    run(
        &mut session,
        "create table m (k bigint primary key, n int, t text)",
    )
    .expect("created");
    let mut model = Model::new();
    for act in acts {
        let (text, count) = apply(&mut model, act);
        match (run(&mut session, &text), count) {
            (Ok(done), Some(count)) => {
                assert_eq!(done[0].tag.rows.unwrap_or(0), count, "{text}");
            }
            (Err(error), None) => assert_eq!(error.code, code::UNIQUE, "{text}"),
            (other, wanted) => panic!("{text}: {other:?} instead of {wanted:?}"),
        }
        let mut look = |text: &str, expected: Vec<String>| {
            assert_eq!(
                query(&mut session, text).expect(text),
                expected,
                "{text} after {act:?}"
            );
        };
        let rows = model
            .iter()
            .map(|(k, (n, t))| format!("{k}|{}|{}", shown(n), shown(t)));
        look("select * from m order by k", rows.collect());
        let some = model.iter().filter(|(_, (n, _))| n.is_some_and(|n| n > 0));
        let mut some: Vec<(i64, i64)> = some.map(|(k, (n, _))| (n.unwrap_or(0), *k)).collect();
        some.sort();
        let some = some.iter().map(|(n, k)| format!("{n}|{k}"));
        look(
            "select n, k from m where n > 0 order by n, k",
            some.collect(),
        );
        let mut backward: Vec<_> = model.values().map(|(n, _)| *n).collect();
        // Nulls sort as the largest.
        backward.sort_by_key(|n| std::cmp::Reverse(n.map_or(i64::MAX, |n| n)));
        let backward = backward.iter().take(3).map(shown);
        look(
            "select n from m order by n desc limit 3",
            backward.collect(),
        );
        let sum: i64 = model.values().filter_map(|(n, _)| *n).sum();
        let any = model.values().any(|(n, _)| n.is_some());
        let sum = shown(&any.then_some(sum));
        look(
            "select count(*), sum(n) from m",
            vec![format!("{}|{sum}", model.len())],
        );
    }
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(8), ..Config::default() })]

    #[test]
    fn a_table_is_as_its_model(acts in prop::collection::vec(acts(), 1..40)) {
        check(&Fresh::new(), &acts);
    }
}

/// Words that statements are made of, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "select",
        "insert",
        "into",
        "update",
        "set",
        "delete",
        "from",
        "where",
        "values",
        "(",
        ")",
        ",",
        "*",
        "t",
        "id",
        "x",
        "1",
        "'a'",
        "null",
        "=",
        "<",
        "+",
        "-",
        "||",
        "and",
        "or",
        "not",
        "in",
        "is",
        "like",
        "between",
        "case",
        "when",
        "then",
        "end",
        "group",
        "by",
        "order",
        "limit",
        "offset",
        "having",
        "count",
        "sum",
        "create",
        "table",
        "int",
        "text",
        "primary",
        "key",
        "index",
        "on",
        "drop",
        "alter",
        "add",
        "column",
        "begin",
        "commit",
        "rollback",
        ";",
        "savepoint",
        "to",
        "copy",
        "stdout",
        "explain",
        "returning",
        "$1",
        "::",
        "numeric",
        "cast",
        "as",
        "default",
        "conflict",
        "do",
        "nothing",
        "prepare",
        "execute",
        "show",
        "all",
        "call",
        "truncate",
        "distinct",
        "interval",
        "date",
        "1e400",
        "99999999999999999999",
        "[",
        "]",
    ]);
    prop::collection::vec(word, 0..25).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(16), ..Config::default() })]

    #[test]
    fn any_text_is_run_or_refused(texts in prop::collection::vec(prop_oneof![words(), any::<String>()], 1..30)) {
        let fresh = Fresh::new();
        let mut session = fresh.session();
        run(&mut session, "create table t (id int primary key, x text)").expect("created");
        for text in texts {
            if let Err(error) = run(&mut session, &text) {
                // An error inside the engine would have this code.
                prop_assert_ne!(error.code, code::INTERNAL, "{}: {}", text, error);
            }
        }
        let _ = run(&mut session, "rollback");
        prop_assert_eq!(query(&mut session, "select 1").expect("it goes on"), ["1"]);
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    for text in [
        format!("select {}1", "1 + ".repeat(100_000)),
        format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("select {}true", "not ".repeat(10_000)),
        format!("select 1{}", "::int".repeat(10_000)),
        format!("select 1{}", " union select 1".repeat(10_000)),
        format!("select {}1", "- ".repeat(10_000)),
        format!("select x{}", ".x".repeat(10_000)),
        format!(
            "select {}1{}",
            "case when true then ".repeat(10_000),
            " end".repeat(10_000)
        ),
        format!("select {}", "a[".repeat(10_000)),
        format!("select 1 where {}", "x = 1 or ".repeat(10_000)),
        format!("select {}1{}", "(select ".repeat(30), ")".repeat(30)),
        format!(
            "select * from {}(select 1) t{}",
            "(select * from ".repeat(60),
            ") t".repeat(60)
        ),
    ] {
        let error = run(&mut session, &text).expect_err("it is too deep");
        assert!(
            error.code.starts_with("54") || error.code.starts_with("42"),
            "{error}"
        );
    }
    let many = format!("select 1 in ({}1)", "1, ".repeat(100_000));
    assert_eq!(query(&mut session, &many).expect("a list is long"), ["t"]);
    let nested = format!("select {}1{}", "(select ".repeat(16), ")".repeat(16));
    assert_eq!(query(&mut session, &nested).expect("it is nested"), ["1"]);
    let derived = format!(
        "select * from {}(select 1) t{}",
        "(select * from ".repeat(15),
        ") t".repeat(15)
    );
    assert_eq!(query(&mut session, &derived).expect("it is nested"), ["1"]);
    let union = format!("select 1{}", " union all select 1".repeat(450));
    assert_eq!(query(&mut session, &union).expect("it is long").len(), 451);
    let chain = format!("select {}true", "true and ".repeat(900));
    assert_eq!(query(&mut session, &chain).expect("a chain is long"), ["t"]);
}
