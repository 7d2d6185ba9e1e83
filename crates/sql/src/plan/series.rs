//! Functions in `FROM`, compiled and run: set-returning functions, side by side if `unnest` has several arrays,
//! numbered by `WITH ORDINALITY`. Scalar functions return one row.

use super::draft::{FromNode, FromTable, Planned};
use super::planning::Planning;
use super::routine::{Routine, columns_of};
use super::scopes::{placed, scope_of_columns, together};
use super::tree::{Series, SeriesOf};
use crate::error::{SqlError, code};
use crate::expression::functions::{ORDINALS, no_step};
use crate::expression::{Environment, Expr, Scope, Subquery, is_known};
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
/// The function that gives elements with their numbers.
pub(super) const EXPANDED: &str = "_pg_expandarray";

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
    if let (SeriesOf::Elements(array, SqlType::Composite(_)), SqlType::Composite(kind)) =
        (&of, spec.kind)
    {
        let series = Series {
            name: plain,
            of: vec![SeriesOf::Rows(array.clone(), kind)],
            is_numbered,
        };
        let fields = kind.fields().iter();
        let columns = fields.map(|field| (field.name.clone(), field.spec));
        return series_node(series, columns.collect(), alias, start);
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
        series.of.push(of);
        columns.push((series.name.clone(), spec));
    }
    check_no_types(planning, alias)?;
    series_node(series, columns, alias, start)
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
        if let [SeriesOf::Routine(call)] = &self.of[..] {
            return self.rows_of_routine(call, before, with, each);
        }
        if let [SeriesOf::Rows(_, of)] = &self.of[..] {
            return self.fields_of_rows(*of, before, with, each);
        }
        let mut sides = Vec::with_capacity(self.of.len());
        for of in &self.of {
            sides.push(of.values(before, with)?);
        }
        let mut row = Vec::with_capacity(self.of.len() + 1);
        for number in 1.. {
            row.clear();
            let mut is_row = false;
            for side in &mut sides {
                let value = side.next();
                is_row |= value.is_some();
                row.push(value.unwrap_or(Value::Null));
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

impl Series {
    /// The rows of an array, with their fields as columns.
    fn fields_of_rows(
        &self,
        of: CompositeType,
        before: &dyn InputRow,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let Some(rows) = self.of.first() else {
            return Ok(());
        };
        let mut rows = rows.values(before, with)?;
        for number in 1.. {
            let Some(row) = rows.next() else {
                break;
            };
            let mut row = match row {
                Value::Text(text) => composites::values(of, &text)?,
                _ => vec![Value::Null; of.fields().len()],
            };
            if self.is_numbered {
                row.push(Value::Int(number));
            }
            if !each(&Values(&row))? {
                break;
            }
        }
        Ok(())
    }

    fn rows_of_routine(
        &self,
        call: &Subquery,
        before: &dyn InputRow,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let Some(routine) = Routine::of(call) else {
            return Ok(());
        };
        let table = routine.rows_from(call, before, with)?;
        let rows = table.values.chunks(table.width.max(1));
        for (number, row) in (1..).zip(rows) {
            let mut row = row.to_vec();
            if self.is_numbered {
                row.push(Value::Int(number));
            }
            if !each(&Values(&row))? {
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
