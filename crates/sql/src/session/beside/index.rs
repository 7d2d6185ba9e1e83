//! An index of a table with many rows: the table's next content has it, and the same rows.

use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::whole::Whole;
use crate::database::Database;
use crate::define;
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::running::Read;
use crate::sequences::SequenceChanges;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::{Durability, Transaction};
use std::sync::Arc;

/// Tries once to run a statement that makes an index.
pub(super) fn build(
    database: &Arc<Database>,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    let Some(statement) = given.statement.statement() else {
        return Ok(Came::InStage);
    };
    let limits = database.beside();
    let turn = database.turn(&with.context.interrupt)?;
    let asked = |tx: &mut Transaction<'_>| {
        let version = database.version();
        let Some((table, definition)) = define::index_to_build(tx, statement)? else {
            return Ok(None);
        };
        let rows = Source::count(&*tx, table)?;
        let schema = Source::schema(&*tx, table);
        Ok::<_, SqlError>(match rows >= limits.from {
            true => schema.map(|schema| (version, table, definition, schema)),
            false => None,
        })
    };
    // What is wrong with it is told where it runs.
    let Ok(Some((version, table, definition, schema))) = turn.run(Durability::Deferred, asked)
    else {
        return Ok(Came::InStage);
    };
    database.memory().check()?;
    let whole = Whole {
        database,
        limits: &limits,
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
    let made = whole.make(&[definition], |tx, _| {
        // The index is there already: what is left is to say so.
        let mut sequences = SequenceChanges::default();
        database.catalogue_changed();
        define::run(
            tx,
            database,
            given.statement,
            &mut sequences,
            &with.context.user,
        )
    });
    database.catalogue_changed();
    Ok(match made? {
        Came::Done((complete, durable)) => Came::Done(((complete, None), durable)),
        Came::Again => Came::Again,
        Came::Open | Came::InStage => Came::InStage,
    })
}
