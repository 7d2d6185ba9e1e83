//! Queries of the model as SQL.

use super::model::{Aggregate, Cell, ListForm, Number, Of, Operand, Query, Row, Truth};
use std::fmt::Write;
pub fn literal(cell: Cell) -> String {
    cell.map_or("null::int".into(), |value| value.to_string())
}

pub fn name_of(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Count => "count",
        Aggregate::Max => "max",
        Aggregate::Min => "min",
        Aggregate::Sum => "sum",
    }
}

/// A query as SQL.
pub fn written(query: &Query) -> String {
    match query {
        Query::Set(word, is_all, left, right) => {
            let all = if *is_all { " all" } else { "" };
            format!("({}) {word}{all} ({})", written(left), written(right))
        }
        Query::Select(select) => {
            let mut items: Vec<String> = select.items.iter().map(number).collect();
            let keys = items.join(", ");
            for (aggregate, of) in select.aggregates.iter().flatten() {
                items.push(format!("{}({})", name_of(*aggregate), number(of)));
            }
            for (window, operands) in &select.windows {
                let text = |operand: &Operand| match operand {
                    Operand::Number(of) => number(of),
                    Operand::Place(place) => items[*place].clone(),
                };
                let operands: Vec<String> = operands.iter().map(text).collect();
                items.push(window.written(&operands));
            }
            let distinct = if select.is_distinct { "distinct " } else { "" };
            let mut text = format!("select {distinct}{} from", items.join(", "));
            for from in &select.from {
                let of = match &from.of {
                    Of::Table(table) => format!("t{table} {}", from.alias),
                    Of::Query(query) => {
                        let columns = (0..from.width).map(|at| format!("c{at}"));
                        let columns: Vec<_> = columns.collect();
                        let alias = &from.alias;
                        format!("({}) {alias}({})", written(query), columns.join(", "))
                    }
                };
                let _ = write!(text, " {} {of}", from.kind);
                if let Some(on) = &from.on {
                    let _ = write!(text, " on {}", truth(on));
                }
            }
            if let Some(condition) = &select.condition {
                let _ = write!(text, " where {}", truth(condition));
            }
            if select.aggregates.is_some() && !select.items.is_empty() {
                let _ = write!(text, " group by {keys}");
            }
            text
        }
    }
}

/// The parser takes no parentheses where such a query begins.
fn compared_with(query: &Query) -> String {
    match query {
        Query::Set(..) => format!("select * from ({}) q", written(query)),
        Query::Select(_) => written(query),
    }
}

fn number(of: &Number) -> String {
    match of {
        Number::Column(.., name) => name.clone(),
        Number::Literal(cell) => match cell {
            // A number alone would be a place in the list of items.
            Some(value) => format!("({value} + 0)"),
            None => literal(None),
        },
        Number::Sum(left, right) => format!("({} + {})", number(left), number(right)),
        Number::Of(aggregate, query) => {
            let name = name_of(*aggregate);
            format!("(select {name}(q.c) from ({}) q(c))", written(query))
        }
        Number::Case(condition, then, otherwise) => format!(
            "(case when {} then {} else {} end)",
            truth(condition),
            number(then),
            number(otherwise)
        ),
    }
}

/// A list of values in one of its forms.
fn list(left: &[Number], form: ListForm, negated: bool, rows: &[Row]) -> String {
    let left: Vec<String> = left.iter().map(number).collect();
    let row = |row: &Row| {
        let cells: Vec<String> = row.iter().map(|cell| literal(*cell)).collect();
        match cells.len() {
            1 => cells.concat(),
            _ => format!("({})", cells.join(", ")),
        }
    };
    let values: Vec<String> = rows.iter().map(row).collect();
    let (word, symbol, any) = match negated {
        true => ("not in", "<>", "all"),
        false => ("in", "=", "any"),
    };
    let value = match left.len() {
        1 => left.concat(),
        _ => format!("({})", left.join(", ")),
    };
    match form {
        ListForm::In => format!("({value} {word} ({}))", values.join(", ")),
        ListForm::Array => {
            let values = values.join(", ");
            format!("({value} {symbol} {any} (array[{values}]::int[]))")
        }
        ListForm::Text => {
            let values = values.join(",").replace("::int", "");
            format!("({value} {symbol} {any} ('{{{values}}}'::int[]))")
        }
        ListForm::Or => {
            let equal = rows.iter().map(|row| {
                let pairs = left.iter().zip(row);
                let pairs = pairs.map(|(left, cell)| format!("{left} = {}", literal(*cell)));
                format!("({})", pairs.collect::<Vec<_>>().join(" and "))
            });
            let equal = equal.collect::<Vec<_>>().join(" or ");
            let not = if negated { "not " } else { "" };
            format!("({not}({equal}))")
        }
    }
}

fn truth(of: &Truth) -> String {
    match of {
        Truth::Compare(operator, left, right) => {
            format!("{} {operator} {}", number(left), number(right))
        }
        Truth::IsNull(value) => format!("{} is null", number(value)),
        Truth::Not(inner) => format!("(not {})", truth(inner)),
        Truth::And(left, right) => format!("({} and {})", truth(left), truth(right)),
        Truth::Or(left, right) => format!("({} or {})", truth(left), truth(right)),
        Truth::In(left, negated, query) => {
            let left: Vec<String> = left.iter().map(number).collect();
            let word = if *negated { "not in" } else { "in" };
            format!("(({}) {word} ({}))", left.join(", "), compared_with(query))
        }
        Truth::List(left, form, negated, rows) => list(left, *form, *negated, rows),
        Truth::Exists(negated, query) => {
            let word = if *negated { "not exists" } else { "exists" };
            format!("({word} ({}))", written(query))
        }
        Truth::Quantified(operator, is_all, left, query) => {
            let word = if *is_all { "all" } else { "any" };
            format!(
                "({} {operator} {word} ({}))",
                number(left),
                compared_with(query)
            )
        }
    }
}
