//! Statements that define something of a table with many rows, of which most of the work is done beside the table: the
//! last call runs the statement, which finds it done.

use super::made::{Came, Made};
use super::pace::Pace;
use super::whole::Whole;
use crate::database::{BesideLimits, Database};
use crate::define;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::result::Complete;
use crate::sequences::SequenceChanges;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::{Durability, Transaction};
use sqlparser::ast::Statement;
use std::sync::Arc;

impl<'w> Whole<'w> {
    /// What `find` says that a statement asks of a table, if that has many rows; else none, or if something is wrong with
    /// the statement, which is told where it runs.
    pub fn defining<T>(
        (database, limits): (&'w Arc<Database>, &'w BesideLimits),
        given: &Given<'_>,
        with: &Environment<'w>,
        find: impl FnOnce(&dyn DefineTarget, &Statement) -> Result<Option<(u16, T)>, SqlError>,
    ) -> Result<Option<(Self, T)>, SqlError> {
        let Some(statement) = given.statement.statement() else {
            return Ok(None);
        };
        let turn = database.turn(&with.context.interrupt)?;
        let asked = |tx: &mut Transaction<'_>| {
            let version = database.version();
            let Some((table, found)) = find(tx, statement)? else {
                return Ok(None);
            };
            let rows = Source::count(&*tx, table)?;
            let schema = Source::schema(&*tx, table);
            Ok::<_, SqlError>(match rows >= limits.from {
                true => schema.map(|schema| (version, table, found, schema)),
                false => None,
            })
        };
        let Ok(Some((version, table, found, schema))) = turn.run(Durability::Deferred, asked)
        else {
            return Ok(None);
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
            version,
            kept: Kept::default(),
            pace: Pace::default(),
        };
        Ok(Some((whole, found)))
    }

    /// Has all rows of the table have these columns where they stand: if there are some of before one of them was added, all
    /// are rewritten, as they are.
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

    /// Runs the statement in the last call.
    pub fn define(
        &self,
        given: &Given<'_>,
        tx: &mut Transaction<'_>,
    ) -> Result<Complete, SqlError> {
        let mut sequences = SequenceChanges::default();
        self.database.catalogue_changed();
        let user = &self.with.context.user;
        define::run(tx, self.database, given.statement, &mut sequences, user)
    }
}

/// The stage says what is wrong with a statement.
pub(super) fn of_stage<T, U>(came: Came<U>) -> Came<T> {
    match came {
        Came::Again => Came::Again,
        _ => Came::InStage,
    }
}
