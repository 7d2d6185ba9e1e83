//! Rows out of a file of columns.

use super::Batches;
use super::guard::guarded;
use super::types::fits;
use super::values::ColumnValues;
use crate::batch::Batch;
use crate::columns::column_of;
use crate::error::Place;
use crate::source::Source;
use crate::{BadRow, Format, InterchangeError};
use arrow_array::RecordBatch;
use sardonyx_rows::schema::Schema;
use std::fmt;
use std::sync::Arc;

/// A file of columns, being read.
pub(crate) struct ColumnarReader {
    format: Format,
    /// `None` after an error.
    batches: Option<Box<dyn Batches>>,
    schema: Arc<Schema>,
    /// The numbers of the table's columns, in the order of the file's.
    columns: Vec<usize>,
    /// The rest of the last batch.
    rest: Option<RecordBatch>,
    /// Rows, and about the bytes, that were read.
    rows: u64,
    position: u64,
}

impl fmt::Debug for ColumnarReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ColumnarReader");
        f.field("columns", &self.columns).field("rows", &self.rows);
        f.finish_non_exhaustive()
    }
}

impl ColumnarReader {
    /// Begins to read: each of the file's columns is one of the table's, of a type that can be its.
    pub fn new(
        format: Format,
        source: Source,
        schema: Arc<Schema>,
    ) -> Result<Self, InterchangeError> {
        let batches = super::open(format, source)?;
        let mut columns = Vec::new();
        for field in batches.schema().fields() {
            let number = column_of(&schema, field.name(), &columns)?;
            let kind = schema.columns[number].kind;
            if !fits(kind, field.data_type()) {
                return Err(InterchangeError::ColumnType {
                    column: field.name().clone(),
                    in_file: field.data_type().to_string(),
                    in_table: kind,
                });
            }
            columns.push(number);
        }
        if columns.is_empty() {
            return Err(InterchangeError::Damaged {
                format,
                reason: "it has no columns".to_string(),
            });
        }
        Ok(ColumnarReader {
            format,
            batches: Some(batches),
            schema,
            columns,
            rest: None,
            rows: 0,
            position: 0,
        })
    }

    /// Adds a row or more, at most so many; whether there were some.
    pub fn fill(&mut self, batch: &mut Batch, rows: usize) -> Result<bool, InterchangeError> {
        let rest = match self.rest.take() {
            Some(rest) => rest,
            None => match self.next_batch()? {
                Some(rest) => rest,
                None => return Ok(false),
            },
        };
        let taken = rest.slice(0, rest.num_rows().min(rows));
        let columns: Vec<_> = (self.columns.iter().zip(taken.columns()))
            .map(|(&number, array)| {
                let column = &self.schema.columns[number];
                (number, column, ColumnValues::new(array, column.kind))
            })
            .collect();
        let mut read = 0;
        while read < taken.num_rows() && !batch.is_full(rows) {
            self.rows += 1;
            let place = Place::Row(self.rows);
            let bad = columns
                .iter()
                .find_map(|(number, column, values)| match values.get(read) {
                    Ok(value) => {
                        batch.push(*number, value);
                        None
                    }
                    Err(reason) => Some(BadRow {
                        place,
                        column: Some(column.name.clone()),
                        reason: format!("not a value of type {}: {reason}", column.kind),
                    }),
                });
            match bad {
                Some(bad) => batch.end_bad_row(bad),
                None => batch.end_row(place),
            }
            read += 1;
        }
        let left = rest.num_rows() - read;
        if left > 0 {
            self.rest = Some(rest.slice(read, left));
        }
        batch.position = self.position;
        Ok(true)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, InterchangeError> {
        let Some(mut batches) = self.batches.take() else {
            return Ok(None);
        };
        let next = guarded(self.format, || batches.next_batch())?;
        self.position = batches.position();
        self.batches = Some(batches);
        Ok(next)
    }
}
