//! `SELECT` run over a state of the tables.

use super::access::Path;
use super::collect::Collector;
use super::groups::Groups;
use super::locked_run::Admission;
use super::tree::{Input, SelectPlan};
use crate::aggregate::AggregateKind;
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::rows::{EachRow, InputRow, Table, Values, each_of};
use crate::source::Source;
use crate::virtual_tables::{ComputeRows, VirtualRows};
use sardonyx::schema::Value;
use std::rc::Rc;

fn whole(
    expression: Option<&crate::expression::Expr>,
    with: &Environment<'_>,
    what: &str,
) -> Result<Option<u64>, SqlError> {
    let Some(expression) = expression else {
        return Ok(None);
    };
    match expression.constant(with)? {
        Value::Int(value) => u64::try_from(value).map(Some).map_err(|_| {
            SqlError::new(
                if what == "LIMIT" { "2201W" } else { "2201X" },
                format!("{what} must not be negative"),
            )
        }),
        _ => Ok(None),
    }
}

/// The most rows of a table of the catalogue that a statement keeps.
const CATALOGUE_ROWS_MAX: usize = 1 << 16;

/// The rows of a table of the catalogue, which are computed once in a statement.
fn catalogue_rows(
    compute: ComputeRows,
    source: &dyn Source,
    with: &Environment<'_>,
) -> Result<Rc<VirtualRows>, SqlError> {
    let Some(reading) = with.reading else {
        return Ok(Rc::new(compute(source, with)?));
    };
    let key = compute as usize;
    let there = reading.kept.catalogue.borrow().get(&key).cloned();
    if let Some(there) = there {
        return Ok(there);
    }
    let rows = Rc::new(compute(source, with)?);
    // They are computed again where there is no memory to keep them.
    let mut memory = with.memory();
    let fits = rows.iter().try_for_each(|row| memory.take(row)).is_ok();
    if fits && rows.len() <= CATALOGUE_ROWS_MAX {
        memory.keep();
        let mut kept = reading.kept.catalogue.borrow_mut();
        kept.insert(key, rows.clone());
    }
    Ok(rows)
}

impl Input {
    /// True if it reads values of the rows before it in `FROM`.
    pub fn asks_for_rows(&self) -> bool {
        matches!(self, Input::Lateral(..) | Input::Series(_))
    }

    /// Calls `each` with the rows; `before` is the row of the items before it in `FROM`.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors; `53200` if rows take too much memory.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        before: &dyn InputRow,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        match self {
            Input::Nothing => each(&Values(&[])).map(drop),
            Input::Table(access) => access.walk(source, with, each),
            Input::Join(join) => join.walk(source, with, each),
            Input::Virtual(_, compute) => {
                let rows = catalogue_rows(*compute, source, with)?;
                each_of(rows.iter().map(Vec::as_slice), each)
            }
            Input::Rows(rows) => {
                for row in rows {
                    let mut values = Vec::with_capacity(row.len());
                    for expression in row {
                        values.push(expression.constant(with)?);
                    }
                    if !each(&Values(&values))? {
                        break;
                    }
                }
                Ok(())
            }
            Input::Derived(plan) => {
                plan.rows(source, with, u64::MAX, &mut |row| each(&Values(row)))
            }
            Input::Lateral(plan, arguments) => {
                let mut outer = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    outer.push(argument.evaluate(before, with)?.into_value());
                }
                let inside = Environment {
                    outer: &outer,
                    ..*with
                };
                plan.rows(source, &inside, u64::MAX, &mut |row| each(&Values(row)))
            }
            Input::Shared(shared) => {
                let reading = with.reading.ok_or_else(|| {
                    SqlError::unsupported("a query that WITH names is not supported here")
                })?;
                reading.kept.table(shared, source, with)?.walk(each)
            }
            Input::Series(series) => series.walk(before, with, each),
            Input::Sets(sets) => sets.walk(source, with, each),
            Input::Recursion(recursion) => recursion.walk(source, with, each),
            Input::LastRound(number) => {
                let kept = with.reading.map(|reading| reading.kept);
                match kept.and_then(|kept| kept.last_round(*number)) {
                    Some(table) => table.walk(each),
                    None => Ok(()),
                }
            }
            Input::Expanded(expansion) => expansion.walk(source, with, each),
            Input::Windowed(windowed) => windowed.walk(source, with, each),
        }
    }
}

/// A callback for the rows of a result, in order. Returns true if it wants more rows.
pub(crate) type RowSink<'s> = &'s mut dyn FnMut(&mut Vec<Value>) -> Result<bool, SqlError>;

impl SelectPlan {
    /// True if the query reads few rows, so that it does not delay others.
    pub fn is_short(&self) -> bool {
        if self.has_subqueries {
            return false;
        }
        match &self.input {
            Input::Nothing | Input::Rows(_) => true,
            Input::Table(access) => {
                access.is_short()
                    || (matches!(access.path, Path::Range(_))
                        && self.limit.is_some()
                        && self.sort.is_empty()
                        && self.filter_is_of_range())
            }
            _ => false,
        }
    }

    /// True if only the first rows in order are kept during the sort.
    pub fn keeps_few(&self) -> bool {
        self.limit.is_some() && !self.sort.is_empty() && self.distinct_on.is_empty()
    }

    /// True if few rows are tested for each row returned.
    fn filter_is_of_range(&self) -> bool {
        self.grouping.is_none() && !self.is_distinct && self.distinct_on.is_empty()
    }

    /// Calls `each` with the rows of the input that meet the condition.
    fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        if let Input::Table(access) = &self.input {
            return access.walk_if(self.filter.as_ref(), source, with, each);
        }
        let mut filtered = |row: &dyn InputRow| {
            with.context.look_at_row()?;
            match &self.filter {
                Some(filter) if !filter.holds(row, with)? => Ok(true),
                _ => each(row),
            }
        };
        self.input.walk(source, with, &Values(&[]), &mut filtered)
    }

    /// The number of rows to skip, and the most rows to return.
    ///
    /// # Errors
    /// `2201W`, `2201X` if they are negative.
    pub fn limits(&self, with: &Environment<'_>) -> Result<(u64, u64), SqlError> {
        let limit = whole(self.limit.as_ref(), with, "LIMIT")?;
        if limit.is_none() && self.with_ties {
            return Err(SqlError::new(
                "2201W",
                "row count cannot be null in FETCH FIRST ... WITH TIES clause",
            ));
        }
        let offset = whole(self.offset.as_ref(), with, "OFFSET")?;
        Ok((offset.unwrap_or(0), limit.unwrap_or(u64::MAX)))
    }

    /// Runs the query as a statement, or as part of one.
    ///
    /// # Errors
    /// Evaluation and read errors; `53200` if the rows take too much memory.
    pub fn run(&self, source: &dyn Source, with: &Environment<'_>) -> Result<Table, SqlError> {
        let own = Kept::default();
        let with = &with.over(source, with.kept(&own));
        let mut table = Table {
            width: self.output.width(),
            ..Table::default()
        };
        let mut memory = with.memory();
        // Sorted rows were already counted when they were added to the sort.
        let is_counted = !self.sort.is_empty();
        self.rows(source, with, u64::MAX, &mut |row| {
            if !is_counted {
                memory.take(row)?;
            }
            self.output.show(row, with);
            table.values.append(row);
            table.rows += 1;
            Ok(true)
        })?;
        Ok(table)
    }

    /// Calls `sink` with at most the given number of the result's rows.
    ///
    /// # Errors
    /// Errors of `sink`; errors of [`SelectPlan::run`].
    pub fn rows(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        most: u64,
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        match self.locks.is_empty() {
            true => self.rows_of(source, with, (most, None), sink),
            false => self.locked_rows(source, with, most, sink),
        }
    }

    /// The same for the rows that are admitted.
    ///
    /// # Errors
    /// Errors of [`SelectPlan::rows`].
    pub(super) fn rows_of(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        (most, admission): (u64, Option<&Admission<'_>>),
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        let (offset, limit) = self.limits(with)?;
        let left = limit.min(most);
        if left == 0 {
            return Ok(());
        }
        let mut given = 0;
        let mut bounded = |row: &mut Vec<Value>| {
            given += 1;
            Ok(sink(row)? && given < most)
        };
        // Ties come beyond the limit, but no more rows than the caller wants.
        let sink: RowSink<'_> = match self.with_ties {
            true => &mut bounded,
            false => sink,
        };
        let mut collector = Collector::new(self, with, (offset, left), admission, sink);
        match &self.grouping {
            Some(grouping) => {
                if let Some(count) = self.counted(source, with)? {
                    collector.take(&Values(&[Value::Int(count.into())]))?;
                } else {
                    let mut groups = Groups::of(grouping, with);
                    if !self.walk_batches(grouping, &mut groups, source, with)? {
                        self.walk(source, with, &mut |row| {
                            for groups in &mut groups {
                                groups.add(row, with)?;
                            }
                            Ok(true)
                        })?;
                    }
                    for groups in groups {
                        let wants_more = groups.give(with, &mut |row| {
                            let row = &Values(row);
                            match &self.having {
                                Some(having) if !having.holds(row, with)? => Ok(true),
                                _ => collector.take(row),
                            }
                        })?;
                        if !wants_more {
                            break;
                        }
                    }
                }
            }
            None => {
                let take: EachRow<'_> = &mut |row| collector.take(row);
                if !self.walk_admitted(admission, source, with, take)? {
                    self.walk(source, with, take)?;
                }
            }
        }
        collector.finish()
    }

    /// `count(*)` without reading rows.
    fn counted(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<Option<u64>, SqlError> {
        let Some(grouping) = &self.grouping else {
            return Ok(None);
        };
        let [aggregate] = grouping.aggregates.as_slice() else {
            return Ok(None);
        };
        let is_count = aggregate.kind == AggregateKind::Count
            && aggregate.argument.is_none()
            && aggregate.filter.is_none();
        if !is_count || !grouping.keys.is_empty() || self.having.is_some() || self.filter.is_some()
        {
            return Ok(None);
        }
        match &self.input {
            Input::Table(access) => match &access.path {
                Path::Scan => source.count(access.table).map(Some),
                Path::Range(path) => path.count(access.table, source, with),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}
