//! `SELECT`, compiled: first to a draft, to which the query around it may add column types and conditions. Then access
//! paths are chosen for a plan.

use super::choice::{WantedOrder, choose};
use super::costs::in_order;
use super::draft::{Draft, FromNode, FromTable};
use super::from::plan_from;
use super::grouping::{group_keys, grouped};
use super::join::plan_join;
use super::join_columns::Read;
use super::output::{Item, Output, compile_items, decide};
use super::planning::Planning;
use super::row_lock::RowLocks;
use super::scopes::scope_of_columns;
use super::tail::{Tail, input_order, limits};
use super::tree::{Input, SelectPlan};
use crate::aggregate::Grouping;
use crate::error::{SqlError, code};
use crate::expression::row_calls::RowCalls;
use crate::expression::window::Windows;
use crate::expression::{Expr, Scope, SortKey, Typed, ordered};
use crate::indexed::Indexed;
use crate::types::TypeSpec;
use crate::values::order_keys::check_comparable;
use sqlparser::ast::{Distinct, Select};

/// Drafts a `SELECT`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn draft_select(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
) -> Result<Draft, SqlError> {
    crate::kept::select(select)?;
    let before = planning.queries.subqueries;
    let (from, scope) = plan_from(planning, &select.from)?;
    let table = scope.tables.iter().find(|table| !table.alias.is_empty());
    let table = table.map_or_else(String::new, |table| table.alias.clone());
    let condition = match &select.selection {
        None => Ok(None),
        Some(tree) => planning.compiler(&scope).condition(tree, "WHERE").map(Some),
    };
    let condition = match condition {
        Err(error) => return Err(earlier(planning, select, tail, &scope, false).unwrap_or(error)),
        condition => condition?,
    };
    let (mut grouping, key_sets) = match group_keys(planning, select, &scope) {
        Err(error) => return Err(earlier(planning, select, tail, &scope, true).unwrap_or(error)),
        keys => keys?,
    };
    let is_distinct = select.distinct == Some(Distinct::Distinct);
    let distinct = is_distinct.then_some(&*select.projection);
    let mut windows = Windows::default();
    let mut sets = RowCalls::default();
    let (items, having, mut sort) = match &mut grouping {
        Some(grouping) => {
            let calls = (&mut windows, &mut sets);
            grouped(planning, select, tail, &scope, grouping, calls)?
        }
        None => {
            planning.queries.around.wants_groups = false;
            let plain = planning.attempt(|planning| {
                let mut compiler = planning
                    .compiler(&scope)
                    .windowed(&mut windows)
                    .giving_rows(&mut sets);
                compiler.name_windows(&select.named_window)?;
                let items = compile_items(&mut compiler, &scope, &select.projection)?;
                let sort = input_order(&mut compiler, &items, &tail.order, distinct)?;
                Ok((items, None, sort))
            });
            match plain {
                Err(_) if planning.queries.around.wants_groups => {
                    (windows, sets) = (Windows::default(), RowCalls::default());
                    let grouping = grouping.insert(Grouping::default());
                    let calls = (&mut windows, &mut sets);
                    grouped(planning, select, tail, &scope, grouping, calls)?
                }
                plain => plain?,
            }
        }
    };
    if let Some(lock) = tail.locks.first() {
        let what = (
            grouping.is_some(),
            windows.has_calls(),
            !sets.calls.is_empty(),
        );
        crate::locking::check_rows(lock, what)?;
    }
    let (limit, offset) = limits(&mut planning.compiler(&scope), tail)?;
    let is_item = |key: &SortKey| {
        let mut items = items.iter();
        items.any(|item| ordered(item.typed.clone()) == key.expression)
    };
    if is_distinct && !sort.iter().all(is_item) {
        return Err(SqlError::new(
            code::INVALID_COLUMN_REFERENCE,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ));
    }
    let distinct_on = match (&select.distinct, &mut grouping) {
        (Some(Distinct::On(_)), Some(_)) => {
            return Err(SqlError::unsupported(
                "DISTINCT ON in a grouped query is not supported",
            ));
        }
        (Some(Distinct::On(trees)), _) if trees.is_empty() => {
            return Err(SqlError::syntax("syntax error at or near \")\""));
        }
        (Some(Distinct::On(trees)), None) => {
            let compiler = planning.compiler(&scope).windowed(&mut windows);
            let mut compiler = compiler.giving_rows(&mut sets);
            let expressions = super::tail::distinct_on(&mut compiler, &items, trees, &sort)?;
            // As PostgreSQL, which sorts the rows to find those that are equal.
            for expression in &expressions {
                let is_it = |key: &SortKey| key.expression == *expression;
                if !expression.is_constant() && !sort.iter().any(is_it) {
                    sort.push(SortKey {
                        expression: expression.clone(),
                        descending: false,
                        nulls_first: false,
                    });
                }
            }
            expressions
        }
        _ => Vec::new(),
    };
    // Values whose order differs from their texts' order, and bytes, are distinguished by keys.
    if is_distinct {
        let mut items = items.iter();
        items.try_for_each(|item| check_comparable(item.typed.kind(), "equality"))?;
    }
    let tells_otherwise = |item: &Item| ordered(item.typed.clone()) != item.typed.expr;
    let (is_distinct, distinct_on) = match is_distinct && items.iter().any(tells_otherwise) {
        true => {
            let keys = items.iter().map(|item| ordered(item.typed.clone()));
            (false, keys.collect())
        }
        false => (is_distinct, distinct_on),
    };
    let mut draft = Draft {
        from,
        table,
        scope,
        condition,
        grouping,
        having,
        items,
        sort,
        is_distinct,
        distinct_on,
        limit,
        offset,
        with_ties: tail.with_ties,
        has_subqueries: planning.queries.subqueries > before,
        locks: RowLocks::default(),
    };
    draft.lock_by(planning, tail.locks)?;
    draft.group_expanded(key_sets);
    Ok(draft.with_calls(sets, windows))
}

/// The error of the list, or of the order, of a query whose `WHERE` or `GROUP BY` is wrong, too: PostgreSQL reads the list before
/// both, and the order before the groups. Errors of grouping come last.
fn earlier(
    planning: &mut Planning<'_>,
    select: &Select,
    tail: &Tail<'_>,
    scope: &Scope,
    has_order: bool,
) -> Option<SqlError> {
    let (mut windows, mut sets) = (Windows::default(), RowCalls::default());
    planning.queries.around.wants_groups = false;
    let read = planning.attempt(|planning| {
        let compiler = planning.compiler(scope).windowed(&mut windows);
        let mut compiler = compiler.giving_rows(&mut sets);
        compiler.name_windows(&select.named_window)?;
        let items = compile_items(&mut compiler, scope, &select.projection)?;
        if let (true, Some(tree)) = (has_order, &select.having) {
            compiler.condition(tree, "HAVING")?;
        }
        match has_order {
            true => input_order(&mut compiler, &items, &tail.order, None).map(|_| ()),
            false => Ok(()),
        }
    });
    let error = read.err()?;
    let is_of_names = [
        code::UNKNOWN_COLUMN,
        code::UNKNOWN_TABLE,
        code::UNKNOWN_FUNCTION,
        code::AMBIGUOUS_COLUMN,
        code::DATATYPE_MISMATCH,
        code::INVALID_COLUMN_REFERENCE,
        code::SYNTAX,
    ];
    let is_known = is_of_names.contains(&error.code) || error.code.starts_with("22");
    (is_known && !planning.queries.around.wants_groups).then_some(error)
}

impl Draft {
    /// A draft that selects all rows of one item, with names for its columns.
    pub fn of_rows(table: FromTable, name: &str, columns: Vec<(String, TypeSpec)>) -> Draft {
        let width = columns.len();
        let scope = Scope {
            tables: vec![scope_of_columns(name, columns.clone())],
        };
        let items = columns.into_iter().enumerate().map(|(place, column)| Item {
            typed: Typed {
                expr: Expr::Column(place),
                spec: column.1,
            },
            name: column.0,
            origin: None,
        });
        Draft {
            from: Some(FromNode::Leaf(table, 0..width)),
            table: name.to_string(),
            scope,
            items: items.collect(),
            ..Draft::default()
        }
    }

    /// Gives columns without a type the type text.
    ///
    /// # Errors
    /// Currently none.
    pub fn decide(&mut self, planning: &mut Planning<'_>) -> Result<(), SqlError> {
        let scope = Scope::default();
        decide(&mut planning.compiler(&scope), &mut self.items)
    }

    /// True if its rows are those input rows that meet its condition, so that more conditions may be added.
    pub fn takes_conditions(&self) -> bool {
        self.grouping.is_none()
            && !self.is_distinct
            && self.distinct_on.is_empty()
            && self.limit.is_none()
            && self.offset.is_none()
            && self.from.is_some()
            && self.locks.tables.is_empty()
    }

    /// True if a condition reads only non-volatile columns.
    fn takes_condition(&self, condition: &Expr) -> bool {
        let is_plain = |place: usize| {
            let item = self.items.get(place);
            item.is_none_or(|item| item.typed.expr.is_plain())
        };
        let reads_other = |part: &Expr| matches!(part, Expr::Column(place) if !is_plain(*place));
        self.takes_conditions() && condition.is_plain() && !condition.any(&reads_other)
    }

    /// True if it reads one table and is simple enough to be planned at each place that names it.
    pub fn is_simple(&self) -> bool {
        let is_table = matches!(&self.from, Some(FromNode::Leaf(FromTable::Relation(_), _)));
        let is_plain = |item: &Item| item.typed.expr.is_plain();
        is_table
            && self.takes_conditions()
            && self.items.iter().all(is_plain)
            && !self.has_subqueries
            && self.sort.is_empty()
    }

    /// Adds a condition over its columns, if possible. Returns the remaining condition on its rows.
    pub fn add_condition(&mut self, condition: Option<Expr>) -> Option<Expr> {
        let mut condition = condition?;
        if !self.takes_condition(&condition) {
            return Some(condition);
        }
        let items = &self.items;
        condition.replace_columns(&|place| match items.get(place) {
            Some(item) => item.typed.expr.clone(),
            None => Expr::Column(place),
        });
        self.condition = Some(match self.condition.take() {
            Some(before) => Expr::And(vec![before, condition]),
            None => condition,
        });
        None
    }

    /// Chooses the access paths to its rows.
    pub fn finish(mut self) -> SelectPlan {
        self.leave_out_unread();
        // The keys tell which rows are equal to the last one.
        let may_use_index = self.grouping.is_none() && !self.with_ties;
        let order = match may_use_index && self.distinct_on.is_empty() {
            true => column_order(&self.sort, self.from.as_ref()),
            false => None,
        };
        let mut sort = self.sort;
        let (input, filter) = match self.from {
            None => (Input::Nothing, self.condition),
            Some(FromNode::Leaf(table, _)) => {
                let chosen = table.input(self.condition, order.as_ref(), self.limit.is_some());
                if chosen.is_ordered && order.is_some() {
                    sort.clear();
                }
                (chosen.input, chosen.filter)
            }
            Some(node) => {
                let (mut join, rest) = plan_join(node, self.condition, true);
                let mut read = Read::none(join.width);
                let groups = self.grouping.iter().flat_map(Grouping::expressions);
                // After grouping, expressions read the rows of the groups.
                let given = self.items.iter().map(|item| &item.typed.expr);
                let given = given.chain(sort.iter().map(|key| &key.expression));
                let given = given.chain(&self.distinct_on);
                let given = given.filter(|_| self.grouping.is_none());
                groups
                    .chain(given)
                    .chain(&rest)
                    .for_each(|part| read.add(part));
                let locked = self.locks.tables.iter().flat_map(|lock| &lock.key);
                locked.for_each(|place| read.add_place(*place));
                join.keep_only(read);
                (Input::Join(Box::new(join)), rest)
            }
        };
        SelectPlan {
            input,
            table: self.table,
            scope: self.scope,
            filter,
            grouping: self.grouping,
            having: in_order(self.having),
            output: Output::new(self.items),
            sort,
            is_distinct: self.is_distinct,
            distinct_on: self.distinct_on,
            limit: self.limit,
            offset: self.offset,
            with_ties: self.with_ties,
            has_subqueries: self.has_subqueries,
            locks: self.locks.tables,
        }
    }
}

/// The chosen access to the rows of one item of `FROM`.
pub(crate) struct ChosenInput {
    pub input: Input,
    /// The condition that is still tested on each row.
    pub filter: Option<Expr>,
    pub is_ordered: bool,
}

impl FromTable {
    /// Chooses the access to rows that meet a condition, in the wanted order if possible.
    pub fn input(
        self,
        condition: Option<Expr>,
        order: Option<&WantedOrder>,
        is_limited: bool,
    ) -> ChosenInput {
        let condition = match &self {
            FromTable::Relation(_) => condition,
            _ => in_order(condition),
        };
        let (input, filter) = match self {
            FromTable::Relation(relation) => {
                let choice = choose(&relation, condition, order, is_limited);
                return ChosenInput {
                    input: Input::Table(choice.access),
                    filter: choice.filter,
                    is_ordered: choice.is_ordered,
                };
            }
            FromTable::Derived(mut draft) => {
                let filter = draft.add_condition(condition);
                (Input::Derived(Box::new(draft.finish())), filter)
            }
            FromTable::Lateral(draft, arguments) => {
                let plan = Box::new(draft.finish());
                (Input::Lateral(plan, arguments), condition)
            }
            FromTable::Virtual(name, rows) => (Input::Virtual(name, rows), condition),
            FromTable::Shared(shared) => (Input::Shared(shared), condition),
            FromTable::Series(series) => (Input::Series(series), condition),
            FromTable::Rows(rows) => (Input::Rows(rows), condition),
            FromTable::Sets(sets) => (Input::Sets(Box::new(sets.finish())), condition),
            FromTable::Recursion(recursion) => (Input::Recursion(recursion), condition),
            FromTable::LastRound(number) => (Input::LastRound(number), condition),
            FromTable::Expanded(expanded) => {
                (Input::Expanded(Box::new(expanded.finish())), condition)
            }
            FromTable::Windowed(windowed) => {
                (Input::Windowed(Box::new(windowed.finish())), condition)
            }
        };
        ChosenInput {
            input,
            filter,
            is_ordered: false,
        }
    }
}

/// The order, if it is by columns of the table or by indexed expressions, with nulls placed as in an index.
fn column_order(sort: &[SortKey], from: Option<&FromNode>) -> Option<WantedOrder> {
    let indexed = match from {
        Some(FromNode::Leaf(FromTable::Relation(relation), _)) => Indexed::of(&relation.schema),
        _ => Indexed::default(),
    };
    let columns = sort
        .iter()
        .map(|key| match indexed.column_of(&key.expression) {
            Some(column) if key.nulls_first == key.descending => Some((column, key.descending)),
            _ => None,
        });
    let order: WantedOrder = columns.collect::<Option<_>>()?;
    (!order.is_empty()).then_some(order)
}
