//! The plan of a prepared statement, which gives its parameters and columns. A plan holds for a version of the
//! catalogue. If the columns change, a client with their description gets an error.

use super::Prepared;
use crate::column::ResultColumn;
use crate::error::{CHANGED_RESULT, SqlError};
use crate::expression::Parameters;
use crate::plan::planning::{Planning, Queries};
use crate::plan::series::may_have_older_names;
use crate::plan::{Plan, Planned};
use crate::source::Source;
use crate::types::SqlType;
use sqlparser::ast::Statement;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

impl Prepared {
    /// By their numbers, as the client or the statement gives them.
    pub fn parameters(&self) -> &[SqlType] {
        self.parameters.get().map_or(&[], Vec::as_slice)
    }

    /// The columns of its result; `None` if it has no result, or one that is known only when it runs.
    pub fn columns(&self) -> Option<&[ResultColumn]> {
        self.columns.get()?.as_deref()
    }

    /// Keeps the columns: the client gets their description before it runs the statement.
    pub(crate) fn keep_columns(&self) {
        self.is_told.store(true, Ordering::Relaxed);
    }

    /// The types of the parameters that are known now.
    pub(crate) fn known_parameters(&self) -> Vec<Option<SqlType>> {
        match self.parameters.get() {
            Some(types) => types.iter().map(|kind| Some(*kind)).collect(),
            None => self.declared.clone(),
        }
    }

    /// True if it runs a statement of `PREPARE`, or explains it.
    pub(crate) fn is_execute(&self) -> bool {
        let of = match &self.statement {
            Some(Statement::Explain { statement, .. }) => Some(&**statement),
            other => other.as_ref(),
        };
        matches!(of, Some(Statement::Execute { .. }))
    }

    /// The explanation of the statement that it names, if it is `EXPLAIN EXECUTE`.
    pub(crate) fn explaining(&self, inner: &Prepared) -> Option<Prepared> {
        if !matches!(self.statement, Some(Statement::Explain { .. })) {
            return None;
        }
        let mut whole = self.statement.clone()?;
        if let Statement::Explain { statement, .. } = &mut whole {
            **statement = inner.statement.clone()?;
        }
        let declared: Vec<_> = inner.parameters().iter().copied().map(Some).collect();
        // The inner text has the words by which a statement is known to read or set the session's state.
        let made = Prepared::new(inner.text.clone(), Some(whole), &declared);
        Some(made.with_rights(inner.rights()))
    }

    /// True if it has a plan of this version of the catalogue that reads nothing of the session.
    pub(crate) fn has_plan_by_itself(&self, version: u64) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.as_ref().is_some_and(|plan| plan.is_by_itself(version))
    }

    /// The plan for a state of the tables: the present one, or a new one.
    ///
    /// # Errors
    /// An error in the statement; `0A000` if its columns differ from the description that the client has.
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

    /// The last plan, valid or not.
    pub(crate) fn last_plan(&self) -> Option<Arc<Planned>> {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// True if the last plan, valid or not, meets a condition; true without one.
    pub(crate) fn is_unplanned_or(&self, is: impl FnOnce(&Planned) -> bool) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.as_deref().is_none_or(is)
    }

    /// Checks that the columns of a new plan are those of the client's description.
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
            false => Err(SqlError::unsupported(CHANGED_RESULT)
                .hint("The tables have changed: prepare the statement again.")),
        }
    }

    /// Converts places in the text to numbers of characters.
    pub(crate) fn placed(&self, mut error: SqlError) -> SqlError {
        error.position = error
            .position
            .map(|at| crate::position::resolve(self.text(), at));
        error
    }

    /// The tables of keys that it finds only by the names of an older version.
    ///
    /// # Errors
    /// An error in the statement.
    pub(crate) fn older_names(&self, source: &dyn Source) -> Result<BTreeSet<String>, SqlError> {
        let parameters = Parameters::given(&self.known_parameters()).named(self.names.clone());
        let mut parameters = parameters.of_kept_text(self.is_kept);
        Ok(self.plan_with(&mut parameters, source)?.1.older)
    }

    fn plan_now(&self, version: u64, source: &dyn Source) -> Result<Planned, SqlError> {
        let parameters = Parameters::given(&self.known_parameters());
        let parameters = parameters.named(self.names.clone());
        let mut parameters = parameters.of_kept_text(self.is_kept);
        let (plan, queries) = self.plan_with(&mut parameters, source)?;
        queries.check_populated()?;
        let _ = self.parameters.set(parameters.decided());
        let _ = self.columns.set(plan.columns().cloned());
        Ok(Planned::new(plan, version, queries))
    }

    /// Plans the statement. One of a kept procedure may have the names that an earlier version gave columns.
    fn plan_with(
        &self,
        parameters: &mut Parameters,
        source: &dyn Source,
    ) -> Result<(Plan, Queries), SqlError> {
        match self.plan_once(parameters, source) {
            Err(error) if self.is_kept && may_have_older_names(self.own_text(), &error) => {
                parameters.set_older_names(true);
                self.plan_once(parameters, source).map_err(|_| error)
            }
            planned => planned,
        }
    }

    fn plan_once(
        &self,
        parameters: &mut Parameters,
        source: &dyn Source,
    ) -> Result<(Plan, Queries), SqlError> {
        let mut planning = Planning::new(source, parameters, &self.rights())?;
        match &self.statement {
            Some(statement) => Ok((Plan::of(&mut planning, statement)?, planning.queries)),
            None => Err(SqlError::syntax("there is no statement")),
        }
    }

    /// Notes the description of a statement without a plan.
    pub(crate) fn describe(&self, parameters: Vec<SqlType>, columns: Option<Arc<[ResultColumn]>>) {
        let _ = self.parameters.set(parameters);
        let _ = self.columns.set(columns);
    }

    /// Notes the number of columns of a `COPY`.
    pub(crate) fn describe_copy(&self, columns: usize) {
        let _ = self.copy_columns.set(columns);
        self.describe(Vec::new(), None);
    }
}
