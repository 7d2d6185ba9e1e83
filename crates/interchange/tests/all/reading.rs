//! Reading a whole file.

use sardonyx_interchange::{BadRow, Batch, Format, InterchangeError, Reader, Source};
use sardonyx_table::schema::{Schema, Value};
use std::sync::Arc;

/// Rows with the numbers of their columns, in their order.
type Rows = Vec<Vec<(usize, Value)>>;

/// The rows, read in batches of two, and the bad ones.
pub fn read(
    format: Format,
    schema: &Schema,
    bytes: &[u8],
) -> Result<(Rows, Vec<BadRow>), InterchangeError> {
    let source = Source::Bytes(bytes.to_vec().into());
    let mut reader = Reader::new(format, source, Arc::new(schema.clone()))?;
    let (mut rows, mut bad, mut batch) = (Vec::new(), Vec::new(), Batch::default());
    while reader.read(&mut batch, 2)? {
        for (_, values) in batch.rows() {
            let values = values.map(|(column, value)| (column, value.to_value()));
            let mut row: Vec<_> = values.collect();
            row.sort_by_key(|(column, _)| *column);
            rows.push(row);
        }
        bad.append(&mut batch.bad);
    }
    Ok((rows, bad))
}
