//! A table's next content while it is made: the next form of each row.

use crate::database::{BesideLimits, CALL_SHARE};
use crate::define::NewRows;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::memory::{Memory, bytes_of};
use crate::plan::rewriting::Rewriting;
use crate::plan::write::whole_row;
use crate::plan::{Plan, Planned};
use crate::rows::InputRow;
use crate::source::Source;
use sardonyx::low_level::{Beside, OwnRow, interruption};
use sardonyx::rows::OpenRows;
use sardonyx::schema::{Schema, Value};
use sardonyx::{Error, Snapshot, Ticket};
use std::sync::Arc;

/// The work of an open transaction: its changes, and its reads.
pub(in crate::session) struct Work {
    pub rows: OpenRows,
    /// The state in which it began.
    pub snapshot: Snapshot,
}

/// Up to this many rows, a next content is made only for a good part of the table. Otherwise a load in batches would
/// copy the table for each of them.
const CALL_ROWS: u64 = 20_000;
/// A table's next content is made if this many times more rows come than it has, and none changes.
const NEW_SHARE: u64 = 4;
/// The same if rows change.
const CHANGED_SHARE: u64 = 16;
/// The same for more than `CALL_ROWS` rows.
const MANY_SHARE: u64 = 64;
/// The most parts that write of a statement that counts as small.
const PARTS_MAX: usize = 16;
/// The bytes of a slice, if it has more than a row.
pub(super) const SLICE_BYTES: usize = 1 << 20;

impl BesideLimits {
    /// True if a change of `changed` rows is made as the next content of a table of `there` rows. With `all_new` the
    /// table has none of them.
    pub(super) fn makes_content(&self, changed: u64, there: u64, all_new: bool) -> bool {
        let share = match all_new {
            _ if changed > CALL_ROWS => MANY_SHARE,
            true => NEW_SHARE,
            false => CHANGED_SHARE,
        };
        let is_share = changed.saturating_mul(share) >= there;
        let is_many = changed > self.few && (is_share || changed > self.keys_max as u64);
        is_many || self.makes_all && changed > 0
    }

    /// The same bounds for a statement whose changes are too large for one call.
    pub(super) fn making_all(self) -> Self {
        BesideLimits {
            from: 0,
            makes_all: true,
            ..self
        }
    }

    /// True if a table has so many bytes that a change of all its rows may be too large for one call.
    pub(super) fn is_of_many_bytes(&self, source: &dyn Source, number: u16) -> bool {
        let bytes = source.bytes_about(number).unwrap_or(0);
        bytes > (self.call_bytes / CALL_SHARE) as u64
    }

    /// True if a statement looks at few rows of small tables only, also if it joins all rows of each with all of the others.
    /// Rows of no table may be many.
    pub(super) fn is_small(&self, planned: &Planned, source: &dyn Source) -> bool {
        let target = match &planned.plan {
            Plan::Insert(plan) => Some(plan.number),
            // Each may change many rows.
            Plan::Parts(plan) if plan.parts().len() > PARTS_MAX => return false,
            plan if plan.changes_others() => return false,
            _ => None,
        };
        // The target is named once for the rows that it gets; each further time, it is read.
        let mut target = target;
        let mut read = planned
            .tables()
            .filter(|number| match target == Some(*number) {
                true => target.take().is_none(),
                false => true,
            })
            .peekable();
        if read.peek().is_none() {
            return false;
        }
        let joined = read.try_fold(1_u64, |joined, number| {
            let rows = source.count(number).ok()?;
            if self.is_of_many_bytes(source, number) {
                return None;
            }
            Some(joined.saturating_mul(rows.max(1)))
        });
        joined.is_some_and(|joined| joined < self.from)
    }
}

/// The result of a committed statement, and the ticket to await before it is sent.
pub(super) type Ran<T> = (T, Ticket<()>);

/// The result of an attempt.
pub(in crate::session) enum Came<T> {
    Done(T),
    /// The table has changed meanwhile.
    Again,
    /// Another statement made a content of the table, and has ended by now.
    Waited,
    /// The statement runs as an open transaction of its own ([`super::open`]).
    Open,
    /// The statement runs in the stage.
    InStage,
}

impl<T> Came<T> {
    /// The result of an error of the engine.
    pub fn of(error: Error) -> Result<Self, SqlError> {
        // A request to cancel is used up: the statement ends here, whatever the kind of the error.
        if let Some(reason) = interruption(&error) {
            return Err(SqlError::interrupted(reason));
        }
        match error {
            Error::Conflict(_) => Ok(Came::Again),
            // Closed.
            Error::Unavailable(_) | Error::Closed(_) => Err(error.into()),
            // There is no room, or another statement makes a content.
            Error::Full(_) | Error::Limit(_) | Error::Refused(_) => Ok(Came::InStage),
            // A row cannot be stored, as a duplicate: the open transaction gives the error.
            _ => Ok(Came::Open),
        }
    }
}

/// The next content for the rows, and the state of its older rows.
#[derive(Debug)]
pub(super) struct Content {
    pub beside: Beside,
    pub snapshot: Snapshot,
}

/// The next form of each row of a table.
#[derive(Debug)]
pub(super) enum Made<'m> {
    /// The statement rewrites it.
    Rewritten(Rewriting<'m>),
    /// It stays as it is.
    Kept {
        table: u16,
        /// Its columns.
        schema: Arc<Schema>,
    },
    /// It has the form of an open transaction.
    Open {
        table: u16,
        /// Its columns.
        schema: Arc<Schema>,
        rows: &'m OpenRows,
    },
    /// It is of another schema.
    Redefined {
        table: u16,
        /// Its columns before.
        schema: Arc<Schema>,
        /// Its columns after.
        next: Arc<Schema>,
        rows: &'m NewRows<'m>,
    },
}

impl Made<'_> {
    pub fn table(&self) -> u16 {
        match self {
            Made::Rewritten(rewriting) => rewriting.table(),
            Made::Kept { table, .. } | Made::Open { table, .. } | Made::Redefined { table, .. } => {
                *table
            }
        }
    }

    /// The schema of the content, if it is another than the table's.
    pub fn next_schema(&self) -> Option<&Arc<Schema>> {
        match self {
            Made::Redefined { next, .. } => Some(next),
            _ => None,
        }
    }

    /// The next form of a row, with all columns, if it remains; and true if a statement takes it.
    fn of(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<(Option<Vec<Value>>, bool), SqlError> {
        match self {
            Made::Rewritten(rewriting) => rewriting.rewritten(row, with),
            Made::Kept { schema, .. } => Ok((Some(whole_row(row, schema.columns.len())?), false)),
            Made::Redefined { schema, rows, .. } => {
                let row = whole_row(row, schema.columns.len())?;
                Ok((Some(rows.of(row, with)?), false))
            }
            Made::Open { schema, .. } => {
                let width = schema.columns.len();
                let row = match self.own(row)? {
                    OwnRow::Same => Some(whole_row(row, width)?),
                    OwnRow::Row(own) => Some(whole_row(&own, width)?),
                    OwnRow::Gone => None,
                };
                Ok((row, false))
            }
        }
    }

    /// The open transaction's version of a row.
    fn own(&self, row: &dyn InputRow) -> Result<OwnRow<'_>, SqlError> {
        let Made::Open {
            table,
            schema,
            rows,
        } = self
        else {
            return Ok(OwnRow::Same);
        };
        let mut key = Vec::with_capacity(schema.primary.key.len());
        for part in &schema.primary.key {
            key.push(row.value(part.column)?);
        }
        Ok(rows.own_row(*table, &key).map_err(Error::from)?)
    }

    /// True if the open transaction has changed a row: a change of it by another transaction is a conflict.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn has_own(&self, row: &dyn InputRow) -> Result<bool, SqlError> {
        Ok(!matches!(self.own(row)?, OwnRow::Same))
    }

    /// The key of a row of all columns.
    fn key_of(&self, row: &[Value]) -> Vec<Value> {
        match self {
            Made::Rewritten(rewriting) => rewriting.key_of_whole(row),
            Made::Kept { schema, .. }
            | Made::Open { schema, .. }
            | Made::Redefined { schema, .. } => {
                let key = schema.primary.key.iter();
                key.map(|part| row.get(part.column).cloned().unwrap_or_default())
                    .collect()
            }
        }
    }
}

/// Changes of the next content: rows to remove, and rows to add.
#[derive(Debug, Default)]
pub(super) struct Changes<'m> {
    pub gone: Vec<Vec<Value>>,
    pub come: Vec<Vec<Value>>,
    /// The number of rows that the statement has taken since.
    pub taken: i64,
    /// Memory for these rows.
    memory: Memory<'m>,
}

impl<'m> Changes<'m> {
    /// None yet.
    pub fn with(memory: Memory<'m>) -> Self {
        Changes {
            memory,
            ..Changes::default()
        }
    }

    /// Rows to add, whose memory is counted elsewhere.
    pub fn of(come: Vec<Vec<Value>>) -> Self {
        Changes {
            come,
            ..Changes::default()
        }
    }

    /// The same, without counting the memory: they are about to be made.
    pub fn uncounted(self) -> Changes<'static> {
        Changes {
            gone: self.gone,
            come: self.come,
            taken: self.taken,
            ..Changes::default()
        }
    }

    /// Removes a row's earlier form.
    pub fn take_out(
        &mut self,
        row: &dyn InputRow,
        made: &Made<'_>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let (row, is_taken) = made.of(row, with)?;
        self.taken -= i64::from(is_taken);
        if let Some(row) = row {
            let key = made.key_of(&row);
            self.memory.take(&key)?;
            self.gone.push(key);
        }
        Ok(())
    }

    /// Adds the next form of a row.
    pub fn put_in(
        &mut self,
        row: &dyn InputRow,
        made: &Made<'_>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let (row, is_taken) = made.of(row, with)?;
        self.taken += i64::from(is_taken);
        if let Some(row) = row {
            self.memory.take(&row)?;
            self.come.push(row);
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.gone.len() + self.come.len()
    }

    /// True if they fill a slice of this many rows.
    pub fn is_slice(&self, rows: usize) -> bool {
        self.len() >= rows || self.memory.bytes() >= SLICE_BYTES
    }
}

/// The number of the first rows that are a slice of at most `most` rows. One that is larger than a slice is alone: it may
/// have as many bytes as a call.
pub(super) fn slice_of(rows: &[Vec<Value>], most: usize) -> usize {
    let mut bytes = 0;
    let fits = |row: &&Vec<Value>| {
        let is_first = bytes == 0;
        bytes += bytes_of(row);
        is_first || bytes <= SLICE_BYTES
    };
    rows.iter().take(most).take_while(fits).count()
}
