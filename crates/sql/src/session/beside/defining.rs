//! Definitions on a table with many rows. Most of the work is done beside the table; the last call runs the statement,
//! which finds the work done.

use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::redefining::redefine;
use super::whole::{Stop, Whole};
use crate::database::{BesideLimits, Database};
use crate::define::{self, RowsWork, Rule};
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::result::Complete;
use crate::running::Read;
use crate::sequences::SequenceChanges;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::rows::DefineRows;
use sardonyx::schema::GeneratedColumn;
use sardonyx::{Durability, Transaction};
use std::sync::Arc;

/// Tries once to run a definition on the rows of a table.
pub(super) fn define(
    database: &Arc<Database>,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    let limits = database.beside();
    let Some((whole, work)) = Whole::defining((database, &limits), given, with)? else {
        return redefine((database, &limits), given, with);
    };
    let generated = work.index.iter().flat_map(|index| &index.columns);
    let generated: Vec<_> = generated.cloned().collect();
    if generated.is_empty() {
        return define_whole(&whole, &work, given);
    }
    // New and changed rows have them from now on.
    match whole.generate(&generated) {
        Ok(()) => {}
        Err(stop) => return Ok(of_stage(stop.came::<()>()?)),
    }
    let again = Whole::defining((database, &limits), given, with);
    let came = again.and_then(|again| match again {
        Some((whole, work)) => define_whole(&whole, &work, given),
        None => Ok(Came::InStage),
    });
    // For any reason: the statement may have been cancelled between the two.
    if !matches!(came, Ok(Came::Done(_))) {
        whole.forget_generated(work.table);
    }
    came
}

fn define_whole(
    whole: &Whole<'_>,
    work: &RowsWork,
    given: &Given<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    let database = whole.database;
    match whole.have(&work.columns())? {
        Came::Done(()) => {}
        came => return Ok(of_stage(came)),
    }
    let mut has_run = false;
    let finish = |tx: &mut Transaction<'_>| whole.define(given, work, tx, &mut has_run);
    let made = match (&work.index, &work.rule) {
        (Some(index), rule) => whole.with_index(index, rule.as_ref(), finish),
        (None, Some(rule)) => whole.with_rule(rule, finish),
        (None, None) => return Ok(Came::InStage),
    };
    if has_run {
        // Other sessions may have compiled plans for a catalogue that was undone.
        database.catalogue_changed();
    }
    match made {
        Ok((complete, durable)) => Ok(Came::Done(((complete, None), durable))),
        Err(stop) => Ok(of_stage(stop.came::<()>()?)),
    }
}

impl<'w> Whole<'w> {
    /// The work of a statement on the rows of a table, if they are many. `None` otherwise, or for an error in the
    /// statement: the run of it finds the error.
    fn defining(
        (database, limits): (&'w Arc<Database>, &'w BesideLimits),
        given: &Given<'_>,
        with: &Environment<'w>,
    ) -> Result<Option<(Self, RowsWork)>, SqlError> {
        let Some(statement) = given.statement.statement() else {
            return Ok(None);
        };
        let turn = database.turn(&with.context.interrupt)?;
        let asked = |tx: &mut Transaction<'_>| {
            let Some(work) = RowsWork::of(tx, statement, given.statement.rights().path())? else {
                return Ok(None);
            };
            let rows = Source::count(&*tx, work.table)?;
            let schema = |table| Source::schema(&*tx, table);
            let parent = work.rule.as_ref().and_then(Rule::parent);
            let other = parent.and_then(|parent| Some((parent, schema(parent)?)));
            Ok::<_, SqlError>(match rows >= limits.from {
                true => schema(work.table).map(|schema| (work, schema, other)),
                false => None,
            })
        };
        let Ok(Some((work, schema, other))) = turn.run(Durability::Deferred, asked) else {
            return Ok(None);
        };
        database.memory().check()?;
        let whole = Whole {
            database,
            limits,
            with: *with,
            made: Made::Kept {
                table: work.table,
                schema: schema.clone(),
            },
            schema,
            version: None,
            other,
            kept: Kept::default(),
            pace: Pace::default(),
        };
        Ok(Some((whole, work)))
    }

    /// Declares columns that are generated for an index. The table's rows do not have them yet.
    fn generate(&self, columns: &[GeneratedColumn]) -> Result<(), Stop> {
        let table = self.made.table();
        let declare = |tx: &mut Transaction<'_>| {
            self.check_table(tx)?;
            Ok::<_, Stop>(tx.declare_generated(table, columns)?)
        };
        self.turn()?.run(Durability::Deferred, declare)?;
        self.database.catalogue_changed();
        Ok(())
    }

    /// Drops the columns of indexes that no index names: this one was not made. If that fails, the next `DROP INDEX` or
    /// `DROP COLUMN` of the table drops them, or the next opening.
    fn forget_generated(&self, table: u16) {
        if let Ok(turn) = self.database.turn(&Arc::default()) {
            let forget = |tx: &mut Transaction<'_>| tx.drop_unused_columns(table);
            let _ = turn.run(Durability::Deferred, forget);
            self.database.catalogue_changed();
        }
    }

    /// Rewrites all rows of the table unchanged, if some are older than one of these columns: these have no place for
    /// it.
    pub fn have(&self, columns: &[usize]) -> Result<Came<()>, SqlError> {
        let table = self.made.table();
        let have = self.newest();
        let have = have.and_then(|now| Ok(now.space().all_have(table, columns)?));
        match have {
            Ok(true) => Ok(Came::Done(())),
            Ok(false) => Ok(match self.make(|_, _| Ok(()))? {
                Came::Done(_) => Came::Done(()),
                came => of_stage(came),
            }),
            Err(stop) => stop.came(),
        }
    }

    /// Runs the statement in the last call, if its work is the prepared one.
    fn define(
        &self,
        given: &Given<'_>,
        work: &RowsWork,
        tx: &mut Transaction<'_>,
        has_run: &mut bool,
    ) -> Result<Complete, Stop> {
        let mut sequences = SequenceChanges::default();
        let statement = given.statement.statement();
        let rights = given.statement.rights();
        let now = statement.map(|statement| RowsWork::of(tx, statement, rights.path()));
        if !matches!(now, Some(Ok(Some(now))) if now == *work) {
            return Err(self.conflict());
        }
        *has_run = true;
        self.database.catalogue_changed();
        let user = &self.with.context.user;
        let done = define::run(
            tx,
            self.database,
            given.statement,
            &mut sequences,
            (user, None),
        );
        Ok(done?)
    }
}

/// The stage gives the error of a statement.
pub(super) fn of_stage<T, U>(came: Came<U>) -> Came<T> {
    match came {
        Came::Again => Came::Again,
        Came::Waited => Came::Waited,
        _ => Came::InStage,
    }
}
