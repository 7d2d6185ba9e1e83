//! Queries of the model evaluated by nested loops over the tables, by the letter of the standard: three-valued logic,
//! row by row.

use super::model::{Aggregate, Cell, From, Number, Of, Operand, Query, Row, Select, Tables, Truth};
use std::collections::BTreeMap;
/// The rows around an expression: of each query the things of its `FROM`, by their names.
type Around<'r> = Vec<Vec<(&'r str, Row)>>;

/// The rows of a query, as lines.
pub fn rows_of(tables: &Tables, query: &Query) -> Vec<String> {
    let mut around = Around::new();
    shown(&evaluate(tables, query, &mut around))
}

/// The first rows of a query behind the skipped ones, in the order of all columns. `descending` has a value for each
/// column.
pub fn top_of(
    tables: &Tables,
    query: &Query,
    descending: &[bool],
    skipped: usize,
    wanted: usize,
) -> Vec<String> {
    let mut rows = evaluate(tables, query, &mut Around::new());
    // Nulls are the largest.
    let key = |cell: &Cell| cell.map_or(i64::MAX, |value| value);
    rows.sort_by(|a, b| {
        let columns = a.iter().zip(b).zip(descending);
        let orders = columns.map(|((a, b), descending)| match descending {
            true => key(b).cmp(&key(a)),
            false => key(a).cmp(&key(b)),
        });
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    let rows: Vec<Row> = rows.into_iter().skip(skipped).take(wanted).collect();
    shown(&rows)
}

/// Rows as lines.
pub fn shown(rows: &[Row]) -> Vec<String> {
    let shown = |cell: &Cell| cell.map_or("NULL".into(), |value| value.to_string());
    let line = |row: &Row| row.iter().map(shown).collect::<Vec<_>>().join("|");
    rows.iter().map(line).collect()
}

fn evaluate<'r>(tables: &Tables, query: &'r Query, around: &mut Around<'r>) -> Vec<Row> {
    match query {
        Query::Set(word, is_all, left, right) => {
            let (left, mut right) = (
                evaluate(tables, left, around),
                evaluate(tables, right, around),
            );
            let mut rows = Vec::new();
            if *word == "union" {
                rows = [left, right].concat();
            } else {
                for row in left {
                    let found = right.iter().position(|other| *other == row);
                    if found.is_some() == (*word == "intersect") {
                        rows.push(row);
                    }
                    if let (Some(at), true) = (found, *is_all) {
                        right.remove(at);
                    }
                }
            }
            if !is_all {
                rows.sort();
                rows.dedup();
            }
            rows
        }
        Query::Select(select) => select.evaluate(tables, around),
    }
}

impl Select {
    fn evaluate<'r>(&'r self, tables: &Tables, around: &mut Around<'r>) -> Vec<Row> {
        let mut joined: Vec<Vec<(&'r str, Row)>> = vec![Vec::new()];
        for from in &self.from {
            let rows = match &from.of {
                Of::Table(table) => tables.0[*table].clone(),
                Of::Query(query) => evaluate(tables, query, around),
            };
            joined = from.join(tables, joined, rows, around);
        }
        let mut given = Vec::new();
        let mut operands: Vec<Vec<Row>> = vec![Vec::new(); self.windows.len()];
        let mut groups: BTreeMap<Row, Vec<Row>> = BTreeMap::new();
        if self.aggregates.is_some() && self.items.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in joined {
            around.push(row);
            let condition = self.condition.as_ref();
            if condition.is_none_or(|condition| holds(tables, condition, around) == Some(true)) {
                let items = self.items.iter();
                let items: Row = items.map(|item| value(tables, item, around)).collect();
                match &self.aggregates {
                    None => {
                        for (of, rows) in self.windows.iter().zip(&mut operands) {
                            let cells = of.1.iter().map(|operand| match operand {
                                Operand::Number(of) => value(tables, of, around),
                                Operand::Place(place) => items[*place],
                            });
                            rows.push(cells.collect());
                        }
                        given.push(items);
                    }
                    Some(aggregates) => {
                        let arguments = aggregates.iter();
                        let arguments = arguments.map(|(_, of)| value(tables, of, around));
                        groups.entry(items).or_default().push(arguments.collect());
                    }
                }
            }
            around.pop();
        }
        if let Some(aggregates) = &self.aggregates {
            for (mut key, rows) in groups {
                for (place, (aggregate, _)) in aggregates.iter().enumerate() {
                    let cells = rows.iter().map(|row| row[place]);
                    key.push(aggregated(*aggregate, cells));
                }
                for (of, rows) in self.windows.iter().zip(&mut operands) {
                    let cells = of.1.iter().map(|operand| match operand {
                        Operand::Place(place) => key[*place],
                        Operand::Number(_) => None,
                    });
                    rows.push(cells.collect());
                }
                given.push(key);
            }
        }
        for ((window, _), operands) in self.windows.iter().zip(&operands) {
            for (row, cell) in given.iter_mut().zip(window.values(operands)) {
                row.push(cell);
            }
        }
        if self.is_distinct {
            given.sort();
            given.dedup();
        }
        given
    }
}

impl From {
    fn join<'r>(
        &'r self,
        tables: &Tables,
        left: Vec<Vec<(&'r str, Row)>>,
        right: Vec<Row>,
        around: &mut Around<'r>,
    ) -> Vec<Vec<(&'r str, Row)>> {
        let mut joined = Vec::new();
        let mut met = vec![false; right.len()];
        let keeps = |side: &str| self.kind.starts_with(side) || self.kind == "full join";
        for before in &left {
            let mut any = false;
            for (at, row) in right.iter().enumerate() {
                let mut whole = before.clone();
                whole.push((&self.alias, row.clone()));
                around.push(whole.clone());
                let on = self.on.as_ref();
                let is_met = on.is_none_or(|on| holds(tables, on, around) == Some(true));
                around.pop();
                if is_met {
                    any = true;
                    met[at] = true;
                    joined.push(whole);
                }
            }
            if !any && keeps("left") {
                let mut whole = before.clone();
                whole.push((&self.alias, vec![None; self.width]));
                joined.push(whole);
            }
        }
        let others = right.iter().zip(&met).filter(|(_, met)| !**met);
        for (row, _) in others.filter(|_| keeps("right")) {
            // An unmatched row of the right side has no items before it: absent ones are read as null.
            joined.push(vec![(&self.alias, row.clone())]);
        }
        joined
    }
}

pub fn aggregated(aggregate: Aggregate, cells: impl Iterator<Item = Cell>) -> Cell {
    let cells: Vec<i64> = cells.flatten().collect();
    match aggregate {
        Aggregate::Count => Some(cells.len() as i64),
        Aggregate::Max => cells.into_iter().max(),
        Aggregate::Min => cells.into_iter().min(),
        Aggregate::Sum => (!cells.is_empty()).then(|| cells.iter().sum()),
    }
}

fn value<'r>(tables: &Tables, of: &'r Number, around: &mut Around<'r>) -> Cell {
    match of {
        Number::Column(out, alias, column, _) => {
            let level = &around[around.len() - 1 - out];
            let thing = level.iter().find(|(there, _)| there == alias);
            thing.and_then(|(_, row)| row[*column])
        }
        Number::Literal(cell) => *cell,
        Number::Sum(left, right) => {
            Some(value(tables, left, around)? + value(tables, right, around)?)
        }
        Number::Of(aggregate, query) => {
            let rows = evaluate(tables, query, around);
            aggregated(*aggregate, rows.into_iter().map(|row| row[0]))
        }
        Number::Case(condition, then, otherwise) => match holds(tables, condition, around) {
            Some(true) => value(tables, then, around),
            _ => value(tables, otherwise, around),
        },
    }
}

fn compared(operator: &str, left: Cell, right: Cell) -> Option<bool> {
    let (left, right) = (left?, right?);
    Some(match operator {
        "=" => left == right,
        "<>" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

fn both(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(of: Option<bool>) -> Option<bool> {
    of.map(|of| !of)
}

/// True if a row equals one of others; `None` if that is not known.
fn is_among(left: &Row, rows: &[Row]) -> Option<bool> {
    let mut found = Some(false);
    for row in rows {
        let pairs = left.iter().zip(row);
        let equal = pairs.map(|(left, right)| compared("=", *left, *right));
        found = not(both(not(found), not(equal.fold(Some(true), both))));
    }
    found
}

fn holds<'r>(tables: &Tables, of: &'r Truth, around: &mut Around<'r>) -> Option<bool> {
    match of {
        Truth::Compare(operator, left, right) => {
            let left = value(tables, left, around);
            compared(operator, left, value(tables, right, around))
        }
        Truth::IsNull(of) => Some(value(tables, of, around).is_none()),
        Truth::Not(inner) => not(holds(tables, inner, around)),
        Truth::And(left, right) => {
            let left = holds(tables, left, around);
            both(left, holds(tables, right, around))
        }
        Truth::Or(left, right) => {
            let left = not(holds(tables, left, around));
            not(both(left, not(holds(tables, right, around))))
        }
        Truth::In(left, negated, query) => {
            let left = left.iter().map(|of| value(tables, of, around));
            let left: Row = left.collect();
            let found = is_among(&left, &evaluate(tables, query, around));
            if *negated { not(found) } else { found }
        }
        Truth::List(left, _, negated, rows) => {
            let left = left.iter().map(|of| value(tables, of, around));
            let left: Row = left.collect();
            let found = is_among(&left, rows);
            if *negated { not(found) } else { found }
        }
        Truth::Exists(negated, query) => {
            Some(evaluate(tables, query, around).is_empty() == *negated)
        }
        Truth::Quantified(operator, is_all, left, query) => {
            let left = value(tables, left, around);
            let rows = evaluate(tables, query, around);
            let rows = rows.iter().map(|row| compared(operator, left, row[0]));
            match is_all {
                true => rows.fold(Some(true), both),
                false => not(rows.map(not).fold(Some(true), both)),
            }
        }
    }
}
