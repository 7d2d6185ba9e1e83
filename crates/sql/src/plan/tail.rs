//! The end of a query: `ORDER BY`, `LIMIT` and `OFFSET`, compiled.

use super::output::Item;
use crate::error::{SqlError, code};
use crate::expression::{Compiler, Expr, SortKey, distinguishable, sort_key, sortable};
use crate::names::name_of;
use crate::parse::count_with_ties;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::Coercion;
use sqlparser::ast::{self, Expr as Tree, LimitClause, LockClause, OrderByKind, Query, SelectItem};
use std::sync::LazyLock;

/// The clauses at the end of a query.
#[derive(Debug, Default)]
pub(crate) struct Tail<'q> {
    pub order: Vec<&'q ast::OrderByExpr>,
    pub limit: Option<&'q Tree>,
    pub offset: Option<&'q Tree>,
    /// `WITH TIES`: rows that are equal in order to the last one are returned, too.
    pub with_ties: bool,
    /// `FOR UPDATE` and its brothers.
    pub locks: &'q [LockClause],
}

impl<'q> Tail<'q> {
    /// The end of a query.
    ///
    /// # Errors
    /// `0A000` for a form that is not supported.
    pub fn of(query: &'q Query) -> Result<Tail<'q>, SqlError> {
        tail(query)
    }

    /// True if there are no such clauses.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
            && self.limit.is_none()
            && self.offset.is_none()
            && self.locks.is_empty()
    }
}

/// The row count of `FETCH FIRST ROW ONLY`, which is implicit.
static ONE: LazyLock<Tree> = LazyLock::new(|| Tree::value(ast::Value::Number("1".into(), false)));

fn tail(query: &Query) -> Result<Tail<'_>, SqlError> {
    crate::kept::query(query)?;
    let refused = |what| Err(SqlError::unsupported(format!("{what} is not supported")));
    let mut order = Vec::new();
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => {}
        Some(OrderByKind::Expressions(list)) => order.extend(list),
        Some(OrderByKind::All(_)) => return refused("ORDER BY ALL"),
    }
    let (mut limit, mut offset) = (None, None);
    match &query.limit_clause {
        None => {}
        Some(LimitClause::LimitOffset {
            limit: most,
            offset: skipped,
            limit_by,
        }) if limit_by.is_empty() => {
            limit = most.as_ref();
            offset = skipped.as_ref().map(|offset| &offset.value);
        }
        Some(_) => return refused("this form of LIMIT"),
    }
    let mut with_ties = false;
    if let Some(fetch) = &query.fetch {
        if fetch.percent {
            return refused("FETCH with PERCENT");
        }
        if limit.is_some() {
            return Err(SqlError::syntax("multiple LIMIT clauses not allowed"));
        }
        limit = Some(fetch.quantity.as_ref().unwrap_or(&ONE));
        with_ties = fetch.with_ties;
    }
    if let Some(count) = limit.and_then(count_with_ties) {
        (limit, with_ties) = (Some(count), true);
    }
    if with_ties && order.is_empty() {
        return Err(SqlError::syntax(
            "WITH TIES cannot be specified without ORDER BY clause",
        ));
    }
    Ok(Tail {
        order,
        with_ties,
        limit,
        offset,
        locks: &query.locks,
    })
}

/// Compiles `LIMIT` and `OFFSET`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn limits(
    compiler: &mut Compiler<'_>,
    tail: &Tail<'_>,
) -> Result<(Option<Expr>, Option<Expr>), SqlError> {
    let mut whole = |tree: Option<&Tree>, clause: &str| {
        let Some(tree) = tree else {
            return Ok(None);
        };
        let typed = compiler.compile(tree)?;
        if typed.expr.any(&|part| matches!(part, Expr::Column(_))) {
            return Err(SqlError::new(
                code::INVALID_COLUMN_REFERENCE,
                format!("argument of {clause} must not contain variables"),
            ));
        }
        let to = TypeSpec::plain(SqlType::Int8);
        let expr = compiler.coerce(typed, to, Coercion::Assignment)?;
        Ok::<_, SqlError>(Some(expr))
    };
    Ok((whole(tail.limit, "LIMIT")?, whole(tail.offset, "OFFSET")?))
}

/// Compiles an order of rows that have only the columns of the output: by name, by number, or by an expression of them. Set
/// operations have no expressions.
///
/// # Errors
/// Invalid SQL; `0A000` for an expression of set operations.
pub(crate) fn output_order(
    compiler: &mut Compiler<'_>,
    items: &[Item],
    order: &[&ast::OrderByExpr],
    is_of_sets: bool,
) -> Result<Vec<SortKey>, SqlError> {
    let mut keys = Vec::with_capacity(order.len());
    for by in order {
        let typed = match place_in_output(items, &by.expr, "ORDER BY")? {
            Some(place) => items[place].typed.clone(),
            None => {
                let typed = compiler.decided(&by.expr)?;
                if is_of_sets {
                    let text = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                    let detail =
                        "Only result column names can be used, not expressions or functions.";
                    let hint = "Add the expression/function to every SELECT, or move the UNION into a FROM clause.";
                    return Err(SqlError::unsupported(text).detail(detail).hint(hint));
                }
                typed
            }
        };
        let expression = sortable(typed)?;
        if !expression.is_constant() {
            keys.push(sort_key(expression, by)?);
        }
    }
    Ok(keys)
}

/// The column of the output that `order by` or `group by` names, by name or number.
fn place_in_output(items: &[Item], tree: &Tree, clause: &str) -> Result<Option<usize>, SqlError> {
    match tree {
        Tree::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => {
                let number = digits.parse::<usize>().ok();
                let number = number.filter(|number| (1..=items.len()).contains(number));
                match number {
                    Some(number) => Ok(Some(number - 1)),
                    None => Err(SqlError::new(
                        code::INVALID_COLUMN_REFERENCE,
                        format!("position {digits} is not in select list"),
                    )),
                }
            }
            ast::Value::Null | ast::Value::Placeholder(_) => Ok(None),
            _ => Err(SqlError::syntax(format!(
                "non-integer constant in {clause}"
            ))),
        },
        Tree::Identifier(name) => {
            let name = name_of(name);
            let mut named = items
                .iter()
                .enumerate()
                .filter(|(_, item)| item.name == name);
            let Some((place, first)) = named.next() else {
                return Ok(None);
            };
            match named.all(|(_, other)| other.typed.expr == first.typed.expr) {
                true => Ok(Some(place)),
                false => Err(SqlError::new(
                    code::AMBIGUOUS_COLUMN,
                    format!("{clause} \"{name}\" is ambiguous"),
                )),
            }
        }
        _ => Ok(None),
    }
}

/// Compiles an order by columns of the output, or by expressions over the input. With `DISTINCT`, the list of columns is given.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn input_order(
    compiler: &mut Compiler<'_>,
    items: &[Item],
    order: &[&ast::OrderByExpr],
    distinct: Option<&[SelectItem]>,
) -> Result<Vec<SortKey>, SqlError> {
    let mut keys = Vec::with_capacity(order.len());
    for by in order {
        let is_null =
            matches!(&by.expr, Tree::Value(value) if matches!(value.value, ast::Value::Null));
        if is_null && !compiler.parameters.is_kept() {
            return Err(SqlError::syntax("non-integer constant in ORDER BY"));
        }
        let place = place_in_output(items, &by.expr, "ORDER BY")?;
        let expression = match place.or_else(|| repeated(items, distinct?, &by.expr)) {
            Some(place) => sortable(items[place].typed.clone())?,
            None => sortable(compiler.decided(&by.expr)?)?,
        };
        // Constants do not affect the order. With DISTINCT they have to be in the list.
        let keeps_constants = distinct.is_some() && !compiler.parameters.is_kept();
        if keeps_constants || !expression.is_constant() {
            keys.push(sort_key(expression, by)?);
        }
    }
    Ok(keys)
}

/// The column of the output whose expression an order repeats. Each place compiles a subquery anew, so the results differ.
fn repeated(items: &[Item], list: &[SelectItem], tree: &Tree) -> Option<usize> {
    let place = list.iter().position(|item| match item {
        SelectItem::UnnamedExpr(own) | SelectItem::ExprWithAlias { expr: own, .. } => own == tree,
        _ => false,
    });
    // With `*` there are more columns than expressions.
    place.filter(|_| list.len() == items.len())
}

/// Compiles the expressions of `DISTINCT ON`. They must be the first keys of the order, if there is one.
///
/// # Errors
/// Invalid SQL; `42P10` if the order does not begin with them.
pub(crate) fn distinct_on(
    compiler: &mut Compiler<'_>,
    items: &[Item],
    trees: &[Tree],
    sort: &[SortKey],
) -> Result<Vec<Expr>, SqlError> {
    let mut expressions = Vec::with_capacity(trees.len());
    for tree in trees {
        expressions.push(match place_in_output(items, tree, "DISTINCT ON")? {
            Some(place) => distinguishable(items[place].typed.clone())?,
            None => distinguishable(compiler.decided(tree)?)?,
        });
    }
    // The order has no constants, and each key once.
    let mut ordering: Vec<&Expr> = Vec::with_capacity(expressions.len());
    for expression in &expressions {
        if !expression.is_constant() && !ordering.contains(&expression) {
            ordering.push(expression);
        }
    }
    let mut first = sort.iter().take(ordering.len());
    if !first.all(|key| expressions.contains(&key.expression)) {
        return Err(SqlError::new(
            code::INVALID_COLUMN_REFERENCE,
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        ));
    }
    Ok(expressions)
}
