//! Queries as trees: made at random, written as SQL, and evaluated by nested loops over the tables, by the letter of the
//! standard: three values of truth, rows one after the other.

use crate::windows::Window;
use std::collections::BTreeMap;
use std::fmt::Write;

pub type Cell = Option<i64>;
pub type Row = Vec<Cell>;

/// The columns of each table: `id`, `a` and `b`.
const COLUMNS: [&str; 3] = ["id", "a", "b"];
const TABLES: usize = 3;

/// Choices that follow from a seed.
pub struct Choices(pub u64);

impl Choices {
    /// A number below another.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    pub fn cell(&mut self) -> Cell {
        match self.below(4) {
            0 => None,
            _ => Some(self.below(5) as i64),
        }
    }
}

/// The rows of the tables.
pub struct Tables(Vec<Vec<Row>>);

impl Tables {
    pub fn random(choices: &mut Choices) -> Tables {
        let table = |choices: &mut Choices| {
            let rows = 0..choices.below(7) as i64;
            let row = |id| vec![Some(id), choices.cell(), choices.cell()];
            rows.map(row).collect()
        };
        Tables((0..TABLES).map(|_| table(choices)).collect())
    }

    /// The statements that make and fill them, with different indexes.
    pub fn statements(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for (number, rows) in self.0.iter().enumerate() {
            statements.push(format!(
                "create table t{number} (id int primary key, a int, b int)"
            ));
            for row in rows {
                let row: Vec<_> = row.iter().map(|cell| literal(*cell)).collect();
                statements.push(format!("insert into t{number} values ({})", row.join(", ")));
            }
        }
        statements.push("create index t0_a on t0 (a, b)".into());
        statements.push("create index t1_b on t1 (b desc)".into());
        statements
    }
}

/// A value of a row: how many queries further out, which thing of its `FROM`, which column.
#[derive(Clone, Debug)]
pub enum Number {
    Column(usize, String, usize, String),
    Literal(Cell),
    Sum(Box<Number>, Box<Number>),
    /// An aggregate of a query's only column.
    Of(Aggregate, Box<Query>),
    Case(Box<Truth>, Box<Number>, Box<Number>),
}

#[derive(Clone, Copy, Debug)]
pub enum Aggregate {
    Count,
    Max,
    Min,
    Sum,
}

#[derive(Clone, Debug)]
pub enum Truth {
    Compare(&'static str, Number, Number),
    IsNull(Number),
    Not(Box<Truth>),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    In(Vec<Number>, bool, Box<Query>),
    Exists(bool, Box<Query>),
    Quantified(&'static str, bool, Number, Box<Query>),
}

#[derive(Clone, Debug)]
pub enum Query {
    Select(Box<Select>),
    Set(&'static str, bool, Box<Query>, Box<Query>),
}

#[derive(Clone, Debug)]
pub struct Select {
    from: Vec<From>,
    condition: Option<Truth>,
    is_distinct: bool,
    items: Vec<Number>,
    /// The items are keys then, and these follow.
    aggregates: Option<Vec<(Aggregate, Number)>>,
    /// These follow.
    windows: Vec<(Window, Vec<Operand>)>,
}

/// What a window function is computed of.
#[derive(Clone, Debug)]
enum Operand {
    Number(Number),
    /// An item or an aggregate of a grouped query.
    Place(usize),
}

#[derive(Clone, Debug)]
struct From {
    kind: &'static str,
    of: Of,
    alias: String,
    width: usize,
    on: Option<Truth>,
}

#[derive(Clone, Debug)]
enum Of {
    Table(usize),
    Query(Query),
}

/// What an expression may name: the things of each `FROM`, the innermost last.
type Names = Vec<Vec<(String, Vec<String>)>>;

/// Makes queries.
pub struct Generator<'c> {
    choices: &'c mut Choices,
    names: Names,
    next: usize,
}

impl<'c> Generator<'c> {
    pub fn new(choices: &'c mut Choices) -> Self {
        Generator {
            choices,
            names: Vec::new(),
            next: 0,
        }
    }

    /// A query that goes so deep at most.
    pub fn query(&mut self, depth: usize) -> Query {
        let width = 1 + self.choices.below(2);
        self.of_width(depth, width)
    }

    fn of_width(&mut self, depth: usize, width: usize) -> Query {
        if depth > 0 && self.choices.below(5) == 0 {
            let word = ["union", "intersect", "except"][self.choices.below(3)];
            let is_all = self.choices.below(2) == 0;
            let left = self.of_width(depth - 1, width);
            let right = self.of_width(depth - 1, width);
            return Query::Set(word, is_all, Box::new(left), Box::new(right));
        }
        self.names.push(Vec::new());
        let mut from = Vec::new();
        for at in 0..1 + self.choices.below(3) {
            from.push(self.from(depth, at == 0));
        }
        let mut condition = (self.choices.below(3) > 0).then(|| self.truth(depth));
        if self.choices.below(3) == 0
            && let Some(key) = self.key()
        {
            // Of one row, so that others are found by their keys.
            condition = Some(match condition {
                Some(other) => Truth::And(Box::new(key), Box::new(other)),
                None => key,
            });
        }
        let is_grouped = self.choices.below(5) == 0;
        let mut keys = if is_grouped { width - 1 } else { width };
        let is_windowed = keys > 0 && self.choices.below(3) == 0;
        keys -= usize::from(is_windowed);
        let items = (0..keys).map(|_| self.number(if is_grouped { 0 } else { depth }));
        let items = items.collect();
        let aggregates = is_grouped.then(|| vec![(self.aggregate(), self.own_column())]);
        let windows = is_windowed.then(|| self.window(is_grouped.then_some(keys + 1)));
        self.names.pop();
        Query::Select(Box::new(Select {
            from,
            condition,
            is_distinct: !is_grouped && self.choices.below(4) == 0,
            items,
            aggregates,
            windows: windows.into_iter().collect(),
        }))
    }

    /// A window function of the rows, or of groups that have so many columns.
    fn window(&mut self, group: Option<usize>) -> (Window, Vec<Operand>) {
        let mut window = Window::random(self.choices);
        let count = window.operands();
        let mut operands = Vec::with_capacity(count);
        for _ in 0..count {
            operands.push(match group {
                Some(width) => Operand::Place(self.choices.below(width)),
                None => Operand::Number(self.number(0)),
            });
        }
        if window.tells_peers_apart() {
            // Rows that are equal in all columns are the same.
            let all: Vec<Operand> = match group {
                Some(width) => (0..width).map(Operand::Place).collect(),
                None => self.own_columns().map(Operand::Number).collect(),
            };
            for operand in all {
                window.add_key(self.choices);
                operands.push(operand);
            }
        }
        (window, operands)
    }

    fn own_columns(&self) -> impl Iterator<Item = Number> {
        let level = self.names.last().into_iter().flatten();
        level.flat_map(|(alias, columns)| {
            columns.iter().enumerate().map(move |(at, column)| {
                Number::Column(0, alias.clone(), at, format!("{alias}.{column}"))
            })
        })
    }

    fn from(&mut self, depth: usize, is_first: bool) -> From {
        let (of, columns) = match depth > 0 && self.choices.below(3) == 0 {
            true => {
                // It sees what is around this query, but nothing of this query.
                let own = self.names.pop().unwrap_or_default();
                let width = 1 + self.choices.below(2);
                let query = self.of_width(depth - 1, width);
                self.names.push(own);
                let columns = (0..width).map(|at| format!("c{at}"));
                (Of::Query(query), columns.collect())
            }
            false => {
                let columns = COLUMNS.map(String::from).to_vec();
                (Of::Table(self.choices.below(TABLES)), columns)
            }
        };
        self.next += 1;
        let alias = format!("r{}", self.next);
        let width = Vec::len(&columns);
        if let Some(names) = self.names.last_mut() {
            names.push((alias.clone(), columns));
        }
        let kinds = ["", "join", "left join", "right join", "full join"];
        let kind = match is_first {
            true => "",
            false => kinds[1 + self.choices.below(kinds.len() - 1)],
        };
        let on = (!is_first).then(|| match self.choices.below(2) {
            0 => Truth::Compare("=", self.own_column(), self.own_column()),
            _ => self.truth(depth.min(1)),
        });
        From {
            kind,
            of,
            alias,
            width,
            on,
        }
    }

    fn aggregate(&mut self) -> Aggregate {
        use Aggregate::{Count, Max, Min, Sum};
        [Count, Max, Min, Sum][self.choices.below(4)]
    }

    fn number(&mut self, depth: usize) -> Number {
        match self.choices.below(if depth > 0 { 9 } else { 6 }) {
            0 => Number::Literal(self.choices.cell()),
            1 => Number::Sum(
                Box::new(self.number(depth.saturating_sub(1))),
                Box::new(self.column()),
            ),
            2..=5 => self.column(),
            6 => Number::Case(
                Box::new(self.truth(depth - 1)),
                Box::new(self.number(depth - 1)),
                Box::new(self.column()),
            ),
            _ => Number::Of(self.aggregate(), Box::new(self.of_width(depth - 1, 1))),
        }
    }

    fn column(&mut self) -> Number {
        // Usually of the innermost.
        let out = match self.choices.below(3) {
            0 => self.choices.below(self.names.len()),
            _ => 0,
        };
        self.column_of(out)
    }

    /// An aggregate of outer columns alone would be one of the query around.
    fn own_column(&mut self) -> Number {
        self.column_of(0)
    }

    fn column_of(&mut self, out: usize) -> Number {
        let levels = self.names.len();
        let level = &self.names[levels - 1 - out];
        if level.is_empty() {
            return Number::Literal(Some(1));
        }
        let thing = self.choices.below(level.len());
        let (alias, columns) = &level[thing];
        let column = self.choices.below(columns.len());
        let name = format!("{alias}.{}", columns[column]);
        Number::Column(out, alias.clone(), column, name)
    }

    /// That a table's key has a value.
    fn key(&mut self) -> Option<Truth> {
        let level = self.names.last()?;
        let of = |(_, columns): &&(String, Vec<String>)| columns[0] == COLUMNS[0];
        let (alias, _) = level.iter().find(of)?;
        let name = format!("{alias}.{}", COLUMNS[0]);
        let column = Number::Column(0, alias.clone(), 0, name);
        let value = Some(self.choices.below(4) as i64);
        Some(Truth::Compare("=", column, Number::Literal(value)))
    }

    fn operator(&mut self) -> &'static str {
        ["=", "=", "<>", "<", "<=", ">", ">="][self.choices.below(7)]
    }

    fn truth(&mut self, depth: usize) -> Truth {
        let less = depth.saturating_sub(1);
        match self.choices.below(if depth > 0 { 10 } else { 4 }) {
            0 => Truth::IsNull(self.number(less)),
            1..=3 => Truth::Compare(self.operator(), self.column(), self.number(less)),
            4 => Truth::Not(Box::new(self.truth(less))),
            5 => Truth::And(Box::new(self.truth(less)), Box::new(self.truth(less))),
            6 => Truth::Or(Box::new(self.truth(less)), Box::new(self.truth(less))),
            7 => {
                let width = 1 + self.choices.below(2);
                let left = (0..width).map(|_| self.column()).collect();
                let negated = self.choices.below(2) == 0;
                Truth::In(left, negated, Box::new(self.of_width(less, width)))
            }
            8 => Truth::Exists(self.choices.below(2) == 0, Box::new(self.query(less))),
            _ => Truth::Quantified(
                self.operator(),
                self.choices.below(2) == 0,
                self.column(),
                Box::new(self.of_width(less, 1)),
            ),
        }
    }
}

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

/// The rows around an expression: of each query the things of its `FROM`, by their names.
type Around<'r> = Vec<Vec<(&'r str, Row)>>;

/// What a query gives, as lines.
pub fn rows_of(tables: &Tables, query: &Query) -> Vec<String> {
    let mut around = Around::new();
    shown(&evaluate(tables, query, &mut around))
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
            // Of the things before it there are only nulls: one that is not there is read so.
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
            let mut found = Some(false);
            for row in evaluate(tables, query, around) {
                let pairs = left.iter().zip(&row);
                let equal = pairs.map(|(left, right)| compared("=", *left, *right));
                found = not(both(not(found), not(equal.fold(Some(true), both))));
            }
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
