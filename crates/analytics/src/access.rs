//! Which rows of a table a scan reads: all of them, by parts of its pages, or those between two keys of an index.
//!
//! An index serves if it is ordered and conditions compare its first column with literals. The rows are tested again, so
//! both bounds are taken as included, and a condition that is not understood is left out.

use crate::batch::Wanted;
use crate::error::external;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use sardonyx_rows::schema::IndexKind;
use sardonyx_sql::{AnalyticTable, SqlError, SqlType, Value};
use sardonyx_table::{SnapshotRows, SpaceSnapshot};
use std::ops::Bound;

/// An index serves if it leaves out all but one of so many rows.
const SELECTIVE: u64 = 8;
/// A part of a table has at least so many pages.
const PART_PAGES: u64 = 256;

/// What one partition of a scan reads.
#[derive(Clone, Debug)]
pub enum Part {
    /// Pages, by their numbers among the used ones.
    Pages { from: u64, to: u64 },
    /// Rows between two keys, which are included.
    Keys(KeyRange),
}

/// A range of an index.
#[derive(Clone, Debug)]
pub struct KeyRange {
    /// The index.
    pub index: String,
    /// The numbers of its columns.
    pub columns: Vec<usize>,
    /// From here.
    pub lower: Bound<Vec<Value>>,
    /// To here.
    pub upper: Bound<Vec<Value>>,
}

/// A comparison of a column with a literal.
struct Comparison {
    column: usize,
    operator: Operator,
    value: Value,
}

/// The value of a literal, if it is just what a column of a type stores.
fn stored(literal: &ScalarValue, kind: SqlType, scale: i8) -> Option<Value> {
    Some(match (literal, kind) {
        (ScalarValue::Int16(Some(value)), SqlType::Int2) => Value::Int((*value).into()),
        (ScalarValue::Int32(Some(value)), SqlType::Int4) => Value::Int((*value).into()),
        (ScalarValue::Int64(Some(value)), SqlType::Int8) => Value::Int((*value).into()),
        (ScalarValue::Decimal128(Some(units), _, there), SqlType::Numeric) if *there == scale => {
            Value::Decimal(*units, u8::try_from(scale).ok()?)
        }
        (ScalarValue::Date32(Some(days)), SqlType::Date) => Value::Date(*days),
        (
            ScalarValue::TimestampMicrosecond(Some(micros), _),
            SqlType::Timestamp | SqlType::Timestamptz,
        ) => Value::Timestamp(*micros),
        (
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            SqlType::Text | SqlType::Varchar | SqlType::Char,
        ) => Value::Text(text.as_str().into()),
        _ => return None,
    })
}

fn comparison(condition: &Expr, table: &AnalyticTable) -> Option<Comparison> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return None;
    };
    let (name, literal, operator) = match (&**left, &**right) {
        (Expr::Column(column), Expr::Literal(literal, _)) => (&column.name, literal, *op),
        (Expr::Literal(literal, _), Expr::Column(column)) => (&column.name, literal, op.swap()?),
        _ => return None,
    };
    let known = [
        Operator::Eq,
        Operator::Lt,
        Operator::LtEq,
        Operator::Gt,
        Operator::GtEq,
    ];
    let column = table.columns.iter().find(|column| column.name == *name)?;
    let scale = match column.spec.stored() {
        sardonyx_rows::schema::Type::Decimal { scale } => i8::try_from(scale).ok()?,
        _ => 0,
    };
    // What the engine has narrower than the type says is compared by scanning.
    let engine = table.schema.columns.get(column.number)?.kind;
    if !known.contains(&operator) || engine != column.spec.stored() {
        return None;
    }
    Some(Comparison {
        column: column.number,
        operator,
        value: stored(literal, column.spec.kind, scale)?,
    })
}

/// Whether a condition may have an index serve.
pub fn serves(condition: &Expr, table: &AnalyticTable) -> bool {
    comparison(condition, table).is_some_and(|comparison| {
        indexes(table).any(|(_, columns)| columns.first() == Some(&comparison.column))
    })
}

/// The ordered indexes, with their columns, if their first one ascends.
fn indexes(table: &AnalyticTable) -> impl Iterator<Item = (&str, Vec<usize>)> {
    let all = [&table.schema.primary]
        .into_iter()
        .chain(&table.schema.indexes);
    all.filter(|index| {
        let ascends = index.key.first().is_some_and(|part| !part.descending);
        index.kind == IndexKind::Ordered && ascends
    })
    .map(|index| {
        let columns = index.key.iter().map(|part| part.column).collect();
        (index.name.as_str(), columns)
    })
}

/// The range of an index that conditions leave.
fn range_of(index: &str, columns: Vec<usize>, comparisons: &[Comparison]) -> Option<KeyRange> {
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    let first = columns.first()?;
    for comparison in comparisons.iter().filter(|one| one.column == *first) {
        let bound = Bound::Included(vec![comparison.value.clone()]);
        match comparison.operator {
            Operator::Eq => (lower, upper) = (bound.clone(), bound),
            Operator::Gt | Operator::GtEq => lower = bound,
            _ => upper = bound,
        }
    }
    let is_bounded = !matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded));
    is_bounded.then(|| KeyRange {
        index: index.to_string(),
        columns,
        lower,
        upper,
    })
}

/// The parts that a scan reads, at most so many.
///
/// # Errors
/// The snapshot was ended.
pub fn parts(
    snapshot: &SpaceSnapshot,
    table: &AnalyticTable,
    conditions: &[Expr],
    most: usize,
) -> Result<(Vec<Part>, u64)> {
    let rows = rows_of(snapshot, table.number)?;
    let comparisons = conditions.iter();
    let comparisons: Vec<_> = comparisons
        .filter_map(|one| comparison(one, table))
        .collect();
    let mut best: Option<(u64, KeyRange)> = None;
    for (index, columns) in indexes(table) {
        let Some(range) = range_of(index, columns, &comparisons) else {
            continue;
        };
        let there = rows.index(&range.index).map_err(of_engine)?;
        let bounds = (range.lower.as_ref(), range.upper.as_ref());
        let count = there
            .count_range::<&Vec<Value>>(bounds)
            .map_err(of_engine)?;
        if count <= rows.count() / SELECTIVE
            && best.as_ref().is_none_or(|(least, _)| count < *least)
        {
            best = Some((count, range));
        }
    }
    if let Some((count, range)) = best {
        return Ok((vec![Part::Keys(range)], count));
    }
    let pages = rows.pages();
    let most = (most as u64).clamp(1, (pages / PART_PAGES).max(1));
    let parts = (0..most).map(|part| Part::Pages {
        from: pages * part / most,
        to: pages * (part + 1) / most,
    });
    Ok((parts.collect(), rows.count()))
}

/// The rows of a table.
///
/// # Errors
/// There is no such table.
pub fn rows_of(snapshot: &SpaceSnapshot, table: u16) -> Result<SnapshotRows<'_>> {
    snapshot.rows_of(table).map_err(of_engine)
}

/// What the engine says.
pub fn of_engine(error: sardonyx::Error) -> datafusion::error::DataFusionError {
    external(SqlError::from(error))
}

/// The columns of a table that are read.
pub fn wanted(table: &AnalyticTable, projection: Option<&Vec<usize>>) -> Vec<Wanted> {
    let columns = table.columns.iter().map(|column| Wanted {
        number: column.number,
        spec: column.spec,
    });
    let columns: Vec<_> = columns.collect();
    match projection {
        None => columns,
        Some(places) => places
            .iter()
            .filter_map(|&place| columns.get(place).copied())
            .collect(),
    }
}
