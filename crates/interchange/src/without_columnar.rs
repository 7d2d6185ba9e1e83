//! The place of files of columns in a build without the feature `parquet`: each use is refused, and the error names the
//! feature.

use crate::batch::Batch;
use crate::infer::Found;
use crate::source::Source;
use crate::{Format, InterchangeError};
use sardonyx_rows::schema::{Schema, ValueRef};
use std::io::Write;
use std::marker::PhantomData;
use std::sync::Arc;

/// The reader of a file of columns, of which this build has none.
#[derive(Debug)]
pub(crate) enum ColumnarReader {}

impl ColumnarReader {
    pub fn new(format: Format, _: Source, _: Arc<Schema>) -> Result<Self, InterchangeError> {
        Err(InterchangeError::MissingFeature { format })
    }

    pub fn fill(&mut self, _: &mut Batch, _: usize) -> Result<bool, InterchangeError> {
        match *self {}
    }
}

#[derive(Debug)]
enum Never {}

/// The writer of a file of columns, of which this build has none.
#[derive(Debug)]
pub(crate) struct ColumnarWriter<W>(Never, PhantomData<W>);

impl<W: Write + Send> ColumnarWriter<W> {
    pub fn new(format: Format, _: W, _: &Schema, _: &[usize]) -> Result<Self, InterchangeError> {
        Err(InterchangeError::MissingFeature { format })
    }

    pub fn row<'a>(&mut self, _: impl Fn(usize) -> ValueRef<'a>) -> Result<(), InterchangeError> {
        match self.0 {}
    }

    pub fn finish(self) -> Result<W, InterchangeError> {
        match self.0 {}
    }
}

/// The columns of a file, for a new table.
pub(crate) fn columns(format: Format, _: &mut Source) -> Result<Vec<Found>, InterchangeError> {
    Err(InterchangeError::MissingFeature { format })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_of_columns_is_refused_by_the_features_name() {
        for format in [Format::Parquet, Format::Arrow, Format::ArrowStream] {
            let mut source = Source::Bytes(bytes::Bytes::from_static(b"PAR1"));
            let error = crate::infer(format, &mut source, &[], None).unwrap_err();
            assert!(error.to_string().contains("--features parquet"), "{error}");
            let schema = Schema::new().column("id", sardonyx_rows::schema::Type::I64);
            let schema = schema.primary_key(["id"]).build().unwrap();
            let error = crate::Writer::new(format, Vec::new(), &schema, &[0]).unwrap_err();
            assert!(error.to_string().contains("--features parquet"), "{error}");
            let columns = crate::Columns {
                schema: Arc::new(schema),
                texts: Arc::new(|_, _| Err(String::new())),
            };
            let error = crate::Reader::new(format, source, columns, None).unwrap_err();
            assert!(error.to_string().contains("--features parquet"), "{error}");
        }
    }
}
