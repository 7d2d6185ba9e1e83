//! `GROUP BY`: the keys by which rows are grouped, and the expressions of a grouped query.

use super::output::{Item, compile_items};
use super::planning::Planning;
use super::tail::{Tail, input_order};
use crate::aggregate::{Aggregate, Grouping};
use crate::error::{SqlError, code};
use crate::expression::window::Windows;
use crate::expression::{Expr, Scope, SortKey, Typed, distinguishable, parts_of_tree};
use crate::names::{name_of, qualified};
use sqlparser::ast::{self, Expr as Tree, GroupByExpr, Select, SelectItem};

/// Compiles the keys by which rows are grouped; `None` without grouping.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn group_keys(
    planning: &mut Planning<'_>,
    select: &Select,
    scope: &Scope,
) -> Result<Option<Grouping>, SqlError> {
    let trees = match &select.group_by {
        GroupByExpr::Expressions(trees, modifiers) if modifiers.is_empty() => trees,
        _ => {
            return Err(SqlError::unsupported(
                "this form of GROUP BY is not supported",
            ));
        }
    };
    let mut compiler = planning.compiler(scope);
    let is_own = |function: &ast::Function| compiler.level_of_aggregate(function).is_none();
    let is_grouped = !trees.is_empty()
        || select.having.is_some()
        || select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(tree) | SelectItem::ExprWithAlias { expr: tree, .. } => {
                has_aggregate(tree, &is_own)
            }
            _ => false,
        });
    if !is_grouped {
        return Ok(None);
    }
    let mut grouping = Grouping::default();
    for tree in trees {
        let tree = named_item(scope, select, tree)?;
        grouping.add_key(compiler.decided(tree)?, tree);
    }
    let identities = grouping.keys.iter().cloned().map(distinguishable);
    grouping.identities = identities.collect::<Result<_, _>>()?;
    Ok(Some(grouping))
}

/// Resolves a key of `GROUP BY`: an item of the output by its number, or by its name if no column has that name.
fn named_item<'t>(scope: &Scope, select: &'t Select, tree: &'t Tree) -> Result<&'t Tree, SqlError> {
    let items = &select.projection;
    match tree {
        Tree::Value(value) => {
            if let ast::Value::Number(digits, _) = &value.value {
                let number = digits.parse::<usize>().unwrap_or(0);
                return match number.checked_sub(1).and_then(|at| items.get(at)) {
                    Some(
                        SelectItem::UnnamedExpr(tree)
                        | SelectItem::ExprWithAlias { expr: tree, .. },
                    ) => Ok(tree),
                    _ => Err(SqlError::new(
                        code::INVALID_COLUMN_REFERENCE,
                        format!("GROUP BY position {digits} is not in select list"),
                    )),
                };
            }
            Ok(tree)
        }
        Tree::Identifier(name) if scope.find(None, &name_of(name)).is_err() => {
            let name = name_of(name);
            let found = items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } if name_of(alias) == name => Some(expr),
                _ => None,
            });
            Ok(found.unwrap_or(tree))
        }
        _ => Ok(tree),
    }
}

/// True if an expression has an aggregate that `is_own` accepts; those of window functions do not count.
fn has_aggregate(tree: &Tree, is_own: &dyn Fn(&ast::Function) -> bool) -> bool {
    // Long chains are nested on the left.
    let mut tree = tree;
    while let Tree::BinaryOp { left, right, .. } = tree {
        if has_aggregate(right, is_own) {
            return true;
        }
        tree = left;
    }
    if let Tree::Function(function) = tree
        && function.over.is_none()
        && is_aggregate(function)
        && is_own(function)
    {
        return true;
    }
    parts_of_tree(tree)
        .into_iter()
        .any(|part| has_aggregate(part, is_own))
}

fn is_aggregate(function: &ast::Function) -> bool {
    let name = qualified(&function.name).map(|(_, name)| name);
    name.is_ok_and(|name| Aggregate::named(&name).is_some())
}

/// The output of a grouped query, its `HAVING`, and its order.
pub(crate) type Grouped = (Vec<Item>, Option<Expr>, Vec<SortKey>);

/// Compiles the expressions of a grouped query. If a table's primary key is among the keys, its columns have one value
/// in each group, so they may be used, too.
///
/// # Errors
/// Invalid SQL; `42803` for a column that is neither a key nor depends on one.
pub(crate) fn grouped(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
    scope: &Scope,
    grouping: &mut Grouping,
    windows: &mut Windows,
) -> Result<Grouped, SqlError> {
    let declared = grouping.clone();
    match grouped_by(planning, select, tail, scope, grouping, windows) {
        Err(error) if error.code == code::GROUPING => {
            *grouping = declared;
            *windows = Windows::default();
            match add_dependent(scope, grouping) {
                true => grouped_by(planning, select, tail, scope, grouping, windows),
                false => Err(error),
            }
        }
        done => done,
    }
}

/// Adds the columns of tables whose primary keys are among the keys. Returns true if there are any.
fn add_dependent(scope: &Scope, grouping: &mut Grouping) -> bool {
    let before = grouping.keys.len();
    let is_key = |grouping: &Grouping, place: usize| {
        let mut keys = grouping.keys.iter();
        keys.any(|key| key.expr == Expr::Column(place))
    };
    for table in &scope.tables {
        let mut key = table.key.iter();
        if table.key.is_empty() || !key.all(|place| is_key(grouping, *place)) {
            continue;
        }
        for column in &table.columns {
            if !is_key(grouping, column.place) {
                grouping.keys.push(Typed {
                    expr: Expr::Column(column.place),
                    spec: column.spec,
                });
            }
        }
    }
    grouping.keys.len() > before
}

fn grouped_by(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
    scope: &Scope,
    grouping: &mut Grouping,
    windows: &mut Windows,
) -> Result<Grouped, SqlError> {
    let compiler = planning.compiler(scope).grouped(grouping);
    let mut compiler = compiler.windowed(windows).listing_rows();
    compiler.name_windows(&select.named_window)?;
    let items = compile_items(&mut compiler, scope, &select.projection)?;
    let having = match &select.having {
        Some(tree) => {
            Some(compiler.without_windows(|compiler| compiler.condition(tree, "HAVING"))?)
        }
        None => None,
    };
    let sort = input_order(&mut compiler, &items, &tail.order)?;
    Ok((items, having, sort))
}
