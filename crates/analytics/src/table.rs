//! A table of a snapshot, as DataFusion knows tables.

use crate::access::{parts, serves, wanted};
use crate::scan::{Scanned, SnapshotScan};
use crate::types::field_of;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use sardonyx::Snapshot;
use sardonyx_sql::AnalyticTable;
use std::sync::Arc;

/// A table of a snapshot.
#[derive(Debug)]
pub struct SnapshotTable {
    snapshot: Snapshot,
    name: String,
    table: AnalyticTable,
    schema: SchemaRef,
}

impl SnapshotTable {
    /// The table of a state.
    pub fn new(snapshot: Snapshot, name: &str, table: AnalyticTable) -> Self {
        let columns = table.columns.iter();
        let fields = columns.map(|column| field_of(&column.name, column.spec, !column.not_null));
        SnapshotTable {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            snapshot,
            name: name.to_string(),
            table,
        }
    }
}

#[async_trait]
impl TableProvider for SnapshotTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = state.config().target_partitions();
        let (parts, rows) = parts(self.snapshot.space(), &self.table, filters, partitions)?;
        let schema = match projection {
            None => self.schema.clone(),
            Some(places) => Arc::new(self.schema.project(places)?),
        };
        let scanned = Scanned {
            snapshot: self.snapshot.clone(),
            table: self.table.number,
            name: self.name.clone(),
            columns: wanted(&self.table, projection),
            schema,
            limit,
        };
        Ok(Arc::new(SnapshotScan::new(scanned, parts, rows)))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let each = filters
            .iter()
            .map(|filter| match serves(filter, &self.table) {
                true => TableProviderFilterPushDown::Inexact,
                false => TableProviderFilterPushDown::Unsupported,
            });
        Ok(each.collect())
    }
}
