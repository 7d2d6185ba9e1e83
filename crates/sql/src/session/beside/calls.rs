//! `SELECT` of functions of users that change no rows. It is of the writing class, since only the compiled functions show
//! that. However long they take, they run on a snapshot, so no writer waits for them. One short call notes the numbers
//! that they drew from sequences.

use super::made::{Came, Ran};
use super::whole::{commit, note_drawn, turn};
use crate::database::Database;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::plan::Plan;
use crate::plan::routine::{Routine, calls_of};
use crate::running::{Read, read_plan};
use crate::session::execute::check_parameters;
use crate::session::given::Given;
use crate::session::telling::count;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use std::sync::Arc;

/// Tries once, on the state at its beginning.
pub(super) fn read(
    database: &Arc<Database>,
    begun: Committed,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    let source = &**begun.snapshot.space();
    let planned = given.statement.planned(begun.version, &source)?;
    let Plan::Select(plan) = &planned.plan else {
        return Ok(Came::Open);
    };
    check_parameters(given)?;
    for call in calls_of(plan) {
        let Some(routine) = Routine::of(call) else {
            continue;
        };
        let code = routine.code(&source, &routine.rights(with.context))?;
        if code.writes || code.locks_rows {
            // Such a call is made in the transaction.
            planned.was_short(true);
            return Ok(Came::InStage);
        }
    }
    database.memory().check()?;
    let mut ran = read_plan(&source, &planned.plan, with)?;
    count(&mut ran.0, ran.1.as_ref(), database.memory())?;
    // No page is copied for it any more.
    drop(begun);
    let limits = database.beside();
    let turn = turn(database, with)?;
    let ((), durable) = commit(turn, &limits, 0, |tx: &mut Transaction<'_>| {
        note_drawn(tx, database, with)
    })?;
    Ok(Came::Done((ran, durable)))
}
