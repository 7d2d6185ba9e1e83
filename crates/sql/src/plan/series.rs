//! Functions in `FROM`, compiled and run: set-returning functions, side by side if `unnest` has several arrays,
//! numbered by `WITH ORDINALITY`. Scalar functions return one row.

use super::draft::{FromNode, FromTable, Planned};
use super::planning::Planning;
use super::routine::{Routine, columns_of};
use super::scopes::{placed, scope_of_columns, together};
use super::tree::{Series, SeriesOf};
use crate::error::{SqlError, code};
use crate::expression::functions::{ORDINALS, no_step};
use crate::expression::{EXPANDED, Environment, Expr, Scope, is_known};
use crate::keywords;
use crate::memory::outside;
use crate::names::{name_of, qualified};
use crate::routines::Returns;
use crate::rows::{EachRow, InputRow, Values};
use crate::types::{CompositeType, SqlType, TypeSpec};
use crate::values::composites;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{
    Expr as Tree, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectName, TableAlias,
};

/// The name of the column that `WITH ORDINALITY` adds.
const ORDINALITY: &str = "ordinality";

/// Compiles a function in `FROM`.
///
/// # Errors
/// `0A000` for a function with side effects; invalid SQL in the arguments.
pub(crate) fn function(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    name: &ObjectName,
    arguments: &[FunctionArg],
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    let plain = qualified(name)?.1;
    let (of, spec) = one(planning, around, name, arguments)?;
    check_no_types(planning, alias)?;
    let of = of.apart(spec.kind);
    if let SeriesOf::Rows(_, kind) = of {
        let series = Series {
            name: plain,
            of: vec![of],
            is_numbered,
        };
        return series_node(series, columns_of_type(kind).collect(), alias, start);
    }
    let own = column_of(&plain).filter(|_| !planning.parameters.has_older_names());
    let named = match own {
        Some(column) => column.to_string(),
        None => alias.map_or(plain.clone(), |alias| name_of(&alias.name)),
    };
    let series = Series {
        name: plain,
        of: vec![of],
        is_numbered,
    };
    let (node, mut scope) = series_node(series, vec![(named, spec)], alias, start)?;
    for of in &mut scope.tables {
        of.is_scalar = of.columns.len() == 1;
    }
    Ok((node, scope))
}

/// True if a kept text may have the names that columns of functions had in an earlier version, and an error says so: an
/// unknown column, or one of two. Then it is planned once more with those names.
pub(crate) fn may_have_older_names(text: &str, error: &SqlError) -> bool {
    let is_of_names = [code::UNKNOWN_COLUMN, code::AMBIGUOUS_COLUMN].contains(&error.code);
    is_of_names && text.to_lowercase().contains("_array_elements")
}

/// The name of a function's column, whatever the function is called in `FROM`, if it has one of its own.
fn column_of(function: &str) -> Option<&'static str> {
    let elements = [
        "json_array_elements",
        "json_array_elements_text",
        "jsonb_array_elements",
        "jsonb_array_elements_text",
    ];
    elements.contains(&function).then_some("value")
}

/// Compiles `unnest` of arrays, side by side.
///
/// # Errors
/// `42883` if an argument is not an array; invalid SQL in the arguments.
pub(crate) fn unnest(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    arrays: &[Tree],
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    let name = ObjectName::from(vec![Ident::new("unnest")]);
    let argument = |array: &Tree| FunctionArg::Unnamed(FunctionArgExpr::Expr(array.clone()));
    if let [array] = arrays {
        let arguments = [argument(array)];
        return function(
            planning,
            around,
            &name,
            &arguments,
            (alias, is_numbered),
            start,
        );
    }
    let mut series = Series {
        name: "unnest".to_string(),
        of: Vec::with_capacity(arrays.len()),
        is_numbered,
    };
    let mut columns = Vec::with_capacity(arrays.len());
    for array in arrays {
        let (of, spec) = one(planning, around, &name, &[argument(array)])?;
        let of = of.apart(spec.kind);
        match of {
            SeriesOf::Rows(_, kind) => columns.extend(columns_of_type(kind)),
            _ => columns.push((series.name.clone(), spec)),
        }
        series.of.push(of);
    }
    check_no_types(planning, alias)?;
    series_node(series, columns, alias, start)
}

/// The columns of the rows of a composite type.
fn columns_of_type(kind: CompositeType) -> impl Iterator<Item = (String, TypeSpec)> {
    let fields = kind.fields().iter();
    fields.map(|field| (field.name.clone(), field.spec))
}

/// Checks that columns of a function have no types behind their names. Earlier versions passed over these.
///
/// # Errors
/// `42601` for types.
fn check_no_types(planning: &Planning<'_>, alias: Option<&TableAlias>) -> Result<(), SqlError> {
    let mut columns = alias.into_iter().flat_map(|alias| &alias.columns);
    match columns.any(|column| column.data_type.is_some()) && !planning.parameters.is_kept() {
        true => Err(SqlError::syntax(
            "a column definition list is only allowed for functions returning \"record\"",
        )),
        false => Ok(()),
    }
}

fn call_of(name: &ObjectName, arguments: &[FunctionArg]) -> Tree {
    Tree::Function(Function {
        name: name.clone(),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.to_vec(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `_pg_expandarray` in `FROM`: the elements `x` of an array, with their numbers `n`.
///
/// # Errors
/// Invalid SQL in the argument; `0A000` for a volatile one.
pub(super) fn expanded_array(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    (name, arguments): (&ObjectName, &[FunctionArg]),
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    check_no_types(planning, alias)?;
    let visible = together(around);
    let typed = planning
        .compiler(&visible)
        .whole(&call_of(name, arguments))?;
    let numbers = match &typed.expr {
        Expr::Call(_, parts) if !typed.expr.is_volatile() => {
            Expr::Call(crate::expression::Function(&ORDINALS), parts.clone())
        }
        _ => {
            return Err(SqlError::unsupported(
                "a volatile array is not supported in FROM",
            ));
        }
    };
    let element = TypeSpec::plain(typed.spec.kind);
    let series = Series {
        name: EXPANDED.to_string(),
        of: vec![
            SeriesOf::of(typed.expr, element.kind),
            SeriesOf::of(numbers, SqlType::Int4),
        ],
        is_numbered,
    };
    let number = TypeSpec::plain(SqlType::Int4);
    let columns = [("x", element), ("n", number)];
    let columns = columns.map(|(name, spec)| (name.to_string(), spec));
    series_node(series, columns.to_vec(), alias, start)
}

/// A call of a function in `FROM`, and the type of its column.
fn one(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    name: &ObjectName,
    arguments: &[FunctionArg],
) -> Result<(SeriesOf, TypeSpec), SqlError> {
    let visible = together(around);
    let typed = planning
        .compiler(&visible)
        .whole(&call_of(name, arguments))?;
    let spec = typed.spec;
    let unsupported = || {
        let name = qualified(name).map_or_else(|_| name.to_string(), |(_, name)| name);
        SqlError::unsupported(format!("the function {name} is not supported in FROM"))
    };
    // Side effects would occur as often as the rows are read.
    if typed.expr.is_volatile() {
        return Err(unsupported());
    }
    if matches!(&typed.expr, Expr::Call(function, _) if function.is(EXPANDED)) {
        return Err(unsupported());
    }
    let of = SeriesOf::of(typed.expr, spec.kind);
    Ok((of, spec))
}

/// `pg_partition_ancestors`: always empty, since there are no partitions.
pub(crate) fn no_ancestors(
    alias: Option<&TableAlias>,
    with_ordinality: bool,
    start: usize,
) -> Result<Planned, SqlError> {
    let mut columns = vec![("relid".to_string(), TypeSpec::plain(SqlType::Regclass))];
    if with_ordinality {
        columns.push((ORDINALITY.to_string(), TypeSpec::plain(SqlType::Int8)));
    }
    let name = alias.map_or("pg_partition_ancestors".into(), |alias| {
        name_of(&alias.name)
    });
    let of = scope_of_columns(&name, columns);
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Rows(Vec::new()), places);
    Ok((node, placed(of, alias, start)?))
}

/// `pg_get_keywords`: the words of PostgreSQL's grammar.
///
/// # Errors
/// As [`placed`].
pub(crate) fn keywords(alias: Option<&TableAlias>, start: usize) -> Result<Planned, SqlError> {
    let text = |text: &str| Expr::Literal(Value::Text(text.to_string()));
    let rows = keywords::all().iter().map(|keyword| {
        let label = match keyword.is_label {
            true => "can be bare label",
            false => "requires AS",
        };
        vec![
            text(keyword.word),
            text(keyword.kind),
            Expr::Literal(Value::Bool(keyword.is_label)),
            text(keyword.description()),
            text(label),
        ]
    });
    let columns = [
        ("word", SqlType::Text),
        ("catcode", SqlType::OneChar),
        ("barelabel", SqlType::Bool),
        ("catdesc", SqlType::Text),
        ("baredesc", SqlType::Text),
    ];
    let columns = columns.map(|(name, kind)| (name.to_string(), TypeSpec::plain(kind)));
    let name = alias.map_or("pg_get_keywords".into(), |alias| name_of(&alias.name));
    let of = scope_of_columns(&name, columns.to_vec());
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Rows(rows.collect()), places);
    Ok((node, placed(of, alias, start)?))
}

/// The node of a function in `FROM`, and the scope of its columns.
///
/// # Errors
/// As [`placed`].
pub(super) fn series_node(
    series: Series,
    mut columns: Vec<(String, TypeSpec)>,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    if series.is_numbered {
        columns.push((ORDINALITY.to_string(), TypeSpec::plain(SqlType::Int8)));
    }
    let table = alias.map_or_else(|| series.name.clone(), |alias| name_of(&alias.name));
    let of = scope_of_columns(&table, columns);
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Series(series), places);
    Ok((node, placed(of, alias, start)?))
}

impl Series {
    /// The expressions over the rows before it.
    pub fn parts(&self) -> Vec<&Expr> {
        let parts = self.of.iter().flat_map(|of| match of {
            SeriesOf::Numbers { from, to, step } => vec![from, to, step],
            SeriesOf::Elements(expr, _) | SeriesOf::Rows(expr, _) | SeriesOf::Value(expr) => {
                vec![expr]
            }
            SeriesOf::Routine(call) => call.arguments.iter().collect(),
        });
        parts.collect()
    }

    /// Calls `each` with the rows; `before` is the row of the items before it in `FROM`.
    ///
    /// # Errors
    /// Errors of `each`; evaluation errors.
    pub fn walk(
        &self,
        before: &dyn InputRow,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut sides = Vec::with_capacity(self.of.len());
        for of in &self.of {
            sides.push(of.columns(before, with)?);
        }
        let mut row = Vec::with_capacity(self.of.len() + 1);
        for number in 1.. {
            row.clear();
            let mut is_row = false;
            for side in &mut sides {
                is_row |= side.push_next(&mut row)?;
            }
            if self.is_numbered {
                row.push(Value::Int(number));
            }
            if !is_row || !each(&Values(&row))? {
                break;
            }
        }
        Ok(())
    }
}

/// Compiles a function of a user in `FROM`; `None` if there is none of the name.
///
/// # Errors
/// The errors of the call.
pub(super) fn routine_rows(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    (name, arguments): (&ObjectName, &[FunctionArg]),
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Option<Planned>, SqlError> {
    let (schema, plain) = qualified(name)?;
    if matches!(schema.as_deref(), Some("pg_catalog" | "information_schema"))
        || schema.is_none() && is_known(&plain)
    {
        return Ok(None);
    }
    let visible = together(around);
    let mut compiler = planning.compiler(&visible);
    let call = compiler.routine_call(schema.as_deref(), &plain, arguments)?;
    let Some((call, definition, _)) = call else {
        return Ok(None);
    };
    let mut columns = columns_of(&definition, planning.source)?;
    let is_scalar = matches!(
        definition.returns,
        Returns::Void | Returns::Value(_) | Returns::Rows(_)
    );
    let has_name = definition.outs.iter().any(|out| !out.name.is_empty());
    if let (true, Some(alias), [(column, _)]) = (is_scalar && !has_name, alias, &mut columns[..]) {
        *column = name_of(&alias.name);
    }
    let series = Series {
        name: plain,
        of: vec![SeriesOf::Routine(Box::new(call))],
        is_numbered,
    };
    let (node, mut scope) = series_node(series, columns, alias, start)?;
    for of in &mut scope.tables {
        of.is_scalar = is_scalar && of.columns.len() == 1;
    }
    Ok(Some((node, scope)))
}

/// The columns of a function in `FROM`, row by row. Beside longer functions it goes on with nulls.
enum Columns {
    One(Given),
    /// The fields of rows of a type.
    Fields(CompositeType, Given),
    /// The rows of a function, of so many values each.
    Rows(std::vec::IntoIter<Value>, usize),
}

impl Columns {
    /// Appends the values of the next row; true if there is one.
    ///
    /// # Errors
    /// `22P02` for a row that is none of its type.
    fn push_next(&mut self, row: &mut Vec<Value>) -> Result<bool, SqlError> {
        match self {
            Columns::One(values) => {
                let value = values.next();
                let is_row = value.is_some();
                row.push(value.unwrap_or(Value::Null));
                Ok(is_row)
            }
            Columns::Fields(of, rows) => {
                let next = rows.next();
                match &next {
                    Some(Value::Text(text)) => row.extend(composites::values(*of, text)?),
                    _ => row.extend(of.fields().iter().map(|_| Value::Null)),
                }
                Ok(next.is_some())
            }
            Columns::Rows(values, width) => {
                let is_row = values.len() > 0;
                let end = row.len() + *width;
                row.extend(values.take(*width));
                row.resize(end, Value::Null);
                Ok(is_row)
            }
        }
    }
}

/// The values of a function, one after the other.
pub(crate) enum Given {
    Numbers { now: i128, to: i128, step: i128 },
    Values(std::vec::IntoIter<Value>),
}

impl SeriesOf {
    /// The values of a call: those of a set-returning function one by one.
    pub fn of(expr: Expr, kind: SqlType) -> SeriesOf {
        match expr {
            Expr::Call(function, arguments)
                if function.is("generate_series") && kind.is_integer() =>
            {
                let mut arguments = arguments.into_iter();
                let mut next = || arguments.next().unwrap_or(Expr::Literal(Value::Int(1)));
                SeriesOf::Numbers {
                    from: next(),
                    to: next(),
                    step: next(),
                }
            }
            Expr::Call(function, arguments) if function.gives_rows() => {
                SeriesOf::Elements(Expr::Call(function, arguments), kind)
            }
            Expr::Subquery(call) if call.query.gives_rows() => SeriesOf::Routine(call),
            expr => SeriesOf::Value(expr),
        }
    }

    /// The same in `FROM`, where the fields of an array's rows are columns.
    fn apart(self, kind: SqlType) -> SeriesOf {
        match (self, kind) {
            (SeriesOf::Elements(array, SqlType::Composite(_)), SqlType::Composite(kind)) => {
                SeriesOf::Rows(array, kind)
            }
            (of, _) => of,
        }
    }

    /// The columns for a row of the items before it in `FROM`.
    ///
    /// # Errors
    /// Evaluation errors.
    fn columns(&self, before: &dyn InputRow, with: &Environment<'_>) -> Result<Columns, SqlError> {
        match self {
            SeriesOf::Rows(_, of) => Ok(Columns::Fields(*of, self.values(before, with)?)),
            SeriesOf::Routine(call) if let Some(routine) = Routine::of(call) => {
                let rows = routine.rows_from(call, before, with)?;
                Ok(Columns::Rows(rows.values.into_iter(), routine.width()))
            }
            _ => Ok(Columns::One(self.values(before, with)?)),
        }
    }

    /// The values for a row.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn values(&self, before: &dyn InputRow, with: &Environment<'_>) -> Result<Given, SqlError> {
        let of_values = |values: Vec<Value>| Ok(Given::Values(values.into_iter()));
        let (from, to, step) = match self {
            SeriesOf::Numbers { from, to, step } => (from, to, step),
            SeriesOf::Rows(array, of) => {
                let array = array.evaluate(before, with)?.into_value();
                let Value::Text(array) = array else {
                    return of_values(Vec::new());
                };
                let kind = SqlType::Composite(*of);
                return of_values(crate::values::arrays::values(&array, kind)?);
            }
            SeriesOf::Elements(array, kind) => {
                let array = array.evaluate(before, with)?.into_value();
                let Value::Text(array) = array else {
                    return of_values(Vec::new());
                };
                return of_values(crate::values::arrays::values(&array, *kind)?);
            }
            SeriesOf::Value(expr) => {
                return of_values(vec![expr.evaluate(before, with)?.into_value()]);
            }
            SeriesOf::Routine(call) => match Routine::of(call) {
                Some(routine) => return of_values(routine.values(call, before, with)?),
                None => return of_values(vec![call.value(before, with)?]),
            },
        };
        let whole = |expr: &Expr| {
            Ok::<_, SqlError>(match expr.evaluate(before, with)?.as_ref() {
                ValueRef::Int(value) => Some(value),
                _ => None,
            })
        };
        let (Some(now), Some(to), Some(step)) = (whole(from)?, whole(to)?, whole(step)?) else {
            return of_values(Vec::new());
        };
        match step {
            0 => Err(no_step()),
            _ => Ok(Given::Numbers { now, to, step }),
        }
    }
}

impl Given {
    /// About how many bytes the values take that are not given yet.
    pub fn bytes(&self) -> usize {
        match self {
            Given::Numbers { .. } => 0,
            Given::Values(values) => {
                let values = values.as_slice();
                size_of_val(values) + values.iter().map(outside).sum::<usize>()
            }
        }
    }
}

impl Iterator for Given {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        match self {
            Given::Numbers { now, to, step } => {
                let is_there = (*step > 0 && now <= to) || (*step < 0 && now >= to);
                let value = Value::Int(*now);
                *now += *step;
                is_there.then_some(value)
            }
            Given::Values(values) => values.next(),
        }
    }
}
