//! Reading a whole file.

use sardonyx_interchange::{BadRow, Batch, Columns, Format, InterchangeError, Reader, Source};
use sardonyx_rows::schema::{Schema, Type, Value};
use sardonyx_rows::value_text::parse_value;
use std::sync::Arc;

/// Rows with the numbers of their columns, in their order.
type Rows = Vec<Vec<(usize, Value)>>;

/// The columns of a table whose texts are the engine's; bytes are marked as PostgreSQL marks them.
pub fn columns(schema: &Schema) -> Columns {
    let schema = Arc::new(schema.clone());
    let columns = schema.clone();
    let texts = move |number: usize, text: &str| {
        let kind = columns.columns[number].kind;
        let digits = match kind {
            Type::Bytes | Type::Plain { .. } => text.strip_prefix("\\x").unwrap_or(text),
            _ => text,
        };
        parse_value(digits, kind).map_err(|error| format!("{text:?} is {error}"))
    };
    Columns {
        schema,
        texts: Arc::new(texts),
    }
}

/// The rows, read in batches of two, and the bad ones.
pub fn read(
    format: Format,
    schema: &Schema,
    bytes: &[u8],
) -> Result<(Rows, Vec<BadRow>), InterchangeError> {
    let source = Source::Bytes(bytes.to_vec().into());
    let mut reader = Reader::new(format, source, columns(schema), None)?;
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
