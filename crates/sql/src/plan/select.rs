//! `SELECT` from one table, or from none, compiled.

use super::access::{Access, WantedOrder, choose};
use super::join::{JoinPlan, Joined, JoinedTable, plan_join};
use super::output::{Item, Output, compile_items};
use crate::aggregate::Grouping;
use crate::error::{SqlError, code};
use crate::expression::{Compiler, Expr, Parameters, Scope, ScopeColumn, ScopeTable, Typed};
use crate::names::{name_of, qualified};
use crate::relation::Relation;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::virtual_tables::{VirtualTable, virtual_table};
use sardonyx::schema::Schema;
use sqlparser::ast::{
    self, Distinct, Expr as Tree, GroupByExpr, JoinConstraint, JoinOperator, LimitClause,
    OrderByKind, OrderBySort, Query, Select, SelectItem, SetExpr, TableFactor,
};
use std::sync::Arc;

/// What is being planned, and what it needs to know.
#[derive(Debug)]
pub(crate) struct Planning<'a> {
    pub source: Source<'a>,
    pub parameters: &'a mut Parameters,
    /// The tables that the plan uses.
    pub tables: Vec<(u16, Arc<Schema>)>,
}

impl Planning<'_> {
    /// The table of a name in a statement.
    ///
    /// # Errors
    /// `42P01` if there is none.
    pub fn relation(&mut self, name: &ast::ObjectName) -> Result<Relation, SqlError> {
        let name = crate::names::of_public(name)?;
        let relation = Relation::named(&self.source, &name)?;
        self.tables.push((relation.number, relation.schema.clone()));
        Ok(relation)
    }
}

/// Where the rows come from.
#[derive(Debug)]
pub(crate) enum Input {
    /// One row without columns.
    Nothing,
    Table(Access),
    Virtual(VirtualTable),
    Join(Box<JoinPlan>),
    /// Rows that the statement says.
    Rows(Vec<Vec<Expr>>),
}

/// How rows are sorted: by expressions over the input or the output.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SortKey {
    pub expression: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A compiled `SELECT`.
#[derive(Debug)]
pub(crate) struct SelectPlan {
    pub input: Input,
    pub table: String,
    pub filter: Option<Expr>,
    pub grouping: Option<Grouping>,
    pub having: Option<Expr>,
    pub output: Output,
    /// Empty if rows come in order.
    pub sort: Vec<SortKey>,
    pub is_distinct: bool,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
}

/// The scope of a table's columns.
pub(crate) fn scope_of(relation: &Relation, alias: &str) -> ScopeTable {
    let columns = relation.columns.iter().enumerate();
    let columns = columns.map(|(at, column)| ScopeColumn {
        name: column.name.clone(),
        spec: column.spec,
        place: column.number,
        origin: Some((table_oid(relation.number), at as i16 + 1)),
    });
    ScopeTable {
        alias: alias.to_string(),
        columns: columns.collect(),
        is_aside: false,
    }
}

/// The number that a table has in `pg_class`.
pub(crate) fn table_oid(number: u16) -> u32 {
    // Below are PostgreSQL's own.
    16_384 + u32::from(number)
}

struct Tail<'q> {
    order: Vec<&'q ast::OrderByExpr>,
    limit: Option<&'q Tree>,
    offset: Option<&'q Tree>,
}

fn tail(query: &Query) -> Result<Tail<'_>, SqlError> {
    let refused = |what| Err(SqlError::unsupported(format!("{what} is not supported")));
    if query.with.is_some() {
        return refused("WITH");
    }
    if !query.locks.is_empty() {
        // Transactions run one at a time: there is nothing to lock.
    }
    if query.for_clause.is_some() || !query.pipe_operators.is_empty() {
        return refused("this kind of query");
    }
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
    if let Some(fetch) = &query.fetch {
        if fetch.percent || fetch.with_ties {
            return refused("FETCH with PERCENT or TIES");
        }
        limit = fetch.quantity.as_ref().or(limit);
    }
    Ok(Tail {
        order,
        limit,
        offset,
    })
}

/// Compiles a query.
///
/// # Errors
/// What is wrong with it; `0A000` for what another planner may know.
pub(crate) fn plan_query(
    planning: &mut Planning<'_>,
    query: &Query,
) -> Result<SelectPlan, SqlError> {
    let tail = tail(query)?;
    match &*query.body {
        SetExpr::Select(select) => plan_select(planning, select, &tail),
        SetExpr::Values(values) => plan_values(planning, values, &tail),
        SetExpr::Query(inner) if tail.order.is_empty() && tail.limit.is_none() => {
            plan_query(planning, inner)
        }
        SetExpr::SetOperation { .. } => Err(SqlError::unsupported(
            "UNION, INTERSECT and EXCEPT are not supported",
        )),
        SetExpr::Table(_) => Err(SqlError::unsupported("TABLE is not supported")),
        _ => Err(SqlError::unsupported("this kind of query is not supported")),
    }
}

fn plan_values(
    planning: &mut Planning<'_>,
    values: &ast::Values,
    tail: &Tail<'_>,
) -> Result<SelectPlan, SqlError> {
    let scope = Scope::default();
    let mut compiler = Compiler::new(&scope, planning.parameters);
    let width = values.rows.first().map_or(0, |row| row.len());
    let mut columns: Vec<Vec<Typed>> = vec![Vec::new(); width];
    for row in &values.rows {
        if row.len() != width {
            return Err(SqlError::syntax("VALUES lists must all be the same length"));
        }
        for (column, tree) in columns.iter_mut().zip(row.iter()) {
            column.push(compiler.compile(tree)?);
        }
    }
    let mut rows: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); values.rows.len()];
    let mut items = Vec::with_capacity(width);
    for (place, column) in columns.into_iter().enumerate() {
        let (expressions, spec) = compiler.unified(column, "VALUES")?;
        for (row, expression) in rows.iter_mut().zip(expressions) {
            row.push(expression);
        }
        items.push(Item {
            typed: Typed {
                expr: Expr::Column(place),
                spec,
            },
            name: format!("column{}", place + 1),
            origin: None,
        });
    }
    let (limit, offset) = limits(&mut compiler, tail)?;
    let sort = output_order(&items, &tail.order)?;
    Ok(SelectPlan {
        input: Input::Rows(rows),
        table: "*VALUES*".into(),
        filter: None,
        grouping: None,
        having: None,
        output: Output::new(items),
        sort,
        is_distinct: false,
        limit,
        offset,
    })
}

fn limits(
    compiler: &mut Compiler<'_>,
    tail: &Tail<'_>,
) -> Result<(Option<Expr>, Option<Expr>), SqlError> {
    let mut whole = |tree: Option<&Tree>| {
        let Some(tree) = tree else {
            return Ok(None);
        };
        let typed = compiler.compile(tree)?;
        let to = TypeSpec::plain(SqlType::Int8);
        let expr = compiler.coerce(typed, to, crate::expression::cast::Coercion::Assignment)?;
        Ok::<_, SqlError>(Some(expr))
    };
    Ok((whole(tail.limit)?, whole(tail.offset)?))
}

/// Order by columns of the output, by name or number.
fn output_order(items: &[Item], order: &[&ast::OrderByExpr]) -> Result<Vec<SortKey>, SqlError> {
    let mut keys = Vec::with_capacity(order.len());
    for by in order {
        let place = place_in_output(items, &by.expr)?;
        let place = place.ok_or_else(|| {
            SqlError::unsupported("ORDER BY here is supported by the result's columns only")
        })?;
        keys.push(sort_key(items[place].typed.expr.clone(), by)?);
    }
    Ok(keys)
}

/// Whether the larger values come first.
///
/// # Errors
/// `0A000` for an operator.
pub(crate) fn is_descending(by: &ast::OrderByExpr) -> Result<bool, SqlError> {
    match &by.options.sort {
        None | Some(OrderBySort::Asc) => Ok(false),
        Some(OrderBySort::Desc) => Ok(true),
        Some(OrderBySort::Using(_)) => Err(SqlError::unsupported(
            "ORDER BY with USING is not supported",
        )),
    }
}

fn sort_key(expression: Expr, by: &ast::OrderByExpr) -> Result<SortKey, SqlError> {
    let descending = is_descending(by)?;
    Ok(SortKey {
        expression,
        descending,
        nulls_first: by.options.nulls_first.unwrap_or(descending),
    })
}

/// The column of the output that `order by` or `group by` names, by name or number.
fn place_in_output(items: &[Item], tree: &Tree) -> Result<Option<usize>, SqlError> {
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
            _ => Ok(None),
        },
        Tree::Identifier(name) => {
            let name = name_of(name);
            Ok(items.iter().position(|item| item.name == name))
        }
        _ => Ok(None),
    }
}

enum From {
    Nothing,
    Table(Box<Relation>),
    Virtual(VirtualTable),
    Join(Vec<Joined>),
}

fn from_of(
    planning: &mut Planning<'_>,
    select: &Select,
) -> Result<(From, Scope, String), SqlError> {
    let mut scope = Scope::default();
    let mut tables: Vec<Joined> = Vec::new();
    for from in &select.from {
        add_table(planning, &mut scope, &mut tables, &from.relation)?;
        for join in &from.joins {
            add_table(planning, &mut scope, &mut tables, &join.relation)?;
            let (constraint, is_left) = match &join.join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                    (Some(constraint), false)
                }
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    (Some(constraint), true)
                }
                JoinOperator::CrossJoin(JoinConstraint::None) => (None, false),
                _ => return Err(SqlError::unsupported("this kind of join is not supported")),
            };
            let on = match constraint {
                None | Some(JoinConstraint::None) => None,
                Some(JoinConstraint::On(tree)) => {
                    let mut compiler = Compiler::new(&scope, planning.parameters);
                    Some(compiler.condition(tree, "JOIN/ON")?)
                }
                Some(_) => {
                    return Err(SqlError::unsupported("joins are supported with ON only"));
                }
            };
            if let Some(last) = tables.last_mut() {
                last.on = on;
                last.is_left = is_left;
            }
        }
    }
    let alias = scope
        .tables
        .first()
        .map_or_else(String::new, |table| table.alias.clone());
    if tables.len() > 1 {
        return Ok((From::Join(tables), scope, alias));
    }
    let from = match tables.pop().map(|one| one.table) {
        None => From::Nothing,
        Some(JoinedTable::Relation(relation)) => From::Table(relation),
        Some(JoinedTable::Virtual(table)) => From::Virtual(table),
    };
    Ok((from, scope, alias))
}

/// Adds a table of `FROM` to the scope, behind those that are there.
fn add_table(
    planning: &mut Planning<'_>,
    scope: &mut Scope,
    tables: &mut Vec<Joined>,
    table: &TableFactor,
) -> Result<(), SqlError> {
    const TABLES_MAX: usize = 32;
    let TableFactor::Table {
        name, alias, args, ..
    } = table
    else {
        return Err(SqlError::unsupported("FROM is supported with tables only"));
    };
    if args.is_some() {
        return Err(SqlError::unsupported("functions in FROM are not supported"));
    }
    if tables.len() >= TABLES_MAX {
        return Err(SqlError::unsupported(format!(
            "at most {TABLES_MAX} tables are joined"
        )));
    }
    let (schema, plain) = qualified(name)?;
    let alias_name = alias.as_ref().map(|alias| name_of(&alias.name));
    let alias_name = alias_name.unwrap_or_else(|| plain.clone());
    if scope.tables.iter().any(|there| there.alias == alias_name) {
        return Err(SqlError::new(
            "42712",
            format!("table name \"{alias_name}\" specified more than once"),
        ));
    }
    let renamed = alias.as_ref().map(|alias| alias.columns.as_slice());
    let (table, mut of, width) = match virtual_table(schema.as_deref(), &plain) {
        Some(found) if schema.is_some() || planning.source.table_named(&plain).is_none() => {
            let of = found.scope(&alias_name);
            (JoinedTable::Virtual(found), of, found.columns.len())
        }
        _ => {
            let relation = planning.relation(name)?;
            let of = scope_of(&relation, &alias_name);
            let width = relation.schema.columns.len();
            (JoinedTable::Relation(Box::new(relation)), of, width)
        }
    };
    let start = tables.last().map_or(0, |last| last.places.end);
    of.columns
        .iter_mut()
        .for_each(|column| column.place += start);
    for (column, renamed) in of.columns.iter_mut().zip(renamed.unwrap_or_default()) {
        column.name = name_of(&renamed.name);
    }
    scope.tables.push(of);
    tables.push(Joined {
        table,
        places: start..start + width,
        on: None,
        is_left: false,
    });
    Ok(())
}

fn check_select(select: &Select) -> Result<(), SqlError> {
    let refused = [
        (select.top.is_some(), "TOP"),
        (select.into.is_some(), "SELECT INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (!select.named_window.is_empty(), "WINDOW"),
        (select.qualify.is_some(), "QUALIFY"),
        (
            matches!(select.distinct, Some(Distinct::On(_))),
            "DISTINCT ON",
        ),
    ];
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(SqlError::unsupported(format!("{what} is not supported"))),
        None => Ok(()),
    }
}

fn plan_select(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
) -> Result<SelectPlan, SqlError> {
    check_select(select)?;
    let (from, scope, alias) = from_of(planning, select)?;
    let condition = match &select.selection {
        None => None,
        Some(tree) => {
            let mut compiler = Compiler::new(&scope, planning.parameters);
            Some(compiler.condition(tree, "WHERE")?)
        }
    };
    let mut grouping = group_keys(planning, select, &scope)?;
    let (items, having, sort) = match &mut grouping {
        Some(grouping) => grouped(planning, select, tail, &scope, grouping)?,
        None => {
            let mut compiler = Compiler::new(&scope, planning.parameters);
            let items = compile_items(&mut compiler, &scope, &select.projection)?;
            let sort = input_order(&mut compiler, &items, &tail.order)?;
            (items, None, sort)
        }
    };
    let mut compiler = Compiler::new(&scope, planning.parameters);
    let (limit, offset) = limits(&mut compiler, tail)?;
    let is_distinct = select.distinct == Some(Distinct::Distinct);
    if is_distinct
        && let Some(key) = sort
            .iter()
            .find(|key| !items.iter().any(|item| item.typed.expr == key.expression))
    {
        let _ = key;
        return Err(SqlError::new(
            code::INVALID_COLUMN_REFERENCE,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ));
    }
    let output = Output::new(items);
    let order = match grouping.is_none() {
        true => column_order(&sort),
        false => None,
    };
    let mut sort = sort;
    let (input, filter) = match from {
        From::Nothing => (Input::Nothing, condition),
        From::Virtual(table) => (Input::Virtual(table), condition),
        From::Join(tables) => match plan_join(tables, condition) {
            Some((join, rest)) => (Input::Join(Box::new(join)), rest),
            None => (Input::Nothing, None),
        },
        From::Table(relation) => {
            let choice = choose(&relation, condition, order.as_ref(), limit.is_some());
            if choice.is_ordered && order.is_some() {
                sort.clear();
            }
            (Input::Table(choice.access), choice.filter)
        }
    };
    Ok(SelectPlan {
        input,
        table: alias,
        filter,
        grouping,
        having,
        output,
        sort,
        is_distinct,
        limit,
        offset,
    })
}

/// The order, if it is by columns of the table, with nulls where an index has them.
fn column_order(sort: &[SortKey]) -> Option<WantedOrder> {
    let columns = sort.iter().map(|key| match key.expression {
        Expr::Column(column) if key.nulls_first == key.descending => Some((column, key.descending)),
        _ => None,
    });
    let order: WantedOrder = columns.collect::<Option<_>>()?;
    (!order.is_empty()).then_some(order)
}

fn input_order(
    compiler: &mut Compiler<'_>,
    items: &[Item],
    order: &[&ast::OrderByExpr],
) -> Result<Vec<SortKey>, SqlError> {
    let mut keys = Vec::with_capacity(order.len());
    for by in order {
        let expression = match place_in_output(items, &by.expr)? {
            Some(place) => items[place].typed.expr.clone(),
            None => compiler.decided(&by.expr)?.expr,
        };
        // Constants order nothing.
        if !expression.is_constant() {
            keys.push(sort_key(expression, by)?);
        }
    }
    Ok(keys)
}

/// The keys by which rows are grouped; `None` if they are not.
fn group_keys(
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
    let mut compiler = Compiler::new(scope, planning.parameters);
    let mut grouping = Grouping::default();
    for tree in trees {
        grouping
            .keys
            .push(compiler.decided(named_item(scope, select, tree)?)?);
    }
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
    use crate::aggregate::Aggregate;
    let any = |trees: &[&Tree]| trees.iter().any(|tree| has_aggregate(tree));
    match tree {
        Tree::Function(function) => {
            let name = qualified(&function.name).map(|(_, name)| name);
            let is_window = function.over.is_some();
            if !is_window && name.is_ok_and(|name| Aggregate::named(&name).is_some()) {
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
        | Tree::In { expr: inner, .. } => has_aggregate(inner),
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

type Grouped = (Vec<Item>, Option<Expr>, Vec<SortKey>);

fn grouped(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
    scope: &Scope,
    grouping: &mut Grouping,
) -> Result<Grouped, SqlError> {
    let mut compiler = Compiler::new(scope, planning.parameters).grouped(grouping);
    let items = compile_items(&mut compiler, scope, &select.projection)?;
    let having = match &select.having {
        Some(tree) => Some(compiler.condition(tree, "HAVING")?),
        None => None,
    };
    let sort = input_order(&mut compiler, &items, &tail.order)?;
    Ok((items, having, sort))
}
