//! `INSERT` and `COPY … FROM` of many rows. The rows are computed beside the tables; the last call checks that the rows
//! read for them are unchanged.

use super::filling::{Filling, insert_kept};
use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::whole::{Stop, Whole, commit, note_drawn};
use crate::constraints::{at_commit, in_statement};
use crate::copy;
use crate::database::{BesideLimits, Database};
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::plan::Plan;
use crate::plan::triggers::has_triggers;
use crate::relation::Relation;
use crate::result::{Complete, Tag};
use crate::routines::notify;
use crate::running::{Read, run_plan};
use crate::session::execute::check_parameters;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use sqlparser::ast::Statement;
use std::sync::Arc;

/// Tries once, on the state at its beginning.
pub(super) fn insert(
    database: &Arc<Database>,
    begun: Committed,
    limits: &BesideLimits,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    check_parameters(given)?;
    let (version, snapshot) = (begun.version, begun.snapshot);
    let source = &**snapshot.space();
    let is_copy = matches!(given.statement.statement(), Some(Statement::Copy { .. }));
    let (table, planned) = match is_copy {
        true => {
            let table = copy::table_of(given.statement, &source)?;
            if has_triggers(&Relation::numbered(&source, table)?) {
                // No notification of a function is sent from here.
                return Ok(match notify(&source)? {
                    true => Came::InStage,
                    false => Came::Open,
                });
            }
            (table, None)
        }
        false => {
            let planned = given.statement.planned(version, &source)?;
            match &planned.plan {
                Plan::Insert(plan) if planned.is_filling => (plan.number, Some(planned.clone())),
                _ => return Ok(Came::Open),
            }
        }
    };
    let Some(schema) = Source::schema(&source, table) else {
        return Ok(Came::InStage);
    };
    database.memory().check()?;
    let whole = Whole {
        database,
        limits,
        with: *with,
        made: Made::Kept {
            table,
            schema: schema.clone(),
        },
        schema,
        version: Some(version),
        other: None,
        kept: Kept::default(),
        pace: Pace::default(),
    };
    let there = Source::count(&source, table)?;
    if let Some(planned) = &planned
        && limits.is_small(planned, &source)
    {
        return Ok(Came::InStage);
    }
    // An open transaction looks up references.
    let may_be_many = whole.schema.foreign_keys.is_empty();
    let looked_at = with.context.looked_at.get();
    let mut filling = Filling::new(&whole, snapshot, there, may_be_many);
    let ran = match &planned {
        Some(planned) => run_plan(&mut filling, &planned.plan, with).map(drop),
        None => match given.data {
            Some(data) => {
                copy::from_client(&mut filling, given.statement, version, data, with).map(drop)
            }
            None => return Ok(Came::InStage),
        },
    };
    let count = filling.count;
    let has_begun = filling.begun.is_some();
    let ended = match (ran, filling.stop.take()) {
        (_, Some(stop)) => Err(stop),
        (Err(error), None) if error.is_interruption() => Err(Stop::Statement(error)),
        // The open transaction gives the error in its place, after the rows before it.
        (Err(_), None) => Err(Stop::Open),
        (Ok(()), None) => Ok(()),
    };
    let ended = match ended {
        Ok(()) => end(&whole, filling),
        Err(stop) => {
            // The content is dropped, too.
            drop(filling);
            Err(stop)
        }
    };
    let looked_at = with.context.looked_at.get().wrapping_sub(looked_at);
    if let Some(planned) = &planned
        && u64::from(looked_at).max(count) < limits.few.min(limits.from)
    {
        planned.was_short(true);
    }
    let stop = match ended {
        Ok(((), durable)) => {
            let word = if is_copy { "COPY" } else { "INSERT" };
            let complete = Complete::of(Tag::rows(word, count));
            return Ok(Came::Done(((complete, None), durable)));
        }
        Err(stop) => stop,
    };
    if has_begun {
        whole.give_up();
    }
    stop.came()
}

/// The last call.
fn end(whole: &Whole<'_>, mut filling: Filling<'_>) -> Result<Ran<()>, Stop> {
    filling.flush()?;
    whole.limits.pause(&whole.with)?;
    let content = filling.content.take();
    // The memory of the rows is held until they are inserted.
    let (has_read, rows, _memory) = filling.into_parts();
    let Some(content) = content else {
        let turn = whole.turn()?;
        return commit(
            turn,
            whole.limits,
            rows.len(),
            |tx: &mut Transaction<'_>| {
                whole.check_table(tx)?;
                // The state ends before pages change, so that none is copied for it.
                has_read.check(tx)?;
                let inserted = in_statement(tx, &whole.with, |tx| insert_kept(whole, &rows, tx));
                let inserted = inserted.and_then(|()| at_commit(tx));
                let is_final = |error: &SqlError| error.is_interruption() || error.is_too_large();
                inserted.map_err(|error| match is_final(&error) {
                    true => Stop::Statement(error),
                    false => Stop::Open,
                })?;
                Ok(note_drawn(tx, whole.database, &whole.with)?)
            },
        );
    };
    let (last, _, count) = whole.catch_up(&content.beside, content.snapshot)?;
    let check = |tx: &Transaction<'_>| has_read.check(tx);
    whole.take_over(content.beside, (last, count), check, |tx, _| {
        Ok(note_drawn(tx, whole.database, &whole.with)?)
    })
}
