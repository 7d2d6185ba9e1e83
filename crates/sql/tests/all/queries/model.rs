//! Random tables, and random queries on them as trees.

use super::windows::Window;
use super::written::literal;
use sardonyx_base::random::Random;

pub type Cell = Option<i64>;
pub type Row = Vec<Cell>;

/// The columns of each table: `id`, `a` and `b`.
const COLUMNS: [&str; 3] = ["id", "a", "b"];
const TABLES: usize = 3;

/// Choices that follow from a seed.
pub struct Choices(Random);

impl Choices {
    pub fn new(seed: u64) -> Self {
        Choices(Random::new(seed))
    }

    /// A number below another.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next() % end as u64) as usize
    }

    pub fn cell(&mut self) -> Cell {
        match self.below(4) {
            0 => None,
            _ => Some(self.below(5) as i64),
        }
    }
}

/// The rows of the tables.
pub struct Tables(pub Vec<Vec<Row>>);

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
    /// Values, the form in which they are written, true for `NOT`, rows of literals.
    List(Vec<Number>, ListForm, bool, Vec<Row>),
    Exists(bool, Box<Query>),
    Quantified(&'static str, bool, Number, Box<Query>),
}

/// The ways to write a list of values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ListForm {
    In,
    Array,
    /// An array as a text.
    Text,
    Or,
}

#[derive(Clone, Debug)]
pub enum Query {
    Select(Box<Select>),
    Set(&'static str, bool, Box<Query>, Box<Query>),
}

impl Query {
    /// The number of columns of its rows.
    pub fn width(&self) -> usize {
        match self {
            Query::Set(_, _, left, _) => left.width(),
            Query::Select(select) => {
                let aggregates = select.aggregates.as_ref().map_or(0, Vec::len);
                select.items.len() + aggregates + select.windows.len()
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Select {
    pub from: Vec<From>,
    pub condition: Option<Truth>,
    pub is_distinct: bool,
    pub items: Vec<Number>,
    /// The items are keys then, and these follow.
    pub aggregates: Option<Vec<(Aggregate, Number)>>,
    /// These follow.
    pub windows: Vec<(Window, Vec<Operand>)>,
}

/// The argument of a window function.
#[derive(Clone, Debug)]
pub enum Operand {
    Number(Number),
    /// An item or an aggregate of a grouped query.
    Place(usize),
}

#[derive(Clone, Debug)]
pub struct From {
    pub kind: &'static str,
    pub of: Of,
    pub alias: String,
    pub width: usize,
    pub on: Option<Truth>,
}

#[derive(Clone, Debug)]
pub enum Of {
    Table(usize),
    Query(Query),
}

/// The names that an expression may use: the tables of each `FROM`, the innermost last.
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
            // A key of one row, so that others are found by their keys.
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

    /// A window function of the rows, or of groups with the given number of columns.
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
                // The subquery sees the queries around this one, but no names of this one.
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

    /// The condition that a table's key has a value.
    fn key(&mut self) -> Option<Truth> {
        let level = self.names.last()?;
        let of = |(_, columns): &&(String, Vec<String>)| columns[0] == COLUMNS[0];
        let (alias, _) = level.iter().find(of)?;
        let name = format!("{alias}.{}", COLUMNS[0]);
        let column = Number::Column(0, alias.clone(), 0, name);
        if self.choices.below(2) == 0 {
            return Some(self.list(vec![column], false));
        }
        let value = Some(self.choices.below(4) as i64);
        Some(Truth::Compare("=", column, Number::Literal(value)))
    }

    /// The condition that values are those of a list, sometimes of one that is long enough for a set.
    fn list(&mut self, left: Vec<Number>, negated: bool) -> Truth {
        use ListForm::{Array, In, Or, Text};
        let form = match left.len() {
            1 => [In, Array, Text, Or][self.choices.below(4)],
            _ => [In, Or][self.choices.below(2)],
        };
        let count = [1, 2, 4, 12][self.choices.below(4)];
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            rows.push(left.iter().map(|_| self.choices.cell()).collect());
        }
        Truth::List(left, form, negated, rows)
    }

    fn operator(&mut self) -> &'static str {
        ["=", "=", "<>", "<", "<=", ">", ">="][self.choices.below(7)]
    }

    fn truth(&mut self, depth: usize) -> Truth {
        let less = depth.saturating_sub(1);
        match self.choices.below(if depth > 0 { 11 } else { 5 }) {
            0 => Truth::IsNull(self.number(less)),
            4 => {
                let width = 1 + self.choices.below(3) / 2;
                let left = (0..width).map(|_| self.column()).collect();
                let negated = self.choices.below(3) == 0;
                self.list(left, negated)
            }
            1..=3 => Truth::Compare(self.operator(), self.column(), self.number(less)),
            10 => Truth::Not(Box::new(self.truth(less))),
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
