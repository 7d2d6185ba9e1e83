//! Inner joins of tables so large that their order, equal columns and indexes matter, against joins in the order of the
//! statement.

use super::model::{Choices, Row};
use super::written::literal;
use crate::common::{Fresh, query, run};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::HashMap;

const COLUMNS: [&str; 4] = ["id", "a", "b", "c"];
/// A query that gives more rows is not asked.
const ROWS_MOST: usize = 50_000;

/// A column: of which of the tables that are joined, and which.
type Of = (usize, usize);

enum Condition {
    Compares(Of, &'static str, Of),
    Constant(Of, &'static str, i64),
    IsOf(Of, [i64; 3]),
    /// One of two pairs of conditions, each on both tables.
    Either([(Of, i64); 2], [(Of, i64); 2]),
}

/// True if the operator holds for two values; never with a null.
fn holds(left: Option<i64>, operator: &str, right: Option<i64>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    match operator {
        "=" => left == right,
        "<" => left < right,
        ">=" => left >= right,
        _ => left != right,
    }
}

fn name(of: Of) -> String {
    format!("x{}.{}", of.0, COLUMNS[of.1])
}

impl Condition {
    fn written(&self) -> String {
        let both = |pair: &[(Of, i64); 2]| {
            let one = |(of, value): &(Of, i64)| format!("{} = {value}", name(*of));
            format!("({} and {})", one(&pair[0]), one(&pair[1]))
        };
        match self {
            Condition::Compares(left, operator, right) => {
                format!("{} {operator} {}", name(*left), name(*right))
            }
            Condition::Constant(of, operator, value) => format!("{} {operator} {value}", name(*of)),
            Condition::IsOf(of, [a, b, c]) => format!("{} in ({a}, {b}, {c})", name(*of)),
            Condition::Either(one, other) => format!("({} or {})", both(one), both(other)),
        }
    }

    /// The last of the tables that it reads.
    fn last(&self) -> usize {
        match self {
            Condition::Compares(left, _, right) => left.0.max(right.0),
            Condition::Constant(of, ..) | Condition::IsOf(of, _) => of.0,
            Condition::Either(one, other) => {
                let all = one.iter().chain(other);
                all.map(|(of, _)| of.0).max().unwrap_or(0)
            }
        }
    }

    fn holds(&self, rows: &[&Row]) -> bool {
        let value = |of: &Of| rows[of.0][of.1];
        let both = |pair: &[(Of, i64); 2]| pair.iter().all(|(of, is)| value(of) == Some(*is));
        match self {
            Condition::Compares(left, operator, right) => {
                holds(value(left), operator, value(right))
            }
            Condition::Constant(of, operator, is) => holds(value(of), operator, Some(*is)),
            Condition::IsOf(of, list) => value(of).is_some_and(|value| list.contains(&value)),
            Condition::Either(one, other) => both(one) || both(other),
        }
    }
}

struct Asked {
    /// The numbers of the tables.
    tables: Vec<usize>,
    conditions: Vec<Condition>,
}

impl Asked {
    fn random(choices: &mut Choices, count: usize) -> Asked {
        let tables: Vec<usize> = (0..2 + choices.below(4))
            .map(|_| choices.below(count))
            .collect();
        let mut conditions = Vec::new();
        let column = |choices: &mut Choices| choices.below(COLUMNS.len());
        for number in 1..tables.len() {
            for _ in 0..1 + choices.below(2) {
                let (other, here) = (choices.below(number), column(choices));
                // Mostly of the same columns, so that more than two are equal.
                let there = if choices.below(3) == 0 {
                    column(choices)
                } else {
                    here
                };
                let (left, right) = ((number, here), (other, there));
                conditions.push(Condition::Compares(left, "=", right));
            }
        }
        for _ in 0..1 + choices.below(4) {
            let any = |choices: &mut Choices| (choices.below(tables.len()), column(choices));
            let value = |choices: &mut Choices| choices.below(12) as i64;
            let operator = ["=", "<", ">=", "<>"][choices.below(4)];
            conditions.push(match choices.below(6) {
                0 | 1 => Condition::Compares(any(choices), operator, any(choices)),
                2 => Condition::IsOf(any(choices), [value(choices), value(choices), 40]),
                3 => {
                    let (one, other) = (any(choices), any(choices));
                    let mut pair = || [(one, value(choices)), (other, value(choices))];
                    Condition::Either(pair(), pair())
                }
                _ => Condition::Constant(any(choices), operator, value(choices)),
            });
        }
        Asked { tables, conditions }
    }

    fn written(&self) -> String {
        let from = self.tables.iter().enumerate();
        let from: Vec<_> = from.map(|(at, table)| format!("t{table} x{at}")).collect();
        let conditions: Vec<_> = self.conditions.iter().map(Condition::written).collect();
        let sums: Vec<_> = (0..self.tables.len())
            .map(|at| format!("sum(x{at}.id)"))
            .collect();
        let (from, conditions) = (from.join(", "), conditions.join(" and "));
        format!(
            "select count(*), {} from {from} where {conditions}",
            sums.join(", ")
        )
    }

    /// Adds the rows that go with some before them; false if they are too many.
    fn join<'t>(
        &self,
        tables: &'t [Indexed],
        rows: &mut Vec<&'t Row>,
        found: &mut (usize, Vec<i64>),
    ) -> bool {
        let number = rows.len();
        let Some(table) = self.tables.get(number) else {
            found.0 += 1;
            let sums = found.1.iter_mut().zip(rows);
            sums.for_each(|(sum, row)| *sum += row[0].unwrap_or(0));
            return found.0 <= ROWS_MOST;
        };
        let sought = self
            .conditions
            .iter()
            .find_map(|condition| match condition {
                Condition::Compares(here, "=", there) if here.0 == number && there.0 < number => {
                    Some((here.1, rows[there.0][there.1]))
                }
                _ => None,
            });
        let all: Box<dyn Iterator<Item = &Row>> = match sought {
            Some((_, None)) => return true,
            Some((column, Some(value))) => {
                let places = tables[*table].places[column].get(&value);
                Box::new(
                    places
                        .into_iter()
                        .flatten()
                        .map(|at| &tables[*table].rows[*at]),
                )
            }
            None => Box::new(tables[*table].rows.iter()),
        };
        for row in all {
            rows.push(row);
            let mut own = self.conditions.iter().filter(|of| of.last() == number);
            let goes_on = !own.all(|of| of.holds(rows)) || self.join(tables, rows, found);
            rows.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }
}

/// Rows, and where each value of a column is.
struct Indexed {
    rows: Vec<Row>,
    places: Vec<HashMap<i64, Vec<usize>>>,
}

impl Indexed {
    fn random(choices: &mut Choices) -> Indexed {
        let count = [30, 150, 900, 2000][choices.below(4)];
        let cell = |choices: &mut Choices, most| match choices.below(10) {
            0 => None,
            _ => Some(choices.below(most) as i64),
        };
        let row = |id: usize| {
            let (a, b, c) = (cell(choices, 300), cell(choices, 60), cell(choices, 12));
            vec![Some(id as i64), a, b, c]
        };
        let rows: Vec<Row> = (0..count).map(row).collect();
        let mut places = vec![HashMap::<i64, Vec<usize>>::new(); COLUMNS.len()];
        for (at, row) in rows.iter().enumerate() {
            for (value, places) in row.iter().zip(&mut places) {
                if let Some(value) = value {
                    places.entry(*value).or_default().push(at);
                }
            }
        }
        Indexed { rows, places }
    }
}

proptest! {
    #![proptest_config(Config { cases: sardonyx_base::random::cases(2), ..Config::default() })]

    #[test]
    fn joins_in_any_order_give_the_same(seed in any::<u64>()) {
        let fresh = Fresh::new();
        let mut session = fresh.session();
        let mut choices = Choices::new(seed);
        let tables: Vec<Indexed> = (0..4).map(|_| Indexed::random(&mut choices)).collect();
        for (number, table) in tables.iter().enumerate() {
            run(&mut session, &format!("create table t{number} (id int primary key, a int, b int, c int)")).expect("a table");
            for rows in table.rows.chunks(100) {
                let rows = rows.iter().map(|row| {
                    let row: Vec<_> = row.iter().map(|cell| literal(*cell)).collect();
                    format!("({})", row.join(", "))
                });
                let rows = rows.collect::<Vec<_>>().join(", ");
                run(&mut session, &format!("insert into t{number} values {rows}")).expect("rows");
            }
            for columns in ["a", "b, c", "c desc, a"] {
                if choices.below(2) == 0 {
                    run(&mut session, &format!("create index on t{number} ({columns})")).expect("an index");
                }
            }
        }
        let mut given = 0;
        for _ in 0..40 {
            let asked = Asked::random(&mut choices, tables.len());
            let mut found = (0, vec![0; asked.tables.len()]);
            if !asked.join(&tables, &mut Vec::new(), &mut found) {
                continue;
            }
            let (count, sums) = found;
            let sums = sums.iter().map(|sum| if count == 0 { "NULL".into() } else { sum.to_string() });
            let expected = [vec![count.to_string()], sums.collect()].concat().join("|");
            let text = asked.written();
            let rows = query(&mut session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
            prop_assert_eq!(rows, [expected.clone()], "{}", text);
            run(&mut session, "begin; update t1 set a = a where id = 0").expect("it writes");
            let rows = query(&mut session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
            prop_assert_eq!(rows, [expected], "in a transaction: {}", text);
            run(&mut session, "commit").expect("no other session is there");
            given += usize::from(count > 0);
        }
        prop_assert!(given > 0, "all queries are empty");
    }
}
