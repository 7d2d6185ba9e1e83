//! Turns at the stage: statements that only read need none while another one has it.

use crate::class::Class;
use crate::database::Database;
use crate::error::SqlError;
use crate::result::Step;
use sardonyx::low_level::{Reached, Turn};
use sardonyx_base::waiting::Interrupt;
use std::collections::VecDeque;
use std::sync::Arc;

/// Waits for a turn. `None` if a statement that only reads can run without one.
pub(super) fn turn_for<'d>(
    database: &'d Database,
    interrupt: &Arc<Interrupt>,
    only_reads: bool,
) -> Result<Option<Turn<'d>>, SqlError> {
    if !only_reads {
        return database.turn(interrupt).map(Some);
    }
    match database.reach(Some(interrupt))? {
        Reached::Turn(turn) => Ok(Some(turn)),
        Reached::Committed(_) => Ok(None),
    }
}

/// True if the next step is a statement that only reads, with an end behind it.
pub(super) fn reads_alone(steps: &VecDeque<Step>) -> bool {
    let reads = |step: &Step| matches!(step, Step::Execute { statement, .. } if statement.class() == Class::Read);
    steps.front().is_some_and(reads) && matches!(steps.get(1), Some(Step::Sync))
}

/// True if a statement may look at many rows, and change them.
pub(super) fn may_be_many(step: &Step) -> bool {
    matches!(step, Step::Execute { statement, .. } if statement.class() == Class::Write
        && statement.last_plan().is_some_and(|plan| plan.may_run_beside()))
}

/// True if the stage tries a statement: its last run looked at few rows, and this one may look at many.
pub(super) fn tries(step: &Step) -> bool {
    matches!(step, Step::Execute { statement, .. } if statement.class() == Class::Write
        && statement.last_plan().is_some_and(|plan| plan.is_tried()))
}
