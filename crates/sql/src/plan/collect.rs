//! The rows of a result on their way to the sink: made distinct, sorted, and limited.

use super::locked_run::{Admission, LockedRow};
use super::select_run::RowSink;
use super::sorting::sort;
use super::tree::SelectPlan;
use crate::error::SqlError;
use crate::expression::{Environment, Expr, in_order};
use crate::memory::Memory;
use crate::rows::{InputRow, put};
use crate::values::equality_keys::key_of;
use sardonyx::schema::{Value, ValueRef};
use std::collections::HashSet;

/// Unwanted rows are not dropped while fewer rows than this are kept.
const KEPT_MIN: usize = 64;

/// A row that is to be sorted.
struct Sorted {
    keys: Vec<Value>,
    /// The columns from which its volatile values are computed.
    row: Vec<Value>,
    /// The key that distinguishes it from others, if its values do not suffice.
    apart: Vec<u8>,
    values: Vec<Value>,
    /// The keys of the locked tables, if rows are locked.
    locked: LockedRow,
    bytes: usize,
}

/// Takes rows as they come and brings them to their place in the result.
pub(crate) struct Collector<'p, 'e> {
    plan: &'p SelectPlan,
    with: &'p Environment<'e>,
    memory: Memory<'e>,
    seen: Option<HashSet<Vec<u8>>>,
    skip: u64,
    left: u64,
    sorted: Vec<Sorted>,
    /// The last row's keys among those wanted so far: a row that does not come before it is not wanted.
    last: Option<Vec<Value>>,
    /// The number of kept rows from which the unwanted ones are dropped again.
    next_drop: usize,
    late: Late,
    /// True if no values are computed: the rows are only claimed and counted.
    only_counts: bool,
    /// True if rows skipped by OFFSET are computed: they may fail, or call volatile functions.
    computes_skipped: bool,
    /// A buffer for the keys of the current row.
    keys: Vec<Value>,
    /// A buffer for the values of the current row.
    values: Vec<Value>,
    /// The rows that may be given, if rows are locked.
    admission: Option<&'p Admission<'p>>,
    sink: RowSink<'p>,
}

impl<'p, 'e> Collector<'p, 'e> {
    /// A collector for the rows of a plan, of which `skip` are skipped and at most `left` are returned.
    pub fn new(
        plan: &'p SelectPlan,
        with: &'p Environment<'e>,
        (skip, left): (u64, u64),
        admission: Option<&'p Admission<'p>>,
        sink: RowSink<'p>,
    ) -> Self {
        let only_counts = admission.is_some_and(|admission| admission.only_counts(&plan.locks));
        let tells_apart = plan.is_distinct || !plan.distinct_on.is_empty();
        Collector {
            plan,
            with,
            memory: with.memory(),
            seen: tells_apart.then(HashSet::new),
            skip,
            left,
            sorted: Vec::new(),
            last: None,
            next_drop: 0,
            late: Late::of(plan),
            only_counts,
            computes_skipped: plan.output.computes() && !only_counts,
            keys: Vec::new(),
            values: Vec::with_capacity(plan.output.width()),
            admission,
            sink,
        }
    }

    /// Takes a row. Returns true if more are wanted.
    ///
    /// # Errors
    /// Evaluation errors; `53200` if rows take too much memory; errors of the sink.
    pub fn take(&mut self, row: &dyn InputRow) -> Result<bool, SqlError> {
        if !self.plan.sort.is_empty() || self.plan.with_ties {
            return self.take_to_sort(row);
        }
        if let Some(admission) = self.admission {
            match admission.look(&self.plan.locks, row)? {
                Some(locked) if admission.take(&locked)? => {}
                _ => return Ok(true),
            }
        }
        if self.seen.is_none() && self.skip > 0 {
            self.skip -= 1;
            if self.computes_skipped {
                self.values.clear();
                self.plan.output.push(row, self.with, &mut self.values)?;
            }
            return Ok(true);
        }
        self.values.clear();
        if !self.only_counts {
            self.plan.output.push(row, self.with, &mut self.values)?;
        }
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

    /// Returns the key that distinguishes a row, whose values are computed, from others.
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
        // Reuses the buffer of an unwanted row's keys.
        let mut keys = std::mem::take(&mut self.keys);
        keys.resize(self.plan.sort.len(), Value::Null);
        for (key, place) in self.plan.sort.iter().zip(&mut keys) {
            put(key.expression.evaluate(row, self.with)?.as_ref(), place);
        }
        if let Some(last) = &self.last {
            let order = in_order(&self.plan.sort, &keys, last);
            if order.is_gt() || (order.is_eq() && !self.plan.with_ties) {
                self.keys = keys;
                return Ok(true);
            }
        }
        let mut locked = LockedRow::new();
        if let Some(admission) = self.admission {
            match admission.look(&self.plan.locks, row)? {
                Some(keys) => locked = keys,
                None => {
                    self.keys = keys;
                    return Ok(true);
                }
            }
        }
        self.values.clear();
        let outputs = self.plan.output.expressions.iter().enumerate();
        for (place, expression) in outputs.filter(|_| !self.only_counts) {
            let same = self.late.keys.iter().find(|(of, _)| *of == place);
            self.values
                .push(match (same, self.late.outputs.contains(&place)) {
                    (Some((_, key)), _) => keys[*key].clone(),
                    (None, true) => Value::Null,
                    (None, false) => expression.evaluate(row, self.with)?.into_value(),
                });
        }
        let late_row = self.late.columns_of(row)?;
        let mut apart = Vec::new();
        if self.seen.is_some() {
            apart = self.apart(row)?;
            // The first row in order is only known at the end.
            if self.plan.is_distinct && !self.is_new(std::mem::take(&mut apart))? {
                return Ok(true);
            }
        }
        let before = self.memory.bytes();
        self.memory.take(&keys)?;
        self.memory.take(&late_row)?;
        self.memory.take(&self.values)?;
        for (_, key) in &locked {
            self.memory.take(key)?;
        }
        let values = std::mem::take(&mut self.values);
        self.sorted.push(Sorted {
            keys,
            row: late_row,
            apart,
            values,
            locked,
            bytes: self.memory.bytes() - before,
        });
        self.drop_unwanted()?;
        Ok(true)
    }

    /// Drops the unwanted rows when twice as many are kept as are wanted.
    fn drop_unwanted(&mut self) -> Result<(), SqlError> {
        let wanted = usize::try_from(self.left.saturating_add(self.skip)).unwrap_or(usize::MAX);
        let most = wanted.saturating_mul(2).max(KEPT_MIN);
        let most = most.max(self.next_drop);
        if !self.plan.distinct_on.is_empty() || self.sorted.len() < most {
            return Ok(());
        }
        self.sort()?;
        self.last = self.sorted.get(wanted - 1).map(|row| row.keys.clone());
        let mut kept = wanted;
        if let Some(last) = self.last.as_ref().filter(|_| self.plan.with_ties) {
            let keys = &self.plan.sort;
            let rest = self.sorted.iter().skip(wanted);
            kept += rest
                .take_while(|row| in_order(keys, &row.keys, last).is_eq())
                .count();
        }
        for dropped in self.sorted.drain(kept..) {
            self.memory.give_back(dropped.bytes);
        }
        self.next_drop = kept.saturating_mul(2).max(KEPT_MIN);
        Ok(())
    }

    fn sort(&mut self) -> Result<(), SqlError> {
        let (keys, context) = (&self.plan.sort, self.with.context);
        let order = |a: &Sorted, b: &Sorted| in_order(keys, &a.keys, &b.keys);
        sort(&mut self.sorted, order, || context.between_rows())
    }

    /// Returns the sorted rows to the sink.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn finish(mut self) -> Result<(), SqlError> {
        self.sort()?;
        let mut last: Option<Vec<Value>> = None;
        for mut row in std::mem::take(&mut self.sorted) {
            if !self.plan.distinct_on.is_empty() && !self.is_new(row.apart)? {
                continue;
            }
            let is_tie = |last: &Vec<Value>| in_order(&self.plan.sort, &row.keys, last).is_eq();
            if self.left == 0 && !last.as_ref().is_some_and(is_tie) {
                break;
            }
            if let Some(admission) = self.admission
                && !admission.take(&row.locked)?
            {
                admission.has_lost();
                continue;
            }
            if !self.only_counts {
                self.late
                    .compute(self.plan, &row.row, self.with, &mut row.values)?;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if !(self.sink)(&mut row.values)? {
                break;
            }
            self.left = self.left.saturating_sub(1);
            if self.left == 0 && self.plan.with_ties {
                last = Some(row.keys);
            }
        }
        Ok(())
    }
}

/// Values of volatile functions, which are computed only for returned rows, in their order.
#[derive(Default)]
struct Late {
    /// The places of the values in the output.
    outputs: Vec<usize>,
    /// The places of the values that are sort keys, which are computed once, with the keys' numbers.
    keys: Vec<(usize, usize)>,
    /// The places of the columns from which they are computed.
    columns: Vec<usize>,
}

impl Late {
    fn of(plan: &SelectPlan) -> Late {
        let mut late = Late::default();
        if plan.sort.is_empty() {
            return late;
        }
        for (place, expression) in plan.output.expressions.iter().enumerate() {
            if !expression.is_volatile() || plan.distinct_on.contains(expression) {
                continue;
            }
            let mut sort = plan.sort.iter();
            if let Some(key) = sort.position(|key| key.expression == *expression) {
                late.keys.push((place, key));
                continue;
            }
            if plan.is_distinct {
                continue;
            }
            late.outputs.push(place);
            expression.walk(&mut |part| {
                if let Expr::Column(column) = part {
                    late.columns.push(*column);
                }
            });
        }
        late.columns.sort_unstable();
        late.columns.dedup();
        late
    }

    fn columns_of(&self, row: &dyn InputRow) -> Result<Vec<Value>, SqlError> {
        let columns = self.columns.iter();
        let values = columns.map(|column| Ok(row.value(*column)?.to_value()));
        values.collect()
    }

    fn compute(
        &self,
        plan: &SelectPlan,
        row: &[Value],
        with: &Environment<'_>,
        values: &mut [Value],
    ) -> Result<(), SqlError> {
        let row = Sparse {
            columns: &self.columns,
            values: row,
        };
        for place in &self.outputs {
            values[*place] = plan.output.expressions[*place]
                .evaluate(&row, with)?
                .into_value();
        }
        Ok(())
    }
}

/// Some columns of a row.
struct Sparse<'a> {
    columns: &'a [usize],
    values: &'a [Value],
}

impl InputRow for Sparse<'_> {
    fn value(&self, place: usize) -> Result<ValueRef<'_>, SqlError> {
        let found = self.columns.binary_search(&place).ok();
        let value = found.and_then(|at| self.values.get(at));
        Ok(value.map_or(ValueRef::Null, Value::as_ref))
    }
}
