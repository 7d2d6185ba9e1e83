//! Expressions in the text of `EXPLAIN`: in PostgreSQL's form, with names for columns and every operation in
//! parentheses.

use crate::aggregate::{Aggregate, Grouping};
use crate::expression::{
    Comparison, Elements, Expr, List, ListOf, Question, Scope, SortKey, Subquery, is_row,
};
use crate::names;
use crate::text::text_of;
use crate::types::SqlType;
use crate::values::arithmetic::Arithmetic;
use sardonyx::schema::{Value, ValueRef};

/// The names of the columns and values that an expression reads.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub scope: &'n Scope,
    /// The place in the whole row of the first column that the expression sees.
    pub shift: usize,
    /// The query's outer values.
    pub outer: &'n [String],
    /// The groups, if rows are groups.
    pub grouping: Option<&'n Grouping>,
    /// The expressions of the columns, if rows are those of a query.
    pub items: Option<&'n [Expr]>,
    /// Columns are written with their tables.
    pub is_qualified: bool,
}

impl<'n> Names<'n> {
    pub fn of(scope: &'n Scope, outer: &'n [String]) -> Names<'n> {
        let tables = scope.tables.iter();
        let named = tables.filter(|table| !table.alias.is_empty()).count();
        Names {
            scope,
            shift: 0,
            outer,
            grouping: None,
            items: None,
            is_qualified: named > 1 || !outer.is_empty(),
        }
    }

    /// The same for an expression whose first column is at another place.
    pub fn shifted(self, shift: usize) -> Names<'n> {
        Names { shift, ..self }
    }

    /// The name of the table that has the column at a place of the whole row.
    pub fn table(&self, place: usize) -> Option<&'n str> {
        let mut tables = self.scope.tables.iter();
        let has = |column: &crate::expression::ScopeColumn| column.place == place;
        let table = tables.find(|table| !table.alias.is_empty() && table.columns.iter().any(has));
        table.map(|table| &*table.alias)
    }

    /// True if the column at a place of the whole row has a name.
    pub fn has(&self, place: usize) -> bool {
        self.table(place).is_some()
    }

    fn column(&self, place: usize) -> String {
        let tables = &self.scope.tables;
        for table in tables.iter().filter(|table| !table.alias.is_empty()) {
            let mut columns = table.columns.iter();
            if let Some(column) = columns.find(|column| column.place == place) {
                return match self.is_qualified {
                    true => format!(
                        "{}.{}",
                        names::quoted(&table.alias),
                        names::quoted(&column.name)
                    ),
                    false => names::quoted(&column.name),
                };
            }
        }
        format!("column{}", place + 1)
    }

    /// The text of an expression.
    pub fn written(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(value) => literal(value),
            Expr::Parameter(number) => format!("${}", number + 1),
            Expr::Column(place) => self.place(*place),
            Expr::Before(place) => self.column(*place),
            Expr::Outer(number) => match self.outer.get(*number) {
                Some(name) => name.clone(),
                None => format!("outer{}", number + 1),
            },
            Expr::And(parts) => self.chain(parts, " AND "),
            Expr::Or(parts) => self.chain(parts, " OR "),
            Expr::Not(part) => match &**part {
                Expr::IsNull(inner) => format!("({} IS NOT NULL)", self.written(inner)),
                Expr::In(value, list) => self.in_list(value, list, true),
                part => format!("(NOT {})", self.written(part)),
            },
            Expr::Compare(comparison, sides) => self.infix(&sides.0, comparison.symbol(), &sides.1),
            Expr::Distinct(sides, negated) => {
                let word = match negated {
                    true => "IS NOT DISTINCT FROM",
                    false => "IS DISTINCT FROM",
                };
                self.infix(&sides.0, word, &sides.1)
            }
            Expr::IsNull(part) => format!("({} IS NULL)", self.written(part)),
            Expr::IsBool(part, wanted) => {
                let word = if *wanted { "TRUE" } else { "FALSE" };
                format!("({} IS {word})", self.written(part))
            }
            Expr::In(value, list) => self.in_list(value, list, false),
            Expr::Like(like) => {
                let symbol = if like.ignores_case { "~~*" } else { "~~" };
                self.infix(&like.text, symbol, &like.pattern)
            }
            Expr::Each(each) => {
                let left = self.written(&each.value);
                let right = match &each.elements {
                    Elements::Items(items) => format!("ARRAY[{}]", self.listed(items)),
                    Elements::Array(array, _) => self.written(array),
                };
                let word = if each.is_all { "ALL" } else { "ANY" };
                format!("({left} {} {word} ({right}))", each.symbol)
            }
            Expr::Case(case) => {
                let arms = case.arms.iter().map(|(condition, result)| {
                    let (condition, result) = (self.written(condition), self.written(result));
                    format!(" WHEN {condition} THEN {result}")
                });
                let arms: String = arms.collect();
                format!("CASE{arms} ELSE {} END", self.written(&case.otherwise))
            }
            Expr::Coalesce(parts) => format!("COALESCE({})", self.listed(parts)),
            Expr::Arithmetic(operation, _, sides) => {
                self.infix(&sides.0, symbol(*operation), &sides.1)
            }
            Expr::Negate(_, part) => format!("(- {})", self.written(part)),
            Expr::Shift(part, span, _) => {
                let (months, days, micros) = (span.months, span.days, span.micros);
                let seconds = micros as f64 / 1e6;
                let part = self.written(part);
                format!("({part} + '{months} mons {days} days {seconds} secs'::interval)")
            }
            Expr::Cast(part, _, to, _) => format!("({})::{}", self.written(part), to.kind.name()),
            // The description of the fields is none of its arguments.
            Expr::Call(_, parts) if is_row(expr) => {
                format!("ROW({})", self.listed(parts.get(2..).unwrap_or_default()))
            }
            Expr::Call(function, parts) => {
                format!("{function:?}({})", self.listed(parts))
            }
            Expr::Subquery(subquery) => self.subquery(subquery),
        }
    }

    fn place(&self, place: usize) -> String {
        let below = Names {
            grouping: None,
            items: None,
            ..*self
        };
        if let Some(item) = self.items.and_then(|items| items.get(place)) {
            return below.written(item);
        }
        let Some(grouping) = self.grouping else {
            return self.column(place + self.shift);
        };
        match grouping.keys.get(place) {
            Some(key) => below.written(&key.expr),
            None => match grouping.aggregates.get(place - grouping.keys.len()) {
                Some(aggregate) => below.aggregate(aggregate),
                None => self.column(place),
            },
        }
    }

    fn aggregate(&self, of: &Aggregate) -> String {
        let name = of.name;
        let distinct = if of.is_distinct { "DISTINCT " } else { "" };
        let argument = of.argument.as_ref();
        let argument = argument.map_or("*".into(), |argument| self.written(argument));
        format!("{name}({distinct}{argument})")
    }

    fn infix(&self, left: &Expr, symbol: &str, right: &Expr) -> String {
        format!("({} {symbol} {})", self.written(left), self.written(right))
    }

    fn chain(&self, parts: &[Expr], word: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.written(part)).collect();
        match parts.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", parts.join(word)),
        }
    }

    pub fn listed(&self, parts: &[Expr]) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.written(part)).collect();
        parts.join(", ")
    }

    fn in_list(&self, value: &Expr, list: &List, negated: bool) -> String {
        let (symbol, word) = match negated {
            true => ("<>", "ALL"),
            false => ("=", "ANY"),
        };
        let value = self.written(value);
        let array = match &list.of {
            ListOf::Items(items) if items.len() == 1 => {
                return format!("({value} {symbol} {})", self.written(&items[0]));
            }
            ListOf::Items(items) => match array_of(items) {
                Some(array) => array,
                None => format!("ARRAY[{}]", self.listed(items)),
            },
            ListOf::Array(array) => match &array.0 {
                Expr::Literal(Value::Text(text)) => {
                    format!("{}::{}[]", quoted(text), array.1.name())
                }
                other => self.written(other),
            },
        };
        format!("({value} {symbol} {word} ({array}))")
    }

    fn subquery(&self, subquery: &Subquery) -> String {
        let number = subquery.number;
        match &subquery.question {
            Question::Compared(compared) => {
                let left = match compared.left.as_slice() {
                    [one] => self.written(one),
                    many => format!("ROW({})", self.listed(many)),
                };
                match (compared.comparison, compared.is_all) {
                    (Comparison::Equal, false) => {
                        format!("({left} = ANY (hashed SubPlan {number}))")
                    }
                    (comparison, is_all) => {
                        let word = if is_all { "ALL" } else { "ANY" };
                        format!("({left} {} {word} (SubPlan {number}))", comparison.symbol())
                    }
                }
            }
            Question::Exists => format!("EXISTS(SubPlan {number})"),
            Question::Value | Question::Array(_) => format!("(SubPlan {number})"),
            Question::Column(place) => format!("(SubPlan {number}).{}", place + 1),
        }
    }

    pub fn order(&self, keys: &[SortKey]) -> String {
        let keys = keys.iter().map(|key| {
            let direction = if key.descending { " DESC" } else { "" };
            let nulls = match (key.nulls_first == key.descending, key.nulls_first) {
                (true, _) => "",
                (false, true) => " NULLS FIRST",
                (false, false) => " NULLS LAST",
            };
            format!("{}{direction}{nulls}", self.written(&key.expression))
        });
        keys.collect::<Vec<_>>().join(", ")
    }
}

fn symbol(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add | Arithmetic::DateAdd => "+",
        Arithmetic::Subtract | Arithmetic::DateDifference | Arithmetic::DateSubtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::Modulo => "%",
        Arithmetic::Power => "^",
        Arithmetic::And => "&",
        Arithmetic::Or => "|",
        Arithmetic::Xor => "#",
        Arithmetic::ShiftLeft => "<<",
        Arithmetic::ShiftRight => ">>",
        Arithmetic::Concatenate => "||",
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The type of a literal's value.
fn type_of(value: &Value) -> Option<SqlType> {
    Some(match value {
        Value::Int(value) if i32::try_from(*value).is_ok() => SqlType::Int4,
        Value::Int(_) => SqlType::Int8,
        Value::Decimal(..) | Value::NonFinite(_) | Value::U128(_) => SqlType::Numeric,
        Value::Float(_) => SqlType::Float8,
        Value::Text(_) => SqlType::Text,
        Value::Bytes(_) => SqlType::Bytea,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time,
        Value::Timestamp(_) => SqlType::Timestamp,
        Value::Uuid(_) => SqlType::Uuid,
        _ => return None,
    })
}

fn literal(value: &Value) -> String {
    match (value, type_of(value)) {
        (Value::Null, _) => "NULL".into(),
        (Value::Bool(value), _) => value.to_string(),
        (Value::Int(_) | Value::Decimal(..) | Value::Float(_), Some(kind)) => {
            let text = text_of(kind, value.as_ref()).unwrap_or_default();
            match text.starts_with('-') {
                true => format!("'{text}'::{}", kind.name()),
                false => text,
            }
        }
        (value, Some(kind)) => {
            let text = text_of(kind, value.as_ref()).unwrap_or_default();
            format!("{}::{}", quoted(&text), kind.name())
        }
        (value, None) => value.to_string(),
    }
}

/// Literals as an array, if they have one type.
fn array_of(items: &[Expr]) -> Option<String> {
    let mut kind: Option<SqlType> = None;
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let Expr::Literal(value) = item else {
            return None;
        };
        match (value, kind) {
            (Value::Null, _) => {}
            (value, None) => kind = Some(type_of(value)?),
            (Value::Int(_), Some(SqlType::Int8)) => {}
            (value, Some(before)) => match (before, type_of(value)?) {
                (SqlType::Int4, SqlType::Int8) => kind = Some(SqlType::Int8),
                (SqlType::Int4 | SqlType::Int8, SqlType::Numeric) => kind = Some(SqlType::Numeric),
                (SqlType::Numeric, SqlType::Int4 | SqlType::Int8) => {}
                (before, own) if before == own => {}
                _ => return None,
            },
        }
        values.push(value);
    }
    let kind = kind?;
    let texts = values.into_iter().map(|value| match value.as_ref() {
        ValueRef::Null => None,
        value => text_of(kind, value),
    });
    let array = crate::values::arrays::written(texts);
    Some(format!("{}::{}[]", quoted(&array), kind.name()))
}
