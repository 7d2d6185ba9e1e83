//! Random queries over small tables, against an evaluator that knows no better way than nested loops: joins of all kinds,
//! subqueries that ask for outer columns, set operations, groups, window functions, nulls everywhere. Each is run on a snapshot, and inside
//! of a transaction that wrote.

mod common;
#[path = "queries/model.rs"]
mod model;
#[path = "queries/windows.rs"]
mod windows;

use common::{Fresh, query, run};
use model::{Choices, Generator, Tables, rows_of, written};
use proptest::prelude::*;
use proptest::test_runner::Config;
use sardonyx_sql::Session;

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn check(session: &mut Session, tables: &Tables, choices: &mut Choices) {
    let mut generator = Generator::new(choices);
    let asked = generator.query(3);
    let text = written(&asked);
    let expected = sorted(rows_of(tables, &asked));
    let found = query(session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(sorted(found), expected, "{text}");
    run(session, "begin; update t1 set a = a where id = 0").expect("it writes");
    let found = query(session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(sorted(found), expected, "in a transaction: {text}");
    run(session, "commit").expect("nobody else is there");
}

proptest! {
    #![proptest_config(Config { cases: 48, ..Config::default() })]

    #[test]
    fn queries_give_what_nested_loops_give(seed in any::<u64>()) {
        let fresh = Fresh::new();
        let mut session = fresh.session();
        let mut choices = Choices(seed);
        let tables = Tables::random(&mut choices);
        for statement in tables.statements() {
            run(&mut session, &statement).expect("it is filled");
        }
        for _ in 0..40 {
            check(&mut session, &tables, &mut choices);
        }
    }
}
