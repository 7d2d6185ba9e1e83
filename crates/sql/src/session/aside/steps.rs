//! The steps of a flight, as far as they decide where their transaction runs.

use crate::class::Class;
use crate::database::Database;
use crate::names::of_public;
use crate::prepared::Prepared;
use crate::result::{CopyData, Step};
use sqlparser::ast::Statement;
use std::collections::VecDeque;
use std::sync::Arc;

/// True if a statement can run aside. Some procedures of programs get a transaction of the stage.
pub(super) fn is_possible(statement: &Prepared, database: &Database) -> bool {
    match statement.statement() {
        Some(Statement::Call(function)) => {
            let name = of_public(&function.name);
            let registered = name.map(|name| database.registered(&name));
            registered.is_ok_and(|one| one.is_none_or(|one| one.runs_aside()))
        }
        _ => true,
    }
}

/// A step that may have to run again in the stage.
pub(super) enum Again {
    Step(Step),
    /// The copy of data into a table. The unit has the data.
    Copy(Arc<Prepared>),
    No,
}

impl Again {
    /// The same step, if it defines something. `is_for_rows`: also if it changes rows, or reads
    /// some.
    pub fn of(step: &Step, is_for_rows: bool) -> Again {
        match step {
            Step::Execute {
                statement,
                parameters,
                rows_max,
            } if statement.class() == Class::Define
                || is_for_rows && matches!(statement.class(), Class::Write | Class::Read) =>
            {
                Again::Step(Step::Execute {
                    statement: statement.clone(),
                    parameters: parameters.clone(),
                    rows_max: *rows_max,
                })
            }
            Step::Copy { statement, .. } if is_for_rows => Again::Copy(statement.clone()),
            _ => Again::No,
        }
    }

    pub fn is_known(&self) -> bool {
        !matches!(self, Again::No)
    }

    pub fn defines(&self) -> bool {
        matches!(self, Again::Step(Step::Execute { statement, .. }) if statement.class() == Class::Define)
    }

    /// The step, with the data of the unit's last copy.
    pub fn step(self, copied: Option<Arc<CopyData>>) -> Option<Step> {
        match self {
            Again::Step(step) => Some(step),
            Again::Copy(statement) => Some(Step::Copy {
                statement,
                data: Arc::unwrap_or_clone(copied?),
            }),
            Again::No => None,
        }
    }
}

/// True if a step begins or ends a transaction or a part of one, or nothing.
pub(super) fn is_control(step: &Step) -> bool {
    match step {
        Step::Execute { statement, .. } => statement.class() == Class::Control,
        Step::Copy { .. } => false,
        Step::Sync | Step::Fail(_) => true,
    }
}

/// True if a step is the commit of a transaction.
pub(in crate::session) fn is_commit(step: &Step) -> bool {
    match step {
        Step::Execute { statement, .. } => {
            matches!(
                statement.statement(),
                Some(Statement::Commit { chain: false, .. })
            )
        }
        _ => false,
    }
}

/// True if the stage can take back these steps of a transaction: queries and changes of rows, and the end.
pub(super) fn can_be_tried(steps: &VecDeque<Step>) -> bool {
    let is_one = |step: &&Step| match step {
        Step::Execute { statement, .. } => {
            let is_plain = matches!(
                statement.statement(),
                Some(
                    Statement::Query(_)
                        | Statement::Insert(_)
                        | Statement::Update(_)
                        | Statement::Delete(_)
                        | Statement::Merge(_)
                )
            );
            is_plain
                && !statement.sets_session()
                && !statement.notifies()
                && !statement.locks_rows()
        }
        _ => false,
    };
    let mut rest = steps.iter().skip_while(is_one);
    rest.next().is_some_and(is_commit)
        && matches!(rest.next(), Some(Step::Sync))
        && rest.next().is_none()
}

/// True if the steps of a transaction, to its end, have a long one, and none that defines something: most definitions run in
/// the stage at the end.
pub(super) fn is_long_to_its_end(steps: &VecDeque<Step>, is_long: impl Fn(&Step) -> bool) -> bool {
    let mut own = steps.iter().take_while(|step| !is_commit(step));
    own.any(is_long) && !defines(steps)
}

/// True if one of the steps of a transaction, to its end, defines something.
pub(super) fn defines(steps: &VecDeque<Step>) -> bool {
    let mut own = steps.iter().take_while(|step| !is_commit(step));
    own.any(|step| matches!(step, Step::Execute { statement, .. } if statement.class() == Class::Define))
}
