//! Grouping of a scan's rows by batches of columns.
//!
//! Sums, averages, counts and extremes of numbers are computed a column at a time; other aggregates, and keys of other
//! kinds, read the rows of the batch one by one. Rows that fit no batch go to the groups as any row does. A batch in
//! which a number needs more than 64 bits does so, too, and all batches if there are so many groups that their memory
//! is short. An error is that of the first row that has one.

use super::groups::Groups;
use super::numbers::Number;
use super::pushed::Pushed;
use super::tree::{Input, SelectPlan};
use crate::aggregate::{Aggregate, AggregateKind, Grouping};
use crate::error::SqlError;
use crate::expression::{Environment, Expr};
use crate::hashing::{HashTable, hashed};
use crate::memory::RESULT_BYTES_MAX;
use crate::scanned::{ColumnBatch, Given, Scanned, value_of_word};
use crate::source::Source;
use crate::types::SqlType;
use crate::values::arithmetic::within;
use sardonyx::schema::{Schema, Type, ValueRef};
use sardonyx_rows::Placed;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The bits of a packed key.
const KEY_BITS: u32 = u128::BITS;
/// The bits of a packed text at least: its length and two bytes.
const TEXT_BITS_MIN: u32 = 24;
/// The groups that are found by packed keys at most: of more, the packed keys fit no near cache, and only take memory.
const PACKED_MOST: usize = 100_000;
/// Beyond this memory, sums are kept by the groups alone.
const BYTES_MOST: usize = RESULT_BYTES_MAX / 2;
/// The rows of a batch between two looks if the statement has to end.
const ROWS_BETWEEN: usize = 256;

impl SelectPlan {
    /// Adds the rows of a scan to the groups by batches. Returns false, and does nothing, if the query is no such scan.
    ///
    /// # Errors
    /// Evaluation and read errors; `53200` if the groups take too much memory.
    pub(super) fn walk_batches(
        &self,
        grouping: &Grouping,
        groups: &mut [Groups<'_, '_>],
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<bool, SqlError> {
        let (Input::Table(access), [groups]) = (&self.input, groups) else {
            return Ok(false);
        };
        if !access.is_plain_scan() {
            return Ok(false);
        }
        let Some(schema) = source.schema(access.table) else {
            return Ok(false);
        };
        let pushed = Pushed::of(self.filter.as_ref(), &schema, with);
        let Some(mut batch) = batch_of(grouping, &pushed, &schema) else {
            return Ok(false);
        };
        let Some(mut batched) = Batched::of(grouping, &batch, with) else {
            return Ok(false);
        };
        let mut each = |given: Given<'_>| match given {
            Given::Row(row, is_decided) => match pushed.holds(row, is_decided, with)? {
                true => groups.add(row, with),
                false => Ok(true),
            },
            Given::Batch(batch) => {
                let selected = match pushed.rest.is_empty() {
                    true => Ok(()),
                    false => select(&pushed, batch, with),
                };
                // An error of a row before that of the condition comes first.
                batched.add(batch, groups, with)?;
                selected.map(|()| true)
            }
        };
        let mut scanned = Scanned::new(&pushed.tests, Some(&mut batch), with.context, &mut each);
        source.scan_bytes(access.table, &mut scanned)?;
        batched.hand_over(groups)?;
        Ok(true)
    }
}

/// The batch for the columns that the grouping and the rest of the condition read, if they are of its types.
fn batch_of(grouping: &Grouping, pushed: &Pushed<'_>, schema: &Schema) -> Option<ColumnBatch> {
    let keys = grouping.keys.iter().map(|key| &key.expr);
    let parts = keys.chain(&grouping.identities);
    let parts = parts.chain(grouping.aggregates.iter().flat_map(Aggregate::parts));
    let mut columns = BTreeSet::new();
    for part in parts.chain(pushed.rest.iter().copied()) {
        if part.is_volatile() {
            return None;
        }
        part.walk(&mut |part| {
            if let Expr::Column(number) = part {
                columns.insert(*number);
            }
        });
    }
    let placed = columns.into_iter();
    let placed = placed.map(|number| Some((number, Placed::of(schema, number)?)));
    let placed: Option<Vec<_>> = placed.collect();
    ColumnBatch::new(placed?.into_iter())
}

/// Keeps the rows of a batch that meet the rest of the condition: those before a row for which it fails.
fn select(
    pushed: &Pushed<'_>,
    batch: &mut ColumnBatch,
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    let mut kept = Vec::with_capacity(batch.rows());
    let mut failed = Ok(());
    for row in 0..batch.rows() {
        let holds = look_at(row, with).and_then(|()| pushed.rest_holds(&batch.row(row), with));
        match holds {
            Ok(true) => kept.push(row),
            Ok(false) => {}
            Err(error) => {
                failed = Err(error);
                break;
            }
        }
    }
    if kept.len() < batch.rows() {
        batch.keep(&kept);
    }
    failed
}

/// Looks if the statement has to end, at some rows of a batch.
#[inline]
fn look_at(row: usize, with: &Environment<'_>) -> Result<(), SqlError> {
    match (row + 1) % ROWS_BETWEEN {
        0 => with.context.between_rows(),
        _ => Ok(()),
    }
}

/// An aggregate that is computed a column at a time.
#[derive(Debug)]
enum Fast {
    /// The rows are counted.
    Count,
    Sum(Number),
    /// The least, or the greatest if true, of a column by its place in the batch, with its type.
    Extreme(usize, Type, bool),
}

/// The values of a fast aggregate for each group.
#[derive(Debug)]
struct Column<'g> {
    /// Its number among the aggregates.
    number: usize,
    of: &'g Aggregate,
    fast: Fast,
    sums: Vec<i128>,
}

/// Groups on their way through batches.
#[derive(Debug)]
struct Batched<'g> {
    columns: Vec<Column<'g>>,
    /// The numbers of the aggregates that read rows.
    slow: Vec<usize>,
    /// The packing of the keys, if they can be packed: the columns' places in the batch, and their bits.
    packing: Option<Vec<(usize, u32)>>,
    /// The packed keys and their groups, by their hashes.
    packed: Vec<(u128, usize)>,
    table: HashTable,
    /// True until there are too many of them.
    keeps_packed: bool,
    /// The rows of each group that were added here.
    counts: Vec<i64>,
    /// The bytes of counts and sums that the groups' memory has counted.
    bytes: usize,
    /// The groups of a batch's rows.
    numbers: Vec<usize>,
    /// True if the groups take each row, since they have no memory for sums beside them.
    is_given_up: bool,
}

impl<'g> Batched<'g> {
    /// `None` if neither an aggregate is computed faster so, nor groups are found.
    fn of(grouping: &'g Grouping, batch: &ColumnBatch, with: &Environment<'_>) -> Option<Self> {
        if grouping.sets.is_some() {
            return None;
        }
        let (mut columns, mut slow) = (Vec::new(), Vec::new());
        for (number, of) in grouping.aggregates.iter().enumerate() {
            match fast_of(of, batch, with) {
                Some(fast) => columns.push(Column {
                    number,
                    of,
                    fast,
                    sums: Vec::new(),
                }),
                None => slow.push(number),
            }
        }
        let packing = packing(&grouping.identities, batch);
        let finds_groups = packing.is_some() && !grouping.identities.is_empty();
        (finds_groups || !columns.is_empty()).then(|| Batched {
            columns,
            slow,
            packing,
            packed: Vec::new(),
            table: HashTable::default(),
            keeps_packed: true,
            counts: Vec::new(),
            bytes: 0,
            numbers: Vec::new(),
            is_given_up: false,
        })
    }

    /// Adds the rows of a batch.
    fn add(
        &mut self,
        batch: &ColumnBatch,
        groups: &mut Groups<'_, '_>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        if self.is_given_up {
            return each_row(batch, groups, with);
        }
        let mut values = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            values.push(match &column.fast {
                Fast::Count => Cow::Borrowed(&[][..]),
                Fast::Extreme(place, ..) => Cow::Borrowed(batch.columns()[*place].words()),
                Fast::Sum(number) => match number.units(batch) {
                    Some(units) => units,
                    None => return each_row(batch, groups, with),
                },
            });
        }
        if let Err(error) = self.find_groups(batch, groups, with) {
            // An error of a row before that of the key comes first.
            self.add_slow(batch, groups, with)?;
            return Err(error);
        }
        if !self.make_room(groups)? {
            return each_row(batch, groups, with);
        }
        for number in &self.numbers {
            self.counts[*number] += 1;
        }
        for (column, values) in self.columns.iter_mut().zip(&values) {
            column.add(&self.numbers, values);
        }
        self.add_slow(batch, groups, with)
    }

    /// Adds the rows whose groups are noted to the aggregates that read rows.
    fn add_slow(
        &self,
        batch: &ColumnBatch,
        groups: &mut Groups<'_, '_>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        if self.slow.is_empty() {
            return Ok(());
        }
        for (row, group) in self.numbers.iter().enumerate() {
            look_at(row, with)?;
            let row = batch.row(row);
            for aggregate in &self.slow {
                groups.add_to(*group, *aggregate, &row, with)?;
            }
        }
        Ok(())
    }

    /// Notes the groups of a batch's rows: of those before a row whose key fails.
    fn find_groups(
        &mut self,
        batch: &ColumnBatch,
        groups: &mut Groups<'_, '_>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        self.numbers.clear();
        if groups.is_one() {
            self.numbers.resize(batch.rows(), 0);
            return Ok(());
        }
        let mut last = None;
        for row in 0..batch.rows() {
            let key = self.packing.as_ref();
            let key = key.and_then(|packing| packed(packing, batch, row));
            let number = match (key, last) {
                (Some(key), Some((of_last, number))) if key == of_last => number,
                (Some(key), _) => {
                    let number = self.group_of_packed(key, batch, row, groups, with)?;
                    last = Some((key, number));
                    number
                }
                (None, _) => groups.group_of(&batch.row(row), with)?,
            };
            self.numbers.push(number);
        }
        Ok(())
    }

    fn group_of_packed(
        &mut self,
        key: u128,
        batch: &ColumnBatch,
        row: usize,
        groups: &mut Groups<'_, '_>,
        with: &Environment<'_>,
    ) -> Result<usize, SqlError> {
        if !self.keeps_packed {
            return groups.group_of(&batch.row(row), with);
        }
        let hash = hashed(key as u64, (key >> 64) as u64);
        let mut found = self.table.found(hash).map(|at| self.packed[at]);
        if let Some((_, number)) = found.find(|(there, _)| *there == key) {
            return Ok(number);
        }
        drop(found);
        let number = groups.group_of(&batch.row(row), with)?;
        const BYTES: usize = size_of::<(u128, usize)>() + HashTable::PLACE_BYTES;
        let count = self.packed.len();
        if count < PACKED_MOST && groups.take_bytes(BYTES).is_ok() {
            self.packed.push((key, number));
            self.table.push(hash);
            return Ok(number);
        }
        // Bytes that were refused are counted, too.
        groups.give_back((count + usize::from(count < PACKED_MOST)) * BYTES);
        self.keeps_packed = false;
        self.packed = Vec::new();
        self.table = HashTable::default();
        Ok(number)
    }

    /// Has sums and counts for all groups that there are. Returns false if the groups have no memory for them, and take
    /// each row from now on.
    fn make_room(&mut self, groups: &mut Groups<'_, '_>) -> Result<bool, SqlError> {
        let (before, count) = (self.counts.len(), groups.count());
        if before == count {
            return Ok(true);
        }
        let sums = self.columns.iter().filter(|column| column.has_sums());
        let bytes = (count - before) * (size_of::<i64>() + sums.count() * size_of::<i128>());
        self.bytes += bytes;
        if groups.take_bytes(bytes).is_err() || groups.bytes() > BYTES_MOST {
            self.is_given_up = true;
            self.hand_over(groups)?;
            return Ok(false);
        }
        self.counts.resize(count, 0);
        for column in self.columns.iter_mut().filter(|column| column.has_sums()) {
            column.sums.resize(count, column.first());
        }
        Ok(true)
    }

    /// Hands the sums over to the groups' aggregates.
    fn hand_over(&mut self, groups: &mut Groups<'_, '_>) -> Result<(), SqlError> {
        for column in &mut self.columns {
            let sums = std::mem::take(&mut column.sums);
            for (group, count) in self.counts.iter().enumerate() {
                // A group may have only rows that fit no batch.
                if *count > 0 {
                    let sum = sums.get(group).copied().unwrap_or_default();
                    let value = column.value_of(sum)?;
                    groups.add_many(group, column.number, *count, value)?;
                }
            }
        }
        self.counts = Vec::new();
        groups.give_back(std::mem::take(&mut self.bytes));
        Ok(())
    }
}

impl Column<'_> {
    /// True if it has a sum of each group beside the count.
    fn has_sums(&self) -> bool {
        !matches!(self.fast, Fast::Count)
    }

    /// The sum of no values; beyond all words for an extreme.
    fn first(&self) -> i128 {
        match self.fast {
            Fast::Extreme(_, _, false) => i128::MAX,
            Fast::Extreme(_, _, true) => i128::MIN,
            _ => 0,
        }
    }

    /// Adds the values of the rows of these groups. A sum of so many words as there are bytes of memory fits.
    fn add(&mut self, groups: &[usize], values: &[i64]) {
        let pairs = groups.iter().zip(values);
        match self.fast {
            Fast::Count => {}
            Fast::Sum(_) => match self.sums.as_mut_slice() {
                [sum] => *sum += values.iter().map(|value| i128::from(*value)).sum::<i128>(),
                sums => pairs.for_each(|(group, value)| sums[*group] += i128::from(*value)),
            },
            Fast::Extreme(_, _, is_greatest) => pairs.for_each(|(group, value)| {
                let (there, value) = (&mut self.sums[*group], i128::from(*value));
                *there = if is_greatest {
                    value.max(*there)
                } else {
                    value.min(*there)
                };
            }),
        }
    }

    /// The value that an aggregate takes for a sum.
    fn value_of(&self, sum: i128) -> Result<Option<ValueRef<'static>>, SqlError> {
        Ok(match &self.fast {
            Fast::Count => None,
            // It is one of the words.
            Fast::Extreme(_, kind, _) => Some(value_of_word(*kind, sum as i64)),
            Fast::Sum(number) if self.of.of == SqlType::Numeric => {
                Some(ValueRef::Decimal(sum, number.scale))
            }
            Fast::Sum(_) => {
                if self.of.result == SqlType::Int8 {
                    within(sum, SqlType::Int8)?;
                }
                Some(ValueRef::Int(sum))
            }
        })
    }
}

/// Adds the rows of a batch one by one.
#[cold]
fn each_row(
    batch: &ColumnBatch,
    groups: &mut Groups<'_, '_>,
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    for row in 0..batch.rows() {
        look_at(row, with)?;
        groups.add(&batch.row(row), with)?;
    }
    Ok(())
}

/// The way to compute an aggregate a column at a time, if there is one.
fn fast_of(of: &Aggregate, batch: &ColumnBatch, with: &Environment<'_>) -> Option<Fast> {
    if of.is_distinct || of.filter.is_some() || of.separator.is_some() || !of.order.is_empty() {
        return None;
    }
    let column = match &of.argument {
        Some(Expr::Column(number)) => batch.place_of(*number),
        _ => None,
    };
    match of.kind {
        // No column of a batch is null.
        AggregateKind::Count if of.argument.is_none() || column.is_some() => Some(Fast::Count),
        AggregateKind::Sum | AggregateKind::Average => {
            let number = Number::of(of.argument.as_ref()?, batch, with)?;
            let is_whole = matches!(of.of, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
            let fits = of.of == SqlType::Numeric || is_whole && number.scale == 0;
            fits.then_some(Fast::Sum(number))
        }
        AggregateKind::Minimum | AggregateKind::Maximum => {
            let (place, kind) = (column?, batch.columns()[column?].kind());
            let is_ordered = matches!(
                kind,
                Type::Decimal { .. } | Type::Date | Type::Time | Type::Timestamp
            );
            let is_greatest = of.kind == AggregateKind::Maximum;
            let fits = is_ordered || kind.integer_range().is_some();
            fits.then_some(Fast::Extreme(place, kind, is_greatest))
        }
        _ => None,
    }
}

/// The places and the bits of the columns that distinguish groups, if all are columns that can be packed into one number.
fn packing(identities: &[Expr], batch: &ColumnBatch) -> Option<Vec<(usize, u32)>> {
    let places = identities.iter().map(|identity| match identity {
        Expr::Column(number) => batch.place_of(*number),
        _ => None,
    });
    let places: Vec<usize> = places.collect::<Option<_>>()?;
    let bits_of = |place: usize| match batch.columns()[place].kind() {
        Type::Text => None,
        // Its words are floats of 64 bits.
        Type::F32 => Some(64),
        kind => Some(64.min(kind.bytes() as u32 * 8)),
    };
    let fixed: u32 = places.iter().filter_map(|place| bits_of(*place)).sum();
    let texts = places.iter().filter(|place| bits_of(**place).is_none());
    let for_text = match texts.count() as u32 {
        0 => 0,
        texts => KEY_BITS.checked_sub(fixed)? / texts / 8 * 8,
    };
    if fixed > KEY_BITS || (1..TEXT_BITS_MIN).contains(&for_text) {
        return None;
    }
    let packing = places.into_iter();
    Some(
        packing
            .map(|place| (place, bits_of(place).unwrap_or(for_text)))
            .collect(),
    )
}

/// The key of a row: equal keys are of equal values. `None` if a text is too long.
#[inline]
fn packed(packing: &[(usize, u32)], batch: &ColumnBatch, row: usize) -> Option<u128> {
    let mut key = 0_u128;
    let mut push = |value: u128, bits: u32| {
        let mask = u128::MAX >> (KEY_BITS - bits);
        key = key.checked_shl(bits).unwrap_or(0) | (value & mask);
    };
    for (place, bits) in packing {
        let column = &batch.columns()[*place];
        if column.kind() != Type::Text {
            push(column.words()[row] as u128, *bits);
            continue;
        }
        let text = column.text(row);
        if text.len() as u32 * 8 + 8 > *bits {
            return None;
        }
        let mut value = text.len() as u128;
        for byte in text {
            value = value << 8 | u128::from(*byte);
        }
        // The length is above the bytes; a shorter text leaves zeroes above it.
        push(value, *bits);
    }
    Some(key)
}
