//! The lines of a plan: each part is below the one that reads it.

use super::manner::{Manner, has_parts_above, places_of, put, read_above, scope_of_insert};
use super::written::Names;
use crate::expression::{Expr, Question, Subquery};
use crate::names::{name_of_primary, quoted};
use crate::path::local;
use crate::plan::Plan;
use crate::plan::access::{Access, Path};
use crate::plan::choice::all_of;
use crate::plan::output::Output;
use crate::plan::semi_join::SemiJoin;
use crate::plan::subquery::PlannedQuery;
use crate::plan::target::Target;
use crate::plan::tree::{Input, JoinKind, JoinNode, JoinStep, SelectPlan, Side};

/// Lines, indented below another one.
fn indented(inner: Vec<String>) -> Vec<String> {
    let inner = inner.into_iter().enumerate();
    inner
        .map(|(at, line)| match at {
            0 => format!("  ->  {line}"),
            _ => format!("      {line}"),
        })
        .collect()
}

/// The lines of a statement's plan.
pub(super) fn lines(plan: &Plan, manner: Manner<'_>) -> Vec<String> {
    match plan {
        Plan::Select(select) => select_lines(select, &[], manner),
        Plan::Update(update) => {
            let of = (&update.target, update.returning.as_ref());
            target_lines("Update", of, manner)
        }
        Plan::Delete(delete) => {
            let of = (&delete.target, delete.returning.as_ref());
            target_lines("Delete", of, manner)
        }
        Plan::Merge(merge) => target_lines("Merge", (&merge.target, None), manner),
        Plan::Parts(plan) => {
            let mut all = lines(&plan.main, manner);
            for part in plan.parts() {
                all.push(format!("  CTE {}", part.name));
                all.extend(indented(lines(&part.plan, manner)));
            }
            all
        }
        Plan::Insert(insert) => {
            let mut lines = vec![format!("Insert on {}", manner.table(&insert.table))];
            if let Some(returning) = &insert.returning {
                let scope = scope_of_insert(insert);
                let names = manner.names(&scope, &[]);
                lines.extend(manner.output(&names, &returning.expressions));
            }
            lines.extend(indented(match &insert.rows {
                crate::plan::insert::InsertRows::Values(rows) if rows.len() == 1 => {
                    vec!["Result".into()]
                }
                crate::plan::insert::InsertRows::Values(_) => vec!["Values Scan".into()],
                crate::plan::insert::InsertRows::Query(select, _) => {
                    select_lines(select, &[], manner)
                }
            }));
            lines
        }
    }
}

fn target_lines(
    what: &str,
    (target, returning): (&Target, Option<&Output>),
    manner: Manner<'_>,
) -> Vec<String> {
    let shown = Shown {
        names: manner.names(&target.scope, &[]),
        manner,
    };
    let mut lines = vec![match manner.is_verbose {
        true => format!("{what} on {}", shown.table(target.number, &target.alias)),
        false => format!("{what} on {}", quoted(&target.alias)),
    }];
    let values = returning.map_or(&[][..], |output| &output.expressions);
    lines.extend(manner.output(&shown.names, values));
    let filter = target.filter.as_ref();
    let input = shown.input(&target.input, filter, &target.alias, None);
    lines.extend(indented(input));
    lines
}

/// The lines of a query with these outer values.
fn select_lines(select: &SelectPlan, outer: &[String], manner: Manner<'_>) -> Vec<String> {
    let shown = Shown {
        names: manner.names(&select.scope, outer),
        manner,
    };
    let names = Names {
        grouping: select.grouping.as_ref(),
        ..shown.names
    };
    let output = manner.output(&names, &select.output.expressions);
    let of_source = match has_parts_above(select) {
        true => manner.columns(&shown.names, read_above(select).places().into_iter()),
        false => output.clone(),
    };
    let filter = select.filter.as_ref();
    let mut lines = shown.input(&select.input, filter, &select.table, of_source);
    for item in &select.output.expressions {
        lines.extend(shown.subplans(item));
    }
    let mut above = |what: &str, more: Vec<String>| {
        let inner = std::mem::take(&mut lines);
        lines.push(what.to_string());
        lines.extend(output.clone());
        lines.extend(more.into_iter().map(|more| format!("  {more}")));
        lines.extend(indented(inner));
    };
    if let Some(grouping) = &select.grouping {
        let what = match grouping.keys.is_empty() {
            true => "Aggregate",
            false => "HashAggregate",
        };
        let having = select.having.as_ref();
        let having = having.map(|having| format!("Filter: {}", names.written(having)));
        above(what, having.into_iter().collect());
    }
    if select.is_distinct || !select.distinct_on.is_empty() {
        above("Unique", Vec::new());
    }
    if !select.sort.is_empty() {
        let mut more = vec![format!("Sort Key: {}", names.order(&select.sort))];
        if select.keeps_few() {
            more.push("Sort Method: top-N heapsort".into());
        }
        above("Sort", more);
    }
    if !select.locks.is_empty() {
        above("LockRows", Vec::new());
    }
    if select.limit.is_some() || select.offset.is_some() {
        above("Limit", Vec::new());
    }
    lines
}

/// The semi-joins and anti-joins of a condition, and its other parts.
fn divided(filter: Option<&Expr>) -> (Vec<(&Subquery, bool)>, Option<Expr>) {
    let parts = match filter {
        Some(Expr::And(parts)) => parts.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let (mut semi_joins, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Expr::Subquery(subquery) if is_semi_join(subquery) => {
                semi_joins.push((&**subquery, false));
            }
            Expr::Not(inner) => match &**inner {
                Expr::Subquery(subquery)
                    if subquery.question == Question::Exists && is_semi_join(subquery) =>
                {
                    semi_joins.push((&**subquery, true));
                }
                _ => rest.push(part.clone()),
            },
            other => rest.push(other.clone()),
        }
    }
    (semi_joins, all_of(rest))
}

/// True if a hash of its rows answers a subquery.
fn is_semi_join(subquery: &Subquery) -> bool {
    match &subquery.question {
        Question::Compared(compared) if subquery.arguments.is_empty() => compared.has_keys(),
        _ => PlannedQuery::of(subquery).is_some_and(|query| query.semi_join.is_some()),
    }
}

/// The names and tables for lines.
#[derive(Clone, Copy)]
struct Shown<'s> {
    names: Names<'s>,
    manner: Manner<'s>,
}

impl Shown<'_> {
    fn condition(&self, what: &str, condition: Option<&Expr>) -> Option<String> {
        condition.map(|condition| format!("  {what}: {}", self.names.written(condition)))
    }

    fn select(&self, select: &SelectPlan) -> Vec<String> {
        select_lines(select, self.names.outer, self.manner)
    }

    /// The lines of a source of rows, with the semi-joins of a condition on them, and with the line of what it gives.
    fn input(
        &self,
        input: &Input,
        filter: Option<&Expr>,
        alias: &str,
        output: Option<String>,
    ) -> Vec<String> {
        let (semi_joins, filter) = divided(filter);
        let own = Shown {
            names: Names {
                is_qualified: self.names.is_qualified || !semi_joins.is_empty(),
                ..self.names
            },
            ..*self
        };
        let mut lines = own.scan(input, filter.as_ref(), alias);
        put(&mut lines, output.clone());
        if let Some(filter) = &filter {
            lines.extend(own.subplans(filter));
        }
        if let Input::Table(access) = input
            && let Some(condition) = &access.condition
        {
            lines.extend(own.subplans(condition));
        }
        for (subquery, is_anti) in semi_joins {
            lines = own.semi_join(subquery, is_anti, lines);
            put(&mut lines, output.clone());
        }
        lines
    }

    /// A semi-join whose left side has these lines.
    fn semi_join(&self, subquery: &Subquery, is_anti: bool, left: Vec<String>) -> Vec<String> {
        let asked = self.asked(subquery);
        let Some(query) = PlannedQuery::of(subquery) else {
            return left;
        };
        let (plan, keys, condition) = match &query.semi_join {
            Some(SemiJoin {
                plan,
                keys,
                condition,
                ..
            }) => (plan, &keys[..], condition.as_ref()),
            None => (&query.plan, &[][..], None),
        };
        let inner = Names {
            items: Some(&plan.output.expressions),
            is_qualified: true,
            ..self.manner.names(&plan.scope, &asked)
        };
        let keys = keys.iter().map(|key| inner.written(key));
        let compared = match &subquery.question {
            Question::Compared(compared) => &compared.left[..],
            _ => &[],
        };
        let outer = keys.chain(compared.iter().map(|value| self.names.written(value)));
        let equal = outer.enumerate().map(|(place, outer)| {
            let own = inner.written(&Expr::Column(place));
            format!("({outer} = {own})")
        });
        let equal: Vec<String> = equal.collect();
        let mut lines = vec![match is_anti {
            true => "Hash Anti Join".to_string(),
            false => "Hash Semi Join".to_string(),
        }];
        lines.push(match equal.as_slice() {
            [one] => format!("  Hash Cond: {one}"),
            many => format!("  Hash Cond: ({})", many.join(" AND ")),
        });
        lines.extend(condition.map(|of| format!("  Join Filter: {}", inner.written(of))));
        lines.extend(indented(left));
        lines.extend(indented(select_lines(plan, &asked, self.manner)));
        lines
    }

    /// The outer values of a subquery.
    fn asked(&self, subquery: &Subquery) -> Vec<String> {
        let names = Names {
            is_qualified: true,
            ..self.names
        };
        let arguments = subquery.arguments.iter();
        arguments.map(|argument| names.written(argument)).collect()
    }

    /// The plans of the subqueries in an expression.
    fn subplans(&self, expr: &Expr) -> Vec<String> {
        let mut lines = Vec::new();
        expr.walk(&mut |part| {
            if let Expr::Subquery(subquery) = part
                && let Some(query) = PlannedQuery::of(subquery)
            {
                let semi_join = query.semi_join.as_ref();
                let plan = semi_join.map_or(&query.plan, |semi_join| &semi_join.plan);
                lines.push(format!("  SubPlan {}", subquery.number));
                let inner = select_lines(plan, &self.asked(subquery), self.manner);
                lines.extend(indented(inner).into_iter().map(|line| format!("  {line}")));
            }
        });
        lines
    }

    fn scan(&self, input: &Input, filter: Option<&Expr>, alias: &str) -> Vec<String> {
        let scan = |what: String, inner: Vec<String>| {
            let mut lines = vec![what];
            lines.extend(self.condition("Filter", filter));
            lines.extend(indented(inner));
            lines
        };
        match input {
            Input::Table(access) => self.access(access, filter, alias),
            Input::Join(join) => {
                let mut lines = self.node(&join.root, true);
                if let Some(filter) = self.condition("Filter", filter) {
                    lines.insert(1, filter);
                }
                lines
            }
            Input::Nothing => scan("Result".into(), Vec::new()),
            Input::Rows(_) => scan("Values Scan".into(), Vec::new()),
            Input::Virtual(name, _) => scan(format!("Function Scan on {name}"), Vec::new()),
            Input::Series(series) => scan(
                format!("Function Scan on {}", quoted(&series.name)),
                Vec::new(),
            ),
            Input::Derived(plan) => scan("Subquery Scan".into(), self.select(plan)),
            Input::Lateral(plan, arguments) => {
                let names = self.names.shifted(0);
                let asked: Vec<String> = arguments.iter().map(|of| names.written(of)).collect();
                scan(
                    "Subquery Scan".into(),
                    select_lines(plan, &asked, self.manner),
                )
            }
            Input::Shared(shared) => scan(
                format!("CTE Scan on {}", quoted(&shared.name)),
                shared
                    .plan
                    .as_ref()
                    .map_or_else(Vec::new, |plan| self.select(plan)),
            ),
            Input::Expanded(expansion) => scan("ProjectSet".into(), self.select(&expansion.plan)),
            Input::Windowed(windowed) => scan("WindowAgg".into(), self.select(&windowed.plan)),
            Input::Recursion(recursion) => {
                let mut lines = scan("Recursive Union".into(), self.select(&recursion.first));
                lines.extend(indented(self.select(&recursion.step)));
                lines
            }
            Input::LastRound(_) => scan("WorkTable Scan".into(), Vec::new()),
            Input::Sets(sets) => {
                let what = match sets.is_append() {
                    true => "Append",
                    false => "HashSetOp",
                };
                let mut lines = scan(what.into(), self.select(&sets.first));
                for (_, plan) in &sets.rest {
                    lines.extend(indented(self.select(plan)));
                }
                lines
            }
        }
    }

    /// The lines of a part of a join. What the whole of it gives is said by its reader.
    fn node(&self, node: &JoinNode, is_whole: bool) -> Vec<String> {
        let mut lines = match node {
            JoinNode::Side(side) => self.side(side),
            JoinNode::Join(step) => self.step(step),
        };
        if !is_whole {
            let places = places_of(node).into_iter();
            put(&mut lines, self.manner.columns(&self.names, places));
        }
        lines
    }

    fn side(&self, side: &Side) -> Vec<String> {
        let start = side.places.start;
        let own = Shown {
            names: self.names.shifted(start),
            ..*self
        };
        let alias = self.names.table(start).unwrap_or_default();
        own.input(&side.input, side.filter.as_ref(), alias, None)
    }

    fn step(&self, step: &JoinStep) -> Vec<String> {
        let word = match step.kind {
            JoinKind::Inner => "",
            JoinKind::Left => " Left",
            JoinKind::Right => " Right",
            JoinKind::Full => " Full",
        };
        let is_hashed = !step.is_lateral && !step.keys.is_empty();
        let mut lines = vec![match is_hashed {
            false if word.is_empty() => "Nested Loop".into(),
            false => format!("Nested Loop{word} Join"),
            true => format!("Hash{word} Join"),
        }];
        let written = |expr: &Expr| self.names.written(expr);
        let equal = step.keys.iter();
        let equal: Vec<String> = equal
            .map(|(left, right)| format!("({} = {})", written(left), written(right)))
            .collect();
        match equal.as_slice() {
            [] => {}
            [one] => lines.push(format!("  Hash Cond: {one}")),
            many => lines.push(format!("  Hash Cond: ({})", many.join(" AND "))),
        }
        if let Some(side) = &step.sought {
            let first = self.side(side).into_iter().next().unwrap_or_default();
            lines.push(format!("  For Few Rows: {first}"));
        }
        lines.extend(self.condition("Join Filter", step.condition.as_ref()));
        lines.extend(indented(self.node(&step.left, false)));
        lines.extend(indented(self.node(&step.right, false)));
        lines
    }

    /// The name under which a table is kept.
    fn kept(&self, number: u16) -> &str {
        let definition = self.manner.source.definitions().get(usize::from(number));
        definition.map_or("", |definition| &definition.name)
    }

    /// A table's name, and its other name in the statement.
    fn table(&self, number: u16, alias: &str) -> String {
        let kept = self.kept(number);
        let name = self.manner.table(kept);
        match alias.is_empty() || alias == local(kept) {
            true => name,
            false => format!("{name} {}", quoted(alias)),
        }
    }

    fn access(&self, access: &Access, filter: Option<&Expr>, alias: &str) -> Vec<String> {
        let table = self.table(access.table, alias);
        let scan = |index: &str, backward: bool| {
            let word = match backward {
                true => "Index Scan Backward",
                false => "Index Scan",
            };
            let index = match index {
                sardonyx::schema::PRIMARY => name_of_primary(local(self.kept(access.table))),
                index => index.to_string(),
            };
            let index = quoted(&index);
            format!("{word} using {index} on {table}")
        };
        let mut lines = vec![match &access.path {
            Path::Scan => format!("Seq Scan on {table}"),
            Path::Key(path) => {
                let index = path.index.as_deref();
                scan(index.unwrap_or(sardonyx::schema::PRIMARY), path.backward)
            }
            Path::Range(path) => scan(&path.index, path.backward),
            Path::Union(_) => format!("Index Union on {table}"),
        }];
        if let Path::Union(path) = &access.path {
            lines.extend(self.condition("Filter", filter));
            for (way, filter) in &path.ways {
                lines.extend(indented(self.access(way, filter.as_ref(), alias)));
            }
            return lines;
        }
        lines.extend(self.condition("Index Cond", access.condition.as_ref()));
        lines.extend(self.condition("Filter", filter));
        lines
    }
}
