//! `CREATE TABLE … AS`, `SELECT … INTO`, `CREATE MATERIALIZED VIEW` and `REFRESH` of many rows.
//!
//! A short call runs the statement without its rows, notes the schema and the plan of the query, undoes all, and takes a
//! snapshot. The query runs in that snapshot, and its rows go into a content for the table that the statement creates or
//! empties ([`Filling`]). The last call runs the statement without its rows again; the table has the content then. Few
//! rows are inserted in that call.
//!
//! Others may change the tables that were read, and define anything else, meanwhile: the statement counts as run at its
//! snapshot, which is later than its beginning. Until the last call, its table has no rows that anyone could read. So
//! every other transaction reads the same rows as if the statement had run at the snapshot. The rows of a materialized
//! view are those of its last refresh, by definition.
//!
//! Invariant: plan and snapshot are of one turn of the stage, so of one catalogue. The last call makes the same table as
//! the first one, or the statement begins again.

use super::defining::of_stage;
use super::filling::Filling;
use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::whole::{Stop, Whole, commit, give_up, note_drawn};
use crate::database::{BesideLimits, Database};
use crate::define::{Defined, begin_with, refreshed_table};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Kept};
use crate::plan::Planned;
use crate::plan::write::whole as writer_of;
use crate::relation::Relation;
use crate::result::Complete;
use crate::running::{Read, run_plan};
use crate::session::given::Given;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sardonyx::low_level::{Beside, Redefined};
use sardonyx::schema::Value;
use sardonyx::{Durability, Snapshot, Transaction};
use std::sync::Arc;

/// The statement.
struct Creating<'c> {
    database: &'c Arc<Database>,
    limits: &'c BesideLimits,
    given: &'c Given<'c>,
    with: &'c Environment<'c>,
}

/// A statement that was run without its rows, and undone.
struct Tried {
    redefined: Redefined,
    planned: Planned,
    /// The view, if the statement fills one again.
    refreshed: Option<u16>,
    /// The state of the tables in that call.
    snapshot: Snapshot,
}

/// A view that is filled again, and the state before that.
type Refreshed = (u16, Snapshot);

/// Tries once.
pub(super) fn create(
    database: &Arc<Database>,
    limits: &BesideLimits,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    database.memory().check()?;
    let creating = Creating {
        database,
        limits,
        given,
        with,
    };
    let Some(tried) = creating.try_it()? else {
        return Ok(Came::InStage);
    };
    let snapshot = tried.snapshot.clone();
    // Calls that are made once may stand in a view, too.
    let calls_once = tried.planned.sets_session;
    if calls_once
        || creating
            .limits
            .is_small(&tried.planned, &&**snapshot.space())
    {
        return Ok(Came::InStage);
    }
    let schema = tried.redefined.schema().clone();
    let whole = Whole {
        database,
        limits: creating.limits,
        with: *with,
        made: Made::Kept {
            table: tried.redefined.table(),
            schema: schema.clone(),
        },
        schema,
        version: None,
        other: None,
        kept: Kept::default(),
        pace: Pace::default(),
    };
    let mut filling = Filling::of_redefined(&whole, snapshot.clone(), &tried.redefined);
    let ran = run_plan(&mut filling, &tried.planned.plan, with);
    let begun = filling.begun;
    let stop = match (ran, filling.stop.take()) {
        (_, Some(stop)) => Some(stop),
        // Its state is later than the beginning of the statement.
        (Err(error), None) => Some(Stop::Statement(error).unless_ended(&[&snapshot])),
        (Ok(_), None) => None,
    };
    drop(snapshot);
    let refreshed = tried.refreshed.map(|table| (table, tried.snapshot));
    let ended = match stop {
        Some(stop) => {
            // With the content: only one without an owner is dropped from the catalogue.
            drop(filling);
            Err(stop)
        }
        None => creating.end(&whole, filling, refreshed),
    };
    match ended {
        Ok((complete, durable)) => Ok(Came::Done(((complete, None), durable))),
        Err(stop) => {
            if let Some(table) = begun {
                give_up(database, table);
            }
            Ok(of_stage(stop.came::<()>()?))
        }
    }
}

impl Creating<'_> {
    /// Runs the statement without its rows, and undoes it. `None` if the stage gives its result.
    fn try_it(&self) -> Result<Option<Tried>, SqlError> {
        let database = self.database;
        let mut turn = database.turn(&self.with.context.interrupt)?;
        let Ok(snapshot) = turn.before() else {
            return Ok(None);
        };
        let tried = turn.run(Durability::Deferred, |tx| {
            let mut planned = None;
            let mut define = |tx: &mut Transaction<'_>| {
                let Defined::Unfilled(unfilled) = self.define(tx)? else {
                    return Err(no_rows());
                };
                planned = Some(unfilled.plan(&*tx)?);
                Ok::<_, SqlError>(Relation::named(&*tx, &unfilled.name)?.number)
            };
            database.catalogue_changed();
            let refreshed = refreshed_table(&*tx, self.given.statement);
            let redefined = match &refreshed {
                Ok(Some(table)) => tx.try_redefine(*table, |tx| define(tx).map(drop)),
                Ok(None) => tx.try_create(define),
                Err(_) => return Ok(None),
            };
            // Plans that others have compiled since then may be for a catalogue that was undone.
            database.catalogue_changed();
            match (redefined, planned) {
                (Err(error), _) if error.is_interruption() => Err(error),
                (Ok(redefined), Some((plan, queries))) => Ok(Some(Tried {
                    redefined,
                    planned: Planned::new(plan, database.version(), queries),
                    refreshed: refreshed.unwrap_or_default(),
                    snapshot,
                })),
                _ => Ok(None),
            }
        });
        match tried {
            Err(error) if error.is_interruption() => Err(error),
            tried => Ok(tried.unwrap_or_default()),
        }
    }

    /// Runs the statement without its rows.
    fn define(&self, tx: &mut Transaction<'_>) -> Result<Defined, SqlError> {
        begin_with(tx, self.database, self.given.statement, self.with)
    }

    /// Ends the statement, once its query has run.
    fn end(
        &self,
        whole: &Whole<'_>,
        mut filling: Filling<'_>,
        refreshed: Option<Refreshed>,
    ) -> Result<Ran<Complete>, Stop> {
        filling.flush()?;
        self.limits.pause(self.with)?;
        let content = filling.content.take().map(|content| content.beside);
        let count = filling.count;
        // The memory of the rows is held until they are inserted.
        let (_, rows, _memory) = filling.into_parts();
        let rows = (content, &rows[..], count);
        let ended = self.last_call(whole, rows, refreshed);
        // Others may have compiled plans for a catalogue that was undone.
        self.database.catalogue_changed();
        ended
    }

    fn last_call(
        &self,
        whole: &Whole<'_>,
        (content, rows, count): (Option<Beside>, &[Vec<Value>], u64),
        refreshed: Option<Refreshed>,
    ) -> Result<Ran<Complete>, Stop> {
        let body = |tx: &mut Transaction<'_>| {
            if let Some((table, before)) = refreshed {
                // A later refresh of another session would be lost.
                before
                    .space()
                    .changed_rows(table, tx.view(), |_, _| Err(whole.conflict()))?;
                // The state ends before pages change, so that none is copied for it.
                drop(before);
            }
            self.database.catalogue_changed();
            let define = |tx: &mut Transaction<'_>| self.make(whole, rows, count, tx);
            let complete = match content {
                Some(content) => tx.take_over_redefined(content, define)?,
                None => define(tx)?,
            };
            self.database.catalogue_changed();
            note_drawn(tx, self.database, self.with)?;
            Ok(complete)
        };
        commit(whole.turn()?, self.limits, rows.len(), body)
    }

    /// Runs the statement without its rows, and inserts these rows.
    fn make(
        &self,
        whole: &Whole<'_>,
        rows: &[Vec<Value>],
        count: u64,
        tx: &mut Transaction<'_>,
    ) -> Result<Complete, Stop> {
        // The stage gives the error of a statement.
        let of_stage = |error: SqlError| match error.is_interruption() || error.is_too_large() {
            true => Stop::Statement(error),
            false => Stop::Open,
        };
        let refreshed = refreshed_table(&*tx, self.given.statement).map_err(of_stage)?;
        if refreshed.is_some_and(|table| table != whole.made.table()) {
            // Its name is another view's by now.
            return Err(whole.conflict());
        }
        let Defined::Unfilled(unfilled) = self.define(tx).map_err(of_stage)? else {
            return Err(Stop::Open);
        };
        let relation = Relation::named(&*tx, &unfilled.name).map_err(of_stage)?;
        let schema = Source::schema(&*tx, relation.number);
        if schema.as_deref() != Some(&*whole.schema) {
            return Err(whole.conflict());
        }
        for row in rows {
            let row = writer_of(&whole.schema, row);
            WriteTarget::insert(tx, relation.number, &row)
                .map_err(|error| of_stage(error.into()))?;
        }
        unfilled.end(tx, count).map_err(of_stage)
    }
}

/// The statement has no rows to insert. No client gets this: the stage runs it.
#[cold]
fn no_rows() -> SqlError {
    SqlError::new(code::INTERNAL, "the statement inserts no rows")
}
