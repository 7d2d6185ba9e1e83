//! Access paths to a table's rows: by keys, by ranges of an index, by several paths in turn, or a scan.

use super::key::key_value;
use super::pushed::Pushed;
use super::sought::{KeyColumn, Sought, each_key, is_single, only_key};
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::rows::EachRow;
use crate::scanned::{Given, Scanned};
use crate::source::{KeyRange, Source};
use crate::values::equality_keys::key_of;
use sardonyx::schema::{Type, Value};
use std::collections::HashSet;
use std::mem::discriminant;
use std::ops::Bound;

/// The most listed keys that a short statement may look up.
const SHORT_KEYS: usize = 64;

/// A subquery that returns more than one value for this number of rows of the table is answered by a scan.
const SCANNED_SHARE: u64 = 4;

/// An access path to the rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub table: u16,
    pub path: Path,
    /// The part of the condition that the path implements: its rows meet it.
    pub condition: Option<Expr>,
    /// The number of the table's rows at planning time, if known.
    pub rows: Option<u64>,
}

/// The kinds of access paths.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// All rows.
    Scan,
    /// The rows with some keys.
    Key(KeyPath),
    /// The rows that have some values in the first columns of an index, and then are in a range.
    Range(RangePath),
    /// The rows of several paths, each row once.
    Union(UnionPath),
}

/// Rows by whole keys of the primary key or of a unique index.
#[derive(Clone, Debug)]
pub(crate) struct KeyPath {
    /// `None` for the primary key.
    pub index: Option<String>,
    pub key: Vec<KeyColumn>,
    pub backward: bool,
}

/// Rows in the order of an index.
#[derive(Clone, Debug)]
pub(crate) struct RangePath {
    pub index: String,
    pub equal: Vec<KeyColumn>,
    /// The bounds of the column after the columns with equal values, as written in SQL.
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    pub bounded: Option<BoundedColumn>,
    pub backward: bool,
}

/// A column of an index whose values are in a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedColumn {
    pub kind: Type,
    pub descending: bool,
    pub is_nullable: bool,
}

/// Rows that meet one of several conditions.
#[derive(Clone, Debug)]
pub(crate) struct UnionPath {
    /// The paths, each with the remaining condition on its rows.
    pub ways: Vec<(Access, Option<Expr>)>,
    /// The columns of the primary key, which identify rows.
    pub key: Vec<usize>,
}

/// The bounds of a range after a prefix, as keys.
struct Bounds {
    /// The column's value, and true if it is included; in the order of the index, where nulls are the largest.
    lower: Option<(Value, bool)>,
    upper: Option<(Value, bool)>,
    /// True if the range contains rows that do not meet the condition.
    is_loose: bool,
}

impl Bounds {
    fn range(&self, prefix: Vec<Value>, backward: bool) -> KeyRange {
        let bound = |said: &Option<(Value, bool)>| match said {
            None if prefix.is_empty() => Bound::Unbounded,
            None => Bound::Included(prefix.clone()),
            Some((value, inclusive)) => {
                let mut key = prefix.clone();
                key.push(value.clone());
                match inclusive {
                    true => Bound::Included(key),
                    false => Bound::Excluded(key),
                }
            }
        };
        KeyRange {
            lower: bound(&self.lower),
            upper: bound(&self.upper),
            backward,
        }
    }
}

impl RangePath {
    /// The bounds after the prefix; `None` if the range is empty.
    fn bounds(&self, with: &Environment<'_>) -> Result<Option<Bounds>, SqlError> {
        let mut bounds = Bounds {
            lower: None,
            upper: None,
            is_loose: false,
        };
        let Some(column) = self.bounded else {
            return Ok(Some(bounds));
        };
        for (said, is_lower) in [(&self.lower, true), (&self.upper, false)] {
            let Some((value, inclusive)) = said else {
                continue;
            };
            let value = value.constant(with)?;
            if value == Value::Null {
                return Ok(None);
            }
            let is_whole = matches!(value, Value::Int(_));
            let said = discriminant(&value);
            // A bound between two values of the column's type is tested by the condition.
            let Some(value) = key_value(value, column.kind) else {
                bounds.is_loose = true;
                continue;
            };
            bounds.is_loose |= !is_whole && said != discriminant(&value);
            match is_lower != column.descending {
                true => bounds.lower = Some((value, *inclusive)),
                false => bounds.upper = Some((value, *inclusive)),
            }
        }
        if column.is_nullable {
            let end = match column.descending {
                true => &mut bounds.lower,
                false => &mut bounds.upper,
            };
            end.get_or_insert((Value::Null, false));
        }
        Ok(Some(bounds))
    }

    /// The range of keys that contains the rows, and true if it also contains rows that do not meet the condition.
    /// `None` if it is empty, or there are several ranges.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn only_range(&self, with: &Environment<'_>) -> Result<Option<(KeyRange, bool)>, SqlError> {
        match (only_key(&self.equal, with)?.flatten(), self.bounds(with)?) {
            (Some(prefix), Some(bounds)) => {
                Ok(Some((bounds.range(prefix, self.backward), bounds.is_loose)))
            }
            _ => Ok(None),
        }
    }

    /// The number of rows, if it is known without reading them.
    ///
    /// # Errors
    /// Evaluation errors, rows that cannot be read.
    pub fn count(
        &self,
        table: u16,
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<Option<u64>, SqlError> {
        let Some(bounds) = self.bounds(with)? else {
            return Ok(Some(0));
        };
        if bounds.is_loose {
            return Ok(None);
        }
        let mut count = 0;
        each_key(&self.equal, self.backward, with, &mut |prefix| {
            let range = bounds.range(prefix, self.backward);
            count += source.count_range(table, &self.index, &range)?;
            Ok(true)
        })?;
        Ok(Some(count))
    }
}

impl Access {
    /// Calls `each` with the rows that meet a condition, too. A scan tests parts of it on the bytes of the rows.
    ///
    /// # Errors
    /// Errors of `each` and of the condition; rows that cannot be read; keys that cannot be computed.
    pub fn walk_if(
        &self,
        filter: Option<&Expr>,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let Some(filter) = filter else {
            return self.walk(source, with, each);
        };
        if self.is_plain_scan()
            && let Some(schema) = source.schema(self.table)
            && let pushed = Pushed::of(Some(filter), &schema, with)
            && !pushed.tests.is_empty()
        {
            let mut each_given = |given: Given<'_>| match given {
                Given::Row(row, is_decided) => match pushed.holds(row, is_decided, with)? {
                    true => each(row),
                    false => Ok(true),
                },
                Given::Batch(_) => Ok(true),
            };
            let mut scanned = Scanned::new(&pushed.tests, None, with.context, &mut each_given);
            return source.scan_bytes(self.table, &mut scanned);
        }
        self.walk(source, with, &mut |row| match filter.holds(row, with)? {
            true => each(row),
            false => Ok(true),
        })
    }

    /// True if it reads all rows of the table, and no condition is its own.
    pub fn is_plain_scan(&self) -> bool {
        matches!(self.path, Path::Scan) && self.condition.is_none()
    }

    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// Errors of `each`; rows that cannot be read; keys that cannot be computed.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut more = true;
        let each: EachRow<'_> = &mut |row| {
            with.context.look_at_row()?;
            more = each(row)?;
            Ok(more)
        };
        if let Some(condition) = &self.condition
            && self.has_many_keys(source, with)?
        {
            return source.scan(self.table, &mut |row| match condition.holds(row, with)? {
                true => each(row),
                false => with.context.look_at_row().map(|()| true),
            });
        }
        match &self.path {
            Path::Scan => source.scan(self.table, each),
            Path::Key(path) => self.walk_keys(path, source, with, each),
            Path::Range(path) => self.walk_ranges(path, source, with, each),
            Path::Union(path) => path.walk(source, with, each),
        }
    }

    /// True if a subquery returns so many values that a scan is cheaper than lookups.
    fn has_many_keys(&self, source: &dyn Source, with: &Environment<'_>) -> Result<bool, SqlError> {
        if !source.knows_counts() {
            return Ok(false);
        }
        for column in self.sought() {
            if let Sought::Query(query) = &column.sought
                && query.query.count_equal(query, with)? as u64
                    > source.count(self.table)? / SCANNED_SHARE
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn walk_keys(
        &self,
        path: &KeyPath,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        each_key(&path.key, path.backward, with, &mut |key| {
            let mut more = true;
            let each: EachRow<'_> = &mut |row| {
                more = each(row)?;
                Ok(more)
            };
            match &path.index {
                None => source.point(self.table, &key, each)?,
                Some(index) => source.first(self.table, index, &key, each)?,
            }
            Ok(more)
        })
    }

    fn walk_ranges(
        &self,
        path: &RangePath,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let Some(bounds) = path.bounds(with)? else {
            return Ok(());
        };
        let tested = self.condition.as_ref().filter(|_| bounds.is_loose);
        each_key(&path.equal, path.backward, with, &mut |prefix| {
            let range = bounds.range(prefix, path.backward);
            let mut more = true;
            source.range(self.table, &path.index, &range, &mut |row| {
                if let Some(condition) = tested
                    && !condition.holds(row, with)?
                {
                    return Ok(true);
                }
                more = each(row)?;
                Ok(more)
            })?;
            Ok(more)
        })
    }

    /// True if few rows are read, so that the statement does not delay others.
    pub fn is_short(&self) -> bool {
        match &self.path {
            Path::Key(path) => {
                let counts = path.key.iter().map(|column| column.sought.count());
                counts.product::<usize>() <= SHORT_KEYS
            }
            _ => false,
        }
    }

    /// True if the path finds at most one row.
    pub fn is_point(&self) -> bool {
        matches!(&self.path, Path::Key(path) if is_single(&path.key))
    }

    /// The columns whose values are sought.
    pub fn sought(&self) -> &[KeyColumn] {
        match &self.path {
            Path::Key(path) => &path.key,
            Path::Range(path) => &path.equal,
            Path::Scan | Path::Union(_) => &[],
        }
    }
}

impl UnionPath {
    fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut memory = with.memory();
        let mut met: HashSet<Vec<u8>> = HashSet::new();
        let mut more = true;
        for (way, filter) in &self.ways {
            if !more {
                break;
            }
            way.walk(source, with, &mut |row| {
                if let Some(filter) = filter
                    && !filter.holds(row, with)?
                {
                    return Ok(true);
                }
                let mut key = Vec::new();
                for column in &self.key {
                    key_of(row.value(*column)?, &mut key);
                }
                if met.contains(&key) {
                    return Ok(true);
                }
                memory.take_bytes(key.len() + size_of::<Vec<u8>>())?;
                met.insert(key);
                more = each(row)?;
                Ok(more)
            })?;
        }
        Ok(())
    }
}
