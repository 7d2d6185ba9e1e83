//! Where rows are read: live, inside of a transaction or between two, or in a snapshot. The plans know one way to read
//! only.

use crate::error::SqlError;
use crate::rows::EachRow;
use sardonyx::schema::{Schema, Value};
use sardonyx::{RowIndex, RowRef, View};
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::{Definition, Kind};
use sardonyx_storage::store::PageRead;
use sardonyx_table::{ScanPlace, SpaceSnapshot};
use std::ops::Bound;
use std::sync::Arc;

/// Rows in the order of an index, between two keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyRange {
    pub lower: Bound<Vec<Value>>,
    pub upper: Bound<Vec<Value>>,
    pub backward: bool,
}

/// A state of the tables, to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Live(View<'a>),
    Frozen(&'a SpaceSnapshot),
}

impl<'a> Source<'a> {
    /// The tables, and what else there is, by number.
    pub fn definitions(&self) -> &'a [Definition] {
        match self {
            Source::Live(view) => view.definitions(),
            Source::Frozen(snapshot) => snapshot.definitions(),
        }
    }

    /// What the rows of a table are.
    pub fn schema(&self, number: u16) -> Option<Arc<Schema>> {
        match self {
            Source::Live(view) => view.schema(number).cloned(),
            Source::Frozen(snapshot) => Some(snapshot.rows_of(number).ok()?.schema().clone()),
        }
    }

    /// Whether the rows of a table are these still, which is cheap to ask.
    pub fn has_schema(&self, number: u16, schema: &Arc<Schema>) -> bool {
        match self {
            Source::Live(view) => {
                let now = view.schema(number);
                now.is_some_and(|now| Arc::ptr_eq(now, schema))
            }
            Source::Frozen(snapshot) => {
                let rows = snapshot.rows_of(number);
                rows.is_ok_and(|rows| Arc::ptr_eq(rows.schema(), schema))
            }
        }
    }

    /// The number of the table of a name.
    pub fn table_named(&self, name: &str) -> Option<u16> {
        let is_it = |definition: &Definition| {
            definition.name == name && matches!(definition.kind, Kind::Table { .. })
        };
        let found = self.definitions().iter().position(is_it);
        found.map(|number| number as u16)
    }

    /// How many rows a table has.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn count(&self, number: u16) -> Result<u64, SqlError> {
        Ok(match self {
            Source::Live(view) => view.rows_of(number)?.count(),
            Source::Frozen(snapshot) => snapshot.rows_of(number)?.count(),
        })
    }

    /// The row with a key, if there is one.
    ///
    /// # Errors
    /// What `each` returns; a row that cannot be read.
    pub fn point(&self, number: u16, key: &[Value], each: EachRow<'_>) -> Result<(), SqlError> {
        match self {
            Source::Live(view) => {
                if let Some(row) = view.rows_of(number)?.get(key)? {
                    each(&row)?;
                }
            }
            Source::Frozen(snapshot) => {
                if let Some(row) = snapshot.rows_of(number)?.get(key)? {
                    each(&row)?;
                }
            }
        }
        Ok(())
    }

    /// All rows, in no particular order.
    ///
    /// # Errors
    /// Those of [`Source::point`].
    pub fn scan(&self, number: u16, each: EachRow<'_>) -> Result<(), SqlError> {
        match self {
            Source::Live(view) => give(view.rows_of(number)?.scan(), each),
            Source::Frozen(snapshot) => give(snapshot.rows_of(number)?.scan(), each),
        }
    }

    /// Rows from a place on, which moves with them. Returns whether it came to the end. A live state is read to its end.
    ///
    /// # Errors
    /// Those of [`Source::point`].
    pub fn scan_from(
        &self,
        number: u16,
        place: &mut ScanPlace,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        let Source::Frozen(snapshot) = self else {
            return self.scan(number, each).map(|()| true);
        };
        let mut rows = snapshot.rows_of(number)?.scan_from(*place);
        let mut ended = true;
        for row in rows.by_ref() {
            if !each(&row?)? {
                ended = false;
                break;
            }
        }
        *place = rows.place();
        Ok(ended)
    }

    /// The first row of a unique index's key.
    ///
    /// # Errors
    /// Those of [`Source::point`].
    pub fn first(
        &self,
        number: u16,
        index: &str,
        key: &[Value],
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        match self {
            Source::Live(view) => {
                if let Some(row) = view.rows_of(number)?.index(index)?.get_by(key)? {
                    each(&row)?;
                }
            }
            Source::Frozen(snapshot) => {
                if let Some(row) = snapshot.rows_of(number)?.index(index)?.get_by(key)? {
                    each(&row)?;
                }
            }
        }
        Ok(())
    }

    /// Rows in the order of an index.
    ///
    /// # Errors
    /// Those of [`Source::point`].
    pub fn range(
        &self,
        number: u16,
        index: &str,
        range: &KeyRange,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        match self {
            Source::Live(view) => walk(&view.rows_of(number)?.index(index)?, range, each),
            Source::Frozen(snapshot) => walk(&snapshot.rows_of(number)?.index(index)?, range, each),
        }
    }

    /// How many rows an index has between two keys.
    ///
    /// # Errors
    /// Those of [`Source::point`].
    pub fn count_range(&self, number: u16, index: &str, range: &KeyRange) -> Result<u64, SqlError> {
        let bounds = (range.lower.as_ref(), range.upper.as_ref());
        Ok(match self {
            Source::Live(view) => {
                let index = view.rows_of(number)?.index(index)?;
                index.count_range::<&Vec<Value>>(bounds_of(&bounds))?
            }
            Source::Frozen(snapshot) => {
                let index = snapshot.rows_of(number)?.index(index)?;
                index.count_range::<&Vec<Value>>(bounds_of(&bounds))?
            }
        })
    }
}

fn bounds_of<'b>(
    bounds: &(Bound<&'b Vec<Value>>, Bound<&'b Vec<Value>>),
) -> (Bound<&'b Vec<Value>>, Bound<&'b Vec<Value>>) {
    *bounds
}

fn give<'a, P>(
    rows: impl Iterator<Item = Result<RowRef<'a, P>, sardonyx::Error>>,
    each: EachRow<'_>,
) -> Result<(), SqlError>
where
    P: PageRead + ?Sized + 'a,
    TableError: From<P::Error>,
{
    for row in rows {
        if !each(&row?)? {
            break;
        }
    }
    Ok(())
}

fn walk<P>(index: &RowIndex<'_, P>, range: &KeyRange, each: EachRow<'_>) -> Result<(), SqlError>
where
    P: PageRead + ?Sized,
    TableError: From<P::Error>,
{
    let bounds = (range.lower.as_ref(), range.upper.as_ref());
    let rows = index.range::<&Vec<Value>>(bounds_of(&bounds))?;
    match range.backward {
        true => give(rows.rev(), each),
        false => give(rows, each),
    }
}
