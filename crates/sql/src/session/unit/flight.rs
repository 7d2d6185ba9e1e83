//! The steps of a flight: the statements ahead, and the ends.

use crate::class::Class;
use crate::result::Step;
use sqlparser::ast::Statement;
use std::collections::VecDeque;

/// True if a statement that is ahead writes, before the transaction ends.
pub(in crate::session) fn writes_ahead(steps: &VecDeque<Step>) -> bool {
    for step in steps {
        let (Step::Execute { statement, .. } | Step::Copy { statement, .. }) = step else {
            continue;
        };
        match statement.class() {
            Class::Write | Class::Define => return true,
            _ if statement.ends_transaction() => return false,
            _ => {}
        }
    }
    false
}

/// For each step, true if it is an end.
pub(in crate::session) fn ends(steps: &VecDeque<Step>) -> Vec<bool> {
    let steps = steps.iter();
    steps.map(|step| matches!(step, Step::Sync)).collect()
}

/// True if a step is `LOCK TABLE`.
pub(in crate::session) fn locks_tables(step: &Step) -> bool {
    matches!(step, Step::Execute { statement, .. }
        if matches!(statement.statement(), Some(Statement::Lock(_))))
}

/// True if a transaction may be open when these steps have run, or be run again in part.
pub(super) fn may_stay_open(is_open: bool, steps: &VecDeque<Step>) -> bool {
    let mut open = is_open;
    let mut any = is_open;
    // Steps without an end belong together with later ones.
    if !matches!(steps.back(), Some(Step::Sync)) {
        return true;
    }
    for step in steps {
        let Step::Execute { statement, .. } = step else {
            continue;
        };
        match statement.statement() {
            Some(Statement::StartTransaction { .. }) => {
                open = true;
                any = true;
            }
            Some(Statement::Commit { .. }) => open = false,
            Some(Statement::Rollback {
                savepoint: None, ..
            }) => open = false,
            // Parts of it may be run again.
            Some(
                Statement::Savepoint { .. }
                | Statement::Lock(_)
                | Statement::Rollback {
                    savepoint: Some(_), ..
                },
            ) => return true,
            _ => {}
        }
    }
    any && open
}
