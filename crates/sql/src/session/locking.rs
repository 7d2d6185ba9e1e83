//! `LOCK TABLE`: locks of tables until the transaction's end. It waits for other transactions that have locked or claimed
//! in a mode that excludes its own. It runs outside the serial stage, keeps no snapshot, and is not run again.
//!
//! Statements on rows wait for no lock. They are compared at the commit, whatever the locks of their tables.

use super::Session;
use super::state::TransactionState;
use crate::advisory::{Key, Mode};
use crate::claims::TableId;
use crate::error::{SqlError, code};
use crate::expression::{Parameters, Queries as _};
use crate::lock_modes::TableMode;
use crate::locking::outside_of_transactions;
use crate::path::local;
use crate::plan::planning::Planning;
use crate::plan::views::names_read;
use crate::prepared::Prepared;
use crate::relation::{Relation, index_named, kind, object};
use crate::result::{Complete, Outcome, Tag};
use crate::rights::Access;
use crate::source::Source;
use sardonyx_base::waiting;
use sqlparser::ast::{Lock, ObjectName, Statement};
use std::time::Instant;

/// A table to lock, and its name.
type Locked = (TableId, String);

impl Session {
    /// Runs `LOCK TABLE`, if the statement is one.
    pub(super) fn lock_tables(&mut self, statement: &Prepared) -> Option<Outcome> {
        let Some(Statement::Lock(lock)) = statement.statement() else {
            return None;
        };
        Some(match self.try_lock_tables(statement, lock) {
            Ok(()) => Outcome::Done(Complete::of(Tag::plain("LOCK TABLE"))),
            Err(error) => {
                self.state.fail();
                Outcome::Failed(statement.placed(error))
            }
        })
    }

    fn try_lock_tables(&mut self, statement: &Prepared, lock: &Lock) -> Result<(), SqlError> {
        match &self.state.transaction {
            TransactionState::Open(open) if !open.is_implicit => {
                self.locker.note_transaction(open.started.number);
            }
            _ => return Err(outside_of_transactions()),
        }
        self.database.tables_in_memory("LOCK TABLE")?;
        self.make_own_tables_again()?;
        let mode = TableMode::of(lock.lock_mode.as_ref());
        loop {
            let tables = self.tables_of(statement, lock, mode)?;
            let mark = self.locker.mark();
            for (table, name) in &tables {
                self.lock_table((*table, name), mode, lock.nowait)?;
            }
            // Others may have dropped them, or given their names to others, while this waited.
            if self.tables_of(statement, lock, mode)? == tables {
                return Ok(());
            }
            self.locker.return_to(mark);
        }
    }

    fn lock_table(
        &self,
        (table, name): (TableId, &str),
        lock: TableMode,
        nowait: bool,
    ) -> Result<(), SqlError> {
        let key = Key::Table(table);
        let mode = Mode {
            lock,
            of_transaction: true,
        };
        if self.locker.try_take(key, mode)? {
            return Ok(());
        }
        if nowait {
            let text = format!("could not obtain lock on relation \"{name}\"");
            return Err(SqlError::new(code::LOCK_NOT_AVAILABLE, text));
        }
        let look = self.look_while_locking();
        waiting::aside(|| self.locker.take(key, mode, look))
    }

    /// The look of a statement that waits for a lock: its interruption, and `lock_timeout`.
    pub(super) fn look_while_locking(&self) -> impl Fn() -> Result<(), SqlError> + use<> {
        let interrupt = self.state.interrupt.clone();
        let limit = self.state.settings.lock_timeout();
        let until = limit.map(|limit| Instant::now() + limit);
        move || match interrupt.take() {
            Some(reason) => Err(SqlError::interrupted(reason)),
            None if until.is_some_and(|until| Instant::now() >= until) => Err(SqlError::new(
                code::LOCK_NOT_AVAILABLE,
                "canceling statement due to lock timeout",
            )),
            None => Ok(()),
        }
    }

    fn tables_of(
        &mut self,
        statement: &Prepared,
        lock: &Lock,
        mode: TableMode,
    ) -> Result<Vec<Locked>, SqlError> {
        statement.look_in(self.state.settings.path());
        let mut defines = false;
        if let TransactionState::Open(open) = &mut self.state.transaction {
            if let Some((_, rows)) = open.own_tables() {
                return named(statement, lock, mode, rows);
            }
            defines = open.defines;
        }
        let committed = self.database.committed(&self.state.interrupt)?;
        let found = named(statement, lock, mode, &&**committed.snapshot.space());
        found.map_err(|error| match error.code {
            // Its own tables are known in the stage only.
            code::UNKNOWN_TABLE if defines => SqlError::unsupported(
                "LOCK TABLE of a table that the transaction has created is not supported here",
            ),
            _ => error,
        })
    }
}

/// The tables that the statement names, in its order.
fn named(
    statement: &Prepared,
    lock: &Lock,
    mode: TableMode,
    source: &dyn Source,
) -> Result<Vec<Locked>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, &statement.rights())?;
    let mut tables = Vec::with_capacity(lock.tables.len());
    for target in &lock.tables {
        add_tables(source, &mut planning, (&target.name, mode), &mut tables)?;
    }
    Ok(tables)
}

/// Adds a table; for a view, the tables that it reads, also through other views.
fn add_tables(
    source: &dyn Source,
    planning: &mut Planning<'_>,
    (name, mode): (&ObjectName, TableMode),
    tables: &mut Vec<Locked>,
) -> Result<(), SqlError> {
    let locked = |relation: &Relation| {
        let table = TableId::of(source.definitions(), relation.number);
        (table, relation.local().to_string())
    };
    let access = match mode {
        TableMode::AccessShare => Access::Read,
        _ => Access::Write,
    };
    if let Some((name, view)) = planning.view(name)? {
        planning.queries.rights().check(&name, access)?;
        for name in names_read(source, &view)? {
            // The others are views, and tables of the catalogue.
            if source.table_named(&name).is_some() {
                tables.push(locked(&Relation::named(source, &name)?));
            }
        }
        return Ok(());
    }
    let relation = planning.relation(name);
    let relation = relation.map_err(|error| not_a_table(source, planning, name, error))?;
    if relation.notes.materialized.is_some() {
        return Err(wrong_kind(relation.local(), "materialized views"));
    }
    if access > Access::Read {
        planning.relation_to_change(name)?;
    }
    tables.push(locked(&relation));
    Ok(())
}

/// The error of a name that is no table, with its kind if it is known.
fn not_a_table(
    source: &dyn Source,
    planning: &Planning<'_>,
    name: &ObjectName,
    error: SqlError,
) -> SqlError {
    let rights = planning.queries.rights();
    let Ok(found) = rights.path().find(source, name) else {
        return error;
    };
    let is_sequence = matches!(object(source, kind::SEQUENCE, &found), Ok(Some(_)));
    match error.code {
        code::UNKNOWN_TABLE if is_sequence => wrong_kind(local(&found), "sequences"),
        code::UNKNOWN_TABLE if index_named(source, &found).is_some() => {
            wrong_kind(local(&found), "indexes")
        }
        _ => error,
    }
}

fn wrong_kind(name: &str, kinds: &str) -> SqlError {
    let text = format!("cannot lock relation \"{name}\"");
    SqlError::new(code::WRONG_OBJECT_TYPE, text)
        .detail(format!("This operation is not supported for {kinds}."))
}
