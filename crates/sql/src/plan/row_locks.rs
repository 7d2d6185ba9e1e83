//! `FOR UPDATE` and its brothers, planned: the tables of `FROM` whose rows a query locks.
//!
//! A query in `FROM`, and a view, locks the rows of its tables. A query of `WITH` does not, as in PostgreSQL.

use super::draft::{Draft, FromNode, FromTable};
use super::planning::Planning;
use super::row_lock::{Meeting, RowLock};
use super::target::key_columns;
use super::tree::JoinKind;
use crate::error::SqlError;
use crate::expression::Scope;
use crate::lock_modes::RowMode;
use crate::locking::{LockedTable, locked_table, mode_of};
use sqlparser::ast::{LockClause, NonBlock};
use std::ops::Range;

/// A clause, as all tables take it that it names.
#[derive(Clone, Copy)]
struct Clause {
    mode: RowMode,
    meeting: Meeting,
}

impl Clause {
    fn of(clause: &LockClause, is_weak: bool) -> Clause {
        Clause {
            mode: mode_of(clause.lock_type, is_weak),
            meeting: match clause.nonblock {
                None => Meeting::Claims,
                Some(NonBlock::SkipLocked) => Meeting::Skips,
                Some(NonBlock::Nowait) => Meeting::Fails,
            },
        }
    }
}

impl Draft {
    /// The same; the planning notes it.
    ///
    /// # Errors
    /// As [`Draft::lock`].
    pub fn lock_by(
        &mut self,
        planning: &mut Planning<'_>,
        clauses: &[LockClause],
    ) -> Result<(), SqlError> {
        planning.queries.locks_rows |= !clauses.is_empty();
        self.lock(clauses)
    }

    /// Locks the rows of the tables that the clauses of a query name.
    ///
    /// # Errors
    /// `0A000` for a table whose rows cannot be locked.
    fn lock(&mut self, clauses: &[LockClause]) -> Result<(), SqlError> {
        for clause in clauses {
            let LockedTable { name, is_weak } = locked_table(clause)?;
            let lock = Clause::of(clause, is_weak);
            let scope = self.scope.clone();
            let is_wanted = |places: &Range<usize>| match &name {
                None => true,
                Some(name) => is_named(&scope, name, places),
            };
            self.lock_tables(lock, &is_wanted)?;
        }
        Ok(())
    }

    fn lock_tables(
        &mut self,
        lock: Clause,
        is_wanted: &dyn Fn(&Range<usize>) -> bool,
    ) -> Result<(), SqlError> {
        let tables = &mut self.locks.tables;
        match &mut self.from {
            Some(from) => from.lock(lock, is_wanted, false, tables),
            None => Ok(()),
        }
    }

    /// Locks the rows of all tables, of a query in `FROM`.
    fn lock_all(&mut self, lock: Clause) -> Result<(), SqlError> {
        if self.locks.is_named {
            return Ok(());
        }
        let what = match &self.grouping {
            _ if self.is_distinct || !self.distinct_on.is_empty() => Some("DISTINCT clause"),
            Some(grouping) if grouping.keys.is_empty() => Some("aggregate functions"),
            Some(_) => Some("GROUP BY clause"),
            None => match &self.from {
                Some(FromNode::Leaf(FromTable::Sets(_), _)) => Some("UNION/INTERSECT/EXCEPT"),
                Some(FromNode::Leaf(FromTable::Windowed(_), _)) => Some("window functions"),
                Some(FromNode::Leaf(FromTable::Expanded(_), _)) => {
                    Some("set-returning functions in the target list")
                }
                _ => None,
            },
        };
        match what {
            None => self.lock_tables(lock, &|_| true),
            Some(what) => Err(SqlError::unsupported(format!(
                "{} is not allowed with {what}",
                lock.mode.word()
            ))),
        }
    }
}

/// True if a table of this name has columns at these places.
fn is_named(scope: &Scope, name: &str, places: &Range<usize>) -> bool {
    let mut tables = scope.tables.iter().filter(|table| table.alias == name);
    tables.any(|table| {
        let mut columns = table.columns.iter();
        columns.any(|column| places.contains(&column.place))
    })
}

impl FromNode {
    fn lock(
        &mut self,
        lock: Clause,
        is_wanted: &dyn Fn(&Range<usize>) -> bool,
        may_be_missing: bool,
        tables: &mut Vec<RowLock>,
    ) -> Result<(), SqlError> {
        let (table, places) = match self {
            FromNode::Join(join) => {
                let of_left = matches!(join.kind, JoinKind::Right | JoinKind::Full);
                let of_right = matches!(join.kind, JoinKind::Left | JoinKind::Full);
                let left = may_be_missing || of_left;
                join.left.lock(lock, is_wanted, left, tables)?;
                let right = may_be_missing || of_right;
                return join.right.lock(lock, is_wanted, right, tables);
            }
            FromNode::Leaf(table, places) => (table, places),
        };
        if !is_wanted(places) {
            return Ok(());
        }
        let is_locked = match table {
            FromTable::Relation(_) => true,
            FromTable::Derived(draft) | FromTable::Lateral(draft, _) => !draft.locks.is_named,
            _ => false,
        };
        if is_locked && may_be_missing {
            return Err(SqlError::unsupported(format!(
                "{} cannot be applied to the nullable side of an outer join",
                lock.mode.word()
            )));
        }
        match table {
            FromTable::Relation(relation) => {
                let key = key_columns(relation).into_iter();
                let key: Vec<usize> = key.map(|column| places.start + column).collect();
                // The strongest mode counts, and NOWAIT before SKIP LOCKED.
                match tables.iter_mut().find(|one| one.key == key) {
                    Some(there) => {
                        there.mode = there.mode.max(lock.mode);
                        there.meeting = there.meeting.max(lock.meeting);
                    }
                    None => tables.push(RowLock {
                        table: relation.number,
                        name: relation.local().to_string(),
                        key,
                        mode: lock.mode,
                        meeting: lock.meeting,
                    }),
                }
                Ok(())
            }
            FromTable::Derived(draft) | FromTable::Lateral(draft, _) => draft.lock_all(lock),
            _ => Ok(()),
        }
    }
}
