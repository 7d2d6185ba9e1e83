//! `SELECT` run over a state of the tables.

use super::access::Path;
use super::from::Series;
use super::join::JoinNode;
use super::select::{Input, SelectPlan, SortKey};
use super::subquery::Kept;
use crate::aggregate::{Accumulator, AggregateKind, Grouping, key_of};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, InputRow, Values};
use crate::source::{EachRow, Source};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_table::condition::compare;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// The most bytes that the rows of a statement take in memory: of a result, of groups, of what is sorted.
pub(crate) const RESULT_BYTES_MAX: usize = 256 << 20;

/// Rows, one value after another.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub values: Vec<Value>,
    pub width: usize,
    pub rows: u64,
}

/// Checks the memory that rows take against the bound.
///
/// # Errors
/// `53200` beyond it.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), SqlError> {
    match bytes <= RESULT_BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::OUT_OF_MEMORY,
            format!("the rows of the statement take more than {RESULT_BYTES_MAX} bytes"),
        )
        .hint("Ask for fewer rows at a time: with WHERE, or LIMIT.")),
    }
}

/// Memory that rows take, counted against the bound of the statement while this is there.
#[derive(Debug, Default)]
pub(crate) struct Memory<'m> {
    bytes: usize,
    kept: Option<&'m Kept>,
}

impl<'m> Memory<'m> {
    /// Of the statement that is run.
    pub fn of(with: &Environment<'m>) -> Memory<'m> {
        Memory {
            bytes: 0,
            kept: with.reading.map(|reading| reading.kept),
        }
    }

    /// Counts values.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn take(&mut self, values: &[Value]) -> Result<(), SqlError> {
        let outside = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.take_bytes(size_of_val(values) + values.iter().map(outside).sum::<usize>())
    }

    /// Counts bytes.
    ///
    /// # Errors
    /// `53200` beyond the bound.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.bytes += bytes;
        match self.kept {
            Some(kept) => {
                kept.bytes.set(kept.bytes.get() + bytes);
                check_bytes(kept.bytes.get())
            }
            None => check_bytes(self.bytes),
        }
    }

    /// How many bytes were counted.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts no more, and leaves what was counted to whoever keeps the rows.
    pub fn keep(&mut self) -> usize {
        let bytes = self.bytes;
        self.release();
        bytes
    }

    fn release(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(kept) = self.kept {
            kept.bytes.set(kept.bytes.get().saturating_sub(bytes));
        }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

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

impl Input {
    /// Whether it asks for values of the rows before it.
    pub fn asks_for_rows(&self) -> bool {
        matches!(self, Input::Lateral(..) | Input::Series(_))
    }

    /// Calls `each` with the rows; `before` is the row of what stands before it in `FROM`.
    ///
    /// # Errors
    /// What `each` returns; what cannot be read or computed; `53200` if rows take too much memory.
    pub fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        before: &dyn InputRow,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        match self {
            Input::Nothing => each(&Values(&[])).map(drop),
            Input::Table(access) => access.walk(source, with, each),
            Input::Join(join) => join.walk(source, with, each),
            Input::Virtual(table) => {
                let rows = table.rows(source, with)?;
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
                let table = reading.kept.table(shared, source, with)?;
                match table.width {
                    0 => each_of((0..table.rows).map(|_| &[][..]), each),
                    width => each_of(table.values.chunks(width), each),
                }
            }
            Input::Series(series) => series.walk(before, with, each),
            Input::Sets(sets) => sets.walk(source, with, each),
            Input::Expanded(expansion) => expansion.walk(source, with, each),
        }
    }
}

fn each_of<'r>(rows: impl Iterator<Item = &'r [Value]>, each: EachRow<'_>) -> Result<(), SqlError> {
    for row in rows {
        if !each(&Values(row))? {
            break;
        }
    }
    Ok(())
}

impl Series {
    fn walk(
        &self,
        before: &dyn InputRow,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let (from, to, step) = match self {
            Series::Numbers { from, to, step } => (from, to, step),
            Series::Elements(array, kind) => {
                let array = array.evaluate(before, with)?.into_value();
                let Value::Text(array) = array else {
                    return Ok(());
                };
                let values = crate::expression::arrays::values(&array, *kind)?;
                return each_of(values.chunks(1), each);
            }
        };
        let whole = |expr: &Expr| {
            Ok::<_, SqlError>(match expr.evaluate(before, with)?.as_ref() {
                ValueRef::Int(value) => Some(value),
                _ => None,
            })
        };
        let (Some(from), Some(to), Some(step)) = (whole(from)?, whole(to)?, whole(step)?) else {
            return Ok(());
        };
        if step == 0 {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "step size cannot equal zero",
            ));
        }
        let mut now = from;
        while (step > 0 && now <= to) || (step < 0 && now >= to) {
            if !each(&Values(&[Value::Int(now)]))? {
                break;
            }
            now += step;
        }
        Ok(())
    }
}

/// What takes the rows of a result, one after the other. It returns whether it wants more.
pub(crate) type RowSink<'s> = &'s mut dyn FnMut(&mut Vec<Value>) -> Result<bool, SqlError>;

impl Input {
    /// Whether no row of it is found by a key or an index of a table. Tables of the catalogue are not whole ones.
    fn is_whole(&self) -> bool {
        match self {
            Input::Table(access) => matches!(access.path, Path::Scan),
            Input::Join(join) => join.root.is_whole(),
            Input::Derived(query) | Input::Lateral(query, _) => query.input.is_whole(),
            Input::Shared(query) => query.plan.input.is_whole(),
            Input::Sets(_) => true,
            Input::Expanded(_) | Input::Virtual(_) => false,
            Input::Nothing | Input::Rows(_) | Input::Series(_) => true,
        }
    }
}

impl JoinNode {
    fn is_whole(&self) -> bool {
        match self {
            JoinNode::Side(side) => side.input.is_whole(),
            JoinNode::Join(step) => step.left.is_whole() && step.right.is_whole(),
        }
    }
}

impl SelectPlan {
    /// Whether it looks at few rows, so that it does not hold others up.
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

    /// Whether it reads whole tables to join them, to group them, or for the queries in it: no row of them is found by a
    /// key or an index.
    pub fn reads_whole(&self) -> bool {
        match &self.input {
            Input::Nothing | Input::Rows(_) => self.has_subqueries,
            Input::Table(_) => {
                (self.grouping.is_some() || self.has_subqueries) && self.input.is_whole()
            }
            input => input.is_whole(),
        }
    }

    /// Whether few rows are tested for each that is given.
    fn filter_is_of_range(&self) -> bool {
        self.grouping.is_none() && !self.is_distinct && self.distinct_on.is_empty()
    }

    /// Calls `each` with the rows of the input that meet the condition.
    fn walk(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut filtered = |row: &dyn InputRow| match &self.filter {
            Some(filter) if !filter.holds(row, with)? => Ok(true),
            _ => each(row),
        };
        self.input.walk(source, with, &Values(&[]), &mut filtered)
    }

    /// How many rows are left out, and how many are given at most.
    ///
    /// # Errors
    /// `2201W`, `2201X` if they are negative.
    pub fn limits(&self, with: &Environment<'_>) -> Result<(u64, u64), SqlError> {
        let limit = whole(self.limit.as_ref(), with, "LIMIT")?;
        let offset = whole(self.offset.as_ref(), with, "OFFSET")?;
        Ok((offset.unwrap_or(0), limit.unwrap_or(u64::MAX)))
    }

    /// Runs it as a statement, or as the query of one.
    ///
    /// # Errors
    /// What cannot be computed or read; `53200` if the rows take too much memory.
    pub fn run(&self, source: &Source<'_>, with: &Environment<'_>) -> Result<Table, SqlError> {
        let kept = Kept::default();
        let with = &with.over(*source, &kept);
        let mut table = Table {
            width: self.output.width(),
            ..Table::default()
        };
        let mut memory = Memory::of(with);
        // What is sorted was counted when it was taken.
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

    /// Calls `sink` with the rows of the result, at most so many.
    ///
    /// # Errors
    /// What `sink` returns; those of [`SelectPlan::run`].
    pub fn rows(
        &self,
        source: &Source<'_>,
        with: &Environment<'_>,
        most: u64,
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        let (offset, limit) = self.limits(with)?;
        let mut collector = Collector {
            plan: self,
            with,
            memory: Memory::of(with),
            seen: self.filter_of_duplicates(),
            skip: offset,
            left: limit.min(most),
            sorted: Vec::new(),
            values: Vec::with_capacity(self.output.width()),
            sink,
        };
        if collector.left == 0 {
            return Ok(());
        }
        match &self.grouping {
            Some(grouping) => {
                if let Some(count) = self.counted(source, with)? {
                    collector.take(&Values(&[Value::Int(count.into())]))?;
                } else {
                    for row in self.groups(grouping, source, with)? {
                        let holds = match &self.having {
                            Some(having) => having.holds(&Values(&row), with)?,
                            None => true,
                        };
                        if holds && !collector.take(&Values(&row))? {
                            break;
                        }
                    }
                }
            }
            None => self.walk(source, with, &mut |row| collector.take(row))?,
        }
        collector.finish()
    }

    /// What tells rows apart as they come, if they are told apart.
    fn filter_of_duplicates(&self) -> Option<HashSet<Vec<u8>>> {
        (self.is_distinct || !self.distinct_on.is_empty()).then(HashSet::new)
    }

    /// `count(*)` without looking at rows.
    fn counted(
        &self,
        source: &Source<'_>,
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
                Path::Range(path) => match path.range(with)? {
                    Some(range) => source
                        .count_range(access.table, &path.index, &range)
                        .map(Some),
                    None => Ok(Some(0)),
                },
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn groups(
        &self,
        grouping: &Grouping,
        source: &Source<'_>,
        with: &Environment<'_>,
    ) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut groups: Vec<(Vec<Value>, Vec<Accumulator>)> = Vec::new();
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut memory = Memory::of(with);
        let fresh = || grouping.aggregates.iter().map(Accumulator::new).collect();
        if grouping.keys.is_empty() {
            // One group, of no rows, too.
            groups.push((Vec::new(), fresh()));
            places.insert(Vec::new(), 0);
        }
        let mut key = Vec::new();
        self.walk(source, with, &mut |row| {
            key.clear();
            for of in grouping.keys.iter().take(grouping.identifying) {
                key_of(of.expr.evaluate(row, with)?.as_ref(), &mut key);
            }
            let place = match places.get(&key) {
                Some(place) => *place,
                None => {
                    let mut values = Vec::with_capacity(grouping.keys.len());
                    for of in &grouping.keys {
                        values.push(of.expr.evaluate(row, with)?.into_value());
                    }
                    memory.take(&values)?;
                    groups.push((values, fresh()));
                    places.insert(key.clone(), groups.len() - 1);
                    groups.len() - 1
                }
            };
            for (of, accumulator) in grouping.aggregates.iter().zip(&mut groups[place].1) {
                accumulator.add(of, row, with)?;
            }
            Ok(true)
        })?;
        let mut rows = Vec::with_capacity(groups.len());
        for (mut values, accumulators) in groups {
            for (of, accumulator) in grouping.aggregates.iter().zip(&accumulators) {
                values.push(accumulator.finish(of)?);
            }
            rows.push(values);
        }
        Ok(rows)
    }
}

/// A row that is to be sorted.
struct Sorted {
    keys: Vec<Value>,
    /// By what it is told apart from others, if it is by more than its values.
    apart: Vec<u8>,
    values: Vec<Value>,
}

/// Takes rows as they come to their place in the result.
struct Collector<'p, 'e> {
    plan: &'p SelectPlan,
    with: &'p Environment<'e>,
    memory: Memory<'e>,
    seen: Option<HashSet<Vec<u8>>>,
    skip: u64,
    left: u64,
    sorted: Vec<Sorted>,
    /// The row that is made.
    values: Vec<Value>,
    sink: RowSink<'p>,
}

impl Collector<'_, '_> {
    /// Takes a row. Returns whether more are wanted.
    fn take(&mut self, row: &dyn InputRow) -> Result<bool, SqlError> {
        if !self.plan.sort.is_empty() {
            return self.take_to_sort(row);
        }
        if self.seen.is_none() && self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        self.values.clear();
        self.plan.output.push(row, self.with, &mut self.values)?;
        if self.seen.is_some() {
            let apart = self.apart(row)?;
            if !self.is_new(apart)? {
                return Ok(true);
            }
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        self.left -= 1;
        let wants = (self.sink)(&mut self.values)?;
        Ok(wants && self.left > 0)
    }

    /// What tells a row apart from others, whose values are made.
    fn apart(&self, row: &dyn InputRow) -> Result<Vec<u8>, SqlError> {
        let mut key = Vec::new();
        match self.plan.is_distinct {
            true => (self.values.iter()).for_each(|value| key_of(value.as_ref(), &mut key)),
            false => {
                for of in &self.plan.distinct_on {
                    key_of(of.evaluate(row, self.with)?.as_ref(), &mut key);
                }
            }
        }
        Ok(key)
    }

    fn is_new(&mut self, apart: Vec<u8>) -> Result<bool, SqlError> {
        let Some(seen) = &mut self.seen else {
            return Ok(true);
        };
        if seen.contains(&apart) {
            return Ok(false);
        }
        self.memory.take_bytes(apart.len() + size_of::<Vec<u8>>())?;
        Ok(seen.insert(apart))
    }

    fn take_to_sort(&mut self, row: &dyn InputRow) -> Result<bool, SqlError> {
        let mut keys = Vec::with_capacity(self.plan.sort.len());
        for key in &self.plan.sort {
            keys.push(key.expression.evaluate(row, self.with)?.into_value());
        }
        self.values.clear();
        self.plan.output.push(row, self.with, &mut self.values)?;
        let mut apart = Vec::new();
        if self.seen.is_some() {
            apart = self.apart(row)?;
            // Which is the first in order is known at the end only.
            if self.plan.is_distinct && !self.is_new(std::mem::take(&mut apart))? {
                return Ok(true);
            }
        }
        self.memory.take(&keys)?;
        self.memory.take(&self.values)?;
        let values = std::mem::take(&mut self.values);
        self.sorted.push(Sorted {
            keys,
            apart,
            values,
        });
        // Of few that are wanted only those are kept.
        let wanted = usize::try_from(self.left.saturating_add(self.skip)).unwrap_or(usize::MAX);
        let is_cut = self.plan.distinct_on.is_empty();
        if is_cut && self.sorted.len() >= wanted.saturating_mul(2).max(1024) {
            self.sort();
            self.sorted.truncate(wanted);
        }
        Ok(true)
    }

    fn sort(&mut self) {
        let keys = &self.plan.sort;
        self.sorted.sort_by(|a, b| in_order(keys, &a.keys, &b.keys));
    }

    fn finish(mut self) -> Result<(), SqlError> {
        self.sort();
        for mut row in std::mem::take(&mut self.sorted) {
            if !self.plan.distinct_on.is_empty() && !self.is_new(row.apart)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if self.left == 0 || !(self.sink)(&mut row.values)? {
                break;
            }
            self.left -= 1;
        }
        Ok(())
    }
}

/// The order of two rows by their keys.
pub(crate) fn in_order(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let order = match (a.as_ref(), b.as_ref()) {
            (ValueRef::Null, ValueRef::Null) => Ordering::Equal,
            (ValueRef::Null, _) if key.nulls_first => Ordering::Less,
            (ValueRef::Null, _) => Ordering::Greater,
            (_, ValueRef::Null) if key.nulls_first => Ordering::Greater,
            (_, ValueRef::Null) => Ordering::Less,
            (a, b) => {
                let order = compare(a, b).unwrap_or(Ordering::Equal);
                if key.descending {
                    order.reverse()
                } else {
                    order
                }
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
