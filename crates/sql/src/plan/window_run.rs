//! Window functions, run: the rows are kept, sorted for each window, and divided into partitions; each call is computed
//! for every row of a partition.
//!
//! Frames only move forwards, row by row. An aggregate of a frame that begins with the partition adds each row once. If
//! the frame's start moves, too, its aggregate combines two parts. One is precomputed for the rows from each place up
//! to a middle, the other is a running aggregate of the rows after it. So each row is added at most twice. Sums of
//! floats and concatenations depend on the order, and are computed for each frame separately, as are all with
//! `EXCLUDE`.

use super::frames::Frames;
use super::tree::{WindowSort, Windowed};
use crate::aggregate::{Accumulator, Aggregate};
use crate::error::{SqlError, code};
use crate::expression::window::{WindowCall, WindowFunction};
use crate::expression::{Environment, Expr, in_order};
use crate::memory::Memory;
use crate::rows::{EachRow, Values};
use crate::source::Source;
use sardonyx::schema::Value;
use std::ops::Range;

/// The rows of a query.
#[derive(Default)]
struct Rows {
    values: Vec<Value>,
    width: usize,
    count: usize,
}

impl Rows {
    fn row(&self, number: usize) -> Values<'_> {
        let from = number * self.width;
        Values(self.values.get(from..from + self.width).unwrap_or_default())
    }
}

/// The rows of a partition, in order.
struct Partition<'p> {
    rows: &'p Rows,
    /// Their numbers.
    order: &'p [usize],
    /// For each row the places of its peers: the rows that are equal in order.
    peers: Vec<Range<usize>>,
}

impl Windowed {
    /// Calls `each` with the rows.
    ///
    /// # Errors
    /// Errors of `each`; read and evaluation errors; `53200` if the rows take too much memory.
    pub fn walk(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<(), SqlError> {
        let mut memory = with.memory();
        let mut rows = Rows {
            width: self.plan.output.width(),
            ..Rows::default()
        };
        self.plan.rows(source, with, u64::MAX, &mut |row| {
            memory.take(row)?;
            rows.values.append(row);
            rows.count += 1;
            Ok(true)
        })?;
        memory.take_bytes(rows.count * size_of::<usize>())?;
        let mut order: Vec<usize> = (0..rows.count).collect();
        let mut results: Vec<Vec<Value>> = Vec::with_capacity(self.calls.len());
        for _ in &self.calls {
            memory.take_bytes(rows.count * size_of::<Value>())?;
            results.push(vec![Value::Null; rows.count]);
        }
        for sort in &self.sorts {
            self.run_sort(sort, &rows, &mut order, &mut results, with, &mut memory)?;
        }
        let mut values = Vec::with_capacity(rows.width + results.len());
        for number in order {
            values.clear();
            let from = number * rows.width;
            let own = rows.values.get_mut(from..from + rows.width);
            let own = own.unwrap_or_default().iter_mut();
            values.extend(own.map(|value| std::mem::replace(value, Value::Null)));
            let given = results.iter_mut();
            values.extend(given.map(|given| std::mem::replace(&mut given[number], Value::Null)));
            if !each(&Values(&values))? {
                break;
            }
        }
        Ok(())
    }

    /// Sorts the rows, and computes the calls of that order.
    fn run_sort(
        &self,
        sort: &WindowSort,
        rows: &Rows,
        order: &mut [usize],
        results: &mut [Vec<Value>],
        with: &Environment<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<(), SqlError> {
        // This memory is only counted during the call.
        let mut own = with.memory();
        let width = sort.keys.len();
        let mut keys = Vec::with_capacity(rows.count * width);
        for number in 0..rows.count {
            let row = rows.row(number);
            for key in &sort.keys {
                keys.push(key.expression.evaluate(&row, with)?.into_value());
            }
            own.take(keys.get(number * width..).unwrap_or_default())?;
        }
        own.take_bytes(rows.count * size_of::<Range<usize>>())?;
        let key = |number: usize| keys.get(number * width..(number + 1) * width);
        let compared = |columns: Range<usize>, a: usize, b: usize| {
            let of = |number| key(number).and_then(|key: &[Value]| key.get(columns.clone()));
            let sorts = sort.keys.get(columns.clone()).unwrap_or_default();
            in_order(sorts, of(a).unwrap_or_default(), of(b).unwrap_or_default())
        };
        let mut sorted = order.to_vec();
        let whole = |a: &usize, b: &usize| compared(0..width, *a, *b);
        super::sorting::sort(&mut sorted, whole, || with.context.between_rows())?;
        order.copy_from_slice(&sorted);
        for part in order.chunk_by(|a, b| compared(0..sort.partition, *a, *b).is_eq()) {
            let mut peers = Vec::with_capacity(part.len());
            for group in part.chunk_by(|a, b| compared(sort.partition..width, *a, *b).is_eq()) {
                let range = peers.len()..peers.len() + group.len();
                peers.extend(group.iter().map(|_| range.clone()));
            }
            let partition = Partition {
                rows,
                order: part,
                peers,
            };
            for number in &sort.calls {
                let (Some(call), Some(results)) =
                    (self.calls.get(*number), results.get_mut(*number))
                else {
                    continue;
                };
                let mut give = |row: usize, value: Value| {
                    with.context.look_at_row()?;
                    // The value itself is already counted.
                    memory.take_outside(&value)?;
                    results[row] = value;
                    Ok(())
                };
                partition.run(call, with, &mut give)?;
            }
        }
        Ok(())
    }
}

/// A callback that takes the value for a row, by the row's number.
type Give<'g> = &'g mut dyn FnMut(usize, Value) -> Result<(), SqlError>;

fn count(number: usize) -> Value {
    Value::Int(number as i128)
}

impl Partition<'_> {
    /// Computes a call for each row.
    fn run(
        &self,
        call: &WindowCall,
        with: &Environment<'_>,
        give: Give<'_>,
    ) -> Result<(), SqlError> {
        let all = self.order.len();
        match &call.function {
            WindowFunction::Aggregate(aggregate) => self.aggregate(call, aggregate, with, give),
            WindowFunction::Buckets => self.buckets(call, with, give),
            WindowFunction::Lag | WindowFunction::Lead => self.shifted(call, with, give),
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                self.of_frame(call, with, give)
            }
            function => {
                let mut groups = 0;
                for (place, (number, peers)) in self.order.iter().zip(&self.peers).enumerate() {
                    groups += usize::from(peers.start == place);
                    let value = match function {
                        WindowFunction::RowNumber => count(place + 1),
                        WindowFunction::Rank => count(peers.start + 1),
                        WindowFunction::DenseRank => count(groups),
                        WindowFunction::PercentRank if all == 1 => Value::Float(0.0),
                        WindowFunction::PercentRank => {
                            Value::Float(peers.start as f64 / (all - 1) as f64)
                        }
                        _ => Value::Float(peers.end as f64 / all as f64),
                    };
                    give(*number, value)?;
                }
                Ok(())
            }
        }
    }

    /// The value of an argument for the row at a place.
    fn argument(
        &self,
        call: &WindowCall,
        at: usize,
        place: usize,
        with: &Environment<'_>,
    ) -> Result<Value, SqlError> {
        let (Some(argument), Some(number)) = (call.arguments.get(at), self.order.get(place)) else {
            return Ok(Value::Null);
        };
        Ok(argument
            .evaluate(&self.rows.row(*number), with)?
            .into_value())
    }

    /// Computes `ntile`: divides the rows into parts, the first of which have one row more.
    fn buckets(
        &self,
        call: &WindowCall,
        with: &Environment<'_>,
        give: Give<'_>,
    ) -> Result<(), SqlError> {
        let buckets = match self.argument(call, 0, 0, with)? {
            Value::Int(buckets) => buckets,
            _ => return Ok(()),
        };
        let Some(buckets) = usize::try_from(buckets).ok().filter(|count| *count > 0) else {
            return Err(SqlError::new(
                code::INVALID_NTILE_ARGUMENT,
                "argument of ntile must be greater than zero",
            ));
        };
        let (size, larger) = (self.order.len() / buckets, self.order.len() % buckets);
        for (place, number) in self.order.iter().enumerate() {
            let in_larger = larger * (size + 1);
            let bucket = match place < in_larger {
                true => place / (size + 1),
                // This branch is not reached if each part has no row.
                false => larger + (place - in_larger) / size.max(1),
            };
            give(*number, count(bucket + 1))?;
        }
        Ok(())
    }

    /// Computes `lag` and `lead`.
    fn shifted(
        &self,
        call: &WindowCall,
        with: &Environment<'_>,
        give: Give<'_>,
    ) -> Result<(), SqlError> {
        for (place, number) in self.order.iter().enumerate() {
            let Value::Int(offset) = self.argument(call, 1, place, with)? else {
                continue;
            };
            let offset = match call.function {
                WindowFunction::Lag => -offset,
                _ => offset,
            };
            let target = usize::try_from(place as i128 + offset);
            let value = match target.ok().filter(|target| *target < self.order.len()) {
                Some(target) => self.argument(call, 0, target, with)?,
                None => self.argument(call, 2, place, with)?,
            };
            give(*number, value)?;
        }
        Ok(())
    }

    /// The value of a row of the frame.
    fn of_frame(
        &self,
        call: &WindowCall,
        with: &Environment<'_>,
        give: Give<'_>,
    ) -> Result<(), SqlError> {
        let mut frames = self.frames(call, with)?;
        for (place, (number, peers)) in self.order.iter().zip(&self.peers).enumerate() {
            let frame = frames.at(place, peers)?;
            let parts = frames.parts(&frame, place, peers);
            let mut rows = parts.into_iter().flatten();
            let target = match call.function {
                WindowFunction::FirstValue => rows.next(),
                WindowFunction::LastValue => rows.next_back(),
                _ => match self.argument(call, 1, place, with)? {
                    Value::Int(nth) if nth < 1 => {
                        return Err(SqlError::new(
                            code::INVALID_NTH_VALUE_ARGUMENT,
                            "argument of nth_value must be greater than zero",
                        ));
                    }
                    Value::Int(nth) => {
                        let nth = usize::try_from(nth).unwrap_or(usize::MAX);
                        rows.nth(nth - 1)
                    }
                    _ => continue,
                },
            };
            if let Some(target) = target {
                give(*number, self.argument(call, 0, target, with)?)?;
            }
        }
        Ok(())
    }

    /// The frames of a call.
    fn frames<'f, 'e>(
        &self,
        call: &'f WindowCall,
        with: &'f Environment<'e>,
    ) -> Result<Frames<'f, 'e>, SqlError> {
        let mut key = |place: usize, key: &Expr| match self.order.get(place) {
            Some(number) => Ok(key.evaluate(&self.rows.row(*number), with)?.into_value()),
            None => Ok(Value::Null),
        };
        Frames::new(call, &self.peers, &mut key, with)
    }

    /// Computes an aggregate of the frames.
    fn aggregate(
        &self,
        call: &WindowCall,
        aggregate: &Aggregate,
        with: &Environment<'_>,
        give: Give<'_>,
    ) -> Result<(), SqlError> {
        let mut frames = self.frames(call, with)?;
        let mut running = Running {
            partition: self,
            of: aggregate,
            with,
            memory: with.memory(),
            frame: 0..0,
            front: Vec::new(),
            middle: 0,
            back: Accumulator::new(aggregate),
        };
        let mut last: Option<(Range<usize>, Value)> = None;
        for (place, (number, peers)) in self.order.iter().zip(&self.peers).enumerate() {
            let frame = frames.at(place, peers)?;
            if frames.excludes() {
                let parts = frames.parts(&frame, place, peers).into_iter();
                let value = running.of_rows(parts.flatten())?.finish(aggregate, with)?;
                give(*number, value)?;
                continue;
            }
            let value = match &last {
                Some((there, value)) if *there == frame => value.clone(),
                _ => running.value(frame.clone())?,
            };
            last = Some((frame, value.clone()));
            give(*number, value)?;
        }
        Ok(())
    }
}

/// An aggregate of a frame that moves forwards.
struct Running<'r, 'e> {
    partition: &'r Partition<'r>,
    of: &'r Aggregate,
    with: &'r Environment<'e>,
    memory: Memory<'e>,
    /// The frame that the two parts cover.
    frame: Range<usize>,
    /// The aggregates of the rows from each place up to the middle; the last one covers all of them.
    front: Vec<Accumulator>,
    middle: usize,
    /// The aggregate of the rows after the middle.
    back: Accumulator,
}

impl Running<'_, '_> {
    fn add(&self, place: usize, to: &mut Accumulator) -> Result<(), SqlError> {
        self.with.context.look_at_row()?;
        match self.partition.order.get(place) {
            Some(number) => to.add(self.of, &self.partition.rows.row(*number), self.with),
            None => Ok(()),
        }
    }

    fn of_rows(&self, places: impl Iterator<Item = usize>) -> Result<Accumulator, SqlError> {
        let mut made = Accumulator::new(self.of);
        for place in places {
            self.add(place, &mut made)?;
        }
        Ok(made)
    }

    /// The value for a frame whose start and end are not before those of the last one.
    fn value(&mut self, frame: Range<usize>) -> Result<Value, SqlError> {
        if frame.is_empty() {
            return Accumulator::new(self.of).finish(self.of, self.with);
        }
        let has_moved = frame.start > self.frame.start && frame.start > 0;
        if has_moved && !self.of.is_mergeable() {
            return self.of_rows(frame)?.finish(self.of, self.with);
        }
        if frame.start >= self.frame.end {
            // The new frame has no rows of the old one.
            self.front.clear();
            self.middle = frame.start;
            self.back = Accumulator::new(self.of);
            self.frame = frame.start..frame.start;
        }
        let mut back = std::mem::replace(&mut self.back, Accumulator::new(self.of));
        for place in self.frame.end..frame.end {
            self.add(place, &mut back)?;
        }
        self.back = back;
        self.frame.end = frame.end;
        if frame.start > self.frame.start && frame.start >= self.middle {
            self.turn(frame.start)?;
        } else {
            let gone = frame.start - self.frame.start;
            self.front.truncate(self.front.len().saturating_sub(gone));
        }
        self.frame.start = frame.start;
        match self.front.last() {
            None => self.back.finish(self.of, self.with),
            Some(front) => {
                let mut whole = front.clone();
                whole.merge(self.of, &self.back)?;
                whole.finish(self.of, self.with)
            }
        }
    }

    /// Moves the middle to the end of the frame, and precomputes the aggregates of the rows from `start` up to it.
    fn turn(&mut self, start: usize) -> Result<(), SqlError> {
        self.memory = self.with.memory();
        let rows = self.frame.end - start;
        self.memory.take_bytes(rows * size_of::<Accumulator>())?;
        self.front = Vec::with_capacity(rows);
        for place in (start..self.frame.end).rev() {
            let mut made = self.of_rows(place..place + 1)?;
            if let Some(behind) = self.front.last() {
                made.merge(self.of, behind)?;
            }
            self.front.push(made);
        }
        self.middle = self.frame.end;
        self.back = Accumulator::new(self.of);
        Ok(())
    }
}
