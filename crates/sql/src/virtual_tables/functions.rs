//! `pg_proc`: the functions of the tables of functions, the aggregates and the window functions.

use super::Contents::Rows;
use super::{OWNER, PG_CATALOG, VirtualRows, VirtualTable, oid, text};
use crate::aggregate::{AGGREGATES, Aggregate, AggregateKind, Named};
use crate::error::SqlError;
use crate::expression::functions::{Function, Kind, Volatility, all, function_number, number_at};
use crate::expression::window::WINDOW_FUNCTIONS;
use crate::expression::{Environment, Expr, Typed};
use crate::source::Source;
use crate::types::SqlType::{
    self, Bool, Float4, Int2, Name, Oid, OidArray, OidVector, OneChar, OneCharArray, Regproc, Text,
    TextArray,
};
use crate::values::arrays::vector_of;
use sardonyx::schema::{Value, ValueRef};
use std::collections::HashSet;

/// The number of the table.
pub(super) const PG_PROC: u32 = 1255;
/// The language of functions that the server has itself.
const INTERNAL: u32 = 12;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_proc",
    oid: PG_PROC,
    columns: &[
        ("oid", Oid),
        ("proname", Name),
        ("pronamespace", Oid),
        ("proowner", Oid),
        ("prolang", Oid),
        ("procost", Float4),
        ("prorows", Float4),
        ("provariadic", Oid),
        ("prosupport", Regproc),
        ("prokind", OneChar),
        ("prosecdef", Bool),
        ("proleakproof", Bool),
        ("proisstrict", Bool),
        ("proretset", Bool),
        ("provolatile", OneChar),
        ("proparallel", OneChar),
        ("pronargs", Int2),
        ("pronargdefaults", Int2),
        ("prorettype", Oid),
        ("proargtypes", OidVector),
        ("proallargtypes", OidArray),
        ("proargmodes", OneCharArray),
        ("proargnames", TextArray),
        ("proargdefaults", Text),
        ("protrftypes", OidArray),
        ("prosrc", Text),
        ("probin", Text),
        ("prosqlbody", Text),
        ("proconfig", TextArray),
        ("proacl", TextArray),
    ],
    contents: Rows(functions),
}];

/// A row of the table.
struct Row {
    oid: u32,
    name: &'static str,
    kind: &'static str,
    arguments: Vec<Kind>,
    result: Kind,
    function: Option<Function>,
    about: &'static str,
}

/// The row of a function in `pg_proc`.
struct Said<'a> {
    number: u32,
    name: &'a str,
    kind: &'static str,
    is_strict: bool,
    gives_rows: bool,
    volatility: Volatility,
    variadic: u32,
    arguments: Vec<u32>,
    result: u32,
}

impl Row {
    fn values(self) -> Vec<Value> {
        let is_so = |is_so: fn(Function) -> bool| self.function.is_some_and(is_so);
        let is_variadic = self.function.is_some_and(|one| one.0.is_variadic);
        let volatility = self.function.map(|one| one.0.volatility);
        let last = self.arguments.last().filter(|_| is_variadic);
        let arguments = self.arguments.iter();
        Said {
            number: self.oid,
            name: self.name,
            kind: self.kind,
            is_strict: is_so(|one| one.0.is_strict),
            gives_rows: is_so(Function::gives_rows),
            volatility: volatility.unwrap_or(Volatility::Immutable),
            variadic: last.map_or(0, |kind| kind.oid()),
            arguments: arguments.map(|kind| kind.oid()).collect(),
            result: self.result.oid(),
        }
        .values()
    }
}

impl Said<'_> {
    fn values(self) -> Vec<Value> {
        let no = || Value::Bool(false);
        let numbers = self.arguments.iter();
        let numbers = numbers.map(|number| ValueRef::Int((*number).into()));
        let (volatile, parallel) = match self.volatility {
            Volatility::Immutable => ("i", "s"),
            Volatility::Stable => ("s", "s"),
            Volatility::Volatile => ("v", "u"),
        };
        vec![
            oid(self.number),
            text(self.name),
            oid(PG_CATALOG),
            oid(OWNER),
            oid(INTERNAL),
            Value::Float(1.0),
            Value::Float(if self.gives_rows { 1000.0 } else { 0.0 }),
            oid(self.variadic),
            oid(0),
            text(self.kind),
            no(),
            no(),
            Value::Bool(self.is_strict),
            Value::Bool(self.gives_rows),
            text(volatile),
            text(parallel),
            Value::Int(self.arguments.len() as i128),
            Value::Int(0),
            oid(self.result),
            vector_of(SqlType::Oid, numbers),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            text(self.name),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ]
    }
}

fn functions(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let of_types = crate::types::functions::all().iter().map(|one| {
        let volatility = match one.is_stable {
            true => Volatility::Stable,
            false => Volatility::Immutable,
        };
        Said {
            number: one.number,
            name: &one.name,
            kind: "f",
            is_strict: true,
            gives_rows: false,
            volatility,
            variadic: 0,
            arguments: one.arguments.clone(),
            result: one.result,
        }
        .values()
    });
    let is_shown = |row: &Row| row.function.is_none_or(|function| !function.0.is_old);
    Ok(rows()
        .into_iter()
        .filter(is_shown)
        .map(Row::values)
        .chain(of_types)
        .chain(super::triggers::functions(source, &with.context.user)?)
        .collect())
}

fn rows() -> Vec<Row> {
    let (mut rows, mut taken) = (Vec::new(), HashSet::new());
    for (place, function) in all().enumerate() {
        let number = function_number(place);
        taken.insert(number);
        rows.push(Row {
            oid: number,
            name: function.0.name,
            kind: "f",
            arguments: function.0.arguments.to_vec(),
            result: function.0.result,
            function: Some(function),
            about: function.0.about,
        });
    }
    let others = aggregates().chain(windows());
    for (name, kind, arguments, result, about) in others {
        rows.push(Row {
            oid: number_at(rows.len(), (name, &arguments), &mut taken),
            name,
            kind,
            arguments,
            result,
            function: None,
            about,
        });
    }
    rows
}

/// A function's name, its kind in the catalogue, its arguments, its result, and a line for people.
type Described = (&'static str, &'static str, Vec<Kind>, Kind, &'static str);

/// The type that an aggregate of JSON gives.
fn json_of(name: &str) -> SqlType {
    match name.starts_with("jsonb") {
        true => SqlType::Jsonb,
        false => SqlType::Json,
    }
}

/// Aggregates, an entry for each type of argument that they take.
fn aggregates() -> impl Iterator<Item = Described> {
    AGGREGATES.into_iter().flat_map(|(name, kind, about)| {
        let taken: Vec<(Vec<Kind>, Kind)> = match kind {
            AggregateKind::Count => {
                let result = Kind::Of(SqlType::Int8);
                vec![(Vec::new(), result), (vec![Kind::Any], result)]
            }
            AggregateKind::Array => vec![(vec![Kind::Element], Kind::Array)],
            AggregateKind::JsonArray => vec![(vec![Kind::Any], Kind::Of(json_of(name)))],
            AggregateKind::JsonObject => {
                vec![(vec![Kind::Any, Kind::Any], Kind::Of(json_of(name)))]
            }
            AggregateKind::Texts => {
                let of = |kind| (vec![Kind::Of(kind); 2], Kind::Of(kind));
                vec![of(Text), of(SqlType::Bytea)]
            }
            AggregateKind::Pair(pair) => {
                let float = Kind::Of(SqlType::Float8);
                vec![(vec![float, float], Kind::Of(pair.result()))]
            }
            _ => of_types(Named { name, kind }).collect(),
        };
        let described = taken.into_iter();
        described.map(move |(arguments, result)| (name, "a", arguments, result, about))
    })
}

/// The types that an aggregate takes, with its results.
fn of_types(named: Named) -> impl Iterator<Item = (Vec<Kind>, Kind)> {
    let is_own = |kind: &SqlType| {
        kind.is_storable()
            && kind.category() != 'X'
            && !kind.is_object()
            && !matches!(kind, Name | OneChar)
    };
    SqlType::all().filter(is_own).filter_map(move |argument| {
        let typed = Typed::new(Expr::Literal(Value::Null), argument);
        let made = Aggregate::new(named, Some(typed), false, None).ok()?;
        Some((vec![Kind::Of(argument)], Kind::Of(made.result)))
    })
}

/// Window functions, an entry for each number of arguments.
fn windows() -> impl Iterator<Item = Described> {
    WINDOW_FUNCTIONS.iter().flat_map(|of| {
        let counts = of.least..=of.arguments.len();
        counts.map(|count| {
            let arguments = of.arguments[..count].to_vec();
            (of.name, "w", arguments, of.result, of.about)
        })
    })
}

/// The line for people of the function with a number.
pub(super) fn about(number: u32) -> Option<&'static str> {
    let mut rows = rows().into_iter();
    rows.find(|row| row.oid == number).map(|row| row.about)
}
