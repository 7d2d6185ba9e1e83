//! The plan of a prepared statement, and its parameters and columns, which are known by its plan. A plan holds for a version
//! of the catalogue; a client that knows the columns is given an error if they change.

use super::Prepared;
use crate::class::change_behind_with;
use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::expression::Parameters;
use crate::plan::insert::plan_insert;
use crate::plan::planning::Planning;
use crate::plan::query::{plan_query, with_named};
use crate::plan::write::{plan_delete, plan_update};
use crate::plan::{Plan, Planned};
use crate::source::Source;
use crate::types::SqlType;
use sqlparser::ast::Statement;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

impl Prepared {
    /// The types of its parameters.
    pub fn parameters(&self) -> &[SqlType] {
        self.parameters.get().map_or(&[], Vec::as_slice)
    }

    /// The columns of its result; `None` if it has no result, or what it is is not known before it is run.
    pub fn columns(&self) -> Option<&[ResultColumn]> {
        self.columns.get()?.as_deref()
    }

    /// The client is told the columns before it runs the statement: they are to remain.
    pub(crate) fn keep_columns(&self) {
        self.is_told.store(true, Ordering::Relaxed);
    }

    /// The parameters' types as they are now known.
    pub(crate) fn known_parameters(&self) -> Vec<Option<SqlType>> {
        match self.parameters.get() {
            Some(types) => types.iter().map(|kind| Some(*kind)).collect(),
            None => self.declared.clone(),
        }
    }

    /// True if it has a plan of this version of the catalogue, and that asks nothing of the session.
    pub(crate) fn has_plan_by_itself(&self, version: u64) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.as_ref().is_some_and(|plan| plan.is_by_itself(version))
    }

    /// The plan for a state of the tables: the one that there is, or a new one.
    ///
    /// # Errors
    /// What is wrong with the statement; `0A000` if its client was told other columns than it now has.
    pub(crate) fn planned(
        &self,
        version: u64,
        source: &dyn Source,
    ) -> Result<Arc<Planned>, SqlError> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(planned) = &*plan
            && planned.holds(version, source)
        {
            return Ok(planned.clone());
        }
        let planned = self
            .plan_now(version, source)
            .map_err(|error| self.placed(error))?;
        self.check_columns(&planned.plan)?;
        let planned = Arc::new(planned);
        *plan = Some(planned.clone());
        Ok(planned)
    }

    /// The plan that there is, whether or not it holds.
    pub(crate) fn last_plan(&self) -> Option<Arc<Planned>> {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// True if the plan that there is, whether or not it holds, is such a one; true without one.
    pub(crate) fn is_unplanned_or(&self, is: impl FnOnce(&Planned) -> bool) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.as_deref().is_none_or(is)
    }

    /// Checks that the columns of a new plan are those that the client was told.
    fn check_columns(&self, plan: &Plan) -> Result<(), SqlError> {
        let told = self.columns.get().and_then(Option::as_deref);
        let (Some(told), Some(now), true) =
            (told, plan.columns(), self.is_told.load(Ordering::Relaxed))
        else {
            return Ok(());
        };
        let kinds = |columns: &[ResultColumn]| -> Vec<SqlType> {
            columns.iter().map(|column| column.spec.kind).collect()
        };
        match kinds(told) == kinds(now) {
            true => Ok(()),
            false => Err(
                SqlError::unsupported("cached plan must not change result type")
                    .hint("The tables have changed: prepare the statement again."),
            ),
        }
    }

    /// Places in the text as numbers of characters.
    pub(crate) fn placed(&self, mut error: SqlError) -> SqlError {
        error.position = error
            .position
            .map(|at| crate::position::resolve(&self.text, at));
        error
    }

    fn plan_now(&self, version: u64, source: &dyn Source) -> Result<Planned, SqlError> {
        let parameters = Parameters::given(&self.known_parameters());
        let mut parameters = parameters.named(self.names.clone());
        let mut planning = Planning::new(source, &mut parameters, &self.rights())?;
        let plan = match &self.statement {
            Some(statement) => plan_statement(&mut planning, statement)?,
            None => return Err(SqlError::syntax("there is no statement")),
        };
        let queries = planning.queries;
        queries.check_populated()?;
        let _ = self.parameters.set(parameters.decided());
        let _ = self.columns.set(plan.columns().cloned());
        Ok(Planned::new(plan, version, queries))
    }

    /// Notes what is known of a statement that has no plan.
    pub(crate) fn describe(&self, parameters: Vec<SqlType>, columns: Option<Arc<[ResultColumn]>>) {
        let _ = self.parameters.set(parameters);
        let _ = self.columns.set(columns);
    }

    /// Notes how many columns a `COPY` has.
    pub(crate) fn describe_copy(&self, columns: usize) {
        let _ = self.copy_columns.set(columns);
        self.describe(Vec::new(), None);
    }
}

/// Plans a statement on data.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_statement(
    planning: &mut Planning<'_>,
    statement: &Statement,
) -> Result<Plan, SqlError> {
    if let Statement::Query(query) = statement
        && let Some(change) = change_behind_with(query)
    {
        return with_named(planning, query.with.as_ref(), |planning| {
            plan_statement(planning, change)
        });
    }
    Ok(match statement {
        Statement::Query(query) => Plan::Select(plan_query(planning, query)?),
        Statement::Insert(insert) => Plan::Insert(plan_insert(planning, insert)?),
        Statement::Update(update) => Plan::Update(plan_update(planning, update)?),
        Statement::Delete(delete) => Plan::Delete(plan_delete(planning, delete)?),
        _ => {
            return Err(SqlError::unsupported("this statement is not supported"));
        }
    })
}
