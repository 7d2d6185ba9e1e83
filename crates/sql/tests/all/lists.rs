//! Lists of values as parameters: by keys, by indexes and as filters, of types that the column does not have, again
//! with other values, and in concurrent transactions.

use crate::common::{Fresh, execute, lines, query, run};
use sardonyx_sql::{Session, SqlType, Value, code};

fn filled() -> Fresh {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create table t (id int primary key, v int, s text); create index t_v on t (v)";
    run(&mut session, text).expect("created");
    let text = "insert into t select i, i * 2, 's' || i from generate_series(1, 50) g(i)";
    run(&mut session, text).expect("filled");
    fresh
}

fn found(session: &mut Session, text: &str, kind: SqlType, values: &[Value]) -> Vec<String> {
    let types = vec![Some(kind); values.len()];
    lines(&execute(session, text, &types, values).expect(text))
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn an_array_is_a_parameter() {
    let fresh = filled();
    let mut session = fresh.session();
    for of in [
        "id = any ($1)",
        "v / 2 = any ($1)",
        "v = any ($1) and v > 0",
    ] {
        let wanted = |ids: &[i64]| -> Vec<String> {
            let by = if of.starts_with("v =") { 2 } else { 1 };
            let there = ids.iter().filter(|id| *id % by == 0);
            there.map(|id| (id / by).to_string()).collect()
        };
        let text_of = format!("select id from t where {of} order by id");
        let small = SqlType::Int4Array;
        let large = SqlType::Int8Array;
        for (kind, array, ids) in [
            (small, "{4,2,4,NULL,170}", &[2, 4][..]),
            (small, "{}", &[]),
            (small, "{NULL}", &[]),
            (large, "{9223372036854775807,6,-9223372036854775808}", &[6]),
            (large, "{2147483648,8}", &[8]),
            // The list is another one each time.
            (small, "{40,30,10,12,14,16,18,20,22,24}", {
                &[10, 12, 14, 16, 18, 20, 22, 24, 30, 40]
            }),
        ] {
            let found = found(&mut session, &text_of, kind, &[text(array)]);
            assert_eq!(found, wanted(ids), "{text_of} of {array}");
        }
        let none = found(&mut session, &text_of, small, &[Value::Null]);
        assert!(none.is_empty(), "{text_of} of a null");
    }
    let names = "select id from t where s = any ($1) order by s desc";
    let kind = SqlType::TextArray;
    let names = found(&mut session, names, kind, &[text("{s3,s21,s3,none}")]);
    assert_eq!(names, ["3", "21"]);
}

#[test]
fn a_list_of_parameters_is_made_again_for_other_values() {
    let fresh = filled();
    let mut session = fresh.session();
    let places: Vec<String> = (1..=12).map(|number| format!("${number}")).collect();
    let places = places.join(", ");
    for of in ["id", "v / 2", "id + 0"] {
        let statement = format!("select id from t where {of} in ({places}) order by id");
        let statement = session
            .prepare(&statement, &[])
            .expect("prepared")
            .remove(0);
        for first in [1_i64, 20, 45] {
            let ids: Vec<i64> = (first..first + 12).collect();
            let values = ids.iter().map(|id| Value::Int((*id).into())).collect();
            let step = sardonyx_sql::Step::Execute {
                statement: statement.clone(),
                parameters: values,
                rows_max: 0,
            };
            let steps = vec![step, sardonyx_sql::Step::Sync];
            let done = match crate::common::wait(session.run(steps)).remove(0) {
                sardonyx_sql::Outcome::Done(done) => lines(&done),
                other => panic!("{of}: {other:?}"),
            };
            let wanted = ids.iter().filter(|id| **id <= 50).map(i64::to_string);
            assert_eq!(done, wanted.collect::<Vec<_>>(), "{of} from {first}");
        }
    }
}

#[test]
fn numbers_of_other_types_are_found_if_the_column_can_have_them() {
    let fresh = filled();
    let mut session = fresh.session();
    let statement = "select id from t where id in ($1, $2, $3) order by id";
    let decimals = [
        Value::Decimal(30, 1),
        Value::Decimal(35, 1),
        Value::Decimal(10_i128.pow(30), 0),
    ];
    assert_eq!(
        found(&mut session, statement, SqlType::Numeric, &decimals),
        ["3"]
    );
    let floats = [4.0, 4.5, f64::NAN].map(Value::Float);
    assert_eq!(
        found(&mut session, statement, SqlType::Float8, &floats),
        ["4"]
    );
    let wrong = execute(
        &mut session,
        statement,
        &[Some(SqlType::Text), None, None],
        &[text("1"), text("2"), text("3")],
    );
    let error = wrong.expect_err("texts are no numbers");
    assert_eq!(error.code, code::UNKNOWN_FUNCTION, "{error}");
}

#[test]
fn a_row_that_another_adds_to_what_was_sought_is_a_conflict() {
    let fresh = filled();
    for (sought, meets) in [
        ("id in (3, 60, 61)", "insert into t values (60, 0, null)"),
        (
            "v = any ('{2,500}')",
            "insert into t values (70, 500, null)",
        ),
        ("id = 1 or v = 8", "update t set v = 9 where id = 4"),
        (
            "id in (select v from t where v < 9)",
            "delete from t where id = 2",
        ),
    ] {
        let (mut one, mut other) = (fresh.session(), fresh.session());
        run(&mut one, "begin").expect("begun");
        let count = format!("select count(*) from t where {sought}");
        query(&mut one, &count).expect("counted");
        run(&mut other, meets).expect(meets);
        let changed = run(&mut one, "update t set s = 'seen' where id = 50; commit");
        let error = changed.expect_err(sought);
        assert_eq!(error.code, code::SERIALIZATION_FAILURE, "{sought}: {error}");
        run(&mut one, "rollback").expect("ended");
    }
    // One that it does not find is none.
    let (mut one, mut other) = (fresh.session(), fresh.session());
    run(&mut one, "begin").expect("begun");
    query(&mut one, "select * from t where id in (5, 6)").expect("read");
    run(&mut other, "update t set v = 0 where id = 7").expect("changed");
    run(&mut one, "update t set s = 'seen' where id = 50; commit").expect("nobody was met");
}

/// Chains of as many operators as a text may have, on a test's thread, whose stack is as large as a server's.
#[test]
fn long_chains_of_operators_are_answered_or_refused() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    for (part, last) in [
        (" + 1", "1"),
        (" - ~1", "1"),
        (" + ~1 * 2", "1"),
        (" || 'a'", "'a'"),
        (" ~ 'a' || 'b'", "'a'"),
        (" = 1", "1"),
    ] {
        for count in [10, 150, 320, 480, 990] {
            let text = format!("select {last}{}", part.repeat(count));
            if let Err(error) = query(&mut session, &text) {
                let codes = ["54001", "42601", "42883", "22003"];
                assert!(codes.contains(&error.code), "{text}: {error:?}");
            }
        }
    }
    // Each level is looked at a few times, not twice as often as the one below it.
    let calls = |count: usize, inner: &str| {
        format!(
            "select {}{inner}{} from generate_series(1, 3) as g (x)",
            "abs(".repeat(count),
            ")".repeat(count)
        )
    };
    assert_eq!(
        query(&mut session, &calls(60, "sum(x)")).expect("it is computed"),
        ["6"]
    );
    let error = query(&mut session, &calls(60, "sum(x) + x")).expect_err("it is not grouped");
    assert_eq!(error.code, "42803");
}
