//! `SELECT` run over a state of the tables.

use super::access::{Access, Path};
use super::select::{Input, SelectPlan, SortKey};
use crate::aggregate::{Accumulator, AggregateKind, Grouping, key_of};
use crate::error::{SqlError, code};
use crate::expression::{Environment, InputRow, Values};
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

/// Memory that rows take, counted against the bound.
#[derive(Debug, Default)]
pub(crate) struct Memory(usize);

impl Memory {
    pub fn take(&mut self, values: &[Value]) -> Result<(), SqlError> {
        let outside = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.0 += size_of_val(values) + values.iter().map(outside).sum::<usize>();
        match self.0 <= RESULT_BYTES_MAX {
            true => Ok(()),
            false => Err(SqlError::new(
                code::OUT_OF_MEMORY,
                format!("the rows of the statement take more than {RESULT_BYTES_MAX} bytes"),
            )
            .hint("Ask for fewer rows at a time: with WHERE, or LIMIT.")),
        }
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

impl SelectPlan {
    /// Whether it looks at few rows, so that it does not hold others up.
    pub fn is_short(&self) -> bool {
        match &self.input {
            Input::Nothing | Input::Rows(_) => true,
            Input::Virtual(_) | Input::Join(_) => false,
            Input::Table(access) => {
                access.is_short()
                    || (matches!(access.path, Path::Range(_))
                        && self.limit.is_some()
                        && self.sort.is_empty()
                        && self.filter_is_of_range())
            }
        }
    }

    /// The tables of a statement that reads them whole, to join or group them; `None` if it does not.
    pub fn whole_tables(&self) -> Option<Vec<u16>> {
        let whole = |access: &Access| matches!(access.path, Path::Scan).then_some(access.table);
        match &self.input {
            Input::Table(access) if self.grouping.is_some() => Some(vec![whole(access)?]),
            Input::Join(join) => {
                let sides = join.sides().into_iter();
                sides.map(|(access, ..)| access.and_then(whole)).collect()
            }
            _ => None,
        }
    }

    /// Whether few rows are tested for each that is given.
    fn filter_is_of_range(&self) -> bool {
        self.grouping.is_none() && !self.is_distinct
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
        match &self.input {
            Input::Nothing => filtered(&Values(&[])).map(drop),
            Input::Table(access) => access.walk(source, with, &mut filtered),
            Input::Join(join) => join.walk(source, with, &mut filtered),
            Input::Virtual(table) => {
                for row in table.rows(source, with)? {
                    if !filtered(&Values(&row))? {
                        break;
                    }
                }
                Ok(())
            }
            Input::Rows(rows) => {
                for row in rows {
                    let mut values = Vec::with_capacity(row.len());
                    for expression in row {
                        values.push(expression.constant(with)?);
                    }
                    if !filtered(&Values(&values))? {
                        break;
                    }
                }
                Ok(())
            }
        }
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

    /// Runs it.
    ///
    /// # Errors
    /// What cannot be computed or read; `53200` if the rows take too much memory.
    pub fn run(&self, source: &Source<'_>, with: &Environment<'_>) -> Result<Table, SqlError> {
        let (offset, limit) = self.limits(with)?;
        let mut collector = Collector {
            plan: self,
            with,
            memory: Memory::default(),
            seen: self.is_distinct.then(HashSet::new),
            skip: offset,
            left: limit,
            sorted: Vec::new(),
            table: Table {
                width: self.output.width(),
                ..Table::default()
            },
        };
        if collector.left == 0 {
            return Ok(collector.table);
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
        let mut memory = Memory::default();
        let fresh = || grouping.aggregates.iter().map(Accumulator::new).collect();
        if grouping.keys.is_empty() {
            // One group, of no rows, too.
            groups.push((Vec::new(), fresh()));
            places.insert(Vec::new(), 0);
        }
        let mut key = Vec::new();
        self.walk(source, with, &mut |row| {
            key.clear();
            for of in &grouping.keys {
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

/// Takes rows as they come to their place in the result.
struct Collector<'p, 'e> {
    plan: &'p SelectPlan,
    with: &'p Environment<'e>,
    memory: Memory,
    seen: Option<HashSet<Vec<u8>>>,
    skip: u64,
    left: u64,
    /// The keys, and the output, of rows that are to be sorted.
    sorted: Vec<(Vec<Value>, Vec<Value>)>,
    table: Table,
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
        let from = self.table.values.len();
        self.plan
            .output
            .push(row, self.with, &mut self.table.values)?;
        if !is_new(&mut self.seen, &self.table.values[from..]) {
            self.table.values.truncate(from);
            return Ok(true);
        }
        if self.skip > 0 {
            self.skip -= 1;
            self.table.values.truncate(from);
            return Ok(true);
        }
        self.memory.take(&self.table.values[from..])?;
        self.table.rows += 1;
        self.left -= 1;
        Ok(self.left > 0)
    }

    fn take_to_sort(&mut self, row: &dyn InputRow) -> Result<bool, SqlError> {
        let mut keys = Vec::with_capacity(self.plan.sort.len());
        for key in &self.plan.sort {
            keys.push(key.expression.evaluate(row, self.with)?.into_value());
        }
        let mut values = Vec::with_capacity(self.table.width);
        self.plan.output.push(row, self.with, &mut values)?;
        if !is_new(&mut self.seen, &values) {
            return Ok(true);
        }
        self.memory.take(&keys)?;
        self.memory.take(&values)?;
        self.sorted.push((keys, values));
        // Of few that are wanted only those are kept.
        let wanted = usize::try_from(self.left.saturating_add(self.skip)).unwrap_or(usize::MAX);
        if self.sorted.len() >= wanted.saturating_mul(2).max(1024) {
            self.sort();
            self.sorted.truncate(wanted);
        }
        Ok(true)
    }

    fn sort(&mut self) {
        let keys = &self.plan.sort;
        self.sorted.sort_by(|(a, _), (b, _)| in_order(keys, a, b));
    }

    fn finish(mut self) -> Result<Table, SqlError> {
        if !self.sorted.is_empty() {
            self.sort();
            let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let rows = self.sorted.into_iter().skip(skip).take(most);
            for (_, values) in rows {
                self.table.rows += 1;
                self.table.values.extend(values);
            }
        }
        Ok(self.table)
    }
}

fn is_new(seen: &mut Option<HashSet<Vec<u8>>>, values: &[Value]) -> bool {
    let Some(seen) = seen else {
        return true;
    };
    let mut key = Vec::new();
    values
        .iter()
        .for_each(|value| key_of(value.as_ref(), &mut key));
    seen.insert(key)
}

/// The order of two rows by their keys.
fn in_order(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
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
