//! Arguments that a call gives by name: `make_date(2020, day => 5, month => 3)`.

use super::compile::Compiler;
use super::{Expr, Typed};
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::types::SqlType;
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, FunctionArg, FunctionArgExpr};

/// The functions whose arguments have names in PostgreSQL 15: the names in their order, and the number of those without
/// a default. An argument that is left out before a given one is zero.
const NAMED: &[(&str, &[&str], usize)] = &[
    ("json_array_element", &["from_json", "element_index"], 2),
    (
        "json_array_element_text",
        &["from_json", "element_index"],
        2,
    ),
    ("json_array_elements", &["from_json"], 1),
    ("json_array_elements_text", &["from_json"], 1),
    ("json_object_field", &["from_json", "field_name"], 2),
    ("json_object_field_text", &["from_json", "field_name"], 2),
    ("jsonb_array_element", &["from_json", "element_index"], 2),
    (
        "jsonb_array_element_text",
        &["from_json", "element_index"],
        2,
    ),
    ("jsonb_array_elements", &["from_json"], 1),
    ("jsonb_array_elements_text", &["from_json"], 1),
    (
        "jsonb_insert",
        &["jsonb_in", "path", "replacement", "insert_after"],
        3,
    ),
    ("jsonb_object_field", &["from_json", "field_name"], 2),
    ("jsonb_object_field_text", &["from_json", "field_name"], 2),
    (
        "jsonb_set",
        &["jsonb_in", "path", "replacement", "create_if_missing"],
        3,
    ),
    ("make_date", &["year", "month", "day"], 3),
    (
        "make_interval",
        &["years", "months", "weeks", "days", "hours", "mins", "secs"],
        0,
    ),
    ("make_time", &["hour", "min", "sec"], 3),
    (
        "make_timestamp",
        &["year", "month", "mday", "hour", "min", "sec"],
        6,
    ),
    (
        "make_timestamptz",
        &["year", "month", "mday", "hour", "min", "sec", "timezone"],
        6,
    ),
    ("pg_partition_ancestors", &["partitionid"], 1),
    ("parse_ident", &["str", "strict"], 1),
];

/// True if a call gives an argument by name.
pub(super) fn has_names(given: &[FunctionArg]) -> bool {
    given
        .iter()
        .any(|argument| part(argument).is_some_and(|(name, _)| name.is_some()))
}

/// The name of an argument, if it has one, and its value.
pub(super) fn part(argument: &FunctionArg) -> Option<(Option<String>, &Tree)> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => Some((None, tree)),
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(tree),
            ..
        }
        | FunctionArg::ExprNamed {
            name: Tree::Identifier(name),
            arg: FunctionArgExpr::Expr(tree),
            ..
        } => Some((Some(name_of(name)), tree)),
        _ => None,
    }
}

impl Compiler<'_> {
    /// The arguments of a call in the order of the function's.
    ///
    /// # Errors
    /// `42601` for a name that is given twice, or before an argument without one; `42883` for an unknown name, and for
    /// an argument that is missing or given twice; the arguments' errors.
    pub(super) fn in_order(
        &mut self,
        function: &str,
        given: &[FunctionArg],
    ) -> Result<Vec<Typed>, SqlError> {
        let mut arguments: Vec<(Option<String>, Typed)> = Vec::with_capacity(given.len());
        for argument in given {
            let Some((name, tree)) = part(argument) else {
                return Err(SqlError::unsupported(format!(
                    "the argument {argument} of {function} is not supported"
                )));
            };
            let is_behind = arguments.last().is_some_and(|(before, _)| before.is_some());
            match &name {
                None if is_behind => {
                    return Err(SqlError::syntax(
                        "positional argument cannot follow named argument",
                    ));
                }
                Some(own) if arguments.iter().any(|(there, _)| *there == name) => {
                    return Err(SqlError::syntax(format!(
                        "argument name \"{own}\" used more than once"
                    )));
                }
                _ => {}
            }
            let typed = self.compile(tree)?;
            arguments.push((name, typed));
        }
        placed(function, &arguments).ok_or_else(|| unknown(function, &arguments))
    }
}

/// The arguments at their places; `None` if the function has not these.
fn placed(function: &str, arguments: &[(Option<String>, Typed)]) -> Option<Vec<Typed>> {
    let (_, names, needed) = NAMED.iter().find(|(name, ..)| *name == function)?;
    let mut places: Vec<Option<Typed>> = vec![None; names.len()];
    for (at, (name, typed)) in arguments.iter().enumerate() {
        let at = match name {
            Some(name) => names.iter().position(|known| known == name)?,
            None => at,
        };
        if places.get_mut(at)?.replace(typed.clone()).is_some() {
            return None;
        }
    }
    let end = places.iter().rposition(Option::is_some)? + 1;
    let zero = || Typed::new(Expr::Literal(Value::Int(0)), SqlType::Int4);
    places.truncate(end.max(*needed));
    let places = places.into_iter().enumerate();
    places
        .map(|(at, place)| place.or_else(|| (at >= *needed).then(zero)))
        .collect()
}

/// The error of a function that has not these arguments.
#[cold]
fn unknown(function: &str, arguments: &[(Option<String>, Typed)]) -> SqlError {
    let types = arguments.iter().map(|(name, typed)| match name {
        Some(name) => format!("{name} => {}", typed.kind().name()),
        None => typed.kind().name().to_string(),
    });
    let types: Vec<String> = types.collect();
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!("function {function}({}) does not exist", types.join(", ")),
    )
    .hint(
        "No function matches the given name and argument types. You might need to add explicit type casts.",
    )
}
