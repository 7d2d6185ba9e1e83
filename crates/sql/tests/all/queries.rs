//! Random queries over small tables, against an evaluator that only knows nested loops. They have joins of all kinds,
//! subqueries with outer columns, set operations, groups, window functions, and nulls everywhere. Each is run on a
//! snapshot, and inside a transaction that wrote.

mod evaluated;
mod joins;
mod model;
mod windows;
mod written;

use self::evaluated::{rows_of, shown, top_of};
use self::model::{Choices, Generator, Query, Row, Tables};
use self::windows::Window;
use self::written::{literal, written};
use crate::common::{Fresh, query, run};
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
    check_top(session, tables, &asked, choices);
}

/// The first rows of a query in order are those of the whole, sorted.
fn check_top(session: &mut Session, tables: &Tables, asked: &Query, choices: &mut Choices) {
    let width = asked.width();
    let descending: Vec<bool> = (0..width).map(|_| choices.below(2) == 0).collect();
    let keys = descending.iter().enumerate().map(|(at, descending)| {
        let direction = if *descending { "desc" } else { "asc" };
        format!("{} {direction}", at + 1)
    });
    let keys = keys.collect::<Vec<_>>().join(", ");
    let (skipped, wanted) = (choices.below(5), choices.below(5));
    let text = format!(
        "select * from ({}) q order by {keys} limit {wanted} offset {skipped}",
        written(asked)
    );
    let expected = top_of(tables, asked, &descending, skipped, wanted);
    let found = query(session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(found, expected, "{text}");
}

/// Several window functions over one table of more rows.
fn check_windows(session: &mut Session, rows: &[Row], choices: &mut Choices) {
    const COLUMNS: [&str; 3] = ["id", "a", "b"];
    let mut items = vec!["id".to_string()];
    let mut given: Vec<Row> = rows.iter().map(|row| vec![row[0]]).collect();
    for _ in 0..1 + choices.below(3) {
        let mut window = Window::random(choices);
        let operands = 0..window.operands();
        let mut places: Vec<usize> = operands.map(|_| choices.below(COLUMNS.len())).collect();
        if window.tells_peers_apart() {
            window.add_key(choices);
            places.push(0);
        }
        let names: Vec<String> = places.iter().map(|at| COLUMNS[*at].into()).collect();
        items.push(window.written(&names));
        let operands = rows
            .iter()
            .map(|row| places.iter().map(|at| row[*at]).collect());
        let values = window.values(&operands.collect::<Vec<Row>>());
        given
            .iter_mut()
            .zip(values)
            .for_each(|(row, value)| row.push(value));
    }
    let text = format!("select {} from w", items.join(", "));
    let found = query(session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(sorted(found), sorted(shown(&given)), "{text}");
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(4), ..Config::default() })]

    #[test]
    fn queries_give_what_nested_loops_give(seed in any::<u64>()) {
        let fresh = Fresh::new();
        let mut session = fresh.session();
        let mut choices = Choices::new(seed);
        let tables = Tables::random(&mut choices);
        for statement in tables.statements() {
            run(&mut session, &statement).expect("it is filled");
        }
        for _ in 0..20 {
            check(&mut session, &tables, &mut choices);
        }
    }

    #[test]
    fn windows_give_what_a_look_at_all_rows_gives(seed in any::<u64>()) {
        let fresh = Fresh::new();
        let mut session = fresh.session();
        let mut choices = Choices::new(seed);
        run(&mut session, "create table w (id int primary key, a int, b int)").expect("a table");
        let rows = 0..choices.below(40) as i64;
        let rows: Vec<Row> = rows.map(|id| vec![Some(id), choices.cell(), choices.cell()]).collect();
        for row in &rows {
            let row: Vec<_> = row.iter().map(|cell| literal(*cell)).collect();
            run(&mut session, &format!("insert into w values ({})", row.join(", "))).expect("a row");
        }
        for _ in 0..60 {
            check_windows(&mut session, &rows, &mut choices);
        }
    }
}
