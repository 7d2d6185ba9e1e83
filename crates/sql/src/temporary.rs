//! Temporary tables: tables in a schema of the session, which is dropped with it.
//!
//! They are ordinary tables, kept as `pg_temp_N.name`, with the same cost. The session's schema is made with its first
//! temporary table. It is dropped when the session ends ([`Database::drop_temporary`]). If the process ended before
//! that, the next opening for SQL drops it ([`Database::forget_temporary`]). Temporary tables are transactional: if a
//! transaction is undone, its tables are undone, too.
//!
//! `ON COMMIT` is in the table's notes, and runs in the transaction that commits ([`at_commit`]).

use crate::database::Database;
use crate::define::{drop_broken, drop_kept, drop_schema, empty};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::on_commit::OnCommit;
use crate::path::{is_temporary, number_of_temporary, split};
use crate::relation::Relation;
use crate::rights::Rights;
use crate::schemas::schemas;
use crate::sequences::SequenceChanges;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sardonyx::{Durability, Tables, Transaction};
use sardonyx_storage::catalogue::Kind;

/// The temporary tables of a schema on which a commit has an effect.
fn ending(source: &dyn Source, schema: &str) -> Result<Vec<(Relation, OnCommit)>, SqlError> {
    let mut found = Ok(Vec::new());
    // No other session defines these tables, so a transaction has to note nothing of what it reads here.
    source.unnoted(&mut || found = ending_of(source, schema));
    found
}

fn ending_of(source: &dyn Source, schema: &str) -> Result<Vec<(Relation, OnCommit)>, SqlError> {
    let mut found = Vec::new();
    for (number, definition) in source.definitions().iter().enumerate() {
        let is_table = matches!(definition.kind, Kind::Table { .. });
        if is_table && split(&definition.name).0 == schema {
            let relation = Relation::numbered(source, number as u16)?;
            if let Some(on_commit) = relation.notes.on_commit {
                found.push((relation, on_commit));
            }
        }
    }
    Ok(found)
}

/// Runs `ON COMMIT` for the tables of a session's schema, in the transaction that commits. Returns true if it changed
/// the catalogue.
///
/// # Errors
/// `2BP01` if a lasting object needs a dropped table; an error of the engine.
pub(crate) fn at_commit(
    tx: &mut dyn WriteTarget,
    database: &Database,
    schema: &str,
    sequences: &mut SequenceChanges,
) -> Result<bool, SqlError> {
    let Some(tx) = tx.define() else {
        return Ok(false);
    };
    let (mut emptied, mut dropped) = (Vec::new(), Vec::new());
    for (relation, on_commit) in ending(tx.view(), schema)? {
        match on_commit {
            OnCommit::DeleteRows => emptied.push(relation),
            OnCommit::Drop => dropped.push(relation),
        }
    }
    let mut are_empty = true;
    for relation in &emptied {
        let referring = tx.view().referring(relation.number);
        let is_emptied = |by: &u16| emptied.iter().any(|other| other.number == *by);
        if referring.iter().all(is_emptied) {
            tx.forget_new_rows(relation.number)?;
        }
    }
    for relation in &emptied {
        are_empty &= Source::count(tx.view(), relation.number)? == 0;
    }
    let refer = |relation: &Relation| !relation.schema.foreign_keys.is_empty();
    let has_references = !are_empty && emptied.iter().any(refer);
    if has_references {
        empty(tx, &emptied)?;
    } else if !are_empty {
        for relation in emptied {
            if Source::count(tx.view(), relation.number)? > 0 {
                tx.truncate(&relation.name)?;
            }
        }
    }
    if dropped.is_empty() && !has_references {
        return Ok(false);
    }
    drop_kept(tx, dropped)?;
    drop_broken(tx, schema)?;
    sequences.note_stored(database.counters(), tx.view())?;
    tx.defined()?;
    Ok(true)
}

/// Drops a session's schema with all of its objects, if it exists.
fn drop_all_of(
    tx: &mut Transaction<'_>,
    schema: &str,
    database: &Database,
) -> Result<SequenceChanges, SqlError> {
    let tx: &mut dyn DefineTarget = tx;
    let mut sequences = SequenceChanges::default();
    drop_schema(tx, schema, true, &Rights::default())?;
    sequences.note_stored(database.counters(), tx.view())?;
    Ok(sequences)
}

impl Database {
    /// Drops the temporary tables of a session, without waiting until that is durable. The next opening drops those
    /// that are left.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn drop_temporary(&self, schema: &str) -> Result<(), SqlError> {
        let Some(tables) = self.tables() else {
            return Ok(());
        };
        let is_there = |view: &sardonyx::View<'_>| Ok(crate::schemas::has_schema(view, schema));
        if !tables.read(is_there)?? {
            return Ok(());
        }
        self.catalogue_changed();
        let turn = tables.turn()?;
        let dropped = turn.run(Durability::Deferred, |tx| drop_all_of(tx, schema, self));
        self.catalogue_changed();
        self.sequences_committed(dropped?);
        Ok(())
    }

    /// Drops the temporary tables that sessions of an earlier process left.
    ///
    /// # Errors
    /// The engine's; `XX001` if an object cannot be read.
    pub(crate) fn forget_temporary(&self, tables: &Tables) -> Result<(), SqlError> {
        let left = tables.read(|view| Ok(schemas(view)))??;
        for (schema, number) in left {
            // No session made a schema without an object: a program named its table so.
            if !is_temporary(&schema) || number.is_none() {
                continue;
            }
            match self.drop_temporary(&schema) {
                // A database whose log is full can still be read. They are dropped later, and no new session gets them.
                Err(error) if is_full(&error) => {
                    if let Some(number) = number_of_temporary(&schema) {
                        self.sessions_begin_behind(number);
                    }
                }
                done => done?,
            }
        }
        Ok(())
    }
}

/// True if there was no room for the change.
fn is_full(error: &SqlError) -> bool {
    [code::PROGRAM_LIMIT, code::DISK_FULL, code::OUT_OF_MEMORY].contains(&error.code)
}
