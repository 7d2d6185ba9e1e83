//! Functions in `FROM` that take JSON apart into several columns: `json_each` and `json_to_recordset`, and the like;
//! `pg_options_to_table` does so with options.
//! Each column is a set-returning function of its own, and all run side by side over the one argument.

use super::draft::Planned;
use super::planning::Planning;
use super::scopes::together;
use super::series::series_node;
use super::tree::{Series, SeriesOf};
use crate::error::SqlError;
use crate::expression::functions::{
    EACH_NAME, EACH_TEXT, EACH_VALUE, OPTION_NAME, OPTION_VALUE, RECORD_COLUMN, element_number,
    unknown,
};
use crate::expression::{Expr, Function, Scope};
use crate::names::name_of;
use crate::types::{NamedTypes, SqlType, TypeSpec};
use crate::values::cast::Coercion;
use sardonyx::schema::Value;
use sqlparser::ast::{FunctionArg, FunctionArgExpr, TableAlias};

/// The function that takes an array of options apart: `name=value`.
const OPTIONS: &str = "pg_options_to_table";

/// The functions, with the type of their argument.
const FUNCTIONS: [(&str, SqlType); 9] = [
    ("json_each", SqlType::Json),
    ("json_each_text", SqlType::Json),
    ("json_to_record", SqlType::Json),
    ("json_to_recordset", SqlType::Json),
    ("jsonb_each", SqlType::Jsonb),
    ("jsonb_each_text", SqlType::Jsonb),
    ("jsonb_to_record", SqlType::Jsonb),
    ("jsonb_to_recordset", SqlType::Jsonb),
    (OPTIONS, SqlType::TextArray),
];

/// True for the name of such a function.
pub(crate) fn takes_json_apart(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// Compiles a call.
///
/// # Errors
/// `42883` for another argument than one of JSON; `42601` without a needed list of columns, or with a needless one;
/// `0A000` for a volatile argument and for columns of a domain.
pub(crate) fn json_rows(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    (name, arguments): (&str, &[FunctionArg]),
    (alias, is_numbered): (Option<&TableAlias>, bool),
    start: usize,
) -> Result<Planned, SqlError> {
    let visible = together(around);
    let mut compiler = planning.compiler(&visible);
    let mut typed = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
            return Err(SqlError::unsupported(format!(
                "the argument {argument} of {name} is not supported"
            )));
        };
        typed.push(compiler.compile(tree)?);
    }
    let kinds: Vec<SqlType> = typed.iter().map(|typed| typed.kind()).collect();
    let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
    let (Some((_, kind)), [given]) = (found, kinds.as_slice()) else {
        return Err(unknown(name, &kinds));
    };
    if ![*kind, SqlType::Unknown].contains(given) {
        return Err(unknown(name, &kinds));
    }
    let mut json = Expr::Literal(Value::Null);
    for typed in typed {
        json = compiler.coerce(typed, TypeSpec::plain(*kind), Coercion::Implicit)?;
    }
    // Each column computes it.
    if json.is_volatile() {
        let text = format!("a volatile argument of {name} is not supported in FROM");
        return Err(SqlError::unsupported(text));
    }
    let word = |text: &str| Expr::Literal(Value::Text(text.to_string()));
    let declared = alias.map_or(&[][..], |alias| &alias.columns);
    let has_types = declared.iter().any(|column| column.data_type.is_some());
    let mut series = Series {
        name: name.to_string(),
        of: Vec::new(),
        is_numbered,
    };
    let mut columns = Vec::new();
    if !name.contains("record") {
        if has_types {
            return Err(SqlError::syntax(
                "a column definition list is redundant for a function with OUT parameters",
            ));
        }
        let made = match name {
            OPTIONS => [
                ("option_name", &OPTION_NAME, SqlType::Text),
                ("option_value", &OPTION_VALUE, SqlType::Text),
            ],
            _ => {
                let (value, of) = match name.ends_with("text") {
                    true => (SqlType::Text, &EACH_TEXT),
                    false => (*kind, &EACH_VALUE),
                };
                [("key", &EACH_NAME, SqlType::Text), ("value", of, value)]
            }
        };
        for (column, of, kind) in made {
            let call = Expr::Call(Function(of), vec![json.clone(), word(name)]);
            series.of.push(SeriesOf::of(call, kind));
            columns.push((column.to_string(), TypeSpec::plain(kind)));
        }
        return series_node(series, columns, alias, start);
    }
    if declared.is_empty() || declared.iter().any(|column| column.data_type.is_none()) {
        return Err(SqlError::syntax(
            "a column definition list is required for functions returning \"record\"",
        ));
    }
    if is_numbered {
        return Err(SqlError::syntax(
            "WITH ORDINALITY cannot be used with a column definition list",
        ));
    }
    for column in declared {
        let Some(of) = &column.data_type else {
            continue;
        };
        let types = planning.parameters.types();
        if types.is_domain(of) {
            return Err(SqlError::unsupported(format!(
                "a column of the domain {of} is not supported for {name}"
            )));
        }
        let spec = TypeSpec::of_data_type(of, types)?;
        let parts = vec![
            json.clone(),
            word(name),
            word(&name_of(&column.name)),
            element_number(spec.kind),
            Expr::Literal(Value::Int(spec.modifier.into())),
        ];
        let call = Expr::Call(Function(&RECORD_COLUMN), parts);
        series.of.push(SeriesOf::of(call, spec.kind));
        columns.push((name_of(&column.name), spec));
    }
    series_node(series, columns, alias, start)
}
