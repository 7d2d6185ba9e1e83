//! Plans: statements compiled for the current state of the tables.
//!
//! A plan refers to tables and columns by number. It is valid as long as the catalogue's version and the schemas of its
//! tables are unchanged; afterwards the statement is planned again.

pub(crate) mod access;
mod arbiters;
mod batches;
pub(crate) mod cascades;
pub(crate) mod changes;
pub(crate) mod choice;
mod collect;
mod costs;
mod draft;
mod effects;
pub(crate) mod expansion;
mod expected;
mod factoring;
pub(crate) mod figured;
mod frames;
pub(crate) mod from;
mod grouping;
mod groups;
mod inferred;
pub(crate) mod insert;
mod insert_run;
pub(crate) mod join;
mod join_classes;
pub(crate) mod join_columns;
mod join_keys;
mod join_order;
mod join_run;
mod join_search;
mod json_rows;
pub(crate) mod key;
mod keyed_values;
mod locked_run;
pub(crate) mod merge;
mod named;
mod numbers;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod planning;
mod presence;
mod pushed;
pub(crate) mod query;
pub(crate) mod recursion;
mod repeatable;
pub(crate) mod rewriting;
pub(crate) mod routine;
mod row_lock;
mod row_locks;
mod rows_from;
mod sampled;
pub(crate) mod scopes;
mod searching;
pub(crate) mod select;
pub(crate) mod select_run;
pub(crate) mod semi_join;
pub(crate) mod series;
pub(crate) mod set_operation;
mod sorting;
mod sought;
pub(crate) mod subquery;
pub(crate) mod tail;
pub(crate) mod target;
pub(crate) mod tree;
pub(crate) mod triggers;
mod unread;
pub(crate) mod views;
mod whole;
pub(crate) mod window;
mod window_run;
pub(crate) mod write;

use crate::column::ResultColumn;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::rows::Table;
use crate::source::Source;
use changes::Changes;
use insert::InsertPlan;
use merge::MergePlan;
use parts::PartsPlan;
use planning::Queries;
use routine::Statement;
use sardonyx::schema::Schema;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tree::SelectPlan;
use triggers::{Event, StatementTriggers};
use write::{DeletePlan, UpdatePlan};

/// The plan of a statement on data.
#[derive(Debug)]
pub(crate) enum Plan {
    Select(SelectPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    Merge(MergePlan),
    /// Parts in `WITH` that write, and the statement behind them.
    Parts(PartsPlan),
}

/// A plan, with the catalogue's state for which it was made.
#[derive(Debug)]
pub(crate) struct Planned {
    pub plan: Plan,
    version: u64,
    tables: Vec<(u16, Arc<Schema>)>,
    /// True if the statement reads or sets the session's state, or calls functions of users.
    pub asks_session: bool,
    /// True if it sets the session's state, or takes its locks: such calls are made once.
    pub sets_session: bool,
    /// True if a query of the statement locks rows.
    pub locks_rows: bool,
    /// True if the statement reads and writes few rows, so that it does not delay others.
    pub is_short: bool,
    /// True if it may be a [rewriting](rewriting::Rewriting) of many rows.
    pub is_rewriting: bool,
    /// True if it only inserts rows, perhaps many.
    pub is_filling: bool,
    /// True for a statement that changes rows and is not short, and whose functions notify no session; also for a query
    /// of functions of users, which may take long.
    is_changing: bool,
    /// True if its last run read few rows. Then the stage tries the next one, up to a bound on its rows.
    is_usually_short: AtomicBool,
}

impl Planned {
    pub fn new(plan: Plan, version: u64, queries: Queries) -> Self {
        let has_triggers = plan.has_triggers();
        // A function of a trigger may read many rows.
        let is_short = queries.subqueries == 0 && !has_triggers && plan.is_short();
        Planned {
            is_rewriting: queries.subqueries == 0
                && !has_triggers
                && !queries.around.asks_session
                && rewriting::is_rewriting(&plan, is_short),
            is_changing: !is_short
                && !queries.around.notifies
                && (queries.around.calls_users && !queries.locks_rows
                    || !matches!(plan, Plan::Select(_))),
            is_filling: !is_short
                && !has_triggers
                && matches!(&plan, Plan::Insert(insert) if insert.inserts_many()),
            is_usually_short: AtomicBool::new(false),
            locks_rows: queries.locks_rows,
            is_short,
            plan,
            version,
            asks_session: queries.around.asks_session,
            sets_session: queries.around.sets_session,
            tables: queries.tables,
        }
    }

    /// True if the plan has this version, does not use the session's state, and does not run aside.
    pub fn is_by_itself(&self, version: u64) -> bool {
        self.version == version && !self.asks_session && (!self.is_changing || self.is_tried())
    }

    /// The tables for which it was made, by number.
    pub fn tables(&self) -> impl Iterator<Item = u16> + '_ {
        self.tables.iter().map(|(number, _)| *number)
    }

    /// True if a run that may look at many rows is concurrent with other statements.
    pub fn may_run_beside(&self) -> bool {
        self.is_changing
    }

    /// True if the stage tries such a run first, up to a bound on its rows.
    pub fn is_tried(&self) -> bool {
        self.is_changing && self.is_usually_short.load(Ordering::Relaxed)
    }

    /// Notes whether a run read few rows. The stage costs less for few rows.
    pub fn was_short(&self, is_short: bool) {
        self.is_usually_short.store(is_short, Ordering::Relaxed);
    }

    /// True if the plan is valid for a state of the tables.
    pub fn holds(&self, version: u64, source: &dyn Source) -> bool {
        let mut tables = self.tables.iter();
        self.version == version && tables.all(|(number, schema)| source.has_schema(*number, schema))
    }
}

impl Changes {
    /// Triggers that run once for the whole statement.
    pub fn statement_triggers(&self) -> impl Iterator<Item = StatementTriggers<'_>> {
        let of = self.triggers.iter();
        of.map(|of| (of, Event::Update, Some(&self.named)))
    }
}

impl InsertPlan {
    /// The triggers of a statement: of the insertion, and of the update of rows that are there.
    pub fn statement_triggers(&self) -> Vec<Vec<StatementTriggers<'_>>> {
        let own = self.triggers.iter();
        let own = own.map(|of| (of, Event::Insert, None));
        let update = self.conflict.as_ref().and_then(|of| of.update.as_ref());
        let update = update.map(|(changes, _)| changes.statement_triggers());
        vec![own.chain(update.into_iter().flatten()).collect()]
    }
}

impl Plan {
    /// True if a table that it changes has triggers of rows.
    fn has_triggers(&self) -> bool {
        match self {
            Plan::Select(_) | Plan::Merge(_) => false,
            Plan::Insert(plan) => {
                let update = plan.conflict.as_ref().and_then(|of| of.update.as_ref());
                plan.triggers.is_some()
                    || update.is_some_and(|(changes, _)| changes.triggers.is_some())
            }
            Plan::Update(plan) => plan.changes.triggers.is_some(),
            Plan::Delete(plan) => plan.triggers.is_some(),
            Plan::Parts(plan) => plan.plans().any(Plan::has_triggers),
        }
    }

    /// The triggers of the tables that its parts change, with the changes.
    pub fn statement_triggers(&self) -> Vec<Vec<StatementTriggers<'_>>> {
        match self {
            Plan::Select(_) | Plan::Merge(_) => Vec::new(),
            Plan::Insert(plan) => plan.statement_triggers(),
            Plan::Update(plan) => vec![plan.changes.statement_triggers().collect()],
            Plan::Delete(plan) => {
                let of = plan.triggers.iter();
                vec![of.map(|of| (of, Event::Delete, None)).collect()]
            }
            Plan::Parts(plan) => plan.plans().flat_map(Plan::statement_triggers).collect(),
        }
    }

    /// True if rows of other tables change with those that it finds, perhaps many.
    pub fn changes_others(&self) -> bool {
        match self {
            Plan::Update(plan) => !plan.changes.cascades.is_empty(),
            Plan::Delete(plan) => plan.takes_others,
            Plan::Select(_) | Plan::Insert(_) | Plan::Merge(_) | Plan::Parts(_) => false,
        }
    }

    /// True if it reads and writes few rows, subqueries excluded.
    fn is_short(&self) -> bool {
        match self {
            Plan::Select(plan) => plan.is_short(),
            Plan::Insert(plan) => plan.is_short(),
            Plan::Update(plan) => plan.target.is_short() && !plan.changes.is_referenced,
            Plan::Delete(plan) => plan.target.is_short() && !plan.is_referenced,
            Plan::Merge(_) => false,
            Plan::Parts(plan) => plan.plans().all(Plan::is_short),
        }
    }
}

impl Statement for Plan {
    fn columns(&self) -> Option<&Arc<[ResultColumn]>> {
        self.columns()
    }

    fn writes(&self) -> bool {
        !matches!(self, Plan::Select(_))
    }

    fn read(&self, source: &dyn Source, with: &Environment<'_>) -> Result<Table, SqlError> {
        match self {
            Plan::Select(plan) => plan.run(source, with),
            _ => Err(SqlError::new(
                code::INTERNAL,
                "a plan that changes something is read",
            )),
        }
    }
}
