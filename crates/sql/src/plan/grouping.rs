//! `GROUP BY`: the keys by which rows are grouped, and the expressions of a grouped query.

use super::output::{Item, compile_items};
use super::planning::Planning;
use super::tail::{Tail, input_order};
use crate::aggregate::{Aggregate, Grouping, KeySets};
use crate::error::{SqlError, code};
use crate::expression::row_calls::RowCalls;
use crate::expression::window::Windows;
use crate::expression::{Compiler, Expr, Scope, SortKey, Typed, distinguishable, parts_of_tree};
use crate::names::{name_of, qualified};
use crate::types::SqlType;
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select,
    SelectItem,
};

/// The most groupings of a query.
const SETS_MAX: usize = 4096;
/// The most keys of all groupings together: each is compiled, and compared with the others.
const KEYS_MAX: usize = 32_768;
/// The most keys of a `CUBE`.
const CUBE_MAX: usize = 12;

/// Compiles the keys by which rows are grouped, with the set-returning functions among them; `None` without grouping.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn group_keys(
    planning: &mut Planning<'_>,
    select: &Select,
    scope: &Scope,
) -> Result<(Option<Grouping>, RowCalls), SqlError> {
    let mut sets = RowCalls::default();
    let trees = match &select.group_by {
        GroupByExpr::Expressions(trees, modifiers) if modifiers.is_empty() => trees,
        _ => {
            return Err(SqlError::unsupported(
                "this form of GROUP BY is not supported",
            ));
        }
    };
    let mut compiler = planning.compiler(scope).giving_rows(&mut sets);
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
        return Ok((None, sets));
    }
    let key_sets = key_sets(trees)?;
    let mut grouping = Grouping::default();
    let mut numbered = Vec::with_capacity(key_sets.len());
    for set in &key_sets {
        let mut numbers: Vec<usize> = Vec::with_capacity(set.len());
        for tree in set {
            let tree = named_item(scope, select, tree)?;
            let key = compiler.decided(tree)?;
            let found = grouping.keys.iter().position(|there| *there == key);
            let number = found.unwrap_or(grouping.keys.len());
            if found.is_none() {
                grouping.add_key(key, tree);
            }
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbered.push(numbers);
    }
    let identities = grouping.keys.iter().cloned().map(distinguishable);
    grouping.identities = identities.collect::<Result<_, _>>()?;
    let is_one = matches!(numbered.as_slice(), [set] if set.len() == grouping.keys.len());
    if !is_one {
        let place = grouping.keys.len();
        let number = Expr::Literal(Value::Int(0));
        grouping.keys.push(Typed::new(number, SqlType::Int4));
        grouping.sets = Some(KeySets {
            sets: numbered,
            place,
        });
    }
    Ok((Some(grouping), sets))
}

/// The groupings that `GROUP BY` asks for, each with its keys: one from each item, in all combinations.
///
/// # Errors
/// `54001` for more than [`SETS_MAX`] groupings, `54011` for a `CUBE` of more than [`CUBE_MAX`] keys.
fn key_sets(trees: &[Tree]) -> Result<Vec<Vec<&Tree>>, SqlError> {
    let mut sets: Vec<Vec<&Tree>> = vec![Vec::new()];
    for tree in trees {
        let of_item = sets_of(tree)?;
        let keys = |sets: &[Vec<&Tree>]| sets.iter().map(Vec::len).sum::<usize>();
        let (before, more) = (keys(&sets), keys(&of_item));
        let count = sets.len().saturating_mul(of_item.len());
        let all = before
            .saturating_mul(of_item.len())
            .saturating_add(more.saturating_mul(sets.len()));
        check_sets(count, all)?;
        let mut combined = Vec::with_capacity(sets.len() * of_item.len());
        for set in &sets {
            for more in &of_item {
                combined.push([set.as_slice(), more].concat());
            }
        }
        sets = combined;
    }
    Ok(sets)
}

/// Checks the bounds before `sets` groupings with `keys` keys are made.
fn check_sets(sets: usize, keys: usize) -> Result<(), SqlError> {
    let text = match (sets > SETS_MAX, keys > KEYS_MAX) {
        (true, _) => format!("too many grouping sets present (maximum {SETS_MAX})"),
        (false, true) => format!("too many keys in grouping sets (maximum {KEYS_MAX})"),
        (false, false) => return Ok(()),
    };
    Err(SqlError::new(code::TOO_COMPLEX, text))
}

/// Groupings that are added to others, within the bounds.
fn add_sets<'t>(to: &mut Vec<Vec<&'t Tree>>, more: Vec<Vec<&'t Tree>>) -> Result<(), SqlError> {
    let keys = |sets: &[Vec<&Tree>]| sets.iter().map(Vec::len).sum::<usize>();
    check_sets(to.len() + more.len(), keys(&more))?;
    to.extend(more);
    Ok(())
}

/// The groupings of an item of `GROUP BY`.
fn sets_of(tree: &Tree) -> Result<Vec<Vec<&Tree>>, SqlError> {
    Ok(match tree {
        Tree::Rollup(parts) => rolled_up(parts.iter().map(|part| part.iter().collect()).collect())?,
        Tree::Cube(parts) => cubed(parts.iter().map(|part| part.iter().collect()).collect())?,
        Tree::GroupingSets(parts) => {
            let mut sets = Vec::new();
            for part in parts {
                match part.as_slice() {
                    [one] => add_sets(&mut sets, sets_of(one)?)?,
                    several => add_sets(&mut sets, vec![several.iter().collect()])?,
                }
            }
            sets
        }
        Tree::Tuple(parts) => vec![parts.iter().collect()],
        // The parser takes those inside of GROUPING SETS for functions.
        Tree::Function(function) => match nested_sets(function) {
            Some((NestedSets::Rollup, parts)) => rolled_up(parts)?,
            Some((NestedSets::Cube, parts)) => cubed(parts)?,
            Some((NestedSets::Sets, parts)) => {
                let mut sets = Vec::new();
                for part in parts {
                    match part.as_slice() {
                        [one] => add_sets(&mut sets, sets_of(one)?)?,
                        _ => add_sets(&mut sets, vec![part])?,
                    }
                }
                sets
            }
            None => vec![vec![tree]],
        },
        _ => vec![vec![tree]],
    })
}

enum NestedSets {
    Rollup,
    Cube,
    Sets,
}

/// A `ROLLUP`, `CUBE` or `GROUPING SETS` that was read as a function, with its parts.
fn nested_sets(function: &ast::Function) -> Option<(NestedSets, Vec<Vec<&Tree>>)> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = name.as_ident()?;
    let kind = match (name.quote_style, name.value.to_ascii_lowercase().as_str()) {
        (None, "rollup") => NestedSets::Rollup,
        (None, "cube") => NestedSets::Cube,
        (Some(_), crate::parse::NESTED_SETS) => NestedSets::Sets,
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let mut parts = Vec::with_capacity(list.args.len());
    for argument in &list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
            return None;
        };
        parts.push(match tree {
            Tree::Tuple(parts) => parts.iter().collect(),
            Tree::Nested(inner) => vec![&**inner],
            one => vec![one],
        });
    }
    Some((kind, parts))
}

/// `ROLLUP`: all parts, then without the last one, and so on.
///
/// # Errors
/// `54001` beyond the bounds.
fn rolled_up(parts: Vec<Vec<&Tree>>) -> Result<Vec<Vec<&Tree>>, SqlError> {
    // The first part is in as many sets as there are parts, the last one in one.
    let sets = parts.iter().rev().zip(1_usize..);
    let keys = sets.map(|(part, sets)| part.len().saturating_mul(sets));
    check_sets(parts.len() + 1, keys.fold(0, usize::saturating_add))?;
    let counts = (0..=parts.len()).rev();
    Ok(counts
        .map(|count| parts.iter().take(count).flatten().copied().collect())
        .collect())
}

/// `CUBE`: all subsets of the parts.
///
/// # Errors
/// `54011` for more than [`CUBE_MAX`] parts.
fn cubed(parts: Vec<Vec<&Tree>>) -> Result<Vec<Vec<&Tree>>, SqlError> {
    if parts.len() > CUBE_MAX {
        return Err(SqlError::new(
            "54011",
            format!("CUBE is limited to {CUBE_MAX} elements"),
        ));
    }
    let keys: usize = parts.iter().map(Vec::len).sum();
    check_sets(
        1 << parts.len(),
        keys.saturating_mul((1 << parts.len()) / 2),
    )?;
    let subsets = (0..1_usize << parts.len()).rev();
    let chosen = |subset: usize| {
        let parts = parts.iter().enumerate();
        let parts = parts.filter(move |(at, _)| subset >> at & 1 == 1);
        parts.flat_map(|(_, part)| part).copied().collect()
    };
    Ok(subsets.map(chosen).collect())
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
            match &value.value {
                ast::Value::Placeholder(_) => Ok(tree),
                _ => Err(SqlError::syntax("non-integer constant in GROUP BY")),
            }
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
    name.is_ok_and(|name| Aggregate::called(function, &name).is_some() || name == "grouping")
}

/// The window functions and the set-returning functions of a query's output.
pub(crate) type Calls<'c> = (&'c mut Windows, &'c mut RowCalls);

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
    (windows, sets): Calls<'_>,
) -> Result<Grouped, SqlError> {
    // In earlier versions all columns of a table were enough.
    grouping.has_rows = planning.parameters.is_kept();
    let declared = grouping.clone();
    match grouped_by(planning, select, tail, scope, grouping, (windows, sets)) {
        Err(error) if error.code == code::GROUPING => {
            *grouping = declared;
            (*windows, *sets) = (Windows::default(), RowCalls::default());
            match add_dependent(scope, grouping) {
                true => grouped_by(planning, select, tail, scope, grouping, (windows, sets)),
                false => Err(error),
            }
        }
        done => done,
    }
}

/// Adds the columns of tables whose primary keys are among the keys. Returns true if there are such tables.
fn add_dependent(scope: &Scope, grouping: &mut Grouping) -> bool {
    let mut are_there = false;
    // A key that some groupings do not have decides nothing there.
    let is_key = |grouping: &Grouping, place: usize| {
        let in_all = |at: usize| {
            let sets = grouping.sets.as_ref().map(|of| of.sets.as_slice());
            let mut sets = sets.unwrap_or_default().iter();
            sets.all(|set| set.contains(&at))
        };
        let mut keys = grouping.keys.iter().enumerate();
        keys.any(|(at, key)| key.expr == Expr::Column(place) && in_all(at))
    };
    for table in &scope.tables {
        let mut key = table.key.iter();
        if table.key.is_empty() || !key.all(|place| is_key(grouping, *place)) {
            continue;
        }
        are_there = true;
        for column in &table.columns {
            let mut keys = grouping.keys.iter();
            if !keys.any(|key| key.expr == Expr::Column(column.place)) {
                grouping.keys.push(Typed {
                    expr: Expr::Column(column.place),
                    spec: column.spec,
                });
            }
        }
    }
    grouping.has_rows |= are_there;
    are_there
}

fn grouped_by(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
    scope: &Scope,
    grouping: &mut Grouping,
    (windows, sets): Calls<'_>,
) -> Result<Grouped, SqlError> {
    let is_distinct = select.distinct == Some(ast::Distinct::Distinct);
    let distinct = is_distinct.then_some(&*select.projection);
    let compiler = planning.compiler(scope).grouped(grouping);
    let mut compiler = compiler.windowed(windows).giving_rows(sets);
    compiler.name_windows(&select.named_window)?;
    let items = compile_items(&mut compiler, scope, &select.projection)?;
    let having = match &select.having {
        Some(tree) => {
            let having = |compiler: &mut Compiler<'_>| compiler.condition(tree, "HAVING");
            Some(compiler.without_windows(|compiler| compiler.without_rows(having))?)
        }
        None => None,
    };
    let sort = input_order(&mut compiler, &items, &tail.order, distinct)?;
    Ok((items, having, sort))
}
