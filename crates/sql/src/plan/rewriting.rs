//! `UPDATE` and `DELETE` of one table in which each row alone determines its change: neither other rows nor the current
//! time are read. So rows may be processed in any order and repeatedly, and rows that others change meanwhile are
//! processed again.

use super::Plan;
use super::access::Path;
use super::changes::Changes;
use super::target::{Among, Target};
use super::tree::Input;
use super::write::{columns_of, whole_row};
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::rows::InputRow;
use crate::source::Source;
use sardonyx::schema::{ForeignKey, Value};

/// A statement in which each row alone determines its change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewriting<'p> {
    target: &'p Target,
    conditions: [Option<&'p Expr>; 2],
    /// `None` for `DELETE`.
    changes: Option<&'p Changes>,
    returns: bool,
    is_referenced: bool,
}

impl<'p> Rewriting<'p> {
    /// The rewriting of a plan; `None` for other statements.
    pub fn of(plan: &'p Plan) -> Option<Self> {
        let (target, changes, returning, is_referenced) = match plan {
            Plan::Update(plan) => (
                &plan.target,
                Some(&plan.changes),
                plan.returning.as_ref(),
                plan.changes.is_referenced,
            ),
            Plan::Delete(plan) => (
                &plan.target,
                None,
                plan.returning.as_ref(),
                plan.is_referenced,
            ),
            Plan::Select(_) | Plan::Insert(_) | Plan::Merge(_) | Plan::Parts(_) => return None,
        };
        if changes.is_some_and(|changes| !changes.cascades.is_empty()) {
            return None;
        }
        let Input::Table(access) = &target.input else {
            return None;
        };
        let conditions = [access.condition.as_ref(), target.filter.as_ref()];
        let is_known = access.condition.is_some() || matches!(access.path, Path::Scan);
        let set = changes.iter().flat_map(|changes| &changes.set);
        let returned = returning.iter().flat_map(|output| &output.expressions);
        let mut all = conditions
            .iter()
            .copied()
            .flatten()
            .chain(set.map(|(_, expr)| expr))
            .chain(returned);
        (is_known && all.all(Expr::is_plain)).then_some(Rewriting {
            target,
            conditions,
            changes,
            returns: returning.is_some(),
            is_referenced,
        })
    }

    /// The table's number.
    pub fn table(&self) -> u16 {
        self.target.number
    }

    /// Calls `each` with the rows to change or delete, by the plan's access path.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: super::target::EachTarget<'_>,
    ) -> Result<(), SqlError> {
        self.target.walk(source, with, Among::All, each)
    }

    /// True if the statement changes or deletes a row.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn takes(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<bool, SqlError> {
        for condition in self.conditions.into_iter().flatten() {
            if !condition.holds(row, with)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the key of a row.
    ///
    /// # Errors
    /// Read errors.
    pub fn key_of(&self, row: &dyn InputRow) -> Result<Vec<Value>, SqlError> {
        columns_of(row, &self.target.key)
    }

    /// Returns the key of a row of all columns.
    pub fn key_of_whole(&self, row: &[Value]) -> Vec<Value> {
        let key = self.target.key.iter();
        key.map(|column| row.get(*column).cloned().unwrap_or_default())
            .collect()
    }

    /// Returns a row of all columns after the change, `None` if it is deleted; and true if the statement applies to the
    /// row.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn rewritten(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(Option<Vec<Value>>, bool), SqlError> {
        if !self.takes(row, with)? {
            return Ok((Some(whole_row(row, self.target.width)?), false));
        }
        if let Some(reading) = with.reading {
            self.target.claim(reading.source, row, with)?;
        }
        match self.changes {
            Some(changes) => Ok((Some(changes.changed(row, with)?), true)),
            None => Ok((None, true)),
        }
    }

    /// True if the statement only changes its own table: it reads no other table, returns no rows, and no foreign key
    /// refers to it.
    pub fn is_alone(&self, source: &dyn Source) -> bool {
        if self.returns || self.is_referenced {
            return false;
        }
        let Some(changes) = self.changes else {
            return true;
        };
        let sets = |column: &usize| changes.changing.contains(column);
        let refers = |key: &ForeignKey| key.columns.iter().any(sets);
        let may_change_key = changes.moves || changes.may_collide;
        let own = source.schema(self.table());
        let refers = own.is_some_and(|schema| schema.foreign_keys.iter().any(refers));
        !refers && (!may_change_key || source.referring(self.table()).is_empty())
    }
}

impl Target {
    /// Calls `each` with the rows of a statement on one table that have one of these keys.
    ///
    /// # Errors
    /// As [`Target::walk`].
    pub fn walk_among(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        keys: &[Vec<Value>],
        each: super::target::EachTarget<'_>,
    ) -> Result<(), SqlError> {
        let condition = match &self.input {
            Input::Table(access) => access.condition.as_ref(),
            _ => None,
        };
        let conditions = [condition, self.filter.as_ref()];
        for key in keys {
            with.context.look_at_row()?;
            source.point(self.number, key, &mut |row| {
                for condition in conditions.into_iter().flatten() {
                    if !condition.holds(row, with)? {
                        return Ok(true);
                    }
                }
                each(row)?;
                Ok(true)
            })?;
        }
        Ok(())
    }
}

/// True if a plan is a rewriting and not short.
pub(super) fn is_rewriting(plan: &Plan, is_short: bool) -> bool {
    !is_short && Rewriting::of(plan).is_some()
}
