//! Statements with parts in `WITH` that write. All parts read the state before the statement; only the rows of `RETURNING`
//! go from one part to another.
//!
//! The changes of all parts are found out before the first is made ([`Effect`]). Parts whose rows are read come before the
//! part that reads them, all others after the statement behind `WITH`. A row that two parts change is changed by the
//! first of them.
//!
//! Source: the order and the snapshot: PostgreSQL 15, 7.8.4 "Data-Modifying Statements in WITH".

use super::Plan;
use super::arbiters::Arbiters;
use super::draft::NamedKind;
use super::effects::{Effect, Gathered, Touched, apply_all};
use super::insert::plan_insert;
use super::merge::plan_merge;
use super::planning::{Parts, Planning};
use super::query::{draft_body, plan_query, with_named};
use super::tail::Tail;
use super::tree::SharedQuery;
use super::write::{plan_delete, plan_update};
use crate::class::{change_behind_with, has_changes};
use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::names::name_of;
use crate::rows::Table;
use crate::types::SqlType;
use crate::values::objects;
use crate::write_target::WriteTarget;
use sqlparser::ast::{self, Statement};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A statement with parts that write.
#[derive(Debug)]
pub(crate) struct PartsPlan {
    parts: Vec<Part>,
    /// The statement behind `WITH`.
    pub main: Box<Plan>,
    /// The number of parts that run before it; `parts` has this order.
    before: usize,
    /// The tables that several parts change.
    shared: Vec<u16>,
}

/// A part that writes.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its number in the statement.
    number: usize,
    pub name: String,
    pub plan: Plan,
}

/// The parts that are planned, in the order of the text.
#[derive(Clone, Debug, Default)]
struct Planned(Rc<RefCell<Vec<Part>>>);

impl Parts for Planned {
    fn part(
        &mut self,
        planning: &mut Planning<'_>,
        named: &ast::Cte,
        change: &Statement,
    ) -> Result<NamedKind, SqlError> {
        if matches!(change, Statement::Merge(_)) {
            return Err(SqlError::unsupported("MERGE not supported in WITH query"));
        }
        let plan = with_named(planning, named.query.with.as_ref(), |planning| {
            Plan::of(planning, change)
        })?;
        let number = planning.queries.next_number();
        let name = name_of(&named.alias.name);
        let kind = match plan.columns() {
            None => NamedKind::Unreturned,
            Some(columns) => NamedKind::Shared(Arc::new(SharedQuery {
                number,
                name: name.clone(),
                columns: columns.clone(),
                plan: None,
            })),
        };
        self.0.borrow_mut().push(Part { number, name, plan });
        Ok(kind)
    }
}

/// Plans a query that may have parts that write.
fn plan_parts(planning: &mut Planning<'_>, query: &ast::Query) -> Result<Plan, SqlError> {
    let planned = Planned::default();
    planning.queries.parts = Some(Box::new(planned.clone()));
    let recurs = query.with.as_ref().is_some_and(|with| with.recursive);
    let main = match change_behind_with(query) {
        Some(Statement::Merge(_)) if recurs => {
            return Err(SqlError::syntax(
                "WITH RECURSIVE is not supported for MERGE statement",
            ));
        }
        Some(change) => with_named(planning, query.with.as_ref(), |planning| {
            begin_main(planning);
            Plan::of(planning, change)
        }),
        None => {
            let tail = Tail::of(query)?;
            with_named(planning, query.with.as_ref(), |planning| {
                begin_main(planning);
                let mut draft = draft_body(planning, &query.body, &tail)?;
                draft.decide(planning)?;
                Ok(Plan::Select(draft.finish()))
            })
        }
    }?;
    let parts = planned.0.take();
    if parts.is_empty() {
        return Ok(main);
    }
    let read = std::mem::take(&mut planning.queries.read_parts);
    let (mut ordered, later): (Vec<Part>, Vec<Part>) = parts
        .into_iter()
        .partition(|part| read.contains(&part.number));
    let before = ordered.len();
    ordered.extend(later);
    let mut times: HashMap<u16, usize> = HashMap::new();
    let plans = ordered.iter().map(|part| &part.plan);
    for table in plans.chain([&main]).filter_map(Plan::changed_table) {
        *times.entry(table).or_default() += 1;
    }
    let shared = times.into_iter().filter(|(_, times)| *times > 1);
    Ok(Plan::Parts(PartsPlan {
        before,
        shared: shared.map(|(table, _)| table).collect(),
        parts: ordered,
        main: Box::new(main),
    }))
}

/// Begins with the statement behind `WITH`: what it contains is below the top.
fn begin_main(planning: &mut Planning<'_>) {
    planning.queries.parts = None;
    planning.queries.read_parts.clear();
}

impl PartsPlan {
    /// The parts in the order in which they run.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The plans of all parts, and of the statement behind them.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        let parts = self.parts.iter().map(|part| &part.plan);
        parts.chain([&*self.main])
    }

    /// Runs the statement. Returns the number of rows of the statement behind `WITH`, and its result.
    ///
    /// # Errors
    /// Evaluation, read and write errors.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let kept = Kept::default();
        let reading = &Environment {
            of_parts: Some(&kept),
            ..*with
        };
        let inserts = self.plans().filter_map(|plan| match plan {
            Plan::Insert(plan) => Some(plan),
            _ => None,
        });
        let mut changed = Changed {
            arbiters: Arbiters::of(inserts, with.memory()),
            touched: Touched::of(&self.shared),
        };
        let mut effects: Vec<Effect<'_>> = Vec::new();
        let (before, after) = self.parts.split_at(self.before);
        for part in before {
            let done = gather(&part.plan, tx, reading, &mut changed)?;
            effects.extend(done.effects);
            kept.keep_part(part.number, within(&part.plan, done.table));
        }
        let main = gather(&self.main, tx, reading, &mut changed)?;
        effects.extend(main.effects);
        for part in after {
            let done = gather(&part.plan, tx, reading, &mut changed)?;
            effects.extend(done.effects);
            // A later one may read its rows.
            kept.keep_part(part.number, within(&part.plan, done.table));
        }
        apply_all(tx, &effects, with)?;
        Ok((main.count, main.table))
    }
}

/// The rows of a part for those that read it: an object of the catalogue is its number, which clients see with a name.
fn within(plan: &Plan, mut table: Table) -> Table {
    let columns = plan.columns().map_or(&[][..], |columns| columns);
    let kinds: Vec<SqlType> = columns.iter().map(|column| column.spec.kind).collect();
    objects::within(&mut table.values, &kinds);
    table
}

/// The keys and rows that the parts before have changed.
struct Changed<'p, 'm> {
    arbiters: Arbiters<'p, 'm>,
    touched: Touched,
}

/// Finds out what a part does, and notes it for those behind it.
fn gather<'p>(
    plan: &'p Plan,
    tx: &mut dyn WriteTarget,
    with: &Environment<'_>,
    Changed { arbiters, touched }: &mut Changed<'p, '_>,
) -> Result<Gathered<'p>, SqlError> {
    let done = match plan {
        Plan::Select(plan) => {
            let table = plan.run(&*tx, with)?;
            return Ok(Gathered {
                count: table.rows,
                table,
                effects: Vec::new(),
            });
        }
        // It notes its rows itself, one by one.
        Plan::Insert(plan) if plan.conflict.is_some() => {
            return plan.gather(tx, with, (arbiters, touched));
        }
        Plan::Insert(plan) => plan.gather(tx, with, (&mut *arbiters, touched)),
        Plan::Update(plan) => plan.gather(&*tx, with, touched),
        Plan::Delete(plan) => plan.gather(&*tx, with, touched),
        Plan::Merge(plan) => plan.gather(&*tx, with, touched),
        Plan::Parts(_) => Err(SqlError::unsupported(
            "WITH clause containing a data-modifying statement must be at the top level",
        )),
    }?;
    arbiters.note(&*tx, &done.effects, with)?;
    Ok(done)
}

impl Plan {
    /// Plans a statement on data.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn of(planning: &mut Planning<'_>, statement: &Statement) -> Result<Plan, SqlError> {
        Ok(match statement {
            Statement::Query(query) if has_changes(query) => plan_parts(planning, query)?,
            Statement::Query(query) => Plan::Select(plan_query(planning, query)?),
            Statement::Insert(insert) => Plan::Insert(plan_insert(planning, insert)?),
            Statement::Update(update) => Plan::Update(plan_update(planning, update)?),
            Statement::Delete(delete) => Plan::Delete(plan_delete(planning, delete)?),
            Statement::Merge(merge) => Plan::Merge(plan_merge(planning, merge)?),
            _ => return Err(SqlError::unsupported("this statement is not supported")),
        })
    }

    /// The word of the statement's tag.
    pub fn word(&self) -> &'static str {
        match self {
            Plan::Select(_) => "SELECT",
            Plan::Insert(_) => "INSERT",
            Plan::Update(_) => "UPDATE",
            Plan::Delete(_) => "DELETE",
            Plan::Merge(_) => "MERGE",
            Plan::Parts(plan) => plan.main.word(),
        }
    }

    /// The table whose rows a plan without parts changes.
    fn changed_table(&self) -> Option<u16> {
        match self {
            Plan::Insert(plan) => Some(plan.number),
            Plan::Update(plan) => Some(plan.target.number),
            Plan::Delete(plan) => Some(plan.target.number),
            Plan::Merge(plan) => Some(plan.target.number),
            Plan::Select(_) | Plan::Parts(_) => None,
        }
    }

    pub fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        match self {
            Plan::Select(plan) => Some(&plan.output.columns),
            Plan::Insert(plan) => plan.returning.as_ref().map(|output| &output.columns),
            Plan::Update(plan) => plan.returning.as_ref().map(|output| &output.columns),
            Plan::Delete(plan) => plan.returning.as_ref().map(|output| &output.columns),
            Plan::Merge(_) => None,
            Plan::Parts(plan) => plan.main.columns(),
        }
    }
}
