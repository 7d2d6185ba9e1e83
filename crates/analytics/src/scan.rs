//! The scan of a table of a snapshot, as a leaf of DataFusion's plans.
//!
//! Nothing is held between two batches but the place that was come to: each batch borrows from the snapshot anew. A
//! snapshot that the engine has ended, since it took too much memory, is an error of the batch (`54000`).

use crate::access::{KeyRange, Part, of_engine, rows_of};
use crate::batch::{BATCH_ROWS, BatchBuilder, Wanted};
use crate::error::{external, internal};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use sardonyx::Snapshot;
use sardonyx_sql::{SqlError, Value};
use sardonyx_table::ScanPlace;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// What is scanned.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The state.
    pub snapshot: Snapshot,
    /// The table's number.
    pub table: u16,
    /// Its name, for people.
    pub name: String,
    /// What is read of a row.
    pub columns: Vec<Wanted>,
    /// It as arrays.
    pub schema: SchemaRef,
    /// The most rows that are wanted.
    pub limit: Option<usize>,
}

/// A scan.
#[derive(Debug)]
pub struct SnapshotScan {
    scanned: Scanned,
    parts: Vec<Part>,
    rows: u64,
    properties: Arc<PlanProperties>,
}

impl SnapshotScan {
    /// The scan of these parts, which have so many rows.
    pub fn new(scanned: Scanned, parts: Vec<Part>, rows: u64) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(scanned.schema.clone()),
            Partitioning::UnknownPartitioning(parts.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        SnapshotScan {
            scanned,
            parts,
            rows,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for SnapshotScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.scanned.schema.fields().iter();
        let columns: Vec<_> = fields.map(|field| field.name().as_str()).collect();
        write!(f, "SnapshotScan: table={}", self.scanned.name)?;
        match &self.parts[..] {
            [Part::Keys(range)] => write!(f, ", index={}", range.index)?,
            parts => write!(f, ", partitions={}", parts.len())?,
        }
        write!(f, ", columns=[{}]", columns.join(", "))
    }
}

impl ExecutionPlan for SnapshotScan {
    fn name(&self) -> &str {
        "SnapshotScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let part = self.parts.get(partition);
        let part = part.ok_or_else(|| internal("there is no such part of a table"))?;
        let schema = self.scanned.schema.clone();
        let batches = Batches {
            builder: BatchBuilder::new(schema.clone(), &self.scanned.columns)?,
            left: self.scanned.limit.unwrap_or(usize::MAX),
            scanned: self.scanned.clone(),
            place: match part {
                Part::Pages { from, to } => Place::Page(ScanPlace::at_page(*from), *to),
                Part::Keys(range) => Place::Key {
                    range: range.clone(),
                    last: Vec::new(),
                    met: 0,
                },
            },
            ended: false,
        };
        let stream = futures_util::stream::iter(batches);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let is_whole = args.partition().is_none() && self.scanned.limit.is_none();
        let counted = matches!(self.parts[..], [Part::Pages { .. }, ..]);
        Ok(Arc::new(Statistics {
            num_rows: match is_whole && counted {
                true => Precision::Exact(rows),
                false => Precision::Inexact(rows / self.parts.len().max(1)),
            },
            total_byte_size: Precision::Absent,
            column_statistics: vec![
                ColumnStatistics::new_unknown();
                self.scanned.schema.fields().len()
            ],
        }))
    }
}

/// How far a part was read.
enum Place {
    /// Here, before this page.
    Page(ScanPlace, u64),
    /// Behind so many rows of the last key.
    Key {
        range: KeyRange,
        last: Vec<Value>,
        met: u64,
    },
}

/// The batches of a part.
struct Batches {
    scanned: Scanned,
    builder: BatchBuilder,
    place: Place,
    left: usize,
    ended: bool,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended |= read.is_err();
        match read {
            Ok(batch) if batch.num_rows() == 0 => None,
            read => Some(read),
        }
    }
}

impl Batches {
    fn read(&mut self) -> Result<RecordBatch> {
        let space = self.scanned.snapshot.space();
        let rows = rows_of(space, self.scanned.table)?;
        let most = BATCH_ROWS.min(self.left);
        self.ended = true;
        match &mut self.place {
            Place::Page(place, to) => {
                let mut scan = rows.scan_from(*place);
                loop {
                    if self.builder.rows() == most {
                        self.ended = most == self.left;
                        break;
                    }
                    let Some(row) = scan.next() else {
                        break;
                    };
                    let row = row.map_err(of_engine)?;
                    if scan.place().page() >= *to {
                        break;
                    }
                    let value = |number| row.get_at(number).map_err(SqlError::from);
                    self.builder.push(value)?;
                    *place = scan.place();
                }
            }
            Place::Key { range, last, met } => {
                let index = rows.index(&range.index).map_err(of_engine)?;
                let lower = match last.is_empty() {
                    true => range.lower.clone(),
                    false => Bound::Included(last.clone()),
                };
                let mut again = *met;
                let bounds = (lower.as_ref(), range.upper.as_ref());
                let found = index.range::<&Vec<Value>>(bounds).map_err(of_engine)?;
                for row in found {
                    let row = row.map_err(of_engine)?;
                    // Those of the last key that were given.
                    if again > 0 {
                        again -= 1;
                        continue;
                    }
                    if self.builder.rows() == most {
                        self.ended = most == self.left;
                        break;
                    }
                    let value = |number| row.get_at(number).map_err(SqlError::from);
                    let key = range.columns.iter();
                    let key = key.map(|column| value(*column).map(|value| value.to_value()));
                    let key = key.collect::<std::result::Result<Vec<_>, _>>();
                    let key = key.map_err(external)?;
                    match key == *last {
                        true => *met += 1,
                        false => (*last, *met) = (key, 1),
                    }
                    self.builder.push(value)?;
                }
            }
        }
        self.left -= self.builder.rows();
        self.builder.finish()
    }
}
