//! Calls of functions in `FROM`, and `ROWS FROM (f(…), g(…))`: the rows of several functions, side by side.

use super::draft::{FromNode, FromTable, Planned};
use super::json_rows::{json_rows, takes_json_apart};
use super::planning::Planning;
use super::series::{expanded_array, function, routine_rows, series_node, unnest};
use super::tree::Series;
use crate::error::SqlError;
use crate::expression::{EXPANDED, Scope};
use crate::names::qualified;
use crate::parse::ROWS_FROM;
use crate::types::TypeSpec;
use sqlparser::ast::{
    Expr as Tree, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, TableAlias,
};

/// Compiles a call of a function, or `ROWS FROM`.
///
/// # Errors
/// The functions' errors.
pub(super) fn called(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    (name, arguments): (&ObjectName, &[FunctionArg]),
    alias: (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    let plain = qualified(name)?.1;
    if plain == ROWS_FROM {
        return rows_from(planning, around, arguments, alias, start);
    }
    let call = (name, arguments);
    if let Some(planned) = routine_rows(planning, around, call, alias, start)? {
        return Ok(planned);
    }
    if plain == EXPANDED {
        return expanded_array(planning, around, call, alias, start);
    }
    match takes_json_apart(&plain) {
        true => json_rows(planning, around, (&plain, arguments), alias, start),
        false => function(planning, around, name, arguments, alias, start),
    }
}

/// Compiles the functions that are the arguments of `ROWS FROM`.
///
/// # Errors
/// `42601` for what is no function; those of the functions.
fn rows_from(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    functions: &[FunctionArg],
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    if let [one] = functions {
        return of_function(planning, around, one, (alias, is_numbered), start);
    }
    let mut all = Series {
        name: String::new(),
        of: Vec::with_capacity(functions.len()),
        is_numbered,
    };
    let mut columns: Vec<(String, TypeSpec)> = Vec::new();
    for function in functions {
        let (node, scope) = of_function(planning, around, function, (None, false), 0)?;
        let FromNode::Leaf(FromTable::Series(series), _) = node else {
            return Err(SqlError::unsupported(format!(
                "{function} is not supported in ROWS FROM"
            )));
        };
        if all.name.is_empty() {
            all.name = series.name;
        }
        all.of.extend(series.of);
        let found = scope.tables.into_iter().flat_map(|table| table.columns);
        columns.extend(found.map(|column| (column.name, column.spec)));
    }
    series_node(all, columns, alias, start)
}

fn of_function(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    function: &FunctionArg,
    alias: (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Tree::Function(Function {
        name,
        args: FunctionArguments::List(list),
        filter: None,
        over: None,
        ..
    }))) = function
    else {
        return Err(SqlError::syntax(format!("{function} is no function")));
    };
    if qualified(name)?.1 == "unnest" {
        let arrays = list.args.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Ok(array.clone()),
            other => Err(SqlError::syntax(format!("{other} is no array"))),
        });
        let arrays = arrays.collect::<Result<Vec<Tree>, SqlError>>()?;
        return unnest(planning, around, &arrays, alias, start);
    }
    called(planning, around, (name, &list.args), alias, start)
}
