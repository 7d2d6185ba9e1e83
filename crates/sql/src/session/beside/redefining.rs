//! `ALTER TABLE` that rewrites the rows of a large table: its next content is of the schema that the statement makes.
//!
//! The statement is tried in a short call on the table without its rows, and undone; so its schema is known, with all
//! indexes and conditions. The content is made as of any other statement on many rows. The last call runs the statement
//! again on the table without its rows, and the table takes the content over. So no statement needs a second form for that.
//!
//! Invariant: the statement never meets rows, so an error of it in either call says nothing to the client. The stage runs it
//! then. A row whose new values cannot be computed in a snapshot is the statement's error.

use super::defining::of_stage;
use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::whole::{Stop, Whole, commit, put_last};
use crate::database::{BesideLimits, Database};
use crate::define::{self, Rewritten, works_on_rows};
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::result::Complete;
use crate::running::Read;
use crate::sequences::SequenceChanges;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::low_level::{Beside, Redefined};
use sardonyx::schema::Schema;
use sardonyx::{Durability, Snapshot, Transaction};
use std::sync::Arc;

/// The statement.
struct Redefining<'r> {
    database: &'r Arc<Database>,
    given: &'r Given<'r>,
    user: &'r str,
    rewritten: Rewritten,
}

/// Tries once to run a statement that rewrites the rows of a table.
pub(super) fn redefine(
    (database, limits): (&Arc<Database>, &BesideLimits),
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    let statement = given.statement.statement();
    let Some(statement) = statement.filter(|statement| works_on_rows(statement)) else {
        return Ok(Came::InStage);
    };
    let path = given.statement.rights();
    let turn = database.turn(&with.context.interrupt)?;
    let tried = turn.run(Durability::Deferred, |tx| {
        let Ok(Some(rewritten)) = Rewritten::of(tx, statement, path.path()) else {
            return Ok::<_, SqlError>(None);
        };
        let is_small = Source::count(&*tx, rewritten.table)? < limits.from;
        if is_small && !limits.is_of_many_bytes(&*tx, rewritten.table) {
            return Ok(None);
        }
        let Some(schema) = Source::schema(&*tx, rewritten.table) else {
            return Ok(None);
        };
        let redefining = Redefining {
            database,
            given,
            user: &with.context.user,
            rewritten,
        };
        let table = redefining.rewritten.table;
        let tried = tx.try_redefine(table, |tx| redefining.run(tx).map(drop));
        match tried {
            Ok(redefined) => Ok(Some((redefining, schema, redefined))),
            Err(error) if error.is_interruption() => Err(error),
            Err(_) => Ok(None),
        }
    });
    // Plans that others have compiled since then may be for a catalogue that was undone.
    database.catalogue_changed();
    match tried {
        Ok(Some((redefining, schema, redefined))) => {
            database.memory().check()?;
            redefining.beside((&schema, &redefined), limits, with)
        }
        Err(error) if error.is_interruption() => Err(error),
        // The stage says what is wrong with it.
        _ => Ok(Came::InStage),
    }
}

impl Redefining<'_> {
    /// Runs the statement on the table without its rows.
    fn run(&self, tx: &mut Transaction<'_>) -> Result<Complete, SqlError> {
        self.database.catalogue_changed();
        let mut sequences = SequenceChanges::default();
        let statement = self.given.statement;
        define::run(
            tx,
            self.database,
            statement,
            &mut sequences,
            (self.user, None),
        )
    }

    /// Makes the content, and has the table take it over.
    fn beside(
        &self,
        (schema, redefined): (&Arc<Schema>, &Redefined),
        limits: &BesideLimits,
        with: &Environment<'_>,
    ) -> Result<Came<Ran<Read>>, SqlError> {
        let Some(rows) = self.rewritten.rows(schema, redefined.schema()) else {
            return Ok(Came::InStage);
        };
        let whole = Whole {
            database: self.database,
            limits,
            with: *with,
            made: Made::Redefined {
                table: self.rewritten.table,
                schema: schema.clone(),
                next: redefined.schema().clone(),
                rows: &rows,
            },
            schema: schema.clone(),
            version: None,
            other: None,
            kept: Kept::default(),
            pace: Pace::default(),
        };
        let made = whole.begin_redefined(redefined).and_then(|beside| {
            let snapshot = whole.newest()?;
            whole.fill_from(&beside, &snapshot)?;
            let (last, _, count) = whole.catch_up(&beside, snapshot)?;
            self.take_over(&whole, beside, (last, count))
        });
        self.database.catalogue_changed();
        match made {
            Ok((complete, durable)) => Ok(Came::Done(((complete, None), durable))),
            Err(stop) => {
                // The content is abandoned.
                whole.give_up();
                Ok(of_stage(stop.came::<()>()?))
            }
        }
    }

    /// The last call.
    fn take_over(
        &self,
        whole: &Whole<'_>,
        beside: Beside,
        (last, count): (Snapshot, usize),
    ) -> Result<Ran<Complete>, Stop> {
        let turn = whole.turn()?;
        commit(turn, whole.limits, count, |tx: &mut Transaction<'_>| {
            whole.check_table(tx)?;
            if !self.is_same(tx) {
                return Err(whole.conflict());
            }
            let changes = whole.last_changes(tx, &last)?;
            // Before pages change, so that none is copied for it.
            drop(last);
            put_last(tx, (whole.next_schema(), &beside), &changes)?;
            tx.take_over_redefined(beside, |tx| {
                self.run(tx).map_err(|error| match error.is_interruption() {
                    true => Stop::Statement(error),
                    false => Stop::Open,
                })
            })
        })
    }

    /// True if the statement still makes the same rows.
    fn is_same(&self, tx: &Transaction<'_>) -> bool {
        let rights = self.given.statement.rights();
        let statement = self.given.statement.statement();
        let now = statement.map(|statement| Rewritten::of(tx, statement, rights.path()));
        matches!(now, Some(Ok(Some(now))) if now == self.rewritten)
    }
}

impl Whole<'_> {
    /// Begins the content of a table that a definition rewrites, empties or creates.
    pub fn begin_redefined(&self, redefined: &Redefined) -> Result<Beside, Stop> {
        self.begin_with(|tx| tx.begin_redefined(redefined), false)
    }
}
