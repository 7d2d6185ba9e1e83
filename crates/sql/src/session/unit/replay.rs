//! The replay of an open transaction before a unit's own steps: each statement runs with the session's parameters of
//! its first run, and its answer is compared with the client's.

use super::Unit;
use crate::begun::Begun;
use crate::class::Class;
use crate::database::Database;
use crate::error::SqlError;
use crate::session::execute::Call;
use crate::session::given::Given;
use crate::session::history::{Event, History, Remembered, Told, is_of_the_engine};
use crate::session::spans;
use crate::session::state::TransactionState;
use crate::write_target::WriteTarget;
use std::sync::Arc;
use tracing::Span;

impl Unit {
    /// Runs the open transaction again, and then a function.
    ///
    /// # Errors
    /// `40001` if an answer differs now.
    pub fn replay_and<R>(
        &mut self,
        tx: &mut dyn WriteTarget,
        then: impl FnOnce(&mut dyn WriteTarget, &Arc<Database>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        self.replay(tx)?;
        then(tx, &self.database)
    }

    /// Runs the transaction's earlier statements in its new rows aside, and compares.
    ///
    /// # Errors
    /// As [`Unit::replay_and`].
    pub(in crate::session) fn begin_aside(
        &mut self,
        rows: &mut dyn WriteTarget,
    ) -> Result<(), SqlError> {
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(());
        };
        match std::mem::take(&mut open.is_new_aside) {
            true => self.replay(rows),
            false => Ok(()),
        }
    }

    /// Runs the open transaction again, and compares.
    pub(super) fn replay(&mut self, tx: &mut dyn WriteTarget) -> Result<(), SqlError> {
        let TransactionState::Open(open) = &mut self.state.transaction else {
            return Ok(());
        };
        let started = open.started;
        let before = std::mem::take(&mut open.history);
        self.database
            .ran_again(before.len(), self.version.is_none());
        let span = match before.events().is_empty() {
            true => Span::none(),
            false => spans::replay(),
        };
        let _inside = span.enter();
        // Each statement sees the session's state of its first run. Settings and draws since stay.
        let settings = self.state.settings.clone();
        let drawn = std::mem::replace(&mut self.state.drawn, open.drawn_before.clone());
        let result = self.replay_all(tx, &before, started);
        self.state.settings = settings;
        self.state.drawn = drawn;
        if let TransactionState::Open(open) = &mut self.state.transaction {
            open.history = before;
            // They were counted when they ran first.
            open.walked = 0;
        }
        result
    }

    fn replay_all(
        &mut self,
        tx: &mut dyn WriteTarget,
        history: &History,
        started: Begun,
    ) -> Result<(), SqlError> {
        let mut marks = Vec::new();
        for (place, event) in history.events().iter().enumerate() {
            self.mark_savepoints(tx, place);
            match event {
                Event::Statement(one) => {
                    self.state.settings = one.settings.clone();
                    self.replay_one(tx, one, started)?;
                }
                Event::Mark => marks.push((tx.savepoint(), self.effects.mark())),
                Event::Return => {
                    let Some((mark, effects)) = marks.pop() else {
                        continue;
                    };
                    tx.rollback_to(mark)?;
                    tx.release(mark)?;
                    self.effects.return_to(&effects);
                    if self.defined {
                        // Plans of undone definitions are invalid.
                        self.database.catalogue_changed();
                    }
                }
            }
        }
        self.mark_savepoints(tx, history.place());
        Ok(())
    }

    /// Marks where savepoints were set, if the transaction goes aside: it may go back to them there.
    fn mark_savepoints(&mut self, tx: &mut dyn WriteTarget, place: usize) {
        if let TransactionState::Open(open) = &mut self.state.transaction
            && open.is_aside
        {
            for savepoint in &mut open.savepoints {
                if savepoint.place == place {
                    savepoint.aside = Some((tx.savepoint(), self.effects.mark()));
                }
            }
        }
    }

    fn replay_one(
        &mut self,
        tx: &mut dyn WriteTarget,
        one: &Remembered,
        started: Begun,
    ) -> Result<(), SqlError> {
        self.defined |= one.statement.class() == Class::Define;
        let given = Given {
            statement: &one.statement,
            parameters: &one.parameters,
            data: one.data.as_deref(),
            rows_max: 0,
            transaction: started,
            statement_started: one.statement_started,
            seed: one.seed,
            digests: true,
        };
        let mut call = Call {
            tx,
            database: &self.database,
            effects: &mut self.effects,
            drawn: one.drawn.clone(),
            undrawn: Default::default(),
            version: self.version,
        };
        self.state.claims.begin(Some(&one.claimed), false);
        let ran = call.run(&mut self.state, &given);
        self.state.claims.begin(None, false);
        self.version = call.version;
        match ran {
            Ok(ran) if ran.told == one.told => Ok(()),
            Err(error) if is_of_the_engine(&error) => Err(error),
            Err(error) if one.told == Told::Failed(error.code) => Ok(()),
            _ => Err(SqlError::not_serializable()),
        }
    }
}
