//! Functions in `FROM` that give rows of one value each, compiled and run: `generate_series`, `unnest`,
//! `pg_listening_channels`.

use super::draft::{FromNode, FromTable, Planned};
use super::planning::Planning;
use super::scopes::{placed, scope_of_columns, together};
use super::tree::Series;
use crate::error::{SqlError, code};
use crate::expression::functions::first_named;
use crate::expression::{Environment, Expr, Scope, Typed};
use crate::names::{name_of, qualified};
use crate::rows::EachRow;
use crate::rows::each_of;
use crate::rows::{InputRow, Values};
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::Coercion;
use sardonyx::schema::{Value, ValueRef};
use sqlparser::ast::{self, Expr as Tree, FunctionArg, FunctionArgExpr, TableAlias};

impl Series {
    /// The expressions over the rows before it.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Series::Numbers { from, to, step } => vec![from, to, step],
            Series::Elements(array, _) => vec![array],
        }
    }
}

/// `generate_series`, `unnest` and `pg_listening_channels`, the only functions that give rows.
///
/// # Errors
/// `0A000` for another one; what is wrong with the arguments.
pub(crate) fn function(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    name: &ast::ObjectName,
    arguments: &[FunctionArg],
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let (_, plain) = qualified(name)?;
    if let ("unnest", [FunctionArg::Unnamed(FunctionArgExpr::Expr(tree))]) = (&*plain, arguments) {
        return unnest(planning, around, tree, alias, start);
    }
    if let ("pg_listening_channels", []) = (&*plain, arguments)
        && let Some(function) = first_named(&plain)
    {
        let channels = Series::Elements(Expr::Call(function, Vec::new()), SqlType::Text);
        let table = alias.map_or(plain, |alias| name_of(&alias.name));
        return series_node(channels, SqlType::Text, table, alias, start);
    }
    if plain != "generate_series" || !(2..=3).contains(&arguments.len()) {
        return Err(SqlError::unsupported(format!(
            "the function {plain} is not supported in FROM"
        )));
    }
    let visible = together(around);
    let mut compiler = planning.compiler(&visible);
    let mut compiled = Vec::with_capacity(3);
    for argument in arguments {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
            return Err(SqlError::unsupported(format!(
                "the argument {argument} is not supported"
            )));
        };
        compiled.push(compiler.compile(tree)?);
    }
    let is_wide = |typed: &Typed| typed.kind() == SqlType::Int8;
    let kind = match compiled.iter().any(is_wide) {
        true => SqlType::Int8,
        false => SqlType::Int4,
    };
    let mut parts = Vec::with_capacity(3);
    for typed in compiled {
        if !typed.kind().is_integer() && typed.kind() != SqlType::Unknown {
            return Err(SqlError::unsupported(format!(
                "generate_series of {} is not supported: of whole numbers only",
                typed.kind().name()
            )));
        }
        parts.push(compiler.coerce(typed, TypeSpec::plain(kind), Coercion::Implicit)?);
    }
    let mut parts = parts.into_iter();
    let one = || Expr::Literal(Value::Int(1));
    let mut next = || parts.next().unwrap_or_else(one);
    let series = Series::Numbers {
        from: next(),
        to: next(),
        step: next(),
    };
    let table = alias.map_or(plain, |alias| name_of(&alias.name));
    series_node(series, kind, table, alias, start)
}

/// `pg_partition_ancestors`: no table has any.
pub(crate) fn no_ancestors(
    alias: Option<&TableAlias>,
    with_ordinality: bool,
    start: usize,
) -> Result<Planned, SqlError> {
    let mut columns = vec![("relid".to_string(), TypeSpec::plain(SqlType::Regclass))];
    if with_ordinality {
        columns.push(("ordinality".to_string(), TypeSpec::plain(SqlType::Int8)));
    }
    let name = alias.map_or("pg_partition_ancestors".into(), |alias| {
        name_of(&alias.name)
    });
    let of = scope_of_columns(&name, columns);
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Rows(Vec::new()), places);
    Ok((node, placed(of, alias, start)?))
}

/// `pg_get_keywords`: the words of the language, as the parser has them. Other languages' words are among them.
///
/// # Errors
/// None that is known.
pub(crate) fn keywords(alias: Option<&TableAlias>, start: usize) -> Result<Planned, SqlError> {
    use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS};
    let text = |text: &str| Expr::Literal(Value::Text(text.to_string()));
    let words = ALL_KEYWORDS.iter().zip(ALL_KEYWORDS_INDEX);
    let rows = words.map(|(word, keyword)| {
        let (code, description) = match RESERVED_FOR_COLUMN_ALIAS.contains(keyword) {
            true => ("R", "reserved"),
            false => ("U", "unreserved"),
        };
        vec![text(&word.to_lowercase()), text(code), text(description)]
    });
    let columns = [
        ("word", SqlType::Text),
        ("catcode", SqlType::OneChar),
        ("catdesc", SqlType::Text),
    ];
    let columns = columns.map(|(name, kind)| (name.to_string(), TypeSpec::plain(kind)));
    let name = alias.map_or("pg_get_keywords".into(), |alias| name_of(&alias.name));
    let of = scope_of_columns(&name, columns.to_vec());
    let places = start..start + of.columns.len();
    let node = FromNode::Leaf(FromTable::Rows(rows.collect()), places);
    Ok((node, placed(of, alias, start)?))
}

/// The elements of one array, as rows.
///
/// # Errors
/// `42883` if it is no array; what is wrong with it.
pub(crate) fn unnest(
    planning: &mut Planning<'_>,
    around: &[&Scope],
    tree: &Tree,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    let visible = together(around);
    let array = planning.compiler(&visible).compile(tree)?;
    let Some(element) = array.kind().element() else {
        return Err(SqlError::new(
            code::UNKNOWN_FUNCTION,
            format!("function unnest({}) does not exist", array.kind().name()),
        ));
    };
    let table = alias.map_or_else(|| "unnest".to_string(), |alias| name_of(&alias.name));
    let series = Series::Elements(array.expr, element);
    series_node(series, element, table, alias, start)
}

fn series_node(
    series: Series,
    kind: SqlType,
    table: String,
    alias: Option<&TableAlias>,
    start: usize,
) -> Result<Planned, SqlError> {
    // The column of a function has its table's name.
    let of = scope_of_columns(&table, vec![(table.clone(), TypeSpec::plain(kind))]);
    let node = FromNode::Leaf(FromTable::Series(series), start..start + 1);
    Ok((node, placed(of, alias, start)?))
}

impl Series {
    /// Calls `each` with the rows; `before` is the row of what stands before it in `FROM`.
    ///
    /// # Errors
    /// What `each` returns; what cannot be computed.
    pub fn walk(
        &self,
        before: &dyn InputRow,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let (from, to, step) = match self {
            Series::Numbers { from, to, step } => (from, to, step),
            Series::Elements(array, kind) => {
                let array = array.evaluate(before, with)?.into_value();
                let Value::Text(array) = array else {
                    return Ok(());
                };
                let values = crate::values::arrays::values(&array, *kind)?;
                return each_of(values.chunks(1), each);
            }
        };
        let whole = |expr: &Expr| {
            Ok::<_, SqlError>(match expr.evaluate(before, with)?.as_ref() {
                ValueRef::Int(value) => Some(value),
                _ => None,
            })
        };
        let (Some(from), Some(to), Some(step)) = (whole(from)?, whole(to)?, whole(step)?) else {
            return Ok(());
        };
        if step == 0 {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "step size cannot equal zero",
            ));
        }
        let mut now = from;
        while (step > 0 && now <= to) || (step < 0 && now >= to) {
            if !each(&Values(&[Value::Int(now)]))? {
                break;
            }
            now += step;
        }
        Ok(())
    }
}
