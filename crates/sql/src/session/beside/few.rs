//! A statement that takes few rows: one call changes them. The call checks them again, and also the rows that others
//! changed since the snapshot, since the statement may take them now.

use super::made::{Came, Ran};
use super::rewrite::Trying;
use super::whole::{commit, turn};
use crate::constraints::at_commit;
use crate::error::SqlError;
use crate::expression::Kept;
use crate::plan::target::Among;
use crate::running::{Read, run_plan_among};
use crate::session::telling::count;
use crate::source::Source;
use crate::values::equality_keys::key_of_row;
use crate::violations::explained;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use sardonyx::{Error, Transaction};
use std::collections::HashSet;

/// The reason for which the call did nothing.
enum Refused {
    /// The plan is no longer valid.
    Changed,
    Error(SqlError),
    Engine(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Engine(error)
    }
}

impl From<SqlError> for Refused {
    fn from(error: SqlError) -> Self {
        Refused::Error(error)
    }
}

impl From<sardonyx_rows::TableError> for Refused {
    fn from(error: sardonyx_rows::TableError) -> Self {
        Refused::Engine(error.into())
    }
}

impl Trying<'_> {
    /// Changes the rows with these keys, and those that others changed since the snapshot so that they are taken now.
    pub(super) fn change_few(self, keys: Vec<Vec<Value>>) -> Result<Came<Ran<Read>>, SqlError> {
        let turn = turn(self.database, &self.with)?;
        let (rows, limits) = (keys.len(), self.limits.clone());
        let done = commit(turn, &limits, rows, |tx| self.change_in_turn(tx, keys));
        match done {
            Ok(ran) => Ok(Came::Done(ran)),
            Err(Refused::Changed) => Ok(Came::Again),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::Engine(error)) => Came::of(error),
        }
    }

    fn change_in_turn(
        self,
        tx: &mut Transaction<'_>,
        mut keys: Vec<Vec<Value>>,
    ) -> Result<Read, Refused> {
        let version = self.database.version();
        if !self.planned.holds(version, &*tx) {
            return Err(Refused::Changed);
        }
        let table = self.rewriting.table();
        let mut new = Vec::new();
        let snapshot = self.snapshot.space();
        let kept = Kept::default();
        let source: &dyn Source = &*tx;
        let with = &self.with.over(source, &kept);
        snapshot.changed_rows(table, tx.view(), |_, now| {
            if let Some(row) = now
                && self.rewriting.takes(&row, with)?
            {
                new.push(self.rewriting.key_of(&row)?);
            }
            Ok::<_, Refused>(())
        })?;
        if !new.is_empty() {
            let known: HashSet<Vec<u8>> = keys.iter().map(|key| key_of_row(key)).collect();
            new.retain(|key| !known.contains(&key_of_row(key)));
            keys.append(&mut new);
        }
        // The snapshot ends before pages change, so that none is copied for it.
        drop(self.snapshot);
        let among = Among::Keys(&keys);
        let mut run = || {
            let (mut complete, table) = run_plan_among(tx, &self.planned.plan, &self.with, among)?;
            at_commit(tx as &mut dyn WriteTarget)?;
            // Without memory for the answer nothing is changed.
            count(&mut complete, table.as_ref(), self.database.memory())?;
            Ok((complete, table))
        };
        let ran = run();
        ran.map_err(|error| Refused::Error(explained(&*tx, error)))
    }
}
