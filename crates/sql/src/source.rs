//! Sources of rows: live tables, inside a transaction or between two, or a snapshot. Plans read by one trait only.

use crate::error::SqlError;
use crate::rows::EachRow;
use crate::scanned::Scanned;
use sardonyx::rows::{ReadRow, ReadRows, ScanRows};
use sardonyx::schema::{Schema, Value};
use sardonyx_rows::ScanPlace;
use sardonyx_storage::catalogue::{Definitions, Kind};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Rows in the order of an index, between two keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    pub lower: Bound<Vec<Value>>,
    pub upper: Bound<Vec<Value>>,
    pub backward: bool,
}

/// A state of the tables, to read: that of any store of rows.
pub(crate) trait Source {
    /// The tables, and all other definitions, by number.
    fn definitions(&self) -> &Definitions;

    /// The tables that refer to one, in the order of their numbers.
    fn referring(&self, number: u16) -> Vec<u16>;

    /// The tables that may have an index of a name, in the order of their numbers.
    fn indexed(&self, name: &str) -> Vec<u16>;

    /// The schema of the rows of a table.
    fn schema(&self, number: u16) -> Option<Arc<Schema>>;

    /// True if a table still has the schema. This is cheap.
    fn has_schema(&self, number: u16, schema: &Arc<Schema>) -> bool;

    fn table_named(&self, name: &str) -> Option<u16> {
        let number = self.definitions().named(name)?;
        let definition = self.definitions().get(usize::from(number))?;
        matches!(definition.kind, Kind::Table { .. }).then_some(number)
    }

    /// The number of rows of a table.
    ///
    /// # Errors
    /// If there is no such table.
    fn count(&self, number: u16) -> Result<u64, SqlError>;

    /// True if the answer is known without a look at the rows.
    fn knows_counts(&self) -> bool;

    /// The approximate number of a table's rows, if it is known. This is no read.
    fn rows_about(&self, number: u16) -> Option<u64>;

    /// The approximate bytes of a table's rows, if they are known. This is no read.
    fn bytes_about(&self, number: u16) -> Option<u64>;

    /// True if reads are noted, and compared with the changes of others later.
    fn notes_reads(&self) -> bool;

    /// The row with a key, if there is one.
    ///
    /// # Errors
    /// The error of `each`; a row that cannot be read.
    fn point(&self, number: u16, key: &[Value], each: EachRow<'_>) -> Result<(), SqlError>;

    /// All rows, in no particular order.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn scan(&self, number: u16, each: EachRow<'_>) -> Result<(), SqlError> {
        self.scan_from(number, &mut ScanPlace::default(), each)?;
        Ok(())
    }

    /// All rows, in no particular order, tested and given as bytes.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn scan_bytes(&self, number: u16, scanned: &mut Scanned<'_>) -> Result<(), SqlError>;

    /// Rows from a place on, which moves with them. Returns true at the end. A live state is read to its end.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn scan_from(
        &self,
        number: u16,
        place: &mut ScanPlace,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError>;

    /// The first row of a unique index's key.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn first(
        &self,
        number: u16,
        index: &str,
        key: &[Value],
        each: EachRow<'_>,
    ) -> Result<(), SqlError>;

    /// Rows in the order of an index.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn range(
        &self,
        number: u16,
        index: &str,
        range: &KeyRange,
        each: EachRow<'_>,
    ) -> Result<(), SqlError>;

    /// The number of rows of an index between two keys.
    ///
    /// # Errors
    /// As [`Source::point`].
    fn count_range(&self, number: u16, index: &str, range: &KeyRange) -> Result<u64, SqlError>;

    /// Calls a function whose reads need not hold at the commit.
    fn unnoted(&self, act: &mut dyn FnMut());
}

impl<S: ReadRows> Source for S {
    fn definitions(&self) -> &Definitions {
        ReadRows::definitions(self)
    }

    fn referring(&self, number: u16) -> Vec<u16> {
        ReadRows::referring(self, number)
    }

    fn indexed(&self, name: &str) -> Vec<u16> {
        ReadRows::indexed(self, name)
    }

    fn schema(&self, number: u16) -> Option<Arc<Schema>> {
        self.row_schema(number).cloned()
    }

    fn has_schema(&self, number: u16, schema: &Arc<Schema>) -> bool {
        let now = self.row_schema(number);
        now.is_some_and(|now| Arc::ptr_eq(now, schema))
    }

    fn count(&self, number: u16) -> Result<u64, SqlError> {
        Ok(self.count_rows(number)?)
    }

    fn knows_counts(&self) -> bool {
        ReadRows::knows_counts(self)
    }

    fn rows_about(&self, number: u16) -> Option<u64> {
        ReadRows::rows_about(self, number)
    }

    fn bytes_about(&self, number: u16) -> Option<u64> {
        ReadRows::bytes_about(self, number)
    }

    fn notes_reads(&self) -> bool {
        ReadRows::notes_reads(self)
    }

    fn point(&self, number: u16, key: &[Value], each: EachRow<'_>) -> Result<(), SqlError> {
        if let Some(row) = self.get_row(number, key)? {
            each(&row)?;
        }
        Ok(())
    }

    fn scan_bytes(&self, number: u16, scanned: &mut Scanned<'_>) -> Result<(), SqlError> {
        let is_at_end = {
            let mut rows = self.scan_rows(number, ScanPlace::default())?;
            rows.walk(scanned)?
        };
        match is_at_end {
            true => scanned.flush().map(drop),
            false => Ok(()),
        }
    }

    fn scan_from(
        &self,
        number: u16,
        place: &mut ScanPlace,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        let mut rows = self.scan_rows(number, *place)?;
        let is_at_end = rows.walk(&mut Given(each))?;
        let Some(now) = rows.place() else {
            return Ok(true);
        };
        *place = now;
        Ok(is_at_end)
    }

    fn first(
        &self,
        number: u16,
        index: &str,
        key: &[Value],
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        if let Some(row) = self.row_index(number, index)?.get_by(key)? {
            each(&row)?;
        }
        Ok(())
    }

    fn range(
        &self,
        number: u16,
        index: &str,
        range: &KeyRange,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let rows = self
            .row_index(number, index)?
            .range_or_none::<&Vec<Value>>(bounds_of(range))?;
        match range.backward {
            true => give(rows.rev(), each)?,
            false => give(rows, each)?,
        };
        Ok(())
    }

    fn count_range(&self, number: u16, index: &str, range: &KeyRange) -> Result<u64, SqlError> {
        let index = self.row_index(number, index)?;
        Ok(index.count_range_or_none::<&Vec<Value>>(bounds_of(range))?)
    }

    fn unnoted(&self, act: &mut dyn FnMut()) {
        ReadRows::unnoted(self, act);
    }
}

impl fmt::Debug for dyn Source + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source of {} definitions", self.definitions().len())
    }
}

fn bounds_of(range: &KeyRange) -> (Bound<&Vec<Value>>, Bound<&Vec<Value>>) {
    (range.lower.as_ref(), range.upper.as_ref())
}

/// Takes the rows of a scan, of any type.
struct Given<'e>(EachRow<'e>);

impl sardonyx_rows::EachRow<SqlError> for Given<'_> {
    fn take(&mut self, row: &impl ReadRow) -> Result<bool, SqlError> {
        (self.0)(row)
    }
}

/// Gives rows until no more are wanted. Returns true if all were given.
fn give<R: ReadRow>(
    rows: impl Iterator<Item = Result<R, sardonyx::Error>>,
    each: EachRow<'_>,
) -> Result<bool, SqlError> {
    for row in rows {
        if !each(&row?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
