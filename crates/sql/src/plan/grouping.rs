//! `GROUP BY`: the keys by which rows are grouped, and what stands in a grouped query.

use super::output::{Item, compile_items};
use super::planning::Planning;
use super::select::SortKey;
use super::tail::{Tail, input_order};
use super::window::Windows;
use crate::aggregate::{Aggregate, Grouping};
use crate::error::{SqlError, code};
use crate::expression::{Expr, Scope, Typed};
use crate::names::{name_of, qualified};
use sqlparser::ast::{self, Expr as Tree, GroupByExpr, Select, SelectItem};

/// The keys by which rows are grouped; `None` if they are not.
///
/// # Errors
/// What is wrong with them.
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
    let is_grouped = !trees.is_empty()
        || select.having.is_some()
        || select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(tree) | SelectItem::ExprWithAlias { expr: tree, .. } => {
                has_aggregate(tree)
            }
            _ => false,
        });
    if !is_grouped {
        return Ok(None);
    }
    let mut compiler = planning.compiler(scope);
    let mut grouping = Grouping::default();
    for tree in trees {
        let tree = named_item(scope, select, tree)?;
        grouping.keys.push(compiler.decided(tree)?);
        grouping.trees.push(tree.clone());
    }
    grouping.identifying = grouping.keys.len();
    Ok(Some(grouping))
}

/// What a key of `group by` stands for: an item of the output by its number, or by its name if no column has it.
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

/// Whether an aggregate stands in an expression. Only what a depth-first walk over the usual forms finds: what it does
/// not know is refused when it is compiled.
fn has_aggregate(tree: &Tree) -> bool {
    let any = |trees: &[&Tree]| trees.iter().any(|tree| has_aggregate(tree));
    match tree {
        Tree::Function(function) => {
            let name = qualified(&function.name).map(|(_, name)| name);
            let is_window = function.over.is_some();
            if !is_window && name.is_ok_and(|name| Aggregate::named(&name).is_some()) {
                return true;
            }
            if let Some(ast::WindowType::WindowSpec(spec)) = &function.over
                && (spec.partition_by.iter().any(has_aggregate)
                    || spec.order_by.iter().any(|by| has_aggregate(&by.expr)))
            {
                return true;
            }
            match &function.args {
                ast::FunctionArguments::List(list) => list.args.iter().any(|argument| {
                    matches!(argument, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(tree))
                        if has_aggregate(tree))
                }),
                _ => false,
            }
        }
        Tree::BinaryOp { left, right, .. } => {
            // Long chains lean to the left.
            let mut rest = left;
            if has_aggregate(right) {
                return true;
            }
            while let Tree::BinaryOp { left, right, .. } = &**rest {
                if has_aggregate(right) {
                    return true;
                }
                rest = left;
            }
            has_aggregate(rest)
        }
        Tree::Nested(inner)
        | Tree::UnaryOp { expr: inner, .. }
        | Tree::Cast { expr: inner, .. }
        | Tree::IsNull(inner)
        | Tree::IsNotNull(inner)
        | Tree::Extract { expr: inner, .. }
        | Tree::Ceil { expr: inner, .. }
        | Tree::Floor { expr: inner, .. }
        | Tree::Substring { expr: inner, .. }
        | Tree::Trim { expr: inner, .. }
        | Tree::Like { expr: inner, .. }
        | Tree::ILike { expr: inner, .. }
        | Tree::IsTrue(inner)
        | Tree::IsFalse(inner)
        | Tree::IsNotTrue(inner)
        | Tree::IsNotFalse(inner)
        | Tree::Collate { expr: inner, .. }
        | Tree::AnyOp { left: inner, .. }
        | Tree::AllOp { left: inner, .. } => has_aggregate(inner),
        Tree::IsDistinctFrom(left, right) | Tree::IsNotDistinctFrom(left, right) => {
            any(&[left, right])
        }
        Tree::Tuple(parts) => parts.iter().any(has_aggregate),
        Tree::In { expr, target, .. } => {
            has_aggregate(expr)
                || matches!(target, ast::InTarget::List(list) if list.iter().any(has_aggregate))
        }
        Tree::Between {
            expr, low, high, ..
        } => any(&[expr, low, high]),
        Tree::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            let whens = conditions.iter();
            let mut parts = whens.flat_map(|when| [&when.condition, &when.result]);
            operand.as_deref().is_some_and(has_aggregate)
                || else_result.as_deref().is_some_and(has_aggregate)
                || parts.any(has_aggregate)
        }
        _ => false,
    }
}

/// The output of a grouped query, its `HAVING`, and its order.
pub(crate) type Grouped = (Vec<Item>, Option<Expr>, Vec<SortKey>);

/// Compiles what stands in a grouped query. Columns of a table whose primary key is among the keys are the same for all
/// rows of a group, and so may stand there, too.
///
/// # Errors
/// What is wrong with it; `42803` for a column that is no key.
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

/// Adds the columns of tables whose primary keys are among the keys. Returns whether there are any.
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
    let mut compiler = compiler.windowed(windows);
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
